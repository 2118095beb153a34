"""Score: how well a hypothesis restores the case of its reference.

In: two files, or two series of lines, of the same words; or of different words, if these are to be aligned. Out:
`Scores`, which add up and print with their signature. All rates are in percent.

* accuracy: the share of tokens that equal the reference's (Lita et al. 2003); also by the shape of the reference's
  token, and in and out of a vocabulary.
* precision, recall, F1 (Susanto et al. 2016): correct / proposed, correct / gold, and their harmonic mean. Proposed
  and gold are the tokens with an upper-case letter in the hypothesis and in the reference; correct are the gold ones
  that are identical in both.
* CER (Beaufays & Strope 2013, §5.1): the capitalization error rate, as in `cer`. Each line is aligned by itself; of a
  line with more than 4,096 capitals, each stretch of so many.
* WER, if words are aligned: the word error rate, deletions + insertions + substitutions of words / words of the
  reference, whatever their case, as in `alignment`. Accuracy, precision, recall and F1 are then of the words in common.

A token's shape is that of its cased letters: lower; Capitalized (the first is upper-case and no other: "I", "X-ray");
UPPER (all are, two or more: "U.S."); mixed ("iPhone", "McDonald"); none (it has no cased letter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.evaluate.alignment import compare_aligned
from capfst.evaluate.compare import (
    CAPITALS,
    COLUMNS,
    CORRECT,
    DELETIONS,
    PROPOSED,
    SHAPE_NAMES,
    SUBSTITUTIONS,
    TOKENS,
    UNKNOWN,
    UNKNOWN_CORRECT,
    WORD_DELETIONS,
    WORD_SUBSTITUTIONS,
    WORDS,
    LineCounts,
    compare,
)
from capfst.io.blocks import read_blocks

MEASURES = {"accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1", "cer": "CER"}
ALIGNED_MEASURES = MEASURES | {"wer": "WER"}

_SHAPES_WITH_CAPITALS = range(Shape.CAPITALIZED, Shape.MIXED + 1)
_EDITS = ("reference", "deletions", "insertions", "substitutions")


def measures(counts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """float64[…, 6], `ALIGNED_MEASURES` in percent, of counts[…, COLUMNS]; NaN where there is nothing to measure."""
    tokens, correct = counts[..., TOKENS:CORRECT].sum(-1), counts[..., CORRECT:UNKNOWN].sum(-1)
    proposed = counts[..., PROPOSED]
    gold = sum(counts[..., TOKENS + shape] for shape in _SHAPES_WITH_CAPITALS)
    true = sum(counts[..., CORRECT + shape] for shape in _SHAPES_WITH_CAPITALS)
    errors = counts[..., DELETIONS : SUBSTITUTIONS + 1].sum(-1)
    word_errors = counts[..., WORD_DELETIONS : WORD_SUBSTITUTIONS + 1].sum(-1)
    numerators = np.stack([correct, true, true, 2 * true, errors, word_errors], -1)
    denominators = np.stack([tokens, proposed, gold, proposed + gold, counts[..., CAPITALS], counts[..., WORDS]], -1)
    return np.divide(100.0 * numerators, denominators, out=np.full(numerators.shape, np.nan), where=denominators > 0)


@dataclass(frozen=True, repr=False)
class Scores:
    """The scores of a hypothesis; those of its parts add up to those of the whole.

    A rate is None where there is nothing to measure: no token of a shape, no upper-case character.
    """

    counts: tuple[int, ...] = (0,) * COLUMNS
    lines: int = 0
    skip_first: bool = False
    vocabulary: bool = False
    align: bool = False

    def __add__(self, other: Scores) -> Scores:
        if self.signature != other.signature:
            raise ValueError(f"scores with different settings do not add up: {self.signature} and {other.signature}")
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return replace(self, counts=counts, lines=self.lines + other.lines)

    @property
    def titles(self) -> dict[str, str]:
        """The names of the measures, and what people call them."""
        return ALIGNED_MEASURES if self.align else MEASURES

    @property
    def measures(self) -> dict[str, float | None]:
        """Accuracy, precision, recall, f1 and cer; also wer, if words were aligned."""
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
    def cer(self) -> float | None:
        return self.measures["cer"]

    @property
    def wer(self) -> float | None:
        """None, too, if words were not aligned."""
        return self.measures.get("wer")

    @property
    def signature(self) -> str:
        """The settings, which must be equal for scores to be compared; after sacreBLEU's signatures (Post 2018)."""
        first, vocabulary = ("yes" if flag else "no" for flag in (self.skip_first, self.vocabulary))
        align = "|align:words" if self.align else ""
        return f"capfst-score|v:{version('capfst')}|tok:space|skip-first:{first}|vocabulary:{vocabulary}{align}"

    @property
    def groups(self) -> dict[str, tuple[int, int]]:
        """(tokens, correct ones): of all tokens, of each shape, and in and out of the vocabulary."""
        tokens, correct = self.counts[TOKENS:CORRECT], self.counts[CORRECT:UNKNOWN]
        groups = {"all": (sum(tokens), sum(correct))}
        groups |= dict(zip(SHAPE_NAMES, zip(tokens, correct, strict=True), strict=True))
        if self.vocabulary:
            unknown, unknown_correct = self.counts[UNKNOWN], self.counts[UNKNOWN_CORRECT]
            groups["in vocabulary"] = (sum(tokens) - unknown, sum(correct) - unknown_correct)
            groups["out of vocabulary"] = (unknown, unknown_correct)
        return groups

    @property
    def _capitals(self) -> dict[str, int]:
        return {
            "proposed": self.counts[PROPOSED],
            "reference": sum(self.counts[TOKENS + shape] for shape in _SHAPES_WITH_CAPITALS),
            "correct": sum(self.counts[CORRECT + shape] for shape in _SHAPES_WITH_CAPITALS),
        }

    @property
    def _characters(self) -> dict[str, int]:
        return dict(zip(_EDITS, self.counts[CAPITALS : SUBSTITUTIONS + 1], strict=True))

    @property
    def _words(self) -> dict[str, int]:
        return dict(zip(_EDITS, self.counts[WORDS : WORD_SUBSTITUTIONS + 1], strict=True))

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        rates = ", ".join(f"{name}={show(value)}" for name, value in self.measures.items())
        return (
            f"<Scores {rates}; {grouped(self.lines)} lines, {grouped(self.groups['all'][0])} tokens; {self.signature}>"
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the measures, all counts, and the signature."""
        return {
            **self.measures,
            "lines": self.lines,
            "tokens": {
                name: {"tokens": tokens, "correct": correct, "accuracy": percent(correct, tokens)}
                for name, (tokens, correct) in self.groups.items()
            },
            "capitalized_tokens": self._capitals,
            "uppercase_characters": self._characters,
            **({"words": self._words} if self.align else {}),
            "signature": self.signature,
        }

    def table(self) -> str:
        """For people: some lines of text, without a newline at the end."""
        groups = [("words in common" if self.align else "", "tokens", "correct", "accuracy")]
        for name, (tokens, correct) in self.groups.items():
            groups.append((name, grouped(tokens), grouped(correct), show(percent(correct, tokens))))
        rates = ("precision", "recall", "f1")
        capitals = [
            ("tokens with a capital", *self._capitals, *map(MEASURES.__getitem__, rates)),
            ("", *map(grouped, self._capitals.values()), *(show(self.measures[name]) for name in rates)),
        ]
        edits = [
            ("upper-case characters", *_EDITS, "CER"),
            ("", *map(grouped, self._characters.values()), show(self.cer)),
        ]
        if self.align:
            edits += [("words", *_EDITS, "WER"), ("", *map(grouped, self._words.values()), show(self.wer))]
        return "\n\n".join([aligned(groups), aligned(capitals), aligned(edits), self.signature])


def percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def grouped(count: int) -> str:
    return format(count, ",")


def show(value: float | None, form: str = ".2f") -> str:
    return "–" if value is None or isnan(value) else format(value, form)


def none_if_nan(value: float) -> float | None:
    return None if isnan(value) else value


def aligned(rows: Sequence[Sequence[str]], texts: int = 1) -> str:
    """Rows as text, in columns: the first `texts` are aligned to the left, the others (numbers) to the right."""
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
    reference: Iterable[str | bytes],
    hypothesis: Iterable[str | bytes],
    *,
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    align: bool = False,
) -> Scores:
    """The scores of lines against others, equal up to case: `capfst.score(references, recaser(texts))`.

    Args:
        reference: lines of cased text, with or without their ends; bytes are UTF-8.
        hypothesis: the same lines in another casing.
        skip_first: leaves out each line's first token with a letter, whose capital may be positional.
        in_vocabulary: whether a token is known, such as `recaser.knows`, to score words in and out of the vocabulary.
        align: lines may have different words, such as those of a recognizer. Accuracy, precision, recall and F1 are
            then of the words in common, and `wer` is the word error rate.

    Raises:
        CapfstError: a line that is not the other text's line in another casing, or, aligned, of more than 262,144
            words; or that the other text does not have.
        TypeError: a single str, or a line that is no str or bytes.
    """
    counts = (compare_aligned if align else compare)(reference, hypothesis, skip_first, in_vocabulary)
    return total(counts, Scores(skip_first=skip_first, vocabulary=in_vocabulary is not None, align=align))


def score_files(
    reference: str | Path,
    hypothesis: str | Path,
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    align: bool = False,
) -> Scores:
    """The scores of a file (plain or compressed) against another; the rest as in `score`."""
    counts = compare_files(reference, hypothesis, skip_first, in_vocabulary, align)
    return total(counts, Scores(skip_first=skip_first, vocabulary=in_vocabulary is not None, align=align))


def compare_files(
    reference: str | Path,
    hypothesis: str | Path,
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    align: bool = False,
) -> Iterator[LineCounts]:
    """`compare.compare` of the lines of two files, or `alignment.compare_aligned`."""
    names = (str(reference), str(hypothesis))
    lines = (read_lines(Path(reference)), read_lines(Path(hypothesis)))
    return (compare_aligned if align else compare)(*lines, skip_first, in_vocabulary, names)


def total(blocks: Iterable[LineCounts], empty: Scores) -> Scores:
    """The scores of all lines of the blocks together. empty: those of none, with the settings."""
    scores = empty
    for counts in blocks:
        scores += replace(empty, counts=tuple(counts.sum(0).tolist()), lines=len(counts))
    return scores


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file (plain or compressed), without their ends."""
    return chain.from_iterable(block.decode().split("\n")[:-1] for block in read_blocks([path], errors="refuse"))
