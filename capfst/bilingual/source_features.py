"""Features of a word of a translation that tell its shape: its source word, its neighbors, its position and its line.

In: both texts, and the links between their words. Out: N_TEMPLATES hashes, each of which selects a row of weights
(evidence.py). Wang, Knight & Marcu (2006, §5) use such features: translations of capitalized words and phrases, case
tags, uppercase translation, initial position, and the punctuation template.
"""

from __future__ import annotations

from capfst.bilingual.word_facts import N_ENDINGS, N_POSITIONS, N_TAGS, UNALIGNED, AnnotatedText
from capfst.kernels import inner
from capfst.kernels.types import I32Array, U64Array, i64, u64
from capfst.system.hashing import hash_pair

N_TEMPLATES = 18
_BEFORE_LINE, _AFTER_LINE = 1, 2  # pseudo hashes


@inner
def _tag_of(source: AnnotatedText, links: I32Array, i: i64) -> i64:
    """Return the tag of the source word of word i, or UNALIGNED."""
    return i64(source.facts[links[i]].tag) if links[i] >= 0 else i64(UNALIGNED)


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
def fill_templates(
    target: AnnotatedText, source: AnnotatedText, links: I32Array, i: i64, line: i64, features: U64Array
) -> None:
    """Fill features[N_TEMPLATES], uint64, of word i of a line."""
    here, there, k = target.lines[line], source.lines[line], links[i]
    word = target.facts[i]
    own, position, tag = word.lower_hash, i64(word.position), _tag_of(source, links, i)
    left2, left, right, right2 = (
        _lowercase(target, i - 2, here.begin, here.end), _lowercase(target, i - 1, here.begin, here.end),
        _lowercase(target, i + 1, here.begin, here.end), _lowercase(target, i + 2, here.begin, here.end),
    )  # fmt: skip
    before = _tag_of(source, links, i - 1) if i > here.begin else i64(UNALIGNED)
    after = _tag_of(source, links, i + 1) if i + 1 < here.end else i64(UNALIGNED)
    its_position, is_same = N_POSITIONS, False
    cased = cased_left = cased_right = u64(0)
    if k >= 0:
        fact = source.facts[k]
        its_position, is_same, cased = i64(fact.position), fact.lower_hash == own, fact.cased_hash
        cased_left = _cased(source, k - 1, there.begin, there.end)
        cased_right = _cased(source, k + 1, there.begin, there.end)
    relation = ((tag * N_POSITIONS + position) * (N_POSITIONS + 1) + its_position) * 2 + is_same
    ends = ((i64(there.heading) * N_ENDINGS + here.ending) * N_ENDINGS + there.ending) * N_TAGS + tag
    f = features
    # The word and its source word.
    f[0] = hash_pair(0, relation)
    f[1] = hash_pair(1 << 16 | relation, own)
    f[2] = hash_pair(2, hash_pair(own, cased))
    f[3] = hash_pair(3 << 16 | tag, word.suffix_hash)
    # Neighbors.
    f[4] = hash_pair(4, left2)
    f[5] = hash_pair(5 << 16 | tag, left)
    f[6] = hash_pair(6 << 16 | tag, right)
    f[7] = hash_pair(7, right2)
    f[8] = hash_pair(8, hash_pair(left, own))
    f[9] = hash_pair(9, hash_pair(own, right))
    f[10] = hash_pair(10, hash_pair(cased_left, cased))
    f[11] = hash_pair(11, hash_pair(cased, cased_right))
    f[12] = hash_pair(12, ((tag * N_TAGS + before) * N_TAGS + after) * N_POSITIONS + position)
    # Headings, and the marks at the end.
    f[13] = hash_pair(13, ends * N_POSITIONS + position)
    f[14] = hash_pair(14 << 16 | ends, left)
    f[15] = hash_pair(15 << 16 | ends, right)
    f[16] = hash_pair(16 << 16 | ends, here.first_hash)
    f[17] = hash_pair(17 << 16 | here.ending, hash_pair(here.first_hash, own))
