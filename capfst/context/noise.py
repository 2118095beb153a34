"""Learn the value of the written case as evidence, from pairs of cased text and the same text with noise.

In: cased text, and the context model. Out: `Noise`, a part of the model: for each row of evidence (channel.py) a weight
of each shape. Documents and single lines of the text are made careless in different ways and degrees: capitals are
missing, words have a capital that they should not have, titles have capitals in all words; or nothing is changed. The
weights maximize Σ ln p(true shape | context, row), where ln p(shape) = ln p(shape | context) + weight + constant: a
log-linear model with one feature per word, the row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.casing.transducer import Transducer
from capfst.casing.written import HAS_SMALL, MAY_BEGIN, SHAPE, written_shapes
from capfst.context.channel import N_EXCESS, N_MISSING, N_NEIGHBORS, N_ROWS, NO_STYLE, Style, Written
from capfst.context.context_model import Context
from capfst.context.domains import ANY
from capfst.context.features import softmax
from capfst.context.shape_scores import score
from capfst.context.tokens import TokenizedText, read_words
from capfst.fst.read import CapFst
from capfst.fst.trailer import Part
from capfst.kernels import allocating
from capfst.kernels.types import F32Matrix, F64Array, F64Matrix, I32Array, I64Array, U8Array, f64
from capfst.system.hashing import scrambled
from capfst.text.tokenizer import NEWLINE

PART = "noise"
"""Name of the part of a model."""
LEAST, SAMPLE = 10_000, 500_000
"""Labels of the corpus from which the noise is learned: none of a smaller corpus, a sample of a larger one."""

_FORMAT = 1  # of the weights, and of the rows that they belong to (channel.py)
_LINES = 200  # of a document
_KINDS = np.cumsum([0.3, 0.4, 0.1, 0.12, 0.02])
"""Fractions of the kinds of noise: none, missing capitals, excess capitals, both, headlines; the rest is Title Case."""
_MOST_MISSING = 0.95  # of the capitals
_SLIPS = np.array([(0, 0), (0, 0), (0.005, 0), (0.1, 0.1), (0, 0)])
"""Rates at which words are written with one capital (*Ibm*, *Youtube*), and with none, in all text, by true shape. For
some acronyms one capital is a style (*Nasa*), which a rate above 0.007 would not respect."""
_EXCESS = np.array([0.01, 0.02, 0.05, 0.1])
_SMALL_STEP = 1e-4  # nats: the last step that changes the weights
_WEIGHTS = 1.0, 1.3
"""Of the evidence of words written in lower case, and of others, relative to ln p. Tuned on held-out text."""


class Noise(NamedTuple):
    """The value of the written case."""

    evidence: F32Matrix  # [N_ROWS, N_SHAPES], as from channel.py

    @classmethod
    def of(cls, model: CapFst) -> Noise | None:
        """Return the noise model in a model's file; None if it has none.

        Raises:
            ModelError: it is damaged, or of another version of capfst.
        """

        def read(part: Part) -> Noise:
            evidence = part.arrays["evidence"].view(np.float32).reshape(N_ROWS, N_SHAPES)
            if not np.isfinite(evidence).all():
                raise ValueError("a weight is not a number")
            return cls(evidence)

        return model.part(PART, _FORMAT, read, "Train the model again, or use it with `input_case='ignore'`.")

    def part(self) -> Part:
        """Return the noise model as a part of a model's file."""
        return Part({"format": _FORMAT}, {"evidence": self.evidence.reshape(-1).view(np.uint8)})


def learn_noise(text: bytes, context: Context, transducer: Transducer) -> Noise:
    """Learn the noise model from cased text, whose words are separated by spaces.

    transducer: of the words that the context model knows; it takes text that is already tokenized.
    """
    rows, log_p, truths = [np.empty(0, np.int32)], [np.empty((0, N_SHAPES), np.float32)], [np.empty(0, np.uint8)]
    buf, zeros = np.frombuffer(text, np.uint8), np.zeros((N_ROWS, N_SHAPES), np.float32)
    ends = np.flatnonzero(buf == ord("\n"))[_LINES - 1 :: _LINES] + 1
    for number, document in enumerate(np.split(buf, ends)):
        words = transducer.words(document)
        words.may_begin[:] = False
        read = read_words(document, words, context, transducer, True, ANY)
        true_shapes = written_shapes(document, words, transducer.pretokenized)
        true_shapes[true_shapes & SHAPE == Shape.LOWER] |= HAS_SMALL  # also n't and 5th: no line is in capitals
        for of_text in (False, True):
            shapes = _noisy(read, true_shapes, 2 * number + of_text, of_text)
            written = Written.of(shapes, zeros, Style().counts if of_text else NO_STYLE)
            its_log_p = np.zeros((len(shapes), N_SHAPES), np.float32)
            score(read, context, its_log_p, written=written)
            shows = (written.rows >= 0) & (shapes & MAY_BEGIN == 0)
            rows.append(written.rows[shows])
            log_p.append(its_log_p[shows])
            truths.append(true_shapes[shows] & SHAPE)
    weights = _fit(np.concatenate(rows), np.concatenate(log_p), np.concatenate(truths), _prior())
    return Noise(_stable(weights * np.where(np.arange(N_ROWS) % N_SHAPES == Shape.LOWER, *_WEIGHTS)[:, None]))


def _stable(weights: npt.NDArray[np.floating]) -> F32Matrix:
    """Return the weights, changed so that the best casing of a line stays the best one when it is recased again, as a
    line with less noise.

    The lead of the written shape over a true one is at least 0, not less in lines with less noise, and satisfies the
    triangle inequality.
    """
    by_style = weights.reshape(2, N_MISSING, N_EXCESS, -1, N_SHAPES, N_SHAPES)
    own = np.diagonal(by_style, axis1=4, axis2=5)[..., None]
    lead = np.maximum(own - by_style, 0)  # …, written, true
    for axis in (1, 2):
        lead = np.flip(np.maximum.accumulate(np.flip(lead, axis), axis), axis)
    for shape in range(N_SHAPES):
        lead = np.minimum(lead, lead[..., shape, None] + lead[..., None, shape, :])
    return (-lead).reshape(weights.shape).astype(np.float32)


def _noisy(text: TokenizedText, true_shapes: U8Array, seed: int, of_text: bool) -> U8Array:
    """Return the written shapes of a document's words with noise: of one kind, or of one in each line."""
    n, is_end = len(true_shapes), text.source.words.token_types == NEWLINE
    unit = np.zeros(n, np.int64) if of_text else np.cumsum(is_end) - is_end
    kind = np.searchsorted(_KINDS, _random(seed, 0, unit), side="right")
    missing = _MOST_MISSING * _random(seed, 1, unit)
    excess = _EXCESS[(len(_EXCESS) * _random(seed, 2, unit)).astype(np.int64)]
    chance = _random(seed, 3, np.arange(n))
    shape, is_rare = true_shapes & SHAPE, text.tokens["frequency_rank"][text.token_of] == 0
    is_lower = shape == Shape.LOWER
    loses = np.isin(shape, (Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED)) & np.isin(kind, (1, 3)) & (chance < missing)
    gains = is_lower & ((np.isin(kind, (2, 3)) & (chance < excess)) | ((kind == 4) & is_rare) | (kind == 5))
    capitalized, lower = _SLIPS[shape].T
    gains |= chance >= 1 - capitalized
    loses |= (chance < 1 - capitalized) & (chance >= 1 - capitalized - lower)
    shapes = true_shapes.copy()
    shapes[loses] = shapes[loses] & MAY_BEGIN | HAS_SMALL | Shape.LOWER
    shapes[gains] = shapes[gains] & MAY_BEGIN | HAS_SMALL | Shape.CAPITALIZED
    return shapes


def _random(seed: int, stream: int, numbers: I64Array) -> F64Array:
    """Return pseudorandom numbers in [0, 1), the same for the same arguments."""
    numbered = numbers.astype(np.uint64) + np.uint64((seed << 34) + (stream << 32) + 1)
    return (scrambled(numbered) >> np.uint64(11)).astype(np.float64) / (1 << 53)


def _prior() -> F32Matrix:
    """Return ln P(written | true), float32[N_ROWS, N_SHAPES], if noise occurred at the rates of the styles."""
    p = np.full((N_MISSING, N_EXCESS, N_SHAPES, N_SHAPES), 2e-4)  # …, true, written
    missing = np.array([0.005, 0.05, 0.13, 0.3, 0.52, 0.78, 0.95])[:, None]
    excess = np.array([0.0005, 0.007, 0.02, 0.05, 0.15, 0.4, 0.4, 0.85, 0.85])
    p[:, :, Shape.LOWER] = 1e-5
    p[:, :, Shape.LOWER, Shape.LOWER], p[:, :, Shape.LOWER, Shape.CAPITALIZED] = 1 - excess, excess
    for shape in range(1, N_SHAPES):
        capitalized, lower = _SLIPS[shape]
        p[:, :, shape, Shape.CAPITALIZED] = max(capitalized, 2e-4)
        p[:, :, shape, shape] = (1 - missing) * (1 - capitalized - lower)
        p[:, :, shape, Shape.LOWER] = 1 - capitalized - p[:, :, shape, shape]
    by_written = np.log(p).swapaxes(2, 3)[:, :, None]  # the same for all kinds of words and neighbors
    repeated = np.broadcast_to(by_written, (2, N_MISSING, N_EXCESS, 2 * N_NEIGHBORS, N_SHAPES, N_SHAPES))
    return np.ascontiguousarray(repeated.reshape(N_ROWS, N_SHAPES), np.float32)


def _fit(rows: I32Array, log_p: F32Matrix, truths: U8Array, prior: F32Matrix) -> F32Matrix:
    """Return the weights that maximize Σ ln softmax(log_p + weights[row])[truth] − ½ Σ (weights − prior)², by Newton's
    method."""
    weights, step = prior.astype(np.float64), np.inf
    while step > _SMALL_STEP:
        gradient, hessian = prior - weights, np.tile(np.eye(N_SHAPES), (N_ROWS, 1, 1))
        _add_derivatives(rows, log_p, truths, weights, gradient, hessian.reshape(N_ROWS, -1))
        change = np.clip(_solved(hessian, gradient), -1, 1)
        weights += change
        step = abs(change).max()
    return weights.astype(np.float32)


@allocating
def _add_derivatives(
    rows: I32Array, log_p: F32Matrix, truths: U8Array, weights: F64Matrix, gradient: F64Matrix, hessian: F64Matrix
) -> None:
    """Add the derivatives of Σ ln softmax(log_p + weights[row])[truth] to the gradient, [N_ROWS, N_SHAPES], and the
    second ones, negated, to the Hessian, [N_ROWS, N_SHAPES²]."""
    p = np.empty(N_SHAPES)
    for i in range(rows.size):
        row = rows[i]
        for k in range(N_SHAPES):
            p[k] = f64(log_p[i, k]) + weights[row, k]
        softmax(p)
        for k in range(N_SHAPES):
            gradient[row, k] += (k == truths[i]) - p[k]
            for j in range(N_SHAPES):
                hessian[row, N_SHAPES * k + j] += p[k] * ((k == j) - p[j])


def _solved(matrices: npt.NDArray[np.float64], vectors: F64Matrix) -> F64Matrix:
    """Solve matrices[i] x = vectors[i] by elimination, in place, in the same way on all processors. The matrices are
    positive definite."""
    n = vectors.shape[1]
    for k in range(n):
        for other in set(range(n)) - {k}:
            factor = matrices[:, other, k, None] / matrices[:, k, k, None]
            matrices[:, other] -= factor * matrices[:, k]
            vectors[:, other] -= factor[:, 0] * vectors[:, k]
    return vectors / np.diagonal(matrices, axis1=1, axis2=2)
