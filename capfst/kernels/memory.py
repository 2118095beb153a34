"""Operations that kernels call besides NumPy's indexing and arithmetic; each is an instruction or two (intrinsics.py).

These functions do the same in Python, for kernels that run as Python (`Kernel.py_func`). Indices must be in range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

TILE_ROWS, TILE_COLUMNS = 4, 16
"""What `multiply_tile` keeps in the registers of a processor with vectors of 256 bits."""
WIDTH = 16
"""Items of int16 in such a vector."""


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


def widen(source: AnyArray, begin: int, target: AnyArray, position: int) -> None:
    """Write WIDTH items of int8, source[begin:], to target[position:], int16. Indices count through all dimensions."""
    target.reshape(-1)[position : position + WIDTH] = source.reshape(-1)[begin : begin + WIDTH]


def add_wide(source: AnyArray, begin: int, factor: int, target: AnyArray) -> None:
    """Add WIDTH items of int8, source[begin:], times a factor to target[:WIDTH], int16, modulo 2^16."""
    target[:WIDTH] += np.int16(factor) * source.reshape(-1)[begin : begin + WIDTH].astype(np.int16)


def multiply_tile(
    left: AnyArray, row: int, stride: int, right: AnyArray, begin: int, pairs: int, sums: AnyArray
) -> None:
    """Write the products of TILE_ROWS rows with TILE_COLUMNS columns to sums, int32[TILE_ROWS TILE_COLUMNS].

    left: int16, whose rows, of 2 pairs items, begin at row and then every stride items. right: int16, at begin:
    [pairs, TILE_COLUMNS, 2], the items of two rows side by side. No sum may need more than 32 bits.
    """
    rows = np.stack([left.ravel()[row + k * stride :][: 2 * pairs] for k in range(TILE_ROWS)]).astype(np.int32)
    columns = right.ravel()[begin:][: 2 * pairs * TILE_COLUMNS].reshape(pairs, TILE_COLUMNS, 2).astype(np.int32)
    sums[: TILE_ROWS * TILE_COLUMNS] = np.einsum("rpi,pci->rc", rows.reshape(TILE_ROWS, pairs, 2), columns).ravel()


def multiply_reals(
    left: AnyArray, first: int, row: int, step: int, right: AnyArray, begin: int, width: int, n: int, sums: AnyArray
) -> None:
    """Add to sums, float32[TILE_ROWS TILE_COLUMNS], Σ_k left[first + i row + k step] right[begin + k width + j], for
    k < n, in order. Both are float32; no product is fused with an addition, so all processors give the same bits."""
    for k in range(n):
        for i in range(TILE_ROWS):
            item = left.ravel()[first + i * row + k * step]
            products = item * right.ravel()[begin + k * width :][:TILE_COLUMNS]
            sums[i * TILE_COLUMNS :][:TILE_COLUMNS] += products


def fence() -> None:
    """Order earlier reads and writes before later ones, as other threads see them (acquire and release)."""
