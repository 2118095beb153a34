"""A log-linear model of the gaps between words: P(mark) ∝ exp of the sum of the weights of the gap's features.

In: columns of symbols (words, classes, …), int32[columns, n], of which row t belongs to word t; and templates. Out: P,
float32[n, 4], the probability of each mark after each word.

A template lists symbols around the gap: `w-1 w0 w1` are the last two words before the gap and the first one after it.
Their hashed values select a row of the table. Weights are learned in one pass of AdaGrad (Duchi, Hazan & Singer 2011).
Each gap is scored before it is learned from, so P is as in new text, and a second pass can learn from it. The first
occurrence of a feature is only recorded in `seen`, so most features that occur once take no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import inner, kernel
from capfst.kernels.types import F32Matrix, I32Array, I32Matrix, U8Array, U64Array, f64, i64, u8, u64

REACH = 8
"""Columns have this many symbols of padding on each side."""
N_MARKS = 4
SUM = N_MARKS
"""The column of the table that has AdaGrad's sum of squared gradients; those before it are the weights of the marks."""
_FIRST_SUM = 0.5
_FACTORS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)
_SEEN_BITS = 28


class Templates(NamedTuple):
    """starts: int32[templates + 1]; the symbols of template t are those from starts[t] to starts[t + 1]: their columns
    and their offsets from the word before the gap."""

    starts: I32Array
    columns: I32Array
    offsets: I32Array


class Table(NamedTuple):
    weights: F32Matrix  # [2^bits, SUM + 1]
    seen: U8Array  # [2^_SEEN_BITS]


def compiled(templates: Sequence[str], columns: str) -> Templates:
    """Compile templates; columns: the letter of each column."""
    symbols = [[(columns.index(symbol[0]), int(symbol[1:])) for symbol in template.split()] for template in templates]
    starts = np.cumsum([0, *map(len, symbols)]).astype(np.int32)
    flat = np.array([symbol for template in symbols for symbol in template], np.int32)
    return Templates(starts, flat[:, 0].copy(), flat[:, 1].copy())


def empty(bits: int) -> Table:
    weights = np.zeros((1 << bits, SUM + 1), np.float32)
    weights[:, SUM] = _FIRST_SUM
    return Table(weights, np.zeros(1 << _SEEN_BITS, np.uint8))


def forget_rate(table: Table, kept: float) -> None:
    """Let AdaGrad take larger steps again, to learn from text of another domain: keep this fraction of its sums."""
    sums = table.weights[:, SUM]
    sums += (kept - 1) * (sums - _FIRST_SUM)


@inner
def _features(columns: I32Matrix, templates: Templates, t: i64, hashes: U64Array) -> None:
    for k in range(len(templates.starts) - 1):
        h = u64(k + 1) * u64(_FACTORS[0])
        for j in range(templates.starts[k], templates.starts[k + 1]):
            h = (h ^ u64(columns[templates.columns[j], t + i64(templates.offsets[j])])) * u64(_FACTORS[1])
            h ^= h >> u64(29)
        hashes[k] = h * u64(_FACTORS[0])


@kernel
def run(
    columns: I32Matrix,
    templates: Templates,
    marks: U8Array,
    table: Table,
    rate: f64,
    hashes: U64Array,
    p: F32Matrix,
) -> None:
    """Fill p with the probability of each mark after each word, and learn the true ones, unless `rate` is 0.

    hashes: room for one number per template. Columns have REACH symbols of padding on each side; marks and p have none.
    """
    weights, seen = table
    shift, bits = u64(64), len(weights)
    while bits > 1:
        shift, bits = shift - u64(1), bits >> 1
    for t in range(len(marks)):
        _features(columns, templates, t + REACH, hashes)
        n = 0
        for k in range(len(templates.starts) - 1):
            place = i64(hashes[k] >> u64(64 - _SEEN_BITS))
            if seen[place] != 0:
                hashes[n] = hashes[k] * u64(_FACTORS[1]) >> shift
                n += 1
            elif rate > 0:
                seen[place] = u8(1)
        z0, z1, z2, z3 = f64(0), f64(0), f64(0), f64(0)
        for k in range(n):
            row = i64(hashes[k])
            z0 += weights[row, 0]
            z1 += weights[row, 1]
            z2 += weights[row, 2]
            z3 += weights[row, 3]
        most = max(z0, z1, z2, z3)
        z0, z1, z2, z3 = np.exp(z0 - most), np.exp(z1 - most), np.exp(z2 - most), np.exp(z3 - most)
        total = z0 + z1 + z2 + z3
        p[t, 0], p[t, 1], p[t, 2], p[t, 3] = z0 / total, z1 / total, z2 / total, z3 / total
        if rate > 0:
            _learn(weights, hashes, n, p, t, i64(marks[t]), rate)


@inner
def _learn(weights: F32Matrix, rows: U64Array, n: i64, p: F32Matrix, t: i64, mark: i64, rate: f64) -> None:
    squares = f64(0)
    for k in range(N_MARKS):
        gradient = p[t, k] - f64(k == mark)
        squares += gradient * gradient
    if squares < 1e-4:
        return
    for j in range(n):
        row = i64(rows[j])
        weights[row, SUM] += squares
        step = rate / np.sqrt(weights[row, SUM])
        for k in range(N_MARKS):
            weights[row, k] -= step * (p[t, k] - f64(k == mark))


def padded(columns: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.int32]:
    """Return int32[columns, n + 2 REACH]."""
    return np.pad(np.stack(columns), ((0, 0), (REACH, REACH)))
