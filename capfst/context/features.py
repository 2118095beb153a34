"""Features: numbers that say what is known of a word and of its neighbours, and are rows of a hashed table.

In: the tokens of a line, with `PADDING` tokens before and after each line. Out: uint32 hashes of feature templates
with their values; the low bits of a hash are the row of the table that holds the feature's weights (Weinberger et al.
2009, feature hashing). A word has four sets of features:

* `first_features`: few of the following ones, as a first look at a word: if they suffice, the others are not asked.
* `word_features`: the word alone, if it is unseen also its letters in this domain. Stage 1 scores a word by these …
* `neighbour_features`: … and by these: the words up to three places away, their classes and shape evidence, and the
  domain of the line.
* `decision_features`: what stage 2 scores it by: what stage 1 decided on the words up to two places away, and on how
  many of the line's words it decided for capitals.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context.classes import BOUNDARY
from capfst.context.lexicon import (
    BEGIN,
    END,
    MAX_TRIGRAMS,
    N_HASHES,
    PREFIX,
    TRIGRAMS,
    UNSEEN,
    WHOLE,
    evidence_in_12,
    evidence_in_25,
)
from capfst.kernels import inlined, inner, kernel, prefetch
from capfst.kernels.types import (
    Array,
    F32Array,
    F32Matrix,
    F64Array,
    I8Matrix,
    Record,
    U8Array,
    U32Array,
    U64Array,
    i64,
    u8,
    u32,
    u64,
)
from capfst.system.hashing import multiplier, multiply_shift

TOKEN = np.dtype(
    [
        ("word_hash", "u4"),
        ("suffix2_hash", "u4"),  # of its last two characters
        ("shape_evidence", "u1"),
        ("frequency_rank", "u1"),  # 1 … N_RANKED for the most frequent words, else 0
        ("position", "u1"),  # in its line, at most MAX_POSITION
        ("lower_class", "u1"),  # the class of its form without capitals,
        ("cased_class", "u1"),  # and that of its most frequent form with capitals, as classes.word_classes
        ("language_evidence", "u1"),  # shape evidence in the language of its line, if the model knows several, else 0
    ],
    align=True,
)
"""A token in its line: all that the features of the token and of its neighbours read of it."""
TokenArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(TOKEN)]
Token: TypeAlias = Annotated[Any, Record(TOKEN)]

Scores = TypeVar("Scores", F32Array, F64Array)
Features = TypeVar("Features", U32Array, U64Array)
Table = TypeVar("Table", U32Array, F32Matrix, I8Matrix)

PADDING = 3
"""Tokens between two lines, as many as the features read at either side."""
N_RANKED = 60
MAX_POSITION = 3
MAX_WORD_FEATURES = 2 + TRIGRAMS - PREFIX + 2 * MAX_TRIGRAMS
N_FIRST_FEATURES = 8
N_NEIGHBOUR_FEATURES = 41
N_DECISION_FEATURES = 16

FIRST_LOOK_LEAD = 3.5
"""If the first look's best score is so far before the others (in nats: 33 to 1), stages 1 and 2 are not asked."""
STAGE1_LEAD = 3.9
"""As FIRST_LOOK_LEAD, of stage 1: with it, stage 2 is not asked."""
PRIOR_WEIGHT = 0.5
"""Stage 2 adds its scores to stage 1's log-probabilities times this."""
NO_DECISION = 15
"""In the place of a decision (see `decision`), for tokens without case."""

BLOCK = 16
"""Words whose rows of weights are fetched from memory together."""

_RANKED = 16  # a frequent word's rank, plus this, is told from a decision
_LN_99, _LN_9, _LN_4, _LN_7_3 = np.log([99, 9, 4, 7 / 3]).tolist()
_SHARES = 8
_MANY_OTHERS = 12

# What the hash of a feature multiplies: the hashes of words, by their place, of the word's ending; classes, evidence,
# decisions and the like, all in one number; the number of its template; and the evidence in the line's language.
_LEFT3, _LEFT2, _LEFT, _OWN, _RIGHT, _RIGHT2, _RIGHT3, _SUFFIX, _REST, _TEMPLATE, _LANGUAGE = map(
    multiplier, range(101, 112)
)


@inner
def sentence_padding(tokens: TokenArray, t: i64) -> i64:
    """Writes what stands between two lines to tokens[t : t + PADDING]: an end and begins; the index behind them."""
    for k in range(PADDING):
        boundary = BEGIN if k else END
        padding = tokens[t + k]
        padding.word_hash = padding.suffix2_hash = padding.shape_evidence = boundary
        padding.frequency_rank = padding.position = padding.language_evidence = 0
        padding.lower_class = padding.cased_class = BOUNDARY
    return t + PADDING


@inner
def gets_first_look(evidence: u8) -> bool:
    """Whether shape evidence is of a word with case that was seen."""
    return (evidence > UNSEEN) & (evidence < BEGIN)


@inner
def _times(number: i64, factor: u64) -> u64:
    return u64(number) * factor


@inner
def _hash(template: i64, total: u64) -> u32:
    """uint32, the feature of a template and of the numbers in a sum of products."""
    return multiply_shift(total + _times(template, _TEMPLATE))


@inner
def first_features(tokens: TokenArray, t: i64, domain: i64, features: U32Array) -> None:
    """Fills features[:N_FIRST_FEATURES] of tokens[t], in a line of a domain: uint32."""
    left, own, right = tokens[t - 1], tokens[t], tokens[t + 1]
    word, w_left, w_right = _times(own.word_hash, _OWN), _times(left.word_hash, _LEFT), _times(right.word_hash, _RIGHT)
    e, d = i64(own.shape_evidence), i64(domain)
    around = (i64(left.shape_evidence) << 8 | e) << 8 | i64(right.shape_evidence)
    in_25, in_language = _times(evidence_in_25(e), _REST), _times(own.language_evidence, _LANGUAGE)
    f = features
    f[0] = _hash(70, word)
    f[1] = _hash(71, w_left + word)
    f[2] = _hash(72, w_right + word)
    f[3] = _hash(73, w_left + in_25)
    f[4] = _hash(74, w_right + in_25)
    f[5] = _hash(75, _times(around, _REST))
    f[6] = _hash(76, in_language + _times((d << 8 | i64(own.position)) << 8 | e, _REST))
    f[7] = _hash(77, word + _times(d, _REST))


@kernel
def word_features(hashes: U32Array, evidence: i64, domain: i64, features: U32Array) -> i64:
    """Fills features[:MAX_WORD_FEATURES], uint32, of a word alone, given its hashes, uint32[N_HASHES], its shape
    evidence and the domain of its line, which matters if it is unseen; returns how many there are."""
    in_25 = _times(evidence_in_25(evidence), _REST)
    features[0] = _hash(1, _times(evidence, _REST))
    features[1] = _hash(2, _times(hashes[WHOLE], _OWN))
    n = 2
    for k in range(PREFIX, TRIGRAMS):
        if hashes[k] != 0:
            features[n] = _hash(3, _times(hashes[k], _OWN) + in_25)
            n += 1
    if evidence == UNSEEN:
        for k in range(TRIGRAMS, N_HASHES):
            if hashes[k] != 0:
                trigram = _times(hashes[k], _OWN)
                features[n] = _hash(45, trigram)
                features[n + 1] = _hash(46, trigram + _times(domain, _REST))
                n += 2
    return n


@inner
def _class_features(
    left2: u8, left: i64, own: i64, right: i64, right2: u8, evidence: i64, template: i64, first: i64, features: Features
) -> None:
    """Fills features[first : first + 5] of the classes of five words in a row, given the shape evidence of the
    one in the middle."""
    left, own, right = i64(left) << 8, i64(own), i64(right) << 8
    e25, e12 = evidence_in_25(evidence), evidence_in_12(evidence)
    features[first] = _hash(template, _times((left | own) << 8 | e12, _REST))
    features[first + 1] = _hash(template + 1, _times((right | own) << 8 | e12, _REST))
    features[first + 2] = _hash(template + 2, _times((left << 8 | right) << 8 | e25, _REST))
    features[first + 3] = _hash(template + 3, _times((left | i64(left2)) << 8 | e25, _REST))
    features[first + 4] = _hash(template + 4, _times((right | i64(right2)) << 8 | e25, _REST))


@inner
def neighbour_features(tokens: TokenArray, t: i64, domain: i64, features: Features) -> None:
    """Fills features[:N_NEIGHBOUR_FEATURES] of tokens[t], in a line of a domain: uint32."""
    left2, left, own, right, right2 = tokens[t - 2], tokens[t - 1], tokens[t], tokens[t + 1], tokens[t + 2]
    word, suffix2 = _times(own.word_hash, _OWN), _times(own.suffix2_hash, _SUFFIX)
    w_left, w_left2 = _times(left.word_hash, _LEFT), _times(left2.word_hash, _LEFT2)
    w_right, w_right2 = _times(right.word_hash, _RIGHT), _times(right2.word_hash, _RIGHT2)
    e, e_left, e_right = i64(own.shape_evidence), i64(left.shape_evidence), i64(right.shape_evidence)
    e25, e12_left, e12_right = evidence_in_25(e), evidence_in_12(e_left), evidence_in_12(e_right)
    lower, lower_left, lower_right = i64(own.lower_class), i64(left.lower_class), i64(right.lower_class)
    # How many unseen words are names is due to the text more than to its language, in which their letters differ.
    d = i64(domain) if e != UNSEEN else 0
    in_25, domain_in_25 = _times(e25, _REST), _times(d << 8 | e25, _REST)
    in_language = _times(own.language_evidence, _LANGUAGE)
    f = features
    # The words around, with the evidence of the word.
    f[0] = _hash(4, w_left + in_25)
    f[1] = _hash(5, w_right + in_25)
    f[2] = _hash(6, w_left2 + in_25)
    f[3] = _hash(7, w_right2 + in_25)
    f[4] = _hash(8, _times(tokens[t - 3].word_hash, _LEFT3) + in_25)
    f[5] = _hash(9, _times(tokens[t + 3].word_hash, _RIGHT3) + in_25)
    # In pairs.
    f[6] = _hash(10, w_left + word)
    f[7] = _hash(11, w_right + word)
    f[8] = _hash(12, w_left + w_left2 + in_25)
    f[9] = _hash(13, w_right + w_right2 + in_25)
    f[10] = _hash(14, w_left + w_right + in_25)
    # In threes, with the word itself.
    f[11] = _hash(15, w_left + w_right + word)
    f[12] = _hash(16, w_left + w_left2 + word)
    f[13] = _hash(17, w_right + w_right2 + word)
    f[14] = _hash(18, word + _times(lower_left << 8 | lower_right, _REST))
    # The ending of the word.
    f[15] = _hash(19, w_left + suffix2)
    f[16] = _hash(20, w_right + suffix2)
    f[17] = _hash(21, suffix2 + _times(e_right, _REST))
    # Shape evidence.
    f[18] = _hash(22, _times((e_left << 8 | e) << 8 | e_right, _REST))
    f[19] = _hash(23, _times((e12_left << 8 | e12_right) << 8 | e, _REST))
    f[20] = _hash(24, in_language + _times(i64(own.position) << 8 | e25, _REST))
    # Classes.
    f[21] = _hash(25, _times((lower_left << 8 | i64(left2.lower_class)) << 8 | lower, _REST))
    f[22] = _hash(26, _times((lower_right << 8 | i64(right2.lower_class)) << 8 | lower, _REST))
    _class_features(left2.lower_class, lower_left, lower, lower_right, right2.lower_class, e, 27, 23, f)
    _class_features(
        left2.cased_class, left.cased_class, own.cased_class, right.cased_class, right2.cased_class, e, 32, 28, f
    )
    # What is a capital in one domain and none in another.
    f[33] = _hash(37, in_language + _times(d << 8 | e, _REST))
    f[34] = _hash(38, word + _times(d, _REST))
    f[35] = _hash(39, w_left + domain_in_25)
    f[36] = _hash(40, w_right + domain_in_25)
    f[37] = _hash(41, in_language + suffix2 + domain_in_25)
    f[38] = _hash(42, _times((d << 8 | lower) << 8 | e12_left, _REST))
    f[39] = _hash(43, in_language + _times((d << 8 | i64(own.position)) << 8 | e25, _REST))
    f[40] = _hash(44, _times(((d << 8 | e12_left) << 8 | e12_right) << 8 | e25, _REST))


@inner
def lead(scores: Scores, shape: i64) -> float:
    """By how much a shape's score, [N_SHAPES], is above the best one of the others: about the log-odds of its p."""
    others = scores[1 if shape == 0 else 0]
    for other in range(1, N_SHAPES):
        others = others if other == shape else max(others, scores[other])
    return scores[shape] - others


@inner
def likeliest(scores: Scores) -> i64:
    """The shape with the best score, [N_SHAPES]; of equal ones the first."""
    best = 0
    for shape in range(1, N_SHAPES):
        best = shape if scores[shape] > scores[best] else best
    return best


@inner
def decision(scores: Scores) -> i64:
    """What stage 1 decides on a word, given the scores of its shapes, [N_SHAPES]; below NO_DECISION.

    0 … 7: LOWER or CAPITALIZED, by the lead of CAPITALIZED, falling; 4 and more are LOWER. 8, 9: UPPER, with a
    lead above ln 4, as at odds of 4 to 1, and with a smaller one. 10: MIXED.
    """
    best = likeliest(scores)
    if best == Shape.UPPER:
        return 8 if lead(scores, Shape.UPPER.value) > _LN_4 else 9
    if best == Shape.MIXED:
        return 10
    above = lead(scores, Shape.CAPITALIZED.value)
    if above > 0:
        return 0 if above > _LN_99 else 1 if above > _LN_9 else 2 if above > _LN_7_3 else 3
    return 4 if above > -_LN_7_3 else 5 if above > -_LN_9 else 6 if above > -_LN_99 else 7


@inner
def settled_decision(scores: Scores) -> i64:
    """What is decided on a word by the first look alone, given the scores of its shapes, [N_SHAPES], as by `decision`;
    NO_DECISION if it does not suffice."""
    lower, capitalized = scores[Shape.LOWER.value], scores[Shape.CAPITALIZED.value]
    upper, mixed = scores[Shape.UPPER.value], scores[Shape.MIXED.value]
    d = 7 if lower - max(capitalized, upper, mixed) >= FIRST_LOOK_LEAD else NO_DECISION
    d = 0 if capitalized - max(lower, upper, mixed) >= FIRST_LOOK_LEAD else d
    d = 8 if upper - max(lower, capitalized, mixed) >= FIRST_LOOK_LEAD else d
    return 10 if mixed - max(lower, capitalized, upper) >= FIRST_LOOK_LEAD else d


@inner
def has_capitals(d: i64) -> i64:
    """Whether a decision is for another shape than LOWER; 1 or 0."""
    return (d <= 3) | ((d >= 8) & (d <= 10))


@inner
def _rank_or_decision(tokens: TokenArray, decisions: U8Array, t: i64) -> i64:
    """Frequency rank of a frequent word, else stage 1's decision."""
    rank = i64(tokens[t].frequency_rank)
    return i64(decisions[t]) if rank == 0 else _RANKED + rank


@inner
def decision_features(
    tokens: TokenArray, decisions: U8Array, t: i64, n_words: i64, n_capitals: i64, features: U32Array
) -> None:
    """Fills features[:N_DECISION_FEATURES] of tokens[t]: uint32.

    decisions: of each token, or NO_DECISION. n_words: how many words with case the line has; n_capitals: for how many
    of them the decision has capitals.
    """
    word = _times(tokens[t].word_hash, _OWN)
    d = i64(decisions[t])
    left, right = _rank_or_decision(tokens, decisions, t - 1), _rank_or_decision(tokens, decisions, t + 1)
    left2, right2 = i64(decisions[t - 2]), i64(decisions[t + 2])
    e12 = evidence_in_12(tokens[t].shape_evidence)
    others = n_words - 1
    share = 0 if others <= 0 else 1 + _SHARES * (n_capitals - has_capitals(d)) // others
    f = features
    # The decisions around.
    f[0] = _hash(50, _times(d, _REST))
    f[1] = _hash(51, _times(d << 8 | left, _REST))
    f[2] = _hash(52, _times(d << 8 | right, _REST))
    f[3] = _hash(53, _times((d << 8 | left) << 8 | right, _REST))
    f[4] = _hash(54, _times((d << 8 | left) << 8 | left2, _REST))
    f[5] = _hash(55, _times((d << 8 | right) << 8 | right2, _REST))
    f[6] = _hash(56, _times(e12 << 8 | left, _REST))
    f[7] = _hash(57, _times(e12 << 8 | right, _REST))
    # With the word.
    f[8] = _hash(58, word + _times(left, _REST))
    f[9] = _hash(59, word + _times(right, _REST))
    f[10] = _hash(60, word + _times(left << 8 | right, _REST))
    f[11] = _hash(61, word + _times(tokens[t - 1].word_hash, _LEFT) + _times(left2, _REST))
    f[12] = _hash(62, word + _times(tokens[t + 1].word_hash, _RIGHT) + _times(right2, _REST))
    # How many other words of the line have capitals.
    f[13] = _hash(63, _times(d << 8 | share, _REST))
    f[14] = _hash(64, _times((d << 8 | share) << 8 | min(others, _MANY_OTHERS), _REST))
    f[15] = _hash(65, _times(e12 << 8 | share, _REST))


@inlined
def prefetch_rows(table: Table, row_size: i64, features: Features, n: i64) -> None:
    """Has the rows of n features brought into the cache, from a table of 2^b rows of `row_size` items, end to end."""
    mask = u64(table.size // row_size - 1)
    for k in range(n):
        prefetch(table, row_size * i64(features[k] & mask))


@inner
def largest(scores: Scores) -> float:
    """The largest of the scores of the shapes, [N_SHAPES]."""
    most = scores[0]
    for shape in range(1, N_SHAPES):
        most = max(most, scores[shape])
    return most
