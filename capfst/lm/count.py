"""Count the n-grams of a labeled corpus, all orders at once, by one sort of the windows of N words.

In: labels; each sentence is the labels 1..V of its words, then a 0 (`</s>`). Out: for each order 2..N the nodes: the
distinct n-grams in *suffix order* (by last word, then the word before it, and so on), each with its first word, its
parent (the node one order below, without the first word) and its adjusted count. A node's number is its index in this
order; at order 1 it is the label. The words before a sentence are 0 (`<s>`), which no window confuses with `</s>`: that
is only the last word of a window.

In suffix order all n-grams with the same last words are adjacent at every order. So the corpus is divided into buckets
by last words (partition.py), each counted independently of the others: `pack_windows` builds the window at each
position, the last N words, packed into a few integers, by bucket; `count_bucket` builds the nodes of a bucket from all
its windows.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.corpus.labels import count_labels, pieces
from capfst.exceptions import CorpusError
from capfst.kernels import allocating
from capfst.kernels.types import I64Array, U32Array, U32Cube, U32Matrix, U64Matrix, i64, u64
from capfst.lm.partition import Partition, bucket_of, partition_tokens
from capfst.options import TrainOptions
from capfst.system.buckets import Buckets, Store
from capfst.system.parallel import for_each, map_stream
from capfst.system.radix_sort import refine

_BUCKET = 1 << 18
_MAX_BUCKETS = 1 << 10
_MAX_COUNT = 2**31 - 1
FIRST, PARENT, COUNT, OCCURRENCES = range(4)
"""The columns of a node. COUNT is Kneser-Ney's adjusted count: the number of different words before the n-gram, or, for
the highest order and n-grams that begin with <s>, its occurrences. OCCURRENCES is always the number of occurrences."""
CUT = np.uint32(1 << 31)
"""Set in COUNT if the number of occurrences is at most the order's cutoff."""


class NgramCounts(NamedTuple):
    """The nodes of a corpus of `words` labels."""

    order: int
    words: int
    tokens: npt.NDArray  # int64[V + 1]: occurrences of each label; at 0 the number of sentences
    partition: Partition
    continuations: npt.NDArray  # int64[V + 1]: the adjusted counts of order 1
    counts_of_counts: npt.NDArray  # int64[N + 1, 5]: the number of n-grams of order n whose adjusted count is 1..4
    # For orders 2 and higher:
    windows: npt.NDArray  # int64[buckets]: tokens in each bucket
    nodes: list[Buckets]  # [n]: uint32[·, 3 or 4], the columns FIRST, PARENT, COUNT and, if they are kept, OCCURRENCES
    first_nodes: list[npt.NDArray]  # [n]: int64[buckets + 1], each bucket's first node
    sentence_ends: npt.NDArray  # int64[N + 1, buckets]: nodes that end in </s>


def bucket_size(tokens: int) -> int:
    """Return the approximate number of tokens per bucket, given the number of all tokens."""
    return max(_BUCKET, -(-tokens // _MAX_BUCKETS))


def count(labels: npt.NDArray, words: int, options: TrainOptions, store: Store, threads: int) -> NgramCounts:
    """Count the n-grams of orders 1..N. Occurrences are kept besides the adjusted counts if cutoffs or entropy pruning
    require them.

    labels: uint32[T], in memory or mapped from a file; words: V, the greatest label.

    Raises:
        CorpusError: more than 2^32 n-grams of one order.
    """
    tokens, first_places = count_labels(labels, words)
    partition = partition_tokens(tokens, bucket_size(int(tokens.sum())))
    order, number, cutoffs = options.order, partition.n_buckets, options.cutoffs or (0,)
    by_order = np.array((0, *cutoffs, *[cutoffs[-1]] * (order - len(cutoffs))), np.int64)
    bits = max(1, words.bit_length())
    columns, node_columns = -(-order // (64 // bits)), 4 if any(cutoffs) or options.prunes else 3
    layout = WindowLayout(order, bits, columns, node_columns, by_order)
    continuations = tokens if order == 1 else np.zeros(words + 1, np.int64)
    counts_of_counts, sentence_ends = np.zeros((order + 1, 5), np.int64), np.zeros((order + 1, number), np.int64)
    lock, sizes = Lock(), np.zeros(number, np.int64)

    def measure(piece: tuple[npt.NDArray, int]) -> npt.NDArray:
        return np.bincount(buckets_of_windows(*piece, partition), minlength=number)

    if order > 1:
        sizes = sum(map_stream(measure, pieces(labels, 1), threads), sizes)
    windows = Buckets(store, sizes, 2 * columns)
    nodes = [Buckets(store, sizes, node_columns) for _ in range(order + 1)]

    def scatter(piece: tuple[npt.NDArray, int]) -> None:
        windows.scatter(pack_windows(*piece, layout).view(np.uint32), buckets_of_windows(*piece, partition))

    def gather(bucket: int) -> None:
        of_orders, of_counts, sentence_ends[:, bucket] = count_bucket(windows.take(bucket).view(np.uint64), layout)
        for each, of_order in zip(nodes[2:], of_orders[2:], strict=True):
            each.put(bucket, of_order)
        first, last = partition.last_words(bucket)
        followed = np.bincount(of_orders[2][:, PARENT] - first, minlength=last + 1 - first)
        with lock:
            counts_of_counts[:] += of_counts
            continuations[first : first + len(followed)] += followed

    if order > 1:
        for_each(scatter, pieces(labels, order - 1), threads)
        for_each(gather, range(number), threads)
        windows.close()
    counts_of_counts[1] = np.bincount(continuations[continuations < 5], minlength=5)
    _follow_lmplz(labels, first_places, counts_of_counts)
    first_nodes = [np.concatenate(([0], np.cumsum(level.sizes))) for level in nodes]
    largest = max(int(firsts[-1]) for firsts in first_nodes)
    if largest >= 2**32 - 1:
        raise CorpusError(
            f"the text has {largest:,} n-grams of one order, but at most 2^32 fit. Use less text, or lower `order`."
        )
    known = order, words, tokens, partition, continuations, counts_of_counts
    return NgramCounts(*known, sizes, nodes, first_nodes, sentence_ends)


def _follow_lmplz(labels: npt.NDArray, first_places: npt.NDArray, counts_of_counts: npt.NDArray) -> None:
    """Count the last n-gram of each lower order by its occurrences instead of its adjusted count.

    This reproduces a bug of lmplz (at the end of AdjustCounts::Run), which changes the discounts of small texts. lmplz
    sorts words by first occurrence. So its last n-gram ends in the word that first occurs last; the word before that
    is, of the words that precede it, the one that first occurs last; and so on. first_places: int64[V + 1], the
    position of each label's first occurrence.
    """
    first_places[0] = -1  # </s> and <s> come before all words
    word = int(np.argmax(first_places))
    start = max(0, int(first_places[word]))
    positions = start + np.flatnonzero(np.concatenate([piece == word for piece, _ in pieces(labels, begin=start)]))
    for n in range(1, len(counts_of_counts) - 1):
        words = np.where(positions < n, 0, labels[np.maximum(positions - n, 0)])
        adjusted, occurrences = len(np.unique(words)), len(words)
        for count, change in ((adjusted, -1), (occurrences, 1)):
            if count < 5:
                counts_of_counts[n, count] += change
        newest = words[np.argmax(first_places[words])]
        if newest == 0:
            break
        positions = positions[words == newest]


class WindowLayout(NamedTuple):
    """The layout of packed windows and of nodes. Kernels take the whole tuple."""

    order: int  # N
    bits: int  # of a label in a window
    columns: int  # of a window, uint64[columns]
    node_columns: int  # of a node, uint32[node_columns]: 3, or 4 with OCCURRENCES
    cutoffs: I64Array  # int64[N + 1]: n-grams of order n that occur at most cutoffs[n] times are dropped


@allocating
def buckets_of_windows(labels: U32Array, n_before: i64, partition: Partition) -> U32Array:
    """Return the buckets of the windows that end at labels[n_before:]."""
    buckets = np.empty(len(labels) - n_before, np.uint32)
    for t in range(n_before, len(labels)):
        buckets[t - n_before] = bucket_of(partition, labels[t], labels[t - 1] if t else 0)
    return buckets


@allocating
def pack_windows(labels: U32Array, n_before: i64, layout: WindowLayout) -> U64Matrix:
    """Return the windows that end at labels[n_before:], uint64[·, columns].

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
    packed = np.empty((len(labels) - n_before, columns), np.uint64)
    window = np.zeros(columns, np.uint64)
    for t in range(len(labels)):
        word = labels[t]
        for c in range(columns - 1, 0, -1):
            window[c] = (window[c] >> step) | ((window[c - 1] & low) << top)
        window[0] = (window[0] >> step) | (u64(word) << top)
        window[columns - 1] &= in_window
        if t >= n_before:
            for c in range(columns):
                packed[t - n_before, c] = window[c]
        if word == 0:
            window[:] = 0
    return packed


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
        nodes[longest, number[longest] - 1, COUNT] = min(count, _MAX_COUNT)
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


def count_bucket(packed: npt.NDArray, layout: WindowLayout) -> tuple[list[npt.NDArray], npt.NDArray, npt.NDArray]:
    """Count the n-grams of a bucket, given its windows in any order.

    Returns:
        The nodes, [n]: uint32[·, node_columns]; int64[N + 1, 5], as NgramCounts.counts_of_counts; and int64[N + 1], the
        number of n-grams that end in </s>: those whose parents do, which come first.
    """
    order = layout.order
    sorting = np.arange(len(packed), dtype=np.uint32)
    for column in range(layout.columns - 1, -1, -1):
        sorting = refine(packed[:, column].copy(), sorting)
    filled = np.empty((order + 1, len(packed), layout.node_columns), np.uint32)
    sizes = _fill_nodes(_unpack(packed, sorting, layout), layout.cutoffs, filled)
    nodes = [level[:size] for level, size in zip(filled, sizes, strict=True)]
    counts_of_counts, ends = np.zeros((order + 1, 5), np.int64), np.ones(order + 1, np.int64)
    for n in range(2, order + 1):
        adjusted = nodes[n][:, COUNT] & ~CUT
        counts_of_counts[n] = [np.count_nonzero(adjusted == count) for count in range(5)]
        ends[n] = np.count_nonzero(nodes[n][:, PARENT] < ends[n - 1])
    return nodes, counts_of_counts, ends
