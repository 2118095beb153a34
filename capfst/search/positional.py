"""Keep words in lower case that owe their capital to their position, in lines without punctuation.

Training text has *My*, *Please* and *Thank* almost only at the start of sentences, and after a name, without a mark
between them, only in titles. In speech without punctuation, sentences begin anywhere (*apple inc my name is john*), and
these words would get an unwanted capital.

In: the words of a text with their arc costs. Out: the same costs, changed in lines of at least LEAST words without
punctuation, so that the LM decides with a preference for lower case. The LM also selects these words: they begin
sentences more often than they occur elsewhere, but are mostly in lower case after a comma.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.glued import FirstWords, word_costs
from capfst.casing.types import CasingCosts, Words
from capfst.kernels import inner, kernel
from capfst.kernels.types import F32Array, F32Matrix, I32Array, U8Array, f32, f64, i64
from capfst.lm.query import LanguageModel
from capfst.system.binary_search import lower_bound
from capfst.text.tokenizer import MARKS, NEWLINE
from capfst.text.unicode import ascii_set, is_in, lower

LEAST = 8  # words
_PREFERENCE = 3.0  # of lower case
_CONTEXT = 1.0  # the most that the context may hold against lower case, if it prefers the capital
_BEGINS, _RATHER_BEGINS, _FREQUENT = 9.0, 1.0, 12.5  # −ln, and differences of them
_AFTER_COMMA = 1.3

NO_OPTIONS = np.empty((0, 0), np.float32)
_ALLOWED = ascii_set("-'&%$/+#@*_")
"""Marks that are no punctuation."""


class PositionalCapitals(NamedTuple):
    """Words whose capital is that of their position."""

    words: I32Array  # their first labels, rising
    small: I32Array  # the index of the lowercase form
    capital: I32Array  # the index of the capitalized form
    penalties: F32Array  # of the capitalized form

    @classmethod
    def of(cls, lm: LanguageModel) -> PositionalCapitals:
        """Find the words in an LM."""
        model, symbols = lm.model, lm.model.symbols
        unigrams = model.arcs["weight"][: len(symbols) - 1]
        frequency, begins = word_costs(model.starts, unigrams, FirstWords.of(model))
        is_likely = (begins < frequency - _RATHER_BEGINS) & (begins < _BEGINS) & (frequency < _FREQUENT)
        comma = lm.arc(0, lm.label(","))[1]
        found = []
        for word in np.flatnonzero(is_likely):
            labels = range(int(model.starts[word]), int(model.starts[word + 1]))
            forms = [symbols[label] for label in labels]
            small = lower(forms[0], symbols.language.lowering)
            capital = small.capitalize()
            if small in forms and capital in forms and len(small) > 1 and capital != small:
                k, c = forms.index(small), forms.index(capital)
                if lm.arc(comma, labels[c])[0] - lm.arc(comma, labels[k])[0] >= _AFTER_COMMA:
                    penalty = _PREFERENCE + max(0.0, float(unigrams[labels[k] - 1] - unigrams[labels[c] - 1]))
                    found.append((labels[0], k, c, penalty))
        columns = zip(*found, strict=True) if found else [()] * 4
        return cls._make(
            np.array(column, type_)
            for column, type_ in zip(columns, (np.int32, np.int32, np.int32, np.float32), strict=True)
        )

    def change(self, buf: U8Array, words: Words, costs: CasingCosts) -> None:
        """Change the arc costs, and the costs by shape, in place."""
        if costs.arc_costs is not None and self.words.size:
            options = NO_OPTIONS if costs.options is None else costs.options
            _change(buf, words, self, costs.arc_costs, options)


@inner
def prefer(
    words: Words, i: i64, arc: i64, preferred: i64, other: i64, penalty: f64, arc_costs: F32Array, options: F32Matrix
) -> None:
    """Prefer a form of word i to another, by their indices: that gets the penalty. If the context favors it, the
    preferred form costs little. arc: index of the word's first arc cost. options: the costs by shape, or empty."""
    is_favored = True
    for form in range(words.n_forms[i]):
        is_favored = is_favored and arc_costs[arc + other] <= arc_costs[arc + form]
    if is_favored:
        arc_costs[arc + preferred] = min(arc_costs[arc + preferred], f32(_CONTEXT))
        if options.shape[0] > 0 and preferred == 0:
            options[i, options.shape[1] - 1] = min(options[i, options.shape[1] - 1], f32(_CONTEXT))
    arc_costs[arc + other] += f32(penalty)
    if options.shape[0] > 0 and other == 0:
        for shape in range(options.shape[1]):
            options[i, shape] += f32(penalty)


@kernel
def _change(
    buf: U8Array, words: Words, positional: PositionalCapitals, arc_costs: F32Array, options: F32Matrix
) -> None:
    n = words.starts.size
    begin, arc = 0, 0  # of the line
    while begin < n:
        end, has_punctuation = i64(begin), False
        while end < n and words.token_types[end] != NEWLINE:
            if words.token_types[end] == MARKS:
                has_punctuation = has_punctuation or not is_in(buf[words.starts[end]], _ALLOWED)
            end += 1
        is_changed = end - begin >= LEAST and not has_punctuation
        for i in range(begin, end):
            label = i64(words.first_labels[i])
            k = lower_bound(positional.words, 0, positional.words.size, label) if is_changed else 0
            if is_changed and k < positional.words.size and positional.words[k] == label:
                prefer(
                    words, i, arc, positional.small[k], positional.capital[k], positional.penalties[k], arc_costs,
                    options,
                )  # fmt: skip
            arc += i64(words.n_forms[i])
        begin = end + 1
