"""Features of a word of a translation that predict its shape: its source word, its neighbors, its position and its
line.

In: both texts, and the links between their words. Out: N_TEMPLATES hashes, for which the classifier (classifier.py) has
weights. Wang, Knight & Marcu (2006, §5) use such features: translations of capitalized words and phrases, case tags,
uppercase translation, initial position, and the punctuation template.
"""

from __future__ import annotations

from capfst.bilingual.word_facts import (
    COLON,
    FIRST,
    N_ENDINGS,
    N_POSITIONS,
    N_SINCE,
    N_TAGS,
    N_UNTIL,
    SENTENCE,
    UNALIGNED,
    AnnotatedText,
)
from capfst.kernels import inner
from capfst.kernels.types import I32Array, U64Array, i64, u64
from capfst.system.hashing import hash_pair

N_TEMPLATES = 25
N_LINKED = N_TAGS * 2 * N_POSITIONS * N_POSITIONS
"""The number of relations of a word to its source word (see `linked`)."""
_N_LENGTHS = 10
_BEFORE_LINE, _AFTER_LINE = 1, 2  # pseudo hashes


@inner
def _coarse(position: i64) -> i64:
    """Return a coarse position: 0 for the line's first word, 1 after a sentence end or a colon, 2 elsewhere."""
    if position == FIRST:
        return 0
    return 1 if position == SENTENCE or position == COLON else 2


@inner
def _tag_of(source: AnnotatedText, links: I32Array, i: i64) -> i64:
    """Return the tag of the source word of word i, or UNALIGNED."""
    return source.facts[links[i]].tag if links[i] >= 0 else UNALIGNED


@inner
def _lowercase(text: AnnotatedText, i: i64, begin: i64, end: i64) -> u64:
    """Return the lowercase hash of word i, if it is one of the line begin … end − 1."""
    if i < begin:
        return u64(_BEFORE_LINE)
    return u64(_AFTER_LINE) if i >= end else text.facts[i].lower_hash


@inner
def _cased(text: AnnotatedText, k: i64, begin: i64, end: i64) -> u64:
    """Return the hash of word k as it is cased, if it is one of the line begin … end − 1."""
    if k < begin:
        return u64(_BEFORE_LINE)
    return u64(_AFTER_LINE) if k >= end else text.facts[k].cased_hash


@inner
def _length(n: i64) -> i64:
    """Return the bucket, below _N_LENGTHS, of a number of words or bytes."""
    if n < 6:
        return n
    if n < 9:
        return 6
    if n < 14:
        return 7
    return 8 if n < 22 else 9


@inner
def linked(target: AnnotatedText, source: AnnotatedText, links: I32Array, i: i64) -> i64:
    """Return the relation of word i to its source word, a number below N_LINKED: the tag of the source word, whether
    both are the same word, and the positions of both."""
    word, k = target.facts[i], links[i]
    if k < 0:
        return UNALIGNED * 2 * N_POSITIONS * N_POSITIONS + i64(word.position)
    there = source.facts[k]
    same = there.lower_hash == word.lower_hash
    return ((i64(there.tag) * 2 + same) * N_POSITIONS + there.position) * N_POSITIONS + word.position


@inner
def fill_templates(
    target: AnnotatedText, source: AnnotatedText, links: I32Array, i: i64, line: i64, features: U64Array
) -> None:
    """Fill features[N_TEMPLATES], uint64, of word i of a line."""
    here, there, k = target.lines[line], source.lines[line], links[i]
    word = target.facts[i]
    own, position, tag = word.lower_hash, i64(word.position), i64(_tag_of(source, links, i))
    left2, left, right, right2 = (
        _lowercase(target, i - 2, here.begin, here.end), _lowercase(target, i - 1, here.begin, here.end),
        _lowercase(target, i + 1, here.begin, here.end), _lowercase(target, i + 2, here.begin, here.end),
    )  # fmt: skip
    before = i64(_tag_of(source, links, i - 1)) if i > here.begin else UNALIGNED
    after = i64(_tag_of(source, links, i + 1)) if i + 1 < here.end else UNALIGNED
    since, until, positions = N_SINCE - 1, N_UNTIL - 1, 3 * _coarse(position)
    cased = cased_left = cased_right = u64(0)
    if k >= 0:
        fact = source.facts[k]
        since, until, positions = i64(fact.since_capital), i64(fact.until_capital), positions + _coarse(fact.position)
        cased = fact.cased_hash
        cased_left = _cased(source, k - 1, there.begin, there.end)
        cased_right = _cased(source, k + 1, there.begin, there.end)
    marks = i64(there.heading) * N_ENDINGS + here.ending
    kind = (marks * N_ENDINGS + there.ending) * N_TAGS + tag
    f = features
    f[0] = hash_pair(0, linked(target, source, links, i))
    # The word and its source word.
    f[1] = hash_pair(1 << 8 | _coarse(position), own)
    f[2] = hash_pair(2 << 8 | tag * 9 + positions, own)
    f[3] = hash_pair(3, hash_pair(own, cased))
    f[4] = hash_pair(4 << 8 | positions, cased)
    f[5] = hash_pair(5 << 8 | tag, word.suffix_hash)
    # Neighbors.
    f[6] = hash_pair(6, left2)
    f[7] = hash_pair(7 << 8 | tag, left)
    f[8] = hash_pair(8 << 8 | tag, right)
    f[9] = hash_pair(9, right2)
    f[10] = hash_pair(10, hash_pair(left, own))
    f[11] = hash_pair(11, hash_pair(own, right))
    f[12] = hash_pair(12, hash_pair(cased_left, cased))
    f[13] = hash_pair(13, hash_pair(cased, cased_right))
    # Capitals nearby.
    f[14] = hash_pair(14, (tag * N_SINCE + since) * N_UNTIL + until)
    f[15] = hash_pair(15 << 8 | since, own)
    f[16] = hash_pair(16, ((tag * N_TAGS + before) * N_TAGS + after) * N_POSITIONS + position)
    # Headings, and the marks at the end.
    f[17] = hash_pair(17, (kind * N_POSITIONS + position) * _N_LENGTHS + _length(here.end - here.begin))
    f[18] = hash_pair(18, (marks * N_TAGS + tag) * _N_LENGTHS + _length(target.words.ends[i] - target.words.starts[i]))
    f[19] = hash_pair(19 << 16 | kind, own)
    f[20] = hash_pair(20 << 16 | kind, left)
    f[21] = hash_pair(21 << 16 | kind, right)
    f[22] = hash_pair(22 << 16 | kind, here.first_hash)
    f[23] = hash_pair(23, marks * N_POSITIONS + position)
    f[24] = hash_pair(24 << 8 | here.ending, hash_pair(here.first_hash, own))
