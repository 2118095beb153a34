"""Labelled sentences → tables of weights, learned in one pass of AdaGrad (Duchi et al. 2011).

In: labels, and what is known of the words. Out: tables [rows, 2 N_SHAPES] of float32, of which the first half is
weights, the second AdaGrad's sums. The loss is that of softmax over the shapes (−ln p of the true one).

One pass only, and each word's evidence without the occurrence in question: so every word is met as in new text, an
only occurrence as an unseen word; what stage 2 reads of stage 1 was decided before that had learned the sentence; and
the LM, which has seen the whole corpus, is not relied on too much.

The first word of a sentence is written as its place demands. It teaches its usual shape if that is beyond doubt, else
nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context.features import (
    BASE,
    FACT,
    FAR,
    FIRST,
    MARGIN,
    NO_DECISION,
    OWN,
    SECOND,
    SURE,
    decision,
    first_features,
    is_capital,
    margin,
    own_features,
    second_features,
)
from capfst.context.words import BARE, END, SUFFIX, WHOLE, evidence, usual
from capfst.system.kernels import allocating, kernel, prefetch

RATES = 0.05, 0.02  # of the stages
CAUTION = 0.1  # what AdaGrad's sums begin with: what is seen once teaches little
CERTAIN = 0.99  # from this probability of the truth on there is nothing to learn

_BLOCK = 16  # words whose weights are on their way from memory together
_SPARED, _NO_CASE = 8, 9  # truths of words that teach nothing, and of what has no case
_USUAL, _PURE = 20, 0.98  # times that a word was seen, and how many of them in one shape


class Facts(NamedTuple):
    """What is known of a model's labels and lowercase words."""

    word_of: npt.NDArray[np.int64]  # by label: the number of its word
    shapes: npt.NDArray[np.uint8]  # by label
    hashes: npt.NDArray[np.uint32]  # [words, HASHES]
    leads: npt.NDArray[np.uint8]  # by word: 1 … LEADS, the most frequent one first, or 0
    classes: npt.NDArray[np.uint8]  # [words, 2], by classes.of_words
    counts: npt.NDArray[np.int64]  # [words, N_SHAPES], of all the corpus


class Tables(NamedTuple):
    """The weights of the two stages, and AdaGrad's sums."""

    first: npt.NDArray[np.float32]
    second: npt.NDArray[np.float32]

    @classmethod
    def of(cls, rows: tuple[int, int]) -> Tables:
        """Tables that have learned nothing."""
        tables = cls(*(np.zeros((n, 2 * N_SHAPES), np.float32) for n in rows))
        tables.renew()
        return tables

    def renew(self) -> None:
        """Has AdaGrad begin anew, with the weights that it has found."""
        for table in self:
            table[:, N_SHAPES:] = CAUTION


@kernel
def softmax(z):  # type: ignore[no-untyped-def]
    """Scores → probabilities, in place; ln of the sum that they are divided by."""
    most = z[0]
    for k in range(1, N_SHAPES):
        most = max(most, z[k])
    total = z[0] * 0
    for k in range(N_SHAPES):
        z[k] = np.exp(z[k] - most)
        total += z[k]
    for k in range(N_SHAPES):
        z[k] /= total
    return most + np.log(total)


@kernel
def _usual(counts):  # type: ignore[no-untyped-def]
    """The shape of a word whose shape is beyond doubt, else _SPARED."""
    most, n = usual(counts)
    return most if n >= _USUAL and counts[most] > _PURE * n else _SPARED


@allocating
def _facts(labels, word_of, shapes, hashes, leads, classes, counts, facts, words, truths):  # type: ignore[no-untyped-def]
    """Whole sentences → their facts, with margins; the words' numbers, and their shapes as truths. How many facts."""
    truths[:] = _NO_CASE
    j = margin(facts, 0)
    place, begins = 0, True
    for label in labels:
        if label == 0:
            j = margin(facts, j)
            place, begins = 0, True
            continue
        word, shape = word_of[label], shapes[label]
        fact = facts[j]
        fact.word, fact.two = hashes[word, WHOLE], hashes[word, SUFFIX + 1]
        fact.lead, fact.place = leads[word], min(place, FAR)
        fact.small, fact.capital = classes[word, 0], classes[word, 1]
        words[j] = word
        place += 1
        if shape == Shape.CASELESS:
            fact.evidence = BARE
        elif begins:
            fact.evidence = evidence(counts[word])
            truths[j] = _usual(counts[word])
            begins = False
        else:
            counts[word, shape] -= 1
            fact.evidence = evidence(counts[word])
            counts[word, shape] += 1
            truths[j] = shape
        j += 1
    return j


@kernel
def _scores(table, mask, features, n, z):  # type: ignore[no-untyped-def]
    for i in range(n):
        row = np.int64(features[i] & mask)
        for k in range(N_SHAPES):
            z[k] += table[row, k]


@kernel
def _learn(table, mask, features, n, p, truth, rate):  # type: ignore[no-untyped-def]
    for i in range(n):
        row = np.int64(features[i] & mask)
        for k in range(N_SHAPES):
            gradient = np.float32(p[k] - (k == truth))
            table[row, N_SHAPES + k] += gradient * gradient
            table[row, k] -= rate * gradient / np.sqrt(table[row, N_SHAPES + k])


@allocating
def _pass(facts, words, truths, n, hashes, first, second, rate, rate2):  # type: ignore[no-untyped-def]
    """Learns from the sentences in the facts; the losses of the stages, and how many words they are of."""
    features = np.empty((_BLOCK, OWN + FIRST + SECOND), np.uint64)
    numbers = np.empty(_BLOCK, np.int64)
    mask, mask2 = np.uint64(len(first) - 1), np.uint64(len(second) - 1)
    flat, flat2 = first.reshape(-1), second.reshape(-1)
    p = np.empty((n, N_SHAPES))
    decisions = np.full(n, NO_DECISION, np.uint8)
    z = np.empty(N_SHAPES)
    loss, loss2, count = 0.0, 0.0, 0
    t = MARGIN
    while t < n:
        end = t
        capitals, cased = np.int64(0), np.int64(0)
        while facts[end].evidence != END:
            end += 1
        for block in range(t, end, _BLOCK):
            last = min(end, block + _BLOCK)
            for i in range(block, last):
                if truths[i] != _NO_CASE:
                    f = features[i - block]
                    own = own_features(hashes[words[i]], np.int64(facts[i].evidence), f)
                    first_features(facts, i, f[own:])
                    numbers[i - block] = own + FIRST
                    for k in range(own + FIRST):
                        prefetch(flat, 2 * N_SHAPES * np.int64(f[k] & mask))
            for i in range(block, last):
                if truths[i] == _NO_CASE:
                    continue
                f, number = features[i - block], numbers[i - block]
                z[:] = 0
                _scores(first, mask, f, number, z)
                softmax(z)
                p[i] = z
                decisions[i] = decision(z)
                cased += 1
                capitals += is_capital(decisions[i])
                if truths[i] < N_SHAPES:
                    count += 1
                    loss -= np.log(z[truths[i]] + 1e-30)
                    if z[truths[i]] < CERTAIN:
                        _learn(first, mask, f, number, z, truths[i], rate)
        for block in range(t, end, _BLOCK):
            last = min(end, block + _BLOCK)
            for i in range(block, last):
                if truths[i] < N_SHAPES and p[i].max() < SURE:
                    f = features[i - block]
                    second_features(facts, decisions, i, capitals, cased, f)
                    for k in range(SECOND):
                        prefetch(flat2, 2 * N_SHAPES * np.int64(f[k] & mask2))
            for i in range(block, last):
                if truths[i] >= N_SHAPES or p[i].max() >= SURE:
                    continue
                for k in range(N_SHAPES):
                    z[k] = BASE * np.log(p[i, k] + 1e-12)
                _scores(second, mask2, features[i - block], SECOND, z)
                softmax(z)
                loss2 -= np.log(z[truths[i]] + 1e-30)
                if z[truths[i]] < CERTAIN:
                    _learn(second, mask2, features[i - block], SECOND, z, truths[i], rate2)
        t = end + MARGIN
    return loss, loss2, count


def learn(labels: npt.NDArray[np.uint32], known: Facts, tables: Tables) -> tuple[float, float, int]:
    """Has the tables learn from whole sentences; what each stage lost on them before (−ln p, summed), and over how many
    words."""
    size = len(labels) + MARGIN * (1 + np.count_nonzero(labels == 0))
    facts = np.empty(size, FACT)
    truths, numbers = np.empty(size, np.uint8), np.empty(size, np.int64)
    n = _facts(labels, *known, facts, numbers, truths)
    rates = (np.float32(rate) for rate in RATES)
    found: tuple[float, float, int] = _pass(facts, numbers, truths, n, known.hashes, *tables, *rates)
    return found
