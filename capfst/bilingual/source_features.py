"""The features of a word of a translation: what its source word, its neighbours, its place and its line tell of the
shape that it has.

In: both texts, and the links between their words. Out: N_TEMPLATES hashes, the features that the classifier
(classifier.py) has weights for. Wang, Knight & Marcu (2006, §5) have the translation of capitalized words and phrases
as such features, that of case tags, uppercase translation, the initial position, and the punctuation template.
"""

from __future__ import annotations

from capfst.bilingual.word_facts import (
    COLON,
    FIRST,
    N_ENDINGS,
    N_PLACES,
    N_SINCE,
    N_TAGS,
    N_UNTIL,
    SENTENCE,
    UNALIGNED,
    Text,
)
from capfst.kernels import inner
from capfst.kernels.types import I32Array, U64Array, i64, u64
from capfst.system.hashing import hash_pair

N_TEMPLATES = 25
N_LINKED = N_TAGS * 2 * N_PLACES * N_PLACES
"""How a word goes with its source word."""
_N_LENGTHS = 10
_BEFORE_LINE, _BEHIND_LINE = 1, 2  # in the place of hashes


@inner
def _coarse(place: i64) -> i64:
    """Places, coarsely: the line's first word, behind a mark, inside."""
    if place == FIRST:
        return 0
    return 1 if place == SENTENCE or place == COLON else 2


@inner
def _tag_of(source: Text, links: I32Array, i: i64) -> i64:
    """The tag of the source word of word i."""
    return source.facts[links[i]].tag if links[i] >= 0 else UNALIGNED


@inner
def _lowercase(text: Text, i: i64, begin: i64, end: i64) -> u64:
    """The hash of word i, of a line begin … end − 1."""
    if i < begin:
        return u64(_BEFORE_LINE)
    return u64(_BEHIND_LINE) if i >= end else text.facts[i].lower_hash


@inner
def _cased(text: Text, k: i64, begin: i64, end: i64) -> u64:
    """As _lowercase, of the word as it is cased."""
    if k < begin:
        return u64(_BEFORE_LINE)
    return u64(_BEHIND_LINE) if k >= end else text.facts[k].cased_hash


@inner
def _length(n: i64) -> i64:
    """A number of words or bytes, coarsely: below _N_LENGTHS."""
    if n < 6:
        return n
    if n < 9:
        return 6
    if n < 14:
        return 7
    return 8 if n < 22 else 9


@inner
def linked(target: Text, source: Text, links: I32Array, i: i64) -> i64:
    """Below N_LINKED: the tag of word i's source word, whether it is the same word, and the places of both."""
    word, k = target.facts[i], links[i]
    if k < 0:
        return UNALIGNED * 2 * N_PLACES * N_PLACES + i64(word.place)
    there = source.facts[k]
    same = there.lower_hash == word.lower_hash
    return ((i64(there.tag) * 2 + same) * N_PLACES + there.place) * N_PLACES + word.place


@inner
def fill_templates(target: Text, source: Text, links: I32Array, i: i64, line: i64, features: U64Array) -> None:
    """features[N_TEMPLATES] of word i of a line: uint64."""
    here, there, k = target.lines[line], source.lines[line], links[i]
    word = target.facts[i]
    own, place, tag = word.lower_hash, i64(word.place), i64(_tag_of(source, links, i))
    left2, left, right, right2 = (
        _lowercase(target, i - 2, here.begin, here.end), _lowercase(target, i - 1, here.begin, here.end),
        _lowercase(target, i + 1, here.begin, here.end), _lowercase(target, i + 2, here.begin, here.end),
    )  # fmt: skip
    before = i64(_tag_of(source, links, i - 1)) if i > here.begin else UNALIGNED
    after = i64(_tag_of(source, links, i + 1)) if i + 1 < here.end else UNALIGNED
    since, until, places = N_SINCE - 1, N_UNTIL - 1, 3 * _coarse(place)
    cased = cased_left = cased_right = u64(0)
    if k >= 0:
        fact = source.facts[k]
        since, until, places = i64(fact.since_capital), i64(fact.until_capital), places + _coarse(fact.place)
        cased = fact.cased_hash
        cased_left = _cased(source, k - 1, there.begin, there.end)
        cased_right = _cased(source, k + 1, there.begin, there.end)
    marks = i64(there.heading) * N_ENDINGS + here.ending
    kind = (marks * N_ENDINGS + there.ending) * N_TAGS + tag
    f = features
    f[0] = hash_pair(0, linked(target, source, links, i))
    # The word and its source word.
    f[1] = hash_pair(1 << 8 | _coarse(place), own)
    f[2] = hash_pair(2 << 8 | tag * 9 + places, own)
    f[3] = hash_pair(3, hash_pair(own, cased))
    f[4] = hash_pair(4 << 8 | places, cased)
    f[5] = hash_pair(5 << 8 | tag, word.suffix_hash)
    # The words around.
    f[6] = hash_pair(6, left2)
    f[7] = hash_pair(7 << 8 | tag, left)
    f[8] = hash_pair(8 << 8 | tag, right)
    f[9] = hash_pair(9, right2)
    f[10] = hash_pair(10, hash_pair(left, own))
    f[11] = hash_pair(11, hash_pair(own, right))
    f[12] = hash_pair(12, hash_pair(cased_left, cased))
    f[13] = hash_pair(13, hash_pair(cased, cased_right))
    # The capitals around.
    f[14] = hash_pair(14, (tag * N_SINCE + since) * N_UNTIL + until)
    f[15] = hash_pair(15 << 8 | since, own)
    f[16] = hash_pair(16, ((tag * N_TAGS + before) * N_TAGS + after) * N_PLACES + place)
    # Headings, and the marks at the end.
    f[17] = hash_pair(17, (kind * N_PLACES + place) * _N_LENGTHS + _length(here.end - here.begin))
    f[18] = hash_pair(18, (marks * N_TAGS + tag) * _N_LENGTHS + _length(target.words.ends[i] - target.words.starts[i]))
    f[19] = hash_pair(19 << 16 | kind, own)
    f[20] = hash_pair(20 << 16 | kind, left)
    f[21] = hash_pair(21 << 16 | kind, right)
    f[22] = hash_pair(22 << 16 | kind, here.first_hash)
    f[23] = hash_pair(23, marks * N_PLACES + place)
    f[24] = hash_pair(24 << 8 | here.ending, hash_pair(here.first_hash, own))
