"""Classifier: p(shape | features) of a word of a translation, given all of its features at once.

In: features of words (source_features.py), and the words' shapes. Out: weights for p = softmax(z), where z_k is the sum
of the weights that the word's features have for shape k. They are learned in one pass of AdaGrad (Duchi, Hazan & Singer
2011) over the words in random order: texts that follow each other are alike, and the last ones would dominate.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.bilingual.source_features import N_TEMPLATES
from capfst.casing.shapes import N_SHAPES
from capfst.context.features import largest, prefetch_rows
from capfst.context.learn import INITIAL_SUM, adagrad, add_scores, softmax
from capfst.kernels import allocating, inner
from capfst.kernels.types import F32Array, F32Matrix, I8Matrix, I64Array, U8Array, U32Matrix, U64Array, f32

_MIN_BITS, _MAX_BITS = 8, 20
_ROWS_PER_WORD = 4
_RATE = 0.05
_CERTAIN = 0.999
"""Skip the update when the true shape already has this probability."""
_SCALE = 32
"""Weights are stored as int8: this integer stands for 1."""
_SEED = 2006


@inner
def fetch_weights(classifier: I8Matrix, features: U64Array) -> None:
    """Prefetch the weights of a word's features."""
    prefetch_rows(classifier, N_SHAPES, features, N_TEMPLATES)


@inner
def classify(classifier: I8Matrix, features: U64Array, costs: F32Array) -> None:
    """Fill costs[N_SHAPES] with −ln p(shape | features)."""
    costs[:] = 0
    add_scores(classifier, features, N_TEMPLATES, costs)
    for shape in range(N_SHAPES):
        costs[shape] /= f32(_SCALE)
    most = largest(costs)
    total = f32(0)
    for shape in range(N_SHAPES):
        total += np.exp(costs[shape] - most)
    for shape in range(N_SHAPES):
        costs[shape] = most + np.log(total) - costs[shape]


@allocating
def _learn(features: U32Matrix, shapes: U8Array, order: I64Array, table: F32Matrix) -> None:
    """Learn the table from words in this order."""
    p = np.empty(N_SHAPES)
    for word in order:
        p[:] = 0
        add_scores(table, features[word], features.shape[1], p)
        softmax(p)
        if p[shapes[word]] < _CERTAIN:
            adagrad(table, features[word], features.shape[1], p, shapes[word], _RATE)


def learn_classifier(
    features: npt.NDArray[np.uint32], shapes: npt.NDArray[np.uint8], bits: int | None = None
) -> npt.NDArray[np.int8]:
    """Return int8[2^bits, N_SHAPES], the weights learned from words with these features, uint32[words, N_TEMPLATES],
    and shapes. bits: None: as many as this number of words needs."""
    if bits is None:
        bits = max(_MIN_BITS, min(_MAX_BITS, (_ROWS_PER_WORD * len(shapes)).bit_length()))
    table = np.zeros((1 << bits, 2 * N_SHAPES), np.float32)
    table[:, N_SHAPES:] = INITIAL_SUM
    _learn(features, shapes, np.random.default_rng(_SEED).permutation(len(shapes)), table)
    return np.clip(np.rint(table[:, :N_SHAPES] * _SCALE), -127, 127).astype(np.int8)
