"""Hashes in kernels: of two integers, of several integers, and of bytes.

Their values are part of the context model's file format: changing a hash makes all existing models unusable.
"""

from typing import Annotated, TypeAlias

import numpy as np

from capfst.kernels import inner
from capfst.kernels.types import U8Array, U64Array, i64, u32, u64

AnyInteger: TypeAlias = Annotated["int | np.uint64", np.dtype(np.uint64)]
"""An integer of any type, taken modulo 2⁶⁴."""

PRIME = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio, made odd: multiplying by it spreads numbers evenly (Knuth, TAOCP 3, §6.4)."""


@inner
def hash_pair(a: AnyInteger, b: AnyInteger) -> u64:
    """Return a hash of an ordered pair of integers, whose low bits depend on all bits of both."""
    h = (a * PRIME ^ (b + PRIME)) * u64(0xFF51AFD7ED558CCD)
    return h ^ h >> u64(32)


def scrambled(numbers: U64Array) -> U64Array:
    """Return a pseudorandom number for each of the numbers, by SplitMix64 (Steele, Lea & Flood 2014)."""
    z = numbers * PRIME
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def multiplier(number: int) -> np.uint64:
    """Return a pseudorandom odd number for `multiply_shift`."""
    return scrambled(np.array([number], np.uint64))[0] | np.uint64(1)


@inner
def multiply_shift(total: u64) -> u32:
    """Return a hash of several integers below 2³², given the sum of their products with one multiplier each. So each of
    many hashes that share integers costs an addition (Dietzfelbinger 1996, multiply-shift)."""
    return u32(total >> u64(32))


@inner
def hash_bytes(text: U8Array, start: i64, end: i64, seed: i64) -> u64:
    """Return a hash of text[start:end] (uint8[·]) and its length; each seed gives a different hash function."""
    h = u64(seed)
    for i in range(start, end):
        h = (h ^ u64(text[i])) * PRIME
        h ^= h >> u64(29)
    return hash_pair(h, end - start)
