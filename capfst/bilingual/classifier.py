"""The classifier: how likely each shape of a word is, given all of its features at once.

In: features of words (features.py) and the shapes that they have. Out: weights, with which p = softmax(scores), a score
being the sum of the weights that the features of a word have for the shape. They are learned in one pass of AdaGrad
(Duchi, Hazan & Singer 2011), over words in random order: texts that stand side by side are alike, and would have the
last word.
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
"""From this probability of the true shape on there is nothing to learn."""
_SCALE = 32
"""Weights are kept as int8, this being 1."""
_SEED = 2006


@inner
def fetch_weights(classifier: I8Matrix, features: U64Array) -> None:
    """Has the weights of a word's features brought into the cache."""
    prefetch_rows(classifier, N_SHAPES, features, N_TEMPLATES)


@inner
def classify(classifier: I8Matrix, features: U64Array, costs: F32Array) -> None:
    """costs[N_SHAPES]: −ln of the probability of each shape."""
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
    """The weights, int8[2^b, N_SHAPES], that words teach with these features, uint32[words, N_TEMPLATES], and
    shapes; as large as so many words need, or bits = b."""
    if bits is None:
        bits = max(_MIN_BITS, min(_MAX_BITS, (_ROWS_PER_WORD * len(shapes)).bit_length()))
    table = np.zeros((1 << bits, 2 * N_SHAPES), np.float32)
    table[:, N_SHAPES:] = INITIAL_SUM
    _learn(features, shapes, np.random.default_rng(_SEED).permutation(len(shapes)), table)
    return np.clip(np.rint(table[:, :N_SHAPES] * _SCALE), -127, 127).astype(np.int8)
