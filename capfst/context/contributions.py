"""Take a score of the context model apart: what each feature contributes to ln p of each shape of a word.

In: the words of a text, and the context model. Out: for each word that has case, the contributions of its features, in
words: *after "the"*, *its ending*. Per shape, they add up to ln p of shape_scores.py, up to a constant of the word.

Features that say the same in words are one reason: the word before alone, with the word, and with the domain.
"""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context.context_model import Context
from capfst.context.features import (
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_FIRST_FEATURES,
    N_NEIGHBOR_FEATURES,
    NO_DECISION,
    PRIOR_WEIGHT,
    STAGE1_LEAD,
    decision_features,
    first_features,
    gets_first_pass,
    has_capitals,
    lead,
    likeliest,
    neighbor_features,
    settled_decision,
    word_features,
)
from capfst.context.lexicon import UNSEEN, has_case
from capfst.context.network import gets_network
from capfst.context.network_scores import Queue, add_network
from capfst.context.shape_scores import score, scores_of, sum_rows
from capfst.context.tokens import Lowercaser, TokenizedText, hash_lowercase, read_words
from capfst.kernels import inner, kernel, part
from capfst.kernels.types import F32Array, F32Matrix, U8Array, U32Array, f32, f64, i64
from capfst.text.tokenizer import NEWLINE

Reasons = dict[str, npt.NDArray[np.float64]]
"""What features, in words, contribute to ln p of each shape, float64[N_SHAPES]."""

_WORD, _LETTERS, _ENDING, _POSITION = "the word {0}", "its letters", "its ending", "its position and usual case"
_AFTER, _BEFORE, _BETWEEN = "after {-1}", "before {1}", "between {-1} and {1}"
_AFTER_2, _BEFORE_2 = "after {-2} {-1}", "before {1} {2}"
_USUAL, _KINDS = "the usual case of it and its neighbors", "the kinds of words around it"
_FIRST = (_WORD, _AFTER, _BEFORE, _AFTER, _BEFORE, _USUAL, _POSITION, _WORD)
_NEIGHBORS = (
    *(_AFTER, _BEFORE, "two words after {-2}", "two words before {2}", "three words after {-3}"),
    *("three words before {3}", _AFTER, _BEFORE, _AFTER_2, _BEFORE_2, _BETWEEN, _BETWEEN, _AFTER_2, _BEFORE_2, _KINDS),
    *(_AFTER, _BEFORE, _ENDING, _USUAL, _USUAL, _POSITION, *[_KINDS] * 12),
    *(_USUAL, _WORD, _AFTER, _BEFORE, _ENDING, _KINDS, _POSITION, _USUAL),
)
_DECIDED, _CAPITALS = "the case of its neighbors here", "the capitals in the line"
_DECISIONS = ("the first decision on it", *[_DECIDED] * 12, *[_CAPITALS] * 3)
_WORDS_AROUND = "all words around it"

_WORDINGS = (
    (r"(the (start|end) of the sentence) \1", r"\1"),
    (r"^after (the start of the sentence) (.+)", r"after \2 at \1"),
    (r"^before (.+) (the end of the sentence)", r"before \1 at \2"),
    (r"^(after|before) the (start|end) of the sentence", r"at the \2 of the sentence"),
)
"""What to write instead of names that name the start or end of the sentence as a word."""

# The rows of contributions: of the first pass, or of stages 1 and 2.
_OWN = N_NEIGHBOR_FEATURES
_LAST = _OWN + MAX_WORD_FEATURES
_NETWORK = _LAST + N_DECISION_FEATURES
_N_ROWS = _NETWORK + 1
_SETTLED, _CERTAIN, _CORRECTED = range(3)
"""The pass that decides: the first, stage 1, or stage 2 and the network."""


@inner
def _put(rows: U32Array, features: U32Array, n: i64, first: i64, out: F32Matrix) -> None:
    """Fill out[first : first + n] with the scores, which are integers, of n features."""
    for j in range(n):
        out[first + j, 1], out[first + j, 2], out[first + j, 3] = scores_of(sum_rows(rows, part(features, j, 1), 1), 1)


@inner
def _scale(scale: f64, z: F32Array, out: F32Matrix) -> None:
    """Multiply the scores by a scale, in place; fill z with their sums by shape, as shape_scores.py rounds them."""
    for k in range(N_SHAPES):
        total = f32(0)
        for j in range(out.shape[0]):
            total += out[j, k]
            out[j, k] *= f32(scale)
        z[k] = scale * total


@kernel
def _contribute(
    buf: U8Array,
    words: Words,
    i: i64,
    domain: i64,
    text: TokenizedText,
    lowercaser: Lowercaser,
    context: Context,
    decisions: U8Array,
    n_words: i64,
    n_capitals: i64,
    features: U32Array,
    z: F32Array,
    queue: Queue,
    out: F32Matrix,
) -> i64:
    """Fill out[_N_ROWS, N_SHAPES], which is 0, with the contributions of the features of word i. Return the pass that
    decides: _SETTLED, _CERTAIN or _CORRECTED.

    n_words, n_capitals: as in `decision_features`. features, z, queue: working memory.
    """
    t = text.token_of[i]
    token = text.tokens[t]
    if gets_first_pass(token.shape_evidence):
        first_features(text.tokens, t, domain, features)
        _put(context.first_pass, features, N_FIRST_FEATURES, 0, out)
        _scale(context.scales[2], z, out)
        if settled_decision(z) != NO_DECISION:
            return _SETTLED
    neighbor_features(text.tokens, t, domain, features)
    _put(context.stage1, features, N_NEIGHBOR_FEATURES, 0, out)
    if token.shape_evidence != UNSEEN and text.labels[i] != 0:
        for k in range(1, N_SHAPES):
            out[_OWN, k] = context.words[text.labels[i]].scores[k - 1]
    else:
        hash_lowercase(buf, words, i, lowercaser)
        n = word_features(lowercaser.hashes, token.shape_evidence, domain, features)
        _put(context.stage1, features, n, _OWN, out)
    _scale(context.scales[0], z, out)
    if lead(z, likeliest(z)) >= STAGE1_LEAD:
        return _CERTAIN
    for j in range(_LAST):
        for k in range(N_SHAPES):
            out[j, k] *= f32(PRIOR_WEIGHT)
    decision_features(text.tokens, decisions, t, n_words, n_capitals, features)
    _put(context.stage2, features, N_DECISION_FEATURES, _LAST, out)
    for j in range(_LAST, _N_ROWS):
        for k in range(N_SHAPES):
            out[j, k] *= f32(context.scales[1])
    for k in range(N_SHAPES):
        z[k] = 0
        for j in range(_NETWORK):
            z[k] += out[j, k]
    if len(context.network.embeddings) != 0 and gets_network(text.tokens, t, lead(z, likeliest(z))):
        queue.words[0], queue.domains[0] = i, domain
        add_network(text.tokens, text.token_of, decisions, 1, i - _NETWORK, context.network, queue, out)
    return _CORRECTED


def contributions(
    context: Context,
    buf: npt.NDArray[np.uint8],
    words: Words,
    transducer: Transducer,
    begins: npt.NDArray[np.bool_],
    language: int,
    chosen: range,
) -> list[Reasons]:
    """Return the reasons for the shape of each of the `chosen` words; none for those without case. The other arguments
    are those of `casing_costs`."""
    text, lowercaser = read_words(buf, words, begins, context, transducer, True, language)
    log_p = np.empty((len(words.starts), N_SHAPES), np.float32)
    decisions = score(buf, words, text, lowercaser, context, log_p)
    features, z = np.empty(_N_ROWS, np.uint32), np.empty(N_SHAPES, np.float32)
    queue = Queue.of(1)
    reasons = []
    for i in chosen:
        of_word: Reasons = defaultdict(lambda: np.zeros(N_SHAPES))
        if has_case(text.tokens["shape_evidence"][text.token_of[i]]):
            number = int(np.searchsorted(text.ends, i, side="right"))
            begin = int(text.ends[number - 1]) if number else 0
            those = decisions[text.token_of[begin : text.ends[number]]]
            out = np.zeros((_N_ROWS, N_SHAPES), np.float32)
            decided = _contribute(
                buf, words, i, int(text.domains[number]), text, lowercaser, context, decisions,
                int((those != NO_DECISION).sum()), sum(map(has_capitals, those.tolist())), features, z, queue, out,
            )  # fmt: skip
            own = [_WORD if text.labels[i] else _LETTERS] * MAX_WORD_FEATURES
            names = _FIRST if decided == _SETTLED else (*_NEIGHBORS, *own, *_DECISIONS, _WORDS_AROUND)
            for name, row in zip(names, out, strict=False):
                if row.any():
                    of_word[_in_words(name, buf, words, i, begins)] += row
        reasons.append(dict(of_word))
    return reasons


def _in_words(name: str, buf: npt.NDArray[np.uint8], words: Words, i: int, begins: npt.NDArray[np.bool_]) -> str:
    """Return the name of a feature of word i, with the words that it is about."""

    def word(match: re.Match[str]) -> str:
        distance = int(match[1])
        step = 1 if distance > 0 else -1
        for k in range(i, i + distance, step):
            after = k + step
            is_inside = 0 <= after < len(begins) and words.token_types[after] != NEWLINE
            if not is_inside or begins[max(k, after)]:
                return "the end of the sentence" if step > 0 else "the start of the sentence"
        k = i + distance
        text = buf[words.starts[k] : words.ends[k]].tobytes().decode("utf-8", "surrogatepass")
        return f'"{text}"'

    named = re.sub(r"\{(-?\d)\}", word, name)
    for pattern, wording in _WORDINGS:
        named = re.sub(pattern, wording, named)
    return named
