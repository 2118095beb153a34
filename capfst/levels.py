"""A backoff model as arrays, one level per order: what is pruned, mixed, read from and written as ARPA.

The entries of a level are its n-grams, last words rising; the entries of level 1 are the labels 0..V, in
their order. 0 is `</s>` as a word and `<s>` as a context: entry 0 of level 1 has the probability of the one
and the backoff of the other.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.estimate import Unigrams


@dataclass
class Level:
    """The n-grams w1..wn of one order."""

    word: npt.NDArray  # uint32[n], rising: wn
    prefix: npt.NDArray  # uint32[n]: entry, one level below, of w1..w(n-1); at level 1: 0
    suffix: npt.NDArray  # uint32[n]: entry, one level below, of w2..wn; at level 1: 0
    cost: npt.NDArray  # float64[n]: -ln P(wn | w1..w(n-1))
    backoff: npt.NDArray  # float64[n]: -ln of the backoff weight; 0 where the n-gram is no context

    def __len__(self) -> int:
        return len(self.word)


_BLOCK = 64


@nb.njit(cache=True, nogil=True)
def renumber(entries: npt.NDArray, kept: npt.NDArray) -> npt.NDArray:
    """The numbers that these entries, all of which are kept (bool[]), have among the kept ones."""
    before = np.zeros(len(kept) // _BLOCK + 1, np.uint32)  # kept entries before each block
    total = 0
    for i in range(len(kept)):
        if i % _BLOCK == 0:
            before[i // _BLOCK] = total
        total += kept[i]
    numbers = np.empty(len(entries), np.uint32)
    for i in range(len(entries)):
        block = entries[i] // _BLOCK
        number = before[block]
        for j in range(block * _BLOCK, entries[i]):
            number += kept[j]
        numbers[i] = number
    return numbers


def cost(probability: npt.NDArray) -> npt.NDArray:
    """-ln; infinite for 0."""
    with np.errstate(divide="ignore"):
        return -np.log(probability, dtype=np.float64)


def unigram_level(unigrams: Unigrams) -> Level:
    number = len(unigrams.prob)
    zeros = np.zeros(number, np.uint32)
    return Level(np.arange(number, dtype=np.uint32), zeros, zeros, cost(unigrams.prob), np.zeros(number))


def normalize(shorter: Level, level: Level) -> None:
    """Sets the backoffs of one level so that the probabilities of all words in each of its contexts sum to 1.

    In a context, what its n-grams (in `level`) leave over goes to what these words leave over one order below.
    """
    left = _left(level.prefix, np.exp(-level.cost), len(shorter))
    left_below = _left(level.prefix, np.exp(-shorter.cost)[level.suffix], len(shorter))
    is_context = np.bincount(level.prefix, minlength=len(shorter)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(left > 0, left / left_below, 0.0)
    shorter.backoff[:] = np.where(is_context, cost(weight), 0.0)


def _left(prefix: npt.NDArray, probability: npt.NDArray, number: int) -> npt.NDArray:
    return np.maximum(0.0, 1.0 - np.bincount(prefix, weights=probability, minlength=number))
