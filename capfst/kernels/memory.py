"""Operations that kernels call beyond NumPy's indexing and arithmetic; each is an instruction or two (intrinsics.py).

These functions do the same in Python, where kernels run as Python does (`Kernel.py_func`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Anything = npt.NDArray[Any]


def prefetch(array: Anything, index: int) -> None:
    """Bring an item (in range or near it; counted through all dimensions) into the cache."""


def get_eight(array: npt.NDArray[np.uint8], index: int) -> np.uint64:
    """Return array[index : index + 8], which must be in range, as one number; its lowest bits are the first byte's."""
    return np.uint64(int.from_bytes(array[index : index + 8].tobytes(), "little"))


def put_eight(array: npt.NDArray[np.uint8], index: int, value: np.uint64) -> None:
    """Write a number to array[index : index + 8], as `get_eight` reads it."""
    array[index : index + 8] = np.frombuffer(int(value).to_bytes(8, "little"), np.uint8)


def count_ones(value: int) -> int:
    """Return how many bits of an int64 are 1."""
    return (int(value) & 0xFFFFFFFFFFFFFFFF).bit_count()


def copy_bytes(
    source: npt.NDArray[np.uint8], begin: int, size: int, target: npt.NDArray[np.uint8], position: int
) -> None:
    """Copy source[begin : begin + size] to target[position:], also within one array; both must be in range.

    A loop would become code of many instructions, for eight sizes of vectors.
    """
    target[position : position + size] = source[begin : begin + size].copy()


def part(array: Anything, begin: int, size: int) -> Anything:
    """Return array[begin : begin + size], which must be in range; a slice would check that."""
    return array[begin : begin + size]


def release() -> None:
    """Make earlier writes visible to threads that see a later one, and then `acquire`."""


def acquire() -> None:
    """Order later reads after earlier ones: see `release`."""
