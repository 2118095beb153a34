"""A word among its neighbours, as features: rows of a hashed table of weights (Weinberger et al. 2009).

In: the facts of a line's words, which stand with `MARGIN` facts of no word before and after each line. Out: numbers
whose low bits are rows. Stage 1 reads the words up to two places away, their classes, and the evidence of their shapes;
stage 2 the decisions that stage 1 has taken up to two places away, and how much of the line it would capitalise.
"""

from __future__ import annotations

import numpy as np

from capfst.context.classes import BOUNDARY
from capfst.context.words import BEGIN, END, HASHES, PREFIX, WHOLE, coarse, coarser, mixed
from capfst.system.kernels import kernel

MARGIN = 2

FACT = np.dtype(
    [
        ("word", "u4"),  # its hash
        ("two", "u4"),  # that of its last two characters
        ("evidence", "u1"),
        ("lead", "u1"),  # 1 … LEADS for the most frequent words, else 0
        ("place", "u1"),  # in its line, at most FAR
        ("small", "u1"),  # the class of its form without capitals,
        ("capital", "u1"),  # and that of its most frequent other form
    ],
    align=True,
)
"""What the features of a word and of its neighbours need to know of it."""

LEADS = 60
FAR = 3
OWN = 2 + HASHES - PREFIX
"""How many features a word has by itself at most; their sum is known beforehand for known words."""
FIRST = 36
SECOND = 16
"""How many features a word has in stage 1, beside its own, and in stage 2."""

SURE = 0.99
"""From this probability of some shape on stage 1 has the last word."""
BASE = 0.5
"""How much of stage 1's log-probabilities stage 2 begins with."""
NO_DECISION = 15
_SHARES = 8


@kernel
def margin(facts, j):  # type: ignore[no-untyped-def]
    """What stands between two lines: the end of one, the begin of the other."""
    for k in range(MARGIN):
        kind = BEGIN if k else END
        facts[j + k].word = facts[j + k].two = facts[j + k].evidence = kind
        facts[j + k].lead = facts[j + k].place = 0
        facts[j + k].small = facts[j + k].capital = BOUNDARY
    return j + MARGIN


@kernel
def own_features(hashes, e, features):  # type: ignore[no-untyped-def]
    """Features of a word by itself, given its hashes and evidence, to features[:OWN]; how many."""
    c = coarse(e)
    features[0] = mixed(1, e)
    features[1] = mixed(2, hashes[WHOLE])
    n = 2
    for k in range(PREFIX, HASHES):
        if hashes[k] != 0:
            features[n] = mixed(mixed(3, hashes[k]), c)
            n += 1
    return n


@kernel
def _class_features(left2, left, own, right, right2, e, seed, features):  # type: ignore[no-untyped-def]
    """Features of the classes of five words, given the evidence of the one in the middle, to features[:5]."""
    left, own, right = np.int64(left) << 8, np.int64(own), np.int64(right) << 8
    c, cc = coarse(e), coarser(e)
    features[0] = mixed(seed, (left | own) << 8 | cc)
    features[1] = mixed(seed + 1, (right | own) << 8 | cc)
    features[2] = mixed(seed + 2, (left << 8 | right) << 8 | c)
    features[3] = mixed(seed + 3, (left | np.int64(left2)) << 8 | c)
    features[4] = mixed(seed + 4, (right | np.int64(right2)) << 8 | c)


@kernel
def first_features(facts, t, features):  # type: ignore[no-untyped-def]
    """Features of facts[t] among its neighbours, to features[:FIRST]."""
    word, left, right = facts[t].word, facts[t - 1].word, facts[t + 1].word
    left2, right2, two = facts[t - 2].word, facts[t + 2].word, facts[t].two
    e, a, b = np.int64(facts[t].evidence), np.int64(facts[t - 1].evidence), np.int64(facts[t + 1].evidence)
    c = coarse(e)
    a1, a2 = coarser(a), coarser(np.int64(facts[t - 2].evidence))
    b1, b2 = coarser(b), coarser(np.int64(facts[t + 2].evidence))
    f = features
    f[0] = mixed(10, left)
    f[1] = mixed(11, right)
    f[2] = mixed(12, left2)
    f[3] = mixed(13, right2)
    f[4] = mixed(mixed(14, left), c)
    f[5] = mixed(mixed(15, right), c)
    f[6] = mixed(mixed(16, left2), c)
    f[7] = mixed(mixed(17, right2), c)
    f[8] = mixed(mixed(18, left), word)
    f[9] = mixed(mixed(19, right), word)
    f[10] = mixed(mixed(20, left), left2)
    f[11] = mixed(mixed(21, right), right2)
    f[12] = mixed(mixed(22, left), right)
    f[13] = mixed(mixed(23, mixed(left, left2)), c)
    f[14] = mixed(mixed(24, mixed(right, right2)), c)
    f[15] = mixed(mixed(25, mixed(left, right)), c)
    f[16] = mixed(mixed(26, left), two)
    f[17] = mixed(mixed(27, right), two)
    f[18] = mixed(mixed(28, two), b)
    f[19] = mixed(29, a << 8 | e)
    f[20] = mixed(30, b << 8 | e)
    f[21] = mixed(31, (a << 8 | e) << 8 | b)
    f[22] = mixed(32, (a2 << 8 | a1) << 8 | e)
    f[23] = mixed(33, (b2 << 8 | b1) << 8 | e)
    f[24] = mixed(34, (a1 << 8 | b1) << 8 | e)
    f[25] = mixed(35, np.int64(facts[t].place) << 8 | c)
    small, capital = facts[t].small, facts[t].capital
    _class_features(
        facts[t - 2].small, facts[t - 1].small, small, facts[t + 1].small, facts[t + 2].small, e, 40, features[26:]
    )
    _class_features(
        facts[t - 2].capital, facts[t - 1].capital, capital, facts[t + 1].capital, facts[t + 2].capital, e, 45,
        features[31:],
    )  # fmt: skip


@kernel
def decision(p):  # type: ignore[no-untyped-def]
    """What stage 1 thinks of a word, given the probabilities of its shapes: a number below NO_DECISION."""
    best = 0
    for shape in range(1, 4):
        if p[shape] > p[best]:
            best = shape
    if best == 2:
        return 8 if p[2] > 0.8 else 9
    if best == 3:
        return 10
    capital = p[1]
    if capital > 0.5:
        return 0 if capital > 0.99 else 1 if capital > 0.9 else 2 if capital > 0.7 else 3
    return 4 if capital > 0.3 else 5 if capital > 0.1 else 6 if capital > 0.01 else 7


@kernel
def _said(facts, decisions, t):  # type: ignore[no-untyped-def]
    """A frequent word says more than what has been decided on it."""
    lead = np.int64(facts[t].lead)
    return np.int64(decisions[t]) if lead == 0 else 16 + lead


@kernel
def second_features(facts, decisions, t, capitals, words, features):  # type: ignore[no-untyped-def]
    """Features of facts[t] among the decisions of stage 1, to features[:SECOND]. capitals, words: how many words of
    the line that have case stage 1 would not write in lower case, and how many there are."""
    word = facts[t].word
    d = np.int64(decisions[t])
    a, b = _said(facts, decisions, t - 1), _said(facts, decisions, t + 1)
    a2, b2 = np.int64(decisions[t - 2]), np.int64(decisions[t + 2])
    c = np.int64(coarser(np.int64(facts[t].evidence)))
    # Of the other words of the line.
    others = words - 1
    share = 0 if others <= 0 else 1 + _SHARES * (capitals - is_capital(d)) // others
    f = features
    f[0] = mixed(50, d)
    f[1] = mixed(51, d << 8 | a)
    f[2] = mixed(52, d << 8 | b)
    f[3] = mixed(53, (d << 8 | a) << 8 | b)
    f[4] = mixed(54, (d << 8 | a) << 8 | a2)
    f[5] = mixed(55, (d << 8 | b) << 8 | b2)
    f[6] = mixed(56, c << 8 | a)
    f[7] = mixed(57, c << 8 | b)
    f[8] = mixed(mixed(58, word), a)
    f[9] = mixed(mixed(59, word), b)
    f[10] = mixed(mixed(60, word), a << 8 | b)
    f[11] = mixed(mixed(61, mixed(word, facts[t - 1].word)), a2)
    f[12] = mixed(mixed(62, mixed(word, facts[t + 1].word)), b2)
    f[13] = mixed(63, d << 8 | share)
    f[14] = mixed(64, (d << 8 | share) << 8 | min(others, 12))
    f[15] = mixed(65, c << 8 | share)


@kernel
def is_capital(d):  # type: ignore[no-untyped-def]
    """Whether a decision is for another shape than lower case; 1 or 0."""
    return np.int64(d <= 3 or 8 <= d <= 10)
