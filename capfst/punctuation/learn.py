"""Learn the network by Adam (Kingma & Ba 2015) on the gradients of −ln P of the marks, by backpropagation through time.

In: words as numbers of vectors, with paddings between texts, and the mark after each. Out: a `Network`. Each step reads
a few stretches of text, each in a thread, and adds their gradients in order: the network does not depend on the number
of threads. The learning rate rises for a few steps, and then falls along each text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import kernel
from capfst.kernels.memory import TILE_COLUMNS
from capfst.kernels.types import BoolArray, F32Matrix, I32Array, f32, i64
from capfst.punctuation.gradients import F32, N_WEIGHTS, Stretch, Text, layers_of
from capfst.punctuation.network import EMBEDDING, MARKS, N_CLASSES, N_ENDINGS, READINGS, Dense, Layers, Network
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
        if number >= 0:
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

    def add(self, numbers: npt.NDArray[np.int32], gradient: F32) -> None:
        """Add the gradients of embedded words, float32[n, EMBEDDING]; numbers below 0 are paddings."""
        self._n = _scatter(numbers, gradient, self._sums, self._is_met, self._met, self._n)

    def step(self, rate: float, number: int) -> None:
        """Do step `number`, from 1."""
        first, second = (1 - beta**number for beta in BETAS)
        _step_rows(
            self._met, self._n, self._sums, rate, first, second, *BETAS, self.weights, self._mean, self._square,
            self._is_met,
        )  # fmt: skip
        self._n = 0


class _DenseLayers:
    """The weights of the dense layers that are learned, float32[N_WEIGHTS]."""

    def __init__(self, random: np.random.Generator) -> None:
        self.weights, self._mean, self._square = (np.zeros(N_WEIGHTS, np.float32) for _ in range(3))
        _initialize(*layers_of(self.weights), random)

    def step(self, gradient: F32, rate: float, number: int) -> None:
        """Do step `number`, from 1."""
        norm = float(np.sqrt(np.square(gradient).sum()))
        gradient = gradient * np.float32(min(1, LARGEST / max(norm, _EPSILON)))
        self._mean += np.float32(1 - BETAS[0]) * (gradient - self._mean)
        self._square += np.float32(1 - BETAS[1]) * (gradient * gradient - self._square)
        first, second = (np.float32(1 - beta**number) for beta in BETAS)
        self.weights -= np.float32(rate) / first * self._mean / (np.sqrt(self._square / second) + np.float32(_EPSILON))


def _initialize(layers: Layers, early: Dense, random: np.random.Generator) -> None:
    for layer in (*layers, early):
        limit = 1 / np.sqrt(len(layer.weights))
        layer.weights[:] = random.uniform(-limit, limit, layer.weights.shape)
        layer.bias[:] = random.uniform(-limit, limit, layer.bias.shape)
    for output in (layers.output, early):
        output.weights[:, len(MARKS) :] = 0
    for gates, (units, _) in zip((layers.gates1, layers.gates2), READINGS, strict=True):
        forgetting = np.linspace(-1, 3, units).reshape(-1, TILE_COLUMNS)  # at first, units forget at different speeds
        gates.bias.reshape(2, -1, 2, TILE_COLUMNS)[:, :, 0] += forgetting


class Stage(NamedTuple):
    """A text, and how it is learned."""

    text: Text
    n_steps: int
    fall: float  # to this fraction of RATE, at the end of the stage

    @classmethod
    def of(cls, text: Text, epochs: int, fall: float, least: int = 0) -> Stage:
        """Return a stage in which a text is learned `epochs` times, or more often until `least` steps are done."""
        return cls(text, max(least, epochs * -(-len(text.rows) // (STRETCH * BATCH))), fall)


def learn(
    stages: Sequence[Stage],
    class_of: npt.NDArray[np.int32],
    threads: int,
    advance: Callable[[int], object],
) -> Network:
    """Learn a network from texts, one after the other. class_of: int32[rows], the class of each row of Text.rows, of
    which 0 is that of rare words."""
    random = np.random.default_rng(_SEED)
    words, classes, endings = (
        _Embeddings((random.standard_normal((n, EMBEDDING)) * deviation).astype(np.float32))
        for n, deviation in zip((len(class_of), N_CLASSES, N_ENDINGS), _DEVIATIONS, strict=True)
    )
    dense = _DenseLayers(random)
    network = Network(words.weights, classes.weights, endings.weights, class_of, *layers_of(dense.weights))
    stretches = [Stretch(STRETCH + 2 * CONTEXT) for _ in range(BATCH)]
    with ThreadPoolExecutor(threads) as pool:
        for number, (rate, parts) in enumerate(chain.from_iterable(_steps(stage, random) for stage in stages), 1):
            rate *= min(1, number / WARM_UP)
            weight = 1 / max(1, sum(int((part.marks != IGNORED).sum()) for part in parts))
            learning = [
                pool.submit(stretch.learn, part, network, weight)
                for stretch, part in zip(stretches, parts, strict=False)
            ]
            for part, of_embedded in zip(parts, [future.result() for future in learning], strict=True):
                is_padding, none = part.rows < 0, np.int32(-1)
                words.add(part.rows, of_embedded)
                classes.add(np.where(is_padding, none, class_of[part.rows]), of_embedded)
                endings.add(np.where(is_padding, none, part.endings), of_embedded)
            dense.step(np.add.reduce([stretch.gradient for stretch in stretches[: len(parts)]]), rate, number)
            for each in (words, classes, endings):
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
    around = STRETCH + CONTEXT
    rows, endings, marks = text
    padded = Text(
        np.pad(rows, around, constant_values=-1),
        np.pad(endings, around),
        np.pad(marks, around, constant_values=IGNORED),
    )
    starts = np.arange(-int(random.integers(STRETCH)), len(rows), STRETCH) + STRETCH
    random.shuffle(starts)
    for begin in range(0, len(starts), BATCH):
        yield [_stretch(padded, start) for start in starts[begin : begin + BATCH].tolist()]


def _stretch(padded: Text, start: int) -> Text:
    part = slice(start, start + STRETCH + 2 * CONTEXT)
    marks = padded.marks[part].copy()
    marks[:CONTEXT] = marks[-CONTEXT:] = IGNORED
    return Text(padded.rows[part], padded.endings[part], marks)
