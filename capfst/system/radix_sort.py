"""Stable radix sort of packed 64-bit keys, by permutation.

In: keys, and a permutation of their indices. Out: the permutation sorted by key, in which equal keys keep their order.
So records with several keys are sorted by the last key first, and by the first key last.
"""

import numpy as np

from capfst.kernels import allocating
from capfst.kernels.types import U32Array, U64Array, u64

_BITS = 11
_SIZE = 1 << _BITS


@allocating
def refine(keys: U64Array, order: U32Array) -> U32Array:
    """Sort `order` (uint32[n], indices of keys: uint64[n]) stably by keys[order]. Overwrites `order`."""
    n = len(order)
    if n < 2:
        return order
    varying = u64(0)
    for i in range(n):
        varying |= keys[i] ^ keys[0]
    key, spare_key = np.empty(n, np.uint64), np.empty(n, np.uint64)
    for i in range(n):
        key[i] = keys[order[i]]
    spare = np.empty(n, np.uint32)
    position = np.empty(_SIZE, np.int64)
    mask = u64(_SIZE - 1)
    shift = u64(0)
    # Runs of constant bits are skipped: the vocabulary rarely fills its bits.
    while varying >> shift != 0:
        if (varying >> shift) & u64(1) == 0:
            shift += u64(1)
            continue
        position[:] = 0
        for i in range(n):
            position[(key[i] >> shift) & mask] += 1
        total = 0
        for digit in range(_SIZE):
            count = position[digit]
            position[digit] = total
            total += count
        for i in range(n):
            digit = (key[i] >> shift) & mask
            target = position[digit]
            position[digit] = target + 1
            spare_key[target] = key[i]
            spare[target] = order[i]
        key, spare_key = spare_key, key
        order, spare = spare, order
        shift += u64(_BITS)
        if shift >= u64(64):
            break
    return order
