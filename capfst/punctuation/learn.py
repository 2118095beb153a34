"""Learn the network by Adam (Kingma & Ba 2015) on the gradients of −ln P of the marks, by backpropagation through time.

In: words as numbers of vectors, with paddings between texts, and the mark after each. Out: a `Network`. Each step reads
a few stretches of text, each in a thread, and adds their gradients in order: the network does not depend on the number
of threads, nor on the processor, as sums have a fixed order. The learning rate rises for a few steps, and then falls
along each text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice, repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating, inner, kernel, multiply_reals
from capfst.kernels.memory import LANES, REAL_COLUMNS, TILE_ROWS
from capfst.kernels.types import BoolArray, F32Array, F32Cube, F32Matrix, I32Array, U8Array, f32, i64
from capfst.punctuation import network as net
from capfst.punctuation.text import IGNORED

RATE, WARM_UP = 2e-3, 200
"""The learning rate, and the number of steps in which it rises to this at first."""
BETAS, LARGEST = (0.9, 0.98), 1.0
"""Adam's β1 and β2, and the largest norm of the gradient of the dense layers."""
STRETCH, CONTEXT, BATCH = 512, 32, 4
"""Words of a stretch, words on each side that are read with it, and stretches of a step."""

_DEVIATIONS = 0.05, 0.5, 0.1  # of the initial embeddings of words, classes and endings
_EPSILON = 1e-8
_SEED = 1
_TILE = TILE_ROWS * REAL_COLUMNS
F32 = npt.NDArray[np.float32]


class Text(NamedTuple):
    """Words with the mark after each."""

    rows: I32Array  # of Network.words; −1 for padding
    endings: I32Array
    marks: U8Array  # or IGNORED of text.py


N_WEIGHTS = sum((inputs + 1) * outputs for inputs, outputs in net.SIZES)
"""Of all dense layers."""
EARLY_WEIGHT = 0.3
"""The weight of the early scores' −ln P, relative to that of the scores."""


def layers_of(flat: F32) -> net.Layers:
    """Return the dense layers as views of float32[N_WEIGHTS]."""
    views, at = [], 0
    for inputs, outputs in net.SIZES:
        end = at + inputs * outputs
        views.append(net.Dense(flat[at:end].reshape(inputs, outputs), flat[end : end + outputs]))
        at = end + outputs
    return net.Layers(*views)


@kernel
def _add_places(products: F32Cube, numbers: I32Array, first: i64, bias: F32Array, result: F32Matrix) -> None:
    """Fill in bias + Σ_p products[p, numbers[t + first + p]] for each t."""
    places, _, width = products.shape
    for t in range(len(result)):
        for k in range(width):
            result[t, k] = bias[k]
        for p in range(places):
            number = i64(numbers[t + first + p])
            for k in range(width):
                result[t, k] += products[p, number, k]


@kernel
def _spread_places(above: F32Matrix, numbers: I32Array, first: i64, products: F32Cube) -> None:
    """Fill in the gradient of the products that `_add_places` added."""
    places, _, width = products.shape
    products[:] = 0
    for t in range(len(above)):
        for p in range(places):
            number = i64(numbers[t + first + p])
            for k in range(width):
                products[p, number, k] += above[t, k]


@kernel
def _add_product(x: F32Array, row: i64, step: i64, weights: F32Matrix, sums: F32Array, result: F32Matrix) -> None:
    """Add x · weights to the result. Row t of x begins at t · row, and its numbers are `step` apart; the number of rows
    is a multiple of TILE_ROWS."""
    size, width = weights.shape
    for column in range(0, width, REAL_COLUMNS):
        for t in range(0, len(result), TILE_ROWS):
            for k in range(_TILE):
                sums[k] = result[t + k // REAL_COLUMNS, column + k % REAL_COLUMNS]
            multiply_reals(x, t * row, row, step, weights, column, width, size, sums)
            for k in range(_TILE):
                result[t + k // REAL_COLUMNS, column + k % REAL_COLUMNS] = sums[k]


@inner
def _q(x: f32) -> f32:
    x = max(f32(-2), min(f32(2), x))
    return x * (f32(1) - f32(0.25) * abs(x))


@inner
def _slope(q: f32) -> f32:
    """Return the derivative of q, given its value."""
    return np.sqrt(max(f32(0), f32(1) - abs(q)))


@allocating
def _read(h: F32Matrix, gates: F32Matrix, begins: BoolArray) -> F32Matrix:
    """Return h and the states of a reading, side by side; replace the inputs of f and c by these.

    begins: bool[n + 1], whether a text begins at each row.
    """
    (n, size), units = h.shape, gates.shape[1] // 4
    states = np.empty((n, size + 2 * units), np.float32)
    for t in range(n):
        for k in range(size):
            states[t, k] = h[t, k]
        for tile in range(0, 4 * units, 2 * LANES):
            for j in range(LANES):
                gates[t, tile + j] = f32(0.5) + f32(0.5) * _q(gates[t, tile + j])
            for j in range(LANES, 2 * LANES):
                gates[t, tile + j] = _q(gates[t, tile + j])
    for direction in range(2):
        for count in range(n):
            t = count if direction == 0 else n - 1 - count
            before = t - 1 if direction == 0 else t + 1
            has_last = not begins[t + direction]
            for tile in range(direction * units, (direction + 1) * units, LANES):
                for j in range(LANES):
                    last = states[before, size + tile + j] if has_last else f32(0)
                    f, c = gates[t, 2 * tile + j], gates[t, 2 * tile + LANES + j]
                    states[t, size + tile + j] = f * last + (f32(1) - f) * c
    return states


@allocating
def _read_back(gates: F32Matrix, begins: BoolArray, states: F32Matrix, above: F32Matrix) -> F32Matrix:
    """Return the gradient of the inputs of f and c, given that of the states, the last columns of `above`, which become
    the gradients of the states with what follows from them."""
    n, units, gradient = len(gates), gates.shape[1] // 4, np.empty_like(gates)
    size = states.shape[1] - 2 * units
    for direction in range(2):
        for count in range(n - 1, -1, -1):
            t = count if direction == 0 else n - 1 - count
            before = t - 1 if direction == 0 else t + 1
            has_last = not begins[t + direction]
            for tile in range(direction * units, (direction + 1) * units, LANES):
                for j in range(LANES):
                    column, of_f, of_c = size + tile + j, 2 * tile + j, 2 * tile + LANES + j
                    f, c, of_state = gates[t, of_f], gates[t, of_c], above[t, column]
                    last = states[before, column] if has_last else f32(0)
                    gradient[t, of_f] = f32(0.5) * of_state * (last - c) * _slope(f + f - f32(1))
                    gradient[t, of_c] = of_state * (f32(1) - f) * _slope(c)
                    if has_last:
                        above[before, column] += of_state * f
    return gradient


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
    """Memory for what is learned from one stretch of n words: gradients of the dense layers, and of the words."""

    def __init__(self, n: int) -> None:
        self.gradient = np.empty(N_WEIGHTS, np.float32)
        self._of_layers = layers_of(self.gradient)
        self._sums = np.empty(_TILE, np.float32)
        width = max(len(layer.weights) // net.EMBEDDING * layer.weights.shape[1] for layer in self._of_layers[:2])
        self._memory = np.empty(_in_tiles(n + 1) * width, np.float32)  # new memory for each stretch is slow

    def _dense(self, x: F32, layer: net.Dense) -> F32:
        result = np.tile(layer.bias, (len(x), 1))
        _add_product(x.ravel(), x.shape[1], 1, layer.weights, self._sums, result)
        return result

    def _back(self, x: F32, layer: net.Dense, of_layer: net.Dense, above: F32) -> F32:
        """Fill in the gradient of a layer, and return that of x."""
        _add_product(x.ravel(), 1, x.shape[1], above, self._sums, of_layer.weights)
        above.sum(0, out=of_layer.bias)
        of_x = np.zeros_like(x)
        _add_product(above.ravel(), above.shape[1], 1, np.ascontiguousarray(layer.weights.T), self._sums, of_x)
        return of_x

    def _products(self, embedded: F32, layer: net.Dense) -> tuple[F32, F32]:
        weights = layer.weights.reshape(-1, net.EMBEDDING, layer.weights.shape[1])
        shape = len(weights), len(embedded), weights.shape[2]
        return weights, self._memory[: shape[0] * shape[1] * shape[2]].reshape(shape)

    def _add_words(self, embedded: F32, numbers: I32Array, first: int, layer: net.Dense) -> F32:
        """Return the sums of the products of the words in each window, which begins `first` words later than
        `numbers`."""
        weights, products = self._products(embedded, layer)
        products[:] = 0
        for of_place, place in zip(weights, products, strict=True):
            _add_product(embedded.ravel(), net.EMBEDDING, 1, of_place, self._sums, place)
        result = np.empty((len(numbers) - net.BACK - net.AHEAD + 1, weights.shape[2]), np.float32)
        _add_places(products, numbers, first, layer.bias, result)
        return result

    def _back_to_words(
        self, embedded: F32, numbers: I32Array, first: int, layer: net.Dense, of_layer: net.Dense,
        above: F32, of_embedded: F32,
    ) -> None:  # fmt: skip
        """Fill in the gradient of a layer of windows, and add that of the embeddings."""
        weights, products = self._products(embedded, layer)
        of_weights, bias = of_layer.weights.reshape(weights.shape), np.empty_like(layer.bias)
        _spread_places(above, numbers, first, products)
        for of_place, gradient, of_products in zip(weights, of_weights, products, strict=True):
            of_embedded += self._back(embedded, net.Dense(of_place, bias), net.Dense(gradient, bias), of_products)
        above.sum(0, out=of_layer.bias)

    def learn(self, text: Text, network: net.Network, weight: float) -> tuple[I32Array, I32Array, F32Matrix]:
        """Fill in `gradient`, of `weight` times Σ −ln P of the scores and EARLY_WEIGHT times that of the early scores.
        The size of the text is a multiple of TILE_ROWS.

        Returns the distinct words, by their rows and endings as in Text, and their gradients, [words, EMBEDDING].
        """
        layers, of_layers = network.layers, self._of_layers
        self.gradient[:] = 0
        is_padding = text.rows < 0
        words = np.where(is_padding, -1, text.rows.astype(np.int64) * net.N_ENDINGS + text.endings)
        distinct, number_of = np.unique(np.append(words, -1), return_inverse=True)
        rows, endings = (each.astype(np.int32) for each in np.divmod(distinct[1:], net.N_ENDINGS))
        embedded = np.zeros((_in_tiles(len(distinct)), net.EMBEDDING), np.float32)
        embedded[1 : len(distinct)] = network.words[rows] + network.classes[network.class_of[rows]]
        embedded[1 : len(distinct)] += network.endings[endings]
        numbers = np.pad(number_of[:-1].astype(np.int32), (net.BACK - 1, net.AHEAD))  # 0 is the padding
        outside = np.pad(is_padding, 1, constant_values=True)
        begins = outside[1:] | outside[:-1]

        h0 = np.maximum(self._add_words(embedded, numbers, 0, layers.window), 0)
        gates1 = self._add_words(embedded, numbers, net.BACK - net.NEAR_BACK, layers.gates1)
        h1 = _read(h0, gates1, begins)
        early = self._dense(h1, layers.early)
        is_doubtful = early[:, 1 : len(net.MARKS)].max(1) > early[:, 0] - np.float32(net.DOUBT)
        doubtful = np.flatnonzero(is_doubtful & ~is_padding)
        n = len(doubtful)
        of_text = np.cumsum(begins)[doubtful]
        begins2 = np.ones(_in_tiles(n) + 1, np.bool_)
        begins2[1:n] = of_text[1:] != of_text[:-1]
        marks = np.full(_in_tiles(n), IGNORED, np.uint8)
        marks[:n] = text.marks[doubtful]
        read = np.zeros((_in_tiles(n), h1.shape[1]), np.float32)
        read[:n] = h1[doubtful]

        h2 = np.maximum(self._dense(read, layers.result1), 0)
        gates2 = self._dense(h2, layers.gates2)
        states = _read(h2, gates2, begins2)
        h3 = np.maximum(self._dense(states, layers.result2), 0)
        scores = self._dense(h3, layers.output)

        _score_back(scores, marks, len(net.MARKS), weight)
        of_h3 = self._back(h3, layers.output, of_layers.output, scores)
        of_h3[h3 == 0] = 0
        of_states = self._back(states, layers.result2, of_layers.result2, of_h3)
        of_gates2 = _read_back(gates2, begins2, states, of_states)
        of_h2 = self._back(h2, layers.gates2, of_layers.gates2, of_gates2) + of_states[:, : h2.shape[1]]
        of_h2[h2 == 0] = 0
        of_read = self._back(read, layers.result1, of_layers.result1, of_h2)

        _score_back(early, text.marks, len(net.MARKS), EARLY_WEIGHT * weight)
        of_h1 = self._back(h1, layers.early, of_layers.early, early)
        of_h1[doubtful] += of_read[:n]
        of_gates1 = _read_back(gates1, begins, h1, of_h1)
        of_h0 = of_h1[:, : h0.shape[1]] * (h0 > 0)
        of_embedded = np.zeros_like(embedded)
        self._back_to_words(embedded, numbers, 0, layers.window, of_layers.window, of_h0, of_embedded)
        self._back_to_words(
            embedded, numbers, net.BACK - net.NEAR_BACK, layers.gates1, of_layers.gates1, of_gates1, of_embedded
        )
        return rows, endings, of_embedded[1 : len(distinct)]


def _in_tiles(n: int) -> int:
    return -(-n // TILE_ROWS) * TILE_ROWS


@kernel
def _scatter(numbers: I32Array, embedded: F32Matrix, sums: F32Matrix, is_met: BoolArray, met: I32Array, n: i64) -> i64:
    """Add the gradients of embedded words to those of their vectors; return how many were met so far."""
    for t in range(numbers.size):
        number = i64(numbers[t])
        if not is_met[number]:
            is_met[number] = True
            met[n] = number
            n += 1
            sums[number] = 0
        for d in range(embedded.shape[1]):
            sums[number, d] += embedded[t, d]
    return n


@kernel
def _step_rows(
    met: I32Array, n: i64, sums: F32Matrix, rate: f32, first: f32, second: f32, beta1: f32, beta2: f32,
    weights: F32Matrix, mean: F32Matrix, square: F32Matrix, is_met: BoolArray,
) -> None:  # fmt: skip
    """Step along the gradients of the first n vectors of `met`."""
    for k in range(n):
        row = i64(met[k])
        is_met[row] = False
        for d in range(weights.shape[1]):
            gradient = sums[row, d]
            mean[row, d] = beta1 * mean[row, d] + (f32(1) - beta1) * gradient
            square[row, d] = beta2 * square[row, d] + (f32(1) - beta2) * gradient * gradient
            step = mean[row, d] / first / (np.sqrt(square[row, d] / second) + f32(_EPSILON))
            weights[row, d] -= rate * step


class _Embeddings:
    """Embeddings that are learned; those that a step does not meet stay as they are."""

    def __init__(self, weights: F32) -> None:
        self.weights = weights
        self._mean, self._square, self._sums = (np.zeros_like(weights) for _ in range(3))
        self._is_met, self._met, self._n = np.zeros(len(weights), np.bool_), np.empty(len(weights), np.int32), 0

    def add(self, numbers: I32Array, gradient: F32) -> None:
        """Add the gradients of embedded words, float32[n, EMBEDDING]."""
        self._n = _scatter(numbers, gradient, self._sums, self._is_met, self._met, self._n)

    def step(self, rate: float, number: int) -> None:
        """Do step `number`, from 1."""
        first, second = (1 - beta**number for beta in BETAS)
        _step_rows(
            self._met, self._n, self._sums, rate, first, second, *BETAS, self.weights, self._mean, self._square,
            self._is_met,
        )  # fmt: skip
        self._n = 0


def _dense_layers(weights: F32, random: np.random.Generator) -> net.Layers:
    """Return the dense layers as views of float32[N_WEIGHTS], with initial weights."""
    layers = layers_of(weights)
    for layer in layers:
        limit = 1 / np.sqrt(len(layer.weights))
        layer.weights[:] = random.uniform(-limit, limit, layer.weights.shape)
        layer.bias[:] = random.uniform(-limit, limit, layer.bias.shape)
    for output in (layers.output, layers.early):
        output.weights[:, len(net.MARKS) :] = 0
    for gates, units in ((layers.gates1, net.UNITS1), (layers.gates2, net.UNITS2)):
        # at first, units forget at different speeds
        gates.bias.reshape(2, -1, 2, LANES)[:, :, 0] += np.linspace(-0.5, 1.5, units).reshape(-1, LANES)
    return layers


class Stage(NamedTuple):
    """A text, and how it is learned."""

    text: Text
    n_steps: int
    fall: float  # to this fraction of RATE, at the end of the stage

    @classmethod
    def of(cls, text: Text, epochs: int, fall: float, least: int = 0) -> Stage:
        """Return a stage in which a text is learned `epochs` times, or more often until `least` steps are done."""
        return cls(text, max(least, epochs * -(-len(text.rows) // (STRETCH * BATCH))), fall)


def learn(stages: Sequence[Stage], class_of: I32Array, threads: int, advance: Callable[[int], object]) -> net.Network:
    """Learn a network from texts, one after the other. class_of: int32[rows], the class of each row of Text.rows, of
    which 0 is that of rare words."""
    random = np.random.default_rng(_SEED)
    words, classes, endings = (
        _Embeddings((random.standard_normal((n, net.EMBEDDING)) * deviation).astype(np.float32))
        for n, deviation in zip((len(class_of), net.N_CLASSES, net.N_ENDINGS), _DEVIATIONS, strict=True)
    )
    dense = _Embeddings(np.zeros((1, N_WEIGHTS), np.float32))  # as the only row of a table
    layers = _dense_layers(dense.weights[0], random)
    network = net.Network(words.weights, classes.weights, endings.weights, class_of, layers)
    stretches = [Stretch(STRETCH + 2 * CONTEXT) for _ in range(BATCH)]
    with ThreadPoolExecutor(threads) as pool:
        for number, (rate, parts) in enumerate(chain.from_iterable(_steps(stage, random) for stage in stages), 1):
            rate *= min(1, number / WARM_UP)
            weight = 1 / max(1, sum(int((part.marks != IGNORED).sum()) for part in parts))
            learning = [
                pool.submit(stretch.learn, part, network, weight)
                for stretch, part in zip(stretches, parts, strict=False)
            ]
            for of_rows, of_endings, gradients in [future.result() for future in learning]:
                words.add(of_rows, gradients)
                classes.add(class_of[of_rows], gradients)
                endings.add(of_endings, gradients)
            gradient = np.add.reduce([stretch.gradient for stretch in stretches[: len(parts)]])
            norm = float(np.sqrt(np.square(gradient).sum()))
            clipped = gradient * np.float32(min(1, LARGEST / max(norm, _EPSILON)))
            dense.add(np.zeros(1, np.int32), clipped.reshape(1, -1))
            for each in (words, classes, endings, dense):
                each.step(rate, number)
            advance(1)
    return network


def _steps(stage: Stage, random: np.random.Generator) -> Iterator[tuple[float, list[Text]]]:
    """Yield the learning rate and the stretches of each step."""
    batches = chain.from_iterable(_batches(stage.text, random) for _ in repeat(None))
    for number, parts in enumerate(islice(batches, stage.n_steps)):
        yield RATE * (1 - (1 - stage.fall) * number / stage.n_steps), parts


def _batches(text: Text, random: np.random.Generator) -> Iterator[list[Text]]:
    """Yield stretches of the text with CONTEXT on both sides, in random order."""
    padding = partial(np.pad, pad_width=STRETCH + CONTEXT)
    rows, marks = padding(text.rows, constant_values=-1), padding(text.marks, constant_values=IGNORED)
    padded = Text(rows, padding(text.endings), marks)
    starts = np.arange(-int(random.integers(STRETCH)), len(text.rows), STRETCH) + STRETCH
    random.shuffle(starts)
    for begin in range(0, len(starts), BATCH):
        yield [_stretch(padded, start) for start in starts[begin : begin + BATCH].tolist()]


def _stretch(padded: Text, start: int) -> Text:
    part = slice(start, start + STRETCH + 2 * CONTEXT)
    marks = padded.marks[part].copy()
    marks[:CONTEXT] = marks[-CONTEXT:] = IGNORED
    return Text(padded.rows[part], padded.endings[part], marks)
