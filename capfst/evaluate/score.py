"""Score how well hypotheses restore the case of their references.

In: two files or two iterables of lines, with the same words, or, with alignment, with different words. Out: `Scores`,
which can be added and printed. All rates are in percent.

* accuracy: the percentage of tokens that equal the reference's (Lita et al. 2003); also by the shape of the reference's
  token, and in and out of a vocabulary.
* precision, recall, F1 (Susanto et al. 2016): correct / proposed, correct / gold, and their harmonic mean. Proposed
  and gold are the tokens with an upper-case letter in the hypothesis and in the reference; correct are the gold tokens
  that are identical in both.
* capitalization error rate (Beaufays & Strope 2013, §5.1): deletions + insertions + substitutions of upper-case
  characters / upper-case characters of the reference, as in `edit_distance`. Each line is aligned separately; a line
  with more than 4,096 capitals, in stretches of up to so many.
* word error rate (WER), if words are aligned: deletions + insertions + substitutions of words / words of the reference,
  regardless of case, as in `compare`. Accuracy, precision, recall and F1 then cover the words in common.

A token's shape is that of its cased letters: lower; Capitalized (only the first is upper-case: "I", "X-ray"); UPPER
(all are upper-case, two or more: "U.S."); mixed ("iPhone", "McDonald"); none (no cased letter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.evaluate import compare as cmp
from capfst.exceptions import quantity
from capfst.io.blocks import read_blocks
from capfst.version import __version__

MEASURES = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "capitalization_error_rate": "capitalization error rate",
}
"""Name of each measure → its title in tables."""
ALIGNED_MEASURES = MEASURES | {"wer": "WER"}
"""The measures of aligned words."""

_SHAPES_WITH_CAPITALS = range(Shape.CAPITALIZED, Shape.MIXED + 1)
_EDITS = ("reference", "deletions", "insertions", "substitutions")

Value = TypeVar("Value")


class TokenCounts(NamedTuple):
    """Counts of a group of tokens: all of them, and those that equal the reference's."""

    tokens: int
    correct: int


def measures(counts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Compute `ALIGNED_MEASURES` in percent, float64[…, 6], from counts[…, COLUMNS]; NaN if a denominator is 0."""
    tokens, correct = counts[..., cmp.TOKENS : cmp.CORRECT].sum(-1), counts[..., cmp.CORRECT : cmp.UNKNOWN].sum(-1)
    proposed = counts[..., cmp.PROPOSED]
    gold = sum(counts[..., cmp.TOKENS + shape] for shape in _SHAPES_WITH_CAPITALS)
    true = sum(counts[..., cmp.CORRECT + shape] for shape in _SHAPES_WITH_CAPITALS)
    errors = counts[..., cmp.DELETIONS : cmp.SUBSTITUTIONS + 1].sum(-1)
    word_errors = counts[..., cmp.WORD_DELETIONS : cmp.WORD_SUBSTITUTIONS + 1].sum(-1)
    numerators = np.stack([correct, true, true, 2 * true, errors, word_errors], -1)
    in_reference = counts[..., cmp.CAPITALS], counts[..., cmp.WORDS]
    denominators = np.stack([tokens, proposed, gold, proposed + gold, *in_reference], -1)
    return np.divide(100.0 * numerators, denominators, out=np.full(numerators.shape, np.nan), where=denominators > 0)


@dataclass(frozen=True, repr=False)
class Scores:
    """The scores of hypotheses. The scores of the parts of a text add up to those of the whole.

    A rate is None if its denominator is 0: no token of a shape, no upper-case character.
    """

    counts: tuple[int, ...] = (0,) * cmp.COLUMNS
    lines: int = 0
    skip_first: bool = False
    vocabulary: bool = False
    align: bool = False

    def __add__(self, other: Scores) -> Scores:
        if self.signature != other.signature:
            raise ValueError(f"cannot add scores with different settings: {self.signature} and {other.signature}")
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return replace(self, counts=counts, lines=self.lines + other.lines)

    @property
    def titles(self) -> dict[str, str]:
        """Names of the measures, and their titles in tables."""
        return ALIGNED_MEASURES if self.align else MEASURES

    @property
    def measures(self) -> dict[str, float | None]:
        """Values of `accuracy`, `precision`, `recall`, `f1` and `capitalization_error_rate`; if aligned, also `wer`."""
        values = map(none_if_nan, measures(np.array(self.counts)).tolist())
        return dict(zip(self.titles, values, strict=False))

    @property
    def accuracy(self) -> float | None:
        return self.measures["accuracy"]

    @property
    def precision(self) -> float | None:
        return self.measures["precision"]

    @property
    def recall(self) -> float | None:
        return self.measures["recall"]

    @property
    def f1(self) -> float | None:
        return self.measures["f1"]

    @property
    def capitalization_error_rate(self) -> float | None:
        return self.measures["capitalization_error_rate"]

    @property
    def wer(self) -> float | None:
        """The word error rate; also None if words were not aligned."""
        return self.measures.get("wer")

    @property
    def signature(self) -> str:
        """The settings, like sacreBLEU's signatures (Post 2018): scores are comparable only if these are equal."""
        first, vocabulary = ("yes" if flag else "no" for flag in (self.skip_first, self.vocabulary))
        align = "|align:words" if self.align else ""
        return f"capfst-score|v:{__version__}|tok:space|skip-first:{first}|vocabulary:{vocabulary}{align}"

    @property
    def groups(self) -> dict[str, TokenCounts]:
        """Counts of all tokens, of the tokens of each shape, and of those in and out of the vocabulary."""
        tokens, correct = self.counts[cmp.TOKENS : cmp.CORRECT], self.counts[cmp.CORRECT : cmp.UNKNOWN]
        groups = {"all": TokenCounts(sum(tokens), sum(correct))}
        groups |= dict(zip(cmp.SHAPE_NAMES, map(TokenCounts, tokens, correct), strict=True))
        if self.vocabulary:
            unknown, unknown_correct = self.counts[cmp.UNKNOWN], self.counts[cmp.UNKNOWN_CORRECT]
            groups["in vocabulary"] = TokenCounts(sum(tokens) - unknown, sum(correct) - unknown_correct)
            groups["out of vocabulary"] = TokenCounts(unknown, unknown_correct)
        return groups

    def __repr__(self) -> str:
        rates = ", ".join(f"{name}={show(value)}" for name, value in self.measures.items())
        sizes = f"{quantity(self.lines, 'line')}, {quantity(self.groups['all'].tokens, 'token')}"
        return f"<Scores {rates}; {sizes}; {self.signature}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the measures, all counts and the signature, for JSON."""
        capitals = {
            "proposed": self.counts[cmp.PROPOSED],
            "reference": sum(self.counts[cmp.TOKENS + shape] for shape in _SHAPES_WITH_CAPITALS),
            "correct": sum(self.counts[cmp.CORRECT + shape] for shape in _SHAPES_WITH_CAPITALS),
        }
        characters = dict(zip(_EDITS, self.counts[cmp.CAPITALS : cmp.WORDS], strict=True))
        words = dict(zip(_EDITS, self.counts[cmp.WORDS :], strict=True))
        return {
            **with_former_name(self.measures),
            "lines": self.lines,
            "tokens": {
                name: {"tokens": tokens, "correct": correct, "accuracy": percent(correct, tokens)}
                for name, (tokens, correct) in self.groups.items()
            },
            "capitalized_tokens": capitals,
            "uppercase_characters": characters,
            **({"words": words} if self.align else {}),
            "signature": self.signature,
        }

    def table(self) -> str:
        """Format the scores as lines of text, without a final newline."""
        record = self.to_dict()
        groups = [("words in common" if self.align else "", "tokens", "correct", "accuracy")]
        for name, (tokens, correct) in self.groups.items():
            groups.append((name, grouped(tokens), grouped(correct), show(percent(correct, tokens))))

        def rows(title: str, counts: dict[str, int], *rates: str) -> list[tuple[str, ...]]:
            numbers = *map(grouped, counts.values()), *(show(self.measures[rate]) for rate in rates)
            return [(title, *counts, *map(self.titles.__getitem__, rates)), ("", *numbers)]

        capitals = rows("tokens with a capital", record["capitalized_tokens"], "precision", "recall", "f1")
        edits = rows("upper-case characters", record["uppercase_characters"], "capitalization_error_rate")
        if self.align:
            edits += rows("words", record["words"], "wer")
        return "\n\n".join([aligned(groups), aligned(capitals), aligned(edits), self.signature])

    __str__ = table


def with_former_name(values: dict[str, Value]) -> dict[str, Value]:
    """Return values by measure for JSON; in 0.2, `capitalization_error_rate` also has its name of 0.1, `cer`."""
    return values | {"cer": values["capitalization_error_rate"]}


def percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def grouped(count: int) -> str:
    return format(count, ",")


def show(value: float | None, form: str = ".2f") -> str:
    return "–" if value is None or isnan(value) else format(value, form)


def none_if_nan(value: float) -> float | None:
    return None if isnan(value) else value


def aligned(rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Format rows as columns: the first `texts` are aligned left, the others (numbers) right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if k < texts else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def score(
    *,
    references: Iterable[str | bytes],
    hypotheses: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    align: bool = False,
) -> Scores:
    """Score hypotheses against references that are equal up to case.

    `capfst.score(references=lines, hypotheses=recaser(lowercased))`

    Args:
        references: lines of cased text, with or without their line ends; bytes are UTF-8.
        hypotheses: the same lines in another casing.
        skip_first: leave out each line's first token with a letter, whose capital may be positional.
        in_vocabulary: return whether a token is known, such as `recaser.knows`, to score words in and out of the
            vocabulary.
        align: align the words, which may differ, as in a recognizer's output. Accuracy, precision, recall and F1 then
            cover the words in common, and `wer` is the word error rate.

    Raises:
        CorpusError: two lines differ in more than case; with `align`, a line has more than 262,144 words; a line is not
            UTF-8, or one text has more lines.
        TypeError: a text is a single str or bytes, or a line is neither str nor bytes.
    """
    settings = Scores(skip_first=skip_first, vocabulary=in_vocabulary is not None, align=align)
    return total(cmp.compare(references, hypotheses, skip_first, in_vocabulary, align), settings)


def score_files(
    *,
    references: str | Path,
    hypotheses: str | Path,
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    align: bool = False,
) -> Scores:
    """Score a file of hypotheses against a file of references, each plain or compressed, as `score` does lines."""
    settings = Scores(skip_first=skip_first, vocabulary=in_vocabulary is not None, align=align)
    files = lines_of_files(references, hypotheses)
    return total(cmp.compare(**files, skip_first=skip_first, in_vocabulary=in_vocabulary, aligns=align), settings)


def total(blocks: Iterable[cmp.LineCounts], empty: Scores) -> Scores:
    """Return the scores of all lines of the blocks together. empty: the scores of no lines, with the settings."""
    scores = empty
    for counts in blocks:
        scores += replace(empty, counts=tuple(counts.sum(0).tolist()), lines=len(counts))
    return scores


def lines_of_files(references: str | Path, hypotheses: str | Path) -> dict[str, Any]:
    """Return the lines of two files, plain or compressed, without their line ends, as `compare` takes them."""
    ref, hyp = (
        chain.from_iterable(block.decode().split("\n")[:-1] for block in read_blocks([Path(path)], errors="refuse"))
        for path in (references, hypotheses)
    )
    return {"references": ref, "hypotheses": hyp, "names": (str(references), str(hypotheses))}
