"""Features: hashes of facts about a word and its neighbors. Each hash selects a row of a table of weights.

In: the tokens of a line, with `PADDING` tokens before and after it. Out: uint32 hashes of feature templates with their
values; the low bits of a hash are the row that holds the feature's weights (feature hashing, Weinberger et al. 2009). A
word has four sets of features:

* `first_features`: a few of the following ones, for the first pass. If these suffice, stages 1 and 2 are skipped.
* `word_features`, for stage 1: the word alone; if it is unseen, also its letters in this domain.
* `neighbor_features`, for stage 1: the words up to three positions away, their classes and shape evidence, and the
  domain of the line.
* `decision_features`, for stage 2: stage 1's decisions on the words up to two positions away, and how many of the
  line's words have capitals.

A gap between two words, where a sentence may begin, has features of its own: `gap_features`.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import lexicon as lx
from capfst.context.classes import BOUNDARY
from capfst.kernels import inlined, inner, prefetch
from capfst.kernels.types import Array, F32Array, F32Matrix, F64Array, I8Matrix, Record, U8Array, U32Array, U64Array

from capfst.kernels.types import f64, i64, u8, u32, u64  # isort: skip
from capfst.system.hashing import hash_pair, multiplier, multiply_shift

TOKEN = np.dtype(
    [
        ("word_hash", "u4"),
        ("suffix2_hash", "u4"),  # of the last two characters
        ("shape_evidence", "u1"),
        ("frequency_rank", "u1"),  # 1 … N_RANKED for the most frequent words, else 0
        ("position", "u1"),  # in its line, at most MAX_POSITION
        ("lower_class", "u1"),  # the class of its form without capitals,
        ("cased_class", "u1"),  # and of its most frequent form with capitals, by classes.word_classes
        ("language_evidence", "u1"),  # shape evidence in the line's language, if the model has several; else 0
        ("embedding", "u2"),  # its row of the network's embeddings; 0 in padding
    ],
    align=True,
)
"""A token in its line, with all that the features of the token and of its neighbors read."""
TokenArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(TOKEN)]
Token: TypeAlias = Annotated[Any, Record(TOKEN)]

Scores = TypeVar("Scores", F32Array, F64Array)
Features = TypeVar("Features", U32Array, U64Array)
Table = TypeVar("Table", U32Array, F32Matrix, I8Matrix)

PADDING = 4
"""Tokens between two lines, as many as the network reads on either side."""
N_RANKED = 60
MAX_POSITION = 3
MAX_WORD_FEATURES = 2 + lx.TRIGRAMS - lx.PREFIX + 2 * lx.MAX_TRIGRAMS

N_FIRST_FEATURES, N_NEIGHBOR_FEATURES, N_DECISION_FEATURES = 8, 41, 16
FIRST_TEMPLATE, NEIGHBOR_TEMPLATE, DECISION_TEMPLATE = 70, 4, 50
"""The templates of the first feature of each set; the others follow. contributions.py has their names."""
OWN_FEATURES = N_FIRST_FEATURES + N_NEIGHBOR_FEATURES
DECIDED_FEATURES = OWN_FEATURES + MAX_WORD_FEATURES
N_FEATURES = DECIDED_FEATURES + N_DECISION_FEATURES
"""A word's features of the four sets in one array: where those of the word alone and those of decisions begin, and the
end."""
N_GAP_FEATURES = 17
SINCE = 10
"""The feature of a gap that depends on where the sentence began."""
GAP_WORDS = 5
"""Words around a gap that its features read: two before it, and three after it."""
LONGEST_SINCE = 15
"""The largest number of words since the last sentence began that the features of a gap distinguish."""
QUOTATION = 60
"""Words after which a quotation is taken to be over."""

FIRST_PASS_LEAD, STAGE1_LEAD, STAGE2_LEAD = 3.5, 2.5, 1.5
"""If the best score of a stage exceeds the others by this (in nats; 3.5: odds of 33 to 1), the next ones are skipped:
stages 1 and 2, stage 2, the network."""
PRIOR_WEIGHT = 0.5
"""Stage 2 adds its scores to stage 1's log-probabilities multiplied by this."""
NO_DECISION = 15
"""Pseudo decision (see `decision`): the token has no case, or the first pass does not settle it."""

BLOCK = 16
"""Words whose rows of weights are prefetched together."""

_RANKED = 16  # added to a frequent word's rank, which makes it larger than any decision
_LN_99, _LN_9, _LN_4, _LN_7_3 = np.log([99, 9, 4, 7 / 3]).tolist()
_FRACTIONS = 8
_MANY_OTHERS = 12

# The hash of a feature is a sum of products of these factors with the hashes of words, by their position; the hash of
# the word's ending; classes, evidence, decisions and the like, packed into one number; the number of the template; and
# the evidence in the line's language.
_LEFT3, _LEFT2, _LEFT, _OWN, _RIGHT, _RIGHT2, _RIGHT3, _SUFFIX, _REST, _TEMPLATE, _LANGUAGE, _MARKS = map(
    multiplier, range(101, 113)
)


@inner
def sentence_padding(tokens: TokenArray, t: i64) -> i64:
    """Write the padding between two lines, an end and beginnings, to tokens[t : t + PADDING]; return the index after
    it."""
    for k in range(PADDING):
        boundary = lx.BEGIN if k else lx.END
        padding = tokens[t + k]
        padding.word_hash = padding.suffix2_hash = padding.shape_evidence = boundary
        padding.frequency_rank = padding.position = padding.language_evidence = padding.embedding = 0
        padding.lower_class = padding.cased_class = BOUNDARY
    return t + PADDING


@inner
def known_token(word: lx.WordRecord, token: Token) -> None:
    """Fill the token of a word, without what depends on its line."""
    token.word_hash, token.suffix2_hash = word.word_hash, word.suffix2_hash
    token.frequency_rank = word.frequency_rank
    token.lower_class, token.cased_class = word.lower_class, word.cased_class
    token.shape_evidence, token.embedding = word.shape_evidence, word.embedding


@inner
def gets_first_pass(evidence: u8) -> bool:
    """Return whether shape evidence is that of a seen word with case."""
    return (evidence > lx.UNSEEN) & (evidence < lx.BEGIN)


@inner
def _times(number: i64, factor: u64) -> u64:
    return u64(number) * factor


@inner
def _hash(template: i64, total: u64) -> u32:
    """Return the feature, uint32, of a template and of the values in a sum of products."""
    return multiply_shift(total + _times(template, _TEMPLATE))


@inner
def first_features(tokens: TokenArray, t: i64, domain: i64, features: U32Array) -> None:
    """Fill features[:N_FIRST_FEATURES], uint32, of tokens[t] in a line of this domain."""
    left, own, right = tokens[t - 1], tokens[t], tokens[t + 1]
    word, w_left, w_right = _times(own.word_hash, _OWN), _times(left.word_hash, _LEFT), _times(right.word_hash, _RIGHT)
    e, d = i64(own.shape_evidence), i64(domain)
    around = (i64(left.shape_evidence) << 8 | e) << 8 | i64(right.shape_evidence)
    in_25, in_language = _times(lx.evidence_in_25(e), _REST), _times(own.language_evidence, _LANGUAGE)
    f = features
    f[0] = _hash(70, word)
    f[1] = _hash(71, w_left + word)
    f[2] = _hash(72, w_right + word)
    f[3] = _hash(73, w_left + in_25)
    f[4] = _hash(74, w_right + in_25)
    f[5] = _hash(75, _times(around, _REST))
    f[6] = _hash(76, in_language + _times((d << 8 | i64(own.position)) << 8 | e, _REST))
    f[7] = _hash(77, word + _times(d, _REST))


@inner
def word_features(hashes: U32Array, evidence: i64, domain: i64, features: U32Array) -> i64:
    """Fill features[:MAX_WORD_FEATURES], uint32, of a word alone; return how many it has.

    hashes: uint32[N_HASHES]. evidence: the word's shape evidence. domain: that of its line; matters for unseen words
    only.
    """
    in_25 = _times(lx.evidence_in_25(evidence), _REST)
    features[0] = _hash(1, _times(evidence, _REST))
    features[1] = _hash(2, _times(hashes[lx.WHOLE], _OWN))
    n = 2
    for k in range(lx.PREFIX, lx.TRIGRAMS):
        if hashes[k] != 0:
            features[n] = _hash(3, _times(hashes[k], _OWN) + in_25)
            n += 1
    if evidence == lx.UNSEEN:
        for k in range(lx.TRIGRAMS, lx.N_HASHES):
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
    """Fill features[first : first + 5] from the classes of five consecutive words and the shape evidence of the middle
    one."""
    left, own, right = i64(left) << 8, i64(own), i64(right) << 8
    e25, e12 = lx.evidence_in_25(evidence), lx.evidence_in_12(evidence)
    features[first] = _hash(template, _times((left | own) << 8 | e12, _REST))
    features[first + 1] = _hash(template + 1, _times((right | own) << 8 | e12, _REST))
    features[first + 2] = _hash(template + 2, _times((left << 8 | right) << 8 | e25, _REST))
    features[first + 3] = _hash(template + 3, _times((left | i64(left2)) << 8 | e25, _REST))
    features[first + 4] = _hash(template + 4, _times((right | i64(right2)) << 8 | e25, _REST))


@inner
def neighbor_features(tokens: TokenArray, t: i64, domain: i64, features: Features) -> None:
    """Fill features[:N_NEIGHBOR_FEATURES], uint32, of tokens[t] in a line of this domain."""
    left2, left, own, right, right2 = tokens[t - 2], tokens[t - 1], tokens[t], tokens[t + 1], tokens[t + 2]
    word, suffix2 = _times(own.word_hash, _OWN), _times(own.suffix2_hash, _SUFFIX)
    w_left, w_left2 = _times(left.word_hash, _LEFT), _times(left2.word_hash, _LEFT2)
    w_right, w_right2 = _times(right.word_hash, _RIGHT), _times(right2.word_hash, _RIGHT2)
    e, e_left, e_right = i64(own.shape_evidence), i64(left.shape_evidence), i64(right.shape_evidence)
    e25, e12_left, e12_right = lx.evidence_in_25(e), lx.evidence_in_12(e_left), lx.evidence_in_12(e_right)
    lower, lower_left, lower_right = i64(own.lower_class), i64(left.lower_class), i64(right.lower_class)
    # How many unseen words are names depends on the text more than on its language; their letters do on the language.
    d = i64(domain) if e != lx.UNSEEN else 0
    in_25, domain_in_25 = _times(e25, _REST), _times(d << 8 | e25, _REST)
    in_language = _times(own.language_evidence, _LANGUAGE)
    f = features
    # Neighbors, with the evidence of the word.
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
    # The same in this domain alone.
    f[33] = _hash(37, in_language + _times(d << 8 | e, _REST))
    f[34] = _hash(38, word + _times(d, _REST))
    f[35] = _hash(39, w_left + domain_in_25)
    f[36] = _hash(40, w_right + domain_in_25)
    f[37] = _hash(41, in_language + suffix2 + domain_in_25)
    f[38] = _hash(42, _times((d << 8 | lower) << 8 | e12_left, _REST))
    f[39] = _hash(43, in_language + _times((d << 8 | i64(own.position)) << 8 | e25, _REST))
    f[40] = _hash(44, _times(((d << 8 | e12_left) << 8 | e12_right) << 8 | e25, _REST))


@inner
def add_mark(marks: u32, mark: Token) -> u32:
    """Return the hash of the marks in a gap, given that of the marks before the last one, or 0."""
    return u32(hash_pair(marks, mark.word_hash))


@inner
def since_feature(marks: u32, since: i64) -> u32:
    """Return the feature SINCE of a gap, uint32; the arguments are those of `gap_features`."""
    return _hash(90, _times(marks, _MARKS) + _times(since, _REST))


@inner
def gap_features(words: TokenArray, marks: u32, since: i64, is_open: bool, features: U32Array) -> None:
    """Fill features[:N_GAP_FEATURES], uint32, of a gap between words, TOKEN[GAP_WORDS].

    marks: as from `add_mark`. since: how many words ago a sentence began, at most LONGEST_SINCE. is_open: whether the
    gap is in a quotation.
    """
    left2, left, right, right2, right3 = words[0], words[1], words[2], words[3], words[4]
    w_left, w_left2 = _times(left.word_hash, _LEFT), _times(left2.word_hash, _LEFT2)
    w_right, w_right2 = _times(right.word_hash, _RIGHT), _times(right2.word_hash, _RIGHT2)
    m = _times(marks, _MARKS)
    e25 = i64(lx.evidence_in_25(i64(left.shape_evidence))) << 8 | i64(lx.evidence_in_25(i64(right.shape_evidence)))
    f = features
    f[0] = _hash(80, m)
    f[1] = _hash(81, w_right)
    f[2] = _hash(82, m + w_right)
    f[3] = _hash(83, w_left)
    f[4] = _hash(84, m + w_left)
    f[5] = _hash(85, w_right + w_right2)
    f[6] = _hash(86, w_left + w_right)
    f[7] = _hash(87, w_left + w_left2)
    f[8] = _hash(88, m + w_right2)
    f[9] = _hash(89, w_right + w_right2 + _times(right3.word_hash, _RIGHT3))
    f[SINCE] = since_feature(marks, since)
    f[11] = _hash(91, m + _times(i64(is_open), _REST))
    f[12] = _hash(92, m + _times(e25, _REST))
    f[13] = _hash(93, m + _times(left.suffix2_hash, _SUFFIX))
    f[14] = _hash(94, m + _times(i64(left.lower_class) << 8 | i64(right.lower_class), _REST))
    f[15] = _hash(95, m + _times(i64(right.lower_class) << 8 | i64(right2.lower_class), _REST))
    f[16] = _hash(96, m + w_left + w_right)


@inner
def lead(scores: Scores, shape: i64) -> float:
    """Return how much a shape's score, of [N_SHAPES], exceeds the best of the others: about the log-odds of its
    probability."""
    others = scores[1 if shape == 0 else 0]
    for other in range(1, N_SHAPES):
        others = others if other == shape else max(others, scores[other])
    return scores[shape] - others


@inner
def likeliest(scores: Scores) -> i64:
    """Return the shape with the best score, of [N_SHAPES]; of equal ones, the first."""
    best = 0
    for shape in range(1, N_SHAPES):
        best = shape if scores[shape] > scores[best] else best
    return best


@inner
def decision(scores: Scores) -> i64:
    """Return stage 1's decision on a word, a number below NO_DECISION, given the scores of its shapes, [N_SHAPES].

    0 … 7: LOWER or CAPITALIZED, by descending lead of CAPITALIZED; from 4 on, LOWER. 8, 9: UPPER, with a lead above ln
    4 (odds of 4 to 1) and with a smaller one. 10: MIXED.
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
def settled_by(lower: float, capitalized: float, upper: float, mixed: float) -> i64:
    """Return the decision (see `decision`) on a word by the first pass alone, given the scores of its shapes;
    NO_DECISION if no shape has the necessary lead."""
    d = 7 if lower - max(capitalized, upper, mixed) >= FIRST_PASS_LEAD else NO_DECISION
    d = 0 if capitalized - max(lower, upper, mixed) >= FIRST_PASS_LEAD else d
    d = 8 if upper - max(lower, capitalized, mixed) >= FIRST_PASS_LEAD else d
    return 10 if mixed - max(lower, capitalized, upper) >= FIRST_PASS_LEAD else d


@inner
def has_capitals(d: i64) -> i64:
    """Return 1 if a decision is for another shape than LOWER, else 0."""
    return (d <= 3) | ((d >= 8) & (d <= 10))


@inner
def _rank_or_decision(tokens: TokenArray, decisions: U8Array, t: i64) -> i64:
    """Return the frequency rank of a frequent word, plus _RANKED; else stage 1's decision on the word."""
    rank = i64(tokens[t].frequency_rank)
    return i64(decisions[t]) if rank == 0 else _RANKED + rank


@inner
def decision_features(
    tokens: TokenArray, decisions: U8Array, t: i64, n_words: i64, n_capitals: i64, features: U32Array
) -> None:
    """Fill features[:N_DECISION_FEATURES], uint32, of tokens[t].

    decisions: on each token, or NO_DECISION. n_words: the number of words with case in the line; n_capitals: the number
    of those whose decision has capitals.
    """
    word = _times(tokens[t].word_hash, _OWN)
    d = i64(decisions[t])
    left, right = _rank_or_decision(tokens, decisions, t - 1), _rank_or_decision(tokens, decisions, t + 1)
    left2, right2 = i64(decisions[t - 2]), i64(decisions[t + 2])
    e12 = lx.evidence_in_12(tokens[t].shape_evidence)
    others = n_words - 1
    fraction = 0 if others <= 0 else 1 + _FRACTIONS * (n_capitals - has_capitals(d)) // others
    f = features
    # Decisions on the word and its neighbors.
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
    # The fraction of the line's other words that have capitals.
    f[13] = _hash(63, _times(d << 8 | fraction, _REST))
    f[14] = _hash(64, _times((d << 8 | fraction) << 8 | min(others, _MANY_OTHERS), _REST))
    f[15] = _hash(65, _times(e12 << 8 | fraction, _REST))


@inlined
def prefetch_rows(table: Table, row_size: i64, features: Features, n: i64) -> None:
    """Prefetch the rows of n features, from a table of 2^b consecutive rows of `row_size` items."""
    mask = u64(table.size // row_size - 1)
    for k in range(n):
        prefetch(table, row_size * i64(features[k] & mask))


@inner
def largest(scores: Scores) -> float:
    """Return the largest of the scores of the shapes, [N_SHAPES]."""
    most = scores[0]
    for shape in range(1, N_SHAPES):
        most = max(most, scores[shape])
    return most


@inner
def softmax(z: F64Array) -> f64:
    """Replace z, [N_SHAPES], by its softmax: z_k ← e^{z_k} / Σ_j e^{z_j}. Return ln Σ_j e^{z_j}."""
    most = largest(z)
    total = z[0] * 0
    for k in range(N_SHAPES):
        z[k] = np.exp(z[k] - most)
        total += z[k]
    for k in range(N_SHAPES):
        z[k] /= total
    return most + np.log(total)
