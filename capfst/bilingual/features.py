"""The features of a word of a translation: what its source word, its phrase and its place say of each shape it may
have.

In: both texts, the links between their words, and the table of counts. Out: for a word, features of two kinds; the
index of each is that of its weight.

* N_COSTS costs, each with a value for each shape: −ln p(shape | …), of *chains* of ever finer conditions, each estimate
  smoothed by the one before (p ← (c + α p) / (n + α), as in Witten–Bell). Wang, Knight & Marcu (2006, §5) have the
  translation of capitalized words and phrases as such features (TRANSLATION, PHRASE…), that of case tags
  (the coarse links of the chain TRANSLATION), and uppercase translation (SOURCE). How often the finest condition was
  seen chooses the weight, so that rare estimates count for less.
* N_FLAGS flags, each with a weight for each shape: how a word's tag and place go with those of its source word (tags
  and the initial position), headings, and the marks at the end (the punctuation template).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.tables import add, fetch, find, total
from capfst.bilingual.words import (
    COLON,
    FIRST,
    N_ENDINGS,
    N_HEADINGS,
    N_PLACES,
    N_SINCE,
    N_TAGS,
    N_UNTIL,
    SENTENCE,
    UNALIGNED,
)
from capfst.casing.shapes import N_SHAPES
from capfst.system.hashing import hash_pair
from capfst.system.kernels import kernel

BLOCK = 32
"""Words whose keys are fetched together."""

(
    _TAGS, _TAGS_SUFFIX, _TAGS_WORD, _SPAN_WORD, _WORDS, _SOURCE, _PLACE, _TARGET, _BIGRAM, _NEXT, _LEFT, _RIGHT, _BOTH,
) = range(13)  # fmt: skip
N_KEYS = 13
"""The conditions of the chains, each a key of the table."""
_SMOOTHING = (1.0, 4.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0)
"""α, by condition."""

TRANSLATION, SOURCE, TARGET, NEXT, LEFT, RIGHT, BOTH = range(7)
N_COSTS = 7
"""Chains: tags → tags and the word → both words; tags → the source word; the word and the one before; phrases of two
words with the word before or behind; phrases of three."""
N_FLAGS = 6

_COUNTS = 5  # classes of how often a condition was seen: never, once, up to 4, up to 15, more
_COST_WEIGHTS = np.cumsum([0, _COUNTS**2, 2 * _COUNTS, _COUNTS**2, _COUNTS, _COUNTS, _COUNTS, _COUNTS]).tolist()
_N_LINKED = N_TAGS * 2 * N_PLACES  # a source word's tag, whether it is the same word, its place
_FLAG_SIZES = (
    _N_LINKED * N_PLACES,
    N_HEADINGS * 2 * N_TAGS * N_PLACES,
    N_TAGS * 2,
    N_TAGS * N_ENDINGS * N_ENDINGS,
    N_TAGS * N_SINCE * N_UNTIL,
    N_TAGS**3,
)
_FLAG_WEIGHTS = (_COST_WEIGHTS[-1] + N_SHAPES * np.cumsum([0, *_FLAG_SIZES])).tolist()
N_WEIGHTS = _FLAG_WEIGHTS[-1]
"""Of the features of this module."""

_C0, _C1, _C2, _C3, _C4, _C5, _C6 = _COST_WEIGHTS[:-1]
_F0, _F1, _F2, _F3, _F4, _F5 = _FLAG_WEIGHTS[:-1]


class Features(NamedTuple):
    """The features of a word."""

    cost_weights: npt.NDArray[np.int32]  # [N_COSTS]: the weight of each cost
    costs: npt.NDArray[np.float32]  # [N_COSTS, N_SHAPES]
    flag_weights: npt.NDArray[np.int32]  # [N_FLAGS]: the first of the N_SHAPES weights of each flag


@kernel
def _place3(place):  # type: ignore[no-untyped-def]
    """Places, coarsely: the line's first word, behind a mark, inside."""
    if place == FIRST:
        return 0
    return 1 if place == SENTENCE or place == COLON else 2


@kernel
def _key(number, a, b):  # type: ignore[no-untyped-def]
    return hash_pair(hash_pair(np.uint64(a), np.uint64(b)), np.uint64(number))


@kernel
def fill_keys(target, source, links, i, begin, end, keys):  # type: ignore[no-untyped-def]
    """keys[N_KEYS] of the word i of a line begin … end − 1; 0 for a condition that it does not have."""
    word, k = target.facts[i], links[i]
    place = np.int64(_place3(word.place))
    if k < 0:
        tag, same, where, cased = UNALIGNED, 0, 0, np.uint64(0)
        place_there, span = 0, 3
    else:
        there = source.facts[k]
        tag, same, where = np.int64(there.tag), np.int64(there.lower_hash == word.lower_hash), np.int64(there.place)
        cased = there.cased_hash
        place_there = np.int64(_place3(there.place))
        span = 0 if there.since_capital == 0 else 1 if there.since_capital < 4 else 2
    places = place * 3 + place_there
    tags = ((tag * 2 + same) * N_PLACES + where) * N_PLACES + np.int64(word.place)
    keys[_TAGS] = _key(_TAGS, tags, 0)
    keys[_TAGS_SUFFIX] = _key(_TAGS_SUFFIX, tags, word.suffix_hash)
    keys[_TAGS_WORD] = _key(_TAGS_WORD, tag * 9 + places, word.lower_hash)
    keys[_SPAN_WORD] = _key(_SPAN_WORD, (tag * 9 + places) * 4 + span, word.lower_hash)
    keys[_WORDS] = _key(_WORDS, cased + np.uint64(places), word.lower_hash) if k >= 0 else np.uint64(0)
    keys[_SOURCE] = _key(_SOURCE, places, cased) if k >= 0 else np.uint64(0)
    keys[_PLACE] = _key(_PLACE, place, 0)
    keys[_TARGET] = _key(_TARGET, place, word.lower_hash)
    before = target.facts[i - 1].lower_hash if i > begin else np.uint64(0)
    keys[_BIGRAM] = _key(_BIGRAM, before, word.lower_hash)
    after = target.facts[i + 1].lower_hash if i + 1 < end else np.uint64(0)
    keys[_NEXT] = _key(_NEXT, after, word.lower_hash)
    left, right = np.uint64(0), np.uint64(0)
    if k >= 0 and i > begin and links[i - 1] >= 0 and 0 <= k - links[i - 1] <= 1:
        left = hash_pair(before, source.facts[links[i - 1]].cased_hash)
    if k >= 0 and i + 1 < end and links[i + 1] >= 0 and 0 <= links[i + 1] - k <= 1:
        right = hash_pair(after, source.facts[links[i + 1]].cased_hash)
    both = hash_pair(word.lower_hash, cased)
    keys[_LEFT] = _key(_LEFT, left, both) if left != 0 else np.uint64(0)
    keys[_RIGHT] = _key(_RIGHT, right, both) if right != 0 else np.uint64(0)
    keys[_BOTH] = _key(_BOTH, hash_pair(left, right), both) if left != 0 and right != 0 else np.uint64(0)


@kernel
def fetch_keys(table, keys):  # type: ignore[no-untyped-def]
    """Has the slots of a word's keys brought into the cache."""
    for number in range(N_KEYS):
        if keys[number] != 0:
            fetch(table, keys[number])


@kernel
def count(table, keys, shape):  # type: ignore[no-untyped-def]
    """Counts a word that has this shape."""
    for number in range(N_KEYS):
        if keys[number] != 0:
            add(table, keys[number], shape)


@kernel
def _refine(table, key, number, p):  # type: ignore[no-untyped-def]
    """p ← (c + α p) / (n + α); the class of n."""
    slot = find(table, key) if key != 0 else -1
    if slot < 0:
        return 0
    n = total(table[slot])
    alpha = np.float32(_SMOOTHING[number])
    for shape in range(N_SHAPES):
        p[shape] = (table[slot].counts[shape] + alpha * p[shape]) / (n + alpha)
    if n == 1:
        return 1
    if n <= 4:
        return 2
    return 3 if n <= 15 else 4


@kernel
def _put(features, number, weight, p):  # type: ignore[no-untyped-def]
    features.cost_weights[number] = weight
    for shape in range(N_SHAPES):
        features.costs[number, shape] = -np.log(p[shape])


@kernel
def _tag_of(source, links, i):  # type: ignore[no-untyped-def]
    """The tag of the source word of word i."""
    return np.int64(source.facts[links[i]].tag) if links[i] >= 0 else UNALIGNED


@kernel
def _assign(p, q):  # type: ignore[no-untyped-def]
    for shape in range(N_SHAPES):
        p[shape] = q[shape]


@kernel
def fill_features(target, source, links, i, line, keys, table, room, features):  # type: ignore[no-untyped-def]
    """Fills the features of word i of a line. room: float32[3, N_SHAPES]."""
    word, k = target.facts[i], links[i]
    here, there = target.lines[line], source.lines[line]
    p, q, r = room[0], room[1], room[2]
    p[:] = np.float32(1 / N_SHAPES)
    _refine(table, keys[_TAGS], _TAGS, p)
    _assign(q, p)
    n = _refine(table, keys[_SOURCE], _SOURCE, q)
    _refine(table, keys[_TAGS_SUFFIX], _TAGS_SUFFIX, p)
    n_word = _refine(table, keys[_TAGS_WORD], _TAGS_WORD, p)
    n_word = max(n_word, _refine(table, keys[_SPAN_WORD], _SPAN_WORD, p))
    n_words = _refine(table, keys[_WORDS], _WORDS, p)
    _put(features, TRANSLATION, _C0 + _COUNTS * n_words + n_word, p)
    _put(features, SOURCE, _C1 + n + _COUNTS * (n_words > 0), q)
    q[:] = np.float32(1 / N_SHAPES)
    _refine(table, keys[_PLACE], _PLACE, q)
    n = _refine(table, keys[_TARGET], _TARGET, q)
    _assign(r, q)
    n_next = _refine(table, keys[_NEXT], _NEXT, r)
    _put(features, NEXT, _C3 + n_next, r)
    n_bigram = _refine(table, keys[_BIGRAM], _BIGRAM, q)
    _put(features, TARGET, _C2 + _COUNTS * n_bigram + n, q)
    for number in range(LEFT, BOTH + 1):
        _assign(r, p)
        n = _refine(table, keys[_LEFT + number - LEFT], _LEFT + number - LEFT, r)
        weight = _C4 + (number - LEFT) * _COUNTS + n
        if n > 0:
            _put(features, number, weight, r)
        else:
            features.cost_weights[number] = weight
            features.costs[number, :] = 0
    tag, same, where = UNALIGNED, 0, 0
    if k >= 0:
        tag, where = np.int64(source.facts[k].tag), np.int64(source.facts[k].place)
        same = np.int64(source.facts[k].lower_hash == word.lower_hash)
    linked = (tag * 2 + same) * N_PLACES + where
    place = np.int64(word.place)
    flags = features.flag_weights
    flags[0] = _F0 + N_SHAPES * (linked * N_PLACES + place)
    heading = np.int64(there.heading) * 2 + (here.ending == N_ENDINGS - 1)
    flags[1] = _F1 + N_SHAPES * ((heading * N_TAGS + tag) * N_PLACES + place)
    flags[2] = _F2 + N_SHAPES * (tag * 2 + (target.words.n_forms[i] > 0))
    ends = np.int64(there.ending) * N_ENDINGS + np.int64(here.ending)
    first = np.int64(there.first_tag) if place == FIRST else UNALIGNED
    flags[3] = _F3 + N_SHAPES * (first * N_ENDINGS * N_ENDINGS + ends)
    since, until = N_SINCE - 1, N_UNTIL - 1
    if k >= 0:
        since, until = np.int64(source.facts[k].since_capital), np.int64(source.facts[k].until_capital)
    flags[4] = _F4 + N_SHAPES * ((tag * N_SINCE + since) * N_UNTIL + until)
    before = _tag_of(source, links, i - 1) if i > here.begin else UNALIGNED
    after = _tag_of(source, links, i + 1) if i + 1 < here.end else UNALIGNED
    flags[5] = _F5 + N_SHAPES * ((tag * N_TAGS + before) * N_TAGS + after)
