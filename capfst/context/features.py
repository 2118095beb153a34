"""Features: numbers that say what is known of a word and of its neighbours, and are rows of a hashed table.

In: the tokens of a line, with `PADDING` tokens before and after each line. Out: uint64 hashes of feature templates
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

import numpy as np

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context.classes import BOUNDARY
from capfst.context.words import (
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
from capfst.system.hashing import hash_pair
from capfst.system.kernels import inlined, kernel, prefetch

TOKEN = np.dtype(
    [
        ("word_hash", "u4"),
        ("suffix2_hash", "u4"),  # of its last two characters
        ("shape_evidence", "u1"),
        ("frequency_rank", "u1"),  # 1 … N_RANKED for the most frequent words, else 0
        ("position", "u1"),  # in its line, at most MAX_POSITION
        ("lower_class", "u1"),  # the class of its form without capitals,
        ("cased_class", "u1"),  # and that of its most frequent form with capitals, as classes.word_classes
    ],
    align=True,
)
"""A token in its line: all that the features of the token and of its neighbours read of it."""

PADDING = 3
"""Tokens between two lines, as many as the features read at either side."""
N_RANKED = 60
MAX_POSITION = 3
MAX_WORD_FEATURES = 2 + TRIGRAMS - PREFIX + 2 * MAX_TRIGRAMS
N_FIRST_FEATURES = 8
N_NEIGHBOUR_FEATURES = 41
N_DECISION_FEATURES = 16

FIRST_LOOK_LEAD = 3.9
"""If the first look's best score is so far before the others (in nats: 50 to 1), stages 1 and 2 are not asked."""
STAGE1_SUFFICES = 0.98
"""If stage 1 gives some shape this probability, stage 2 is not asked."""
PRIOR_WEIGHT = 0.5
"""Stage 2 adds its scores to stage 1's log-probabilities times this."""
NO_DECISION = 15
"""In the place of a decision (see `decision`), for tokens without case."""

BLOCK = 16
"""Words whose rows of weights are fetched from memory together."""

_RANKED = 16  # a frequent word's rank, plus this, is told from a decision
_SHARES = 8
_MANY_OTHERS = 12


@kernel
def sentence_padding(tokens, t):  # type: ignore[no-untyped-def]
    """Writes what stands between two lines to tokens[t : t + PADDING]: an end and begins; the index behind them."""
    for k in range(PADDING):
        boundary = BEGIN if k else END
        padding = tokens[t + k]
        padding.word_hash = padding.suffix2_hash = padding.shape_evidence = boundary
        padding.frequency_rank = padding.position = 0
        padding.lower_class = padding.cased_class = BOUNDARY
    return t + PADDING


@kernel
def gets_first_look(evidence):  # type: ignore[no-untyped-def]
    """Whether shape evidence is of a word with case that was seen."""
    return UNSEEN < evidence < BEGIN


@kernel
def first_features(tokens, t, domain, features):  # type: ignore[no-untyped-def]
    """Fills features[:N_FIRST_FEATURES] of tokens[t], in a line of a domain: uint64."""
    left, own, right = tokens[t - 1], tokens[t], tokens[t + 1]
    word, w_left, w_right = np.uint64(own.word_hash), np.uint64(left.word_hash), np.uint64(right.word_hash)
    e, d = np.int64(own.shape_evidence), np.int64(domain)
    e25 = evidence_in_25(e)
    high = np.uint64(32)
    features[0] = hash_pair(70, word)
    features[1] = hash_pair(word << high | w_left, 71)
    features[2] = hash_pair(word << high | w_right, 72)
    features[3] = hash_pair(w_left, 73 << 8 | e25)
    features[4] = hash_pair(w_right, 74 << 8 | e25)
    features[5] = hash_pair(75, (np.int64(left.shape_evidence) << 8 | e) << 8 | np.int64(right.shape_evidence))
    features[6] = hash_pair(76, (d << 8 | np.int64(own.position)) << 8 | e)
    features[7] = hash_pair(word, 77 << 8 | d)


@kernel
def word_features(hashes, evidence, domain, features):  # type: ignore[no-untyped-def]
    """Fills features[:MAX_WORD_FEATURES] of a word alone, given its hashes, uint32[N_HASHES], its shape evidence and
    the domain of its line, which matters if it is unseen; returns how many there are."""
    e25 = evidence_in_25(evidence)
    features[0] = hash_pair(1, evidence)
    features[1] = hash_pair(2, hashes[WHOLE])
    n = 2
    for k in range(PREFIX, TRIGRAMS):
        if hashes[k] != 0:
            features[n] = hash_pair(hash_pair(3, hashes[k]), e25)
            n += 1
    if evidence == UNSEEN:
        for k in range(TRIGRAMS, N_HASHES):
            if hashes[k] != 0:
                features[n] = hash_pair(45, hashes[k])
                features[n + 1] = hash_pair(hash_pair(46, hashes[k]), domain)
                n += 2
    return n


@kernel
def _class_features(left2, left, own, right, right2, evidence, template, first, features):  # type: ignore[no-untyped-def]
    """Fills features[first : first + 5] of the classes of five words in a row, given the shape evidence of the
    one in the middle."""
    left, own, right = np.int64(left) << 8, np.int64(own), np.int64(right) << 8
    e25, e12 = evidence_in_25(evidence), evidence_in_12(evidence)
    features[first] = hash_pair(template, (left | own) << 8 | e12)
    features[first + 1] = hash_pair(template + 1, (right | own) << 8 | e12)
    features[first + 2] = hash_pair(template + 2, (left << 8 | right) << 8 | e25)
    features[first + 3] = hash_pair(template + 3, (left | np.int64(left2)) << 8 | e25)
    features[first + 4] = hash_pair(template + 4, (right | np.int64(right2)) << 8 | e25)


@kernel
def neighbour_features(tokens, t, domain, features):  # type: ignore[no-untyped-def]
    """Fills features[:N_NEIGHBOUR_FEATURES] of tokens[t], in a line of a domain: uint64."""
    left2, left, own, right, right2 = tokens[t - 2], tokens[t - 1], tokens[t], tokens[t + 1], tokens[t + 2]
    word, suffix2, w_left, w_right = own.word_hash, own.suffix2_hash, left.word_hash, right.word_hash
    w_left2, w_right2 = left2.word_hash, right2.word_hash
    e, e_left, e_right = np.int64(own.shape_evidence), np.int64(left.shape_evidence), np.int64(right.shape_evidence)
    e25, e12_left, e12_right = evidence_in_25(e), evidence_in_12(e_left), evidence_in_12(e_right)
    lower, lower_left, lower_right = np.int64(own.lower_class), np.int64(left.lower_class), np.int64(right.lower_class)
    # How many unseen words are names is due to the text more than to its language, in which their letters differ.
    d = np.int64(domain) if e != UNSEEN else 0
    f = features
    # The words around, with the evidence of the word.
    f[0] = hash_pair(hash_pair(4, w_left), e25)
    f[1] = hash_pair(hash_pair(5, w_right), e25)
    f[2] = hash_pair(hash_pair(6, w_left2), e25)
    f[3] = hash_pair(hash_pair(7, w_right2), e25)
    f[4] = hash_pair(hash_pair(8, tokens[t - 3].word_hash), e25)
    f[5] = hash_pair(hash_pair(9, tokens[t + 3].word_hash), e25)
    # In pairs.
    f[6] = hash_pair(hash_pair(10, w_left), word)
    f[7] = hash_pair(hash_pair(11, w_right), word)
    f[8] = hash_pair(hash_pair(12, hash_pair(w_left, w_left2)), e25)
    f[9] = hash_pair(hash_pair(13, hash_pair(w_right, w_right2)), e25)
    f[10] = hash_pair(hash_pair(14, hash_pair(w_left, w_right)), e25)
    # In threes, with the word itself.
    f[11] = hash_pair(hash_pair(15, hash_pair(w_left, w_right)), word)
    f[12] = hash_pair(hash_pair(16, hash_pair(w_left, w_left2)), word)
    f[13] = hash_pair(hash_pair(17, hash_pair(w_right, w_right2)), word)
    f[14] = hash_pair(hash_pair(18, word), lower_left << 8 | lower_right)
    # The ending of the word.
    f[15] = hash_pair(hash_pair(19, w_left), suffix2)
    f[16] = hash_pair(hash_pair(20, w_right), suffix2)
    f[17] = hash_pair(hash_pair(21, suffix2), e_right)
    # Shape evidence.
    f[18] = hash_pair(22, (e_left << 8 | e) << 8 | e_right)
    f[19] = hash_pair(23, (e12_left << 8 | e12_right) << 8 | e)
    f[20] = hash_pair(24, np.int64(own.position) << 8 | e25)
    # Classes.
    f[21] = hash_pair(25, (lower_left << 8 | np.int64(left2.lower_class)) << 8 | lower)
    f[22] = hash_pair(26, (lower_right << 8 | np.int64(right2.lower_class)) << 8 | lower)
    _class_features(left2.lower_class, lower_left, lower, lower_right, right2.lower_class, e, 27, 23, f)
    _class_features(
        left2.cased_class, left.cased_class, own.cased_class, right.cased_class, right2.cased_class, e, 32, 28, f
    )
    # What is a capital in one domain and none in another.
    f[33] = hash_pair(37, d << 8 | e)
    f[34] = hash_pair(hash_pair(38, word), d)
    f[35] = hash_pair(hash_pair(39, w_left), d << 8 | e25)
    f[36] = hash_pair(hash_pair(40, w_right), d << 8 | e25)
    f[37] = hash_pair(hash_pair(41, suffix2), d << 8 | e25)
    f[38] = hash_pair(42, (d << 8 | lower) << 8 | e12_left)
    f[39] = hash_pair(43, (d << 8 | np.int64(own.position)) << 8 | e25)
    f[40] = hash_pair(44, ((d << 8 | e12_left) << 8 | e12_right) << 8 | e25)


@kernel
def decision(p):  # type: ignore[no-untyped-def]
    """What stage 1 decides on a word, given the probabilities of its shapes, float[N_SHAPES]; below NO_DECISION.

    0 … 7: LOWER or CAPITALIZED, by the probability of CAPITALIZED, falling; 4 and more are LOWER. 8, 9: UPPER, from a
    probability of 0.8 on and below it. 10: MIXED.
    """
    best = 0
    for shape in range(1, N_SHAPES):
        if p[shape] > p[best]:
            best = shape
    if best == Shape.UPPER:
        return 8 if p[Shape.UPPER.value] > 0.8 else 9
    if best == Shape.MIXED:
        return 10
    capitalized = p[Shape.CAPITALIZED.value]
    if capitalized > 0.5:
        return 0 if capitalized > 0.99 else 1 if capitalized > 0.9 else 2 if capitalized > 0.7 else 3
    return 4 if capitalized > 0.3 else 5 if capitalized > 0.1 else 6 if capitalized > 0.01 else 7


@kernel
def settled_decision(scores):  # type: ignore[no-untyped-def]
    """What is decided on a word by the first look alone, given the scores of its shapes, [N_SHAPES], as by `decision`;
    NO_DECISION if it does not suffice."""
    lower, capitalized = scores[Shape.LOWER.value], scores[Shape.CAPITALIZED.value]
    upper, mixed = scores[Shape.UPPER.value], scores[Shape.MIXED.value]
    if lower - max(capitalized, upper, mixed) >= FIRST_LOOK_LEAD:
        return 7
    if capitalized - max(lower, upper, mixed) >= FIRST_LOOK_LEAD:
        return 0
    if upper - max(lower, capitalized, mixed) >= FIRST_LOOK_LEAD:
        return 8
    return 10 if mixed - max(lower, capitalized, upper) >= FIRST_LOOK_LEAD else NO_DECISION


@kernel
def has_capitals(d):  # type: ignore[no-untyped-def]
    """Whether a decision is for another shape than LOWER; 1 or 0."""
    return np.int64(d <= 3 or 8 <= d <= 10)


@kernel
def _rank_or_decision(tokens, decisions, t):  # type: ignore[no-untyped-def]
    """Frequency rank of a frequent word, else stage 1's decision."""
    rank = np.int64(tokens[t].frequency_rank)
    return np.int64(decisions[t]) if rank == 0 else _RANKED + rank


@kernel
def decision_features(tokens, decisions, t, n_words, n_capitals, features):  # type: ignore[no-untyped-def]
    """Fills features[:N_DECISION_FEATURES] of tokens[t]: uint64.

    decisions: of each token, or NO_DECISION. n_words: how many words with case the line has; n_capitals: for how many
    of them the decision has capitals.
    """
    word = tokens[t].word_hash
    d = np.int64(decisions[t])
    left, right = _rank_or_decision(tokens, decisions, t - 1), _rank_or_decision(tokens, decisions, t + 1)
    left2, right2 = np.int64(decisions[t - 2]), np.int64(decisions[t + 2])
    e12 = np.int64(evidence_in_12(np.int64(tokens[t].shape_evidence)))
    others = n_words - 1
    share = 0 if others <= 0 else 1 + _SHARES * (n_capitals - has_capitals(d)) // others
    f = features
    # The decisions around.
    f[0] = hash_pair(50, d)
    f[1] = hash_pair(51, d << 8 | left)
    f[2] = hash_pair(52, d << 8 | right)
    f[3] = hash_pair(53, (d << 8 | left) << 8 | right)
    f[4] = hash_pair(54, (d << 8 | left) << 8 | left2)
    f[5] = hash_pair(55, (d << 8 | right) << 8 | right2)
    f[6] = hash_pair(56, e12 << 8 | left)
    f[7] = hash_pair(57, e12 << 8 | right)
    # With the word.
    f[8] = hash_pair(hash_pair(58, word), left)
    f[9] = hash_pair(hash_pair(59, word), right)
    f[10] = hash_pair(hash_pair(60, word), left << 8 | right)
    f[11] = hash_pair(hash_pair(61, hash_pair(word, tokens[t - 1].word_hash)), left2)
    f[12] = hash_pair(hash_pair(62, hash_pair(word, tokens[t + 1].word_hash)), right2)
    # How many other words of the line have capitals.
    f[13] = hash_pair(63, d << 8 | share)
    f[14] = hash_pair(64, (d << 8 | share) << 8 | min(others, _MANY_OTHERS))
    f[15] = hash_pair(65, e12 << 8 | share)


@inlined
def prefetch_rows(table, row_size, features, n):  # type: ignore[no-untyped-def]
    """Has the rows of n features brought into the cache, from a table of 2^b rows of `row_size` items, end to end."""
    mask = np.uint64(table.size // row_size - 1)
    for k in range(n):
        prefetch(table, row_size * np.int64(features[k] & mask))


@kernel
def largest(scores):  # type: ignore[no-untyped-def]
    """The largest of the scores of the shapes, [N_SHAPES]."""
    most = scores[0]
    for shape in range(1, N_SHAPES):
        most = max(most, scores[shape])
    return most
