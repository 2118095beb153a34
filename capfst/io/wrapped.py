"""Detect text whose lines are wrapped at a fixed width, as in mails, licenses and Project Gutenberg's books, and join
its lines to paragraphs: for training, one per line (`paragraphs`); for recasing, with their line ends, and the marks of
quotation after these, as other white space (`unwrap`), and with divided words as one, which `rewrap` undoes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.io.documents import LARGEST, LONGEST
from capfst.kernels import inner, kernel
from capfst.kernels.types import U8Array, i64
from capfst.text.sentences import CLOSES, ENDS

# Fractions of lines, far from those of the training corpora. In wrapped licenses and manuals, at least 74 % of the
# lines that end within a sentence are full; in the corpora hardly any; in German laws, which are short fragments, 58 %
# if they lose their periods.
_FULL = 0.66
_OPEN = 0.4  # minimum of lines that end within a sentence: fewer do no harm
_PAIRS = 30  # minimum of lines with another line after them
_WIDTHS = 30, 200  # characters
_SPACES = 9  # maximum of trailing spaces, in addition to the width

_RAGGED = 0.9  # of the width: a line that would be longer with the next word is full; some texts are wrapped by hand
_LONG = 5_000  # characters; a longer paragraph without blank lines ends at the next line that ends a sentence
_LONGEST = 1 << 20  # characters; a longer paragraph ends even if no line ends a sentence


def wrapped_at(text: str) -> int:
    """Return the width at which the lines of a text are wrapped; 0 if they are not.

    Wrapped lines that end within a sentence are full: the next line's first word does not fit into them.
    """
    if text.count("\n") < _PAIRS:
        return 0
    lines = text.split("\n")
    if _usual(map(len, lines)) > _WIDTHS[1] + _SPACES:  # the quick test rejects most corpora
        return 0
    lines = [line.rstrip() for line in lines]
    width = _usual(map(len, lines))
    pairs = [(line, after) for line, after in pairwise(lines) if line and after]
    if len(pairs) < _PAIRS or not _WIDTHS[0] <= width <= _WIDTHS[1]:
        return 0
    ends_open = [(line, after) for line, after in pairs if not _ends_sentence(line)]
    full = sum(_is_full(line, after, width) for line, after in ends_open)
    return width if len(ends_open) > _OPEN * len(pairs) and full > _FULL * len(ends_open) else 0


def paragraphs(lines: Iterable[str], width: int) -> Iterator[str]:
    """Join lines that are wrapped at a width to paragraphs, one per line.

    A paragraph ends at a blank line. It also ends after a line into which the first word of the next line would fit,
    unless that word is in lower case: so titles, verses and lists are not joined to the lines after them.
    """
    held: list[str] = []
    n_held = 0
    last = ""
    for line in map(str.rstrip, lines):
        goes_on = line and (line.lstrip()[0].islower() or _is_full(last, line, _RAGGED * width))
        too_long = n_held > _LONG and (_ends_sentence(last) or n_held > _LONGEST)
        if held and (too_long or not goes_on):
            yield "".join(held)
            held, n_held = [], 0
        if line:
            if held and not _is_divided(last, line):
                held.append(" ")
            held.append(line.strip())
            n_held += len(line)
        last = line
    if held:
        yield "".join(held)


def _usual(lengths: Iterable[int]) -> int:
    """Return a length that 9 of 10 non-empty lines do not exceed: the others may have longer words, or code."""
    ordered = sorted(filter(None, lengths))
    return ordered[len(ordered) * 9 // 10] if ordered else 0


def _ends_sentence(line: str) -> bool:
    return line.rstrip(CLOSES)[-1:] in ENDS


def _is_full(line: str, after: str, width: float) -> bool:
    """Return whether the first word of the line `after` does not fit into `line`."""
    return len(line) + 1 + len(after.split(None, 1)[0]) > width


def _is_divided(line: str, after: str) -> bool:
    """Return whether a hyphenated word is divided between the two lines."""
    return line.endswith("-") and line[-2:-1].isalpha() and after.lstrip()[0].islower()


_NL, _INNER = 10, 11
"""A line end, and the vertical tab that stands for one inside a paragraph, and for marks of quotation after it."""
_QUOTING = 62  # >
_WHITE = b" \t\n\v\f\r"
_division = re.compile(rb"-[ \t\r]*\v[ \t\v]*").finditer
_first = re.compile(rb"[!-@\[-`{-~]*([A-Za-z\x80-\xff]+)").fullmatch
_second = re.compile(rb"([A-Za-z\x80-\xff]+)\S*").match
IsWord = Callable[[bytes], bool]


class _Divided(NamedTuple):
    """A word that a hyphen divides at a line end, with what is attached to it."""

    start: int
    first: bytes
    between: bytes  # the hyphen and white space
    second: bytes


@inner
def _line_end(text: U8Array, start: i64) -> i64:
    """Return the offset of the next line end, or the end of the text."""
    while start < text.size and text[start] != _NL:
        start += 1
    return start


@inner
def _trimmed(text: U8Array, start: i64, end: i64) -> i64:
    """Return the end of a line without white space at its end."""
    while end > start and (text[end - 1] == 32 or 9 <= text[end - 1] <= 13):
        end -= 1
    return end


@inner
def _width(text: U8Array, start: i64, end: i64) -> i64:
    """Return the number of characters without combining marks (U+0300–033F), of which lowercasing adds one to İ."""
    n = 0
    for i in range(start, end):
        n += (text[i] & 0xC0 != 0x80) & (text[i] != 0xCC)
    return n


@inner
def _is_bullet(text: U8Array, start: i64, end: i64) -> bool:
    """Return whether the word text[start:end] is the bullet or number of an item: - * + 1. 2)."""
    first, last = text[start], text[end - 1]
    if end - start == 1:
        return first == 42 or first == 43 or first == 45
    return 48 <= first <= 57 and (last == 41 or last == 46)


@inner
def _after_quoting(text: U8Array, start: i64) -> tuple[i64, i64]:
    """Return the offset after the marks of quotation and white space with which a line begins, and how many marks."""
    depth = 0
    while start < text.size and (text[start] == _QUOTING or text[start] == 32 or text[start] == 9):
        depth += text[start] == _QUOTING
        start += 1
    return start, depth


@kernel
def _unwrap(text: U8Array, out: U8Array) -> None:
    """Put _INNER into a copy of the text, instead of the line ends inside paragraphs and marks of quotation after
    them."""
    start = 0
    while start < text.size:
        stop, n_lines, width = start, 0, 0
        while stop < text.size and n_lines < LONGEST:
            end = _line_end(text, stop)
            trimmed = _trimmed(text, stop, end)
            if trimmed == stop or (n_lines > 0 and end + 1 - start > LARGEST):
                break
            width = max(width, _width(text, stop, trimmed))
            stop = end + 1
            n_lines += 1
        line, depth = start, _after_quoting(text, start)[1]
        for _ in range(n_lines - 1):
            end = _line_end(text, line)
            after, depth_after = _after_quoting(text, end + 1)
            word_end = after
            while word_end < text.size and not (text[word_end] == 32 or 9 <= text[word_end] <= 13):
                word_end += 1
            length = _width(text, line, _trimmed(text, line, end)) + 1 + _width(text, after, word_end)
            goes_on = after < word_end and (depth_after == depth or depth_after == 0)
            if goes_on and 10 * length > 9 * width and width >= _WIDTHS[0] and not _is_bullet(text, after, word_end):
                for k in range(end, after):
                    out[k] = _INNER if text[k] == _NL or text[k] == _QUOTING else text[k]
            line, depth = end + 1, depth_after
        start = stop if n_lines > 0 else _line_end(text, start) + 1


class Unwrapped(bytes):
    """A text with the line ends inside its paragraphs as other white space, and how to wrap it again."""

    wrapped: bytes
    line_ends: npt.NDArray[np.intp]  # as `_line_ends` has them, before words are joined
    divided: list[_Divided]


def unwrap(text: bytes, is_word: IsWord = lambda word: False) -> Unwrapped:
    """Return a text with the line ends inside its paragraphs as other white space.

    A paragraph ends at a blank line, or as a long document does (documents.py). It also ends before the item of a list,
    where the depth of a quotation changes, and after a line into which the first word of the next would fit, given its
    longest line: titles and verses are not joined. What divides a word, if that `is_word`, follows it as white space.
    """
    original = np.frombuffer(text, np.uint8)
    out = original.copy()
    _unwrap(original, out)
    line_ends, words = _line_ends(out), list(_divided(out, is_word))
    for start, first, between, second in words:
        glued = (first + second).ljust(len(first + between + second), b"\v")
        out[start : start + len(glued)] = np.frombuffer(glued, np.uint8)
    unwrapped = Unwrapped(out)
    unwrapped.wrapped, unwrapped.line_ends, unwrapped.divided = text, line_ends, words
    return unwrapped


def rewrap(text: Unwrapped, recased: bytes | memoryview) -> memoryview:
    """Return the recased text, with the line ends of the wrapped text, and its words divided."""
    out, data = np.array(np.frombuffer(recased, np.uint8)), bytes(recased)
    places, more = _line_ends(out), 0
    for word in text.divided:
        end = int(places[np.searchsorted(text.line_ends, word.start) + more])
        start = _start_of_word(data, end)
        split = start + _characters(data[start:end])[len(_characters(word.first))]
        divided = data[start:split] + word.between + data[split:end]
        out[start : start + len(divided)] = np.frombuffer(divided, np.uint8)
        more += len(word.between) - word.between.count(b"\v")
    out[_line_ends(out)] = np.frombuffer(text.wrapped, np.uint8)[text.line_ends]
    return out.data


def _divided(text: U8Array, is_word: IsWord) -> Iterator[_Divided]:
    """Yield the divided words of a text, of which none follows another directly."""
    data, end = text.tobytes(), 0
    for between in _division(data):
        start = _start_of_word(data, between.start())
        first, second = _first(data, start, between.start()), _second(data, between.end())
        if start >= end and first and second and is_word(first[1] + second[1]):
            yield _Divided(start, first[0], between[0], second[0])
            end = second.end()


def _start_of_word(text: bytes, end: int) -> int:
    while end > 0 and text[end - 1] not in _WHITE:
        end -= 1
    return end


def _characters(text: bytes) -> list[int]:
    """Return where characters begin, as `_width` counts them."""
    return [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80 and byte != 0xCC]


def _line_ends(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.intp]:
    return np.flatnonzero((text == _NL) | (text == _INNER))
