"""Count the n-grams of a labeled corpus, all orders at once, by one sort of the windows of N words.

In: labels; each sentence is the labels 1..V of its words, then a 0 (`</s>`). Out: for each order 2..N the nodes: the
distinct n-grams in *suffix order* (by last word, then the word before it, and so on), each with its first word, its
parent (the node one order below, without the first word) and its adjusted count. A node's number is its index in this
order; at order 1 it is the label. The words before a sentence are 0 (`<s>`), which no window confuses with `</s>`: that
is only the last word of a window.

In suffix order all n-grams with the same last words are adjacent at every order. So the corpus is divided into buckets
by last words (partition.py), each counted independently of the others.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt

from capfst.corpus.labels import count_labels, pieces
from capfst.exceptions import CorpusError
from capfst.lm.discount import follow_lmplz
from capfst.lm.ngram_windows import PARENT, WindowLayout, count_bucket, pack_windows, windows_per_bucket
from capfst.lm.partition import Partition, partition_tokens
from capfst.system.buckets import Buckets, Store
from capfst.system.parallel import exhaust, map_in_pool

_BUCKET = 1 << 18
_MAX_BUCKETS = 1 << 10


@dataclass
class NgramCounts:
    """The nodes of a corpus of `words` labels."""

    order: int
    words: int
    tokens: npt.NDArray  # int64[V + 1]: occurrences of each label; at 0 the number of sentences
    partition: Partition
    continuations: npt.NDArray  # int64[V + 1]: the adjusted counts of order 1
    cutoffs: npt.NDArray  # int64[N + 1]: n-grams of order n that occur at most cutoffs[n] times are dropped
    # For orders 2 and higher:
    windows: npt.NDArray = field(default_factory=lambda: np.zeros(0))  # int64[buckets]: tokens in each bucket
    nodes: list[Buckets] = field(default_factory=list)  # [n]: uint32[·, 3 or 4], the columns as in ngram_windows.py
    first_nodes: list[npt.NDArray] = field(default_factory=list)  # [n]: int64[buckets + 1], each bucket's first node
    sentence_ends: npt.NDArray = field(default_factory=lambda: np.zeros((0, 0)))
    # int64[N + 1, buckets]: nodes that end in </s>
    counts_of_counts: npt.NDArray = field(default_factory=lambda: np.zeros((2, 5), np.int64))
    # int64[N + 1, 5]: the number of n-grams of order n whose adjusted count is 1..4


def bucket_size(tokens: int) -> int:
    """Return the approximate number of tokens per bucket, given the number of all tokens."""
    return max(_BUCKET, -(-tokens // _MAX_BUCKETS))


def count(
    labels: npt.NDArray,
    words: int,
    order: int,
    store: Store,
    pool: ThreadPoolExecutor,
    threads: int,
    cutoffs: tuple[int, ...] = (),
    keep_occurrences: bool = False,
) -> NgramCounts:
    """Count the n-grams of orders 1..order.

    labels: uint32[T], in memory or mapped from a file; words: V, the greatest label. cutoffs, as lmplz's --prune: one
    number per order, none less than the one before, the first 0; the last also applies to all higher orders.
    keep_occurrences: keep the occurrences besides the adjusted counts, as cutoffs and entropy pruning require.

    Raises:
        CorpusError: more than 2^32 n-grams of one order.
    """
    occurrences, first_places = count_labels(labels, words)
    partition = partition_tokens(occurrences, bucket_size(int(occurrences.sum())))
    counts = NgramCounts(order, words, occurrences, partition, occurrences.copy(), _by_order(cutoffs, order))
    if order > 1:
        layout = WindowLayout.of(order, words, counts.cutoffs, keep_occurrences)
        _count_nodes(counts, labels, store, pool, threads, layout)
    counts.counts_of_counts[1] = np.bincount(counts.continuations[counts.continuations < 5], minlength=5)
    follow_lmplz(labels, first_places, counts.counts_of_counts)
    return counts


def _by_order(cutoffs: tuple[int, ...], order: int) -> npt.NDArray:
    given = cutoffs or (0,)
    return np.array((0, *given, *[given[-1]] * (order - len(given))), np.int64)


def _count_nodes(
    counts: NgramCounts, labels: npt.NDArray, store: Store, pool: ThreadPoolExecutor, threads: int, layout: WindowLayout
) -> None:
    """Fill `counts` for orders 2 and higher: sort the windows of the text into buckets, then count each bucket."""
    partition = counts.partition

    def measure(piece: tuple[npt.NDArray, int]) -> npt.NDArray:
        return windows_per_bucket(*piece, partition)

    sizes = map_in_pool(measure, pieces(labels, 1), pool, threads)
    counts.windows = sum(sizes, np.zeros(partition.n_buckets, np.int64))
    windows = Buckets(store, counts.windows, np.uint64, layout.columns)

    def scatter(piece: tuple[npt.NDArray, int]) -> None:
        windows.scatter(*pack_windows(*piece, partition, layout))

    exhaust(map_in_pool(scatter, pieces(labels, layout.order - 1), pool, threads))
    counts.continuations = np.zeros(counts.words + 1, np.int64)
    counts.nodes = [Buckets(store, counts.windows, np.uint32, layout.node_columns) for _ in range(layout.order + 1)]
    counts.counts_of_counts = np.zeros((layout.order + 1, 5), np.int64)
    counts.sentence_ends = np.zeros((layout.order + 1, partition.n_buckets), np.int64)
    lock = Lock()

    def gather(bucket: int) -> None:
        counted = count_bucket(windows.take(bucket), layout)
        for nodes, of_order in zip(counts.nodes[2:], counted.nodes[2:], strict=True):
            nodes.put(bucket, of_order)
        counts.sentence_ends[:, bucket] = counted.sentence_ends
        first, last = partition.last_words(bucket)
        continuations = np.bincount(counted.nodes[2][:, PARENT] - first, minlength=last + 1 - first)
        with lock:
            counts.counts_of_counts += counted.counts_of_counts
            counts.continuations[first : first + len(continuations)] += continuations

    exhaust(map_in_pool(gather, range(partition.n_buckets), pool, threads))
    windows.close()
    counts.first_nodes = [np.concatenate(([0], np.cumsum(level.sizes))) for level in counts.nodes]
    largest = max(int(first_nodes[-1]) for first_nodes in counts.first_nodes)
    if largest >= 2**32 - 1:
        raise CorpusError(
            f"the text has {largest:,} n-grams of one order, but at most 2^32 fit. Use less text, or lower `order`."
        )
