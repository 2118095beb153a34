"""Names: recognize names and codes in lowercase, and write words in mixed case.

In: a lowercase word as UTF-8. Out: its pattern, if any (decided by its bytes: outside ASCII, everything but ’ is a
letter); the word in mixed case. `grammars/names.py` has the same rules as a grammar; both read `names.tsv`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from capfst.kernels import inner, outlined
from capfst.kernels.types import U8Array, U32Array, U32Matrix, U64Array, U64Matrix, i64
from capfst.text import unicode as uni
from capfst.text.facts import rows
from capfst.text.language import MIXED, TITLE, UPPER, Language

NONE, ROMAN, MAC, APOSTROPHE, HYPHENATED, PRODUCT, PLURAL, CODE, ACRONYM = range(9)
"""Patterns; a word that fits several has the first. xiv; mcdonald; o'neill; jean-paul; iphone; dvds; mp3; bbc."""

_A, _C, _D, _E, _I, _L, _M, _S, _V, _X, _Z = (ord(c) for c in "acdeilmsvxz")
_HYPHEN, _ZERO, _NINE = (ord(c) for c in "-09")
_CONSONANTS = uni.ascii_set("bcdfghjklmnpqrstvwxz")
_AFTER_I = uni.ascii_set("bhjkpw")  # consonants rare after i at the start of common words
_AFTER_E = uni.ascii_set("bhjw")  # the same after e
NOWHERE = -1
_INNER = 3  # inner parts of hyphenated words of at most so many bytes stay lowercase: editor-in-chief


class Spelling(NamedTuple):
    """The tables for writing a word in another case."""

    title: U32Array
    upper: U32Array
    raisings: U32Matrix  # as in language.Language
    lowering: uni.Lowering  # of case alone
    respells: bool  # whether surface forms differ from the text in more than case
    parts: U64Matrix  # [n, 2]: a first part of hyphenated words, its bytes as an integer; whether it is in capitals


@cache
def _parts() -> U64Array:
    listed = [(int.from_bytes(part.encode(), "little"), name == "UPPER") for part, name in rows("names.tsv")]
    return np.array(listed, np.uint64)


def spelling_of(language: Language) -> Spelling:
    """Return the tables of a language."""
    tables = language.title, language.upper, language.raisings, language.casing
    return Spelling(*tables, language.restores_spelling, _parts())


@inner
def _is_letter(data: U8Array, i: i64, end: i64) -> bool:
    """Return whether data[i] belongs to a letter: outside ASCII, everything but ’ does."""
    return _A <= data[i] <= _Z or (data[i] >= 0x80 and uni.apostrophe(data, i, end) == 0)


@outlined
def _letters(data: U8Array, start: i64, end: i64) -> i64:
    """Return how many characters data[start:end] has if all are letters, else 0."""
    letters = 0
    for i in range(start, end):
        if not _is_letter(data, i, end):
            return 0
        letters += data[i] & 0xC0 != 0x80
    return letters


@inner
def is_roman(data: U8Array, start: i64, end: i64) -> bool:
    """Return whether data[start:end] is a Roman numeral in any case, i … mmmcmxcix."""
    i = start
    while i < end and i < start + 3 and data[i] | 32 == _M:
        i += 1
    for one, five, ten in ((_C, _D, _M), (_X, _L, _C), (_I, _V, _X)):
        if i + 1 < end and data[i] | 32 == one and (data[i + 1] | 32 == five or data[i + 1] | 32 == ten):
            i += 2
            continue
        if i < end and data[i] | 32 == five:
            i += 1
        ones = 0
        while i < end and ones < 3 and data[i] | 32 == one:
            ones += 1
            i += 1
    return i == end


@inner
def _is_mac(data: U8Array, start: i64, end: i64) -> bool:
    return end - start >= 4 and data[start] == _M and data[start + 1] == _C and _letters(data, start, end) >= 4


@outlined
def _after_apostrophe(data: U8Array, start: i64, end: i64) -> i64:
    """Return where the name after o' begins: one or two letters, an apostrophe, at least two letters; −1 for other
    words."""
    for i in range(start + 1, end):
        size = uni.apostrophe(data, i, end)
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
        if not uni.is_in(data[i], _CONSONANTS):
            return False
    return True


@outlined
def pattern(data: U8Array, start: i64, end: i64) -> i64:
    """Return the pattern of names and codes that the lowercase word data[start:end] fits, or NONE."""
    size = end - start
    if size < 2:
        return NONE
    a, b = data[start], data[start + 1]
    if is_roman(data, start, end):
        return ROMAN
    if _is_mac(data, start, end):
        return MAC
    if _after_apostrophe(data, start, end) > 0:
        return APOSTROPHE
    if _is_hyphenated(data, start, end):
        return HYPHENATED
    letters = _letters(data, start, end)
    if letters == 0:
        kinds = 0
        for i in range(start, end):
            digit = _ZERO <= data[i] <= _NINE
            if not digit and not _is_letter(data, i, end):
                return NONE
            kinds |= 1 if digit else 2
        return CODE if kinds == 3 else NONE
    if letters >= 4 and ((a == _I and uni.is_in(b, _AFTER_I)) or (a == _E and uni.is_in(b, _AFTER_E))):
        return PRODUCT
    if 3 <= size <= 5 and _all_consonants(data, start, end) and data[end - 1] == _S != data[end - 2]:
        return PLURAL
    return ACRONYM if size <= 5 and _all_consonants(data, start, end) else NONE


@outlined
def _put_raised(
    word: U8Array, i: i64, end: i64, marks: i64, out: U8Array, j: i64, spelling: Spelling
) -> tuple[i64, i64]:
    """Write the capitals of the sequence at word[i:end] at out[j:], if the sequence has one of the marks. Return the
    offsets after both, or j and i if there is no such sequence."""
    row, after = uni.find_sequence(word, i, end, spelling.raisings, uni.WIDTH)
    if row < 0 or not spelling.raisings[row, 2 * uni.WIDTH] & marks:
        return j, i
    return uni.put_sequence(spelling.raisings, row, 0, out, j), after


@outlined
def put(
    word: U8Array, start: i64, end: i64, capitals: i64, one: i64, two: i64, out: U8Array, j: i64, spelling: Spelling
) -> i64:
    """Write word[start:end] at out[j:]: in capitals up to the offset `capitals`, then with one capital at or after each
    of the offsets `one` and `two` (NOWHERE: none). Return the offset after it."""
    wanted = False
    i = start
    while i < end:
        wanted = wanted or i == one or i == two
        code, after = uni.decode(word, i, end)
        in_capitals = i < capitals
        begins = i == start if in_capitals else wanted and spelling.lowering.info[code] & uni.IS_CASED != 0
        if len(spelling.raisings) > 0 and (in_capitals or begins):
            marks = (TITLE if begins else 0) | (UPPER if in_capitals else 0)
            j_after, after_sequence = _put_raised(word, i, end, marks, out, j, spelling)
            if after_sequence > i:
                j, i = j_after, after_sequence
                wanted = False
                continue
        if in_capitals:
            if code == uni.FINAL_SIGMA:
                code = i64(uni.CAPITAL_SIGMA)
            else:
                code = uni.mapped(spelling.upper, code)
        elif wanted and spelling.lowering.info[code] & uni.IS_CASED:
            code = uni.mapped(spelling.title, code)
            wanted = False
        j = uni.encode(code, out, j)
        i = after
    return j


@outlined
def _put_part(word: U8Array, start: i64, end: i64, out: U8Array, j: i64, spelling: Spelling) -> i64:
    """Write a part of a word: in mixed case if it is a name such as O'Neill or McDonald, else capitalized."""
    none, one, two = 0, start, NOWHERE
    name = _after_apostrophe(word, start, end)
    if name > 0:
        is_french = word[start] == _D and uni.apostrophe(word, start + 1, end) > 0  # d'Ivoire, but O'Neill
        one, two = NOWHERE if is_french else start, name
    elif _is_mac(word, start, end):
        two = start + 2
    return put(word, start, end, none, one, two, out, j, spelling)


@inner
def part_row(word: U8Array, start: i64, end: i64, parts: U64Matrix) -> i64:
    """Return the row of the first part word[start:end] of a hyphenated word, or −1."""
    key = uni.eight_of(word, start, end)
    for k in range(len(parts)):
        if parts[k, 0] == key and end - start <= 8:
            return k
    return -1


@inner
def put_mixed(word: U8Array, size: i64, out: U8Array, j: i64, spelling: Spelling) -> i64:
    """Write word[:size], hyphenated or not, in mixed case; capitalized if no rule applies."""
    start, none = 0, 0
    if len(spelling.raisings) > 0:
        j_after, after_sequence = _put_raised(word, start, size, MIXED, out, j, spelling)
        if after_sequence > start:
            return put(word, after_sequence, size, start, NOWHERE, NOWHERE, out, j_after, spelling)
    while start <= size:
        end = start
        while end < size and word[end] != _HYPHEN:
            end += 1
        if start == 0 and end == size:
            letters = none if _is_mac(word, start, size) else _letters(word, start, size)
            if 3 <= letters <= 5 and word[size - 1] == _S:
                return put(word, start, size, size - 1, NOWHERE, NOWHERE, out, j, spelling)
            if letters >= 6 and word[0] == _M and word[1] == _A and word[2] == _C:
                return put(word, start, size, none, start, start + 3, out, j, spelling)
            return _put_part(word, start, size, out, j, spelling)
        row = part_row(word, start, end, spelling.parts) if start == 0 else i64(NOWHERE)
        capitals = end if row >= 0 and spelling.parts[row, 1] else none
        if row >= 0 or (start > 0 and end < size and end - start <= _INNER):
            j = put(word, start, end, capitals, NOWHERE, NOWHERE, out, j, spelling)
        else:
            j = _put_part(word, start, end, out, j, spelling)
        if end < size:
            out[j] = _HYPHEN
            j += 1
        start = end + 1
    return j
