"""A labelled corpus → the context model beside the model.

In: the vocabulary of a model and its corpus, here or on Spark. Out: what is known of the words, and the learned tables,
which model.py writes.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape, shapes
from capfst.context import classes, sample, words
from capfst.context import domains as kinds
from capfst.context.features import LEADS
from capfst.context.learn import Facts, Tables, learn
from capfst.context.model import Parameters, weights
from capfst.errors import CapfstError
from capfst.fst.symbols import UNKNOWN, Symbols
from capfst.system.budget import PROGRAM, resident
from capfst.system.progress import Progress
from capfst.text.tokenizer import PROTECTED_CLASS

FIRST_BITS, SECOND_BITS = 22, 20
"""The tables have 2^22 and 2^20 rows at most while they learn; a fourth of them, 4 and 1 MB, is in the file."""

_ROWS_PER_LABEL = 8
_SLICES = 64  # of each source: all of them are learned from in turn, slice by slice
# Bytes of memory: of compiled code; of what is known of a word; for finding classes, which ends before the tables are
# made; of the tables, what several kinds of text begin with, and packing them.
_KERNELS, _PER_WORD, _PER_LABEL, _PER_ROW = 48 << 20, 400, 28, 70
_MARGIN = 16 << 20  # by which what is resident may differ from run to run


class Corpus(Protocol):
    """A labelled corpus, wherever it is."""

    def habits(self, word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """As words.habits."""

    def sample(self, most: int) -> list[npt.NDArray[np.uint32]]:
        """As sample.sample."""


class Fitted(NamedTuple):
    """What model.py writes."""

    known: Facts
    told: npt.NDArray[np.int8]  # [words, kinds], by kinds.py
    weights: list[Parameters]  # by kind


class Local(NamedTuple):
    """A labelled corpus in an array; ends[s]: where source s ends in it."""

    labels: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]

    def habits(self, word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        return words.habits(self.labels, word_of, shapes)

    def sample(self, most: int) -> list[npt.NDArray[np.uint32]]:
        return sample.sample(self.labels, self.ends, most)


def fit(
    symbols: Symbols,
    starts: npt.NDArray[np.int64],
    occurrences: npt.NDArray[np.int64],
    corpus: Corpus,
    memory: int | None,
    show: Progress,
) -> Fitted:
    """What the context model knows and has learned of a corpus.

    starts: as from symbols.check. occurrences: of each label, int64[V + 1]. memory: bytes that the program may take.

    Raises:
        CapfstError: too little memory.
    """
    size = min(int(occurrences.sum()), sample.MOST)
    bits = max(8, (_ROWS_PER_LABEL * size).bit_length())
    rows = 2 ** min(bits, FIRST_BITS), 2 ** min(bits, SECOND_BITS)
    needed = max(PROGRAM, resident()) + _KERNELS + _PER_WORD * len(starts)
    needed += max(_PER_LABEL * size, _PER_ROW * sum(rows) + 4 * size)
    if memory is not None and memory < needed:
        raise CapfstError(
            f"{memory >> 20} MiB of memory are too little to learn contexts: allow {needed + _MARGIN >> 20} MiB "
            "(--memory), or leave them out (--no-context)"
        )
    word_of = np.zeros(len(symbols), np.int64)
    word_of[1:] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    totals = np.bincount(word_of[1:], occurrences[1:], len(starts) - 1).astype(np.float64)
    sources = [labels for labels in corpus.sample(sample.MOST) if labels.any()]
    known = _known(symbols, starts, occurrences, totals, word_of, corpus, sources)
    kind_of, told = kinds.counted(sources, word_of, totals)
    return Fitted(known, told, _learned(known, starts, sources, kind_of, Tables.of(rows), show))


def _known(
    symbols: Symbols,
    starts: npt.NDArray[np.int64],
    occurrences: npt.NDArray[np.int64],
    totals: npt.NDArray[np.float64],
    word_of: npt.NDArray[np.int64],
    corpus: Corpus,
    sources: list[npt.NDArray[np.uint32]],
) -> Facts:
    """What is known of labels and words. totals: how often each word occurs."""
    shape_of = shapes(symbols)
    for form in (UNKNOWN, PROTECTED_CLASS.decode()):  # which stand for words in any casing
        for label in symbols.forms(form, starts):
            shape_of[label] = Shape.CASELESS
    leads = np.zeros(len(totals), np.uint8)
    first = np.argsort(-totals, kind="stable")[:LEADS]
    leads[first] = np.arange(1, len(first) + 1)
    small = (shape_of == Shape.LOWER) | (shape_of == Shape.CASELESS)
    classed = classes.of_words(classes.classes(sources, len(symbols)), word_of, small, occurrences)
    hashes = words.described(symbols, starts)
    return Facts(word_of, shape_of, hashes, leads, classed, corpus.habits(word_of, shape_of))


def _learned(
    known: Facts,
    starts: npt.NDArray[np.int64],
    sources: list[npt.NDArray[np.uint32]],
    kind_of: npt.NDArray[np.int64],
    tables: Tables,
    show: Progress,
) -> list[Parameters]:
    """What the tables learn of all sources in turn, and then of those of each kind, if there are several."""
    sliced = [sample.slices(labels, _SLICES) for labels in sources]
    number = int(kind_of.max()) + 1
    with show(min(2, number) * sum(labels.size for labels in sources), "learning contexts", "tokens") as advance:

        def learn_from(chosen: list[int]) -> None:
            for turn in range(_SLICES):
                for source in chosen:
                    learn(sliced[source][turn], known, tables)
                    advance(sliced[source][turn].size)

        learn_from(list(range(len(sources))))
        if number == 1:
            return [weights(tables, known, starts)]
        # Of these large tables there is one only, but for what all kinds begin with.
        common = [table[:, :N_SHAPES].copy() for table in tables]
        learned = []
        for kind in range(number):
            for table, begun in zip(tables, common, strict=True):
                table[:, :N_SHAPES] = begun
            tables.renew()
            learn_from(np.flatnonzero(kind_of == kind).tolist())
            learned.append(weights(tables, known, starts))
        return learned
