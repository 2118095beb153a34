"""Operations that kernels call besides NumPy's indexing and arithmetic; each is an instruction or two (intrinsics.py).

These functions do the same in Python, for kernels that run as Python (`Kernel.py_func`). Indices must be in range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]


def prefetch(array: AnyArray, index: int) -> None:
    """Fetch an item into the cache; the index counts through all dimensions, and may be out of range."""


def get_eight(array: Bytes, index: int) -> np.uint64:
    """Return array[index : index + 8] as one little-endian number."""
    return np.uint64(int.from_bytes(array[index : index + 8].tobytes(), "little"))


def put_eight(array: Bytes, index: int, value: np.uint64) -> None:
    """Write a little-endian number to array[index : index + 8]."""
    array[index : index + 8] = np.frombuffer(int(value).to_bytes(8, "little"), np.uint8)


def count_ones(value: int) -> int:
    """Return the number of bits of an int64 that are 1."""
    return (int(value) & 0xFFFFFFFFFFFFFFFF).bit_count()


def copy_bytes(source: Bytes, begin: int, size: int, target: Bytes, position: int) -> None:
    """Copy source[begin : begin + size] to target[position:], also within one array. A loop becomes more code."""
    target[position : position + size] = source[begin : begin + size].copy()


def part(array: AnyArray, begin: int, size: int) -> AnyArray:
    """Return array[begin : begin + size], without the checks of a slice."""
    return array[begin : begin + size]


def fence() -> None:
    """Order earlier reads and writes before later ones, as other threads see them (acquire and release)."""
