"""Find the stretches of a text that have lost their case or their marks, among text that has both.

In: the words of a text, and the same text as a model writes it, with marks where it inserts some. Out: a state of each
word: KEPT, or what its stretch has lost. The states are a hidden Markov model (Rabiner 1989), whose likeliest path is
found by Viterbi. What a state emits are pairs: how the word is written and how the model writes it; whether a mark
follows, or the model inserts one. A clause in lower case agrees with the model; a stretch that has lost its case
differs where the model writes names and first words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import Shape
from capfst.casing.types import Words
from capfst.casing.written import HAS_SMALL, SHAPE, written_shapes
from capfst.kernels import kernel
from capfst.kernels.types import BoolArray, F64Array, F64Matrix, I64Array, U8Array, U8Matrix, i64
from capfst.text.tokenizer import MARKS, NEWLINE

KEPT, NO_MARKS_SMALL, NO_MARKS_CAPITALS, SMALL, CAPITALS = range(5)
"""States: nothing is lost; the marks are, and all is in small letters or in capitals; or only the case is lost."""
LOST_MARKS = NO_MARKS_SMALL, NO_MARKS_CAPITALS
"""The states of words that have lost the marks after them."""

_BEGINS, _ENDS = 6.9, 4.6  # −ln P: a stretch begins with one word in 1,000, and ends after one in 100

# Written as, beside the shapes: one letter that is a capital, and may be CAPITALIZED or UPPER; without case.
_ONE, CASELESS = 4, 5
_NEVER = 0.002
_MODEL = (0.90, 0.095, 0.005)  # of 100 words, those that the model writes in lower case, capitalized, and in capitals
_KEPT_CASE = (
    (0.89, 0.007, 0.0001),  # written in lower case, and by the model as in _MODEL
    (0.003, 0.09, 0.0005),  # capitalized, or in mixed case
    (0.0003, 0.0003, 0.003),  # in capitals
)
_NOT_FOLLOWED, _FOLLOWED, _INSERTED = range(3)
_KEPT_MARKS = 0.86, 0.11, 0.03  # no mark, a mark, or only the model has one
_LOST_MARKS = 0.91, 0.11 * _NEVER, 0.09
"""Joint probabilities, counted in 92,000 words of a transcript that people have edited, and in the same text without
marks and case."""


def _tables() -> tuple[F64Array, F64Array]:
    """Return what each state costs (−ln): float64[states, written, by the model], and float64[states, marks]."""
    kept = [*_KEPT_CASE, _KEPT_CASE[1], _KEPT_CASE[1]]
    small, capitals = (np.outer(written, _MODEL) for written in ((1, *[_NEVER] * 4), (_NEVER, _NEVER, 1, _NEVER, 1)))
    case = np.ones((5, 6, 3))  # words without case cost nothing
    case[:, :CASELESS] = kept, small, capitals, small, capitals
    marks = np.array([_LOST_MARKS if state in LOST_MARKS else _KEPT_MARKS for state in range(5)])
    return -np.log(case), -np.log(marks)


_CASE, _MARKS = _tables()
_INSERTABLE = np.frombuffer(b",.?!;:", np.uint8)


class Observed(NamedTuple):
    """What is seen of the words of a text that are not marks."""

    words: I64Array  # [n]: their indices
    written: U8Array  # [n]: the Shape in which it is written, _ONE or CASELESS
    modelled: U8Array  # [n]: LOWER, CAPITALIZED or UPPER, as the model writes it
    marks: U8Array  # [n]: _NOT_FOLLOWED, _FOLLOWED or _INSERTED


def observe(buf: U8Array, words: Words, inserted: BoolArray, modelled: U8Array, pretokenized: bool) -> Observed:
    """Compare a text with the same text as the model writes it.

    Args:
        buf, words: the text with the marks that the model inserts.
        inserted: bool[bytes], whether the byte is such a mark.
        modelled: uint8[words], the Shape in which the model writes each word.
    """
    at = np.flatnonzero(words.token_types != MARKS)
    shapes, of_model = written_shapes(buf, words, pretokenized)[at], modelled[at]
    written = shapes & np.uint8(SHAPE)
    is_caseless = written == Shape.CASELESS
    written[(written == Shape.CAPITALIZED) & (shapes & HAS_SMALL == 0)] = _ONE
    written[is_caseless] = CASELESS
    of_model[of_model == Shape.MIXED] = Shape.CAPITALIZED
    of_model[of_model == Shape.CASELESS] = Shape.LOWER

    places = np.flatnonzero(inserted | np.isin(buf, _INSERTABLE))
    token = np.searchsorted(words.starts, places, "right") - 1
    before = np.searchsorted(at, token) - 1
    places, token, before = (each[before >= 0] for each in (places, token, before))
    follows = (words.token_types[token] == MARKS) & (places < words.ends[token])
    places, before = places[follows], before[follows]
    marks = np.full(len(at), _NOT_FOLLOWED, np.uint8)
    marks[before] = _FOLLOWED
    marks[before[inserted[places]]] = _INSERTED
    marks[words.token_types[at] == NEWLINE] = _NOT_FOLLOWED
    return Observed(at, written, of_model, marks)


@kernel
def _search(costs: F64Matrix, best: F64Array, back: U8Matrix, states: U8Array) -> None:
    """Fill `states` with the likeliest ones. costs: float64[n, states], −ln P of what is seen of each word. best:
    working memory, 0 at first. back: working memory, [n, states]."""
    n, n_states = costs.shape
    for state in range(1, n_states):
        best[state] = _BEGINS
    for i in range(n):
        leaves, from_lost = 0, best[0]
        for state in range(1, n_states):
            if best[state] + _ENDS < from_lost:
                leaves, from_lost = state, best[state] + _ENDS
        for state in range(1, n_states):
            begins = best[0] + _BEGINS
            back[i, state] = 0 if begins < best[state] else state
            best[state] = min(begins, best[state]) + costs[i, state]
        back[i, 0] = leaves
        best[0] = from_lost + costs[i, 0]
    state = 0
    for other in range(1, n_states):
        state = other if best[other] < best[state] else state
    for i in range(n - 1, -1, -1):
        states[i] = state
        state = i64(back[i, state])


def find(observed: Observed) -> U8Array:
    """Return the state of each observed word, uint8[n]."""
    n = len(observed.words)
    costs = (_MARKS[:, observed.marks] + _CASE[:, observed.written, observed.modelled]).T.copy()
    states = np.empty(n, np.uint8)
    _search(costs, np.zeros(5), np.empty((n, 5), np.uint8), states)
    return states
