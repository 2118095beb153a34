"""Estimate interpolated modified Kneser-Ney probabilities from counts, lower orders first.

In: the nodes of each order in suffix order (count.py). Out: for each order n = 2..N and bucket, the contexts (n − 1
words) in suffix order, each with its n-grams sorted by last word: their probabilities, and the context's backoff
weight. Order 1 is estimated before them, as a whole.

An n-gram a·h·w (first word a, last word w) is used twice: as a node, among those that end in h·w, where its lower-order
probability P(w|h) is available; and in its context a·h, with the other n-grams of that context, which discounting
needs. `_send` carries it from the node to the context: sorted by (h, a), the contexts a·h are themselves in suffix
order, so that the n-th group is the n-th node one order below, without a look-up. `_place` returns the probability to
the node, for the next order.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating, kernel
from capfst.kernels.types import F32Matrix, F64Array, I64Array, U32Array, U32Matrix, f64, i64, u32
from capfst.lm.count import COUNT, CUT, FIRST, OCCURRENCES, PARENT, NgramCounts
from capfst.lm.partition import buckets_of, buckets_of_nodes
from capfst.system.buckets import Buckets, Store
from capfst.system.parallel import for_each, map_stream
from capfst.system.radix_sort import refine

_T = TypeVar("_T")

# The columns, uint32, of an n-gram a·h·w on its way to its context: node h; words a and w; its count; its own node and
# node h·w; P(w|h) as float32; its occurrences, if they were counted.
_MIDDLE, _FIRST, _WORD, _COUNT, _NODE, _PARENT, _LOWER, _OCCURRENCES = range(8)

# The columns of an n-gram in its context: its last word, P(w|context) and P(w|shorter context) as float32, its own
# node, and its suffix's node one order below.
WORD, PROB, LOWER, NODE, SUFFIX = range(5)

# The columns of an n-gram for the order above: its node; its prefix's node, last word and probability as float32.
_BACK_NODE, _BACK_PREFIX, _BACK_WORD, _BACK_PROB = range(4)

ABSENT = np.uint32(2**32 - 1)


class Contexts(NamedTuple):
    """A bucket of the contexts of one order, in suffix order, with the n-grams that extend them by a word.

    Kernels take the whole tuple.
    """

    order: int  # of the n-grams; the contexts have one word less
    bucket: int
    node: U32Array  # uint32[c]: the context's number at its order; at order 1 its label, 0 for <s>
    suffix: U32Array  # uint32[c]: its suffix's one order below (0 where that is the empty context)
    size: U32Array  # uint32[c]: the number of n-grams that extend it
    gamma: F64Array  # float64[c]: its backoff weight
    occurrences: F64Array  # float64[c]: its occurrences, if they were counted
    grams: U32Matrix  # uint32[sum(size), 5]: WORD, PROB, LOWER, NODE, SUFFIX; sorted by word within a context
    prob: F32Matrix  # float32[sum(size), 5]: the same memory, for PROB and LOWER


FALLBACK = (0.5, 1.0, 1.5)
"""lmplz's --discount_fallback, for small or artificial text, where the closed form fails."""


def discounts(counts_of_counts: npt.NDArray) -> npt.NDArray:
    """Return float64[4], the discounts of counts of 0, 1, 2, 3 or more: equation (26) in Chen & Goodman (1999).
    counts_of_counts: int64[5], whose [0] is ignored.

    Computed in single precision, as in lmplz, so that both fall back in the same cases.
    """
    n = counts_of_counts.astype(np.float32)
    if (n[1:4] == 0).any():
        return np.array((0.0, *FALLBACK))
    y = n[1] / np.float32(counts_of_counts[1] + 2.0 * counts_of_counts[2])
    amounts = [np.float32(j) - np.float32(j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3)]
    if any(not 0 <= amount <= j for j, amount in enumerate(amounts, 1)):
        return np.array((0.0, *FALLBACK))
    return np.array((0.0, *amounts), np.float64)


def unigrams(counts: NgramCounts) -> npt.NDArray:
    """Estimate order 1, interpolated with the uniform distribution over V labels and </s>, as lmplz by default. Return
    the probabilities, float64[V + 1]; at 0 that of </s>; <s> has none."""
    count = counts.continuations.astype(np.float64)
    amount = discounts(counts.counts_of_counts[1])[np.minimum(counts.continuations, 3)]
    total = count.sum()
    return (count - amount) / total + amount.sum() / total / (counts.words + 1)


@allocating
def _forward(nodes: U32Matrix, start: i64, below: U32Matrix, parent_start: i64, unigram: bool) -> U32Matrix:
    """Convert nodes (numbered from `start`) to n-grams on their way to their contexts, given data of their parents.

    below: uint32[·, 3]: prefix, last word and probability of the nodes of the order below, from `parent_start` on.
    unigram: that order is 1, where nodes are numbered by label.
    """
    grams = np.empty((len(nodes), 8 if nodes.shape[1] > OCCURRENCES else 7), np.uint32)
    for i in range(len(nodes)):
        parent = nodes[i, PARENT] - (u32(parent_start) if unigram else u32(0))
        grams[i, _MIDDLE] = below[parent, 0]
        grams[i, _FIRST] = nodes[i, FIRST]
        grams[i, _WORD] = below[parent, 1]
        grams[i, _COUNT] = nodes[i, COUNT]
        grams[i, _NODE] = start + i
        grams[i, _PARENT] = parent_start + parent
        grams[i, _LOWER] = below[parent, 2]
        if grams.shape[1] > _OCCURRENCES:
            grams[i, _OCCURRENCES] = nodes[i, OCCURRENCES]
    return grams


@kernel
def _smooth(
    grams: U32Matrix, lower: F32Matrix, sorting: U32Array, bounds: I64Array, discount: F64Array, contexts: Contexts,
    back: U32Matrix,
) -> i64:  # fmt: skip
    """Fill gamma, size and occurrences of each context, and its n-grams that are not cut, in order; return the number
    of these n-grams. Fill `back`, unless it is empty, with the data of each n-gram, including cut ones, for the next
    order.

    The n-grams of context c are grams[sorting[bounds[c] : bounds[c + 1]]]; `lower` is the same memory, for _LOWER.

    P(w|a·h) = (c(a·h·w) - D(c(a·h·w))) / c(a·h·) + gamma(a·h) P(w|h): equations (20), (24), (25) in Chen & Goodman
    (1999). The whole counts of n-grams that are cut go to gamma, as in lmplz.
    """
    gamma, placed, prob = contexts.gamma, contexts.grams, contexts.prob
    row = 0
    for context in range(len(bounds) - 1):
        total, freed = 0.0, 0.0
        for i in range(bounds[context], bounds[context + 1]):
            gram = grams[sorting[i]]
            count = gram[_COUNT] & ~CUT
            total += count
            freed += count if gram[_COUNT] & CUT else discount[min(count, u32(3))]
            if grams.shape[1] > _OCCURRENCES:
                contexts.occurrences[context] += gram[_OCCURRENCES]
        gamma[context] = freed / total
        for i in range(bounds[context], bounds[context + 1]):
            gram, count = grams[sorting[i]], grams[sorting[i], _COUNT]
            if not count & CUT:
                below = f64(lower[sorting[i], _LOWER])
                prob[row, PROB] = (count - discount[min(count, u32(3))]) / total + gamma[context] * below
                placed[row, WORD] = gram[_WORD]
                placed[row, LOWER] = gram[_LOWER]
                placed[row, NODE] = gram[_NODE]
                placed[row, SUFFIX] = gram[_PARENT]
                contexts.size[context] += 1
            if len(back) > 0:
                back[i, _BACK_NODE] = gram[_NODE]
                back[i, _BACK_PREFIX] = contexts.node[context]
                back[i, _BACK_WORD] = gram[_WORD]
                back[i, _BACK_PROB] = u32(0) if count & CUT else placed[row, PROB]
            row += not count & CUT
    return row


@allocating
def by_node(rows: U32Matrix, start: i64, number: i64) -> U32Matrix:
    """Sort rows by their first column, the node, from start to start + number - 1, and drop that column. Nodes without
    a row get ABSENT in the next one."""
    placed = np.zeros((number, rows.shape[1] - 1), np.uint32)
    placed[:, 0] = ABSENT
    for i in range(len(rows)):
        node = rows[i, 0] - start
        for column in range(1, rows.shape[1]):
            placed[node, column - 1] = rows[i, column]
    return placed


class Estimator:
    """Estimate orders one by one, from the lowest. Consumes `counts`."""

    def __init__(self, counts: NgramCounts, store: Store, threads: int) -> None:
        self.counts, self.store, self.threads = counts, store, threads
        self.unigrams = unigrams(counts)

    def contexts(self, use: Callable[[Contexts], _T]) -> Iterator[_T]:
        """Yield use(contexts), computed in the threads, for the contexts of orders 1..N-1 with their n-grams: order by
        order, bucket by bucket."""
        below: Buckets | None = None
        for n in range(2, self.counts.order + 1):
            grams = self._send(n, below)
            below = None if n == self.counts.order else Buckets(self.store, self.counts.windows, 4)
            place = partial(self._place, use, n, grams, below)
            yield from map_stream(place, range(len(grams)), self.threads)
            grams.close()

    def _send(self, n: int, below: Buckets | None) -> Buckets:
        """Return the n-grams of order n, in buckets by the last word of their contexts."""
        counts, partition = self.counts, self.counts.partition
        nodes, first_nodes = counts.nodes[n], counts.first_nodes[n]
        # A context has at most as many n-grams as occurrences.
        capacity = counts.windows
        if n == 2:
            capacity = np.bincount(partition.first_bucket, counts.tokens, len(nodes)).astype(np.int64)
        sent = Buckets(self.store, capacity, 8 if nodes.width > OCCURRENCES else 7)

        def send(bucket: int) -> None:
            if below is None:
                parent_start, last = partition.last_words(bucket)
                labels = np.arange(parent_start, last + 1, dtype=np.uint32)
                prob = self.unigrams[labels].astype(np.float32).view(np.uint32)
                known = np.stack([np.zeros_like(labels), labels, prob], axis=1)
            else:
                parent_start = counts.first_nodes[n - 1][bucket]
                known = below.take(bucket)
                known = by_node(known, parent_start, len(known))
            grams = _forward(nodes.take(bucket), first_nodes[bucket], known, parent_start, below is None)
            if n == 2:
                target: npt.NDArray = partition.first_bucket[grams[:, _FIRST]]
            elif n == 3:
                target = buckets_of(partition, grams[:, _MIDDLE], grams[:, _FIRST])
            else:
                target = np.searchsorted(counts.first_nodes[n - 2][1:], grams[:, _MIDDLE], side="right")
            sent.scatter(grams, target.astype(np.uint32))

        for_each(send, range(len(nodes)), self.threads)
        nodes.close()
        if below is not None:
            below.close()
        return sent

    def _place(self, use: Callable[[Contexts], _T], n: int, sent: Buckets, below: Buckets | None, bucket: int) -> _T:
        """Estimate the contexts of a bucket from the n-grams that were sent there, and use them; put the data for order
        n + 1 into `below`."""
        counts = self.counts
        grams = sent.take(bucket)
        keys = grams[:, _MIDDLE].astype(np.uint64) << np.uint64(counts.words.bit_length()) | grams[:, _FIRST]
        sorting = refine(grams[:, _WORD].astype(np.uint64), np.arange(len(grams), dtype=np.uint32))
        sorting = refine(keys, sorting)
        ranked = keys[sorting]
        begins = np.ones(len(keys) + 1, np.bool_)
        begins[1:-1] = ranked[1:] != ranked[:-1]
        bounds = np.flatnonzero(begins)
        leaders = grams[sorting[bounds[:-1]]]  # the first n-gram of each context
        number = len(leaders)
        if n == 2:
            node = leaders[:, _FIRST].copy()
        else:
            start = counts.first_nodes[n - 1][bucket] + counts.sentence_ends[n - 1, bucket]
            node = np.arange(start, start + number, dtype=np.uint32)
        gamma, size, occurrences = np.zeros(number), np.zeros(number, np.uint32), np.zeros(number)
        placed = np.empty((len(grams), 5), np.uint32)
        suffix, prob = leaders[:, _MIDDLE].copy(), placed.view(np.float32)
        contexts = Contexts(n, bucket, node, suffix, size, gamma, occurrences, placed, prob)
        back = np.empty((0 if below is None else len(grams), 4), np.uint32)
        discount = discounts(counts.counts_of_counts[n])
        left = _smooth(grams, grams.view(np.float32), sorting, bounds, discount, contexts, back)
        if below is not None:
            first_nodes, words, nodes = counts.first_nodes[n], back[:, _BACK_WORD], back[:, _BACK_NODE]
            below.scatter(back, buckets_of_nodes(counts.partition, first_nodes, words, nodes))
        return use(contexts._replace(grams=placed[:left], prob=prob[:left]))
