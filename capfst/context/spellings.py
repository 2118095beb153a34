"""Spellings: surface forms of a word that differ in more than case, for models that restore more (text/restoring.py).

In: the vocabulary of a model. Out: in the place of each form's shape the rank of its spelling among those of its word.
So a second context model learns which spelling a word has in its context (*a* or *à*), as the first one learns which
shape; both are costs on the arcs of S ∘ T.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.casing.transducer import CasingCosts, Words
from capfst.context.model import Context
from capfst.corpus.vocabulary import lowercase_forms
from capfst.fst.symbols import Symbols

PART = "spellings"
"""The part of a model that is its context model of spellings."""
SCALE = 2 / 3
"""What a spelling costs is that of a shape, times this. Found on held-out text."""
_RANKS = np.array([Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED], np.uint8)  # not LOWER, which costs LOWER_PENALTY


def label_spellings(
    symbols: Symbols, starts: npt.NDArray[np.int64], occurrences: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """uint8[V + 1]: 1, 2, 3 for the most frequent spelling of a word, the second, and all others; CASELESS for words of
    one spelling. starts: the words' first labels, as from symbols.check. occurrences: of each label, int64[V + 1]."""
    _, spelling_of = lowercase_forms(symbols.strings, symbols.language.casing)
    spelling_of = spelling_of[1:]
    counts = np.bincount(spelling_of, occurrences[1:])
    word_of = np.zeros(len(counts), np.int64)
    word_of[spelling_of] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    word_of[np.setdiff1d(np.arange(len(counts)), spelling_of)] = -1  # `<epsilon>`
    order = np.lexsort([-counts, word_of])
    ranks = np.empty(len(counts), np.int64)
    ranks[order] = np.arange(len(order)) - np.searchsorted(word_of[order], word_of[order])
    n_spellings = np.bincount(word_of + 1)
    found = np.full(len(symbols), Shape.CASELESS, np.uint8)
    has_choice = n_spellings[word_of[spelling_of] + 1] > 1
    found[1:][has_choice] = _RANKS[np.minimum(ranks[spelling_of[has_choice]], len(_RANKS) - 1)]
    return found


def of_spellings(context: Context) -> Context:
    """A context model of spellings as the file has it: it knows no unseen ones, as it could not write them."""
    context.words["unseen_penalty"] = np.inf
    return context


def with_spellings(costs: CasingCosts, words: Words, spellings: CasingCosts) -> CasingCosts:
    """The costs of casings, and of spellings. A form that a word is written in another shape of is still its
    spelling."""
    assert spellings.arc_costs is not None
    more = np.float32(SCALE) * spellings.arc_costs
    if costs.arc_costs is None:
        return CasingCosts(more)
    options = costs.options
    if options is not None:
        has_form = words.n_forms > 0
        first = (np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms)[has_form]
        options = options.copy()
        options[has_form] += more[first, None]
    return costs._replace(arc_costs=costs.arc_costs + more, options=options)
