"""The punctuation of a model: a part of its file, and the marks that it inserts into text.

In: a text and its words. Out: the same text with commas, periods and question marks after some words: those with the
highest score of each gap, after a bias (train.py). Nothing else changes, and marks that are there stay.

A pause of p seconds after a word adds w ln((p + SOFT) / (USUAL + SOFT)) to the scores, with a weight w for commas and
another for periods and question marks. scripts/experiments/punctuation.py learns the weights from the words and times
of recognizers.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.transducer import Transducer
from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols
from capfst.fst.trailer import Part
from capfst.io.running_text import NO_PAUSES, Pauses
from capfst.kernels.types import F32Array, F32Matrix, I32Array, I64Array, U8Array, U32Array
from capfst.punctuation import network as net
from capfst.punctuation.score import score, scorer_of
from capfst.punctuation.text import Gaps, gaps_of, kept_bytes, label_endings
from capfst.text.given import read

PART = "punctuation"
"""Name of the part of a model."""
SOFT, USUAL = 0.3, 0.15
"""In seconds; the usual pause is evidence of nothing."""
COMMA_WEIGHT, END_WEIGHT = 1.5, 2.5
_FORMAT = 4
_PERIOD = ord(".")
_MOST = 1e6  # the largest absolute value: no sum overflows


class Punctuation(NamedTuple):
    """What was learned from cased text with marks."""

    network: net.Rounded
    labels: U32Array  # [words]: the first labels of the words that the network knows
    bias: F32Array  # [marks]: added to the scores

    @classmethod
    def of(cls, model: CapFst) -> Punctuation:
        """Return the punctuation of a model.

        Raises:
            ModelError: it has none, or it is damaged, or of another version of capfst.
        """
        read = partial(cls._read, n_labels=len(model.symbols))
        found = model.part(PART, _FORMAT, read, "Train the model again, or leave `restore` out.")
        if found is None:
            raise ModelError(
                f"{model.path}: the model restores no punctuation. Train one with `restore='punctuation,case'`, or"
                " leave `restore` out."
            )
        return found

    @classmethod
    def _read(cls, part: Part, n_labels: int) -> Punctuation:
        labels = part.arrays["labels"].view(np.uint32)
        words, endings = (part.arrays[name].view(np.int8).reshape(-1, net.EMBEDDING) for name in ("words", "endings"))
        reals = part.arrays["reals"].view(np.float32)
        weights, layers, used = part.arrays["weights"].view(np.int8), [], 1 + len(net.MARKS)
        for inputs, outputs in net.SIZES:
            units, bias = reals[used : used + 2 * outputs].reshape(2, outputs)
            layers.append(net.RoundedDense(weights[: inputs * outputs].reshape(inputs, outputs), units, bias))
            weights, used = weights[inputs * outputs :], used + 2 * outputs
        if (len(words), len(endings), weights.size, reals.size) != (len(labels), net.N_ENDINGS, 0, used):
            raise ValueError("its arrays have other sizes")
        dense = part.arrays["weights"].view(np.int8)
        limits = (words, net.LARGEST_EMBEDDED), (endings, net.LARGEST_EMBEDDED), (dense, net.LARGEST_WEIGHT)
        are_small = all(-limit <= int(a.min(initial=0)) and int(a.max(initial=0)) <= limit for a, limit in limits)
        if not are_small or not (abs(reals) < _MOST).all() or labels.max(initial=0) >= n_labels:
            raise ValueError("a number is out of range")
        return cls(net.Rounded(words, endings, float(reals[0]), tuple(layers)), labels, reals[1 : 1 + len(net.MARKS)])

    def part(self) -> Part:
        """Return it as a part of a model's file."""
        network, layers = self.network, self.network.layers
        of_layers = [array for layer in layers for array in (layer.units, layer.bias)]
        reals = np.concatenate([[network.unit], self.bias, *of_layers]).astype(np.float32)
        weights = np.concatenate([layer.weights.ravel() for layer in layers])
        arrays: dict[str, npt.NDArray[Any]] = {
            "labels": self.labels, "words": network.words, "endings": network.endings, "weights": weights,
            "reals": reals,
        }  # fmt: skip
        return Part({"format": _FORMAT}, {name: array.ravel().view(np.uint8) for name, array in arrays.items()})

    def for_symbols(self, old: Symbols, symbols: Symbols, starts: I32Array) -> Punctuation:
        """Return it for other symbols, whose words' first labels are `starts`; words that they lack are left out."""
        labels = symbols.first_labels_of(map(old.lowercase, self.labels.tolist()), starts).astype(np.uint32)
        known = self.network.words[labels > 0]
        return Punctuation(self.network._replace(words=known), labels[labels > 0], self.bias)


def decided(scores: F32Matrix, bias: F32Array) -> npt.NDArray[np.intp]:
    """Return the mark of each gap, given their scores, float32[words, marks]."""
    return (scores + bias).argmax(1)


def lengths_of(ends: I64Array, pauses: Pauses) -> F32Array:
    """Return the logarithm of the longest pause in each gap, relative to the usual one; 0 where none is known. ends:
    int64[words], the byte offset after each word."""
    gap = np.searchsorted(ends, pauses.ends, "right") - 1  # of the last word before the pause
    longest = np.full(len(ends), -1.0)
    np.maximum.at(longest, gap[gap >= 0], pauses.seconds[gap >= 0])
    longest[longest < 0] = USUAL
    return np.log((longest + SOFT) / (USUAL + SOFT)).astype(np.float32)


def biases(lengths: F32Array, comma: float = COMMA_WEIGHT, end: float = END_WEIGHT) -> F32Matrix:
    """Return what pauses add to the scores of the marks, float32[words, marks]."""
    return lengths[:, np.newaxis] * np.array([0, comma, end, end], np.float32)


class Punctuator:
    """Inserts marks into text. Threads may share it."""

    def __init__(self, punctuation: Punctuation, transducer: Transducer) -> None:
        self._vector_of = 1 + label_endings(transducer.symbols)
        self._vector_of[punctuation.labels] = 1 + net.N_ENDINGS + np.arange(len(punctuation.labels), dtype=np.int32)
        self._scorer = scorer_of(punctuation.network)
        self._bias = punctuation.bias
        self._transducer = transducer

    def gaps(self, buf: U8Array) -> Gaps:
        """Return the words of a text, and the gaps after them."""
        return gaps_of(buf, self._transducer.words(buf), self._vector_of)

    def scores(self, gaps: Gaps) -> F32Matrix:
        """Return the scores of the marks in each gap, float32[words, marks]: ln P up to a constant of the gap."""
        return score(gaps.vectors, gaps.at, gaps.lines, self._scorer)

    def marks(self, buf: U8Array, begin: int = 0, pauses: Pauses = NO_PAUSES) -> tuple[I64Array, U8Array]:
        """Return the marks that a text is to have after the byte offset `begin`: their offsets, and their bytes."""
        text = read(buf, self._transducer.pretokenized)
        gaps = self.gaps(text.buf)
        has_period = text.buf[gaps.ends - 1] == _PERIOD  # as an abbreviation: no second one
        gaps = gaps._replace(ends=text.offsets(gaps.ends))
        scores = self.scores(gaps)
        if pauses.ends.size:
            scores += biases(lengths_of(gaps.ends, pauses))
        marks = decided(scores, self._bias)
        is_open = gaps.is_open & ~(has_period & (marks == net.PERIOD))
        chosen = np.flatnonzero(is_open & (marks != net.NONE) & (gaps.ends > begin))
        return gaps.ends[chosen], np.frombuffer(net.MARKS, np.uint8)[marks[chosen]]

    def insert(self, buf: U8Array, begin: int = 0, keeps_marks: bool = True, pauses: Pauses = NO_PAUSES) -> U8Array:
        """Return a text with marks after the byte offset `begin`, without its own there, unless `keeps_marks`."""
        if not keeps_marks:
            text = read(buf, self._transducer.pretokenized)
            words = self._transducer.words(text.buf)
            kept = kept_bytes(buf, words._replace(starts=text.offsets(words.starts), ends=text.offsets(words.ends)))
            kept[:begin] = True
            buf, pauses = buf[kept], pauses._replace(ends=np.append(0, np.cumsum(kept))[pauses.ends])
        return np.insert(buf, *self.marks(buf, begin, pauses))
