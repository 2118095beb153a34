"""Operations that kernels call besides NumPy's indexing and arithmetic; each is an instruction or two (intrinsics.py).

These functions do the same in Python, for kernels that run as Python (`Kernel.py_func`). Indices must be in range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

TILE_ROWS, TILE_COLUMNS, TILE_INPUTS = 4, 8, 16
"""What `multiply_tile` keeps in the registers of a processor with vectors of 256 bits, and the inputs that it reads at
once."""
REAL_COLUMNS = SHORT_COLUMNS = 16
"""The columns of `multiply_reals` and `multiply_shorts`, which have as many rows as `multiply_tile`."""
LANES = 16
"""Items of int16 in a vector of 256 bits, and the units that `read_gates` reads at once."""
ADDED = 64
"""Columns that `add_rows` adds at once."""


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
    """Write LANES items of int8, source[begin:], to target[position:], int16. Indices count through all dimensions."""
    target.reshape(-1)[position : position + LANES] = source.reshape(-1)[begin : begin + LANES]


def add_wide(source: AnyArray, begin: int, factor: int, target: AnyArray) -> None:
    """Add LANES items of int8, source[begin:], times a factor to target[:LANES], int16, modulo 2^16."""
    target[:LANES] += np.int16(factor) * source.reshape(-1)[begin : begin + LANES].astype(np.int16)


def multiply_shorts(
    left: AnyArray, row: int, stride: int, right: AnyArray, begin: int, pairs: int, sums: AnyArray
) -> None:
    """Write the products of TILE_ROWS rows with SHORT_COLUMNS columns to sums, int32[TILE_ROWS SHORT_COLUMNS].

    left: int16, whose rows, of 2 pairs items, begin at row and then every stride items. right: int16, at begin:
    [pairs, SHORT_COLUMNS, 2], the items of two rows side by side. No sum may need more than 32 bits.
    """
    rows = np.stack([left.ravel()[row + k * stride :][: 2 * pairs] for k in range(TILE_ROWS)]).astype(np.int32)
    columns = right.ravel()[begin:][: 2 * pairs * SHORT_COLUMNS].reshape(pairs, SHORT_COLUMNS, 2).astype(np.int32)
    sums[: TILE_ROWS * SHORT_COLUMNS] = np.einsum("rpi,pci->rc", rows.reshape(TILE_ROWS, pairs, 2), columns).ravel()


def multiply_tile(
    left: AnyArray, row: int, stride: int, right: AnyArray, begin: int, size: int, sums: AnyArray
) -> None:
    """Write the products of TILE_ROWS rows with TILE_COLUMNS columns to sums, int32[TILE_ROWS TILE_COLUMNS].

    left: int8, 0 … 127, whose rows, of `size` items, begin at row and then every stride items. right: int8, −31 … 31,
    at begin: [size / 4, TILE_COLUMNS, 4], the items of four rows side by side. The size is a multiple of TILE_INPUTS.
    """
    rows = np.stack([left.ravel()[row + k * stride :][:size] for k in range(TILE_ROWS)]).astype(np.int32)
    columns = right.ravel()[begin:][: size * TILE_COLUMNS].reshape(-1, TILE_COLUMNS, 4).astype(np.int32)
    sums[: TILE_ROWS * TILE_COLUMNS] = np.einsum("rpi,pci->rc", rows.reshape(TILE_ROWS, -1, 4), columns).ravel()


def round_tile(
    sums: AnyArray, units: AnyArray, bias: AnyArray, column: int, least: int, result: AnyArray, to: int, stride: int
) -> None:
    """Write sums · units + bias, rounded, and at least `least` and at most 127, to `result`, int8.

    sums: as from `multiply_tile`. The columns are those of units and bias, float32, from `column` on; the rows of the
    result begin at `to`, and then every `stride` items.
    """
    columns = slice(column, column + TILE_COLUMNS)
    for k, row in enumerate(sums.reshape(TILE_ROWS, TILE_COLUMNS).astype(np.float32)):
        values = np.rint(row * units[columns] + bias[columns]).clip(least, 127)
        result.ravel()[to + k * stride :][:TILE_COLUMNS] = values


def multiply_reals(
    left: AnyArray, first: int, row: int, step: int, right: AnyArray, begin: int, width: int, n: int, sums: AnyArray
) -> None:
    """Add to sums, float32[TILE_ROWS REAL_COLUMNS], Σ_k left[first + i row + k step] right[begin + k width + j], for
    k < n, in order. Both are float32; all products are fused with additions, so all processors give the same bits."""
    for k in range(n):
        for i in range(TILE_ROWS):
            item = left.ravel()[first + i * row + k * step].astype(np.float64)
            of_row = sums[i * REAL_COLUMNS :][:REAL_COLUMNS]
            of_row[:] = of_row + item * right.ravel()[begin + k * width :][:REAL_COLUMNS]


def add_rows(
    table: AnyArray, rows: AnyArray, at: int, n: int, first: int, stride: int, size: int, sums: AnyArray, to: int
) -> None:
    """Write to sums[to : to + size] the sum of table[rows[at + k], first + k stride :], for k < n. Each addition, in
    this order, saturates at the limits of int8. The size is a multiple of ADDED."""
    total = np.zeros(size, np.int32)
    for k in range(n):
        column = first + k * stride
        total = np.clip(total + table[rows[at + k], column : column + size], -128, 127)
    sums.ravel()[to:][:size] = total


def read_gates(gates: AnyArray, at: int, units: int, keeps: int, states: AnyArray, h: AnyArray, to: int) -> None:
    """Update the states of a gated recurrence by a word, and write them to h[to : to + units].

    The formulas are those of punctuation/network.py, rounded down. gates: int8, from `at`, the inputs of f and c of
    LANES units each in turn; 1 is 2⁵. keeps: −1, or 0 to forget the states. states: int16[units]; 1 is 2¹⁴. h: int8, in
    which −1 … 1 is 0 … 2⁶.
    """
    x = np.clip(gates.ravel()[at:][: 2 * units].astype(np.int32), -63, 63) << 9
    q = (x - (x * abs(x) >> 16)).reshape(-1, 2, LANES)
    f, c = np.minimum(q[:, 0].ravel() + (1 << 14), 32767), q[:, 1].ravel()
    difference = np.clip((states[:units] & keeps) - c, -32768, 32767)
    states[:units] = c + 2 * (f * difference >> 16) + 1
    h.ravel()[to:][:units] = (states[:units].astype(np.int32) + (1 << 14) + (1 << 8)) >> 9


def fence() -> None:
    """Order earlier reads and writes before later ones, as other threads see them (acquire and release)."""
