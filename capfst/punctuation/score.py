"""Score the marks of each gap by the network, in integers of 8 bits.

In: the words of lines as numbers of vectors (text.py). Out: the scores of the marks after each word, float32[words, 4]:
the early ones, except in gaps that are in doubt. Products are summed exactly, and nothing is summed in another order,
so that all processors find the same marks. The products of a word's vector, with A and with F and C of the first
reading, are kept for its next occurrences.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.kernels import add_rows, fence, inner, kernel, multiply_tile, prefetch, read_gates, round_tile
from capfst.kernels.memory import TILE_COLUMNS, TILE_ROWS
from capfst.kernels.types import BoolArray, F32Array, F32Matrix, I8Array, I8Matrix, I16Array, I32Array, I64Array

from capfst.kernels.types import U8Array, f32, i8, i64  # isort: skip
from capfst.punctuation import network as net

_ONE, _MOST = 32, 127  # 1 and the largest number, in 8 bits; `read_gates` expects this 1
_ZERO = 64  # 0 in embeddings
_BLOCK = 1024  # words that are read at once
_OVERLAP = 64  # words on each side of a part of a longer line that are read with it
_N_MARKS = len(net.MARKS)
_NEAR, _GATES1 = net.NEAR_BACK + net.NEAR_AHEAD, 4 * net.UNITS1
_FIRST_GATES = (net.BACK + net.AHEAD) * net.WINDOW  # where the products for the gates begin
_SOON = 3  # words from one that is read to one whose products are fetched
_LINE = 64  # bytes in a line of the cache
_N_PRODUCTS = _FIRST_GATES + _NEAR * _GATES1


class Packed(NamedTuple):
    """A dense layer for `multiply_tile`: sums · units + bias is its result, where 1 is _ONE."""

    weights: I8Array  # [outputs / TILE_COLUMNS, inputs / 4, TILE_COLUMNS, 4]
    units: F32Array  # [outputs]
    bias: F32Array  # [outputs]

    @classmethod
    def of(cls, layer: net.RoundedDense, n_shifted: int = 0, zero: int = _ONE, one: float = _ONE) -> Packed:
        """Return a layer, in tiles. Of its inputs, 1 is `one`, and 0 is
        `zero` for the last n_shifted of them."""
        weights, units, bias = layer
        units = units * np.float32(_ONE / one)
        shift = units * (zero * weights[len(weights) - n_shifted :].sum(0, dtype=np.float32))
        tiles = weights.reshape(len(weights) // 4, 4, -1, TILE_COLUMNS).transpose(2, 0, 3, 1)
        return cls(tiles.ravel(), units, np.float32(_ONE) * bias - shift)


class Scorer(NamedTuple):
    """The network as the kernels read it."""

    embedded: I8Matrix  # [vectors, EMBEDDING]: the vectors, at a multiple of TILE_ROWS; 0 is _ZERO
    words: Packed  # makes `products`
    products: I8Matrix  # [vectors, _N_PRODUCTS]: of the vectors with A, and with F and C of the first reading, place by
    # place; with the biases at the first ones
    is_filled: U8Array  # [vectors / TILE_ROWS]: whether these are known
    early: Packed  # as of `output`, only the first tile is used
    result1: Packed
    gates2: Packed
    result2: Packed
    output: Packed


class Buffers(NamedTuple):
    """Memory for one block of words."""

    h1: I8Matrix
    gates: I8Matrix  # inputs of f and c: of the first reading, for one word; of the second, for all in doubt
    states: I16Array
    begins: BoolArray  # whether a line begins at each word
    rows: I64Array  # the rows of the gaps that are in doubt: those of the following arrays
    h2: I8Matrix  # h2, and the states of the second reading
    h3: I8Matrix
    scores: F32Matrix
    sums: I32Array

    @classmethod
    def of(cls, n_words: int) -> Buffers:
        """Allocate them for blocks of a text of so many words."""
        n = min(n_words, _BLOCK + 2 * _OVERLAP) + TILE_ROWS
        widths = net.WINDOW + 2 * net.UNITS1, 4 * net.UNITS2, net.RESULT1 + 2 * net.UNITS2, net.RESULT2
        h1, gates, h2, h3 = (np.empty((n, width), np.int8) for width in widths)
        states, scores = np.empty(max(net.UNITS1, net.UNITS2), np.int16), np.empty((n, _N_MARKS), np.float32)
        begins, rows = np.empty(n, np.bool_), np.empty(n, np.int64)
        sums = np.empty(TILE_ROWS * TILE_COLUMNS, np.int32)
        return cls(h1, gates, states, begins, rows, h2, h3, scores, sums)


@inner
def _apply(x: I8Matrix, n: i64, layer: Packed, least: i64, sums: I32Array, result: I8Matrix) -> None:
    """Fill in the first columns of n rows of the result: x · weights + bias, or `least` where that is greater."""
    size, stride, width = layer.weights.size // layer.units.size, x.shape[1], result.shape[1]
    for column in range(0, layer.units.size, TILE_COLUMNS):
        for row in range(0, n, TILE_ROWS):
            multiply_tile(x, row * stride, stride, layer.weights, column * size, size, sums)
            round_tile(sums, layer.units, layer.bias, column, least, result, row * width + column, width)


@inner
def _fill_products(vector: i64, scorer: Scorer, sums: I32Array) -> None:
    """Fill in the products of a tile of vectors. Threads may do so at the same time: all write the same."""
    first = vector // TILE_ROWS * TILE_ROWS
    vectors, products = scorer.embedded[first : first + TILE_ROWS], scorer.products[first : first + TILE_ROWS]
    _apply(vectors, TILE_ROWS, scorer.words, -_MOST, sums, products)
    fence()
    scorer.is_filled[vector // TILE_ROWS] = 1


@inner
def _fetch(products: I8Matrix, vectors: I32Array, at: i64) -> None:
    """Fetch the products of a word that is needed soon into the cache."""
    if at < vectors.size:
        begin = i64(vectors[at]) * _N_PRODUCTS
        for k in range(0, _N_PRODUCTS, _LINE):
            prefetch(products, begin + k)


@inner
def _read_words(vectors: I32Array, at: I64Array, begin: i64, n: i64, scorer: Scorer, buffers: Buffers) -> None:
    """Fill in h1, from the products of the words around each gap."""
    for k in range(at[begin] - net.BACK + 1, at[begin + n - 1] + net.AHEAD + 1):
        vector = i64(vectors[k])
        if scorer.is_filled[vector // TILE_ROWS] == 0:
            _fill_products(vector, scorer, buffers.sums)
    products, h1, gates, half = scorer.products, buffers.h1, buffers.gates, _GATES1 // 2
    width = h1.shape[1]
    for direction in range(2):
        for count in range(n):
            row = count if direction == 0 else n - 1 - count
            first = at[begin + row] - net.BACK + 1
            if direction == 0:
                _fetch(products, vectors, first + net.BACK + net.AHEAD + _SOON)
                add_rows(products, vectors, first, net.BACK + net.AHEAD, 0, net.WINDOW, net.WINDOW, h1, row * width)
                for k in range(net.WINDOW):
                    h1[row, k] = max(i8(0), h1[row, k])
            column = _FIRST_GATES + direction * half
            add_rows(products, vectors, first + net.BACK - net.NEAR_BACK, _NEAR, column, _GATES1, half, gates, 0)
            keeps = 0 if buffers.begins[row + direction] else -1
            at_state = row * width + net.WINDOW + direction * net.UNITS1
            read_gates(gates, 0, net.UNITS1, keeps, buffers.states, h1, at_state)


@inner
def _read_doubtful(n: i64, begins: BoolArray, buffers: Buffers) -> None:
    """Fill in the states of the second reading, the last columns of n rows of h2."""
    h2 = buffers.h2
    for direction in range(2):
        for count in range(n):
            row = count if direction == 0 else n - 1 - count
            column, keeps = direction * net.UNITS2, 0 if begins[row + direction] else -1
            read_gates(
                buffers.gates, 4 * net.UNITS2 * row + 2 * column, net.UNITS2, keeps, buffers.states, h2,
                row * h2.shape[1] + net.RESULT1 + column,
            )  # fmt: skip


@inner
def _score_tile(x: I8Matrix, row: i64, layer: Packed, buffers: Buffers, first: i64) -> None:
    """Fill in the scores of TILE_ROWS rows, from the row `first` on of `buffers.scores`."""
    width = x.shape[1]
    multiply_tile(x, row * width, width, layer.weights, 0, width, buffers.sums)
    for k in range(TILE_ROWS):
        for j in range(_N_MARKS):
            sum_ = f32(buffers.sums[k * TILE_COLUMNS + j])
            buffers.scores[first + k, j] = (sum_ * layer.units[j] + layer.bias[j]) * f32(1 / _ONE)


@inner
def _find_doubtful(h1: I8Matrix, n: i64, scorer: Scorer, buffers: Buffers) -> i64:
    """Fill in the early scores of n words; move those in doubt to the first rows of h1, and return their number."""
    found, is_first, scores = 0, True, buffers.scores
    for row in range(n):
        if row % TILE_ROWS == 0:
            _score_tile(h1, row, scorer.early, buffers, row)
        is_first = is_first or buffers.begins[row]
        if max(scores[row, 1], scores[row, 2], scores[row, 3]) > scores[row, 0] - f32(net.DOUBT):
            for k in range(h1.shape[1]):
                h1[found, k] = h1[row, k]
            buffers.rows[found], buffers.begins[found] = row, is_first
            found += 1
            is_first = False
    buffers.begins[found] = True
    return found


@inner
def _score_block(vectors: I32Array, at: I64Array, begin: i64, end: i64, scorer: Scorer, buffers: Buffers) -> None:
    """Fill in the scores of the words begin … end − 1, in the first rows of buffers.scores."""
    n_words = end - begin
    h1, h2, h3, sums, begins = buffers.h1, buffers.h2, buffers.h3, buffers.sums, buffers.begins
    for row in range(n_words):
        begins[row] = row == 0 or at[begin + row] != at[begin + row - 1] + 1
    begins[n_words] = True
    _read_words(vectors, at, begin, n_words, scorer, buffers)
    n = _find_doubtful(h1, n_words, scorer, buffers)
    _apply(h1, n, scorer.result1, 0, sums, h2)
    _apply(h2, n, scorer.gates2, -_MOST, sums, buffers.gates)
    _read_doubtful(n, begins, buffers)
    _apply(h2, n, scorer.result2, 0, sums, h3)
    for row in range(n):
        if row % TILE_ROWS == 0:
            _score_tile(h3, row, scorer.output, buffers, n_words)
        for k in range(_N_MARKS):
            buffers.scores[buffers.rows[row], k] = buffers.scores[n_words + row % TILE_ROWS, k]


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
            _score_block(vectors, at, read, until, scorer, buffers)
            for word in range(first, last):
                for k in range(_N_MARKS):
                    scores[word, k] = buffers.scores[word - read, k]


def scorer_of(network: net.Rounded) -> Scorer:
    """Return the network as the kernels read it."""
    padding = np.zeros((1, net.EMBEDDING), np.int8)
    vectors = np.concatenate([padding, network.endings, network.words])
    embedded = np.pad(vectors + np.int8(_ZERO), ((0, -len(vectors) % TILE_ROWS), (0, 0)))
    window, near, early, result1, gates2, result2, output = network.layers
    words = Packed.of(_of_places(window, near), net.EMBEDDING, _ZERO, 1 / network.unit)
    products, is_filled = (
        np.empty((len(embedded), _N_PRODUCTS), np.int8),
        np.zeros(len(embedded) // TILE_ROWS, np.uint8),
    )
    after1, after2 = 2 * net.UNITS1, 2 * net.UNITS2  # states among the inputs
    of_first = Packed.of(early, after1), Packed.of(result1, after1)
    of_second = Packed.of(gates2), Packed.of(result2, after2), Packed.of(output)
    return Scorer(embedded, words, products, is_filled, *of_first, *of_second)


def _of_places(*layers: net.RoundedDense) -> net.RoundedDense:
    """Return layers of windows as one layer of each word in them, which has the outputs of all places."""
    weights, units, biases = [], [], []
    for layer in layers:
        places = layer.weights.reshape(-1, net.EMBEDDING, len(layer.units))
        weights += list(places)
        units += [layer.units] * len(places)
        biases += [layer.bias, np.zeros((len(places) - 1) * len(layer.bias), np.float32)]
    return net.RoundedDense(np.concatenate(weights, 1), np.concatenate(units), np.concatenate(biases))


def score(vectors: I32Array, at: I64Array, lines: I64Array, scorer: Scorer) -> F32Matrix:
    """Return the scores of the marks after each word, float32[words, 4].

    vectors: the words of all lines, and AHEAD times the padding before, between and after lines. at: the index in it of
    each word. lines: the first word of each line, and the number of all words.
    """
    scores = np.empty((len(at), _N_MARKS), np.float32)
    _score(vectors, at, lines, scorer, Buffers.of(len(at)), scores)
    return scores
