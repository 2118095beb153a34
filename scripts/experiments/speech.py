"""Restore the case of recognizers' output (Beaufays & Strope 2013, Table 1, §6.3; Lita et al. 2003, Table 3).

    \b
    python scripts/experiments/speech.py --document docs/research/experiments.md

Thirty earnings calls (Earnings-21) were transcribed by seven recognizers. Word error rate (WER) and
capitalization error rate (CER) are those of `capfst score --align`, on pieces with about 500 words in common, for

\b
* the recognizer's own casing, and capfst's, without positional capitals, so
  that only intrinsic case counts (§3.2.2). capfst reads each call as a
  document of lines of 100 words, in lower case and without punctuation;
* the recognizer's own casing, and capfst's with `--sentence-case`, of the
  text with the recognizer's own punctuation.

The model is unpruned. It is trained on the bundled model's texts without its calls and dialogs, half of them as words
alone (scripts/data/words_alone.py), and kept in build/speech. The bundled model, which was trained on other calls
(Earnings-22), shows the gain from text of the domain.

The fraction of misrecognized words is the part of the CER that remains if all recognized words have the reference's
case (§6.3).
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from helpers.bootstrap import RESAMPLES, bootstrap
from helpers.corpora import bundled_sources, data_option, document_option, heads, quick_option
from helpers.earnings21 import REFERENCE, Call, Word, positional, read
from helpers.intrinsic_case import inside_case
from helpers.markdown import show, table, with_interval
from helpers.overlap import overlap

import capfst
from capfst import models
from capfst.cli.exit_status import exit_status
from capfst.evaluate.compare import CAPITALS, SUBSTITUTIONS, LineCounts, compare, words_in_common
from capfst.evaluate.score import ALIGNED_MEASURES, measures
from capfst.exceptions import CapfstError
from capfst.io.blocks import read_blocks
from capfst.system.progress import progress

SCRIPTS = Path(__file__).resolve().parents[1] / "data"
WORK = SCRIPTS.parents[1] / "build" / "speech"
LEFT_OUT = ("earnings_calls.txt.zst", "taskmaster_dialogs.txt.zst")
"""Sources of the bundled model that are of the same kinds as the test text."""
QUICK_SOURCES, QUICK = ("common_voice.txt.zst", "usgov_web.txt.zst", "wikinews.txt.zst"), 1_000
"""The sources that are used with --quick, and the number of lines taken from each."""
LINE = 100
"""Number of words per line in a call without punctuation, as capfst reads it."""
PIECE = 500
"""Calls are cut into pieces with this number of words in common, because aligning shorter texts takes less time."""
TUNED_ON = 2
"""Every second call, from the first, was used to choose how to train and to format the text; the first table is of the
others."""
WER, CER = (list(ALIGNED_MEASURES).index(name) for name in ("wer", "capitalization_error_rate"))
RECOGNIZERS = "google", "amazon", "microsoft", "speechmatics", "rev espnet", "rev kaldi", "kaldi_org librispeech"
PUNCTUATING = (REFERENCE, "google", "amazon", "microsoft", "speechmatics")
"""The recognizers that write punctuation."""


def run(script: str, *arguments: str | Path) -> None:
    """Run a script of scripts/data; end with its exit status if it fails."""
    if status := subprocess.run([sys.executable, SCRIPTS / script, *arguments], check=False).returncode:
        sys.exit(status)


def model(data: Path, quick: bool) -> tuple[Path, list[Path]]:
    """Return a model trained neither on calls nor on dialogs, and its training texts."""
    texts = [
        text
        for text in bundled_sources(data)
        if text.name not in LEFT_OUT and (not quick or text.name in QUICK_SOURCES)
    ]

    path = WORK / ("quick.fst" if quick else "model.fst")
    try:
        capfst.load(path)
    except CapfstError:  # missing, or of another version
        path.parent.mkdir(parents=True, exist_ok=True)
        card = models.card(models.find(models.DEFAULT))
        assert card
        with tempfile.TemporaryDirectory() as temporary:
            folder, files = Path(temporary), []
            sources = {text.name: text for text in texts}
            if quick:
                (folder / "heads").mkdir()
                sources = dict(zip(sources, heads(texts, QUICK, folder / "heads"), strict=True))
            run("words_alone.py", *sources.values(), "-o", folder)
            for text in texts:
                name = text.name.partition(".")[0]
                files += [folder / f"{name}.txt", folder / f"{name}-words.txt"]
            for each in card["written"]:
                files.append(folder / f"{each['kind']}.txt")
                given = [sources[name] for file in each["from"] if (name := Path(file).name) in sources]
                run("speech_and_chat.py", each["kind"], *given, "--one-in", str(each["one_in"]), "-o", files[-1])
            capfst.train(files, path, progress=partial(progress, quiet=False))

    return path, texts


def plain(words: list[Word]) -> list[str]:
    return [word.text for word in words]


def recased(recaser: capfst.Recaser, words: list[Word]) -> list[str]:
    """Recase a call's words, in lower case and without punctuation, as lines of a document."""
    lower = [word.text.lower() for word in words]
    return recaser("\n".join(" ".join(lower[k : k + LINE]) for k in range(0, len(lower), LINE))).split()


def recased_with_marks(recaser: capfst.Recaser, words: list[Word]) -> list[str]:
    """Recase a call's words with their punctuation, as one line."""
    tokens = recaser(" ".join(word.text + word.mark for word in words).lower()).split()
    return [token[: len(token) - len(word.mark)] for token, word in zip(tokens, words, strict=True)]


class Alignment:
    """The alignment of a call's words with the reference's, ignoring case."""

    def __init__(self, call: Call, name: str) -> None:
        reference, words = call[REFERENCE], call[name]
        self.pairs = words_in_common(plain(reference), plain(words))
        ends = [len(reference), len(words)]
        self._stops = np.concatenate([[[0, 0]], self.pairs[PIECE::PIECE], [ends]])

    def count(self, reference: list[str], words: list[str]) -> LineCounts:
        """Return the counts of the call, int64[COLUMNS]."""
        ref, hyp = (
            [" ".join(text[start:end]) for start, end in itertools.pairwise(stops)]
            for text, stops in zip((reference, words), self._stops.T.tolist(), strict=True)
        )
        counts: LineCounts = np.concatenate(list(compare(ref, hyp, aligns=True))).sum(axis=0)
        return counts

    def correct(self, reference: list[str], words: list[str]) -> list[str]:
        """Return the words, with the reference's case for the words that are recognized."""
        known = {j: reference[i] for i, j in self.pairs.tolist()}
        return [known.get(j, word) for j, word in enumerate(words)]


def intrinsic(
    calls: list[Call], recaser: capfst.Recaser, bundled: capfst.Recaser, names: list[str]
) -> npt.NDArray[np.float64]:
    """Count the recognizer's own casing, capfst's, the bundled model's, and capfst's with the reference's case for the
    words that are recognized: float64[calls, names, 4, COLUMNS]."""
    texts = {name: [call[name] for call in calls] for name in [REFERENCE, *names]}
    own = {name: inside_case([(plain(words), positional(words)) for words in of]) for name, of in texts.items()}
    counts = []
    for k, call in enumerate(calls):
        reference = own[REFERENCE][k]
        for name in names:
            aligned = Alignment(call, name)
            cased, by_bundled = (recased(each, call[name]) for each in (recaser, bundled))
            casings = own[name][k], cased, by_bundled, aligned.correct(reference, cased)
            counts += [aligned.count(reference, words) for words in casings]
    return np.array(counts, np.float64).reshape(len(calls), len(names), len(casings), -1)


def written(calls: list[Call], recaser: capfst.Recaser, names: list[str]) -> npt.NDArray[np.float64]:
    """Count the recognizer's own casing and capfst's, with positional capitals: float64[calls, names, 2, COLUMNS]."""
    counts = []
    for call in calls:
        for name in names:
            aligned = Alignment(call, name)
            cased = recased_with_marks(recaser, call[name])
            reference = plain(call[REFERENCE])
            counts += [aligned.count(reference, words) for words in (plain(call[name]), cased)]
    return np.array(counts, np.float64).reshape(len(calls), len(names), 2, -1)


def rates(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return WER, CER, and its deletions, insertions and substitutions, in percent: […, COLUMNS] → […, 5]."""
    edits = 100 * counts[..., CAPITALS + 1 : SUBSTITUTIONS + 1] / counts[..., CAPITALS, None]
    return np.concatenate([measures(counts)[..., [WER, CER]], edits], axis=-1)


def intrinsic_rows(names: list[str], counts: npt.NDArray[np.float64], resamples: int) -> list[list[str]]:
    values, low, high = bootstrap(counts, rates, resamples)
    rows = []
    for k, name in enumerate(names):
        cells = [f"{values[k, 0, 0]:.1f}"]
        for casing in range(2):
            cells.append(with_interval(*(table[k, casing, 1] for table in (values, low, high))))
            cells.append(" / ".join(f"{edits:.1f}" for edits in values[k, casing, 2:]))
        cells.append(f"{100 * values[k, 3, 1] / values[k, 1, 1]:.0f} %")
        cells.append(with_interval(*(table[k, 2, 1] for table in (values, low, high))))
        rows.append([name, *cells])
    return rows


def written_rows(names: list[str], counts: npt.NDArray[np.float64], resamples: int) -> list[list[str]]:
    values, low, high = bootstrap(counts, rates, resamples)
    return [
        [name, *(with_interval(*(table[k, casing, 1] for table in (values, low, high))) for casing in range(2))]
        for k, name in enumerate(names)
    ]


INTRINSIC_HEAD = (
    *("recognizer", "WER", "CER, own case", "del / ins / sub", "CER, capfst", "del / ins / sub"),
    *("misrecognized words' share", "CER, ready model"),
)
WRITTEN_HEAD = ("text with punctuation of", "CER, own case", "CER, capfst")


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
def main(data: Path, quick: bool, document: Path | None) -> None:
    resamples = 100 if quick else RESAMPLES
    lm, texts = model(data, quick)
    calls = list(read(data / "speech" / "earnings21.tar.zst").values())
    references = [" ".join(plain(call[REFERENCE])) for call in calls]
    bundled = itertools.islice(read_blocks(bundled_sources(data)), 1 if quick else None)
    click.echo(f"In common with the bundled model's training text: {overlap(references, bundled)}")
    if quick:
        calls = calls[:3]
    names = [REFERENCE, *RECOGNIZERS][: 2 if quick else None]
    counts = intrinsic(calls, capfst.load(lm, document=True), capfst.load(document=True), names)
    reported = np.arange(len(calls)) % TUNED_ON > 0
    for title, of_title in (("reported", counts[reported]), ("all", counts)):
        rows = intrinsic_rows(names, of_title, resamples)
        click.echo(f"\n{len(of_title)} calls, {title}:\n")
        show(table(INTRINSIC_HEAD, rows), f"speech-{title}", document)
    names = [name for name in names if name in PUNCTUATING]
    rows = written_rows(names, written(calls, capfst.load(lm, sentence_case=True), names), resamples)
    click.echo("\nWith punctuation and first words:\n")
    show(table(WRITTEN_HEAD, rows), "speech-written", document)
    click.echo(f"\nIn common with the model's training text: {overlap(references, read_blocks(texts))}")


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
