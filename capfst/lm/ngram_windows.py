"""Count the n-grams of one bucket, from windows of N words.

In: labels. `pack_windows` builds the window at each position, the last N words, packed into a few integers, by bucket
(partition.py). `count_bucket` builds the nodes (count.py) of a bucket from all its windows, per order in suffix order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating
from capfst.kernels.types import I64Array, U32Array, U32Cube, U32Matrix, U64Matrix, i64, u64
from capfst.lm.partition import Partition, bucket_of
from capfst.system.radix_sort import refine

MAX_COUNT = 2**31 - 1
FIRST, PARENT, COUNT, OCCURRENCES = range(4)
"""The columns of a node. COUNT is Kneser-Ney's adjusted count: the number of different words before the n-gram, or, for
the highest order and n-grams that begin with <s>, its occurrences. OCCURRENCES is always the number of occurrences."""
CUT = np.uint32(1 << 31)
"""Set in COUNT if the number of occurrences is at most the order's cutoff."""


class WindowLayout(NamedTuple):
    """The layout of packed windows and of nodes. Kernels take the whole tuple."""

    order: int  # N
    bits: int  # of a label in a window
    columns: int  # of a window, uint64[columns]
    node_columns: int  # of a node, uint32[node_columns]: 3, or 4 with OCCURRENCES
    cutoffs: I64Array  # int64[N + 1], as in NgramCounts

    @classmethod
    def of(cls, order: int, words: int, cutoffs: npt.NDArray, occurrences: bool) -> WindowLayout:
        """Return the layout for labels 1..words; occurrences: nodes have that column, as they always do with
        cutoffs."""
        bits = max(1, words.bit_length())
        return cls(order, bits, -(-order // (64 // bits)), 4 if occurrences or cutoffs.any() else 3, cutoffs)


@allocating
def windows_per_bucket(labels: U32Array, n_before: i64, partition: Partition) -> I64Array:
    """Return int64[buckets]: the number of windows that end at labels[n_before:] per bucket."""
    sizes = np.zeros(partition.n_buckets, np.int64)
    for t in range(n_before, len(labels)):
        sizes[bucket_of(partition, labels[t], labels[t - 1] if t else 0)] += 1
    return sizes


@allocating
def pack_windows(
    labels: U32Array, n_before: i64, partition: Partition, layout: WindowLayout
) -> tuple[U64Matrix, I64Array]:
    """Return the windows that end at labels[n_before:], uint64[·, columns], sorted by bucket; and each bucket's first
    window, int64[buckets + 1].

    A window is w(t), w(t-1) … w(t-N+1), `bits` each, from the highest bits of the first column downwards, as many per
    column as fit.
    """
    columns = layout.columns
    per_column = 64 // layout.bits
    top = u64(layout.bits * (per_column - 1))
    step = u64(layout.bits)
    low = (u64(1) << step) - u64(1)
    spare = per_column * columns - layout.order  # words that would fit into the last column after the window's
    in_window = ~((u64(1) << u64(layout.bits * spare)) - u64(1))  # bits of the last column
    bounds = np.zeros(partition.n_buckets + 1, np.int64)
    sizes = windows_per_bucket(labels, n_before, partition)
    for bucket in range(partition.n_buckets):
        bounds[bucket + 1] = bounds[bucket] + sizes[bucket]
    next_row = bounds.copy()
    packed = np.empty((len(labels) - n_before, columns), np.uint64)
    window = np.zeros(columns, np.uint64)
    for t in range(len(labels)):
        word = labels[t]
        for c in range(columns - 1, 0, -1):
            window[c] = (window[c] >> step) | ((window[c - 1] & low) << top)
        window[0] = (window[0] >> step) | (u64(word) << top)
        window[columns - 1] &= in_window
        if t >= n_before:
            to = bucket_of(partition, word, labels[t - 1] if t else 0)
            row = next_row[to]
            next_row[to] = row + 1
            for c in range(columns):
                packed[row, c] = window[c]
        if word == 0:
            window[:] = 0
    return packed, bounds


@allocating
def _unpack(packed: U64Matrix, sorting: U32Array, layout: WindowLayout) -> U32Matrix:
    """Unpack the windows packed[sorting[0]], packed[sorting[1]], … into words: uint32[·, N]."""
    bits = layout.bits
    per_column = 64 // bits
    low = (u64(1) << u64(bits)) - u64(1)
    words = np.empty((len(sorting), layout.order), np.uint32)
    for j in range(layout.order):
        column, shift = j // per_column, u64(bits * (per_column - 1 - j % per_column))
        for i in range(len(sorting)):
            words[i, j] = (packed[sorting[i], column] >> shift) & low
    return words


@allocating
def _fill_nodes(windows: U32Matrix, cutoffs: I64Array, nodes: U32Cube) -> I64Array:
    """Fill nodes[n, :number[n]] for each order n ≥ 2 from sorted windows (uint32[·, N]); return these numbers."""
    total, order = windows.shape
    with_occurrences = nodes.shape[2] > OCCURRENCES
    number = np.zeros(order + 1, np.int64)
    i = 0
    differs = 0  # the first position in which this window differs from the one before it
    while i < total:
        window = windows[i]
        count = 0
        following = order
        while following == order:
            count += 1
            i += 1
            following = 0
            if i < total:
                while following < order and windows[i, following] == window[following]:
                    following += 1
        longest = order  # n-gram in the window with <s> at most as its first word
        for n in range(order, 2, -1):
            if window[n - 2] == 0:
                longest = n - 1
        for n in range(max(differs + 1, 2), longest + 1):
            node = nodes[n, number[n]]
            number[n] += 1
            node[FIRST] = window[n - 1]
            node[COUNT] = 0
            if with_occurrences:
                node[OCCURRENCES] = 0
            if n == 2:
                node[PARENT] = window[0]
            else:
                node[PARENT] = number[n - 1] - 1
                nodes[n - 1, number[n - 1] - 1, COUNT] += 1
        nodes[longest, number[longest] - 1, COUNT] = min(count, MAX_COUNT)
        if with_occurrences:
            for n in range(2, longest + 1):
                nodes[n, number[n] - 1, OCCURRENCES] += count
        differs = following
    if with_occurrences:
        for n in range(2, order + 1):
            for row in range(number[n]):
                if nodes[n, row, OCCURRENCES] <= cutoffs[n]:
                    nodes[n, row, COUNT] |= CUT
    return number


def _sentence_ends(nodes: npt.NDArray, sizes: npt.NDArray) -> npt.NDArray:
    """Return the number of a bucket's n-grams that end in </s>, per order: those whose parents do, which come first."""
    ends = np.ones(len(sizes), np.int64)
    for n in range(2, len(sizes)):
        ends[n] = np.count_nonzero(nodes[n, : sizes[n], PARENT] < ends[n - 1])
    return ends


class BucketCounts(NamedTuple):
    """The n-grams of a bucket, as in NgramCounts (count.py)."""

    nodes: list[npt.NDArray]  # [n]: uint32[·, node_columns], those of order n ≥ 2
    counts_of_counts: npt.NDArray  # int64[N + 1, 5]
    sentence_ends: npt.NDArray  # int64[N + 1]


def count_bucket(packed: npt.NDArray, layout: WindowLayout) -> BucketCounts:
    """Count the n-grams of a bucket, given its windows in any order."""
    order = layout.order
    sorting = np.arange(len(packed), dtype=np.uint32)
    for column in range(layout.columns - 1, -1, -1):
        sorting = refine(packed[:, column].copy(), sorting)
    nodes = np.empty((order + 1, len(packed), layout.node_columns), np.uint32)
    sizes = _fill_nodes(_unpack(packed, sorting, layout), layout.cutoffs, nodes)
    counts_of_counts = np.zeros((order + 1, 5), np.int64)
    for n in range(2, order + 1):
        adjusted = nodes[n, : sizes[n], COUNT] & ~CUT
        counts_of_counts[n] = [np.count_nonzero(adjusted == count) for count in range(5)]
    by_order = [level[:size] for level, size in zip(nodes, sizes, strict=True)]
    return BucketCounts(by_order, counts_of_counts, _sentence_ends(nodes, sizes))
