"""Restore the case of a translation with the help of its source (Wang, Knight & Marcu 2006).

    \b
    python scripts/experiments/bilingual.py --document docs/research/experiments.md

English–French and English–German software manuals, in both directions, tokenized and aligned by eflomal. Blocks of
consecutive pairs are held out. All models are trained on the other blocks:

\b
* unigram: the most frequent form of each word;
* trigram: the best path through a trigram LM (`--no-context`);
* capfst: LM and context, which use only the target;
* bilingual: also the source and the alignment (`recase --source`);
* bilingual, unaligned: recased without the alignment, so that only identical
  words are aligned.

The tables give the precision (the paper's measure: the percentage of held-out words that are right) and F1, and errors
by size of the training text (the paper's Figure 4). The tags are the paper's: IU (initial capital), AU (all capitals),
AL (all lower), MX (mixed).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import numpy.typing as npt
from helpers.bitext import Links, align, read_bitext, spread, tokenized, turned
from helpers.bootstrap import RESAMPLES, bootstrap
from helpers.corpora import data_option, document_option, quick_option
from helpers.markdown import fill, table, with_interval
from helpers.overlap import overlap

import capfst
from capfst.casing.shapes import Shape
from capfst.cli.exit_status import exit_status
from capfst.evaluate.compare import CORRECT, TOKENS, compare
from capfst.evaluate.score import measures
from capfst.exceptions import CapfstError
from capfst.text.unicode import lower

LANGUAGES = ("fr", "de")
SIZES = (1_000, 5_000, 20_000)
QUICK_PAIRS = 5000
CASINGS = ("unigram", "trigram", "capfst", "bilingual")
UNALIGNED = "bilingual, unaligned"
TAGS = {Shape.CAPITALIZED: "IU", Shape.UPPER: "AU", Shape.LOWER: "AL", Shape.MIXED: "MX"}
"""Words without cased letters are missing, because they are always right."""


class Aligned(NamedTuple):
    """Sentences of tokens separated by spaces, their translations, and the alignments of these."""

    sources: list[str]
    targets: list[str]
    links: list[Links]

    def turned(self) -> Aligned:
        return Aligned(self.targets, self.sources, [turned(links) for links in self.links])

    def spread(self, number: int) -> Aligned:
        """Select `number` sentences, evenly spread."""
        return Aligned(spread(self.sources, number), spread(self.targets, number), spread(self.links, number))


def as_text(links: list[Links]) -> list[str]:
    """Format alignments: `0-0 1-2 …`."""
    return [" ".join(f"{i}-{j}" for i, j in of_line) for of_line in links]


class Capitalizers:
    """The models of a training text, in a folder, and their casing of other text."""

    def __init__(self, training: Aligned, folder: Path) -> None:
        target, source, align = (folder / f"{name}.txt" for name in ("target", "source", "align"))
        for file, lines in (target, training.targets), (source, training.sources), (align, as_text(training.links)):
            file.write_text("\n".join(lines) + "\n", "utf-8")
        self.unigram, self.trigram, self.bilingual = (folder / f"{name}.fst" for name in ("1", "3", "bilingual"))
        capfst.train(target, self.unigram, order=1, clean=False, context=False)
        capfst.train(target, self.trigram, clean=False)
        capfst.train_bilingual(target, source, align, self.bilingual, lm=self.trigram)

    def __call__(self, casing: str, lines: list[str], sources: list[str], links: list[Links]) -> list[str]:
        """Recase lowercase lines as sentences, by one of CASINGS or UNALIGNED; bilingual models take the case of first
        words from the source."""
        if casing in ("bilingual", UNALIGNED):
            alignment = None if casing == UNALIGNED else as_text(links)
            return capfst.load(self.bilingual).recase_aligned(lines, sources, alignment)
        model = self.unigram if casing == "unigram" else self.trigram
        return capfst.load(model, sentence_case=True, context=casing == "capfst")(lines)


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


class Results(NamedTuple):
    """The rows of a translation's tables, without the column of its name."""

    precision: list[list[str]]
    errors: dict[int, list[float]]


def experiment(training: Aligned, held_out: Aligned, sizes: Sequence[int], resamples: int) -> Results:
    """Train and measure all models of a translation direction."""
    lines = list(map(lower, held_out.targets))
    with tempfile.TemporaryDirectory() as folder:
        capitalizers = Capitalizers(training, Path(folder))
        recased = {
            casing: capitalizers(casing, lines, held_out.sources, held_out.links) for casing in (*CASINGS, UNALIGNED)
        }
    errors = errors_by_size(training, held_out, [size for size in sizes if size < len(training.targets)])
    whole = measures(counts(held_out.targets, [recased[casing] for casing in CASINGS]).sum(axis=0))
    errors[len(training.targets)] = (100 - whole[:, 0]).tolist()
    return Results(precision_rows(held_out, recased, resamples), errors)


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
    }


@click.command(help=__doc__)
@data_option
@quick_option
@document_option
def main(data: Path, quick: bool, document: Path | None) -> None:
    if find_spec("eflomal") is None:
        raise CapfstError("not installed: eflomal. Run: pip install '.[experiments]'")
    languages, sizes, limit, resamples = (
        (LANGUAGES[:1], (), QUICK_PAIRS, 100) if quick else (LANGUAGES, SIZES, None, RESAMPLES)
    )
    results: dict[str, Results] = {}
    for language in languages:
        bitext = read_bitext(data, language, limit)
        pairs = [(tokenized(english), tokenized(other)) for english, other in (*bitext.training, *bitext.held_out)]
        links, n = align(pairs), len(bitext.training)
        sources, targets = (list(side) for side in zip(*pairs, strict=True))
        click.echo(
            f"en, {language}: {n:,} pairs to train on, {len(pairs) - n:,} held out, {bitext.left_out:,} left out"
        )
        training, held_out = (Aligned(sources[s], targets[s], links[s]) for s in (slice(n), slice(n, None)))
        for name, known, new in (
            (f"en → {language}", training, held_out),
            (f"{language} → en", training.turned(), held_out.turned()),
        ):
            click.echo(f"{name}: held-out text in common with the training text: {overlap(new.targets, known.targets)}")
            results[name] = experiment(known, new, sizes, resamples)
            if document:  # after each translation, so that an interrupted run leaves its results
                for table_name, printed in tables(results).items():
                    fill(document, f"bilingual-{table_name}", printed)
    for printed in tables(results).values():
        click.echo(f"\n{printed}")


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
