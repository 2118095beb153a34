"""What the LM says of the places where a sentence may begin inside a line, before the search and whatever follows.

In: the words of a text with these places (text/sentences.py). `Breaks.leave_out_abbreviations` removes those behind
words that the LM often has with a mark that ends no sentence: *Mr.*, *vs.*, *Inc.* Out of `Breaks.expected`: those
where the LM expects the sentence to end. There the context model, which is asked before the search, takes the text
before and behind for two sentences.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.types import Words
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import kernel
from capfst.kernels.types import BoolArray, I64Array
from capfst.lm.query import LanguageModel, final_cost, step

ABBREVIATION = 0.05
"""An abbreviation is a word with a form behind which a mark that ends no sentence has this probability at least: one
with neither `</s>` nor a quote or bracket behind it that may close."""
EXPECTED = 0.5
"""The least probability of an expected `</s>`, whatever forms the two words before have."""
CLOSING = ('"', "'", ")", "]")


@kernel
def _mark(
    words: Words,
    places: I64Array,
    states: StateArray,
    arcs: ArcArray,
    closing: I64Array,
    is_abbreviation: BoolArray,
    is_expected: BoolArray,
) -> None:
    """Fills in, for the places where a sentence may begin, whether an abbreviation and whether an expected end stand
    before."""
    for p in range(places.size):
        is_abbreviation[p], is_expected[p] = False, True
        word, mark = places[p] - 2, places[p] - 1
        for k in range(words.n_forms[word] if word >= 0 else 0):
            state = step(states, arcs, 0, words.first_labels[word] + k)[1]
            for m in range(words.n_forms[mark]):
                cost, behind = step(states, arcs, state, words.first_labels[mark] + m)
                probability, end = np.exp(-cost), np.exp(-final_cost(states, arcs, behind))
                is_expected[p] &= end >= EXPECTED
                if probability >= ABBREVIATION:
                    for label in closing:
                        end += np.exp(-step(states, arcs, behind, label)[0])
                    is_abbreviation[p] |= probability * (1 - end) >= ABBREVIATION


class Breaks:
    """What a model says of breaks."""

    def __init__(self, lm: LanguageModel) -> None:
        self.model = lm.model
        closing = (lm.label(mark) for mark in CLOSING)
        self._closing = np.array([label for label in closing if label != lm.unknown], np.int64)

    def _mark(self, words: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Where a sentence may begin, and what `_mark` says of these places."""
        places = np.flatnonzero(words.may_begin)
        marked = np.empty(len(places), np.bool_), np.empty(len(places), np.bool_)
        if places.size != 0:  # most single lines have none
            _mark(words, places, self.model.states, self.model.arcs, self._closing, *marked)
        return places, *marked

    def leave_out_abbreviations(self, words: Words) -> None:
        """Sets words.may_begin to False behind abbreviations."""
        places, is_abbreviation, _ = self._mark(words)
        words.may_begin[places[is_abbreviation]] = False

    def expected(self, words: Words) -> npt.NDArray[np.bool_]:
        """bool[n]: whether the LM expects a sentence to begin with the word."""
        places, _, is_expected = self._mark(words)
        begins = np.zeros(len(words.may_begin), np.bool_)
        begins[places] = is_expected
        return begins
