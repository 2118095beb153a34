"""Notations of text: entities of HTML and of Moses' tokenizer (`&apos;` `&#39;` `&nbsp;`), which stand for characters,
and the endings of inclusive forms (étudiant·e·s, Schüler:innen, Freund*innen), which follow words.

In: a text, and the offset of a `&`, or one after a word. Out: the offset after the entity, and its character; or the
offset after the endings that begin there, which are those of `grammars/inclusive.tsv` in any case, and whose signs and
letters may be entities. given.py reads the text with these characters, and without the endings.

An escaped entity (`&amp;quot;`) stands for the same character. Entities of ASCII letters, digits and semicolons are
left: they could become parts of other entities. Names are those of HTML, in any case, of up to eight letters: all of
HTML 4. The first letter of a name shows the case of a letter (`&Eacute;`); otherwise the lowercase name decides, so
that a text and its lowercase have the same words. White space of ASCII, such as `&#10;`, is read as a no-break space:
lines and words apart stay as they are.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from capfst.kernels import inner
from capfst.kernels.types import I64Array, U8Array, U32Array, i64
from capfst.system.binary_search import lower_bound
from capfst.text import unicode as uni
from capfst.text.facts import rows

_AMP, _SEMICOLON, _HASH, _SPACE, _X = (ord(c) for c in "&;# x")
_NO_BREAK, _UNDEFINED = 0xA0, 0xFFFD
_LONGEST_NAME, _LONGEST_NUMBER = 8, 10
_SHORT = frozenset({"lt", "gt", "le", "ge", "ne", "mu", "nu", "pi", "xi"})
"""Names of two letters that are entities: `S&Ls;` has none."""

_LEAST, _FARTHEST = 2, 8  # letters of the word, in so many characters at its end
_MOST = 4  # endings
_JOINS = uni.ascii_set("@=(\\_")
"""Marks that make a name or code of what is before them."""


class Names(NamedTuple):
    """The names of entities, and the characters of numbers."""

    keys: I64Array  # the names, as the lowest bytes of integers, rising: in lower case, except the first letter
    codes: U32Array  # the character of each
    windows: U32Array  # [32]: those that browsers read for &#128; to &#159;
    info: U8Array  # INFO of unicode.py


@cache
def names() -> Names:
    """Return the table."""
    from html.entities import html5  # noqa: PLC0415  (few texts have entities)

    named = {name[:-1]: ord(text) for name, text in html5.items() if name.endswith(";") and len(text) == 1}
    found: dict[str, int] = {}
    for name in sorted(named, reverse=True):  # the lowercase name comes first
        small, capital, code = name.lower(), name.capitalize(), named[name]
        if len(name) > _LONGEST_NAME or (len(name) < 3 and small not in _SHORT):
            continue
        of_small = found.setdefault(small, code)
        found.setdefault(capital, of_small)
        if name[0].isupper() and chr(code).lower() == chr(of_small):
            found[capital] = code
    codes = sorted((int.from_bytes(name.encode(), "little"), code) for name, code in found.items())
    keys, characters = np.array(codes).T
    windows = [ord(bytes([code]).decode("cp1252", "replace")) for code in range(128, 160)]
    return Names(keys.copy(), characters.astype(np.uint32), np.array(windows, np.uint32), uni.INFO)


@inner
def may_be_entity(buf: U8Array, i: i64) -> bool:
    """Return whether a semicolon ends what may be the name or number after the `&` at buf[i]."""
    end = i + 1
    most = min(buf.size, end + len("#x") + _LONGEST_NUMBER)
    while end < most and (uni.is_digit(buf[end]) or 97 <= buf[end] | 32 <= 122 or buf[end] == _HASH):
        end += 1
    return end < buf.size and buf[end] == _SEMICOLON


@inner
def _number_end(buf: U8Array, i: i64) -> tuple[i64, i64]:
    """Return the offset after the number of a character that begins at buf[i], after `&#`, and the number; −1 if none
    begins there."""
    base = 10
    if i < buf.size and buf[i] | 32 == _X:
        base = 16
        i += 1
    code, first = 0, i
    while i < min(buf.size, first + _LONGEST_NUMBER) and (uni.is_digit(buf[i]) or (base == 16 and uni.is_hex(buf[i]))):
        code = min(0x110000, base * code + (i64(buf[i]) - 48 if uni.is_digit(buf[i]) else (i64(buf[i]) | 32) - 87))
        i += 1
    return i, code if i > first else -1


@inner
def _name_end(buf: U8Array, i: i64, names: Names) -> tuple[i64, i64]:
    """Return the offset after the name of a character that begins at buf[i], after its `&`, and the character; −1 if it
    is no name."""
    end, key = i, 0
    while end < min(buf.size, i + _LONGEST_NAME) and (uni.is_digit(buf[end]) or 97 <= buf[end] | 32 <= 122):
        key |= (i64(buf[end]) | (32 if end > i else 0)) << 8 * (end - i)
        end += 1
    k = lower_bound(names.keys, 0, names.keys.size, key)
    return end, names.codes[k] if k < names.keys.size and names.keys[k] == key else -1


@inner
def _character(buf: U8Array, i: i64, names: Names) -> tuple[i64, i64]:
    """Return the offset after the entity whose name or number begins at buf[i], after its `&`, and its character; −1 if
    none begins there."""
    if i < buf.size and buf[i] == _HASH:
        end, code = _number_end(buf, i + 1)
        if 128 <= code < 160:
            code = i64(names.windows[code - 128])
    else:
        end, code = _name_end(buf, i, names)
    if code < 0 or end == buf.size or buf[end] != _SEMICOLON or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return i, -1
    if code < 128 and names.info[code] & uni.CLASS == uni.SPACE:
        return end + 1, _NO_BREAK
    is_part = code < 128 and (code == _SEMICOLON or uni.is_alphanumeric(names.info[code] & uni.CLASS))
    if is_part or code < _SPACE or code == 127 or code == _UNDEFINED:
        return i, -1
    return end + 1, code


@inner
def character(buf: U8Array, i: i64, names: Names) -> tuple[i64, i64]:
    """Return the offset after the entity at buf[i], which is `&`, and its character; −1 if it is none."""
    end, code = _character(buf, i + 1, names)
    while code == _AMP:
        inner_end, inner_code = _character(buf, end, names)
        if inner_code < 0:
            break
        end, code = inner_end, inner_code
    return end, code


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
        names(),
        uni.TO_LOWER,
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
    code, after = uni.decode(buf, i, buf.size)
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
        while k < table.starts[row + 1] and uni.mapped(table.to_lower, code) == table.letters[k]:
            end, k = after, k + 1
            after, code = _next(buf, end, names)
        if k < table.starts[row + 1]:
            continue
        char_class = info[code] & uni.CLASS
        while table.is_open[row] and (char_class == uni.LETTER or char_class == uni.MARK):
            end = after
            after, code = _next(buf, end, names)
            char_class = info[code] & uni.CLASS
        if not uni.is_alphanumeric(char_class) and not (code < 128 and uni.is_in(code, _JOINS)):
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
        char_class = info[uni.decode(text, start, size)[0]] & uni.CLASS
        letters += char_class == uni.LETTER
        if letters == _LEAST or not (char_class == uni.LETTER or char_class == uni.MARK):
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
