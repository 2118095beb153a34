"""Read language models in ARPA format, as KenLM, SRILM, IRSTLM and OpenGrm write them.

In: a file, plain or compressed, or a stream of plain text. Out: its words, sorted like the symbols of cap.fst, and the
levels of the model (levels.py). Order: header, unigrams (the vocabulary), longer n-grams, the links between them.
Numbers are log10; tabs or blanks separate the fields.
"""

import math
import os
import re
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np

from capfst.corpus.intern import WordTable
from capfst.exceptions import ModelError, quantity
from capfst.fst.symbols import EPSILON
from capfst.io.blocks import UTF8_MARK
from capfst.io.compression import DAMAGED, decompressed
from capfst.lm import arpa_lines as lines
from capfst.lm.levels import BadRowError, Level, NgramTable, link
from capfst.options import MAX_ORDER
from capfst.text.unicode import LOWERING, Lowering, lower_bytes

START, END, UNKNOWN = b"<s>", b"</s>", b"<unk>"
NEVER = 100 * lines.LN10
"""The cost of <unk> in a model without it, as in KenLM."""
_IMPOSSIBLE = float(np.finfo(np.float32).max)
"""Costs above it are infinite in cap.fst."""
_NEWLINE = 10
_BLOCK = 1 << 24
_LONGEST = 1 << 26  # bytes of a line
_DIGITS = 12  # of a number of n-grams
_NGRAMS = re.compile(rb"\s*ngram\s+(\d{1,9})\s*=\s*(\d+)\s*$")
_BLANKS = re.compile(rb"[ \t\r]+")
_SPACE = re.compile(rb"[ \t\r\n]*")


class Arpa(NamedTuple):
    """A model; words[l - 1] is the word of label l."""

    words: list[str]
    levels: list[Level]


class _Reader:
    """The lines of a stream: one by one, or n-grams a block at a time."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.text = np.empty(0, np.uint8)  # the current block, up to a line end
        self.offset = 0  # of the next line in the block
        self.line = 0  # the number of the last line
        self.again: tuple[bytes | None, int] | None = None  # a line that `next` returns once more, and its number

    def fail(self, line: int, problem: str) -> NoReturn:
        raise ModelError(f"{self.name}, line {line}: {problem}. Check the file, or export the model again.")

    def more(self) -> bool:
        """Read the next block, up to a line end, if the current one is used up; return whether there are more lines."""
        if self.offset < len(self.text):
            return True
        try:
            text = self.stream.read(_BLOCK)
            rest = self.stream.readline(_LONGEST)
        except (OSError, *DAMAGED) as error:
            self.fail(self.line + 1, f"cannot read: {error}")
        if len(rest) == _LONGEST and not rest.endswith(b"\n"):
            self.fail(self.line + text.count(b"\n") + 1, f"longer than {_LONGEST >> 20} MB")
        text += rest
        if not text:
            return False
        if not text.endswith(b"\n"):
            text += b"\n"
        self.text, self.offset = np.frombuffer(text, np.uint8), 0
        return True

    def next(self) -> bytes | None:
        """Return the next line that is not blank, without its line end; None at the end of the file."""
        if self.again is not None:
            (line, self.line), self.again = self.again, None
            return line
        while self.more():
            start = _SPACE.match(self.text, self.offset).end()  # type: ignore[call-overload]
            self.line += int(np.count_nonzero(self.text[self.offset : start] == _NEWLINE))
            self.offset = start
            if start < len(self.text):
                data = self.text[start : start + (1 << 16)].tobytes()
                end = data.find(b"\n")
                if end < 0:
                    data = self.text[start:].tobytes()
                    end = data.index(b"\n")
                self.offset += end + 1
                self.line += 1
                return data[:end].rstrip(b" \t\r")
        return None

    def ngrams(self, order: int, number: int, index: WordTable) -> NgramTable:
        """Read the next `number` lines as n-grams of word numbers."""
        parts: list[NgramTable] = []
        while number and self.more():
            size = min(number, int(np.count_nonzero(self.text[self.offset :] == _NEWLINE)))
            part = NgramTable(np.empty((size, order), np.uint32), np.empty(size), np.empty(size))
            self.offset, parsed, wrong = lines.parse(self.text, self.offset, index, part.words, part.cost, part.backoff)
            self.line += parsed
            number -= parsed
            if wrong:
                self.fail(self.line + 1, f"invalid {order}-gram: " + lines.REASONS[wrong])
            parts.append(part[np.arange(size) < parsed] if parsed < size else part)
            if parsed < size:
                break
        if number:
            self.fail(self.line + 1, f"{number} {order}-grams fewer than the header counts")
        parts = parts or [NgramTable(np.empty((0, order), np.uint32), np.empty(0), np.empty(0))]
        columns = zip(*((part.words, part.cost, part.backoff) for part in parts), strict=True)
        return NgramTable(*map(np.concatenate, columns))


def read_arpa(source: str | os.PathLike[str] | BinaryIO, lowering: Lowering = LOWERING) -> Arpa:
    """Read an ARPA file of orders 1 to 5; sort its words by their lowercase forms.

    N-grams with `<s>` after their first word or `</s>` before their last are skipped: no sentence contains them.

    Raises:
        ModelError: the file cannot be read, or is not in ARPA format; the line is named.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _read(_Reader(source, getattr(source, "name", "ARPA model")), lowering)
    with decompressed(Path(source)) as stream:
        return _read(_Reader(stream, os.fspath(source)), lowering)


def _read(reader: _Reader, lowering: Lowering) -> Arpa:
    numbers = _header(reader)
    unigrams = _unigrams(reader, numbers[0])
    forms = sorted(unigrams.keys() - {START, END}, reverse=True)  # lowercase first among equally likely forms
    forms.sort(key=lambda word: (lower_bytes(word, lowering), unigrams[word][0]))
    # The numbers of words here: <s>, </s>, then those of labels 1, 2, …
    index = WordTable.of([START, END, *forms])
    values = np.array([unigrams[END], *(unigrams[word] for word in forms)])
    backoff = values[:, 1].copy()
    backoff[0] = unigrams.get(START, (0.0, 0.0))[1]
    tables = [NgramTable(np.arange(len(values), dtype=np.uint32)[:, None], values[:, 0].copy(), backoff)]
    kept, first_lines = [np.arange(len(values))], [0]
    for n, count in enumerate(numbers[1:], 2):
        _section(reader, b"\\%d-grams:" % n)
        first_lines.append(reader.line + 1)
        level = reader.ngrams(n, count, index)
        kept.append(np.flatnonzero((level.words[:, 1:] != 0).all(axis=1) & (level.words[:, :-1] != 1).all(axis=1)))
        level = level[kept[-1]]
        level.words[:] = np.maximum(level.words, 1) - 1
        tables.append(level)
    _section(reader, b"\\end\\")
    while not len(tables[-1]):
        tables.pop()
    tables[-1].backoff[:] = 0.0
    try:
        return Arpa([form.decode() for form in forms], link(tables))
    except BadRowError as error:
        line = first_lines[error.order - 1] + int(kept[error.order - 1][error.row])
        problem = "is repeated" if error.duplicate else "extends words that are not an n-gram"
        reader.fail(line, f"this {error.order}-gram {problem}")


def _header(reader: _Reader) -> list[int]:
    while (line := reader.next()) not in (b"\\data\\", UTF8_MARK + b"\\data\\"):  # editors add a mark
        if line is None:
            reader.fail(reader.line, "there is no \\data\\ line, so this is not an ARPA model")
    numbers: list[int] = []
    while True:
        before = reader.line
        line = reader.next()
        match = _NGRAMS.match(line or b"")
        if not match:
            reader.again, reader.line = (line, reader.line), before
            break
        if int(match[1]) != len(numbers) + 1:
            reader.fail(reader.line, f"expected the number of {len(numbers) + 1}-grams")
        if len(match[2]) > _DIGITS:
            reader.fail(reader.line, f"a number of n-grams has {len(match[2])} digits")
        numbers.append(int(match[2]))
    if not 1 <= len(numbers) <= MAX_ORDER:
        reader.fail(
            reader.line, f"the header has {quantity(len(numbers), 'order')} of n-grams; supported are 1 to {MAX_ORDER}"
        )
    return numbers


def _section(reader: _Reader, mark: bytes) -> None:
    line = reader.next()
    if line is None:
        reader.fail(reader.line, f"the file ends before {mark.decode()}; it is truncated")
    if line != mark:
        reader.fail(
            reader.line,
            f"expected {mark.decode()}, not {line[:60].decode(errors='replace')!r}, "
            "or the header counts too few n-grams",
        )


def _unigrams(reader: _Reader, count: int) -> dict[bytes, tuple[float, float]]:
    """Read the cost and backoff cost (−ln) of each word, including <unk>, which is added if missing."""
    _section(reader, b"\\1-grams:")
    unigrams: dict[bytes, tuple[float, float]] = {}
    for _ in range(count):
        line = reader.next()
        if line is None or line.startswith(b"\\"):
            reader.fail(reader.line, f"{count - len(unigrams)} 1-grams fewer than the header counts")
        fields = _BLANKS.split(line)
        if not 2 <= len(fields) <= 3:
            reader.fail(reader.line, "invalid 1-gram: " + lines.REASONS[lines.BAD_FIELDS])
        word = fields[1]
        try:
            word.decode()
        except UnicodeDecodeError:
            reader.fail(reader.line, "the word is not valid UTF-8")
        if word == EPSILON.encode():
            reader.fail(reader.line, f"the word {EPSILON} is reserved in FSTs")
        numbers = (fields[0], *fields[2:], b"0")[:2]
        log_p, weight = (lines.number(np.frombuffer(field, np.uint8), 0, len(field)) for field in numbers)
        wrong = 0
        if math.isnan(log_p) or math.isnan(weight):
            wrong = lines.BAD_NUMBER
        elif log_p > 0 and word != START:
            wrong = lines.POSITIVE
        elif weight > lines.LARGEST:
            wrong = lines.TOO_LARGE
        if wrong:
            reader.fail(reader.line, "invalid 1-gram: " + lines.REASONS[wrong])
        if word == END and -log_p * lines.LN10 > _IMPOSSIBLE:
            reader.fail(reader.line, "the probability of </s> is 0, so that no sentence can end")
        if word in unigrams:
            reader.fail(reader.line, f"the word {word.decode()!r} is repeated")
        unigrams[word] = -log_p * lines.LN10 + 0.0, -weight * lines.LN10 + 0.0
    if END not in unigrams:
        reader.fail(reader.line, "</s> is not among the 1-grams, so that no sentence can end")
    unigrams.setdefault(UNKNOWN, (NEVER, 0.0))
    return unigrams
