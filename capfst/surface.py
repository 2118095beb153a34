"""The last step of recasing: the text again, each word in the surface form that the best path chose.

In: a buffer, its words, and a label for each (0: none, the word stays lowercase). Out: the buffer's text in which
nothing but case has changed: what stands between words is copied, and so are the digits and apostrophes that the LM
does not tell apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.characters import INFO, LETTER, LOWER, TITLE, UPPER, decode, encode, lower_into
from capfst.symbols import Symbols
from capfst.tokenize import MARKS, NEWLINE, PROTECTED
from capfst.transducer import Words


@njit(cache=True, nogil=True)
def _opens(code):  # type: ignore[no-untyped-def]
    """Quotes, brackets and dashes, behind which a sentence still begins."""
    return (
        code in (34, 39, 40, 42, 45, 91, 96, 123, 0xA1, 0xAB, 0xBB, 0xBF, 0x2022, 0x2039, 0x203A)  # " ' ( * - [ ` {
        or 0x2010 <= code <= 0x2015
        or 0x2018 <= code <= 0x201F
    )


@njit(cache=True, nogil=True)
def _capitalize(out, start, end, room, info, title):  # type: ignore[no-untyped-def]
    """Gives out[start:end] a capital if it has none and begins with a letter; `room` is as large as the word and
    more."""
    i = start
    while i < end:
        code, i = decode(out, i, end)
        if info[code] & UPPER:
            return end
    code, i = decode(out, start, end)
    if title[code] == code:
        return end
    size = end - i
    room[:size] = out[i:end]
    j = encode(title[code], out, start)
    out[j : j + size] = room[:size]
    return j + size


@njit(cache=True, nogil=True)
def _copy_form(buf, start, end, data, form, form_end, out, j):  # type: ignore[no-untyped-def]
    """Writes a surface form with the token's own digits and apostrophes: the LM writes all digits 0, all apostrophes
    '."""
    i = start
    for k in range(form, form_end):
        b = data[k]
        if b == 48:
            while not 48 <= buf[i] <= 57:
                i += 1
            b = buf[i]
            i += 1
        elif b == 39:
            while buf[i] != 39 and not (buf[i] == 0xE2 and buf[i + 1] == 0x80 and buf[i + 2] == 0x99):
                i += 1
            if buf[i] != 39:
                out[j], out[j + 1] = 0xE2, 0x80
                b = np.uint8(0x99)
                i += 2
                j += 2
            i += 1
        out[j] = b
        j += 1
    return j


@njit(cache=True, nogil=True)
def _write(buf, size, plain, sentence_case, starts, ends, kinds, n, choice, data, offsets,  # type: ignore[no-untyped-def]
           info, lower_table, title, room, out):  # fmt: skip
    i = 0  # all of buf[:i] is written
    j = 0
    begins = True  # no word of the line yet
    for t in range(n):
        kind = kinds[t]
        s, e = starts[t], ends[t]
        if kind == NEWLINE:
            begins = True
            continue
        if kind == MARKS or kind == PROTECTED:
            begins = begins and kind == MARKS and _opens(decode(buf, s, size)[0])
            continue
        while i < s:
            out[j] = buf[i]
            i += 1
            j += 1
        word = j
        label = choice[t]
        if label == 0:
            j = lower_into(buf, s, e, 0, size, out, j, info, lower_table)
        else:
            form, form_end = offsets[label], offsets[label + 1]
            if plain:
                for k in range(form, form_end):
                    out[j] = data[k]
                    j += 1
            else:
                j = _copy_form(buf, s, e, data, form, form_end, out, j)
        i = e
        if sentence_case and begins:
            while plain and word < j and _opens(decode(out, word, j)[0]):
                word = decode(out, word, j)[1]
            begins = word == j
            if word < j and info[decode(out, word, j)[0]] & 7 == LETTER:
                j = _capitalize(out, word, j, room, info, title)
    while i < size:
        out[j] = buf[i]
        i += 1
        j += 1
    return j


def write(
    buf: npt.NDArray[np.uint8],
    words: Words,
    choice: npt.NDArray[np.uint32],
    symbols: Symbols,
    pretokenized: bool,
    sentence_case: bool,
) -> memoryview:
    """The text of `buf` with its words in the surface forms of the labels choice[i]; with `sentence_case` each line's
    first word begins with a capital, also behind an opening quote, bracket or dash."""
    sizes = symbols.offsets[choice + np.uint32(1)] - symbols.offsets[choice]
    sizes[choice == 0] = 0
    longest = int((words.ends - words.starts).max(initial=0)) * 2 + int(sizes.max(initial=0)) + 8
    out = np.empty(2 * buf.size + int(sizes.sum()) + 8, np.uint8)
    size = _write(
        buf, buf.size, pretokenized, sentence_case, words.starts, words.ends, words.kinds, len(choice), choice,
        symbols.data, symbols.offsets, INFO, LOWER, TITLE, np.empty(longest, np.uint8), out,
    )  # fmt: skip
    return out[:size].data
