"""Cells of a table: the words of a column are evidence for the capitals of each other.

A cell such as `mary white` has no context, so p(shape | word) is that of running text, where most words are small. But
in names, most words have capitals. A column has cells of two kinds, names and others. With r the share of words with
capitals in the cells of a kind, p is multiplied by r for casings with capitals and by 1 − r for lower case, and
normalized: the adjustment of a classifier to new priors of Saerens, Latinne & Decaestecker 2002 (Neural Computation
14). Their EM algorithm estimates r from the words themselves; here, also how likely each cell is of which kind. A word
that is small in text is CAPITALIZED in names. A legal form at their end has its own case: `grammars/legal_forms.tsv`.

Words that stay small in names (*of*, *de*: `grammars/title_case.tsv`) have an r of their own. All others of a name have
capitals. A kind has fewer cells than EM finds, and none if these are few: a column of companies has names of common
words (*Applied Materials*), rather than a few common nouns. Of p, the power _POWER counts, because a cell shows less
of a word than a line does.
"""

from __future__ import annotations

from functools import cache
from itertools import compress

import numpy as np

from capfst.casing.shapes import Shape, shapes_of
from capfst.casing.types import Words
from capfst.context.features import TokenArray
from capfst.context.lexicon import BEGIN
from capfst.kernels.types import F32Matrix, I64Array, U8Array
from capfst.text.facts import rows as rows_of
from capfst.text.facts import small_in_titles
from capfst.text.strings import Strings
from capfst.text.unicode import lower_bytes

_POWER = 0.7  # tuned on lists of people, cities, companies and common nouns
_ROUNDS = 30
_LEAST = 1e-12
_SHARES = np.array([[0.9], [0.1]])
"""What r is taken to be of two words before any is seen, in names and in other cells."""
_FEW = 0.03
"""The fraction of the cells that each kind has less than EM finds."""
_IN_NAMES = 0.97
"""The least p that a word of a name has capitals."""


@cache
def _legal_forms() -> dict[str, int]:
    """Return the shapes of legal forms, by their lowercase."""
    forms = [form for (form,) in rows_of("legal_forms.tsv")]
    return dict(zip(map(str.lower, forms), shapes_of(Strings.of(map(str.encode, forms))).tolist(), strict=True))


def _spelled(buf: U8Array, words: Words, rows: I64Array) -> list[str]:
    """Return these words in lower case."""
    spans = zip(words.starts[rows].tolist(), words.ends[rows].tolist(), strict=True)
    return [lower_bytes(buf[start:end].tobytes()).decode() for start, end in spans]


def share_capitals(buf: U8Array, words: Words, tokens: TokenArray, log_p: F32Matrix) -> None:
    """Change ln p, float32[n, N_SHAPES], of the n words of a column in place. tokens: TOKEN[n], of these words."""
    rows = np.flatnonzero(tokens["shape_evidence"] < BEGIN)
    spelled = _spelled(buf, words, rows)
    are_words = [word[0].isalpha() for word in spelled]  # not the rest of a word ('s) or of a number (4th)
    rows, spelled = rows[are_words], [*compress(spelled, are_words)]
    if not rows.size:
        return
    begins = tokens["position"] == 0
    cell = np.unique(np.cumsum(begins)[rows], return_inverse=True)[1]
    small_words = small_in_titles()
    is_small = np.array([word in small_words for word in spelled])
    p = np.exp(log_p[rows], dtype=np.float64)
    p /= p.sum(1, keepdims=True)
    small, capital = p[:, Shape.LOWER] ** _POWER, (p[:, Shape.LOWER + 1 :] ** _POWER).sum(1)
    shares, kinds = np.repeat(_SHARES, 2, axis=1), np.full((2, 1), 0.5)
    for _ in range(_ROUNDS):
        r = shares[:, is_small.astype(np.intp)]
        total = r * capital + (1 - r) * small
        of_cells = np.log(kinds) + [np.bincount(cell, each) for each in np.log(total)]
        are_kind = np.exp(of_cells - np.logaddexp(*of_cells))
        kinds = (1 + are_kind.sum(1, keepdims=True)) / (2 + are_kind.shape[1])
        kinds = np.maximum(kinds - _FEW, _LEAST)  # of which the sum does not matter
        weights, have_capital = are_kind[:, cell], r * capital / total
        for k, at in enumerate((~is_small, is_small)):
            n = 2 + weights[:, at].sum(1, keepdims=True)
            shares[:, k : k + 1] = (2 * _SHARES + (weights * have_capital)[:, at].sum(1, keepdims=True)) / n
    stay_small = is_small & ~begins[rows]
    have_capital[0] = np.where(stay_small, have_capital[0], np.maximum(have_capital[0], _IN_NAMES))
    share = np.clip((weights * have_capital).sum(0), _LEAST, 1 - _LEAST)
    p[:, Shape.CAPITALIZED] += p[:, Shape.LOWER]
    log_p[rows] = np.log(share[:, None] * p + _LEAST)
    log_p[rows, Shape.LOWER] = np.log1p(-share)
    ends_name = (np.append(np.diff(cell), 1) > 0) & ~begins[rows] & (weights[0] > 0.5)
    legal_forms = _legal_forms()
    for k in np.flatnonzero(ends_name).tolist():
        if (shape := legal_forms.get(spelled[k])) is not None:
            log_p[rows[k]] = np.log(_LEAST)
            log_p[rows[k], shape] = 0
