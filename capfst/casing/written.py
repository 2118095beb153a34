"""The case in which the words of a text are written, before recasing.

In: a buffer and its words. Out: for each word its written shape, and whether its capital may come from its position;
or the words that stay as they are because they have a capital (`kept`).
"""

from __future__ import annotations

import numpy as np

from capfst.casing.names import part_row, spelling_of
from capfst.casing.shapes import AS_FORM, Shape, shape_with
from capfst.casing.types import KEEPS, LISTED, Found, ListedArray, Words
from capfst.fst.symbols import Symbols
from capfst.kernels import count_ones, get_eight, inner, kernel
from capfst.kernels.types import BoolArray, I64Array, U8Array, U64Matrix, i64, u8, u64
from capfst.system.sparse import sparse
from capfst.text.sentences import first_words, is_apostrophe
from capfst.text.strings import Strings
from capfst.text.tokenizer import COMPOUND, NEWLINE
from capfst.text.unicode import INFO, IS_CASED, IS_UPPER, SHARP_S, decode, eight_of, is_small, within

SHAPE = 7
"""Bits of a written shape that are a Shape."""
HAS_SMALL = 8
"""Bit of a written shape: the word has a small letter. Those of 5th, 1990s, n.º and of clitics (n't, 's) do not count:
lines in capitals and in Title Case may have them."""
MAY_BEGIN = 16
"""Bit of a written shape: the word may be the first of a sentence."""

_NEWLINE, _ZERO, _NINE = ord("\n"), ord("0"), ord("9")
_FEMININE, _MASCULINE = 0xAA, 0xBA  # 1ª n.º
_CAPITAL_A, _CAPITAL_Z = ord("A"), ord("Z")
_HIGH = np.uint64(0x8080808080808080)  # the highest bits of eight bytes
_HYPHEN = ord("-")
_SMALL_D, _SMALL_L, _SMALL_N, _SMALL_S = (ord(c) for c in "dlns")
_SMALL_A, _SMALL_Z = ord("a"), ord("z")  # a word that begins with another character may have no letters
_TITLE = 4  # words with a capital in a line in Title Case
_SHORT = 48  # bytes of a line whose evidence may be in a letter that is not ASCII


@inner
def _is_capital(flags: u8) -> bool:
    """Return whether these are the flags of a capital letter."""
    return flags & (IS_UPPER | IS_CASED) == IS_UPPER | IS_CASED


@inner
def _candidates(part: u64) -> u64:
    """Return eight bytes, of which the highest bit of one is set if one of part is a capital of ASCII, or not ASCII."""
    return within(part, _CAPITAL_A, _CAPITAL_Z) | part


@kernel
def _has_capital(buf: U8Array, info: U8Array) -> bool:
    i = 0
    while i < buf.size:
        while i + 16 <= buf.size and (_candidates(get_eight(buf, i)) | _candidates(get_eight(buf, i + 8))) & _HIGH == 0:
            i += 16
        if _candidates(eight_of(buf, i, buf.size)) & _HIGH == 0:
            i += 8
        else:
            code, i = decode(buf, i, buf.size)
            if _is_capital(info[code]):
                return True
    return False


def has_capital(buf: U8Array) -> bool:
    """Return whether a text has a capital letter."""
    return _has_capital(buf, INFO)


@inner
def _is_suffix(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether buf[start:end] is a number with its ending, or a clitic: it begins with a digit, an apostrophe, or
    n and an apostrophe."""
    code, after = decode(buf, start, end)
    if code == _SMALL_N and after < end:
        code = decode(buf, after, end)[0]
    return _ZERO <= code <= _NINE or is_apostrophe(code)


@inner
def _written_shape(buf: U8Array, start: i64, end: i64, info: U8Array) -> i64:
    """Return the shape of the word buf[start:end], and HAS_SMALL."""
    cased, capitals, ordinals, first, i = 0, 0, 0, False, start
    while i < end:
        code, i = decode(buf, i, end)
        flags = info[code]
        is_capital = _is_capital(flags)
        first |= (cased == 0) & is_capital
        capitals += is_capital
        cased += flags & IS_CASED != 0
        ordinals += (code == _FEMININE) | (code == _MASCULINE)
    shape = shape_with(cased, capitals, first)
    return shape | HAS_SMALL if capitals + ordinals < cased and not _is_suffix(buf, start, end) else shape


@kernel
def _read(buf: U8Array, words: Words, first: BoolArray, info: U8Array, shapes: U8Array) -> None:
    for i in range(words.starts.size):
        start, end = words.starts[i], words.ends[i]
        if words.token_types[i] > COMPOUND:
            shapes[i] = Shape.CASELESS
            continue
        shape = i64(Shape.LOWER.value | HAS_SMALL)
        if buf[start] < _SMALL_A or not is_small(buf, start, end):
            # Most words with a capital: Word, Don't. The shape is that of _written_shape.
            is_plain = (
                start + 1 < end and _CAPITAL_A <= buf[start] <= _CAPITAL_Z and _SMALL_A <= buf[start + 1] <= _SMALL_Z
            )
            if is_plain and is_small(buf, start + 1, end):
                shape = i64(Shape.CAPITALIZED.value | HAS_SMALL)
            else:
                shape = _written_shape(buf, start, end, info)
        elif buf[start] == _SMALL_N and _is_suffix(buf, start, end):  # other suffixes do not begin with a letter
            shape = i64(Shape.LOWER.value)
        shapes[i] = shape | MAY_BEGIN if first[i] else shape


def written_shapes(buf: U8Array, words: Words, pretokenized: bool) -> U8Array:
    """Return uint8[n]: the written Shape of each word, with HAS_SMALL and MAY_BEGIN; CASELESS for other tokens."""
    shapes = np.empty(len(words.starts), np.uint8)
    _read(buf, words, first_words(buf, words.tokens, words.may_begin, pretokenized), INFO, shapes)
    return shapes


def shapes_before(buf: U8Array, words: Words, pretokenized: bool, n_given: int) -> U8Array:
    """Return uint8[n]: the written Shape of the first n_given words, AS_FORM for the others, and for those whose
    capital may come from their position."""
    written = written_shapes(buf, words, pretokenized)[:n_given]
    shapes = np.full(len(words.starts), AS_FORM, np.uint8)
    is_open = (written & (SHAPE | MAY_BEGIN)) == (Shape.CAPITALIZED | MAY_BEGIN)
    np.copyto(shapes[:n_given], written & SHAPE, where=~is_open)
    return shapes


@inner
def _is_slip(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether the word has two capitals and then small letters, as in THe; DVDs are a plural."""
    letters, code, i = 0, 0, start
    while i < end:
        code, i = decode(buf, i, end)
        flags = info[code]
        if flags & IS_CASED == 0 or _is_capital(flags) != (letters < 2):
            return False
        letters += 1
    return letters > 3 or (letters == 3 and code != _SMALL_S)


@inner
def _lacks_first(buf: U8Array, start: i64, end: i64, parts: U64Matrix, info: U8Array) -> bool:
    """Return whether only the part after the first hyphen or apostrophe has a capital (o'Reilly, african-American);
    not after a part that stays small (anti-American), or an article (d'Arcy)."""
    i = start
    while i < end and _SMALL_A <= buf[i] <= _SMALL_Z:
        i += 1
    code, after = decode(buf, i, end) if start < i < end else (i64(0), end)
    if after == end or not _is_capital(info[decode(buf, after, end)[0]]):
        return False
    if is_apostrophe(code):
        return buf[i - 1] != _SMALL_D and buf[i - 1] != _SMALL_L
    return code == _HYPHEN and part_row(buf, start, i, parts) < 0


@inner
def _is_upper(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether all small letters of the word are ß, which most keyboards do not have as a capital (FUßBALL)."""
    code, i = 0, start
    while i < end:
        code, i = decode(buf, i, end)
        if code != SHARP_S and info[code] & IS_CASED != 0 and not _is_capital(info[code]):
            return False
    return True


@inner
def is_written(buf: U8Array, start: i64, end: i64, data: U8Array, form: i64, form_end: i64) -> bool:
    """Return whether the surface form data[form:form_end] is the word buf[start:end], case included: the LM writes its
    digits as 0 and its apostrophes as '."""
    while form < form_end and start < end:
        if data[form] == 48 and 48 <= buf[start] <= 57:
            start += 1
        elif data[form] == 39 and end - start >= 3 and buf[start] == 0xE2 and buf[start + 1] == 0x80:
            start += 3
        elif data[form] == buf[start]:
            start += 1
        else:
            return False
        form += 1
    return form == form_end and start == end


@inner
def form_of(text: U8Array, start: i64, end: i64, words: Words, i: i64, forms: Strings) -> i64:
    """Return which surface form of word i text[start:end] is, case included; −1 if it is none. forms: by label."""
    label = i64(words.first_labels[i])
    for k in range(i64(words.n_forms[i])):
        if is_written(text, start, end, forms.data, forms.offsets[label + k], forms.offsets[label + k + 1]):
            return k
    return -1


@inner
def _is_clitic(buf: U8Array, words: Words, i: i64) -> bool:
    """Return whether word i is directly after a token of its line, and begins with an apostrophe, or directly after a
    word, and begins with n and an apostrophe (unlike «N'oublie)."""
    start, end = words.starts[i], words.ends[i]
    if i == 0 or words.ends[i - 1] != start or words.token_types[i - 1] == NEWLINE:
        return False
    code, after = decode(buf, start, end)
    if code | 32 == _SMALL_N and after < end and words.token_types[i - 1] <= COMPOUND:
        code = decode(buf, after, end)[0]
    return is_apostrophe(code)


@kernel
def _ignore_capitals(
    buf: U8Array, words: Words, forms: Strings, parts: U64Matrix, info: U8Array, shapes: U8Array
) -> None:
    for i in range(shapes.size):
        start, end, shape = words.starts[i], words.ends[i], shapes[i] & SHAPE
        if shape == Shape.LOWER or shape == Shape.CASELESS:
            continue
        if _is_clitic(buf, words, i):
            shapes[i] += Shape.CASELESS - shape
            if shapes[i - 1] & SHAPE == Shape.UPPER and words.n_forms[i - 1] > 0:
                shapes[i - 1] += Shape.CASELESS - Shape.UPPER
            continue
        is_slip = shape == Shape.MIXED and words.n_forms[i] > 0
        is_slip = is_slip and (_is_slip(buf, start, end, info) or _lacks_first(buf, start, end, parts, info))
        if is_slip and form_of(buf, start, end, words, i, forms) < 0:
            shapes[i] += Shape.CASELESS - Shape.MIXED
        elif shape == Shape.MIXED and _is_upper(buf, start, end, info):
            shapes[i] -= HAS_SMALL


def written_evidence(buf: U8Array, words: Words, symbols: Symbols, pretokenized: bool) -> U8Array:
    """Return `written_shapes`, with CASELESS for capitals that are no evidence: slips (THe, o'Reilly) of words that the
    model knows; clitics in capitals (IT'S), and words in capitals before one, if the model knows them. An ß in capitals
    is no small letter (STRAßE)."""
    shapes = written_shapes(buf, words, pretokenized)
    _ignore_capitals(buf, words, symbols.strings, spelling_of(symbols.language).parts, INFO, shapes)
    return shapes


@inner
def letters_of(shapes: U8Array, begin: i64, end: i64) -> tuple[bool, bool]:
    """Return whether the words begin … end − 1 have capitals, and whether they have small letters: not only in words in
    mixed case among words in capitals (DAS iPhone)."""
    seen, small, mixed = 0, 0, 0  # bits: the shapes that there are; HAS_SMALL, of words in mixed case in `mixed`
    for i in range(begin, end):
        shape = shapes[i] & SHAPE
        seen |= 1 << shape
        small |= shapes[i] & HAS_SMALL if shape != Shape.MIXED else 0
        mixed |= shapes[i] & HAS_SMALL if shape == Shape.MIXED else 0
    capitals = seen >> Shape.CAPITALIZED.value & 7  # CAPITALIZED, UPPER, MIXED
    return capitals != 0, small != 0 or (mixed != 0 and capitals & 2 == 0)


@kernel
def _keep(words: Words, written: U8Array, listed: ListedArray, keeps_capital: U8Array) -> i64:
    """List the words with a capital that stay as they are; return their number. keeps_capital: initially 0.

    The capitals of a line are kept if it has small letters, and is not in Title Case, in which all words have a
    capital.
    """
    n, begin = 0, 0
    while begin < words.starts.size:
        end, n_capitals, n_lower = begin, 0, 0
        while end < words.starts.size and words.token_types[end] != NEWLINE:
            shape = written[end] & SHAPE
            n_capitals += (shape > Shape.LOWER) & (shape < Shape.CASELESS)
            n_lower += written[end] & (SHAPE | HAS_SMALL) == Shape.LOWER | HAS_SMALL
            end += 1
        keeps = letters_of(written, begin, end)[1] and (n_lower > 0 or n_capitals < _TITLE)
        for i in range(begin, end if keeps else begin):
            shape = written[i] & SHAPE
            if shape == Shape.CAPITALIZED and written[i] & MAY_BEGIN != 0:
                keeps_capital[i] = KEEPS
            elif shape != Shape.LOWER and shape != Shape.CASELESS:
                listed[n].word, listed[n].start, listed[n].end = i, words.starts[i], words.ends[i]
                n += 1
        begin = end + 1
    return n


def kept(buf: U8Array, words: Words, pretokenized: bool) -> tuple[Found, U8Array]:
    """Return the words with a capital, which stay as they are, except in lines in capitals and in Title Case; and
    uint8[n], KEEPS for the words whose capital may come from their position: they only keep it."""
    n = len(words.starts)
    listed, keeps_capital = sparse(n, LISTED), np.zeros(n, np.uint8)
    n_kept = _keep(words, written_shapes(buf, words, pretokenized), listed, keeps_capital)
    return Found(buf, listed[:n_kept], listed[:0]), keeps_capital


@kernel
def _mark_title(buf: U8Array, words: Words, written: U8Array, recased: U8Array, lines: BoolArray) -> None:
    """Fill lines, bool[lines]: whether the line has words in lower case, all of which may have changed."""
    same_size = recased.size == buf.size  # so that the words have the same offsets
    begin, line = 0, 0
    while begin < words.starts.size:
        end, has_lower, is_same = begin, False, False
        while end < words.starts.size and words.token_types[end] != NEWLINE:
            if not is_same and written[end] & SHAPE == Shape.LOWER:
                has_lower, is_same = True, same_size
                for k in range(words.starts[end], words.ends[end] if same_size else 0):
                    is_same = is_same and buf[k] == recased[k]
            end += 1
        lines[line] = has_lower and not is_same
        begin, line = end + 1, line + 1


def has_become_title(buf: U8Array, words: Words, pretokenized: bool, recased: U8Array) -> I64Array:
    """Return the numbers of the lines whose capitals were kept, but that may have come to be in Title Case."""
    lines = np.zeros(int(np.count_nonzero(words.token_types == NEWLINE)) + 1, np.bool_)
    _mark_title(buf, words, written_shapes(buf, words, pretokenized), recased, lines)
    return np.flatnonzero(lines)


@inner
def _letters(text: U8Array, start: i64, end: i64) -> tuple[i64, i64, i64]:
    """Return the numbers of small and of capital letters of ASCII in text[start:end], and of its other bytes."""
    small, capital, other = 0, 0, 0
    for i in range(start, end, 8):
        part = eight_of(text, i, end)
        high, ascii = part & _HIGH, part & ~_HIGH
        small += count_ones(i64(within(ascii, _SMALL_A, _SMALL_Z) & ~high))
        capital += count_ones(i64(within(ascii, _CAPITAL_A, _CAPITAL_Z) & ~high))
        other += count_ones(i64(high))
    return small, capital, other


@inner
def _has_contrast(text: U8Array, start: i64, end: i64, has_capital: bool) -> bool:
    """Return whether text[start:end] has small and capital letters of ASCII, or small ones alone if `has_capital`."""
    small, capital = u64(0), u64(has_capital)
    for i in range(start, end, 8):
        part = eight_of(text, i, end)
        small |= within(part & ~_HIGH, _SMALL_A, _SMALL_Z) & ~part
        capital |= within(part & ~_HIGH, _CAPITAL_A, _CAPITAL_Z) & ~part
        if small != u64(0) and capital != u64(0):
            return True
    return False


def line_ends(buf: U8Array, words: Words, recased: U8Array) -> tuple[I64Array, I64Array]:
    """Return the ends of the lines of a text before and after recasing."""
    ends = its_ends = words.starts[np.flatnonzero(words.token_types == NEWLINE)]
    if recased.size != buf.size or np.any(recased[ends] != _NEWLINE):  # a character and its other case differ in length
        its_ends = np.flatnonzero(recased == _NEWLINE)
    return np.append(ends, buf.size), np.append(its_ends, recased.size)


@kernel
def _find_lost(
    buf: U8Array, ends: I64Array, recased: U8Array, its_ends: I64Array, has_capital: bool, numbers: I64Array
) -> i64:
    """Fill `numbers` with the numbers of the lines of `has_lost_contrast`; return how many they are."""
    n, start, its_start = 0, 0, 0
    for line in range(ends.size):
        end, its_end = ends[line], its_ends[line]
        small, capital, other = _letters(buf, start, end)
        is_odd = other > 0 and end - start < _SHORT
        if is_odd or (small > 0 and capital > 0):
            is_odd = is_odd or (capital > 1 and 2 * capital >= small)
            numbers[n] = line
            n += is_odd or not _has_contrast(recased, its_start, its_end, has_capital)
        start, its_start = end + 1, its_end + 1
    return n


def has_lost_contrast(
    buf: U8Array, ends: I64Array, recased: U8Array, its_ends: I64Array, has_capital: bool
) -> I64Array:
    """Return the numbers of the lines that may have to be recased again, because their case may no longer be evidence.

    These are lines that have lowercase and capital letters before recasing, but not after it. They are also lines with
    many capitals, and short ones with letters beyond ASCII, where one changed word may change the evidence. Only ASCII
    letters count. ends, its_ends: as from `line_ends`. has_capital: whether lines without capitals count as having
    some.
    """
    numbers = np.empty(len(ends), np.int64)
    return numbers[: _find_lost(buf, ends, recased, its_ends, has_capital, numbers)]
