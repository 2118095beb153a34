"""Names: what mixed-case names and codes look like in lowercase, and where their capitals stand.

In: a lowercase word as UTF-8. Out: its pattern, if it has one (decided by its bytes: outside ASCII everything but ’ is
a letter); the word in mixed case. `grammars/names.py` says the same as a grammar; `names.tsv` is for both.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.grammars import rows
from capfst.kernels import inner, outlined
from capfst.kernels.types import U8Array, U32Array, U32Matrix, U64Matrix, i64, u8, u64
from capfst.text.language import MIXED, TITLE, UPPER, Language
from capfst.text.unicode import (
    CAPITAL_SIGMA,
    FINAL_SIGMA,
    INFO,
    IS_CASED,
    WIDTH,
    Lowering,
    ascii_set,
    decode,
    encode,
    find_sequence,
    is_in,
    mapped,
    put_sequence,
)

NONE, ROMAN, MAC, APOSTROPHE, HYPHENATED, PRODUCT, PLURAL, CODE, ACRONYM = range(9)
"""Patterns; a word that fits several has the first. xiv; mcdonald; o'neill; jean-paul; iphone; dvds; mp3; bbc."""

_A, _C, _D, _E, _I, _L, _M, _S, _V, _X, _Z = (ord(c) for c in "acdeilmsvxz")
_APOSTROPHE, _HYPHEN, _ZERO, _NINE = (ord(c) for c in "'-09")
_CONSONANTS = ascii_set("bcdfghjklmnpqrstvwxz")
_BEHIND_I, _BEHIND_E = (
    ascii_set("bhjkpw"),
    ascii_set("bhjw"),
)  # consonants that seldom follow where i, e begin a common word
NOWHERE = -1
_INNER = 3  # bytes that an inner part of a hyphenated word has at most if it stays small: editor-in-chief


class Spelling(NamedTuple):
    """The tables that writing a word in other case reads."""

    info: U8Array
    title: U32Array
    upper: U32Array
    raisings: U32Matrix  # as language.Language
    lowering: Lowering  # of case alone
    respells: bool  # whether surface forms differ from the text in more than case
    parts: U64Matrix  # [n, 2]: the bytes of a first part of hyphenated words as an integer; if in capitals


@cache
def _parts() -> npt.NDArray[np.uint64]:
    listed = [(int.from_bytes(part.encode(), "little"), name == "UPPER") for part, name in rows("names.tsv")]
    return np.array(listed, np.uint64)


def spelling_of(language: Language) -> Spelling:
    """The tables of a language."""
    return Spelling(
        INFO, language.title, language.upper, language.raisings, language.casing, language.restores_spelling, _parts()
    )


@inner
def _apostrophe(data: U8Array, i: i64, end: i64) -> i64:
    """How many bytes of an apostrophe begin at data[i]: ' is one, ’ is three."""
    if data[i] == _APOSTROPHE:
        return 1
    return 3 if data[i] == 0xE2 and i + 2 < end and data[i + 1] == 0x80 and data[i + 2] == 0x99 else 0


@inner
def _consonant(b: u8) -> bool:
    return is_in(b, _CONSONANTS)


@inner
def _is_letter(data: U8Array, i: i64, end: i64) -> bool:
    """Whether data[i] belongs to a letter: outside ASCII, all but ’ are."""
    return _A <= data[i] <= _Z or (data[i] >= 0x80 and _apostrophe(data, i, end) == 0)


@outlined
@inner
def _letters(data: U8Array, start: i64, end: i64) -> i64:
    """How many characters data[start:end] has if all are letters, else 0."""
    letters = 0
    for i in range(start, end):
        if not _is_letter(data, i, end):
            return 0
        letters += data[i] & 0xC0 != 0x80
    return letters


@inner
def _is_roman(data: U8Array, start: i64, end: i64) -> bool:
    """Whether data[start:end] is a Roman numeral, i … mmmcmxcix."""
    i = start
    while i < end and i < start + 3 and data[i] == _M:
        i += 1
    for one, five, ten in ((_C, _D, _M), (_X, _L, _C), (_I, _V, _X)):
        if i + 1 < end and data[i] == one and (data[i + 1] == five or data[i + 1] == ten):
            i += 2
            continue
        if i < end and data[i] == five:
            i += 1
        ones = 0
        while i < end and ones < 3 and data[i] == one:
            ones += 1
            i += 1
    return i == end


@inner
def _is_mac(data: U8Array, start: i64, end: i64) -> bool:
    return end - start >= 4 and data[start] == _M and data[start + 1] == _C and _letters(data, start, end) >= 4


@outlined
@inner
def _behind_apostrophe(data: U8Array, start: i64, end: i64) -> i64:
    """Where the name behind o' begins: a letter or two, an apostrophe, at least two letters; else −1."""
    for i in range(start + 1, end):
        size = _apostrophe(data, i, end)
        if size > 0:
            fits = 1 <= _letters(data, start, i) <= 2 and _letters(data, i + size, end) >= 2
            return i + size if fits else -1
    return -1


@inner
def _is_hyphenated(data: U8Array, start: i64, end: i64) -> bool:
    hyphens = 0
    for i in range(start, end):
        if data[i] == _HYPHEN:
            if i == start or i + 1 == end or data[i + 1] == _HYPHEN:
                return False
            hyphens += 1
    return hyphens > 0


@inner
def _all_consonants(data: U8Array, start: i64, end: i64) -> bool:
    for i in range(start, end):  # noqa: SIM110
        if not _consonant(data[i]):
            return False
    return True


@outlined
@inner
def pattern(data: U8Array, start: i64, end: i64) -> i64:
    """Which class of names and codes the lowercase word data[start:end] looks like, if any."""
    size = end - start
    if size < 2:
        return NONE
    a, b = data[start], data[start + 1]
    if _is_roman(data, start, end):
        return ROMAN
    if _is_mac(data, start, end):
        return MAC
    if _behind_apostrophe(data, start, end) > 0:
        return APOSTROPHE
    if _is_hyphenated(data, start, end):
        return HYPHENATED
    letters = _letters(data, start, end)
    if letters == 0:
        found = 0
        for i in range(start, end):
            digit = _ZERO <= data[i] <= _NINE
            if not digit and not _is_letter(data, i, end):
                return NONE
            found |= 1 if digit else 2
        return CODE if found == 3 else NONE
    if letters >= 4 and ((a == _I and is_in(b, _BEHIND_I)) or (a == _E and is_in(b, _BEHIND_E))):
        return PRODUCT
    if 3 <= size <= 5 and _all_consonants(data, start, end) and data[end - 1] == _S != data[end - 2]:
        return PLURAL
    return ACRONYM if size <= 5 and _all_consonants(data, start, end) else NONE


@outlined
@inner
def _put_raised(
    word: U8Array, i: i64, end: i64, marks: i64, out: U8Array, j: i64, spelling: Spelling
) -> tuple[i64, i64]:
    """Writes the capitals of the sequence at word[i:end] that has one of the marks at out[j:]: the offsets behind both;
    j and i, if there is none."""
    row, after = find_sequence(word, i, end, spelling.raisings, WIDTH)
    if row < 0 or not spelling.raisings[row, 2 * WIDTH] & marks:
        return j, i
    return put_sequence(spelling.raisings, row, 0, out, j), after


@outlined
@inner
def put(
    word: U8Array, start: i64, end: i64, capitals: i64, one: i64, two: i64, out: U8Array, j: i64, spelling: Spelling
) -> i64:
    """Writes word[start:end] at out[j:], up to `capitals` in capitals, then with one at or behind the offsets `one` and
    `two` (NOWHERE: none); the offset after it."""
    wanted = False
    i = start
    while i < end:
        wanted = wanted or i == one or i == two
        code, after = decode(word, i, end)
        in_capitals = i < capitals
        begins = i == start if in_capitals else wanted and spelling.info[code] & IS_CASED != 0
        if len(spelling.raisings) > 0 and (in_capitals or begins):
            marks = (TITLE if begins else 0) | (UPPER if in_capitals else 0)
            j_behind, behind = _put_raised(word, i, end, marks, out, j, spelling)
            if behind > i:
                j, i = j_behind, behind
                wanted = False
                continue
        if in_capitals:
            if code == FINAL_SIGMA:
                code = i64(CAPITAL_SIGMA)
            else:
                code = mapped(spelling.upper, code)
        elif wanted and spelling.info[code] & IS_CASED:
            code = mapped(spelling.title, code)
            wanted = False
        j = encode(code, out, j)
        i = after
    return j


@outlined
@inner
def _put_part(word: U8Array, start: i64, end: i64, out: U8Array, j: i64, spelling: Spelling) -> i64:
    """Writes a part of a word in mixed case, if it is a name that has some, else capitalised."""
    none = 0
    behind = _behind_apostrophe(word, start, end)
    if behind > 0:
        is_french = word[start] == _D and _apostrophe(word, start + 1, end) > 0  # d'Ivoire, while it is O'Neill
        return put(word, start, end, none, NOWHERE if is_french else start, behind, out, j, spelling)
    if _is_mac(word, start, end):
        return put(word, start, end, none, start, start + 2, out, j, spelling)
    return put(word, start, end, none, start, NOWHERE, out, j, spelling)


@inner
def _put_whole(word: U8Array, size: i64, out: U8Array, j: i64, spelling: Spelling) -> i64:
    """Writes a word without hyphens in mixed case, if a rule gives it any, else capitalised."""
    start, none = 0, 0
    letters = none if _is_mac(word, start, size) else _letters(word, start, size)
    if 3 <= letters <= 5 and word[size - 1] == _S:
        return put(word, start, size, size - 1, NOWHERE, NOWHERE, out, j, spelling)
    if letters >= 6 and word[0] == _M and word[1] == _A and word[2] == _C:
        return put(word, start, size, none, start, start + 3, out, j, spelling)
    if letters >= 4 and (word[0] == _E or word[0] == _I) and _consonant(word[1]):
        return put(word, start, size, none, start + 1, NOWHERE, out, j, spelling)
    return _put_part(word, start, size, out, j, spelling)


@inner
def put_mixed(word: U8Array, size: i64, out: U8Array, j: i64, spelling: Spelling) -> i64:
    """Writes word[:size], hyphenated or not, in mixed case."""
    start = 0
    if len(spelling.raisings) > 0:
        j_behind, behind = _put_raised(word, start, size, MIXED, out, j, spelling)
        if behind > start:
            return put(word, behind, size, start, NOWHERE, NOWHERE, out, j_behind, spelling)
    while start <= size:
        end = start
        key = u64(0)
        while end < size and word[end] != _HYPHEN:
            if end - start < 8:
                key |= u64(word[end]) << u64(8 * (end - start))
            end += 1
        if start == 0 and end == size:
            return _put_whole(word, size, out, j, spelling)
        as_is = start > 0 and end < size and end - start <= _INNER
        capitals = 0
        if start == 0 and end <= 8:
            for k in range(len(spelling.parts)):
                if spelling.parts[k, 0] == key:
                    as_is = True
                    capitals = end if spelling.parts[k, 1] else 0
        if as_is:
            j = put(word, start, end, capitals, NOWHERE, NOWHERE, out, j, spelling)
        else:
            j = _put_part(word, start, end, out, j, spelling)
        if end < size:
            out[j] = _HYPHEN
            j += 1
        start = end + 1
    return j
