"""Counts the n-grams of a labelled corpus, all orders at once, as one sort of the windows of N words.

In: labels, each sentence its words' labels 1..V and then a 0 (`</s>`). Out: for each order 2..N, the nodes:
the distinct n-grams in *suffix order* (by last word, then the word before it, and so on), each with its
first word, its parent (the node one order below that lacks the first word) and its adjusted count. A node's
number is its place in this order; at order 1 it is the label. Before the first word of a sentence stand 0s
(`<s>`), which no window confuses with `</s>`: that one only comes last.

In suffix order all n-grams with the same last words are neighbours at every order. So the corpus falls into
buckets by last words (partition.py), each counted for itself; nothing of one bucket depends on another.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.discount import follow_lmplz
from capfst.errors import CapfstError
from capfst.labels import pieces, tokens
from capfst.partition import Partition, partition, place
from capfst.sort import refine
from capfst.spool import Buckets, Store, exhaust, in_order

MAX_ORDER = 5
MAX_COUNT = 2**31 - 1
FIRST, PARENT, COUNT, RAW = range(4)
"""The columns of a node. COUNT is Kneser-Ney's: the number of different words before the n-gram, or, of the
highest order and of n-grams that begin with <s>, the number of occurrences. RAW is always the latter."""
CUT = np.uint32(1 << 31)
"""Set in COUNT where the number of occurrences is not above the order's cut-off."""

_BUCKET = 1 << 18
_MAX_BUCKETS = 1 << 10


@dataclass
class Counts:
    """The nodes of a corpus of `words` labels."""

    order: int
    words: int
    tokens: npt.NDArray  # int64[V + 1]: occurrences of each label; of 0, the number of sentences
    partition: Partition
    continuations: npt.NDArray  # int64[V + 1]: the adjusted counts of order 1
    cutoffs: npt.NDArray  # int64[N + 1]: n-grams of order n that occur at most cutoffs[n] times are cut
    windows: npt.NDArray = field(default_factory=lambda: np.zeros(0))  # int64[buckets]: tokens in each bucket
    nodes: list[Buckets] = field(default_factory=list)  # [n]: uint32[·, 3 or 4] (from order 2 on)
    starts: list[npt.NDArray] = field(default_factory=list)  # [n]: int64[buckets + 1], each bucket's first node
    ends: npt.NDArray = field(default_factory=lambda: np.zeros((0, 0)))  # int64[N + 1, buckets]: nodes that end in </s>
    frequencies: npt.NDArray = field(default_factory=lambda: np.zeros(0))
    # int64[N + 1, 5]: the number of n-grams of order n whose adjusted count is 1..4


@nb.njit(cache=True, nogil=True)
def _count_windows(
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
    bounds[1:] = np.cumsum(_count_windows(labels, lead, first, split, share, number))
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


def bucket_size(tokens: int) -> int:
    """How many tokens a bucket has, about."""
    return max(_BUCKET, -(-tokens // _MAX_BUCKETS))


def count(
    labels: npt.NDArray,
    words: int,
    order: int,
    store: Store,
    pool: ThreadPoolExecutor,
    threads: int,
    cutoffs: tuple[int, ...] = (),
    raw: bool = False,
) -> Counts:
    """Counts the n-grams of orders 1..order.

    labels: uint32[T], in memory or mapped from a file; words: V, the greatest label. cutoffs as lmplz's
    --prune: one number per order, rising, the last one valid for all higher orders; the first must be 0.
    raw: also keep the numbers of occurrences (needed by cut-offs and by entropy pruning).
    """
    occurrences, first = tokens(labels, words)
    parts = partition(occurrences, bucket_size(len(labels)))
    counts = Counts(order, words, occurrences, parts, occurrences.copy(), _limits(cutoffs, order))
    if order > 1:
        _count_nodes(counts, labels, store, pool, threads, 4 if raw or counts.cutoffs.any() else 3)
    else:
        counts.frequencies = np.zeros((2, 5), np.int64)
    counts.frequencies[1] = np.bincount(counts.continuations[counts.continuations < 5], minlength=5)
    follow_lmplz(labels, first, counts.frequencies)
    return counts


def _limits(cutoffs: tuple[int, ...], order: int) -> npt.NDArray:
    given = cutoffs or (0,)
    if len(given) > order or given[0] != 0 or any(a > b for a, b in itertools.pairwise(given)):
        raise CapfstError(
            f"cut-offs {','.join(map(str, given))}: at most {order} numbers, rising, the first one 0, "
            "as in 0,0,1 (to drop rare words, use --min-count)"
        )
    return np.array((0, *given, *[given[-1]] * (order - len(given))), np.int64)


def _count_nodes(
    counts: Counts, labels: npt.NDArray, store: Store, pool: ThreadPoolExecutor, threads: int, width: int
) -> None:
    order, bits = counts.order, max(1, counts.words.bit_length())
    columns = -(-order // (64 // bits))
    parts, number = counts.partition, counts.partition.number

    def measure(piece: tuple[npt.NDArray, int]) -> npt.NDArray:
        return _count_windows(*piece, parts.first, parts.split, parts.share, number)

    counts.windows = sum(in_order(measure, pieces(labels, 1), pool, threads), np.zeros(number, np.int64))
    windows = Buckets(store, counts.windows, np.uint64, columns)

    def cut_up(piece: tuple[npt.NDArray, int]) -> None:
        packed, bounds = _windows(*piece, parts.first, parts.split, parts.share, number, order, bits, columns)
        windows.scatter(packed, bounds)

    exhaust(in_order(cut_up, pieces(labels, order - 1), pool, threads))

    counts.continuations = np.zeros(counts.words + 1, np.int64)
    counts.nodes = [Buckets(store, counts.windows, np.uint32, width) for _ in range(order + 1)]
    counts.frequencies = np.zeros((order + 1, 5), np.int64)
    counts.ends = np.zeros((order + 1, number), np.int64)

    def collapse(bucket: int) -> tuple[npt.NDArray, npt.NDArray, int]:
        packed = windows.take(bucket)
        sorting = np.arange(len(packed), dtype=np.uint32)
        for column in range(columns - 1, -1, -1):
            sorting = refine(packed[:, column].copy(), sorting)
        nodes = np.empty((order + 1, len(packed), width), np.uint32)
        sorted_windows = _unpack(packed, sorting, order, bits)
        del packed, sorting
        sizes = _collapse(sorted_windows, counts.cutoffs, nodes)
        frequencies = np.zeros((order + 1, 5), np.int64)
        for n in range(2, order + 1):
            counts.nodes[n].put(bucket, nodes[n, : sizes[n]])
            _frequencies(nodes[n, : sizes[n]], frequencies[n])
        counts.ends[:, bucket] = _ends(nodes, sizes)
        start, last = parts.words(bucket)
        continuations = np.bincount(nodes[2, : sizes[2], PARENT] - start, minlength=last + 1 - start)
        return frequencies, continuations, start

    for frequencies, continuations, start in in_order(collapse, range(number), pool, threads):
        counts.frequencies += frequencies
        counts.continuations[start : start + len(continuations)] += continuations
    windows.close()
    counts.starts = [np.concatenate(([0], np.cumsum(level.sizes))) for level in counts.nodes]
    largest = max(int(starts[-1]) for starts in counts.starts)
    if largest >= 2**32 - 1:
        raise CapfstError(f"{largest} n-grams of one order: more than 2^32; use a lower order or less text")


def _ends(nodes: npt.NDArray, sizes: npt.NDArray) -> npt.NDArray:
    """How many of a bucket's n-grams end in </s>, by order: those whose parents do, which come first."""
    ends = np.ones(len(sizes), np.int64)
    for n in range(2, len(sizes)):
        ends[n] = np.count_nonzero(nodes[n, : sizes[n], PARENT] < ends[n - 1])
    return ends
