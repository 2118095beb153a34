"""The gradients of −ln P of the marks of a stretch of text, by backpropagation (of the recurrences: through time).

In: a network, and words with the mark after each. Out: the gradients of the dense layers and of the embedded words.
Sums have a fixed order, so the gradients do not depend on the processor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import kernel, multiply_reals
from capfst.kernels.memory import TILE_COLUMNS, TILE_ROWS
from capfst.kernels.types import BoolArray, F32Array, F32Matrix, U8Array, f32, i64
from capfst.punctuation.network import (
    AHEAD,
    BACK,
    EMBEDDING,
    MARKS,
    NEAR_BACK,
    READINGS,
    Dense,
    Layers,
    Network,
    sizes,
    tanh,
)

_TILE = TILE_ROWS * TILE_COLUMNS
F32 = npt.NDArray[np.float32]


class Text(NamedTuple):
    """Words with the mark after each."""

    rows: npt.NDArray[np.int32]  # of Network.words; −1 for padding
    endings: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint8]  # or IGNORED of text.py


_LEARNED = [*sizes(), (READINGS[0][1], TILE_COLUMNS)]
N_WEIGHTS = sum((inputs + 1) * outputs for inputs, outputs in _LEARNED)
"""Of all dense layers, and of the early output."""
EARLY_WEIGHT = 0.2
"""The weight of the early output's −ln P, relative to the output's."""


def layers_of(flat: F32) -> tuple[Layers, Dense]:
    """Return the dense layers, and the early output, as views of float32[N_WEIGHTS]."""
    views, at = [], 0
    for inputs, outputs in _LEARNED:
        end = at + inputs * outputs
        views.append(Dense(flat[at:end].reshape(inputs, outputs), flat[end : end + outputs]))
        at = end + outputs
    return Layers(*views[:-1]), views[-1]


@kernel
def _multiply(x: F32Array, row: i64, weights: F32Matrix, bias: F32Array, sums: F32Array, result: F32Matrix) -> None:
    """Fill in x · weights + bias. Row t of x begins at t · row; the number of rows is a multiple of TILE_ROWS."""
    size, width = weights.shape
    for t in range(0, len(result), TILE_ROWS):
        for column in range(0, width, TILE_COLUMNS):
            for k in range(_TILE):
                sums[k] = bias[column + k % TILE_COLUMNS]
            multiply_reals(x, t * row, row, 1, weights, column, width, size, sums)
            for k in range(TILE_ROWS):
                for j in range(TILE_COLUMNS):
                    result[t + k, column + j] = sums[k * TILE_COLUMNS + j]


@kernel
def _add_gradient(x: F32Array, row: i64, above: F32Matrix, sums: F32Array, gradient: F32Matrix) -> None:
    """Add xᵀ · above, the gradient of the weights that made `above` of x."""
    size, width = gradient.shape
    for i in range(0, size, TILE_ROWS):
        for column in range(0, width, TILE_COLUMNS):
            for k in range(_TILE):
                sums[k] = 0
            multiply_reals(x, i, 1, row, above, column, width, len(above), sums)
            for k in range(TILE_ROWS):
                for j in range(TILE_COLUMNS):
                    gradient[i + k, column + j] += sums[k * TILE_COLUMNS + j]


@kernel
def _add_back(above: F32Matrix, transposed: F32Matrix, sums: F32Array, row: i64, gradient: F32Array) -> None:
    """Add above · transposed, the gradient of what was multiplied; row t of it begins at t · row."""
    width, size = transposed.shape
    for t in range(0, len(above), TILE_ROWS):
        for column in range(0, size, TILE_COLUMNS):
            for k in range(_TILE):
                sums[k] = 0
            multiply_reals(above, t * width, width, 1, transposed, column, size, width, sums)
            for k in range(TILE_ROWS):
                for j in range(TILE_COLUMNS):
                    gradient[(t + k) * row + column + j] += sums[k * TILE_COLUMNS + j]


@kernel
def _read(gates: F32Matrix, is_padding: BoolArray, states: F32Matrix, size: i64) -> None:
    """Replace the inputs of f and c by these, and fill in the states, which are the last columns of `states`."""
    n, units = len(gates), gates.shape[1] // 4
    for t in range(n):
        for tile in range(0, 4 * units, 2 * TILE_COLUMNS):
            for j in range(TILE_COLUMNS):
                gates[t, tile + j] = f32(0.5) + f32(0.5) * tanh(f32(0.5) * gates[t, tile + j])
            for j in range(TILE_COLUMNS, 2 * TILE_COLUMNS):
                gates[t, tile + j] = tanh(gates[t, tile + j])
    for direction in range(2):
        for count in range(n):
            t = count if direction == 0 else n - 1 - count
            before = t - 1 if direction == 0 else t + 1
            keeps = f32(0) if is_padding[t] else f32(1)
            for tile in range(direction * units, (direction + 1) * units, TILE_COLUMNS):
                for j in range(TILE_COLUMNS):
                    last = states[before, size + tile + j] if count > 0 else f32(0)
                    f, c = gates[t, 2 * tile + j], gates[t, 2 * tile + TILE_COLUMNS + j]
                    states[t, size + tile + j] = keeps * (f * last + (f32(1) - f) * c)


@kernel
def _read_back(
    gates: F32Matrix, is_padding: BoolArray, states: F32Matrix, above: F32Matrix, size: i64, gradient: F32Matrix
) -> None:
    """Fill in the gradient of the inputs of f and c, given that of the states, the last columns of `above`, which
    become the gradients of the states with what follows from them."""
    n, units = len(gates), gates.shape[1] // 4
    for direction in range(2):
        for count in range(n - 1, -1, -1):
            t = count if direction == 0 else n - 1 - count
            before = t - 1 if direction == 0 else t + 1
            keeps = f32(0) if is_padding[t] else f32(1)
            for tile in range(direction * units, (direction + 1) * units, TILE_COLUMNS):
                for j in range(TILE_COLUMNS):
                    column, of_f, of_c = size + tile + j, 2 * tile + j, 2 * tile + TILE_COLUMNS + j
                    f, c, of_state = gates[t, of_f], gates[t, of_c], keeps * above[t, column]
                    last = states[before, column] if count > 0 else f32(0)
                    gradient[t, of_f] = of_state * (last - c) * f * (f32(1) - f)
                    gradient[t, of_c] = of_state * (f32(1) - f) * (f32(1) - c * c)
                    if count > 0:
                        above[before, column] += of_state * f


@kernel
def _score_back(scores: F32Matrix, marks: U8Array, n_marks: i64, weight: f32) -> None:
    """Replace scores by the gradients of the sum of −ln P of the marks, times `weight`."""
    for t in range(len(scores)):
        truth = i64(marks[t])
        most, total = scores[t, 0], f32(0)
        for k in range(1, n_marks):
            most = max(most, scores[t, k])
        for k in range(n_marks):
            total += np.exp(scores[t, k] - most)
        for k in range(scores.shape[1]):
            p = np.exp(scores[t, k] - most) / total if k < n_marks else f32(0)
            scores[t, k] = weight * (p - f32(k == truth)) if truth < n_marks else f32(0)


class Stretch:
    """Memory for one stretch, and what is learned from it: gradients of the dense layers, and of embedded words."""

    def __init__(self, n: int) -> None:
        self.gradient = np.empty(N_WEIGHTS, np.float32)
        self._of_layers, self._of_early = layers_of(self.gradient)
        self._sums = np.empty(_TILE, np.float32)
        self._n = n
        # a padding before and after the text, so that each window is BACK + AHEAD rows of `embedded`
        self._embedded = np.zeros((n + BACK + AHEAD - 1, EMBEDDING), np.float32)
        self._of_embedded = np.empty_like(self._embedded)
        self._near, self._of_near = (array[BACK - NEAR_BACK :] for array in (self._embedded, self._of_embedded))

    def _dense(self, x: F32, layer: Dense, row: int = 0) -> F32:
        """Return x · weights + bias. row: how far a row of x is from the next; 0: its length."""
        result = np.empty((self._n, layer.weights.shape[1]), np.float32)
        _multiply(x.ravel(), row or x.shape[1], *layer, self._sums, result)
        return result

    def _back(self, x: F32, layer: Dense, of_layer: Dense, above: F32, below: F32, row: int = 0) -> None:
        """Fill in the gradient of a layer, and add that of x."""
        row = row or x.shape[1]
        _add_gradient(x.ravel(), row, above, self._sums, of_layer.weights)
        above.sum(0, out=of_layer.bias)
        _add_back(above, np.ascontiguousarray(layer.weights.T), self._sums, row, below.reshape(-1))

    def _back_from_output(self, h: F32, layer: Dense, of_layer: Dense, marks: U8Array, weight: float) -> F32:
        """Fill in the gradient of an output, of `weight` times Σ −ln P; return that of h."""
        scores, of_h = self._dense(h, layer), np.zeros_like(h)
        _score_back(scores, marks, len(MARKS), weight)
        self._back(h, layer, of_layer, scores, of_h)
        return of_h

    def learn(self, text: Text, network: Network, weight: float) -> F32:
        """Fill in `gradient`, of `weight` times Σ −ln P of the output and EARLY_WEIGHT times that of the early output;
        return the gradient of the embedded words, float32[n, EMBEDDING]."""
        layers, of_layers, n = network.layers, self._of_layers, self._n
        self.gradient[:] = 0
        is_padding = text.rows < 0
        inside = slice(BACK - 1, BACK - 1 + n)
        self._embedded[inside] = network.words[text.rows] + network.endings[text.endings]
        self._embedded[inside] += network.classes[network.class_of[text.rows]]
        self._embedded[inside][is_padding] = 0
        h = np.maximum(self._dense(self._embedded, layers.window, EMBEDDING), 0)
        passes, g, row = [], self._near, EMBEDDING
        for gates_layer, result_layer in ((layers.gates1, layers.result1), (layers.gates2, layers.result2)):
            size, units = h.shape[1], gates_layer.weights.shape[1] // 4
            gates = self._dense(g, gates_layer, row)
            states = np.empty((n, size + 2 * units), np.float32)
            states[:, :size] = h
            _read(gates, is_padding, states, size)
            before, h = h, np.maximum(self._dense(states, result_layer), 0)
            passes.append((before, gates, states, h))
            g, row = h, h.shape[1]
        above = self._back_from_output(h, layers.output, of_layers.output, text.marks, weight)
        self._of_embedded[:] = 0
        for k in (1, 0):
            before, gates, states, h = passes[k]
            gates_layer, result_layer = layers[1 + 2 * k], layers[2 + 2 * k]
            of_gates, of_result = of_layers[1 + 2 * k], of_layers[2 + 2 * k]
            above[h == 0] = 0
            of_states = np.zeros_like(states)
            self._back(states, result_layer, of_result, above, of_states)
            size = before.shape[1]
            of_inputs = np.empty_like(gates)
            _read_back(gates, is_padding, states, of_states, size, of_inputs)
            above = np.ascontiguousarray(of_states[:, :size])
            if k == 0:
                self._back(self._near, gates_layer, of_gates, of_inputs, self._of_near, EMBEDDING)
            else:
                self._back(before, gates_layer, of_gates, of_inputs, above)
                above += self._back_from_output(
                    before, network.early, self._of_early, text.marks, EARLY_WEIGHT * weight
                )
        above[passes[0][0] == 0] = 0
        self._back(self._embedded, layers.window, of_layers.window, above, self._of_embedded, EMBEDDING)
        return self._of_embedded[inside]
