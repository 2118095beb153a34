"""Characters: the class of each code point, its lowercase, and both on UTF-8 bytes.

In: `grammars/characters.tsv` and `grammars/lower.tsv`. Out: read-only tables over all code points (INFO, TO_LOWER,
TO_TITLE, TO_UPPER); kernels that read, write and lowercase UTF-8 in byte arrays; and `lower`, which is `str.lower` at
one fixed version of Unicode, unless a language (language.py) or a model that restores more than case (restoring.py)
has other rules. Kernels take the tables as arguments, because a table named in a kernel would be compiled into it.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import get_eight, inner, kernel, outlined
from capfst.kernels.types import U8Array, U32Array, U32Matrix, U64Array, i64, u64
from capfst.text.facts import rows

Bytes = npt.NDArray[np.uint8]
CodePoints = npt.NDArray[np.uint32]

OTHER, LETTER, MARK, NUMBER, SPACE, PUNCT = range(6)
CLASS = 7  # mask of the class
IS_UPPER = 8  # its lowercase is another character
IS_CASED = 16  # a sigma after it may be final, a sigma before it is not
IS_IGNORABLE = 32  # the final-sigma rule ignores it
IS_INNER = 64  # a mark that belongs to a word when it is inside it (restoring.py)

CODE_POINTS = 0x110000
CAPITAL_SIGMA, FINAL_SIGMA, SMALL_SIGMA = 0x3A3, 0x3C2, 0x3C3
DOTTED_CAPITAL_I, DOTLESS_I, DOT_ABOVE, SHARP_S = 0x130, 0x131, 0x307, 0xDF

WIDTH = 4
"""The largest number of code points on each side of a sequence."""
GROWTH = 3
"""A text's lowercase, or a lowercase text in another case, has at most this many times as many bytes."""
NOTHING = CODE_POINTS
"""In the table of a lowering: the character is deleted."""
_NEVER = np.uint64(0xFFFFFFFFFFFFFFFF)
_EACH = np.uint64(0x0101010101010101)
_NOT_ASCII = np.uint64(0x8080808080808080)
CASE_BITS = np.uint64(0x2020202020202020)
"""The bits in which a lowercase letter differs from its capital, in eight bytes of ASCII."""

_BITS = {"OTHER": OTHER, "LETTER": LETTER, "MARK": MARK, "NUMBER": NUMBER, "SPACE": SPACE, "PUNCT": PUNCT}
_BITS |= {"CASED": IS_CASED, "IGNORABLE": IS_IGNORABLE}


def _tables() -> tuple[Bytes, CodePoints, CodePoints, CodePoints]:
    info = np.zeros(CODE_POINTS, np.uint8)  # most pages are never written, and take no memory
    for first, last, *names in rows("characters.tsv"):
        info[int(first, 16) : int(last, 16) + 1] = sum(map(_BITS.__getitem__, names))

    table = rows("lower.tsv")
    capital = np.array([int(row[0], 16) for row in table])
    small = np.array([int(row[1].split(" ")[0], 16) for row in table])
    begins = np.array(["TITLE" in row for row in table])
    only_upper = np.array(["UPPER" in row for row in table])
    lower = np.arange(1 + max(capital.max(), small.max()), dtype=np.uint32)
    title = lower.copy()
    lower[capital] = small
    info[capital] |= IS_UPPER
    title[small[begins]] = capital[begins]
    upper = title.copy()
    upper[small[only_upper]] = capital[only_upper]
    for made in (info, lower, title, upper):
        made.flags.writeable = False
    return info, lower, title, upper


# INFO: uint8[0x110000], the class in the low three bits, and the flags.
# The others are uint32[up to the last character that has case], read by `mapped`.
# TO_LOWER: the (first) code point of the lowercase; only U+0130 İ has a second, U+0307.
# TO_TITLE: the capital of c at the start of a capitalized word, if its lowercase is c; else c itself.
# TO_UPPER: the capital of c in a word of capitals (Ǆ, not ǅ; that of ა), if its lowercase is c; else c itself.
INFO, TO_LOWER, TO_TITLE, TO_UPPER = _tables()


@inner
def mapped(table: U32Array, code: i64) -> i64:
    """Return the entry of a table for a code point; the code point itself if the table ends before it."""
    return i64(table[code]) if code < table.size else i64(code)


def ascii_set(characters: str) -> tuple[np.uint64, np.uint64]:
    """Return a set of ASCII characters as 128 bits, for `is_in`."""
    bits = sum(1 << ord(character) for character in set(characters))
    return np.uint64(bits & (1 << 64) - 1), np.uint64(bits >> 64)


@inner
def is_in(byte: i64, characters: tuple[u64, u64]) -> bool:
    """Return whether a byte is one of the characters, an `ascii_set`."""
    bits = characters[0] if byte < 64 else characters[1]
    return byte < 128 and bits >> u64(byte & 63) & u64(1) != u64(0)


class Lowering(NamedTuple):
    """The lowering of a language, or of a model that restores more than case (restoring.py), for kernels."""

    table: U32Array  # like TO_LOWER, or NOTHING; at least all of ASCII
    ascii: U8Array  # [128]: the same for ASCII; 128 if the lowercase is not ASCII, or the character begins a sequence
    sequences: U32Matrix  # [n, 2 WIDTH]: characters padded with 0; their lowercase, likewise. They precede `table`
    irregular: u64  # the ASCII character that is not lowered as in most languages, eight times; or no character
    not_plain: u64  # bits that eight plain bytes never have; all, if there are several such characters
    case: u64  # the bit that ASCII lowercase letters have and capitals lack, eight times; 0 if case stays
    is_regular: bool  # whether all of ASCII is lowered as in most languages
    info: U8Array = INFO  # the class and case of each character

    @classmethod
    def of(cls, table: CodePoints, sequences: CodePoints) -> "Lowering":
        """Build a lowering from its table and its sequences, longer ones before shorter ones."""
        letters = table[:128]
        ascii = np.minimum(letters, 128).astype(np.uint8)
        ascii[sequences[sequences[:, 0] < 128, 0]] = 128
        has_case = letters[ord("A")] != ord("A")
        expected = np.frombuffer(bytes(range(128)).lower() if has_case else bytes(range(128)), np.uint8)
        alone = sequences[(sequences[:, 0] < 128) & (sequences[:, 1] == 0), 0]
        irregular = sorted({*np.flatnonzero(letters != expected).tolist(), *alone.tolist()})
        return cls(
            table,
            ascii,
            sequences,
            np.uint64(irregular[0]) * _EACH if irregular else _NEVER,
            np.uint64(128) * _EACH if len(irregular) < 2 else _NEVER,
            np.uint64(32) * _EACH if has_case else np.uint64(0),
            has_case and not irregular,
        )


LOWERING = Lowering.of(
    TO_LOWER, np.array([[DOTTED_CAPITAL_I, 0, 0, 0, TO_LOWER[DOTTED_CAPITAL_I], DOT_ABOVE, 0, 0]], np.uint32)
)


@inner
def within(part: u64, least: i64, most: i64) -> u64:
    """Return the highest bit of each of eight bytes, all ASCII, that is in least … most."""
    each = u64(0x0101010101010101)
    above_least = part + (u64(128) - u64(least)) * each
    above_most = part + (u64(127) - u64(most)) * each
    return (above_least ^ above_most) & u64(128) * each


@inner
def is_plain(part: u64, irregular: u64, not_plain: u64) -> bool:
    """Return whether eight bytes are ASCII without an irregular character. irregular, not_plain: of the Lowering."""
    differ = part ^ irregular
    is_irregular = (differ - u64(0x0101010101010101)) & ~differ
    return (part | is_irregular) & not_plain == u64(0)


@inner
def eight_of(text: U8Array, begin: i64, end: i64) -> u64:
    """Return text[begin:end], up to eight bytes of it, as the lowest bits of an integer; the other bits are 0."""
    if begin + 8 <= text.size:
        return get_eight(text, begin) & ~u64(0) >> u64(max(0, 64 - 8 * (end - begin)))
    return _last_eight(text, begin, end)


@outlined
def _last_eight(text: U8Array, begin: i64, end: i64) -> u64:
    """Do the same as `eight_of` at the end of the text."""
    part = u64(0)
    for i in range(begin, min(end, begin + 8)):
        part |= u64(text[i]) << u64(8 * (i - begin))
    return part


@inner
def is_small(text: U8Array, start: i64, end: i64) -> bool:
    """Return whether text[start:end] is certainly ASCII without capitals: every byte has the bit that capitals lack.
    False at the end of the text."""
    if end + 8 > text.size:
        return False
    # The first eight bytes and the last ones; few words are longer than both.
    others = (get_eight(text, start) ^ CASE_BITS) | (get_eight(text, max(start, end - 8)) ^ CASE_BITS)
    others &= ~u64(0) >> u64(max(0, 64 - 8 * (end - start)))
    while end - start > 16:
        start += 8
        others |= get_eight(text, start) ^ CASE_BITS
    return others & (CASE_BITS | _NOT_ASCII) == u64(0)


@inner
def decode(buf: U8Array, i: i64, end: i64) -> tuple[i64, i64]:
    """Return (code point, offset of the next) of the character at buf[i] of valid UTF-8; U+FFFD if `end` cuts it."""
    first = i64(buf[i])
    return (first, i + 1) if first < 0x80 else _decode_several(buf, i, end)


@outlined
def _decode_several(buf: U8Array, i: i64, end: i64) -> tuple[i64, i64]:
    """Decode a character of several bytes, as `decode` does."""
    first = i64(buf[i])
    if first < 0xE0:
        size, code = 2, first & 0x1F
    elif first < 0xF0:
        size, code = 3, first & 0x0F
    else:
        size, code = 4, first & 0x07
    if i + size > end:
        return 0xFFFD, end
    for k in range(i + 1, i + size):
        code = code << 6 | i64(buf[k]) & 0x3F
    return code, i + size


@kernel
def is_utf8(text: U8Array) -> bool:
    """Return whether the bytes are valid UTF-8, without building a str under the GIL."""
    i, end = 0, text.size
    while i < end:
        if i + 8 <= end and get_eight(text, i) & _NOT_ASCII == u64(0):
            i += 8
            continue
        first = i64(text[i])
        size = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        if 0x80 <= first < 0xC2 or first > 0xF4 or i + size > end:
            return False
        for k in range(i + 1, i + size):
            if text[k] & 0xC0 != 0x80:
                return False
        code = decode(text, i, end)[0]
        if size == 3 and (code < 0x800 or 0xD800 <= code < 0xE000):  # overlong, or a surrogate
            return False
        if size == 4 and not 0x10000 <= code < 0x110000:
            return False
        i += size
    return True


@inner
def class_at(buf: U8Array, i: i64, end: i64, info: U8Array) -> i64:
    """Return the class of the character at buf[i]; SPACE at `end`."""
    if i >= end:
        return SPACE
    if buf[i] < 128:
        return info[buf[i]] & CLASS
    return info[decode(buf, i, end)[0]] & CLASS


@kernel
def is_alphanumeric(char_class: i64) -> bool:
    """Return whether a class is that of a letter, digit or combining mark."""
    return char_class == LETTER or char_class == NUMBER or char_class == MARK


@inner
def is_digit(byte: i64) -> bool:
    return 48 <= byte <= 57


@inner
def is_hex(byte: i64) -> bool:
    return is_digit(byte) or 97 <= byte | 32 <= 102


@inner
def encode(code: i64, out: U8Array, j: i64) -> i64:
    """Write the code point as UTF-8 at out[j:] (at most 4 bytes). Return the offset after it."""
    if code < 0x80:
        out[j] = code
        return j + 1
    return _encode_several(code, out, j)


@outlined
def _encode_several(code: i64, out: U8Array, j: i64) -> i64:
    """Encode a character of several bytes, as `encode` does."""
    if code < 0x800:
        out[j] = 0xC0 | code >> 6
        size = 2
    elif code < 0x10000:
        out[j] = 0xE0 | code >> 12
        size = 3
    else:
        out[j] = 0xF0 | code >> 18
        size = 4
    for k in range(1, size):
        out[j + k] = 0x80 | code >> 6 * (size - 1 - k) & 0x3F
    return j + size


@inner
def apostrophe(buf: U8Array, i: i64, end: i64) -> i64:
    """Return how many bytes the apostrophe at buf[i] has: 1 for ', 3 for ’, 0 if there is none."""
    if buf[i] == 39:
        return 1
    return 3 if buf[i] == 0xE2 and i + 2 < end and buf[i + 1] == 0x80 and buf[i + 2] == 0x99 else 0


@inner
def contains(buf: U8Array, start: i64, end: i64, code: i64) -> bool:
    """Return whether buf[start:end] has this character, of two bytes."""
    first, second = 0xC0 | code >> 6, 0x80 | code & 0x3F
    for i in range(start, end - 1):  # noqa: SIM110
        if buf[i] == first and buf[i + 1] == second:
            return True
    return False


@inner
def _is_after_cased(buf: U8Array, i: i64, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether buf[start:i] ends with a cased character, and any that are ignorable."""
    while i > start:
        i -= 1
        while i > start and buf[i] & 0xC0 == 0x80:
            i -= 1
        flags = info[decode(buf, i, end)[0]]
        if not flags & IS_IGNORABLE:
            return flags & IS_CASED != 0
    return False


@inner
def _is_before_cased(buf: U8Array, i: i64, end: i64, info: U8Array) -> bool:
    """Return whether buf[i:end] begins with any characters that are ignorable, and a cased one."""
    while i < end:
        code, i = decode(buf, i, end)
        if not info[code] & IS_IGNORABLE:
            return info[code] & IS_CASED != 0
    return False


@outlined
def is_final_sigma(buf: U8Array, i: i64, after: i64, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether the sigma buf[i:after] of the line buf[start:end] ends a word, as in `str.lower`: after CASED
    IGNORABLE*, and not before IGNORABLE* CASED (Final_Sigma, Unicode 3.13, table 3-17)."""
    return _is_after_cased(buf, i, start, end, info) and not _is_before_cased(buf, after, end, info)


@outlined
def is_joined(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether only IS_IGNORABLE characters are between buf[start:end] and a cased letter: the lowercase of a
    capital sigma in the token could then depend on text outside it."""
    return _is_after_cased(buf, start, 0, buf.size, info) or _is_before_cased(buf, end, buf.size, info)


@outlined
def find_sequence(buf: U8Array, i: i64, end: i64, sequences: U32Matrix, side: i64) -> tuple[i64, i64]:
    """Return (row, offset after it) of the first of the sequences that begins at buf[i:end]; (−1, i) if there is none.

    side: the first column of the side to compare, 0 or WIDTH.
    """
    for row in range(sequences.shape[0]):
        after = i
        for column in range(side, side + WIDTH):
            wanted = i64(sequences[row, column])
            if wanted == 0:
                return row, after
            if after >= end:
                break
            code, after = decode(buf, after, end)
            if code != wanted:
                break
            if column + 1 == side + WIDTH:
                return row, after
    return -1, i


@outlined
def put_sequence(sequences: U32Matrix, row: i64, side: i64, out: U8Array, j: i64) -> i64:
    """Write a side of a sequence at out[j:]. Return the offset after it."""
    for column in range(side, side + WIDTH):
        code = i64(sequences[row, column])
        if code == 0:
            break
        j = encode(code, out, j)
    return j


@outlined
@kernel
def lower_into(
    buf: U8Array, start: i64, end: i64, context_start: i64, context_end: i64, out: U8Array, j: i64, lowering: Lowering
) -> i64:
    """Write the lowercase of buf[start:end] at out[j:]. Return the offset after it.

    buf[context_start:context_end] is the line around it, which decides whether a sigma is final. The lowercase has at
    most 3/2 as many bytes as the text (Ⱥ and İ grow from two to three), in languages with their own rules GROWTH times
    as many. A text that would be deleted completely stays.
    """
    begin = j
    i = start
    while i < end:
        byte = buf[i]
        if byte < 0x80 and lowering.ascii[byte] < 0x80:
            out[j] = lowering.ascii[byte]
            i += 1
            j += 1
            continue
        code, after = decode(buf, i, end)
        if (
            code == CAPITAL_SIGMA
            and mapped(lowering.table, code) == SMALL_SIGMA
            and is_final_sigma(buf, i, after, context_start, context_end, lowering.info)
        ):
            j = encode(mapped(lowering.table, FINAL_SIGMA), out, j)
        else:
            row, sequence_end = find_sequence(buf, i, end, lowering.sequences, 0)
            if row >= 0:
                after = sequence_end
                j = put_sequence(lowering.sequences, row, WIDTH, out, j)
            else:
                small = mapped(lowering.table, code)
                if small != NOTHING:
                    j = encode(small, out, j)
        i = after
    if j == begin:
        for i in range(start, end):
            out[j] = buf[i]
            j += 1
    return j


@inner
def put_plain(text: U8Array, start: i64, end: i64, parts: U64Array, begin: i64, lowering: Lowering) -> bool:
    """Write the lowercase of text[start:end] to parts[begin:], uint64, eight bytes per element as in `eight_of`, if the
    text is plain ASCII. Return whether it is."""
    every_plain = True
    for i in range(start, end, 8):
        part = eight_of(text, i, end)
        every_plain = every_plain and is_plain(part, lowering.irregular, lowering.not_plain)
        parts[begin + ((i - start) >> 3)] = part | within(part, 65, 90) >> u64(2) & lowering.case
    return every_plain


@inner
def put_lowered(
    text: U8Array, start: i64, end: i64, parts: U64Array, begin: i64, scratch: U8Array, lowering: Lowering
) -> i64:
    """Write the lowercase of any word as `put_plain` does. Return its size in bytes. scratch: working memory for the
    lowercase of the word."""
    if put_plain(text, start, end, parts, begin, lowering):
        return end - start
    size = lower_into(text, start, end, start, end, scratch, 0, lowering)
    for i in range(0, size, 8):
        parts[begin + (i >> 3)] = eight_of(scratch, i, size)
    return size


def lower_bytes(text: bytes, lowering: Lowering = LOWERING) -> bytes:
    """Return a model's lowercase of valid UTF-8: that of `str.lower` at the Unicode version of the tables, unless the
    model has a language with other rules or restores more than case."""
    if lowering.is_regular and text.isascii():
        return text.lower()
    buf = np.frombuffer(text, np.uint8)
    out = np.empty(len(text) * GROWTH, np.uint8)
    size = lower_into(buf, 0, len(text), 0, len(text), out, 0, lowering)
    return out[:size].tobytes()


def lower(text: str, lowering: Lowering = LOWERING) -> str:
    """Return a model's lowercase of a text, as `lower_bytes` does."""
    return lower_bytes(text.encode(), lowering).decode()
