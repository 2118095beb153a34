"""A backoff model as arrays, one level per order: for pruning, mixing and reading ARPA files.

The entries of a level are its n-grams, sorted by last word; the entries of level 1 are the labels 0..V, in order. 0 is
`</s>` as a word and `<s>` as a context: entry 0 of level 1 has the probability of `</s>` and the backoff weight of
`<s>`.

`link` builds the levels from n-grams given as rows of words, in any order: it sorts each level by last words; adds the
suffixes that are missing, as in SRILM's pruned models, with their costs by backing off; and finds each n-gram's prefix
and suffix by merging adjacent levels.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating, inner
from capfst.kernels.types import U32Array, U32Matrix, i64
from capfst.system.radix_sort import refine


@dataclass
class Level:
    """The n-grams w1..wn of one order."""

    word: npt.NDArray  # uint32[n], sorted: wn
    prefix: npt.NDArray  # uint32[n]: entry, one level below, of w1..w(n-1); at level 1: 0
    suffix: npt.NDArray  # uint32[n]: entry, one level below, of w2..wn; at level 1: 0
    cost: npt.NDArray  # float64[n]: -ln P(wn | w1..w(n-1))
    backoff: npt.NDArray  # float64[n]: -ln of the backoff weight; 0 if the n-gram is not a context

    def __len__(self) -> int:
        return len(self.word)


def cost(probability: npt.NDArray) -> npt.NDArray:
    """Return −ln of a probability; infinite for 0."""
    with np.errstate(divide="ignore"):
        return -np.log(probability, dtype=np.float64)


def unigram_level(cost: npt.NDArray, backoff: npt.NDArray) -> Level:
    """Return level 1, given the costs and backoff costs of labels 0..V."""
    zeros = np.zeros(len(cost), np.uint32)
    return Level(np.arange(len(cost), dtype=np.uint32), zeros, zeros, cost, backoff)


def normalize(shorter: Level, level: Level) -> None:
    """Set the backoff costs of one level so that the probabilities of all words in each of its contexts sum to 1.

    The weight of a context is 1 minus the probabilities of its n-grams (in `level`), divided by 1 minus the
    probabilities of the same words one order below.
    """
    left = _left_over(level.prefix, np.exp(-level.cost), len(shorter))
    left_below = _left_over(level.prefix, np.exp(-shorter.cost)[level.suffix], len(shorter))
    is_context = np.bincount(level.prefix, minlength=len(shorter)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(left > 0, left / left_below, 0.0)
    shorter.backoff[:] = np.where(is_context, cost(weight), 0.0)


def _left_over(prefix: npt.NDArray, probability: npt.NDArray, number: int) -> npt.NDArray:
    """Return float64[number]: 1 minus the probabilities of the n-grams with each prefix, at least 0."""
    return np.maximum(0.0, 1.0 - np.bincount(prefix, weights=probability, minlength=number))


@dataclass
class NgramTable:
    """The n-grams of one order as rows of words. At order 1 row l is label l. A cost of NaN means the cost by backing
    off."""

    words: npt.NDArray  # uint32[m, n], first word first
    cost: npt.NDArray  # float64[m]: -ln P
    backoff: npt.NDArray  # float64[m]: -ln of the backoff weight

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, rows: npt.NDArray | slice) -> "NgramTable":
        return NgramTable(self.words[rows], self.cost[rows], self.backoff[rows])


def empty_table(order: int, rows: int = 0) -> NgramTable:
    """Return a table to fill."""
    return NgramTable(np.empty((rows, order), np.uint32), np.empty(rows), np.empty(rows))


class BadRowError(Exception):
    """Row `row` of order `order` is a duplicate, or its prefix is not an n-gram."""

    def __init__(self, order: int, row: int, duplicate: bool) -> None:
        super().__init__()
        self.order, self.row, self.duplicate = order, row, duplicate


def _suffix_order(words: npt.NDArray) -> npt.NDArray:
    """Return uint32[m]: the rows of words, uint32[m, n], sorted by last word, then the word before it, and so on."""
    order = np.arange(len(words), dtype=np.uint32)
    for column in range(words.shape[1]):
        order = refine(words[:, column].astype(np.uint64), order)
    return order


def united(tables: list[NgramTable]) -> list[NgramTable]:
    """Return the n-grams of all tables, each once and sorted by last words, as one table for each with its own costs:
    NaN where it lacks the n-gram."""
    words = np.concatenate([own.words for own in tables])
    order = _suffix_order(words)
    words = words[order]
    first = np.flatnonzero(np.append(np.ones(min(1, len(words)), bool), (words[1:] != words[:-1]).any(axis=1)))
    whole, end = [], 0
    for own in tables:
        cost, backoff = np.full(len(order), np.nan), np.zeros(len(order))
        begin, end = end, end + len(own)
        cost[begin:end], backoff[begin:end] = own.cost, own.backoff
        own_cost, own_backoff = np.fmin.reduceat(cost[order], first), np.add.reduceat(backoff[order], first)
        whole.append(NgramTable(words[first], own_cost, own_backoff))
    return whole


@inner
def _compare(one: U32Array, first: i64, other: U32Array) -> i64:
    """Return -1, 0 or 1 if the words one[first:] sort before, are equal to, or sort after the words `other`."""
    for j in range(len(other) - 1, -1, -1):
        if one[first + j] != other[j]:
            return -1 if one[first + j] < other[j] else 1
    return 0


@allocating
def _find_in_level(words: U32Matrix, order: U32Array, first: i64, below: U32Matrix) -> U32Array:
    """Return for each row the row of `below` with its words from column `first` on; both are sorted by these words, the
    rows by `order`. A row that is not found gets len(below)."""
    found = np.empty(len(words), np.uint32)
    row = 0
    for i in order:
        while row < len(below) and _compare(words[i], first, below[row]) > 0:
            row += 1
        found[i] = row if row < len(below) and _compare(words[i], first, below[row]) == 0 else len(below)
    return found


def _suffixes(words: npt.NDArray, below: npt.NDArray) -> npt.NDArray:
    return _find_in_level(words, np.arange(len(words), dtype=np.uint32), 1, below)


def _prefixes(words: npt.NDArray, below: npt.NDArray) -> npt.NDArray:
    return _find_in_level(words, _suffix_order(words[:, :-1]), 0, below)


def link(tables: list[NgramTable]) -> list[Level]:
    """Build the levels of a model.

    Raises:
        BadRowError: a row is a duplicate, or has no prefix.
    """
    levels = []
    for n, table in enumerate(tables, 1):
        order = _suffix_order(table.words)
        levels.append(table[order])
        same = np.flatnonzero((levels[-1].words[1:] == levels[-1].words[:-1]).all(axis=1))
        if len(same):
            raise BadRowError(n, int(order[same[0] : same[0] + 2].max()), True)
    links = []
    for n in range(len(levels) - 1, 0, -1):
        words, below = levels[n].words, levels[n - 1]
        suffix = _suffixes(words, below.words)
        if (suffix == len(below)).any():
            unknown = NgramTable(words[:, 1:], np.full(len(words), np.nan), np.zeros(len(words)))
            levels[n - 1] = below = united([below, unknown])[0]
            suffix = _suffixes(words, below.words)
        prefix = _prefixes(words, below.words)
        if (prefix == len(below)).any():
            raise BadRowError(n + 1, int(np.argmax(_prefixes(tables[n].words, below.words) == len(below))), False)
        links.append((prefix, suffix))
    linked = [unigram_level(tables[0].cost, tables[0].backoff)]
    for level, (prefix, suffix) in zip(levels[1:], reversed(links), strict=True):
        shorter, last = linked[-1], level.words[:, -1].copy()
        cost = np.where(np.isnan(level.cost), shorter.backoff[prefix] + shorter.cost[suffix], level.cost)
        linked.append(Level(last, prefix, suffix, cost, np.where(last == 0, 0.0, level.backoff)))
    return linked
