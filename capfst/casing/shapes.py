"""Shapes: the casings that a word may have whether or not the model has seen them, and how to write a word in one.

In: words as UTF-8. Out: the shape of a cased word; a lowercase word in a shape (names.py has the rules of mixed case).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from capfst.casing.names import NOWHERE, Spelling, put, put_mixed, spelling_of
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, inner, kernel, outlined
from capfst.kernels.types import I64Array, U8Array, i64
from capfst.text import unicode as uni
from capfst.text.strings import Strings, is_same


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


@inner
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
        code, i = uni.decode(data, i, end)
        flags = info[code]
        if flags & uni.IS_CASED:
            capital = flags & uni.IS_UPPER != 0
            first = first or (cased == 0 and capital)
            capitals += capital
            cased += 1
    return shape_with(cased, capitals, first)


@outlined
def is_camel_case(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    """Return whether the word is like getElementById, PyTorch, iPhone or LLMs: letters and digits with a small letter,
    and a capital that is not the first letter. One small letter before many capitals (hELLO) is a mistake; an ß is
    none (STRAßE)."""
    capitals, smalls, begins_small = 0, 0, False
    i = start
    while i < end:
        code, i = uni.decode(buf, i, end)
        flags = info[code]
        if flags & uni.CLASS == uni.LETTER:
            is_first = capitals + smalls == 0
            capitals += i64(flags & uni.IS_UPPER != 0)
            smalls += i64(flags & (uni.IS_UPPER | uni.IS_CASED) == uni.IS_CASED and code != uni.SHARP_S)
            begins_small = begins_small or (is_first and smalls > 0)
        elif not uni.is_alphanumeric(flags & uni.CLASS):
            return False
    if begins_small:
        return capitals > 0 and (smalls > 1 or capitals < _MIN_MISTAKEN)
    return capitals > 1 and smalls > 0


@kernel
def _shapes(strings: Strings, info: U8Array, out: U8Array) -> None:
    for k in range(out.size):
        out[k] = shape_of(strings.data, strings.offsets[k], strings.offsets[k + 1], info)


def shapes_of(strings: Strings) -> U8Array:
    """Return the shape of each string by its letters."""
    out = np.empty(len(strings.offsets) - 1, np.uint8)
    _shapes(strings, uni.INFO, out)
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
        start, after = offsets[label], offsets[label + 1]
        for shape in (Shape.CAPITALIZED, Shape.UPPER):
            end = uni.lower_into(data, start, after, start, after, word, 0, spelling.lowering)
            end = spell(word, 0, end, shape, scratch, spelling)
            if is_same(word, 0, end, data, start, after):
                out[label] = shape
                break


def shapes(symbols: Symbols) -> U8Array:
    """Return the shape of every label's surface form (IJsland is CAPITALIZED in Dutch); label 0, which has none, is
    CASELESS."""
    out = shapes_of(symbols.strings)
    out[0] = Shape.CASELESS
    if len(symbols.language.raisings):
        size = uni.GROWTH * uni.GROWTH * int(np.diff(symbols.offsets).max())
        _reshape(
            symbols.data, symbols.offsets, spelling_of(symbols.language), out,
            np.empty(size, np.uint8), np.empty((2 + uni.GROWTH) * size, np.uint8),
        )  # fmt: skip
    return out


@outlined
def spell(out: U8Array, start: i64, end: i64, shape: i64, scratch: U8Array, spelling: Spelling) -> i64:
    """Write the lowercase word out[start:end] in a shape, in place. Return its new end.

    The lowercase of the result, on its own, is the word: letters whose capitals have another lowercase (ß, ŉ) stay
    lowercase, and the whole word does if a sigma or an accent would change. LOWER, CASELESS and AS_FORM change nothing.
    `scratch` is working memory for the lowercase word, the result, which is at most GROWTH times as long, and the
    lowercase of that.
    """
    if shape != Shape.CAPITALIZED and shape != Shape.UPPER and shape != Shape.MIXED:
        return end
    size = end - start
    copy_bytes(out, start, size, scratch, 0)
    if shape == Shape.MIXED:
        spelled = put_mixed(scratch, size, scratch, size, spelling)
    else:
        first = 0
        capitals = size if shape == Shape.UPPER else first
        spelled = put(scratch, first, size, capitals, first, NOWHERE, scratch, size, spelling)
    lowered = uni.lower_into(scratch, size, spelled, size, spelled, scratch, spelled, spelling.lowering)
    if not is_same(scratch, spelled, lowered, scratch, 0, size):
        return end
    copy_bytes(scratch, size, spelled - size, out, start)
    return start + spelled - size
