"""Reads language models in ARPA format, as KenLM, SRILM, IRSTLM and OpenGrm write them.

In: a file or stream, gzipped or not. Out: its words, sorted as the symbols of cap.fst are, and the levels of
the model (levels.py). Order: header, unigrams, which make the vocabulary, longer n-grams, links (link.py).
Numbers are log10; fields are apart by tabs or blanks.
"""

import gzip
import math
import os
import re
from typing import BinaryIO, NamedTuple, NoReturn

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.characters import lower_bytes
from capfst.count import MAX_ORDER
from capfst.errors import CapfstError
from capfst.levels import Level
from capfst.link import BadRowError, Rows, link

LN10 = math.log(10)
START, END, UNKNOWN = b"<s>", b"</s>", b"<unk>"
NEVER = 100 * LN10
"""The cost of <unk> in a model without it, as KenLM has it."""
_BLOCK = 1 << 24
_NGRAMS = re.compile(rb"\s*ngram\s+(\d+)\s*=\s*(\d+)\s*$")
_BLANKS = re.compile(rb"[ \t\r]+")
_BAD_FIELDS, _BAD_NUMBER, _POSITIVE, _UNKNOWN_WORD = 1, 2, 3, 4
_REASONS = {
    _BAD_FIELDS: "it should have a log probability, {n} words and perhaps a backoff weight",
    _BAD_NUMBER: "a log probability or backoff weight is no number",
    _POSITIVE: "the log probability is above 0",
    _UNKNOWN_WORD: "it has a word that is not among the 1-grams",
}


class Arpa(NamedTuple):
    """A model: words[l - 1] is the word of label l."""

    words: list[str]
    levels: list[Level]


@nb.njit(cache=True, nogil=True)
def _number(data: npt.NDArray, begin: int, end: int) -> float:
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
def _parse(
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
                value = _number(text, begin, stop)
                if np.isnan(value):
                    return at, row, _BAD_NUMBER
                if value > 0:
                    return at, row, _POSITIVE
                cost[row] = -value * LN10
                backoff[row] = 0.0
            elif field <= order:
                word = _find(text, begin, stop, data, offsets, table)
                if word < 0:
                    return at, row, _UNKNOWN_WORD
                words[row, field - 1] = word
            elif field == order + 1:
                value = _number(text, begin, stop)
                if np.isnan(value):
                    return at, row, _BAD_NUMBER
                backoff[row] = -value * LN10
            field += 1
            begin = stop
        if field == 0:
            return at, row, 0
        if field < order + 1 or field > order + 2:
            return at, row, _BAD_FIELDS
        at = end + 1
        row += 1
    return at, row, 0


class _Reader:
    """A stream's lines, one by one or, while they are n-grams, a block at a time."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.text = np.empty(0, np.uint8)
        self.at = 0
        self.line = 0

    def fail(self, line: int, what: str) -> NoReturn:
        raise CapfstError(f"{self.name}, line {line}: {what}; check the file, or export the model again")

    def more(self) -> bool:
        """Drops what is read; reads on, up to a line's end. Whether there is anything left."""
        rest = self.text[self.at :]
        if len(rest):
            return True
        parts = []
        try:
            while block := self.stream.read(_BLOCK):
                parts.append(block)
                if b"\n" in block:
                    parts.append(self.stream.readline())
                    break
        except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
            self.fail(self.line + 1, f"cannot read on: {error}")
        if not parts:
            return False
        if not parts[-1].endswith(b"\n") and not (len(parts) > 1 and not parts[-1] and parts[-2].endswith(b"\n")):
            parts.append(b"\n")
        self.text, self.at = np.frombuffer(b"".join(parts), np.uint8), 0
        return True

    def next(self) -> bytes | None:
        """The next line that is not blank, without its end; None at the end of the file."""
        while self.more():
            data = self.text[self.at : self.at + (1 << 16)].tobytes()
            end = data.find(b"\n")
            if end < 0:
                data = self.text[self.at :].tobytes()
                end = data.index(b"\n")
            self.at += end + 1
            self.line += 1
            line = data[:end].strip(b" \t\r")
            if line:
                return line
        return None

    def rows(self, order: int, number: int, vocabulary: tuple[npt.NDArray, npt.NDArray, npt.NDArray]) -> Rows:
        parts: list[Rows] = []
        while number and self.more():
            size = min(number, int(np.count_nonzero(self.text[self.at :] == 10)))
            part = Rows(np.empty((size, order), np.uint32), np.empty(size), np.empty(size))
            self.at, found, wrong = _parse(self.text, self.at, *vocabulary, part.words, part.cost, part.backoff)
            self.line += found
            number -= found
            if wrong:
                self.fail(self.line + 1, f"a bad {order}-gram: " + _REASONS[wrong].format(n=order))
            parts.append(part[np.arange(size) < found] if found < size else part)
            if found < size:
                break
        if number:
            self.fail(self.line + 1, f"{number} {order}-grams are missing of those that the header counts")
        none = Rows(np.empty((0, order), np.uint32), np.empty(0), np.empty(0))
        parts = parts or [none]
        return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("words", "cost", "backoff")))


def read_arpa(source: str | os.PathLike[str] | BinaryIO) -> Arpa:
    """The model in an ARPA file of orders 1 to 5.

    N-grams with `<s>` after their first word or `</s>` before their last, which no sentence has, are left out.

    Raises:
        CapfstError: the file cannot be read, or breaks the format; the line is named.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _read(_Reader(source, getattr(source, "name", "ARPA model")))
    name = os.fspath(source)
    try:
        with open(name, "rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            return _read(_Reader(gzip.open(file) if zipped else file, name))  # type: ignore[arg-type]
    except OSError as error:
        raise CapfstError(f"cannot read {name}: {error.strerror}: check the path") from error


def _read(reader: _Reader) -> Arpa:
    numbers = _header(reader)
    unigrams = _unigrams(reader, numbers[0])
    forms = sorted(unigrams.keys() - {START, END}, key=lambda word: (lower_bytes(word), unigrams[word][0], word))
    # Words are numbered <s>, </s>, then the labels from 1 on.
    vocabulary = _vocabulary([START, END, *forms])
    values = np.array([unigrams[END], *(unigrams[word] for word in forms)])
    backoff = values[:, 1].copy()
    backoff[0] = unigrams.get(START, (0.0, 0.0))[1]
    rows = [Rows(np.arange(len(values), dtype=np.uint32)[:, None], values[:, 0].copy(), backoff)]
    kept, first_lines = [np.arange(len(values))], [0]
    for n, number in enumerate(numbers[1:], 2):
        _section(reader, b"\\%d-grams:" % n)
        first_lines.append(reader.line + 1)
        level = reader.rows(n, number, vocabulary)
        kept.append(np.flatnonzero((level.words[:, 1:] != 0).all(axis=1) & (level.words[:, :-1] != 1).all(axis=1)))
        level = level[kept[-1]]
        level.words[:] = np.maximum(level.words, 1) - 1
        rows.append(level)
    _section(reader, b"\\end\\")
    while not len(rows[-1]):
        rows.pop()
    rows[-1].backoff[:] = 0.0
    try:
        return Arpa([form.decode() for form in forms], link(rows))
    except BadRowError as error:
        line = first_lines[error.order - 1] + int(kept[error.order - 1][error.row])
        what = "is there twice" if error.duplicate else "continues words that are no n-gram themselves"
        reader.fail(line, f"this {error.order}-gram {what}")


def _header(reader: _Reader) -> list[int]:
    """The numbers of n-grams, by order."""
    while (line := reader.next()) != b"\\data\\":
        if line is None:
            reader.fail(reader.line, "there is no \\data\\ line: this is no ARPA model")
    numbers: list[int] = []
    while True:
        at, before = reader.at, reader.line
        match = _NGRAMS.match(reader.next() or b"")
        if not match:
            reader.at, reader.line = at, before
            break
        if int(match[1]) != len(numbers) + 1:
            reader.fail(reader.line, f"the number of {len(numbers) + 1}-grams should be here")
        numbers.append(int(match[2]))
    if not 1 <= len(numbers) <= MAX_ORDER:
        reader.fail(reader.line, f"the header has {len(numbers)} orders of n-grams; there can be 1 to {MAX_ORDER}")
    return numbers


def _section(reader: _Reader, mark: bytes) -> None:
    line = reader.next()
    if line is None:
        reader.fail(reader.line, f"the file ends, but {mark.decode()} should follow: it was cut off")
    if line != mark:
        reader.fail(
            reader.line,
            f"{mark.decode()} should be here, not {line[:60].decode(errors='replace')!r}: "
            "or the header counts fewer n-grams than there are",
        )


def _unigrams(reader: _Reader, number: int) -> dict[bytes, tuple[float, float]]:
    """Cost and backoff (-ln) of each word. <unk> is among them."""
    _section(reader, b"\\1-grams:")
    found: dict[bytes, tuple[float, float]] = {}
    for _ in range(number):
        line = reader.next()
        if line is None or line.startswith(b"\\"):
            reader.fail(reader.line, f"{number - len(found)} 1-grams are missing of those that the header counts")
        fields = _BLANKS.split(line)
        if not 2 <= len(fields) <= 3:
            reader.fail(reader.line, "a bad 1-gram: " + _REASONS[_BAD_FIELDS].format(n=1))
        word = fields[1]
        try:
            cost, backoff = (-float(field) * LN10 + 0.0 for field in (fields[0], *fields[2:], b"0")[:2])
            word.decode()
        except UnicodeDecodeError:
            reader.fail(reader.line, "the word is not valid UTF-8")
        except ValueError:
            cost = backoff = math.nan
        if math.isnan(cost) or math.isnan(backoff):
            reader.fail(reader.line, "a bad 1-gram: " + _REASONS[_BAD_NUMBER])
        if cost < 0 and word != START:
            reader.fail(reader.line, "a bad 1-gram: " + _REASONS[_POSITIVE])
        if word in found:
            reader.fail(reader.line, f"the word {word.decode()!r} is there twice")
        found[word] = cost, backoff
    if END not in found:
        reader.fail(reader.line, "there is no </s> among the 1-grams: such models cannot end a sentence")
    found.setdefault(UNKNOWN, (NEVER, 0.0))
    return found


def _vocabulary(words: list[bytes]) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray]:
    data = np.frombuffer(b"".join(words), np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64)
    return data, offsets, _table(data, offsets)
