"""Score the marks of each gap by the network, with weights of 8 bits and all else of 16.

In: the words of lines as numbers of vectors (text.py). Out: the scores of the marks after each word, float32[words, 4].
Products are summed exactly, and nothing is summed in another order, so that all processors find the same marks. The
products of a word's vector, with A and with F and C of the first reading, are kept for its next occurrences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import fence, inner, kernel, multiply_tile, prefetch
from capfst.kernels.memory import TILE_COLUMNS, TILE_ROWS
from capfst.kernels.types import (
    F32Array,
    F32Matrix,
    I16Array,
    I16Matrix,
    I32Array,
    I64Array,
    U8Array,
    f32,
    i16,
    i32,
    i64,
)
from capfst.punctuation.network import (
    AHEAD,
    BACK,
    EMBEDDING,
    MARKS,
    NEAR_AHEAD,
    NEAR_BACK,
    READINGS,
    WINDOW,
    Rounded,
    RoundedDense,
    tanh_ratio,
)

_ONE, _MOST = 2048, 32767  # 1 and the largest number, in 16 bits
_BLOCK = 2048  # words that are read at once
_OVERLAP = 64  # words on each side of a part of a longer line that are read with it
(_UNITS1, _RESULT1), (_UNITS2, _RESULT2) = READINGS
_N_MARKS = len(MARKS)
_NEAR, _GATES1 = NEAR_BACK + NEAR_AHEAD, 4 * _UNITS1
_FIRST_GATES = (BACK + AHEAD) * WINDOW  # where the products for the gates begin
_SOON = 3  # words from one that is read to one whose products are fetched
_LINE = 32  # numbers of 16 bits in a line of the cache
_N_PRODUCTS = _FIRST_GATES + _NEAR * _GATES1


class Packed(NamedTuple):
    """A dense layer for `multiply_tile`."""

    weights: I16Array  # [outputs / TILE_COLUMNS, inputs / 2, TILE_COLUMNS, 2]
    units: F32Array  # [outputs]: the values of 1 in sums
    bias: F32Array  # [outputs]

    @classmethod
    def of(cls, layer: RoundedDense) -> Packed:
        inputs, outputs = layer.weights.shape
        tiles = layer.weights.reshape(inputs // 2, 2, outputs // TILE_COLUMNS, TILE_COLUMNS).transpose(2, 0, 3, 1)
        return cls(tiles.astype(np.int16).ravel(), layer.units / np.float32(_ONE), layer.bias)


class Scorer(NamedTuple):
    """The network as the kernels read it."""

    embedded: F32Matrix  # [vectors, EMBEDDING]
    window: F32Matrix  # [(BACK + AHEAD) EMBEDDING, WINDOW]
    near: F32Matrix  # [_NEAR EMBEDDING, _GATES1]
    window_bias: I32Array  # [WINDOW]
    products: I16Matrix  # [vectors, _N_PRODUCTS]: of the vectors with `window` and with `near`, place by place
    is_filled: U8Array  # [vectors]: whether these are known
    gates1: Packed  # without weights
    result1: Packed
    gates2: Packed
    result2: Packed
    output: Packed


class Buffers(NamedTuple):
    """Memory for one block of words."""

    h0: I16Matrix  # h0, and the states of the first reading, backward ones last
    h1: I16Matrix
    h2: I16Matrix
    sums: I32Array
    more_sums: I32Array
    states: F32Array
    totals: F32Array

    @classmethod
    def of(cls, n_words: int) -> Buffers:
        """Allocate them for blocks of a text of so many words."""
        n = min(n_words, _BLOCK + 2 * _OVERLAP) + TILE_ROWS
        h0, h1, h2 = (
            np.empty((n, width), np.int16) for width in (WINDOW + 2 * _UNITS1, _RESULT1 + 2 * _UNITS2, _RESULT2)
        )
        sums, more = (np.empty(max(WINDOW, _GATES1 // 2, TILE_ROWS * TILE_COLUMNS), np.int32) for _ in range(2))
        states, totals = (np.empty(size, np.float32) for size in (max(_UNITS1, _UNITS2), max(WINDOW, _GATES1)))
        return cls(h0, h1, h2, sums, more, states, totals)


@inner
def _short(x: f32) -> i16:
    return i16(np.rint(max(f32(-_MOST), min(f32(_MOST), x * f32(_ONE)))))


@inner
def _multiply(vector: i64, scorer: Scorer, weights: F32Matrix, first: i64, totals: F32Array) -> None:
    """Fill in the products of a vector with the weights of each place."""
    for place in range(len(weights) // EMBEDDING):
        totals[:] = 0
        for d in range(EMBEDDING):
            x, row = scorer.embedded[vector, d], place * EMBEDDING + d
            for k in range(weights.shape[1]):
                totals[k] += x * weights[row, k]
        for k in range(weights.shape[1]):
            scorer.products[vector, first + place * weights.shape[1] + k] = _short(totals[k])


@inner
def _fill_products(vector: i64, scorer: Scorer, totals: F32Array) -> None:
    """Fill in the products of a vector. Threads may do so at the same time: all write the same."""
    _multiply(vector, scorer, scorer.window, 0, totals)
    _multiply(vector, scorer, scorer.near, _FIRST_GATES, totals)
    fence()
    scorer.is_filled[vector] = 1


@inner
def _add_four(
    products: I16Matrix, vectors: I32Array, at: i64, first: i64, stride: i64, size: i64, sums: I32Array
) -> None:
    """Add the products of four words to sums: those that begin at `first` for vectors[at], and `stride` later for each
    word after it."""
    a, b, c, d = i64(vectors[at]), i64(vectors[at + 1]), i64(vectors[at + 2]), i64(vectors[at + 3])
    second, third, fourth = first + stride, first + 2 * stride, first + 3 * stride
    for k in range(size):
        ab = i32(products[a, first + k]) + i32(products[b, second + k])
        cd = i32(products[c, third + k]) + i32(products[d, fourth + k])
        sums[k] += ab + cd


@inner
def _fetch(products: I16Matrix, vectors: I32Array, at: i64, n: i64, first: i64, stride: i64, size: i64) -> None:
    """Fetch products of n words that are needed soon into the cache: those that `_add_four` reads."""
    for place in range(n):
        if 0 <= at + place < vectors.size:
            begin = i64(vectors[at + place]) * _N_PRODUCTS + first + place * stride
            for k in range(0, size, _LINE):
                prefetch(products, begin + k)


@inner
def _read_window(vectors: I32Array, at: i64, scorer: Scorer, buffers: Buffers, row: i64) -> None:
    """Fill in h0 of the gap after vectors[at], and the products of all vectors around it."""
    sums, h = buffers.sums, buffers.h0
    for k in range(WINDOW):
        sums[k] = scorer.window_bias[k]
    first = at - BACK + 1
    _fetch(scorer.products, vectors, first + _SOON, BACK + AHEAD, 0, WINDOW, WINDOW)
    for place in range(BACK + AHEAD):
        vector = i64(vectors[first + place])
        if scorer.is_filled[vector] == 0:
            _fill_products(vector, scorer, buffers.totals)
    for place in range(0, BACK + AHEAD, 4):
        _add_four(scorer.products, vectors, first + place, place * WINDOW, WINDOW, WINDOW, sums)
    for k in range(WINDOW):
        h[row, k] = min(_MOST, max(0, sums[k]))


@inner
def _read_row(
    of_f: I32Array, k: i64, of_c: I32Array, m: i64, layer: Packed, column: i64, keeps: f32, states: F32Array,
    unit: i64, h: I16Matrix, row: i64, state: i64,
) -> None:  # fmt: skip
    """Update the states of a tile of units by the next word, given the sums for F and C, whose columns of the
    layer begin at `column`; write them to h."""
    for j in range(TILE_COLUMNS):
        f_column, c_column = column + j, column + TILE_COLUMNS + j
        x = f32(of_f[k + j]) * layer.units[f_column] + layer.bias[f_column]
        f_above, f_below = tanh_ratio(f32(0.5) * x)
        c_above, c_below = tanh_ratio(f32(of_c[m + j]) * layer.units[c_column] + layer.bias[c_column])
        both = f32(1) / (f_below * c_below)  # one division instead of two
        f = f32(0.5) + f32(0.5) * (f_above * c_below * both)
        s = f * (keeps * states[unit + j]) + (f32(1) - f) * (c_above * f_below * both)
        states[unit + j] = s
        h[row, state + j] = _short(s)


@inner
def _read_first_states(vectors: I32Array, at: I64Array, begin: i64, end: i64, scorer: Scorer, buffers: Buffers) -> None:
    """Fill in the states of the first reading, for the words begin … end − 1, whose products are known."""
    sums, products, states, half = buffers.sums, scorer.products, buffers.states, _GATES1 // 2
    for direction in range(2):
        for count in range(end - begin):
            word, before = begin + count, begin + count - 1
            if direction == 1:
                word, before = end - 1 - count, end - count
            keeps = f32(0) if count == 0 or abs(at[word] - at[before]) != 1 else f32(1)
            for k in range(half):
                sums[k] = 0
            first, soon = at[word] - NEAR_BACK + 1, _SOON if direction == 0 else -_SOON
            _fetch(products, vectors, first + soon, _NEAR, _FIRST_GATES + direction * half, _GATES1, half)
            for place in range(0, _NEAR, 4):
                column = _FIRST_GATES + place * _GATES1 + direction * half
                _add_four(products, vectors, first + place, column, _GATES1, half, sums)
            for unit in range(0, _UNITS1, TILE_COLUMNS):
                column, state = 2 * unit, WINDOW + direction * _UNITS1 + unit
                _read_row(
                    sums, column, sums, column + TILE_COLUMNS, scorer.gates1, direction * half + column, keeps, states,
                    unit, buffers.h0, word - begin, state,
                )  # fmt: skip


@inner
def _read_states(
    at: I64Array, begin: i64, end: i64, layer: Packed, units: i64, size: i64, h: I16Matrix, buffers: Buffers
) -> None:
    """Fill in the states of the second reading, for the words begin … end − 1 in the first rows of h."""
    sums, more, states, stride, n = buffers.sums, buffers.more_sums, buffers.states, h.shape[1], end - begin
    n_tiles, tile_size = (n + TILE_ROWS - 1) // TILE_ROWS, size * TILE_COLUMNS
    for direction in range(2):
        states[:] = 0
        for count in range(n_tiles):
            first = TILE_ROWS * (count if direction == 0 else n_tiles - 1 - count)
            for unit in range(0, units, TILE_COLUMNS):
                column = 2 * (direction * units + unit)
                weights = column * size
                multiply_tile(h, first * stride, stride, layer.weights, weights, size // 2, sums)
                multiply_tile(h, first * stride, stride, layer.weights, weights + tile_size, size // 2, more)
                for k in range(TILE_ROWS):
                    row = first + k if direction == 0 else first + TILE_ROWS - 1 - k
                    if row < n:
                        word = begin + row
                        if direction == 0:
                            is_first = row == 0 or at[word] != at[word - 1] + 1
                        else:
                            is_first = row == n - 1 or at[word] != at[word + 1] - 1
                        of_row = (row - first) * TILE_COLUMNS
                        state = size + direction * units + unit
                        keeps = f32(0) if is_first else f32(1)
                        _read_row(sums, of_row, more, of_row, layer, column, keeps, states, unit, h, row, state)


@inner
def _fill_result(h: I16Matrix, n: i64, layer: Packed, sums: I32Array, result: I16Matrix, outputs: i64) -> None:
    """Fill in relu(h · weights + bias), for n rows."""
    size = h.shape[1]
    for row in range(0, n, TILE_ROWS):
        for column in range(0, outputs, TILE_COLUMNS):
            multiply_tile(h, row * size, size, layer.weights, column * size, size // 2, sums)
            for k in range(TILE_ROWS):
                for j in range(TILE_COLUMNS):
                    x = f32(sums[k * TILE_COLUMNS + j]) * layer.units[column + j] + layer.bias[column + j]
                    result[row + k, column + j] = _short(max(f32(0), x))


@inner
def _score_block(
    vectors: I32Array, at: I64Array, begin: i64, end: i64, first: i64, last: i64, scorer: Scorer, buffers: Buffers,
    scores: F32Matrix,
) -> None:  # fmt: skip
    """Fill in the scores of the words first … last − 1, having read the words begin … end − 1."""
    n, sums = end - begin, buffers.sums
    for row in range(n):
        _read_window(vectors, at[begin + row], scorer, buffers, row)
    buffers.states[:] = 0
    _read_first_states(vectors, at, begin, end, scorer, buffers)
    _fill_result(buffers.h0, n, scorer.result1, sums, buffers.h1, _RESULT1)
    _read_states(at, begin, end, scorer.gates2, _UNITS2, _RESULT1, buffers.h1, buffers)
    _fill_result(buffers.h1, n, scorer.result2, sums, buffers.h2, _RESULT2)
    layer = scorer.output
    for row in range(0, n, TILE_ROWS):
        multiply_tile(buffers.h2, row * _RESULT2, _RESULT2, layer.weights, 0, _RESULT2 // 2, sums)
        for k in range(TILE_ROWS):
            word = begin + row + k
            if first <= word < last:
                for j in range(_N_MARKS):
                    scores[word, j] = f32(sums[k * TILE_COLUMNS + j]) * layer.units[j] + layer.bias[j]


@kernel
def _score(
    vectors: I32Array, at: I64Array, lines: I64Array, scorer: Scorer, buffers: Buffers, scores: F32Matrix
) -> None:
    """Fill in the scores of all words. How a line is divided does not depend on other lines."""
    line, n_lines = 0, lines.size - 1
    while line < n_lines:
        begin, size = lines[line], lines[line + 1] - lines[line]
        line += 1
        while size <= _BLOCK and line < n_lines and lines[line + 1] - begin <= _BLOCK:
            size = lines[line + 1] - begin
            line += 1
        for first in range(begin, begin + size, _BLOCK):
            last = min(begin + size, first + _BLOCK)
            read, until = max(begin, first - _OVERLAP), min(begin + size, last + _OVERLAP)
            _score_block(vectors, at, read, until, first, last, scorer, buffers, scores)


def scorer_of(network: Rounded) -> Scorer:
    """Return the network as the kernels read it."""
    padding = np.zeros((1, EMBEDDING), np.int8)
    embedded = np.concatenate([padding, network.endings, network.words]) * np.float32(network.unit)
    window, near, *others = network.layers
    return Scorer(
        embedded,
        window.dense().weights,
        near.dense().weights,
        np.rint(window.bias * _ONE).astype(np.int32),
        np.empty((len(embedded), _N_PRODUCTS), np.int16),
        np.zeros(len(embedded), np.uint8),
        Packed(np.empty(0, np.int16), np.full(_GATES1, 1 / _ONE, np.float32), near.bias),
        *map(Packed.of, others),
    )


def score(
    vectors: npt.NDArray[np.int32], at: npt.NDArray[np.int64], lines: npt.NDArray[np.int64], scorer: Scorer
) -> npt.NDArray[np.float32]:
    """Return the scores of the marks after each word, float32[words, 4].

    vectors: the words of all lines, and AHEAD times the padding before, between and after lines. at: the index in it of
    each word. lines: the first word of each line, and the number of all words.
    """
    scores = np.empty((len(at), _N_MARKS), np.float32)
    _score(vectors, at, lines, scorer, Buffers.of(len(at)), scores)
    return scores
