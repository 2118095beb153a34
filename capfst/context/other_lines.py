"""Other lines as evidence: the lines of the same document, or the cells of the same column of a table.

Document memory (`remember`): for words that other lines of a document also have, ln p_k + w Σ_j p_jk / √N over the N
occurrences j in these lines, normalized; and likewise, without w, for the word with its left and with its right
neighbor, because pairs that recur are names or terms. w decreases with the word's training frequency f: w = 1 / (1 +
f / RARE). First words of lines give no evidence, as their capitals may come from their position. A line's own words are
excluded, so the order of a document's lines does not matter; sums are integers, so the result is bit-for-bit
independent of it.

Cells (`share_capitals`): a cell such as `mary white` has no context, so p(shape | word) is that of running text, where
most words are in lower case. But in names, most words have capitals. A column has cells of two kinds, names and others.
With r the fraction of words with capitals in the cells of a kind, p is multiplied by r for casings with capitals and by
1 − r for lower case, and normalized. This adjusts a classifier to new priors (Saerens, Latinne & Decaestecker 2002,
Neural Computation 14). Their EM algorithm estimates r from the words themselves; here, it also estimates how likely
each cell is of each kind. A word that is in lower case in text is CAPITALIZED in names. A legal form at the end of a
name has its own case: `grammars/legal_forms.tsv`.

Words that stay in lower case in names (*of*, *de*: `grammars/title_case.tsv`) have an r of their own. All other words
of a name have capitals. A kind has fewer cells than EM finds, and none if these are few: a column of companies has
names of common words (*Applied Materials*), rather than a few common nouns. p counts with the power _POWER, because a
cell shows less of a word than a line does.
"""

from __future__ import annotations

from functools import cache
from itertools import compress

import numpy as np

from capfst.casing.shapes import N_SHAPES, Shape, shapes_of
from capfst.casing.types import Words
from capfst.context.features import TokenArray, largest
from capfst.context.lexicon import BEGIN, has_case
from capfst.context.tokens import TokenizedText
from capfst.fst.write import ArcArray
from capfst.kernels import allocating, inner, kernel
from capfst.kernels.types import F32Array, F32Matrix, I32Array, I64Array, I64Matrix, U8Array, U32Array, U64Array

from capfst.kernels.types import f32, i32, i64, u64  # isort: skip
from capfst.system.hashing import hash_pair
from capfst.text.facts import rows as rows_of
from capfst.text.facts import small_in_titles
from capfst.text.strings import Strings
from capfst.text.tokenizer import NEWLINE
from capfst.text.unicode import lower_bytes

RARE = 6e-5
"""The frequency of a word with w = 1/2. Tuned on development text, as the other weights (1) and 1/√N were."""

_GIVEN = 2  # times that a word counts whose casing is given
_KEYS = 3  # of a word: alone, with the word before it, with the word after it
_ONE = 1 << 16  # probability 1 in sums
_POWER = 0.7  # tuned on lists of people, cities, companies and common nouns
_ROUNDS = 30
_LEAST = 1e-12
_SHARES = np.array([[0.9], [0.1]])
"""What r is taken to be of two words before any is seen, in names and in other cells."""
_FEW = 0.03
"""The fraction of the cells that each kind has less than EM finds."""
_IN_NAMES = 0.97
"""The least p that a word of a name has capitals."""


@kernel
def _rarity(first_labels: I64Array, n_forms: U32Array, arcs: ArcArray, weights: F32Array) -> None:
    for i in range(weights.size):
        frequency = 0.0
        for form in range(first_labels[i], first_labels[i] + n_forms[i]):
            frequency += np.exp(-arcs[form - 1].weight)  # the unigram: state 0 has the arcs of all labels, in order
        weights[i] = RARE / (RARE + frequency)


def rarity(words: Words, arcs: ArcArray) -> F32Array:
    """Return float32[n], the weight w of each word's memory, from 0 to 1 (an OOV word). arcs: those of the LM."""
    weights = np.empty(len(words.token_types), np.float32)
    _rarity(words.first_labels.astype(np.int64), words.n_forms, arcs, weights)
    return weights


@inner
def _word_keys(tokens: TokenArray, t: i64, keys: U64Array) -> None:
    """Fill keys, uint64[_KEYS], of token t: hashes of the word, and of it with each neighbor; 0 for a neighbor without
    case."""
    before, word, after = tokens[t - 1], tokens[t], tokens[t + 1]
    keys[0] = hash_pair(word.word_hash, 1) | u64(1)
    keys[1] = keys[2] = 0
    if has_case(before.shape_evidence):
        keys[1] = hash_pair(hash_pair(before.word_hash, 2), word.word_hash) | u64(1)
    if has_case(after.shape_evidence):
        keys[2] = hash_pair(hash_pair(word.word_hash, 3), after.word_hash) | u64(1)


@inner
def _slot_of(owners: U64Array, key: u64) -> i64:
    """Return the slot that has this key, or the empty one for it."""
    mask = owners.size - 1
    slot = i64(key >> u64(1)) & mask
    while owners[slot] != u64(0) and owners[slot] != key:
        slot = (slot + 1) & mask
    return slot


@inner
def _add(slots: I64Array, evidence: I32Array, sign: i64, sums: I64Matrix) -> None:
    """Add a word's evidence, int32[N_SHAPES], to its slots, int64[_KEYS] (sign 1), or remove it (−1). Slot −1 is
    none."""
    for slot in slots:
        if slot >= 0:
            for shape in range(N_SHAPES):
                sums[slot, shape] += sign * evidence[shape]
            sums[slot, N_SHAPES] += sign


@inner
def _recall(slots: I64Array, sums: I64Matrix, rarity: f32, log_p: F32Array) -> None:
    """Add the memory of a word with these slots to log_p, float32[N_SHAPES], and normalize it."""
    for k in range(_KEYS):
        if slots[k] >= 0 and sums[slots[k], N_SHAPES] > 0:
            weight = (rarity if k == 0 else 1.0) / (_ONE * np.sqrt(sums[slots[k], N_SHAPES]))
            for shape in range(N_SHAPES):
                log_p[shape] += weight * sums[slots[k], shape]
    most, total = largest(log_p), 0.0
    for shape in range(N_SHAPES):
        total += np.exp(log_p[shape] - most)
    for shape in range(N_SHAPES):
        log_p[shape] -= most + np.log(total)


@allocating
def remember(text: TokenizedText, rarity: F32Array, n_given: i64, log_p: F32Matrix) -> None:
    """Add document memory to log_p, float32[n, N_SHAPES], of the n words of a document, in place.

    log_p: ln p, or ln of values proportional to p. rarity: float32[n], the weight of each word's memory. n_given: words
    at the beginning whose casing is given; the last ends a line.
    """
    token_types, tokens, token_of = text.source.words.token_types, text.tokens, text.token_of
    n = token_types.size
    size = 16
    while size < 2 * _KEYS * n:
        size *= 2
    owners, sums = np.zeros(size, np.uint64), np.zeros((size, N_SHAPES + 1), np.int64)
    slots, evidence = np.empty((n, _KEYS), np.int64), np.empty((n, N_SHAPES), np.int32)
    gives, keys = np.zeros(n, np.bool_), np.empty(_KEYS, np.uint64)
    for i in range(n):
        token = tokens[token_of[i]]
        slots[i] = -1
        if has_case(token.shape_evidence):
            _word_keys(tokens, token_of[i], keys)
            for k in range(_KEYS):
                if keys[k] != u64(0):
                    slots[i, k] = _slot_of(owners, keys[k])
                    owners[slots[i, k]] = keys[k]
            gives[i] = token.position > 0
            total = 0.0
            for shape in range(N_SHAPES):
                total += np.exp(log_p[i, shape])
            for shape in range(N_SHAPES):
                evidence[i, shape] = i32(_ONE * np.exp(log_p[i, shape]) / total + 0.5) * (_GIVEN if i < n_given else 1)
            if gives[i]:
                _add(slots[i], evidence[i], 1, sums)
    begin = 0
    while begin < n:
        end = begin
        while end < n and token_types[end] != NEWLINE and end != n_given - 1:
            if gives[end]:
                _add(slots[end], evidence[end], -1, sums)
            end += 1
        for i in range(begin, end):
            if slots[i, 0] >= 0:
                _recall(slots[i], sums, rarity[i], log_p[i])
        for i in range(begin, end):
            if gives[i]:
                _add(slots[i], evidence[i], 1, sums)
        begin = end + 1


@cache
def _legal_forms() -> dict[str, int]:
    """Return the shapes of legal forms, by their lowercase."""
    forms = [form for (form,) in rows_of("legal_forms.tsv")]
    return dict(zip(map(str.lower, forms), shapes_of(Strings.of(map(str.encode, forms))).tolist(), strict=True))


def share_capitals(buf: U8Array, words: Words, tokens: TokenArray, log_p: F32Matrix) -> None:
    """Change ln p, float32[n, N_SHAPES], of the n words of a column in place. tokens: TOKEN[n], of these words."""
    rows = np.flatnonzero(tokens["shape_evidence"] < BEGIN)
    spans = zip(words.starts[rows].tolist(), words.ends[rows].tolist(), strict=True)
    spelled = [lower_bytes(buf[start:end].tobytes()).decode() for start, end in spans]
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
