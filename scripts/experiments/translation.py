"""Measure machine translation in BLEU before and after its case is restored (Lita et al. 2003, Table 1).

    \b
    python scripts/experiments/translation.py --document docs/research/experiments.md

Apertium translates held-out blocks of manuals: Spanish to English, English to Spanish, French to Spanish. BLEU
(sacrebleu) measures its lowercased output in these casings:

\b
* none: in lower case;
* first letter: a capital for the first letter of each line;
* unigram: the most frequent form of each word, and the first letter;
* LM: the best path through a trigram LM (`--no-context`), and the first
  letter;
* LM + context: all of capfst;
* ready model: all of capfst, with the bundled model of English, which was
  not trained on manuals;
* Apertium: Apertium's own casing, which is copied from the source;
* perfect: case-insensitive BLEU, which no casing of these words can exceed.

Models are trained on the target side of the training blocks. Needs Apertium and its language pairs, from Debian:
apt-get install apertium-eng-spa apertium-fr-es
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from helpers.bitext import CORPORA, Pair, read_bitext, read_pairs, spread
from helpers.bootstrap import RESAMPLES
from helpers.corpora import bundled_text, data_option, document_option, quick_option
from helpers.markdown import fill, table
from helpers.overlap import overlap
from helpers.packages import require, require_program

import capfst
from capfst.cli.exit_status import exit_status
from capfst.exceptions import CapfstError

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

PACKAGES = {"spa-eng": "apertium-eng-spa", "eng-spa": "apertium-eng-spa", "fr-es": "apertium-fr-es"}
"""The Debian package of each Apertium mode."""
HEAD = ("translation", "casing", "BLEU", "1-grams", "2-grams", "3-grams", "4-grams")
SENTENCES, QUICK_SENTENCES, QUICK_PAIRS = 3000, 200, 10_000


def apertium(mode: str, lines: list[str]) -> list[str]:
    """Translate lines, without marks at unknown words."""
    try:
        command = ["apertium", "-u", mode]
        done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise CapfstError(f"Apertium failed to translate {mode}. Run: apt-get install {PACKAGES[mode]}") from error
    translated = done.stdout.split("\n")[:-1]
    if len(translated) != len(lines):
        raise CapfstError(f"Apertium ({mode}) returned {len(translated)} lines for {len(lines)}.")
    return translated


def pivot(held_out: list[Pair], through: list[Pair]) -> list[Pair]:
    """Join pairs (English, target) and (English, source) into pairs (source, target), by their English lines."""
    sources = dict(through)
    return [(sources[english], target) for english, target in held_out if english in sources]


def first_letter(line: str) -> str:
    return line[:1].upper() + line[1:]


def casings(lowered: list[str], folder: Path, ready: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each casing, and the lines in it."""
    yield "none", lowered
    yield "first letter", list(map(first_letter, lowered))
    unigram, trigram = folder / "unigram.fst", folder / "trigram.fst"
    yield "unigram", capfst.load(unigram, sentence_case=True)(lowered)
    yield "LM", capfst.load(trigram, sentence_case=True, context=False)(lowered)
    yield "LM + context", capfst.load(trigram, sentence_case=True)(lowered)
    if ready:
        yield "ready model", capfst.load(sentence_case=True)(lowered)


def train(lines: list[str], folder: Path) -> None:
    """Train unigram.fst and trigram.fst on the lines, without cleaning, because the test text has fragments."""
    text = folder / "training.txt"
    text.write_text("\n".join(lines) + "\n", "utf-8")
    capfst.train(text, folder / "unigram.fst", order=1, clean=False, context=False)
    capfst.train(text, folder / "trigram.fst", clean=False)


def row(casing: str, metric: BLEU, lines: list[str], references: list[str], resamples: int) -> list[str]:
    score = metric.corpus_score(lines, [references], n_bootstrap=resamples)
    return [casing, f"{score.score:.1f} ± {score._ci:.1f}", *(f"{precision:.1f}" for precision in score.precisions)]


def measure(
    mode: str, pairs: list[Pair], training: list[str], ready: bool, metrics: tuple[BLEU, BLEU], resamples: int
) -> Iterator[list[str]]:
    """Yield the rows of a translation's table.

    training: the lines that its models are trained on; metrics: BLEU, and case-insensitive BLEU.
    """
    references = [target for _, target in pairs]
    translated = apertium(mode, [source for source, _ in pairs])
    lowered = [line.lower() for line in translated]
    with tempfile.TemporaryDirectory() as temporary:
        train(training, Path(temporary))
        for casing, lines in casings(lowered, Path(temporary), ready):
            yield row(casing, metrics[0], lines, references, resamples)
    yield row("Apertium", metrics[0], translated, references, resamples)
    yield row("perfect", metrics[1], translated, references, resamples)


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
def main(data: Path, quick: bool, document: Path | None) -> None:
    require("sacrebleu")
    from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415  (of the extra `experiments`)

    for mode, package in PACKAGES.items():
        require_program("apertium", package)
        apertium(mode, ["."])  # fails early if its package is missing
    limit, number, resamples = (QUICK_PAIRS, QUICK_SENTENCES, 100) if quick else (None, SENTENCES, RESAMPLES)
    to_spanish = read_bitext(data, "es", limit)
    to_english = to_spanish.turned()
    french = [pair for corpus in CORPORA for pair in read_pairs(data, "fr", corpus)]
    translations = (
        ("es → en", "spa-eng", to_english, to_english.held_out),
        ("en → es", "eng-spa", to_spanish, to_spanish.held_out),
        ("fr → es", "fr-es", to_spanish, pivot(to_spanish.held_out, french)),
    )
    rows, metrics = [], (BLEU(), BLEU(lowercase=True))
    for name, mode, bitext, held_out in translations:
        pairs = spread(held_out, number)
        references = [target for _, target in pairs]
        training = [target for _, target in bitext.training]
        click.echo(f"{name}: {len(pairs):,} lines; in common with the training text: {overlap(references, training)}")
        ready = bitext is to_english
        if ready:
            common = overlap(references, bundled_text(data))
            click.echo(f"{name}: in common with the bundled model's training text, and left out: {common}")
            pairs = [pair for pair, seen in zip(pairs, common.lines, strict=True) if not seen]
        rows += [[name, *cells] for cells in measure(mode, pairs, training, ready, metrics, resamples)]
    printed = table(HEAD, rows, texts=2)
    click.echo(f"\n{printed}\n\n{metrics[0].get_signature()}; perfect: {metrics[1].get_signature()}")
    if document:
        fill(document, "translation", printed)


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
