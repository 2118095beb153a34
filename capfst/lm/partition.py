"""Partition n-grams into buckets, ranges of suffix order: by last word and, if that is frequent, by the word before it.

In: the number of occurrences of each label. Out: the bucket of each pair of words. The pairs of a bucket are adjacent
in suffix order, and the buckets are in that order. All have about the same number of tokens, so that a bucket fits in
memory even if the corpus does not, and even if one word makes up a tenth of it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating, inner
from capfst.kernels.types import I64Array, U32Array, U32Strided, U64Array, i64, u64


class Partition(NamedTuple):
    """The mapping of n-grams of two or more words to buckets 0..n_buckets - 1. Kernels take the whole tuple."""

    first_bucket: U32Array  # uint32[V + 1]: the first bucket of n-grams that end in the label
    n_label_buckets: U64Array  # uint64[V + 1]: the number of these buckets
    tokens_before: U64Array  # uint64[V + 1]: the fraction of tokens with smaller labels, times 2^32
    n_buckets: int

    def last_words(self, bucket: int) -> tuple[int, int]:
        """Return the first and the last of the labels that n-grams of the bucket end in."""
        end_bucket = self.first_bucket + self.n_label_buckets.astype(np.uint32)
        last = int(np.searchsorted(self.first_bucket, bucket, side="right")) - 1
        return int(np.searchsorted(end_bucket, bucket, side="right")), last


def partition_tokens(tokens: npt.NDArray, size: int) -> Partition:
    """Build buckets of about `size` tokens; tokens: int64[V + 1], the occurrences of each label."""
    before = np.cumsum(tokens) - tokens
    n_label_buckets = np.maximum(1, -(-tokens // size))
    # A label with several buckets begins a bucket, and so does the label after it.
    alone = n_label_buckets > 1
    begins = np.zeros(len(tokens), bool)
    begins[1:] = (np.diff(before // size) > 0) | alone[1:] | alone[:-1]
    first_bucket = np.cumsum(np.where(begins, 1, 0) + np.concatenate(([0], n_label_buckets[:-1] - 1)))
    tokens_before = (before.astype(np.float64) / tokens.sum() * 2.0**32).astype(np.uint64)
    n_buckets = int(first_bucket[-1] + n_label_buckets[-1])
    return Partition(first_bucket.astype(np.uint32), n_label_buckets.astype(np.uint64), tokens_before, n_buckets)


@inner
def bucket_of(partition: Partition, word: i64, previous: i64) -> u64:
    """Return the bucket of n-grams that end in the labels previous·word; it increases with `word`, then `previous`."""
    n = partition.n_label_buckets[word]
    if n == 1:
        return partition.first_bucket[word]
    return partition.first_bucket[word] + ((partition.tokens_before[previous] * n) >> u64(32))


def buckets_of(partition: Partition, word: npt.NDArray, previous: npt.NDArray) -> npt.NDArray:
    """Return `bucket_of` for arrays of labels, uint32[n]."""
    further = partition.tokens_before[previous] * partition.n_label_buckets[word] >> np.uint64(32)
    return partition.first_bucket[word] + further.astype(np.uint32)


@allocating
def buckets_of_nodes(partition: Partition, first_nodes: I64Array, words: U32Strided, nodes: U32Strided) -> U32Array:
    """Return uint32[n], the buckets of n nodes (count.py) that end in these words. first_nodes: each bucket's first."""
    buckets = np.empty(len(nodes), np.uint32)
    for i in range(len(nodes)):
        bucket = partition.first_bucket[words[i]]
        if partition.n_label_buckets[words[i]] > 1:
            while first_nodes[bucket + 1] <= nodes[i]:
                bucket += 1
        buckets[i] = bucket
    return buckets
