"""Shapes: the casings that a word may have whether or not the model has seen them, and how to write a word in one.

In: words as UTF-8. Out: the shape of a cased word; a lowercase word in a shape (names.py has the rules of mixed case).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from capfst.casing.names import NOWHERE, Spelling, put, put_mixed, spelling_of
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, inner, kernel, outlined
from capfst.kernels.types import I64Array, U8Array, i64
from capfst.text.strings import Strings
from capfst.text.unicode import (
    CAPITAL_SIGMA,
    CLASS,
    FINAL_SIGMA,
    GROWTH,
    INFO,
    IS_CASED,
    IS_UPPER,
    LETTER,
    WIDTH,
    Lowering,
    decode,
    find_sequence,
    is_alphanumeric,
    is_final_sigma,
    lower_into,
    mapped,
)


class Shape(IntEnum):
    """The pattern of capitals in a word."""

    LOWER = 0
    CAPITALIZED = 1  # its first cased letter is a capital, and no other is
    UPPER = 2
    MIXED = 3
    CASELESS = 4  # no letter has case


N_SHAPES = 4
"""The number of shapes of words with case: those below CASELESS."""
AS_FORM = 255
"""Pseudo shape: write the word as its surface form."""
_MIN_MISTAKEN = 4
"""The least number of capitals after one small letter that are a mistake: hELLO, unlike gRPC."""


@kernel
def shape_with(cased: i64, capitals: i64, first: bool) -> i64:
    """Return the shape of a word with so many cased characters and so many capitals. first: whether its first cased
    character is a capital."""
    if cased == 0:
        return Shape.CASELESS
    if capitals == 0:
        return Shape.LOWER
    if capitals == 1 and first:
        return Shape.CAPITALIZED
    return Shape.UPPER if capitals == cased else Shape.MIXED


@inner
def shape_of(data: U8Array, start: i64, end: i64, info: U8Array) -> i64:
    """Return the shape of data[start:end]. Cased characters count, titlecase ones (ǅ) as capitals."""
    cased, capitals, first = 0, 0, False
    i = start
    while i < end:
        code, i = decode(data, i, end)
        flags = info[code]
        if flags & IS_CASED:
            capital = flags & IS_UPPER != 0
            first = first or (cased == 0 and capital)
            capitals += capital
            cased += 1
    return shape_with(cased, capitals, first)


@outlined
@inner
def is_camel_case(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether the word is like getElementById, PyTorch, iPhone or LLMs: letters and digits with a small letter,
    and a capital that is not the first letter. One small letter before many capitals (hELLO) is a mistake."""
    capitals, smalls, begins_small = 0, 0, False
    i = start
    while i < end:
        code, i = decode(buf, i, end)
        flags = info[code]
        if flags & CLASS == LETTER:
            is_first = capitals + smalls == 0
            capitals += i64(flags & IS_UPPER != 0)
            smalls += i64(flags & (IS_UPPER | IS_CASED) == IS_CASED)
            begins_small = begins_small or (is_first and smalls > 0)
        elif not is_alphanumeric(flags & CLASS):
            return False
    if begins_small:
        return capitals > 0 and (smalls > 1 or capitals < _MIN_MISTAKEN)
    return capitals > 1 and smalls > 0


@kernel
def _shapes(strings: Strings, info: U8Array, out: U8Array) -> None:
    for k in range(out.size):
        out[k] = shape_of(strings.data, strings.offsets[k], strings.offsets[k + 1], info)


def shapes_of(strings: Strings) -> npt.NDArray[np.uint8]:
    """Return the shape of each string by its letters."""
    out = np.empty(len(strings.offsets) - 1, np.uint8)
    _shapes(strings, INFO, out)
    return out


@kernel
def _reshape(
    data: U8Array, offsets: I64Array, spelling: Spelling, out: U8Array, word: U8Array, scratch: U8Array
) -> None:
    """Replace MIXED, the shape of a form by its letters, by the shape in which the language writes the form. word,
    scratch: working memory for one form in another case, and for two."""
    for label in range(1, len(offsets) - 1):
        if out[label] != Shape.MIXED:
            continue
        start, size = offsets[label], offsets[label + 1] - offsets[label]
        for shape in (Shape.CAPITALIZED, Shape.UPPER):
            end = lower_into(data, start, start + size, start, start + size, word, 0, spelling.info, spelling.lowering)
            is_same = spell(word, 0, end, shape, scratch, spelling) == size
            k = 0
            while is_same and k < size:
                is_same = word[k] == data[start + k]
                k += 1
            if is_same:
                out[label] = shape
                break


def shapes(symbols: Symbols) -> npt.NDArray[np.uint8]:
    """Return the shape of every label's surface form (IJsland is CAPITALIZED in Dutch); label 0, which has none, is
    CASELESS."""
    out = shapes_of(symbols.strings)
    out[0] = Shape.CASELESS
    if len(symbols.language.raisings):
        size = GROWTH * GROWTH * int(np.diff(symbols.offsets).max())
        _reshape(
            symbols.data, symbols.offsets, spelling_of(symbols.language), out,
            np.empty(size, np.uint8), np.empty(2 * size, np.uint8),
        )  # fmt: skip
    return out


@inner
def has_sigma(text: U8Array, start: i64, end: i64) -> bool:
    """Return whether the UTF-8 text[start:end] has a capital sigma."""
    for i in range(start, end - 1):  # noqa: SIM110
        if text[i] == 0xCE and text[i + 1] == 0xA3:
            return True
    return False


@outlined
@inner
def _restores(out: U8Array, start: i64, end: i64, word: U8Array, size: i64, info: U8Array, lowering: Lowering) -> bool:
    """Return whether the lowercase of out[start:end] is word[:size]."""
    i, k = start, 0
    while i < end:
        row, after = find_sequence(out, i, end, lowering.sequences, 0)
        if row >= 0:
            for column in range(WIDTH, 2 * WIDTH):
                wanted = i64(lowering.sequences[row, column])
                if wanted == 0:
                    break
                if k == size:
                    return False
                small, k = decode(word, k, size)
                if small != wanted:
                    return False
        else:
            code, after = decode(out, i, end)
            wanted = mapped(lowering.table, code)
            if code == CAPITAL_SIGMA and is_final_sigma(out, i, after, start, end, info):
                wanted = i64(FINAL_SIGMA)
            if k == size:
                return False
            small, k = decode(word, k, size)
            if small != wanted:
                return False
        i = after
    return k == size


@outlined
@inner
def spell(out: U8Array, start: i64, end: i64, shape: i64, scratch: U8Array, spelling: Spelling) -> i64:
    """Write the lowercase word out[start:end] in a shape, in place. Return its new end.

    The lowercase of the result, on its own, is the word: letters whose capitals have another lowercase (ß, ŉ) stay
    lowercase, and the whole word does if a sigma or an accent would change. LOWER, CASELESS and AS_FORM change nothing.
    `scratch` is working memory for the lowercase word and the result, which is at most 3/2 as long, or GROWTH times as
    long in a language with its own rules.
    """
    if shape != Shape.CAPITALIZED and shape != Shape.UPPER and shape != Shape.MIXED:
        return end
    size = end - start
    copy_bytes(out, start, size, scratch, 0)
    if shape == Shape.MIXED:
        scratch_end = put_mixed(scratch, size, scratch, size, spelling)
    else:
        first = 0
        capitals = size if shape == Shape.UPPER else first
        scratch_end = put(scratch, first, size, capitals, first, NOWHERE, scratch, size, spelling)
    if not _restores(scratch, size, scratch_end, scratch, size, spelling.info, spelling.lowering):
        return end
    copy_bytes(scratch, size, scratch_end - size, out, start)
    return start + scratch_end - size
