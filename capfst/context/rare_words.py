"""Store the shape evidence of words that the LM lacks, in 3.5 bytes each: names that are too rare for its vocabulary.

In: the hashes of lowercase words, and their shape evidence. Out: `RareWords`, a table in buckets, as a part of the
context model; and the evidence of a word, looked up by its hash. The hash is that of the features (`WHOLE` of
lexicon.py): its high bits select the bucket, its low 16 bits find the word there. So one word in about four thousand
that the table lacks gets the evidence of another, if the table has a million.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.context.lexicon import UNSEEN
from capfst.kernels import inner, kernel
from capfst.kernels.types import U8Array, U16Array, U32Array, i64, u32, u64

_PER_BUCKET = 8
_LOW = 0xFFFF


class RareWords(NamedTuple):
    """Shape evidence by hash. Bucket b has the words begins[b] … begins[b + 1] − 1, in the order of their low bits."""

    begins: U32Array  # [buckets + 1], ascending
    low_bits: U16Array  # [words]
    evidence: U8Array  # [words]

    @classmethod
    def of(cls, hashes: U32Array, evidence: U8Array) -> RareWords:
        """Return a table of these words; of several words with one hash, the first counts."""
        hashes, first = np.unique(hashes, return_index=True)
        n_buckets = -(-len(hashes) // _PER_BUCKET)
        bucket = (hashes.astype(np.uint64) * np.uint64(n_buckets) >> np.uint64(32)).astype(np.int64)
        low_bits = (hashes & _LOW).astype(np.uint16)
        order = np.lexsort((low_bits, bucket))
        begins = np.searchsorted(bucket, np.arange(n_buckets + 1)).astype(np.uint32)
        return cls(begins, low_bits[order], evidence[first][order])

    def is_valid(self) -> bool:
        """Return whether no look-up leaves the table."""
        ends = np.array([0, len(self.evidence)])
        is_ascending = bool((self.begins[1:] >= self.begins[:-1]).all())
        return (
            is_ascending and np.array_equal(self.begins[[0, -1]], ends) and self.low_bits.shape == self.evidence.shape
        )


NO_RARE_WORDS = RareWords(np.zeros(1, np.uint32), np.empty(0, np.uint16), np.empty(0, np.uint8))


@inner
def rare_evidence(rare: RareWords, word_hash: u32) -> i64:
    """Return the shape evidence of the word with this hash; UNSEEN if the table lacks it."""
    n_buckets = rare.begins.size - 1
    bucket = i64(u64(word_hash) * u64(n_buckets) >> u64(32))
    for k in range(rare.begins[bucket], rare.begins[bucket + 1] if n_buckets else 0):
        if rare.low_bits[k] == word_hash & u32(_LOW):
            return i64(rare.evidence[k])
    return i64(UNSEEN)


@kernel
def find_rare(rare: RareWords, hashes: U32Array, evidence: U8Array) -> None:
    """Fill evidence, uint8[n], of the words with these hashes."""
    for k in range(hashes.size):
        evidence[k] = rare_evidence(rare, hashes[k])
