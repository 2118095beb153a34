"""Windows → n-grams: the counting of one bucket, for itself.

In: labels. `cut_up` makes of them windows, the last N words at each place, packed into a few integers, by bucket
(partition.py). `collapse` makes of all the windows of a bucket its nodes (count.py), of each order in suffix order.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.lm.partition import Partition, place
from capfst.system.radix_sort import refine

MAX_COUNT = 2**31 - 1
FIRST, PARENT, COUNT, RAW = range(4)
"""The columns of a node. COUNT is Kneser-Ney's: the number of different words before the n-gram, or, of the
highest order and of n-grams that begin with <s>, the number of occurrences. RAW is always the latter."""
CUT = np.uint32(1 << 31)
"""Set in COUNT where the number of occurrences is not above the order's cut-off."""


@nb.njit(cache=True, nogil=True)
def count_windows(
    labels: npt.NDArray, lead: int, first: npt.NDArray, split: npt.NDArray, share: npt.NDArray, number: int
) -> npt.NDArray:
    """How many windows that end at labels[lead:] each bucket has."""
    sizes = np.zeros(number, np.int64)
    for t in range(lead, len(labels)):
        sizes[place(first, split, share, labels[t], labels[t - 1] if t else 0)] += 1
    return sizes


@nb.njit(cache=True, nogil=True)
def _windows(
    labels: npt.NDArray,
    lead: int,
    first: npt.NDArray,
    split: npt.NDArray,
    share: npt.NDArray,
    number: int,
    order: int,
    bits: int,
    columns: int,
) -> tuple[npt.NDArray, npt.NDArray]:
    """The windows that end at labels[lead:], packed, sorted by bucket; and the buckets' bounds.

    A window is w(t), w(t-1) … w(t-N+1), `bits` each from the highest of the first column downwards, as many
    in a column as fit.
    """
    per = 64 // bits
    top = np.uint64(bits * (per - 1))
    step = np.uint64(bits)
    low = (np.uint64(1) << step) - np.uint64(1)
    spare = per * columns - order  # places in the last column that would hold words beyond the window
    last = ~((np.uint64(1) << np.uint64(bits * spare)) - np.uint64(1))
    bounds = np.zeros(number + 1, np.int64)
    bounds[1:] = np.cumsum(count_windows(labels, lead, first, split, share, number))
    free = bounds.copy()
    packed = np.empty((len(labels) - lead, columns), np.uint64)
    window = np.zeros(columns, np.uint64)
    for t in range(len(labels)):
        word = labels[t]
        for c in range(columns - 1, 0, -1):
            window[c] = (window[c] >> step) | ((window[c - 1] & low) << top)
        window[0] = (window[0] >> step) | (np.uint64(word) << top)
        window[columns - 1] &= last
        if t >= lead:
            bucket = place(first, split, share, word, labels[t - 1] if t else 0)
            at = free[bucket]
            free[bucket] = at + 1
            for c in range(columns):
                packed[at, c] = window[c]
        if word == 0:
            window[:] = 0
    return packed, bounds


@nb.njit(cache=True, nogil=True)
def _unpack(windows: npt.NDArray, sorting: npt.NDArray, order: int, bits: int) -> npt.NDArray:
    """The windows in sorted order, a word in each of N columns."""
    per = 64 // bits
    low = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    words = np.empty((len(sorting), order), np.uint32)
    for j in range(order):
        column, shift = j // per, np.uint64(bits * (per - 1 - j % per))
        for i in range(len(sorting)):
            words[i, j] = (windows[sorting[i], column] >> shift) & low
    return words


@nb.njit(cache=True, nogil=True)
def _collapse(windows: npt.NDArray, cutoffs: npt.NDArray, nodes: npt.NDArray) -> npt.NDArray:
    """Sorted windows → nodes[n, :number[n]] of each order n from 2 on; and these numbers."""
    total, order = windows.shape
    with_raw = nodes.shape[2] > RAW
    number = np.zeros(order + 1, np.int64)
    i = 0
    differs = 0  # the first place in which this window is not as the one before
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
        longest = order  # n-gram in the window with no <s> but as its first word
        for n in range(order, 2, -1):
            if window[n - 2] == 0:
                longest = n - 1
        for n in range(max(differs + 1, 2), longest + 1):
            node = nodes[n, number[n]]
            number[n] += 1
            node[FIRST] = window[n - 1]
            node[COUNT] = 0
            if with_raw:
                node[RAW] = 0
            if n == 2:
                node[PARENT] = window[0]
            else:
                node[PARENT] = number[n - 1] - 1
                nodes[n - 1, number[n - 1] - 1, COUNT] += 1
        nodes[longest, number[longest] - 1, COUNT] = min(count, MAX_COUNT)
        if with_raw:
            for n in range(2, longest + 1):
                nodes[n, number[n] - 1, RAW] += count
        differs = following
    if with_raw:
        for n in range(2, order + 1):
            for row in range(number[n]):
                if nodes[n, row, RAW] <= cutoffs[n]:
                    nodes[n, row, COUNT] |= CUT
    return number


@nb.njit(cache=True, nogil=True)
def _frequencies(nodes: npt.NDArray, frequencies: npt.NDArray) -> None:
    for row in range(len(nodes)):
        count = nodes[row, COUNT] & ~CUT
        if count < 5:
            frequencies[count] += 1


def _ends(nodes: npt.NDArray, sizes: npt.NDArray) -> npt.NDArray:
    """How many of a bucket's n-grams end in </s>, by order: those whose parents do, which come first."""
    ends = np.ones(len(sizes), np.int64)
    for n in range(2, len(sizes)):
        ends[n] = np.count_nonzero(nodes[n, : sizes[n], PARENT] < ends[n - 1])
    return ends


class Layout(NamedTuple):
    """How windows are packed, and nodes laid out."""

    order: int
    bits: int  # of a label in a window
    columns: int  # of a window
    width: int  # columns of a node
    cutoffs: npt.NDArray  # int64[N + 1], as in Counts

    @classmethod
    def of(cls, order: int, words: int, cutoffs: npt.NDArray, raw: bool) -> Layout:
        """For the labels 1..words; raw: nodes have the column RAW, as they must with cut-offs."""
        bits = max(1, words.bit_length())
        return cls(order, bits, -(-order // (64 // bits)), 4 if raw or cutoffs.any() else 3, cutoffs)


class Collapsed(NamedTuple):
    """The n-grams of a bucket, as in Counts (count.py)."""

    nodes: list[npt.NDArray]  # [n]: uint32[·, width], those of order n, from 2 on
    frequencies: npt.NDArray  # int64[N + 1, 5]
    ends: npt.NDArray  # int64[N + 1]


def cut_up(labels: npt.NDArray, lead: int, parts: Partition, layout: Layout) -> tuple[npt.NDArray, npt.NDArray]:
    """The windows that end at labels[lead:], uint64[·, columns], sorted by bucket; and the buckets' bounds."""
    order, bits, columns, *_ = layout
    return _windows(labels, lead, parts.first, parts.split, parts.share, parts.number, order, bits, columns)


def collapse(packed: npt.NDArray, layout: Layout) -> Collapsed:
    """A bucket's windows, in any order → its n-grams."""
    order = layout.order
    sorting = np.arange(len(packed), dtype=np.uint32)
    for column in range(layout.columns - 1, -1, -1):
        sorting = refine(packed[:, column].copy(), sorting)
    nodes = np.empty((order + 1, len(packed), layout.width), np.uint32)
    sizes = _collapse(_unpack(packed, sorting, order, layout.bits), layout.cutoffs, nodes)
    frequencies = np.zeros((order + 1, 5), np.int64)
    for n in range(2, order + 1):
        _frequencies(nodes[n, : sizes[n]], frequencies[n])
    found = [level[:size] for level, size in zip(nodes, sizes, strict=True)]
    return Collapsed(found, frequencies, _ends(nodes, sizes))
