"""Decide by the LM where a sentence may begin inside a line, before the search and the context model.

In: the words of a text, with the candidates that text/sentences.py marks. `Boundaries.exclude_abbreviations` removes
the candidates after abbreviations (*Mr.*, *vs.*, *Inc.*). `Boundaries.expected` selects those where the LM expects the
sentence to end: there the context model, which runs before the search, treats the text before and after as two
sentences.
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
"""An abbreviation is a word with a form after which a mark that does not end the sentence has at least this
probability: a mark followed neither by `</s>` nor by a quote or bracket that may close."""
EXPECTED = 0.5
"""The least probability of an expected `</s>`, for every form of the two words before it."""
CLOSING = ('"', "'", ")", "]")
"""Quotes and brackets that may close after the end of a sentence."""


@kernel
def _mark(
    words: Words,
    candidates: I64Array,
    states: StateArray,
    arcs: ArcArray,
    closing: I64Array,
    is_abbreviation: BoolArray,
    is_expected: BoolArray,
) -> None:
    """Fill in, for each candidate, whether it follows an abbreviation, and whether the LM expects the sentence to end
    there."""
    for p in range(candidates.size):
        is_abbreviation[p], is_expected[p] = False, True
        word, mark = candidates[p] - 2, candidates[p] - 1
        for k in range(words.n_forms[word] if word >= 0 else 0):
            state = step(states, arcs, 0, words.first_labels[word] + k)[1]
            for m in range(words.n_forms[mark]):
                cost, after = step(states, arcs, state, words.first_labels[mark] + m)
                probability, end = np.exp(-cost), np.exp(-final_cost(states, arcs, after))
                is_expected[p] &= end >= EXPECTED
                if probability >= ABBREVIATION:
                    for label in closing:
                        end += np.exp(-step(states, arcs, after, label)[0])
                    is_abbreviation[p] |= probability * (1 - end) >= ABBREVIATION


class Boundaries:
    """The sentence boundaries that a model allows and expects."""

    def __init__(self, lm: LanguageModel) -> None:
        self.model = lm.model
        closing = (lm.label(mark) for mark in CLOSING)
        self._closing = np.array([label for label in closing if label != lm.unknown], np.int64)

    def _mark(self, words: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return the candidates, and the two results of the kernel `_mark` for them."""
        candidates = np.flatnonzero(words.may_begin)
        marked = np.empty(len(candidates), np.bool_), np.empty(len(candidates), np.bool_)
        if candidates.size != 0:  # most single lines have no candidates
            _mark(words, candidates, self.model.states, self.model.arcs, self._closing, *marked)
        return candidates, *marked

    def exclude_abbreviations(self, words: Words) -> None:
        """Set words.may_begin to False after abbreviations."""
        candidates, is_abbreviation, _ = self._mark(words)
        words.may_begin[candidates[is_abbreviation]] = False

    def expected(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return bool[n]: whether the LM expects a sentence to begin with the word."""
        candidates, _, is_expected = self._mark(words)
        begins = np.zeros(len(words.may_begin), np.bool_)
        begins[candidates] = is_expected
        return begins
