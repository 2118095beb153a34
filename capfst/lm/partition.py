"""The buckets of n-grams, ranges of suffix order: by last word; by the word before it too, where that one is frequent.

In: how often each label occurs. Out: the bucket of each pair of words. The pairs of a bucket are neighbours
in suffix order, and the buckets are in that order; each has about the same number of tokens, so that one
bucket fits in memory where the corpus does not, even if one word makes up a tenth of it.
"""

from dataclasses import dataclass

import numba as nb
import numpy as np
import numpy.typing as npt


@dataclass
class Partition:
    """Which n-grams of two words and more are in which bucket."""

    first: npt.NDArray  # uint32[V + 1]: the first bucket of n-grams that end in the label
    split: npt.NDArray  # uint64[V + 1]: the number of these buckets
    share: npt.NDArray  # uint64[V + 1]: the part of all tokens with smaller labels, times 2^32
    number: int

    def words(self, bucket: int) -> tuple[int, int]:
        """The labels from … to (inclusive) that n-grams of the bucket end in."""
        last = int(np.searchsorted(self.first, bucket, side="right")) - 1
        start = int(np.searchsorted(self.first + self.split.astype(np.uint32), bucket, side="right"))
        return start, last


def partition(tokens: npt.NDArray, size: int) -> Partition:
    """Buckets of about `size` tokens, for tokens: int64[V + 1]."""
    before = np.cumsum(tokens) - tokens
    split = np.maximum(1, -(-tokens // size))
    # A label that is split begins a bucket, and so does the one after it.
    alone = split > 1
    begins = np.zeros(len(tokens), bool)
    begins[1:] = (np.diff(before // size) > 0) | alone[1:] | alone[:-1]
    buckets_before = np.cumsum(np.where(begins, 1, 0) + np.concatenate(([0], split[:-1] - 1)))
    share = (before.astype(np.float64) / tokens.sum() * 2.0**32).astype(np.uint64)
    number = int(buckets_before[-1] + split[-1])
    return Partition(buckets_before.astype(np.uint32), split.astype(np.uint64), share, number)


@nb.njit(cache=True, nogil=True, inline="always")
def place(first: npt.NDArray, split: npt.NDArray, share: npt.NDArray, word: int, previous: int) -> int:
    """The bucket of n-grams that end in previous·word; it rises with the one and then with the other."""
    if split[word] == 1:
        return first[word]
    return first[word] + ((share[previous] * split[word]) >> np.uint64(32))


@nb.njit(cache=True, nogil=True)
def place_nodes(
    first: npt.NDArray, split: npt.NDArray, starts: npt.NDArray, word: npt.NDArray, node: npt.NDArray
) -> npt.NDArray:
    """The buckets of nodes whose last words are known; starts: the number of each bucket's first node."""
    buckets = np.empty(len(node), np.uint32)
    for i in range(len(node)):
        bucket = first[word[i]]
        if split[word[i]] > 1:
            while starts[bucket + 1] <= node[i]:
                bucket += 1
        buckets[i] = bucket
    return buckets
