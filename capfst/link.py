"""N-grams as rows of words, in any order → the levels of a model (levels.py).

In: for each order from 2 on, rows w1..wn of labels (0 first: `<s>`; 0 last: `</s>`), costs and backoffs; the
same for order 1, by label. Out: levels, in which each n-gram knows its prefix and its suffix. Order: sort each
level by last words; add the suffixes that are missing, as in SRILM's pruned models, with the costs that they
have by backing off; find the links by merging neighbouring levels.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.levels import Level
from capfst.sort import refine


@dataclass
class Rows:
    """N-grams of one order. At order 1 row l is label l; a row whose cost is NaN has it from backing off."""

    words: npt.NDArray  # uint32[m, n], first word first
    cost: npt.NDArray  # float64[m]
    backoff: npt.NDArray  # float64[m]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, at: npt.NDArray) -> "Rows":
        return Rows(self.words[at], self.cost[at], self.backoff[at])


class BadRowError(Exception):
    """Row `row` of order `order` is there twice, or its first words are no n-gram."""

    def __init__(self, order: int, row: int, duplicate: bool) -> None:
        super().__init__()
        self.order, self.row, self.duplicate = order, row, duplicate


def sorting(words: npt.NDArray) -> npt.NDArray:
    """The rows' order by last word, then the word before it, and so on."""
    order = np.arange(len(words), dtype=np.uint32)
    for column in range(words.shape[1]):
        order = refine(words[:, column].astype(np.uint64), order)
    return order


@nb.njit(cache=True, nogil=True)
def _compare(one: npt.NDArray, first: int, other: npt.NDArray) -> int:
    """Whether the words one[first:] come before (-1), with (0) or after (1) the words `other`."""
    for j in range(len(other) - 1, -1, -1):
        if one[first + j] != other[j]:
            return -1 if one[first + j] < other[j] else 1
    return 0


@nb.njit(cache=True, nogil=True)
def _duplicate(words: npt.NDArray) -> int:
    """The first row that is equal to the one before it; or -1."""
    for i in range(1, len(words)):
        if _compare(words[i], 0, words[i - 1]) == 0:
            return i
    return -1


@nb.njit(cache=True, nogil=True)
def _merge(words: npt.NDArray, order: npt.NDArray, first: int, below: npt.NDArray, missing: npt.NDArray) -> npt.NDArray:
    """For each row the row of `below` that has its words from column `first` on; both are sorted by these.

    missing[i] becomes whether there is none for row i.
    """
    link = np.zeros(len(words), np.uint32)
    at = 0
    for i in order:
        while at < len(below) and _compare(words[i], first, below[at]) > 0:
            at += 1
        missing[i] = at == len(below) or _compare(words[i], first, below[at]) != 0
        link[i] = 0 if missing[i] else at
    return link


def link(rows: list[Rows]) -> list[Level]:
    """The levels of a model.

    Raises:
        BadRowError: a row is there twice, or has no prefix.
    """
    number = len(rows[0])
    own = [np.arange(number)]  # the place in `rows` of each sorted row; what was added has none
    levels = [rows[0]]
    for n, level in enumerate(rows[1:], 2):
        order = sorting(level.words)
        own.append(order)
        levels.append(level[order])
        twice = _duplicate(levels[-1].words)
        if twice >= 0:
            raise BadRowError(n, int(max(order[twice - 1 : twice + 1])), True)
    for n in range(len(levels) - 1, 1, -1):
        levels[n - 1], own[n - 1] = _complete(levels[n - 1], own[n - 1], levels[n].words)
    linked = [_unigrams(rows[0])]
    for n, level in enumerate(levels[1:], 2):
        shorter = linked[-1]
        if n == 2:
            prefix, suffix = level.words[:, 0].copy(), level.words[:, 1].copy()
        else:
            every, below = np.arange(len(level)), levels[n - 2].words
            missing = np.zeros(len(level), bool)
            suffix = _merge(level.words, every, 1, below, missing)
            by_prefix = sorting(level.words[:, :-1])
            prefix = _merge(level.words, by_prefix, 0, below, missing)
            if missing.any():
                raise BadRowError(n, int(own[n - 1][missing].min()), False)
        cost = np.where(np.isnan(level.cost), shorter.backoff[prefix] + shorter.cost[suffix], level.cost)
        last = level.words[:, -1].copy()
        linked.append(Level(last, prefix, suffix, cost, np.where(last == 0, 0.0, level.backoff)))
    return linked


def _unigrams(rows: Rows) -> Level:
    zeros = np.zeros(len(rows), np.uint32)
    return Level(np.arange(len(rows), dtype=np.uint32), zeros, zeros, rows.cost, rows.backoff)


def _complete(level: Rows, own: npt.NDArray, longer: npt.NDArray) -> tuple[Rows, npt.NDArray]:
    """The level with the suffixes of the n-grams `longer` (sorted) that it lacks, and where its rows come from."""
    missing = np.zeros(len(longer), bool)
    _merge(longer, np.arange(len(longer)), 1, level.words, missing)
    if not missing.any():
        return level, own
    added = longer[missing, 1:]
    added = added[np.append(True, (added[1:] != added[:-1]).any(axis=1))]
    words = np.concatenate([level.words, added])
    order = sorting(words)
    unknown = np.full(len(added), np.nan)
    whole = Rows(words, np.append(level.cost, unknown), np.append(level.backoff, np.zeros(len(added))))
    return whole[order], np.append(own, np.full(len(added), np.iinfo(np.int64).max))[order]
