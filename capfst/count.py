"""Counts the n-grams of a labelled corpus, all orders at once, as one sort of the windows of N words.

In: labels, each sentence its words' labels 1..V and then a 0 (`</s>`). Out: for each order 2..N, the nodes:
the distinct n-grams in *suffix order* (by last word, then the word before it, and so on), each with its
first word, its parent (the node one order below that lacks the first word) and its adjusted count. A node's
number is its place in this order; at order 1 it is the label. Before the first word of a sentence stand 0s
(`<s>`), which no window confuses with `</s>`: that one only comes last.

In suffix order all n-grams with the same last word are neighbours at every order. So the corpus falls into
buckets by last word, each counted for itself; nothing of one bucket depends on another.
"""

import mmap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.errors import CapfstError
from capfst.sort import refine
from capfst.spool import Buckets, Store, in_order

MAX_ORDER = 5
MAX_COUNT = 2**31 - 1
FIRST, PARENT, COUNT, RAW = range(4)
"""The columns of a node. COUNT is Kneser-Ney's: the number of different words before the n-gram, or, of the
highest order and of n-grams that begin with <s>, the number of occurrences. RAW is always the latter."""
CUT = np.uint32(1 << 31)
"""Set in COUNT where the number of occurrences is not above the order's cut-off."""

_CHUNK = 1 << 20
_BUCKET = 1 << 18
_MAX_BUCKETS = 1 << 10


@dataclass
class Counts:
    """The nodes of a corpus of `words` labels, in buckets by last word."""

    order: int
    words: int
    tokens: npt.NDArray  # int64[V + 1]: occurrences of each label; of 0, the number of sentences
    bucket: npt.NDArray  # uint32[V + 1]: the bucket of the n-grams that end in this label
    continuations: npt.NDArray  # int64[V + 1]: the adjusted counts of order 1
    cutoffs: npt.NDArray  # int64[N + 1]: n-grams of order n that occur at most cutoffs[n] times are cut
    nodes: list[Buckets] = field(default_factory=list)  # [n]: uint32[·, 3 or 4] (from order 2 on)
    starts: list[npt.NDArray] = field(default_factory=list)  # [n]: int64[buckets + 1], each bucket's first node
    ends: npt.NDArray = field(default_factory=lambda: np.zeros(0))  # int64[N + 1]: nodes that end in </s>
    frequencies: npt.NDArray = field(default_factory=lambda: np.zeros(0))
    # int64[N + 1, 5]: the number of n-grams of order n whose adjusted count is 1..4


@nb.njit(cache=True, nogil=True)
def _histogram(labels: npt.NDArray, start: int, tokens: npt.NDArray, first: npt.NDArray) -> int:
    """Adds each label's occurrences, and where it is first seen; the place of a label out of range, or -1."""
    for t in range(len(labels)):
        if labels[t] >= len(tokens):
            return t
        if tokens[labels[t]] == 0:
            first[labels[t]] = start + t
        tokens[labels[t]] += 1
    return -1


@nb.njit(cache=True, nogil=True)
def _windows(
    labels: npt.NDArray, lead: int, bucket: npt.NDArray, number: int, order: int, bits: int, columns: int
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
    for t in range(lead, len(labels)):
        bounds[bucket[labels[t]] + 1] += 1
    for b in range(number):
        bounds[b + 1] += bounds[b]
    place = bounds.copy()
    packed = np.empty((len(labels) - lead, columns), np.uint64)
    window = np.zeros(columns, np.uint64)
    for t in range(len(labels)):
        word = labels[t]
        for c in range(columns - 1, 0, -1):
            window[c] = (window[c] >> step) | ((window[c - 1] & low) << top)
        window[0] = (window[0] >> step) | (np.uint64(word) << top)
        window[columns - 1] &= last
        if t >= lead:
            at = place[bucket[word]]
            place[bucket[word]] = at + 1
            for c in range(columns):
                packed[at, c] = window[c]
        if word == 0:
            window[:] = 0
    return packed, bounds


@nb.njit(cache=True, nogil=True)
def _unpack(window: npt.NDArray, bits: int, words: npt.NDArray) -> int:
    """Fills in the window's words; the order of the longest n-gram with no <s> but as its first word."""
    per = 64 // bits
    low = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    longest = len(words)
    for j in range(len(words)):
        words[j] = (window[j // per] >> np.uint64(bits * (per - 1 - j % per))) & low
        if j > 0 and words[j] == 0 and longest > j + 1:
            longest = j + 1
    return longest


@nb.njit(cache=True, nogil=True)
def _collapse(
    windows: npt.NDArray,
    sorting: npt.NDArray,
    order: int,
    bits: int,
    cutoffs: npt.NDArray,
    nodes: npt.NDArray,
    at: npt.NDArray,
    continuations: npt.NDArray,
) -> None:
    """Sorted windows → nodes: those of order n from row at[n] on, where at[n] is left behind the last one.

    With no rows in `nodes` they are only counted.
    """
    counting = len(nodes) == 0
    start = at.copy()
    words, previous = np.zeros(order, np.uint32), np.zeros(order, np.uint32)
    i = 0
    while i < len(sorting):
        window = windows[sorting[i]]
        longest = _unpack(window, bits, words)
        count = 0
        same = True
        while same:
            count += 1
            i += 1
            if i == len(sorting):
                break
            for c in range(windows.shape[1]):
                same &= windows[sorting[i], c] == window[c]
        differs = 0
        if at[2] > start[2]:
            while words[differs] == previous[differs]:
                differs += 1
        for n in range(max(differs + 1, 2), longest + 1):
            at[n] += 1
            if counting:
                continue
            node = nodes[at[n] - 1]
            node[FIRST] = words[n - 1]
            node[COUNT] = 0
            if n == 2:
                node[PARENT] = words[0]
                continuations[words[0]] += 1
            else:
                node[PARENT] = at[n - 1] - 1 - start[n - 1]
                nodes[at[n - 1] - 1, COUNT] += 1
            if nodes.shape[1] > RAW:
                node[RAW] = 0
        if not counting:
            nodes[at[longest] - 1, COUNT] = min(count, MAX_COUNT)
            if nodes.shape[1] > RAW:
                for n in range(2, longest + 1):
                    nodes[at[n] - 1, RAW] += count
        words, previous = previous, words
    if not counting and nodes.shape[1] > RAW:
        for n in range(2, order + 1):
            for row in range(start[n], at[n]):
                if nodes[row, RAW] <= cutoffs[n]:
                    nodes[row, COUNT] |= CUT


@nb.njit(cache=True, nogil=True)
def _frequencies(nodes: npt.NDArray, frequencies: npt.NDArray) -> None:
    for row in range(len(nodes)):
        count = nodes[row, COUNT] & ~CUT
        if count < 5:
            frequencies[count] += 1


def chunks(labels: npt.NDArray, lead: int = 0) -> Iterator[tuple[npt.NDArray, int]]:
    """The labels piece by piece, each with up to `lead` labels before it; and how many these are.

    What is mapped from a file is let go again, so that the file does not add up in memory.
    """
    for start in range(0, len(labels), _CHUNK):
        before = min(start, lead)
        yield np.array(labels[start - before : start + _CHUNK], np.uint32), before
        if isinstance(labels, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            labels._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


def _assign_buckets(tokens: npt.NDArray, size: int) -> npt.NDArray:
    """A bucket for each label: ranges of labels with about `size` tokens, more if one label has more."""
    before = np.cumsum(tokens) - tokens
    rough = before // size
    return np.concatenate(([0], np.cumsum(np.diff(rough) > 0))).astype(np.uint32)


def _tokens(labels: npt.NDArray, words: int) -> tuple[npt.NDArray, npt.NDArray]:
    """How often each label occurs, and where it does first (-1: nowhere)."""
    tokens, first = np.zeros(words + 1, np.int64), np.full(words + 1, -1)
    at = 0
    for chunk, _ in chunks(labels):
        bad = _histogram(chunk, at, tokens, first)
        if bad >= 0:
            raise ValueError(f"label {chunk[bad]} at {at + bad}, but the vocabulary ends at {words}")
        at += len(chunk)
    if not tokens[0]:
        raise CapfstError("the corpus has no sentence: nothing to count; check the input and the filters")
    if labels[-1] != 0:
        raise ValueError("the last sentence lacks its final 0")
    return tokens, first


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
    tokens, first = _tokens(labels, words)
    size = max(_BUCKET, -(-len(labels) // _MAX_BUCKETS))
    counts = Counts(order, words, tokens, _assign_buckets(tokens, size), tokens.copy(), _limits(cutoffs, order))
    if order > 1:
        _count_nodes(counts, labels, store, pool, threads, 4 if raw or counts.cutoffs.any() else 3)
    else:
        counts.frequencies = np.zeros((2, 5), np.int64)
    counts.frequencies[1] = np.bincount(counts.continuations[counts.continuations < 5], minlength=5)
    _follow_lmplz(labels, first, counts.frequencies)
    return counts


def _follow_lmplz(labels: npt.NDArray, first: npt.NDArray, frequencies: npt.NDArray) -> None:
    """Counts the last n-gram of each lower order by its occurrences instead of its adjusted count.

    A slip of lmplz (at the end of AdjustCounts::Run), which changes the discounts of small texts. Its last
    n-gram is the one that ends in the word seen last for the first time, before that the latest such word
    among those before it, and so on.
    """
    first[0] = -1  # </s> and <s> come before all words
    last = int(np.argmax(first))
    places = np.concatenate(
        [start + np.flatnonzero(chunk == last) for start, chunk in _from(labels, max(0, int(first[last])))]
    )
    for n in range(1, len(frequencies) - 1):
        before = places - n
        word = np.where(before < 0, 0, labels[np.maximum(before, 0)])
        adjusted, occurrences = len(np.unique(word)), len(places)
        for number, change in ((adjusted, -1), (occurrences, 1)):
            if number < 5:
                frequencies[n, number] += change
        chosen = word[np.argmax(first[word])]
        if chosen == 0:
            break
        places = places[word == chosen]


def _from(labels: npt.NDArray, start: int) -> Iterator[tuple[int, npt.NDArray]]:
    for chunk, _ in chunks(labels[start:]):
        yield start, chunk
        start += len(chunk)


def _limits(cutoffs: tuple[int, ...], order: int) -> npt.NDArray:
    given = cutoffs or (0,)
    if len(given) > order or given[0] != 0 or any(a > b for a, b in zip(given, given[1:], strict=False)):
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
    number = int(counts.bucket[-1]) + 1
    windows = Buckets(store, number, np.uint64, columns)

    def cut_up(chunk: tuple[npt.NDArray, int]) -> tuple[npt.NDArray, npt.NDArray]:
        return _windows(*chunk, counts.bucket, number, order, bits, columns)

    for packed, bounds in in_order(cut_up, chunks(labels, order - 1), pool, threads):
        windows.scatter(packed, bounds)

    counts.continuations = np.zeros(counts.words + 1, np.int64)
    counts.nodes = [Buckets(store, number, np.uint32, width) for _ in range(order + 1)]
    counts.frequencies = np.zeros((order + 1, 5), np.int64)
    counts.ends = np.zeros(order + 1, np.int64)

    def collapse(bucket: int) -> tuple[npt.NDArray, npt.NDArray]:
        packed = windows.take(bucket)
        sorting = np.arange(len(packed), dtype=np.uint32)
        for column in range(columns - 1, -1, -1):
            sorting = refine(packed[:, column].copy(), sorting)
        at = np.zeros(order + 1, np.int64)
        common = (packed, sorting, order, bits, counts.cutoffs)
        _collapse(*common, np.empty((0, width), np.uint32), at, counts.continuations)
        bounds = np.concatenate(([0], np.cumsum(at)))
        nodes = np.empty((bounds[-1], width), np.uint32)
        _collapse(*common, nodes, bounds[:-1].copy(), counts.continuations)
        return nodes, bounds

    for bucket, (nodes, bounds) in enumerate(in_order(collapse, range(number), pool, threads)):
        for n in range(2, order + 1):
            level = nodes[bounds[n] : bounds[n + 1]]
            _frequencies(level, counts.frequencies[n])
            counts.nodes[n].put(bucket, level)
            if bucket == 0:
                counts.ends[n] = _ends(nodes, bounds, n)
    windows.close()
    counts.starts = [np.concatenate(([0], np.cumsum(level.sizes))) for level in counts.nodes]
    largest = max(int(starts[-1]) for starts in counts.starts)
    if largest >= 2**32 - 1:
        raise CapfstError(f"{largest} n-grams of one order: more than 2^32; use a lower order or less text")


def _ends(nodes: npt.NDArray, bounds: npt.NDArray, n: int) -> int:
    """How many n-grams of the first bucket end in </s>: those below a bigram that does."""
    ends = int(np.count_nonzero(nodes[bounds[2] : bounds[3], PARENT] == 0))
    for m in range(3, n + 1):
        ends = int(np.count_nonzero(nodes[bounds[m] : bounds[m + 1], PARENT] < ends))
    return ends
