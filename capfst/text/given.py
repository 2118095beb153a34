"""Read a text without its entities and the endings of inclusive forms, and write it with them.

In: a text. Out: the same text with the characters that entities stand for, and without the endings of inclusive forms
(notations.py): `don &apos;t`, `Freund*innen` → `don 't`, `Freund` (`read`). It is tokenized and recased like any other
text; then `Text.written` puts the entities and endings back. The bytes of entities stay; endings are in lower case
after lowercase letters.
Offsets in one text are offsets in the other (`Text.offsets`). A text without `&…;` or a sign between letters is not
copied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.kernels import copy_bytes, get_eight, inner, kernel
from capfst.kernels.types import I64Array, U8Array, i64, u64
from capfst.system.sparse import sparse
from capfst.text.language import Language
from capfst.text.notations import Endings, character, inclusive_end, may_be_entity
from capfst.text.notations import endings as forms
from capfst.text.strings import is_same
from capfst.text.unicode import CLASS, GROWTH, IS_UPPER, SPACE, Lowering, ascii_set, decode, encode, is_in, lower_into

_AMP, _STAR, _COLON, _SEMICOLON, _UNDERSCORE, _HASH, _SPACE = (ord(c) for c in "&*:;_# ")
_SIGNS = ascii_set(":*_")
_EACH = np.uint64(0x0101010101010101)


@kernel
def _next_sign(buf: U8Array, i: i64) -> i64:
    """Return the offset from `i` on of the next `&` that an entity may begin with, or of the next sign of inclusive.tsv
    between what may be letters; the size of the text if there is none."""
    while i < buf.size:
        while i + 8 <= buf.size:
            part = get_eight(buf, i)
            found = _has(part, _AMP) | _has(part, _STAR) | _has(part, _COLON) | _has(part, _UNDERSCORE)
            found |= _has(part & ~(_EACH * u64(32)), 0xC2)  # the first bytes of · and of ‧ • ⋅
            if found & (_EACH << u64(7)) != u64(0):
                break
            i += 8
        for k in range(i, min(i + 8, buf.size)):
            if buf[k] == _AMP and may_be_entity(buf, k):
                return k
            if k > 0 and buf[k - 1] >= _SEMICOLON and _is_sign(buf, k):
                return k
        i += 8
    return buf.size


@inner
def _is_sign(buf: U8Array, i: i64) -> bool:
    """Return whether a sign of inclusive.tsv is at buf[i], before what may be a letter or an entity."""
    byte = buf[i]
    if is_in(byte, _SIGNS):
        return i + 1 < buf.size and (buf[i + 1] >= 65 or buf[i + 1] == _AMP)
    if byte == 0xC2:
        return i + 1 < buf.size and buf[i + 1] == 0xB7
    if byte != 0xE2 or i + 2 >= buf.size:
        return False
    return (buf[i + 1] == 0x80 and (buf[i + 2] == 0xA2 or buf[i + 2] == 0xA7)) or (
        buf[i + 1] == 0x8B and buf[i + 2] == 0x85
    )


@inner
def _has(part: u64, byte: i64) -> u64:
    """Return eight bytes, of which the highest bit of one is set if one of part is the byte."""
    differ = part ^ (_EACH * u64(byte))
    return (differ - _EACH) & ~differ


AS_GIVEN, LOWER, AS_BEFORE = range(3)
"""How an ending is written: as it was given; in lower case, except after a capital; in lower case if the letter before
it has changed."""


class Text(NamedTuple):
    """A text with characters instead of entities, and without the endings of inclusive forms."""

    buf: U8Array
    given: U8Array  # with its entities, and with the endings of inclusive forms
    starts: I64Array  # [n]: offsets in `buf` of the characters that stand for entities, and where endings were
    ends: I64Array  # [n]: the offsets after them; of endings, the same
    sizes: I64Array  # [n]: of the entities and endings

    def offsets(self, offsets: I64Array) -> I64Array:
        """Return the offsets in `given` of offsets of characters in `buf`. Endings are at the end of their words."""
        if not self.starts.size:
            return offsets
        longer = np.append(0, np.cumsum(self.sizes - (self.ends - self.starts)))
        return offsets + longer[np.searchsorted(self.ends, offsets, "right")]

    def written(self, recased: U8Array, language: Language, endings: U8Array) -> memoryview:
        """Return `buf` in other case with what was given. language: of the model. endings: uint8[n], AS_GIVEN, LOWER or
        AS_BEFORE for each ending."""
        size = self.given.size
        lowered = sparse(GROWTH * (recased.size + GROWTH * size), np.uint8)
        expected = sparse(GROWTH * size, np.uint8)
        out = np.empty(recased.size + GROWTH * size, np.uint8)
        n = _write(self, recased, endings, language.lowering, language.casing, lowered, expected, out)
        return out[:n].data


@kernel
def _read(meant: Text, keeps_entities: bool, keeps_spaces: bool, endings: Endings) -> tuple[i64, i64]:
    """Write the text that was given as it is meant. Return its size, and the number of entities and endings. keeps_…:
    as in `read`."""
    out, buf, starts, ends, sizes = meant
    i, j, n, copied = 0, 0, 0, 0  # buf[:copied] is out[:j]
    while True:
        i = _next_sign(buf, i)
        copy_bytes(buf, copied, i - copied, out, j)
        j += i - copied
        copied = i
        if i == buf.size:
            return j, n
        end, code = i64(-1), i64(-1)
        if buf[i] == _AMP:
            end, code = character(buf, i, endings.names)
            is_part = code == _HASH and j > 0 and out[j - 1] == _AMP  # of a number
            if code < 0 or is_part or (keeps_spaces and endings.names.info[code] & CLASS == SPACE):
                end, code = i64(-1), i64(-1)
        if not keeps_entities and (buf[i] != _AMP or code >= 0):
            ending = inclusive_end(out, j, buf, i, endings)
            if ending > 0:
                end, code = ending, i64(-1)
        if end < 0:
            i += 1
            continue
        starts[n], sizes[n] = j, end - i
        if keeps_entities:
            copy_bytes(buf, i, end - i, out, j)
            j += end - i
        elif code >= 0:
            j = encode(code, out, j)
        ends[n] = j
        n += 1
        i = copied = end


@inner
def _run_end(text: U8Array, i: i64, is_blank: bool) -> i64:
    """Return the end of the run from `i` on of white space and controls of ASCII, or of other characters."""
    while i < text.size and (text[i] <= _SPACE) == is_blank:
        i += 1
    return i


@kernel
def _write(
    meant: Text, recased: U8Array, endings: U8Array, lowering: Lowering, casing: Lowering, lowered: U8Array,
    expected: U8Array, out: U8Array,
) -> i64:  # fmt: skip
    """Write `recased`, which is `meant.buf` in other case, to `out`, with what was given besides. Return the size.

    White space stays, so both texts have the same runs of other characters. A run that differs from `given` is written
    as it was given if the characters of both do not correspond, or its lowercase would change (a sigma before an
    entity). endings: as in `Text.written`. casing: the lowering of case alone. lowered, expected: working memory.
    """
    text, given, starts, ends, sizes = meant
    i, j, g, o, k = 0, 0, 0, 0, 0  # offsets in text, recased, given and out; the next entity or ending
    is_blank = False
    while i < text.size:
        i_end, j_end = _run_end(text, i, is_blank), _run_end(recased, j, is_blank)
        if is_blank or k == starts.size or starts[k] > i_end:
            copy_bytes(recased, j, j_end - j, out, o)
            o += j_end - j
            g += i_end - i
            i, j, is_blank = i_end, j_end, not is_blank
            continue
        is_blank = True
        begin, written, code, other = g, o, i64(0), i64(0)
        while i < i_end or (k < starts.size and starts[k] == i):
            if k < starts.size and starts[k] == i:
                is_small = endings[k] == LOWER and casing.info[max(other, 0)] & IS_UPPER == 0
                if ends[k] == i and (is_small or (endings[k] == AS_BEFORE and code != other)):
                    o = lower_into(given, g, g + sizes[k], g, g + sizes[k], out, o, casing)
                else:
                    copy_bytes(given, g, sizes[k], out, o)
                    o += sizes[k]
                g += sizes[k]
                while i < ends[k]:
                    i = decode(text, i, i_end)[1]
                    j = decode(recased, j, j_end)[1] if j < j_end else j_end + 1
                k += 1
                continue
            code, after = decode(text, i, i_end)
            other, j_after = decode(recased, j, j_end) if j < j_end else (i64(-1), j_end + 1)
            size = min(j_after, j_end) - min(j, j_end)
            copy_bytes(recased, j, size, out, o)
            o += size
            g += after - i
            i, j = after, j_after
        size = lower_into(out, written, o, written, o, lowered, 0, lowering)
        wanted = lower_into(given, begin, g, begin, g, expected, 0, lowering)
        if j != j_end or not is_same(lowered, 0, size, expected, 0, wanted):
            copy_bytes(given, begin, g - begin, out, written)
            o = written + g - begin
        j = j_end
    return o


_NONE = np.empty(0, np.int64)
_SHORTEST = 2  # bytes of an ending, of which several may follow a word; entities have more


def read(buf: U8Array, keeps_entities: bool = False, keeps_spaces: bool = False) -> Text:
    """Return a text as it is meant.

    keeps_entities: entities are text, but stay as they are, and so are endings (in text that is already tokenized).
    keeps_spaces: the entities of white space are text, so that there are as many words between white space.
    """
    if _next_sign(buf, 0) == buf.size:
        return Text(buf, buf, _NONE, _NONE, _NONE)
    most = buf.size // _SHORTEST
    found = Text(np.empty(buf.size, np.uint8), buf, *(sparse(most, np.int64) for _ in range(3)))
    size, n = _read(found, keeps_entities, keeps_spaces, forms())
    return Text(found.buf[:size], buf, *(each[:n] for each in found[2:])) if n else Text(buf, buf, _NONE, _NONE, _NONE)


def meant(text: bytes) -> bytes:
    """Return a text as it is meant, for training."""
    return read(np.frombuffer(text, np.uint8)).buf.tobytes()
