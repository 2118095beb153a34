"""Inclusive forms (étudiant·e·s, Schüler:innen, Freund*innen): find the endings after the sign.

In: a text, and an offset after a word. Out: the offset after the endings that begin there, which are those of
`grammars/inclusive.tsv` in any case; signs and letters may be entities. given.py reads the word without them.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from capfst.kernels import inner
from capfst.kernels.types import I64Array, U8Array, U32Array, i64
from capfst.text.entities import Names, character
from capfst.text.entities import names as entity_names
from capfst.text.facts import rows
from capfst.text.unicode import CLASS, LETTER, MARK, TO_LOWER, ascii_set, decode, is_alphanumeric, is_in, mapped

_LEAST, _FARTHEST = 2, 8  # letters of the word, in so many characters at its end
_MOST = 4  # endings
_AMP = ord("&")
_JOINS = ascii_set("@=(\\_")
"""Marks that make a name or code of what is before them."""


class Endings(NamedTuple):
    """The rows of inclusive.tsv, one per sign."""

    names: Names  # of entities
    to_lower: U32Array  # TO_LOWER of unicode.py
    signs: U32Array  # [n]
    letters: U32Array  # of the endings, one after the other
    starts: I64Array  # [n + 1]: the first letter of each ending in `letters`, and the end
    before: I64Array  # [n]: the last ASCII letters of the word, the last one in the lowest byte
    again: U8Array  # [n]: whether it only follows another ending
    is_open: U8Array  # [n]: whether letters may follow
    is_joined: U8Array  # [n]: whether the word is read with the ending, without the sign


@cache
def endings() -> Endings:
    """Return the table."""
    found = [
        (ord(sign), ending, next((mark[6:] for mark in marks if mark.startswith("AFTER ")), ""), marks)
        for signs, ending, *marks in rows("inclusive.tsv")
        for sign in signs.split(" ")
    ]
    return Endings(
        entity_names(),
        TO_LOWER,
        np.array([sign for sign, *_ in found], np.uint32),
        np.array([ord(letter) for _, ending, *_ in found for letter in ending], np.uint32),
        np.cumsum([0, *(len(ending) for _, ending, *_ in found)], dtype=np.int64),
        np.array([int.from_bytes(before.encode("ascii"), "big") for *_, before, _ in found], np.int64),
        *(np.array([mark in marks for *_, marks in found], np.uint8) for mark in ("AGAIN", "OPEN", "JOINED")),
    )


@inner
def _is_after(text: U8Array, end: i64, letters: i64) -> bool:
    """Return whether text[:end] ends with these letters, in any case."""
    while letters > 0 and end > 0 and text[end - 1] | 32 == letters & 0xFF:
        letters >>= 8
        end -= 1
    return letters == 0


@inner
def _next(buf: U8Array, i: i64, names: Names) -> tuple[i64, i64]:
    """Return the offset after the character or entity at buf[i], and the character; 0 at the end."""
    if i == buf.size:
        return i, 0
    if buf[i] == _AMP:
        end, code = character(buf, i, names)
        if code >= 0:
            return end, code
    code, after = decode(buf, i, buf.size)
    return after, code


@inner
def _ending_end(text: U8Array, size: i64, buf: U8Array, i: i64, is_first: bool, table: Endings) -> tuple[i64, bool]:
    """Return the end of the sign and the ending at buf[i:], −1 if there is none; or the end of the sign, if the ending
    is joined, and whether it is."""
    names, info = table.names, table.names.info
    first, sign = _next(buf, i, names)
    for row in range(table.signs.size):
        if table.signs[row] != sign or (
            is_first and (table.again[row] or not _is_after(text, size, table.before[row]))
        ):
            continue
        end, k = first, table.starts[row]
        after, code = _next(buf, end, names)
        while k < table.starts[row + 1] and mapped(table.to_lower, code) == table.letters[k]:
            end, k = after, k + 1
            after, code = _next(buf, end, names)
        is_whole = k == table.starts[row + 1]
        while is_whole and table.is_open[row] and (info[code] & CLASS == LETTER or info[code] & CLASS == MARK):
            end = after
            after, code = _next(buf, end, names)
        if is_whole and not is_alphanumeric(info[code] & CLASS) and not (code < 128 and is_in(code, _JOINS)):
            return (first, True) if table.is_joined[row] else (end, False)
    return -1, False


@inner
def _is_word(text: U8Array, size: i64, info: U8Array) -> bool:
    """Return whether text[:size] ends with letters, which may have marks."""
    letters, start = 0, size
    for _ in range(_FARTHEST):
        if start == 0:
            break
        start -= 1
        while start > 0 and text[start] & 0xC0 == 0x80:
            start -= 1
        char_class = info[decode(text, start, size)[0]] & CLASS
        letters += char_class == LETTER
        if letters == _LEAST or not (char_class == LETTER or char_class == MARK):
            break
    return letters == _LEAST


@inner
def inclusive_end(text: U8Array, size: i64, buf: U8Array, i: i64, table: Endings) -> i64:
    """Return the end of what is left out at buf[i:], endings with their signs, or a sign; −1 if there is none, or no
    word before.

    text[:size]: buf[:i] as it is meant.
    """
    if not _is_word(text, size, table.names.info):
        return -1
    end, is_joined = i, False
    for _ in range(_MOST):
        after, is_joined = _ending_end(text, size, buf, end, end == i, table)
        if after < 0:
            break
        end = after
        if is_joined:
            return end
    return end if end > i else -1
