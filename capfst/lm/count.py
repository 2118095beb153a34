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
from threading import Lock

import numpy as np
import numpy.typing as npt

from capfst.corpus.labels import pieces, tokens
from capfst.errors import CapfstError
from capfst.lm.discount import follow_lmplz
from capfst.lm.partition import Partition, partition
from capfst.lm.windows import PARENT, Collapsed, Layout, collapse, count_windows, cut_up
from capfst.system.buckets import Buckets, Store, exhaust, in_order

MAX_ORDER = 5
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

    def close(self) -> None:
        """All is counted."""
        self.frequencies[1] = np.bincount(self.continuations[self.continuations < 5], minlength=5)


def bucket_size(tokens: int) -> int:
    """How many tokens a bucket has, about."""
    return max(_BUCKET, -(-tokens // _MAX_BUCKETS))


def begin(occurrences: npt.NDArray, order: int, cutoffs: tuple[int, ...]) -> Counts:
    """Of words that occur so often, int64[V + 1], the counts of order 1; and the buckets of all others."""
    parts = partition(occurrences, bucket_size(int(occurrences.sum())))
    counts = Counts(order, len(occurrences) - 1, occurrences, parts, occurrences.copy(), _limits(cutoffs, order))
    counts.frequencies = np.zeros((2, 5), np.int64)
    return counts


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
    counts = begin(occurrences, order, cutoffs)
    if order > 1:
        _count_nodes(
            counts,
            labels,
            store,
            pool,
            threads,
            Layout.of(order, words, counts.cutoffs, raw),
        )
    counts.close()
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


class Collector:
    """Fills `counts` bucket by bucket; counts.windows says how many windows each has. Threads may share it."""

    def __init__(self, counts: Counts, layout: Layout, store: Store) -> None:
        self.counts = counts
        counts.continuations = np.zeros(counts.words + 1, np.int64)
        counts.nodes = [Buckets(store, counts.windows, np.uint32, layout.width) for _ in range(layout.order + 1)]
        counts.frequencies = np.zeros((layout.order + 1, 5), np.int64)
        counts.ends = np.zeros((layout.order + 1, counts.partition.number), np.int64)
        self._lock = Lock()

    def add(self, bucket: int, found: Collapsed) -> None:
        for nodes, of_order in zip(self.counts.nodes[2:], found.nodes[2:], strict=True):
            nodes.put(bucket, of_order)
        self.counts.ends[:, bucket] = found.ends
        start, last = self.counts.partition.words(bucket)
        continuations = np.bincount(found.nodes[2][:, PARENT] - start, minlength=last + 1 - start)
        with self._lock:
            self.counts.frequencies += found.frequencies
            self.counts.continuations[start : start + len(continuations)] += continuations

    def close(self) -> None:
        """All buckets have been added."""
        counts = self.counts
        counts.starts = [np.concatenate(([0], np.cumsum(level.sizes))) for level in counts.nodes]
        largest = max(int(starts[-1]) for starts in counts.starts)
        if largest >= 2**32 - 1:
            raise CapfstError(f"{largest} n-grams of one order: more than 2^32; use a lower order or less text")


def _count_nodes(
    counts: Counts, labels: npt.NDArray, store: Store, pool: ThreadPoolExecutor, threads: int, layout: Layout
) -> None:
    parts, number = counts.partition, counts.partition.number

    def measure(piece: tuple[npt.NDArray, int]) -> npt.NDArray:
        return count_windows(*piece, parts.first, parts.split, parts.share, number)

    counts.windows = sum(in_order(measure, pieces(labels, 1), pool, threads), np.zeros(number, np.int64))
    windows = Buckets(store, counts.windows, np.uint64, layout.columns)

    def scatter(piece: tuple[npt.NDArray, int]) -> None:
        windows.scatter(*cut_up(*piece, parts, layout))

    exhaust(in_order(scatter, pieces(labels, layout.order - 1), pool, threads))
    collector = Collector(counts, layout, store)

    def gather(bucket: int) -> None:
        collector.add(bucket, collapse(windows.take(bucket), layout))

    exhaust(in_order(gather, range(number), pool, threads))
    windows.close()
    collector.close()
