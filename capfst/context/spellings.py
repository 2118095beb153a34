"""Spellings: surface forms of a word that differ in more than case, for models that restore more (text/restoring.py).

In: the vocabulary of a model. Out: for each form, instead of its shape, the rank of its spelling among those of its
word. With these ranks, a second context model learns p(spelling | word, context) (*a* or *à*), as the first one learns
p(shape | word, context); both become costs on the arcs of S ∘ T.
"""

from __future__ import annotations

import numpy as np

from capfst.casing.shapes import Shape
from capfst.casing.types import CasingCosts, Words
from capfst.context.context_model import Context
from capfst.context.lexicon import NO_CASE, WordRecordArray
from capfst.context.tokens import TokenizedText
from capfst.corpus.vocabulary import lowercase_forms
from capfst.fst.symbols import Symbols
from capfst.kernels import inlined, kernel
from capfst.kernels.types import F32Array, F32Matrix, I32Array, I64Array, U8Array, U32Array, f32, i64, u32
from capfst.text.tokenizer import NEWLINE

PART = "spellings"
"""Name of the part of a model that is its context model of spellings."""
SCALE = 2.0
"""A spelling costs SCALE · (−ln p). Tuned on held-out text."""
_RANKS = np.array([Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED], np.uint8)  # not LOWER, which costs LOWER_PENALTY


def label_spellings(symbols: Symbols, starts: I32Array, occurrences: I64Array) -> U8Array:
    """Return uint8[V + 1]: 1, 2, 3 for the most frequent spelling of a word, the second, and all others; CASELESS for
    words with one spelling.

    starts: the words' first labels, as from symbols.check. occurrences: of each label, int64[V + 1].
    """
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
    label_ranks = np.full(len(symbols), Shape.CASELESS, np.uint8)
    has_choice = n_spellings[word_of[spelling_of] + 1] > 1
    label_ranks[1:][has_choice] = _RANKS[np.minimum(ranks[spelling_of[has_choice]], len(_RANKS) - 1)]
    return label_ranks


def of_spellings(context: Context) -> Context:
    """Return the context model of spellings with an infinite cost of unseen spellings, which it could not write.
    Changes it in place."""
    context.words["unseen_penalty"] = np.inf
    return context


@inlined
def has_spellings(n_forms: i64, label: u32, ranks: U8Array) -> bool:
    """Return whether a word with n_forms surface forms, from this label on, has several spellings. ranks: by label; or
    empty."""
    return n_forms > 1 and ranks.size != 0 and ranks[label] != Shape.CASELESS


@kernel
def set_spelling_evidence(text: TokenizedText, records: WordRecordArray, ranks: U8Array) -> None:
    """Replace the shape evidence in the tokens of words by what a context model of spellings has; the rest is the same
    in both models. records, ranks: its `words` and `shapes`."""
    words = text.source.words
    for i in range(words.n_forms.size):
        if words.token_types[i] != NEWLINE:
            label = words.first_labels[i]
            has_choice = has_spellings(words.n_forms[i], label, ranks)
            text.tokens[text.token_of[i]].shape_evidence = records[label].shape_evidence if has_choice else NO_CASE


@kernel
def _add(
    n_forms: U32Array, first_labels: U32Array, ranks: U8Array, log_p: F32Matrix, arc_costs: F32Array, options: F32Matrix
) -> None:
    """Add the costs of spellings to those of the surface forms, and of the most frequent form to the options, if there
    are any."""
    first_arc = 0
    for i in range(n_forms.size):
        label, n = first_labels[i], i64(n_forms[i])
        if has_spellings(n, label, ranks):
            for k in range(n):
                if ranks[label + k] != Shape.CASELESS:
                    arc_costs[first_arc + k] -= f32(SCALE) * log_p[i, ranks[label + k]]
            for k in range(options.shape[1]):
                options[i, k] -= f32(SCALE) * log_p[i, ranks[label]]
        first_arc += n


def add_spellings(words: Words, ranks: U8Array, log_p: F32Matrix, costs: CasingCosts) -> None:
    """Add the costs of spellings, SCALE · −ln p, to those of casings, in place.

    ranks: of the labels, by `label_spellings`. log_p: float32[n, N_SHAPES]. A form that is written in another shape
    still has its spelling.
    """
    assert costs.arc_costs is not None  # these are costs of context
    options = costs.options if costs.options is not None else np.empty((0, 0), np.float32)
    _add(words.n_forms, words.first_labels, ranks, log_p, costs.arc_costs, options)
