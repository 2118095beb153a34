"""Hashes in kernels: of two numbers, and of bytes.

Their values are part of the context model's file format: changing one makes all models trained before unusable.
"""

import numpy as np

from capfst.system.kernels import compiled_for, kernel

PRIME = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio, made odd: multiplying by it spreads numbers evenly (Knuth, TAOCP 3, §6.4)."""


@compiled_for("uint64(uint64, uint64)")
def hash_pair(a, b):  # type: ignore[no-untyped-def]
    """uint64, a hash of two integers in this order; its low bits depend on all bits of both."""
    h = (a * PRIME ^ (b + PRIME)) * np.uint64(0xFF51AFD7ED558CCD)
    return h ^ h >> np.uint64(32)


@kernel
def hash_bytes(text, start, end, seed):  # type: ignore[no-untyped-def]
    """uint64, a hash of text[start:end] (uint8[·]) and its length; each seed is another hash function."""
    h = np.uint64(seed)
    for i in range(start, end):
        h = (h ^ np.uint64(text[i])) * PRIME
        h ^= h >> np.uint64(29)
    return hash_pair(h, end - start)
