"""Entities of HTML and of Moses' tokenizer (`&apos;` `&#39;` `&nbsp;`): read each as the character that it stands for.

In: a text. Out: the same text with characters instead of entities (`read`), which is tokenized and recased like any
other; then `Text.written` puts the entities back, byte for byte, so that only the case of other letters changes. An
escaped entity (`&amp;quot;`) stands for the same character. A text without `&` is not copied.

Entities of ASCII letters, digits and semicolons are left: they could become parts of other entities. Names are those of
HTML, in any case, of up to eight letters: all of HTML 4. The first letter of a name shows the case of a
letter (`&Eacute;`); otherwise the lowercase name decides, so that a text and its lowercase have the same words. White
space of ASCII, such as `&#10;`, is read as a no-break space: lines and words apart stay as they are.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import copy_bytes, inner, kernel
from capfst.kernels.types import I64Array, U8Array, U32Array, i64
from capfst.system.binary_search import lower_bound
from capfst.system.sparse import sparse
from capfst.text.code import is_digit, is_hex
from capfst.text.unicode import CLASS, GROWTH, INFO, SPACE, Lowering, decode, encode, is_alphanumeric, lower_into

_AMP, _SEMICOLON, _HASH, _SPACE, _X = (ord(c) for c in "&;# x")
_NO_BREAK, _UNDEFINED = 0xA0, 0xFFFD
_LONGEST_NAME, _LONGEST_NUMBER = 8, 10
_SHORTEST = 4  # bytes of an entity, which its character never has more of
_SHORT = frozenset({"lt", "gt", "le", "ge", "ne", "mu", "nu", "pi", "xi"})
"""Names of two letters that are entities: `S&Ls;` has none."""


class _Names(NamedTuple):
    """The names of entities, and the characters of numbers."""

    keys: I64Array  # the names in lower case, as the lowest bytes of integers, rising
    small: U32Array  # the character of each
    capital: U32Array  # the character of the name that begins with a capital
    windows: U32Array  # [32]: those that browsers read for &#128; to &#159;


@cache
def _names() -> _Names:
    from html.entities import html5  # noqa: PLC0415  (few texts have entities)

    named = {name[:-1]: ord(text) for name, text in html5.items() if name.endswith(";") and len(text) == 1}
    found: dict[bytes, tuple[int, int]] = {}
    for name in sorted(named, reverse=True):  # the lowercase name comes first
        small = name.lower()
        if len(name) > _LONGEST_NAME or (len(name) < 3 and small not in _SHORT):
            continue
        code = named.get(small, named[name])
        capital = named.get(small[0].upper() + small[1:], code)
        is_capital = chr(capital).lower() == chr(code)
        found.setdefault(small.encode()[::-1], (code, capital if is_capital else code))
    keys = sorted((int.from_bytes(name, "big"), *codes) for name, codes in found.items())
    columns = zip(*keys, strict=True)
    windows = [ord(bytes([code]).decode("cp1252", "replace")) for code in range(128, 160)]
    of_columns = [
        np.array(column, type_) for column, type_ in zip(columns, (np.int64, np.uint32, np.uint32), strict=True)
    ]
    return _Names(of_columns[0], of_columns[1], of_columns[2], np.array(windows, np.uint32))


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
def _name_end(buf: U8Array, i: i64, names: _Names) -> tuple[i64, i64]:
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
def _character(buf: U8Array, i: i64, names: _Names, info: U8Array) -> tuple[i64, i64]:
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
    if code < 128 and info[code] & CLASS == SPACE:
        return end + 1, _NO_BREAK
    is_part = code < 128 and (code == _SEMICOLON or is_alphanumeric(info[code] & CLASS))
    if is_part or code < _SPACE or code == 127 or code == _UNDEFINED:
        return i, -1
    return end + 1, code


@kernel
def _read(
    buf: U8Array,
    names: _Names,
    keeps_entities: bool,
    keeps_spaces: bool,
    info: U8Array,
    out: U8Array,
    starts: I64Array,
    ends: I64Array,
    sizes: I64Array,
) -> tuple[i64, i64]:
    """Write the text with characters instead of entities to `out`. Fill `starts` and `ends` with the offsets in `out`
    of each entity, and `sizes` with its size in `buf`. Return the size of the text and the number of entities. keeps_…:
    write all entities, or those of white space, as they are."""
    i, j, n = 0, 0, 0
    while i < buf.size:
        if buf[i] == _AMP:
            end, code = _character(buf, i + 1, names, info)
            while code == _AMP:
                inner_end, inner_code = _character(buf, end, names, info)
                if inner_code < 0:
                    break
                end, code = inner_end, inner_code
            is_part = code == _HASH and j > 0 and out[j - 1] == _AMP
            if code >= 0 and not is_part and not (keeps_spaces and info[code] & CLASS == SPACE):
                starts[n], sizes[n] = j, end - i
                if keeps_entities:
                    copy_bytes(buf, i, end - i, out, j)
                    j += end - i
                else:
                    j = encode(code, out, j)
                ends[n] = j
                n += 1
                i = end
                continue
        out[j] = buf[i]
        i += 1
        j += 1
    return j, n


@inner
def _run_end(text: U8Array, i: i64, is_blank: bool) -> i64:
    """Return the end of the run from `i` on of white space and controls of ASCII, or of other characters."""
    while i < text.size and (text[i] <= _SPACE) == is_blank:
        i += 1
    return i


@inner
def _differ(one: U8Array, size: i64, other: U8Array, other_size: i64) -> bool:
    same = size == other_size
    for i in range(size if same else 0):
        same = same and one[i] == other[i]
    return not same


@kernel
def _write(
    given: U8Array,
    text: U8Array,
    starts: I64Array,
    ends: I64Array,
    sizes: I64Array,
    recased: U8Array,
    info: U8Array,
    lowering: Lowering,
    lowered: U8Array,
    expected: U8Array,
    out: U8Array,
) -> i64:
    """Write `recased`, which is `text` in other case, to `out`, with the entities of `given`. Return the size.

    White space stays, so both texts have the same runs of other characters. A run with entities is written as it was
    given if the characters of both do not correspond, or its lowercase would change (a sigma before an entity).
    lowered, expected: working memory.
    """
    i, j, g, o, k = 0, 0, 0, 0, 0  # offsets in text, recased, given and out; the next entity
    is_blank = False
    while i < text.size:
        i_end, j_end = _run_end(text, i, is_blank), _run_end(recased, j, is_blank)
        is_blank = not is_blank
        if k == starts.size or starts[k] >= i_end:
            copy_bytes(recased, j, j_end - j, out, o)
            o += j_end - j
            g += i_end - i
            i, j = i_end, j_end
            continue
        begin, written = g, o
        while i < i_end:
            if k < starts.size and starts[k] == i:
                copy_bytes(given, g, sizes[k], out, o)
                o += sizes[k]
                g += sizes[k]
                while i < ends[k]:
                    i = decode(text, i, i_end)[1]
                    j = decode(recased, j, j_end)[1] if j < j_end else j_end + 1
                k += 1
                continue
            after, j_after = decode(text, i, i_end)[1], decode(recased, j, j_end)[1] if j < j_end else j_end + 1
            copy_bytes(recased, j, min(j_after, j_end) - min(j, j_end), out, o)
            o += min(j_after, j_end) - min(j, j_end)
            g += after - i
            i, j = after, j_after
        size = lower_into(out, written, o, written, o, lowered, 0, info, lowering)
        wanted = lower_into(given, begin, g, begin, g, expected, 0, info, lowering)
        if j != j_end or _differ(lowered, size, expected, wanted):
            copy_bytes(given, begin, g - begin, out, written)
            o = written + g - begin
        j = j_end
    return o


class Text(NamedTuple):
    """A text with characters instead of entities."""

    buf: U8Array
    given: U8Array  # with entities
    starts: I64Array  # [n]: offsets in `buf` of the characters that stand for entities
    ends: I64Array  # [n]: the offsets after them
    sizes: I64Array  # [n]: of the entities

    def offsets(self, offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the offsets in `given` of offsets of characters in `buf`."""
        if not self.starts.size:
            return offsets
        longer = np.append(0, np.cumsum(self.sizes - (self.ends - self.starts)))
        return offsets + longer[np.searchsorted(self.ends, offsets, "right")]

    def written(self, recased: U8Array, lowering: Lowering) -> memoryview:
        """Return `buf` in other case with the entities. lowering: of the model."""
        if not self.starts.size:
            return recased.data
        size = self.given.size
        lowered, expected = sparse(GROWTH * (recased.size + size), np.uint8), sparse(GROWTH * size, np.uint8)
        out = np.empty(recased.size + size, np.uint8)
        n = _write(
            self.given, self.buf, self.starts, self.ends, self.sizes, recased, INFO, lowering, lowered, expected, out
        )
        return out[:n].data


_NONE = np.empty(0, np.int64)


def read(buf: npt.NDArray[np.uint8], keeps_entities: bool = False, keeps_spaces: bool = False) -> Text:
    """Return a text with characters instead of entities. keeps_entities: each is text, but stays as it is (in text that
    is already tokenized). keeps_spaces: the entities of white space are left, so that words apart stay as many."""
    if b"&" not in buf.tobytes():
        return Text(buf, buf, _NONE, _NONE, _NONE)
    most = buf.size // _SHORTEST
    out = np.empty(buf.size, np.uint8)
    starts, ends, sizes = (sparse(most, np.int64) for _ in range(3))
    size, n = _read(buf, _names(), keeps_entities, keeps_spaces, INFO, out, starts, ends, sizes)
    return Text(out[:size], buf, starts[:n], ends[:n], sizes[:n]) if n else Text(buf, buf, _NONE, _NONE, _NONE)


def unescaped(text: bytes) -> bytes:
    """Return a text with characters instead of entities."""
    return read(np.frombuffer(text, np.uint8)).buf.tobytes() if b"&" in text else text
