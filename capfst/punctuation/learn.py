"""Learn the network by Adam (Kingma & Ba 2015) on the gradients of −ln P of the marks, by backpropagation through time.

In: words as numbers of vectors, with paddings between texts, and the mark after each. Out: a `Network`. Each step reads
a few stretches of text, each in a thread, and adds their gradients in order: the network does not depend on the number
of threads. The learning rate rises for a few steps, and then falls along each text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np

from capfst.kernels import kernel
from capfst.kernels.memory import LANES
from capfst.kernels.types import BoolArray, F32Matrix, I32Array, f32, i64
from capfst.punctuation.gradients import F32, N_WEIGHTS, Stretch, Text, layers_of
from capfst.punctuation.network import EMBEDDING, MARKS, N_CLASSES, N_ENDINGS, UNITS1, UNITS2, Layers, Network
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


def _dense_layers(weights: F32, random: np.random.Generator) -> Layers:
    """Return the dense layers as views of float32[N_WEIGHTS], with initial weights."""
    layers = layers_of(weights)
    for layer in layers:
        limit = 1 / np.sqrt(len(layer.weights))
        layer.weights[:] = random.uniform(-limit, limit, layer.weights.shape)
        layer.bias[:] = random.uniform(-limit, limit, layer.bias.shape)
    for output in (layers.output, layers.early):
        output.weights[:, len(MARKS) :] = 0
    for gates, units in ((layers.gates1, UNITS1), (layers.gates2, UNITS2)):
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


def learn(stages: Sequence[Stage], class_of: I32Array, threads: int, advance: Callable[[int], object]) -> Network:
    """Learn a network from texts, one after the other. class_of: int32[rows], the class of each row of Text.rows, of
    which 0 is that of rare words."""
    random = np.random.default_rng(_SEED)
    words, classes, endings = (
        _Embeddings((random.standard_normal((n, EMBEDDING)) * deviation).astype(np.float32))
        for n, deviation in zip((len(class_of), N_CLASSES, N_ENDINGS), _DEVIATIONS, strict=True)
    )
    dense = _Embeddings(np.zeros((1, N_WEIGHTS), np.float32))  # as the only row of a table
    layers = _dense_layers(dense.weights[0], random)
    network = Network(words.weights, classes.weights, endings.weights, class_of, layers)
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
    batches = chain.from_iterable(_batches(stage.text, random) for _ in count())
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
