"""Entities of HTML and of Moses' tokenizer (`&apos;` `&#39;` `&nbsp;`): find the character that each stands for.

In: a text, and the offset of a `&`. Out: the offset after the entity, and its character. given.py reads the text with
these characters. An escaped entity (`&amp;quot;`) stands for the same character.

Entities of ASCII letters, digits and semicolons are left: they could become parts of other entities. Names are those of
HTML, in any case, of up to eight letters: all of HTML 4. The first letter of a name shows the case of a
letter (`&Eacute;`); otherwise the lowercase name decides, so that a text and its lowercase have the same words. White
space of ASCII, such as `&#10;`, is read as a no-break space: lines and words apart stay as they are.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from capfst.kernels import inner
from capfst.kernels.types import I64Array, U8Array, U32Array, i64
from capfst.system.binary_search import lower_bound
from capfst.text.unicode import CLASS, INFO, SPACE, is_alphanumeric, is_digit, is_hex

_AMP, _SEMICOLON, _HASH, _SPACE, _X = (ord(c) for c in "&;# x")
_NO_BREAK, _UNDEFINED = 0xA0, 0xFFFD
_LONGEST_NAME, _LONGEST_NUMBER = 8, 10
_SHORT = frozenset({"lt", "gt", "le", "ge", "ne", "mu", "nu", "pi", "xi"})
"""Names of two letters that are entities: `S&Ls;` has none."""


class Names(NamedTuple):
    """The names of entities, and the characters of numbers."""

    keys: I64Array  # the names in lower case, as the lowest bytes of integers, rising
    small: U32Array  # the character of each
    capital: U32Array  # the character of the name that begins with a capital
    windows: U32Array  # [32]: those that browsers read for &#128; to &#159;
    info: U8Array  # INFO of unicode.py


@cache
def names() -> Names:
    """Return the table."""
    from html.entities import html5  # noqa: PLC0415  (few texts have entities)

    named = {name[:-1]: ord(text) for name, text in html5.items() if name.endswith(";") and len(text) == 1}
    found: dict[bytes, tuple[int, int]] = {}
    for name in sorted(named, reverse=True):  # the lowercase name comes first
        small, code = name.lower(), named[name]
        if len(name) > _LONGEST_NAME or (len(name) < 3 and small not in _SHORT):
            continue
        key = small.encode()[::-1]
        of_small = found.setdefault(key, (code, code))[0]
        if name[0].isupper() and chr(code).lower() == chr(of_small):
            found[key] = of_small, code
    keys = sorted((int.from_bytes(name, "big"), *codes) for name, codes in found.items())
    key, small, capital = np.array(keys).T
    windows = [ord(bytes([code]).decode("cp1252", "replace")) for code in range(128, 160)]
    return Names(key.copy(), small.astype(np.uint32), capital.astype(np.uint32), np.array(windows, np.uint32), INFO)


@inner
def may_be_entity(buf: U8Array, i: i64) -> bool:
    """Return whether a semicolon ends what may be the name or number after the `&` at buf[i]."""
    end = i + 1
    most = min(buf.size, end + len("#x") + _LONGEST_NUMBER)
    while end < most and (is_digit(buf[end]) or 97 <= buf[end] | 32 <= 122 or buf[end] == _HASH):
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
    while i < min(buf.size, first + _LONGEST_NUMBER) and (is_digit(buf[i]) or (base == 16 and is_hex(buf[i]))):
        code = min(0x110000, base * code + (i64(buf[i]) - 48 if is_digit(buf[i]) else (i64(buf[i]) | 32) - 87))
        i += 1
    return i, code if i > first else -1


@inner
def _name_end(buf: U8Array, i: i64, names: Names) -> tuple[i64, i64]:
    """Return the offset after the name of a character that begins at buf[i], after its `&`, and the character; −1 if it
    is no name."""
    end, key = i, 0
    while end < min(buf.size, i + _LONGEST_NAME) and (is_digit(buf[end]) or 97 <= buf[end] | 32 <= 122):
        key |= (i64(buf[end]) | 32) << 8 * (end - i)
        end += 1
    k = lower_bound(names.keys, 0, names.keys.size, key)
    if k == names.keys.size or names.keys[k] != key:
        return end, -1
    return end, names.small[k] if buf[i] & 32 else names.capital[k]


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
    if code < 128 and names.info[code] & CLASS == SPACE:
        return end + 1, _NO_BREAK
    is_part = code < 128 and (code == _SEMICOLON or is_alphanumeric(names.info[code] & CLASS))
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
