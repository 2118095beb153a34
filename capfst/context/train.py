"""A labelled corpus → the context model beside the model.

In: the vocabulary of a model and its corpus, here or on Spark. Out: what is known of the words, and the learned tables,
which model.py writes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from capfst.build import PROGRAM, resident
from capfst.context import classes, kinds, sample, words
from capfst.context.features import LEADS
from capfst.context.learn import Facts, Tables, learn
from capfst.context.model import Weights, weights
from capfst.context.words import SHAPES
from capfst.errors import CapfstError
from capfst.shapes import CASELESS, LOWER, shapes
from capfst.symbols import UNKNOWN, Symbols
from capfst.tokenize import PROTECTED_CLASS

FIRST_BITS, SECOND_BITS = 22, 20
"""The tables have 2^22 and 2^20 rows at most while they learn; a fourth of them, 4 and 1 MB, is in the file."""

_ROWS_PER_LABEL = 8
_SLICES = 64  # of each source: all of them are learned from in turn, slice by slice
# Bytes of memory: of compiled code; of what is known of a word; for finding classes, which ends before the tables are
# made; of the tables, what several kinds of text begin with, and packing them.
_KERNELS, _PER_WORD, _PER_LABEL, _PER_ROW = 48 << 20, 400, 28, 70
_MARGIN = 16 << 20  # by which what is resident may differ from run to run

Progress = Callable[[int, str, str], AbstractContextManager[Callable[[int], object]]]
"""As training.Progress."""


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
    weights: list[Weights]  # by kind


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
    shape_of = shapes(symbols)
    for form in (UNKNOWN, PROTECTED_CLASS.decode()):  # which stand for words in any casing
        for label in symbols.forms(form, starts):
            shape_of[label] = CASELESS
    totals = np.bincount(word_of[1:], occurrences[1:], len(starts) - 1).astype(np.float64)
    leads = np.zeros(len(totals), np.uint8)
    first = np.argsort(-totals, kind="stable")[:LEADS]
    leads[first] = np.arange(1, len(first) + 1)
    sources = [labels for labels in corpus.sample(sample.MOST) if labels.any()]
    small = (shape_of == LOWER) | (shape_of == CASELESS)
    classed = classes.of_words(classes.classes(sources, len(symbols)), word_of, small, occurrences)
    hashes = words.described(symbols, starts)
    known = Facts(word_of, shape_of, hashes, leads, classed, corpus.habits(word_of, shape_of))
    kind_of, told = kinds.counted(sources, word_of, totals)
    number = told.shape[1]
    sliced = [sample.slices(labels, _SLICES) for labels in sources]
    tables = Tables.of(rows)
    with show(min(2, number) * sum(labels.size for labels in sources), "learning contexts", "tokens") as advance:

        def learn_from(chosen: list[int]) -> Weights:
            for turn in range(_SLICES):
                for source in chosen:
                    learn(sliced[source][turn], known, tables)
                    advance(sliced[source][turn].size)
            return weights(tables, known, starts)

        learned = [learn_from(list(range(len(sources))))]
        if number > 1:
            # Of these large tables there is one only, but for what all kinds begin with.
            common = [table[:, :SHAPES].copy() for table in tables]
            learned.clear()
            for kind in range(number):
                for table, begun in zip(tables, common, strict=True):
                    table[:, :SHAPES] = begun
                tables.renew()
                learned.append(learn_from(np.flatnonzero(kind_of == kind).tolist()))
    return Fitted(known, told, learned)
