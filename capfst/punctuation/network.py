"""A network that reads the words around each gap, and the rest of the line through gated recurrences.

With e(t) the sum of the embeddings of word t, of its class and of its ending, the gap after word t has

    h0(t) = relu(a + A [e(t−3) … e(t+4)])
    h1(t) = [h0(t) s(t) r(t)], by a reading of g0(t) = [e(t−1) … e(t+2)]
    early(t) = d + D h1(t)

and a reading of g, which has matrices of its own, is

    f(t) = (1 + q(F g(t))) / 2, c(t) = q(C g(t)), q(x) = x (1 − |x| / 4) for |x| ≤ 2, else ±1
    s(t) = f(t) s(t−1) + (1 − f(t)) c(t); r(t) is the same in the other direction, with other units

Most gaps have no mark, and their early scores are sure of it. The others, which are in doubt, have a second reading,
which is of these gaps alone: the gap before t is the one in doubt before it.

    h2(t) = relu(U h1(t))
    h3(t) = relu(V [h2(t) s(t) r(t)]), by a reading of h2(t)
    scores(t) = b + B h3(t), P(mark) = softmax(scores)

f does not depend on s, so all matrix products are computed for many words at once, as in quasi-recurrent networks
(Bradbury, Merity, Xiong & Socher 2017); those of the embeddings need to be computed only once for each word that there
is. q is like tanh, but exact in integers. The weights are learned with 32 bits; in a model's file, those of
embeddings have 7, and the others 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.kernels.memory import REAL_COLUMNS
from capfst.kernels.types import F32Array, F32Matrix, I8Matrix, I32Array

NONE, COMMA, PERIOD, QUESTION = range(4)
MARKS = b"\0,.?"
"""The mark of each class."""
BACK, AHEAD = 4, 4
"""Words of the window, before and after the gap."""
NEAR_BACK, NEAR_AHEAD = 2, 2
"""Words that the gates of the first reading see."""
EMBEDDING, WINDOW = 64, 192
UNITS1, UNITS2 = 160, 96
"""Units per direction of the two readings."""
RESULT1, RESULT2 = 160, 96
"""The sizes of h2 and h3."""
DOUBT = 2.0
"""A gap is in doubt if the early score of a mark is greater than that of no mark less this."""
N_CLASSES, N_ENDINGS = 250, 4096
"""Vectors are numbered: 0, of the padding; 1 … N_ENDINGS, of rare words by their ending; then of words."""

LARGEST_EMBEDDED, LARGEST_WEIGHT = 63, 31
"""The largest numbers in embeddings and in dense layers. (`multiply_tile` adds products of four weights in 16 bits.)"""


class Dense(NamedTuple):
    """x → x · weights + bias.

    The columns of a reading's F and C are in blocks of LANES, of F and of C in turn: first those of all units of
    the forward direction.
    """

    weights: F32Matrix  # [inputs, outputs]
    bias: F32Array  # [outputs]


class Layers(NamedTuple):
    """The dense layers."""

    window: Dense  # a and A
    gates1: Dense  # F and C of the first reading, without bias in the formulas above
    early: Dense  # d and D; only the first columns are used
    result1: Dense  # U
    gates2: Dense
    result2: Dense  # V
    output: Dense  # b and B; only the first columns are used


SIZES = (
    ((BACK + AHEAD) * EMBEDDING, WINDOW),
    ((NEAR_BACK + NEAR_AHEAD) * EMBEDDING, 4 * UNITS1),
    (WINDOW + 2 * UNITS1, REAL_COLUMNS),
    (WINDOW + 2 * UNITS1, RESULT1),
    (RESULT1, 4 * UNITS2),
    (RESULT1 + 2 * UNITS2, RESULT2),
    (RESULT2, REAL_COLUMNS),
)
"""The numbers of inputs and outputs of each dense layer."""


class RoundedDense(NamedTuple):
    """A dense layer with weights of 6 bits."""

    weights: I8Matrix  # [inputs, outputs]
    units: F32Array  # [outputs]: the value of 1 among the weights of an output
    bias: F32Array  # [outputs]


class Rounded(NamedTuple):
    """The network with weights of few bits."""

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

    def rounded(self, ending_of: I32Array) -> Rounded:
        """Return the network with weights of few bits. ending_of: int32[rows], of which the first is not used."""
        words = self.words + self.classes[self.class_of]
        embedded = words[1:] + self.endings[ending_of[1:]], words[0] + self.endings
        unit = max(float(abs(each).max(initial=0)) for each in embedded) / LARGEST_EMBEDDED or 1.0
        known, rare = (_bytes(each, unit) for each in embedded)
        return Rounded(known, rare, unit, tuple(map(_rounded, self.layers)))


def _bytes(weights: F32Matrix, unit: float | F32Array) -> I8Matrix:
    return np.rint(weights / unit).astype(np.int8)


def _rounded(layer: Dense) -> RoundedDense:
    units = abs(layer.weights).max(0) / np.float32(LARGEST_WEIGHT)
    units[units == 0] = 1
    return RoundedDense(_bytes(layer.weights, units), units, layer.bias)
