"""Restore the case of a translation with the help of its source (Wang, Knight & Marcu 2006).

    \b
    python scripts/experiments/bilingual.py --document docs/research/experiments.md --plot docs/images/bilingual.svg
    python scripts/experiments/bilingual.py --part ablation --document docs/research/experiments.md

English–French and English–German software manuals, in both directions, tokenized and aligned by eflomal. Blocks of
consecutive pairs are held out. All models are trained on the other blocks:

\b
* unigram: the most frequent form of each word;
* trigram: the best path through a trigram LM (`--no-context`);
* capfst: LM and context, which use only the target;
* bilingual: also the source and the alignment (`recase --source`);
* bilingual, unaligned: recased without the alignment, so that only identical
  words are aligned.

The tables give the precision (the paper's measure: the percentage of held-out words that are right) and F1; errors by
size of the training text (the paper's Figure 4); BLEU of a monotone phrase-based system that is trained on lowercase
text (helpers/phrase_based.py); and how the case of source words predicts the case of the words aligned with them. The
tags are the paper's: IU (initial capital), AU (all capitals), AL (all lower), MX (mixed), AN (no letter with case).

The ablation measures each kind of features: the weights are learned again without it, from 1,000 pairs of English and
French. It also prints the speed of recasing with the source.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple
from unittest.mock import patch

import click
import numpy as np
import numpy.typing as npt
from helpers.bitext import Links, Pair, align, read_bitext, spread, tokenized, turned
from helpers.bootstrap import RESAMPLES, bootstrap
from helpers.corpora import data_option, document_option, quick_option
from helpers.markdown import fill, table, with_interval
from helpers.overlap import overlap
from helpers.packages import require
from helpers.phrase_based import Decoder, PhraseTable

import capfst
from capfst.bilingual import candidates, crf
from capfst.bilingual.classifier import learn_classifier
from capfst.bilingual.source_features import N_TEMPLATES
from capfst.casing.shapes import Shape
from capfst.cli.exit_status import exit_status
from capfst.evaluate.compare import CORRECT, TOKENS, compare
from capfst.evaluate.score import measures
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.recaser import Recaser
from capfst.text.unicode import lower
from capfst.training import bilingual as bilingual_training

LANGUAGES = ("fr", "de")
SIZES = (1_000, 5_000, 20_000)
ABLATED = 1_000
ABLATED_BITS = 21
TRANSLATED, QUICK_TRANSLATED, QUICK_PAIRS = 1500, 100, 5000
CASINGS = ("unigram", "trigram", "capfst", "bilingual")
UNALIGNED = "bilingual, unaligned"
TAGS = {Shape.CAPITALIZED: "IU", Shape.UPPER: "AU", Shape.LOWER: "AL", Shape.MIXED: "MX"}
"""AN is missing, because such words are always right."""


class Aligned(NamedTuple):
    """Pairs (source, target) of tokens separated by spaces, and their alignments."""

    pairs: list[Pair]
    links: list[Links]

    @property
    def sources(self) -> list[str]:
        return [source for source, _ in self.pairs]

    @property
    def targets(self) -> list[str]:
        return [target for _, target in self.pairs]

    def turned(self) -> Aligned:
        return Aligned(turned(self.pairs), [turned(links) for links in self.links])

    def spread(self, number: int) -> Aligned:
        """Select `number` pairs, evenly spread."""
        chosen = spread(list(zip(self.pairs, self.links, strict=True)), number)
        return Aligned([pair for pair, _ in chosen], [links for _, links in chosen])


def pairs_of(links: list[Links]) -> list[str]:
    """Format alignments as text: `0-0 1-2 …`."""
    return [" ".join(f"{i}-{j}" for i, j in of_line) for of_line in links]


class Capitalizers:
    """The models of a training text, in a folder, and their casing of other text."""

    def __init__(self, training: Aligned, folder: Path, bilingual: bool = True) -> None:
        self.folder = folder
        text, source, links = self._write(training.targets, training.sources, training.links)
        self.unigram, self.trigram, self.bilingual = (folder / f"{name}.fst" for name in ("1", "3", "bilingual"))
        capfst.train(text, self.unigram, order=1, clean=False, context=False)
        capfst.train(text, self.trigram, clean=False)
        if bilingual:
            self._run("train-bilingual", "--lm", self.trigram, text, source, links, "-o", self.bilingual)

    def __call__(self, casing: str, lines: list[str], sources: list[str], links: list[Links]) -> list[str]:
        """Recase lowercase lines as sentences, by one of CASINGS or UNALIGNED; bilingual models take the case of first
        words from the source."""
        if casing in ("bilingual", UNALIGNED):
            text, source, aligned = self._write(lines, sources, links)
            options = ("--source", source, *(() if casing == UNALIGNED else ("--align", aligned)))
            return self._run("recase", "--lm", self.bilingual, *options, text).split("\n")[:-1]
        model = self.unigram if casing == "unigram" else self.trigram
        return capfst.load(model, sentence_case=True, context=casing == "capfst")(lines)

    def _write(self, targets: list[str], sources: list[str], links: list[Links]) -> list[Path]:
        files = {"target.txt": targets, "source.txt": sources, "align.txt": pairs_of(links)}
        for name, lines in files.items():
            (self.folder / name).write_text("\n".join(lines) + "\n", "utf-8")
        return [self.folder / name for name in files]

    def _run(self, *arguments: str | Path) -> str:
        command = [sys.executable, "-m", "capfst", *arguments, "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CapfstError(done.stderr.strip().removeprefix("capfst: error: "))
        return done.stdout


def counts(references: list[str], hypotheses: list[list[str]]) -> npt.NDArray[np.float64]:
    """Count as `capfst score` does: float64[lines, hypotheses, counts]."""
    return np.stack([np.concatenate([*compare(references, lines)]) for lines in hypotheses], axis=1).astype(np.float64)


def precision_rows(held_out: Aligned, recased: dict[str, list[str]], resamples: int) -> list[list[str]]:
    """Return precision, errors relative to the trigram's, F1, and precision by tag, for each casing."""
    counted = counts(held_out.targets, list(recased.values()))
    value, low, high = bootstrap(counted, measures, resamples)
    errors, sums = 100 - value[:, 0], counted.sum(axis=0)
    trigram = errors[list(recased).index("trigram")]
    rows = []
    for k, casing in enumerate(recased):
        precision, f1 = (with_interval(value[k, m], low[k, m], high[k, m], ".2f") for m in (0, 3))
        by_tag = (100 * sums[k, CORRECT + tag] / max(1, sums[k, TOKENS + tag]) for tag in TAGS)
        rows.append([casing, precision, f"{100 * (errors[k] / trigram - 1):+.0f} %", f1, *(f"{p:.2f}" for p in by_tag)])
    return rows


def errors_by_size(training: Aligned, held_out: Aligned, sizes: Sequence[int]) -> dict[int, list[float]]:
    """Return the percentage of wrong words of each casing, by the number of pairs in the training text."""
    errors = {}
    lines = list(map(lower, held_out.targets))
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            capitalizers = Capitalizers(training.spread(size), Path(folder))
            recased = [capitalizers(casing, lines, held_out.sources, held_out.links) for casing in CASINGS]
        errors[size] = (100 - measures(counts(held_out.targets, recased).sum(axis=0))[:, 0]).tolist()
    return errors


def translated(training: Aligned, sources: list[str], folder: Path) -> tuple[list[str], list[Links]]:
    """Translate the sources by a phrase-based system; return lowercase translations and their alignments."""

    def words(line: str) -> tuple[str, ...]:
        return tuple(lower(line).split())

    pairs = [(words(source), words(target)) for source, target in training.pairs]
    sentences = list(map(words, sources))
    text, model = folder / "lowercase.txt", folder / "lowercase.fst"
    text.write_text("\n".join(map(lower, training.targets)) + "\n", "utf-8")
    logging.getLogger("capfst").setLevel(logging.ERROR)  # no warning of text without capitals
    capfst.train(text, model, clean=False, pretokenized=True, context=False)
    decoder = Decoder(PhraseTable(pairs, training.links, sentences), CapFst.open(model))
    translations = list(map(decoder.translate, sentences))
    return [" ".join(target) for target, _ in translations], [links for _, links in translations]


class Bleu:
    """BLEU of tokens, cased and case-insensitive."""

    def __init__(self, resamples: int) -> None:
        from sacrebleu.metrics.bleu import BLEU  # noqa: PLC0415  (of the extra `experiments`)

        self.resamples = resamples
        self.cased = BLEU(tokenize="none", force=True)
        self.caseless = BLEU(tokenize="none", force=True, lowercase=True)

    def row(self, references: list[str], lowered: list[str], recased: dict[str, list[str]]) -> list[str]:
        """Return BLEU of the lowercase lines, of each casing, and of perfect casing; the percentage of the difference
        between trigram and perfect casing that capfst and bilingual gain; and `moved_first_words` of bilingual."""
        cased = [lowered, *recased.values()]
        scores = [self.cased.corpus_score(lines, [references], n_bootstrap=self.resamples) for lines in cased]
        scores.append(self.caseless.corpus_score(lowered, [references], n_bootstrap=self.resamples))
        trigram, perfect = scores[2].score, scores[-1].score
        gains = (100 * (score.score - trigram) / (perfect - trigram) for score in scores[3:-1])
        return [*(f"{score.score:.1f} ± {score._ci:.1f}" for score in scores), *(f"{gain:.0f} %" for gain in gains),
                f"{moved_first_words(references, recased['bilingual']):.0f} %"]  # fmt: skip


def moved_first_words(references: list[str], lines: list[str]) -> float:
    """Return the percentage of words, among those that differ from the reference only in case, that are the first word
    of only one of the two lines, so that their case may be right."""
    moved = wrong = 0
    for pair in zip(references, lines, strict=True):
        reference, words = map(str.split, pair)
        same = SequenceMatcher(None, list(map(lower, reference)), list(map(lower, words)), autojunk=False)
        for a, b, size in same.get_matching_blocks():
            for i, j in zip(range(a, a + size), range(b, b + size), strict=True):
                if reference[i] != words[j]:
                    wrong += 1
                    moved += (i == 0) != (j == 0)
    return 100 * moved / max(1, wrong)


def tag(word: str) -> str:
    """Return the tag of a word: IU, AU, AL, MX or AN."""
    cased = [letter.isupper() for letter in word if letter.lower() != letter.upper()]
    if not any(cased):
        return "AL" if cased else "AN"
    if cased[0] and sum(cased) == 1:
        return "IU"
    return "AU" if all(cased) else "MX"


def predicted_by_source(held_out: Aligned, recased: list[str]) -> list[str]:
    """Compare the tags of target words with those of the source words that they are linked to, in percent.

    Returns the percentages of linked target words with the source word's tag; of words with an initial capital among
    those linked to a lowercase word; of lowercase words among those linked to a word with an initial capital; of
    words without a link; and of wrong words in the recased text that are linked to a lowercase word.
    """
    tags: Counter[tuple[str, str]] = Counter()
    words = unlinked = wrong = from_lower = 0
    for (source, target), links, line in zip(held_out.pairs, held_out.links, recased, strict=True):
        source_tags, references = list(map(tag, source.split())), target.split()
        linked: dict[int, str] = {j: source_tags[i] for i, j in reversed(links)}
        for j, (reference, word) in enumerate(zip(references, line.split(), strict=True)):
            if tag(reference) != "AN":
                words += 1
                unlinked += j not in linked
                wrong += reference != word
                from_lower += reference != word and linked.get(j) == "AL"
                tags[linked.get(j, ""), tag(reference)] += 1

    def percentage(part: int, whole: int) -> str:
        return f"{100 * part / max(1, whole):.1f}"

    same = sum(number for (given, reference), number in tags.items() if given == reference)
    of = {given: sum(number for (tag, _), number in tags.items() if tag == given) for given in ("AL", "IU")}
    return [
        percentage(same, words - unlinked), percentage(tags["AL", "IU"], of["AL"]),
        percentage(tags["IU", "AL"], of["IU"]), percentage(unlinked, words), percentage(from_lower, wrong),
    ]  # fmt: skip


def draw(path: Path, found: dict[str, dict[int, list[float]]]) -> None:
    """Plot errors by size of the training text, with a panel per translation."""
    from matplotlib import pyplot  # noqa: PLC0415

    figure, panels = pyplot.subplots(1, len(found), figsize=(3 * len(found), 3), sharey=True, squeeze=False)
    for panel, (name, errors) in zip(panels[0], found.items(), strict=True):
        for k, casing in enumerate(CASINGS):
            panel.plot(list(errors), [of_size[k] for of_size in errors.values()], "o-", markersize=3, label=casing)
        panel.set(xscale="log", xlabel="pairs", title=name, ylim=(0, None))
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("wrong words, %")
    panels[0][0].legend()
    figure.tight_layout()
    figure.savefig(path)


def ablation(training: Aligned, held_out: Aligned, resamples: int) -> list[list[str]]:
    """Return, for each kind of features left out, the wrong words in percent, and their change against all features."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capitalizers = Capitalizers(training, folder, bilingual=False)
        texts = list(map(lower, held_out.targets)), held_out.sources, pairs_of(held_out.links)
        recased, left_outs = [], ("nothing", *TEMPLATES, *FIXED)
        for left_out in left_outs:
            with (
                patch.object(
                    bilingual_training, "learn_classifier", partial(classifier_without, TEMPLATES.get(left_out, ()))
                ),
                patch.object(crf, "fit", partial(fit_with, crf.fit, FIXED.get(left_out, {}))),
                patch.object(bilingual_training, "_stand_in", partial(stand_in, bilingual_training._stand_in, folder)),
            ):
                bilingual_training.train_bilingual(
                    folder / "target.txt", folder / "source.txt", folder / "align.txt", capitalizers.bilingual,
                    lm=capitalizers.trigram,
                )  # fmt: skip
            recaser = capfst.load(capitalizers.bilingual)
            recased.append(recaser.recase_aligned(*texts))
    begin = process_time()
    recaser.recase_aligned(*texts)
    words = sum(len(line.split()) for line in texts[0])
    click.echo(f"recased with the source: {words / (process_time() - begin):,.0f} words per second on one core")
    values, low, high = bootstrap(counts(held_out.targets, recased), wrong_and_more, resamples)
    return [
        [name, f"{values[0, k]:.2f}", f"{values[1, k]:+.0f} % ({low[1, k]:+.0f} to {high[1, k]:+.0f})"]
        for k, name in enumerate(left_outs)
    ]


def classifier_without(
    left_out: Iterable[int], of_words: npt.NDArray[np.uint32], shapes: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int8]:
    """Learn the classifier without some of the templates, in a table so large that few rows are shared."""
    templates = [number for number in range(N_TEMPLATES) if number not in left_out]
    return learn_classifier(np.ascontiguousarray(of_words[:, templates]), shapes, bits=ABLATED_BITS)


def fit_with(
    fit: Callable[..., npt.NDArray[np.float64]], fixed: dict[int, float], problem: crf.Problem,
    lines: npt.NDArray[np.int64], sigma: float, start: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Fit the weights, some of which are fixed."""
    positions, unpatched = list(fixed), crf.negative_log_likelihood
    mean = crf.prior_mean()
    mean[positions] = list(fixed.values())
    start = start.copy()
    start[positions] = mean[positions]

    def with_fixed(
        problem: crf.Problem, lines: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        value, gradient = unpatched(problem, lines, weights)
        gradient[positions] = 0
        return value, gradient

    with (
        patch.object(crf, "negative_log_likelihood", with_fixed),
        patch.object(crf, "prior_mean", lambda: mean),
    ):
        return fit(problem, lines, sigma, start)


def stand_in(
    make: Callable[..., Recaser], kept: Path, corpus: bilingual_training._Corpus, fold: int, _: Path
) -> Recaser:
    """Return the held-out model of a fold; it is trained once and kept."""
    folder = kept / f"fold {fold}"
    if not folder.exists():
        folder.mkdir()
        return make(corpus, fold, folder)
    return capfst.load(folder / "stand-in.fst")


def wrong_and_more(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return wrong words in percent, and their relative change against the first text, float64[2, texts]."""
    wrong = 100 - measures(sums)[..., 0]
    return np.stack([wrong, 100 * (wrong / wrong[0] - 1)])


TEMPLATES = {
    "the word and its source word": range(1, 6),
    "the words around": range(6, 14),
    "the capitals around": range(14, 17),
    "headings and ends": range(17, N_TEMPLATES),
}
"""The kinds of classifier features that the ablation leaves out, by their templates."""
FIXED = {
    "the whole classifier": dict.fromkeys(range(candidates.CLASSIFIER, candidates.LINKED), 0.0),
    "the source word itself": {candidates.EXACT: 0.0, candidates.COPY: 30.0},
    "context": dict.fromkeys(range(candidates.CONTEXT, candidates.CLASSIFIER), 0.0),
    "LM": {candidates.LM: crf.LEAST_LM_WEIGHT},
}
"""The other kinds of features that it leaves out, by fixing their weights."""


class Results(NamedTuple):
    """The rows of a translation's tables, without the column of its name."""

    precision: list[list[str]]
    bleu: list[str]
    source: list[str]
    errors: dict[int, list[float]]


def experiment(training: Aligned, held_out: Aligned, sizes: Sequence[int], number: int, bleu: Bleu) -> Results:
    """Train and measure all models of a translation direction; `number` sentences are translated."""
    some, lines = held_out.spread(number), list(map(lower, held_out.targets))
    with tempfile.TemporaryDirectory() as folder:
        capitalizers = Capitalizers(training, Path(folder))
        recased = {
            casing: capitalizers(casing, lines, held_out.sources, held_out.links) for casing in (*CASINGS, UNALIGNED)
        }
        output, links = translated(training, some.sources, Path(folder))
        cased = {casing: capitalizers(casing, output, some.sources, links) for casing in CASINGS}
    errors = errors_by_size(training, held_out, [size for size in sizes if size < len(training.pairs)])
    whole = measures(counts(held_out.targets, [recased[casing] for casing in CASINGS]).sum(axis=0))
    errors[len(training.pairs)] = (100 - whole[:, 0]).tolist()
    return Results(
        precision_rows(held_out, recased, bleu.resamples),
        bleu.row(some.targets, output, cased),
        predicted_by_source(held_out, recased["bilingual"]),
        errors,
    )


def tables(results: dict[str, Results]) -> dict[str, str]:
    """Return the tables, by their names in the document."""
    precision = [[name, *row] for name, of_name in results.items() for row in of_name.precision]
    by_size = [
        [name, f"{size:,}", *(f"{error:.2f}" for error in errors)]
        for name, of_name in results.items()
        for size, errors in of_name.errors.items()
    ]
    return {
        "precision": table(("translation", "casing", "precision", "errors", "F1", *TAGS.values()), precision, texts=2),
        "size": table(("translation", "pairs", *CASINGS), by_size),
        "bleu": table(
            ("translation", "none", *CASINGS, "perfect", "capfst's way", "bilingual's way", "moved"),
            [[name, *of_name.bleu] for name, of_name in results.items()],
        ),
        "source": table(
            ("translation", "same tag", "IU, from AL", "AL, from IU", "unlinked", "errors from AL"),
            [[name, *of_name.source] for name, of_name in results.items()],
        ),
    }


@click.command(help=__doc__)
@data_option
@quick_option
@click.option(
    "--part",
    type=click.Choice(["tables", "ablation"]),
    default="tables",
    show_default=True,
    help="The tables, or only the ablation.",
)
@document_option
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Image file for a plot of errors by size (needs matplotlib)."
)
def main(data: Path, quick: bool, part: str, document: Path | None, plot: Path | None) -> None:
    require("eflomal", "sacrebleu", *(["matplotlib"] if plot else []))
    languages, sizes, limit, number, resamples = (
        (LANGUAGES[:1], SIZES[:1], QUICK_PAIRS, QUICK_TRANSLATED, 100)
        if quick
        else (LANGUAGES, SIZES, None, TRANSLATED, RESAMPLES)
    )
    if part == "ablation":
        languages = LANGUAGES[:1]
    bleu, results = Bleu(resamples), {}
    without: list[list[str]] = []
    for language in languages:
        bitext = read_bitext(data, language, limit)
        pairs = [(tokenized(english), tokenized(other)) for english, other in (*bitext.training, *bitext.held_out)]
        links, n = align(pairs), len(bitext.training)
        click.echo(
            f"en, {language}: {n:,} pairs to train on, {len(pairs) - n:,} held out, {bitext.left_out:,} left out"
        )
        training, held_out = Aligned(pairs[:n], links[:n]), Aligned(pairs[n:], links[n:])
        for name, known, new in (
            (f"en → {language}", training, held_out),
            (f"{language} → en", training.turned(), held_out.turned()),
        ):
            if part == "ablation":
                without += [[name, *row] for row in ablation(known.spread(ABLATED), new, resamples)]
                continue
            click.echo(f"{name}: held-out text in common with the training text: {overlap(new.targets, known.targets)}")
            results[name] = experiment(known, new, sizes, number, bleu)
            *_, errors = results[name].errors.values()
            click.echo(
                f"{name}: wrong words, %: {', '.join(f'{c} {e:.2f}' for c, e in zip(CASINGS, errors, strict=True))}"
            )
            if document:  # after each translation, so that an interrupted run leaves its results
                for table_name, printed in tables(results).items():
                    fill(document, f"bilingual-{table_name}", printed)
    if part == "ablation":
        worth = table(("translation", "without", "wrong words, %", "more"), without, texts=2)
        click.echo(f"\n{worth}")
        if document:
            fill(document, "bilingual-ablation", worth)
        return
    for printed in tables(results).values():
        click.echo(f"\n{printed}")
    click.echo(f"\n{bleu.cased.get_signature()}; perfect: {bleu.caseless.get_signature()}")
    if plot:
        draw(plot, {name: of_name.errors for name, of_name in results.items()})


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
