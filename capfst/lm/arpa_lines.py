"""The lines of an ARPA file, as n-grams of word numbers.

In: text, whole lines of one section, and the words of the model. Out: for each line its words' numbers, its
cost and its backoff (-ln); or what is wrong with it.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

LN10 = math.log(10)
BAD_FIELDS, BAD_NUMBER, POSITIVE, UNKNOWN_WORD = 1, 2, 3, 4
REASONS = {
    BAD_FIELDS: "it should have a log probability, {n} words and perhaps a backoff weight",
    BAD_NUMBER: "a log probability or backoff weight is no number",
    POSITIVE: "the log probability is above 0",
    UNKNOWN_WORD: "it has a word that is not among the 1-grams",
}


class Vocabulary(NamedTuple):
    """Word i is data[offsets[i] : offsets[i + 1]]; table: int32, open addressing, -1 where free."""

    data: npt.NDArray
    offsets: npt.NDArray
    table: npt.NDArray

    @classmethod
    def of(cls, words: list[bytes]) -> "Vocabulary":
        data = np.frombuffer(b"".join(words), np.uint8)
        offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64)
        return cls(data, offsets, _table(data, offsets))


@nb.njit(cache=True, nogil=True)
def number(data: npt.NDArray, begin: int, end: int) -> float:
    """The decimal number in data[begin:end]; NaN if it is none."""
    at, sign = begin, 1.0
    if at < end and (data[at] == 45 or data[at] == 43):
        sign = -1.0 if data[at] == 45 else 1.0
        at += 1
    if end - at >= 3 and data[at] | 32 == 105 and data[at + 1] | 32 == 110 and data[at + 2] | 32 == 102:
        return sign * np.inf
    mantissa, exponent, digits, point = 0.0, 0, 0, False
    while at < end and (48 <= data[at] <= 57 or (data[at] == 46 and not point)):
        if data[at] == 46:
            point = True
        else:
            mantissa = mantissa * 10 + (data[at] - 48)
            exponent -= point
            digits += 1
        at += 1
    if digits == 0:
        return np.nan
    if at < end and data[at] | 32 == 101:
        at += 1
        negative = at < end and data[at] == 45
        if at < end and (data[at] == 45 or data[at] == 43):
            at += 1
        scale = 0
        if at == end:
            return np.nan
        while at < end and 48 <= data[at] <= 57 and scale < 10000:
            scale = scale * 10 + (data[at] - 48)
            at += 1
        exponent += -scale if negative else scale
    return sign * mantissa * 10.0**exponent if at == end else np.nan


@nb.njit(cache=True, nogil=True)
def _hash(data: npt.NDArray, begin: int, end: int) -> np.uint64:
    """FNV-1a."""
    value = np.uint64(14695981039346656037)
    for i in range(begin, end):
        value = (value ^ np.uint64(data[i])) * np.uint64(1099511628211)
    return value


@nb.njit(cache=True, nogil=True)
def _table(data: npt.NDArray, offsets: npt.NDArray) -> npt.NDArray:
    """A hash table of the words data[offsets[i] : offsets[i + 1]]: their numbers, -1 where free."""
    size = 16
    while size < 2 * len(offsets):
        size *= 2
    table = np.full(size, -1, np.int32)
    for word in range(len(offsets) - 1):
        slot = _hash(data, offsets[word], offsets[word + 1]) & np.uint64(size - 1)
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(size - 1)
        table[slot] = word
    return table


@nb.njit(cache=True, nogil=True)
def _find(line: npt.NDArray, begin: int, end: int, data: npt.NDArray, offsets: npt.NDArray, table: npt.NDArray) -> int:
    slot = _hash(line, begin, end) & np.uint64(len(table) - 1)
    while table[slot] >= 0:
        word = table[slot]
        if offsets[word + 1] - offsets[word] == end - begin:
            same = True
            for i in range(end - begin):
                same &= line[begin + i] == data[offsets[word] + i]
            if same:
                return word
        slot = (slot + np.uint64(1)) & np.uint64(len(table) - 1)
    return -1


@nb.njit(cache=True, nogil=True)
def parse(
    text: npt.NDArray,
    at: int,
    data: npt.NDArray,
    offsets: npt.NDArray,
    table: npt.NDArray,
    words: npt.NDArray,
    cost: npt.NDArray,
    backoff: npt.NDArray,
) -> tuple[int, int, int]:
    """Whole lines of n-grams from text[at:] into as many rows as there are, up to a blank line or one with a backslash.

    Returns the place behind, the number of rows, and what is wrong with the line after them, or 0. Words come
    out as their numbers in the table.
    """
    order = words.shape[1]
    row = 0
    while row < len(words) and at < len(text):
        end = at
        while text[end] != 10:
            end += 1
        field, begin = 0, at
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
                    return at, row, 0
                value = number(text, begin, stop)
                if np.isnan(value):
                    return at, row, BAD_NUMBER
                if value > 0:
                    return at, row, POSITIVE
                cost[row] = -value * LN10
                backoff[row] = 0.0
            elif field <= order:
                word = _find(text, begin, stop, data, offsets, table)
                if word < 0:
                    return at, row, UNKNOWN_WORD
                words[row, field - 1] = word
            elif field == order + 1:
                value = number(text, begin, stop)
                if np.isnan(value):
                    return at, row, BAD_NUMBER
                backoff[row] = -value * LN10
            field += 1
            begin = stop
        if field == 0:
            return at, row, 0
        if field < order + 1 or field > order + 2:
            return at, row, BAD_FIELDS
        at = end + 1
        row += 1
    return at, row, 0
