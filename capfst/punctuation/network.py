"""A network that reads the words around each gap, and the rest of the line through gated recurrences.

With e(t) the sum of the embeddings of word t, of its class and of its ending, the gap after word t has

    h0(t) = relu(a + A [e(t−3) … e(t+4)])
    h1(t) = reading of g0 = [e(t−1) … e(t+2)] and h0
    h2(t) = reading of g1 = h1 and h1
    scores(t) = b + B h2(t), P(mark) = softmax(scores)

and a reading of g and h, which has matrices of its own, is

    f(t) = sigmoid(F g(t)), c(t) = tanh(C g(t))
    s(t) = f(t) s(t−1) + (1 − f(t)) c(t); r(t) is the same in the other direction, with other units
    relu(U [h(t) s(t) r(t)])

f does not depend on s, so all matrix products are computed for many words at once, as in quasi-recurrent networks
(Bradbury, Merity, Xiong & Socher 2017); those of the embeddings need to be computed only once for each word that there
is. While the network is learned, a second, early output reads h1, so that the first reading learns marks by itself. The
weights are learned with 32 bits; in a model's file, they have 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import inner
from capfst.kernels.memory import TILE_COLUMNS
from capfst.kernels.types import F32Array, F32Matrix, I8Matrix, I32Array, f32

NONE, COMMA, PERIOD, QUESTION = range(4)
MARKS = b"\0,.?"
"""The mark of each class."""
BACK, AHEAD = 4, 4
"""Words of the window, before and after the gap."""
NEAR_BACK, NEAR_AHEAD = 2, 2
"""Words that the gates of the first reading see."""
EMBEDDING, WINDOW = 48, 128
READINGS = ((96, 96), (64, 64))
"""Of each reading, its units per direction and the size of its result."""
N_CLASSES, N_ENDINGS = 250, 4096
"""Vectors are numbered: 0, of the padding; 1 … N_ENDINGS, of rare words by their ending; then of words."""

_LARGEST_BYTE = 127
_LARGEST = 4.97  # beyond, tanh is 1 or −1, to four digits


@inner
def tanh_ratio(x: f32) -> tuple[f32, f32]:
    """Return the numerator and the denominator of tanh x, by its continued fraction."""
    x = max(f32(-_LARGEST), min(f32(_LARGEST), x))
    y = x * x
    above = x * (f32(135135) + y * (f32(17325) + y * (f32(378) + y)))
    return above, f32(135135) + y * (f32(62370) + y * (f32(3150) + y * f32(28)))


@inner
def tanh(x: f32) -> f32:
    """Return tanh x."""
    above, below = tanh_ratio(x)
    return above / below


class Dense(NamedTuple):
    """x → x · weights + bias.

    The columns of a reading's F and C are in blocks of TILE_COLUMNS, of F and of C in turn: first those of all units of
    the forward direction.
    """

    weights: F32Matrix  # [inputs, outputs]
    bias: F32Array  # [outputs]


class Layers(NamedTuple):
    """The dense layers."""

    window: Dense  # a and A
    gates1: Dense  # F and C of the first reading, without bias in the formulas above
    result1: Dense
    gates2: Dense
    result2: Dense
    output: Dense  # b and B; only the first columns are used


def sizes() -> list[tuple[int, int]]:
    """Return the numbers of inputs and outputs of each dense layer."""
    found, size, of_gates = [((BACK + AHEAD) * EMBEDDING, WINDOW)], WINDOW, (NEAR_BACK + NEAR_AHEAD) * EMBEDDING
    for units, result in READINGS:
        found += [(of_gates, 4 * units), (size + 2 * units, result)]
        size = of_gates = result
    return [*found, (size, TILE_COLUMNS)]


class RoundedDense(NamedTuple):
    """A dense layer with weights of 8 bits."""

    weights: I8Matrix  # [inputs, outputs]
    units: F32Array  # [outputs]: the value of 1 among the weights of an output
    bias: F32Array  # [outputs]

    def dense(self) -> Dense:
        """Return the layer as it was before, but for the rounding."""
        return Dense(self.weights * self.units, self.bias)


class Rounded(NamedTuple):
    """The network with weights of 8 bits."""

    words: I8Matrix  # [words, EMBEDDING]: e of each word that it knows
    endings: I8Matrix  # [N_ENDINGS, EMBEDDING]: e of all others, by their endings
    unit: float  # the value of 1 in these
    layers: tuple[RoundedDense, ...]


class Network(NamedTuple):
    """The network as it is learned."""

    words: F32Matrix  # [rows, EMBEDDING]: embeddings; row 0 is that of all rare words
    classes: F32Matrix  # [N_CLASSES, EMBEDDING]
    endings: F32Matrix  # [N_ENDINGS, EMBEDDING]
    class_of: I32Array  # [rows]
    layers: Layers
    early: Dense  # an output that reads h1, only while the network is learned

    def rounded(self, ending_of: npt.NDArray[np.int32]) -> Rounded:
        """Return the network with weights of 8 bits. ending_of: int32[rows], of which the first is not used."""
        words = self.words + self.classes[self.class_of]
        embedded = words[1:] + self.endings[ending_of[1:]], words[0] + self.endings
        unit = max(float(abs(each).max(initial=0)) for each in embedded) / _LARGEST_BYTE or 1.0
        known, rare = (_bytes(each, unit) for each in embedded)
        return Rounded(known, rare, unit, tuple(map(_rounded, self.layers)))


def _bytes(weights: F32Matrix, unit: float | F32Array) -> I8Matrix:
    return np.rint(weights / unit).astype(np.int8)


def _rounded(layer: Dense) -> RoundedDense:
    units = abs(layer.weights).max(0) / np.float32(_LARGEST_BYTE)
    units[units == 0] = 1
    return RoundedDense(_bytes(layer.weights, units), units, layer.bias)
