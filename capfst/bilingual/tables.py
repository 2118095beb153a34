"""Counts of shapes by what they depend on: hashed, in a table of fixed size that is used as the file has it.

In: keys (hashes of a word, its source word, their places …) and the shapes that words with them have. Out: how often
each shape was seen with a key. A key that finds no room is forgotten, if what has its room was seen more than once; so
memory does not grow with the text.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.system.kernels import kernel, prefetch

SLOT = np.dtype([("tag", "u4"), ("counts", "u1", (N_SHAPES,))])
"""A key: 32 bits of its hash, 0 if there is none; and how often it was seen with each shape, in proportion."""
WAYS = 4
"""Slots that a key can be in: neighbours, 32 bytes."""
MAX_BITS = 20
_MIN_BITS = 8
_MOST = 255


@kernel
def _tag(key):  # type: ignore[no-untyped-def]
    return max(np.uint32(key >> np.uint64(32)), np.uint32(1))


@kernel
def _first(table, key):  # type: ignore[no-untyped-def]
    return np.int64(key & np.uint64(table.size // WAYS - 1)) * WAYS


@kernel
def fetch(table, key):  # type: ignore[no-untyped-def]
    """Has a key's slots brought into the cache."""
    prefetch(table, _first(table, key))


@kernel
def find(table, key):  # type: ignore[no-untyped-def]
    """The slot of a key, or −1."""
    first, tag = _first(table, key), _tag(key)
    for slot in range(first, first + WAYS):
        if table[slot].tag == tag:
            return slot
    return -1


@kernel
def total(slot):  # type: ignore[no-untyped-def]
    """How often the key of a slot was seen."""
    n = np.int64(0)
    for shape in range(N_SHAPES):
        n += slot.counts[shape]
    return n


@kernel
def add(table, key, shape):  # type: ignore[no-untyped-def]
    """Counts a key with a shape."""
    slot = find(table, key)
    if slot < 0:
        slot = _first(table, key)
        for other in range(slot + 1, slot + WAYS):
            if total(table[other]) < total(table[slot]):
                slot = other
        if total(table[slot]) > 1:
            return
        table[slot].tag = _tag(key)
        for k in range(N_SHAPES):
            table[slot].counts[k] = 0
    if table[slot].counts[shape] == _MOST:
        for k in range(N_SHAPES):
            table[slot].counts[k] = (table[slot].counts[k] + 1) >> 1
    table[slot].counts[shape] += 1


@kernel
def _halve(table, half):  # type: ignore[no-untyped-def]
    """Puts the keys of a table into one of half the size; how many found no room."""
    lost = 0
    for slot in range(table.size):
        if table[slot].tag == 0:
            continue
        first = slot // WAYS * WAYS % half.size
        least = first
        for other in range(first + 1, first + WAYS):
            if total(half[other]) < total(half[least]):
                least = other
        lost += half[least].tag != 0
        if total(table[slot]) > total(half[least]):
            half[least].tag = table[slot].tag
            for k in range(N_SHAPES):
                half[least].counts[k] = table[slot].counts[k]
    return lost


def compact(table: npt.NDArray) -> npt.NDArray:
    """The smallest table that holds nearly all of the keys."""
    while table.size > 1 << _MIN_BITS:
        half = np.zeros(table.size // 2, SLOT)
        if _halve(table, half) > np.count_nonzero(table["tag"]) / 20:
            break
        table = half
    return table
