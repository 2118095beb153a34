"""The words of a text and the gaps between them, as the network reads them: of lines, or of a labeled corpus.

In: the words of a buffer. Out: `Gaps`. A word's vector is its own if it is frequent, else that of its ending. A mark
can be inserted after a word if white space or the end of the line follows, and no mark or dash; in a link, before its
bracket ([here.](URL)). None is inserted after a URL, the time with which a line begins (0:04), or words of its label
(Speaker A:), nor after a remark in round brackets or the number of an item (2)) with which a sentence begins
(`aside_end`). A remark in square brackets ([laughs]) has no words.

In: labels of cased text with marks. Out: `Marked`, words with the mark after each, without quotes and brackets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.types import Words
from capfst.fst.symbols import Symbols
from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, I32Array, I64Array, U8Array, U32Array, i64, u8, u64
from capfst.punctuation.network import AHEAD, COMMA, NONE, PERIOD, QUESTION
from capfst.system.hashing import PRIME
from capfst.text.sentences import aside_end, n_colons
from capfst.text.strings import Strings
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED, Tokens
from capfst.text.unicode import CLASS, INFO, LETTER, NUMBER, SPACE, ascii_set, decode, is_in

_ENDING = 3  # bytes
_MARKS = ascii_set(",.:;?!")
_QUOTES = ascii_set("\"'`([{")
_NUMBERS = ascii_set("0123456789")
_BRACKET, _CLOSING, _PARENTHESIS, _COLON = ord("["), ord("]"), ord("("), ord(":")
_LABEL = 3  # words of a label, up to its colon (Speaker A:), between which no mark is
_SKIPPED, _STOP, _WORD, _ABBREVIATION = 0, 7, 8, 9  # beside the classes of marks
_KINDS = {b",": COMMA, b":": COMMA, b"--": COMMA, b".": _STOP, b";": PERIOD, b"!": PERIOD, b"?": QUESTION}
IGNORED = 255
"""The mark of paddings, and of gaps whose mark is unknown."""


class Gaps(NamedTuple):
    """The words of a text, and the gap after each."""

    vectors: I32Array  # the words of all lines as numbers of vectors, with AHEAD paddings around each line
    at: I64Array  # [n]: the index in `vectors` of each word
    lines: I64Array  # [lines + 1]: the first word of each line, and n
    ends: I64Array  # [n]: the byte offset after each word, and after what is attached to it
    is_open: BoolArray  # [n]: whether a mark can be inserted there


@inner
def ending(text: U8Array, start: i64, end: i64) -> i64:
    """Return the number of a word's ending, 0 … N_ENDINGS − 1: of its last three bytes, whatever their case."""
    total = u64(0)
    for i in range(max(start, end - _ENDING), end):
        byte = text[i]
        if 65 <= byte <= 90:
            byte |= u8(32)
        elif 48 <= byte <= 57:
            byte = u8(48)
        total = total << u64(8) | u64(byte)
    return i64((total * PRIME) >> u64(52))


@kernel
def _fill_endings(symbols: Strings, endings: I32Array) -> None:
    for label in range(endings.size):
        endings[label] = ending(symbols.data, symbols.offsets[label], symbols.offsets[label + 1])


def label_endings(symbols: Symbols) -> I32Array:
    """Return the number of the ending of each label's form, int32[V + 1]."""
    endings = np.empty(len(symbols), np.int32)
    _fill_endings(symbols.strings, endings)
    return endings


@inner
def _has_space(buf: U8Array, start: i64, end: i64, info: U8Array) -> bool:
    while start < end:
        code, start = decode(buf, start, end)
        if info[code] & CLASS == SPACE:
            return True
    return False


@kernel
def _read(buf: U8Array, words: Words, vector_of: I32Array, info: U8Array, gaps: Gaps) -> tuple[i64, i64, i64]:
    """Fill `gaps`; return the numbers of vectors, words and lines."""
    n, used, lines, last_end = 0, AHEAD, 0, 0
    tokens = Tokens(words.starts, words.ends, words.token_types)
    gaps.vectors[:AHEAD] = 0
    gaps.lines[0] = 0
    has_word = False  # on this line
    passed = 0  # the `aside_end` of the last beginning of a sentence
    hidden = 0  # that of the last remark in square brackets
    for i in range(words.starts.size + 1):
        if i == words.starts.size or words.token_types[i] == NEWLINE:
            if has_word:
                gaps.vectors[used : used + AHEAD] = 0
                used += AHEAD
                lines += 1
                gaps.lines[lines] = n
            has_word = False
            continue
        if i < hidden:
            continue
        start, end, token_type = words.starts[i], words.ends[i], words.token_types[i]
        if buf[start] == _BRACKET and token_type == MARKS and (start > last_end or not has_word):
            hidden = aside_end(buf, tokens, i)
            after = words.ends[hidden - 1]
            hidden = 0 if after < buf.size and buf[after] == _PARENTHESIS else hidden  # a link: [see](…)
            if hidden > i:
                last_end = after
                continue
        is_after_mark = has_word and start > last_end and not gaps.is_open[n - 1]
        if i >= passed and (not has_word or words.may_begin[i] or (is_after_mark and i == passed)):
            passed = aside_end(buf, tokens, i)
        if token_type == MARKS:
            code = decode(buf, start, end)[0]
            if has_word:
                if is_in(code, _MARKS) or code == 0x2026 or code == 45 or 0x2010 <= code <= 0x2015:
                    is_label = code == _COLON and n - gaps.lines[lines] <= _LABEL
                    for k in range(gaps.lines[lines] if is_label else n - 1, n):
                        gaps.is_open[k] = False
                elif (
                    start == last_end == gaps.ends[n - 1] and not is_in(code, _QUOTES) and not 0x2018 <= code <= 0x201F
                ):
                    is_link = code == _CLOSING and end < buf.size and buf[end] == _PARENTHESIS
                    gaps.ends[n - 1] = start if is_link else end
                    if i + 1 == passed:
                        gaps.is_open[n - 1] = False
        else:
            if has_word and gaps.is_open[n - 1] and not _has_space(buf, gaps.ends[n - 1], start, info):
                gaps.is_open[n - 1] = False
            label = words.first_labels[i]
            gaps.vectors[used] = vector_of[label] if label > 0 else 1 + ending(buf, start, end)
            gaps.at[n], gaps.ends[n] = used, end
            is_time = not has_word and is_in(buf[start], _NUMBERS) and n_colons(buf, start, end) > 0
            gaps.is_open[n] = token_type != PROTECTED and not is_time
            used += 1
            n += 1
            has_word = True
        last_end = end
    return used, n, lines


def gaps_of(buf: U8Array, words: Words, vector_of: I32Array) -> Gaps:
    """Return the gaps of a text. vector_of: int32[V + 1], the vector of each label."""
    n = len(words.starts)
    n_lines = int((words.token_types == NEWLINE).sum()) + 1
    vectors, lines = np.empty(n + AHEAD * (n_lines + 1), np.int32), np.empty(n_lines + 1, np.int64)
    gaps = Gaps(vectors, np.empty(n, np.int64), lines, np.empty(n, np.int64), np.empty(n, np.bool_))
    used, n, n_lines = _read(buf, words, vector_of, INFO, gaps)
    return Gaps(vectors[:used], gaps.at[:n], lines[: n_lines + 1], gaps.ends[:n], gaps.is_open[:n])


def kept_bytes(buf: U8Array, words: Words) -> BoolArray:
    """Return bool[bytes], false for the marks that are attached to words; ellipses and the like stay."""
    first = buf[words.starts[words.token_types == MARKS]]
    starts, ends = (array[words.token_types == MARKS] for array in (words.starts, words.ends))
    is_mark = np.isin(first, np.frombuffer(b",.:;?!", np.uint8)) & ((ends - starts == 1) | np.isin(first, [33, 63]))
    is_attached = (starts > 0) & ~np.isin(buf[starts - 1], np.frombuffer(b" \t\n", np.uint8))
    removed = np.zeros(buf.size + 1, np.int8)
    np.add.at(removed, starts[is_mark & is_attached], 1)
    np.add.at(removed, ends[is_mark & is_attached], -1)
    return np.cumsum(removed[:-1]) == 0


class Marked(NamedTuple):
    """Words with the mark after each, and paddings between some of the lines."""

    labels: U32Array  # 0 for paddings
    marks: U8Array  # or IGNORED


@kernel
def _fill_kinds(symbols: Strings, info: U8Array, kinds: U8Array) -> None:
    for label in range(1, kinds.size):
        i, end = symbols.offsets[label], symbols.offsets[label + 1]
        while i < end:
            code, i = decode(symbols.data, i, end)
            if info[code] & CLASS == LETTER or info[code] & CLASS == NUMBER:
                kinds[label] = _WORD


def label_kinds(symbols: Symbols, abbreviations: set[bytes]) -> U8Array:
    """Return what each label is, uint8[V + 1]: the class of its mark, _STOP, _WORD, _ABBREVIATION or _SKIPPED.

    abbreviations: in lower case, without their last period.
    """
    kinds = np.zeros(len(symbols), np.uint8)
    _fill_kinds(symbols.strings, INFO, kinds)
    for label in np.flatnonzero(kinds == 0).tolist():
        kinds[label] = _KINDS.get(symbols.utf8(label), _SKIPPED)
    longest = max(map(len, abbreviations), default=0)
    for label in np.flatnonzero((np.diff(symbols.offsets) <= longest) & (kinds == _WORD)).tolist():
        if symbols.lowercase(label) in abbreviations:
            kinds[label] = _ABBREVIATION
    return kinds


@kernel
def read_labels(labels: U32Array, kinds: U8Array, is_small: BoolArray, breaks: BoolArray, marked: Marked) -> i64:
    """Fill `marked`; return its size. breaks: whether a padding follows each label."""
    n, has_word = 0, False
    for i in range(labels.size):
        label = labels[i]
        kind = kinds[label] if label else u8(0)
        if label == 0:
            if has_word and marked.marks[n - 1] < PERIOD:
                marked.marks[n - 1] = PERIOD
            has_word = False
        elif kind >= _WORD:
            marked.labels[n], marked.marks[n] = label, NONE
            n += 1
            has_word = True
        elif kind > 0 and has_word:
            if kind == _STOP:
                following = i + 1
                while following < labels.size and labels[following] > 0 and kinds[labels[following]] == _SKIPPED:
                    following += 1
                is_end = following == labels.size or labels[following] == 0
                is_part = not is_end and (is_small[labels[following]] or kinds[labels[i - 1]] == _ABBREVIATION)
                kind = u8(NONE if is_part else PERIOD)
            marked.marks[n - 1] = max(marked.marks[n - 1], kind)
        if breaks[i] and n > 0 and marked.labels[n - 1] > 0 and (label == 0 or kind >= _WORD):
            if label > 0:  # in the middle of a line: its mark is still to come
                marked.marks[n - 1] = IGNORED
            for _ in range(AHEAD):
                marked.labels[n], marked.marks[n] = 0, IGNORED
                n += 1
            has_word = False
    return n
