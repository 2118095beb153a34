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

import numpy as np

from capfst.errors import CapfstError
from capfst.lm.arpa_lines import BAD_FIELDS, BAD_NUMBER, LN10, POSITIVE, REASONS, Vocabulary, parse
from capfst.lm.backoff_model import BadRowError, Level, Rows, link
from capfst.lm.count import MAX_ORDER
from capfst.text.unicode import lower_bytes

START, END, UNKNOWN = b"<s>", b"</s>", b"<unk>"
NEVER = 100 * LN10
"""The cost of <unk> in a model without it, as KenLM has it."""
_BLOCK = 1 << 24
_NGRAMS = re.compile(rb"\s*ngram\s+(\d+)\s*=\s*(\d+)\s*$")
_BLANKS = re.compile(rb"[ \t\r]+")


class Arpa(NamedTuple):
    """A model: words[l - 1] is the word of label l."""

    words: list[str]
    levels: list[Level]


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

    def rows(self, order: int, number: int, vocabulary: Vocabulary) -> Rows:
        parts: list[Rows] = []
        while number and self.more():
            size = min(number, int(np.count_nonzero(self.text[self.at :] == 10)))
            part = Rows(np.empty((size, order), np.uint32), np.empty(size), np.empty(size))
            self.at, found, wrong = parse(self.text, self.at, *vocabulary, part.words, part.cost, part.backoff)
            self.line += found
            number -= found
            if wrong:
                self.fail(self.line + 1, f"a bad {order}-gram: " + REASONS[wrong].format(n=order))
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
    forms = sorted(unigrams.keys() - {START, END}, reverse=True)  # of equally likely forms the lower-case one is first
    forms.sort(key=lambda word: (lower_bytes(word), unigrams[word][0]))
    # Words are numbered <s>, </s>, then the labels from 1 on.
    vocabulary = Vocabulary.of([START, END, *forms])
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
            reader.fail(reader.line, "a bad 1-gram: " + REASONS[BAD_FIELDS].format(n=1))
        word = fields[1]
        try:
            cost, backoff = (-float(field) * LN10 + 0.0 for field in (fields[0], *fields[2:], b"0")[:2])
            word.decode()
        except UnicodeDecodeError:
            reader.fail(reader.line, "the word is not valid UTF-8")
        except ValueError:
            cost = backoff = math.nan
        if math.isnan(cost) or math.isnan(backoff):
            reader.fail(reader.line, "a bad 1-gram: " + REASONS[BAD_NUMBER])
        if cost < 0 and word != START:
            reader.fail(reader.line, "a bad 1-gram: " + REASONS[POSITIVE])
        if word in found:
            reader.fail(reader.line, f"the word {word.decode()!r} is there twice")
        found[word] = cost, backoff
    if END not in found:
        reader.fail(reader.line, "there is no </s> among the 1-grams: such models cannot end a sentence")
    found.setdefault(UNKNOWN, (NEVER, 0.0))
    return found
