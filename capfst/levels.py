"""A backoff model as arrays, one level per order: what is pruned, mixed, read from and written as ARPA.

The entries of a level are its n-grams, last words rising; the entries of level 1 are the labels 0..V, in
their order. 0 is `</s>` as a word and `<s>` as a context: entry 0 of level 1 has the probability of the one
and the backoff of the other.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.estimate import NODE, PROB, SUFFIX, WORD, Estimator


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


@nb.njit(cache=True, nogil=True)
def renumber(level: npt.NDArray, kept: npt.NDArray) -> npt.NDArray:
    """The numbers among the kept entries of these entries, all of which are kept."""
    rank = np.cumsum(kept) - 1
    moved = np.empty(len(level), np.uint32)
    for i in range(len(level)):
        moved[i] = rank[level[i]]
    return moved


def cost(probability: npt.NDArray) -> npt.NDArray:
    """-ln; infinite for 0."""
    with np.errstate(divide="ignore"):
        return -np.log(probability, dtype=np.float64)


def select(levels: list[Level], kept: list[npt.NDArray]) -> list[Level]:
    """The levels with only the kept entries: bool[n] for each level. Backoffs stay as they are.

    Of a kept entry the prefix and the suffix must be kept too.
    """
    selected: list[Level] = []
    for n, (level, keep) in enumerate(zip(levels, kept, strict=True)):
        prefix, suffix = level.prefix[keep], level.suffix[keep]
        if n:
            prefix, suffix = renumber(prefix, kept[n - 1]), renumber(suffix, kept[n - 1])
        selected.append(Level(level.word[keep], prefix, suffix, level.cost[keep], level.backoff[keep]))
    return selected


def collect(estimator: Estimator) -> list[Level]:
    """The whole model in memory, without the n-grams that are cut."""
    counts, root = estimator.counts, estimator.unigrams
    number = counts.words + 1
    zeros = np.zeros(number, np.uint32)
    levels = [Level(np.arange(number, dtype=np.uint32), zeros, zeros, cost(root.prob), np.zeros(number))]
    kept = [np.ones(number, bool)]
    for n in range(2, counts.order + 1):
        number = int(counts.starts[n][-1])
        links = (np.zeros(number, np.uint32) for _ in range(3))
        levels.append(Level(*links, np.zeros(number), np.zeros(number)))
        kept.append(np.zeros(number, bool))
    for contexts in estimator.contexts(lambda contexts: contexts):
        level, grams = levels[contexts.order - 1], contexts.grams
        at = grams[:, NODE]
        level.word[at] = grams[:, WORD]
        level.prefix[at] = np.repeat(contexts.node, contexts.size)
        level.suffix[at] = grams[:, SUFFIX]
        level.cost[at] = cost(grams.view(np.float32)[:, PROB])
        kept[contexts.order - 1][at] = True
        levels[contexts.order - 2].backoff[contexts.node] = cost(contexts.gamma)
    return select(levels, kept) if counts.cutoffs.any() else levels
