"""Parse the n-gram lines of an ARPA file.

In: text, whole lines of one section, and the model's words. Out: for each line the numbers of its words, its cost and
its backoff cost (−ln); or its error.
"""

from __future__ import annotations

import math

import numpy as np

from capfst.corpus.intern import WordTable, id_of
from capfst.kernels import inner, kernel, part
from capfst.kernels.types import F64Array, U8Array, U32Matrix, f64, i64

LN10 = math.log(10)
BAD_FIELDS, BAD_NUMBER, POSITIVE, UNKNOWN_WORD, TOO_LARGE = 1, 2, 3, 4, 5
"""The errors that a line can have."""
REASONS = {
    BAD_FIELDS: "it should have a log probability, its words and, optionally, a backoff weight",
    BAD_NUMBER: "a log probability or backoff weight is not a number",
    POSITIVE: "the log probability is above 0",
    UNKNOWN_WORD: "one of its words is not among the 1-grams",
    TOO_LARGE: "the backoff weight is infinite or too large",
}
LARGEST = 99.0
"""The largest log10 of a backoff weight: far above real ones, with as many digits as arpa_write.py can write."""

_LARGE, _SMALL_EXPONENT = 1e290, -290
_INFINITY = np.frombuffer(b"infinity", np.uint8)


@inner
def number(data: U8Array, begin: i64, end: i64) -> f64:
    """Parse data[begin:end] as a decimal number; NaN if it is not one."""
    i, sign = begin, 1.0
    if i < end and (data[i] == 45 or data[i] == 43):
        sign = -1.0 if data[i] == 45 else 1.0
        i += 1
    if end - i == 3 or end - i == len(_INFINITY):
        same = 0
        while same < end - i and data[i + same] | 32 == _INFINITY[same]:
            same += 1
        if same == end - i:
            return sign * np.inf
    mantissa, exponent, digits, point = 0.0, 0, 0, False
    while i < end and (48 <= data[i] <= 57 or (data[i] == 46 and not point)):
        if data[i] == 46:
            point = True
        else:
            digits += 1
            if mantissa < _LARGE:
                mantissa = mantissa * 10 + (data[i] - 48)
                exponent -= point
            else:
                exponent += not point
        i += 1
    if digits == 0:
        return np.nan
    if i < end and data[i] | 32 == 101:
        i += 1
        negative = i < end and data[i] == 45
        if i < end and (data[i] == 45 or data[i] == 43):
            i += 1
        scale = 0
        if i == end:
            return np.nan
        while i < end and 48 <= data[i] <= 57 and scale < 10000:
            scale = scale * 10 + (data[i] - 48)
            i += 1
        exponent += -scale if negative else scale
    if i < end:
        return np.nan
    if mantissa == 0:
        return sign * 0.0
    if exponent < _SMALL_EXPONENT:  # 10 to this power is 0, but the number may not be
        mantissa, exponent = mantissa * 10.0**_SMALL_EXPONENT, exponent - _SMALL_EXPONENT
    return sign * mantissa * 10.0**exponent


@kernel
def parse(
    text: U8Array, start: i64, index: WordTable, words: U32Matrix, cost: F64Array, backoff: F64Array
) -> tuple[i64, i64, i64]:
    """Parse n-gram lines from text[start:] into at most len(words) rows, up to a line with a backslash or, above order
    1, a blank one.

    words: uint32[m, n], numbers of words, at order 1 their places in the text; cost, backoff: float64[m], −ln. Returns
    the position of the first line that was not parsed, the number of rows, and the error in that line, or 0.
    """
    order = words.shape[1]
    row = 0
    while row < len(words) and start < len(text):
        end = start
        while text[end] != 10:
            end += 1
        field, begin = 0, start
        while True:
            while begin < end and (text[begin] == 32 or text[begin] == 9 or text[begin] == 13):
                begin += 1
            if begin == end:
                break
            stop = begin
            while stop < end and not (text[stop] == 32 or text[stop] == 9 or text[stop] == 13):
                stop += 1
            if field == 0:
                if text[begin] == 92:
                    return start, row, 0
                value = number(text, begin, stop)
                if np.isnan(value):
                    return start, row, BAD_NUMBER
                if value > 0 and order > 1:  # that of <s> may be anything
                    return start, row, POSITIVE
                cost[row] = -value * LN10
                backoff[row] = 0.0
            elif order == 1 and field == 1:
                words[row, 0] = begin
            elif field <= order:
                word = id_of(index, part(text, begin, stop - begin), stop - begin)
                if word == 0:
                    return start, row, UNKNOWN_WORD
                words[row, field - 1] = word - 1
            elif field == order + 1:
                value = number(text, begin, stop)
                if np.isnan(value):
                    return start, row, BAD_NUMBER
                if value > LARGEST:
                    return start, row, TOO_LARGE
                backoff[row] = -value * LN10
            field += 1
            begin = stop
        if field == 0 and order > 1:
            return start, row, 0
        if field == 0:
            start = end + 1
            continue
        if field < order + 1 or field > order + 2:
            return start, row, BAD_FIELDS
        start = end + 1
        row += 1
    return start, row, 0
