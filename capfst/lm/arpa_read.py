"""Read language models in ARPA format, as KenLM, SRILM, IRSTLM and OpenGrm write them.

In: a file, plain or compressed, or a stream of plain text. Out: its words, sorted like the symbols of cap.fst, and the
levels of the model (levels.py). Order: header, unigrams (the vocabulary), longer n-grams, the links between them.
Numbers are log10; tabs or blanks separate the fields.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn

import numpy as np

from capfst.corpus.intern import Interner, WordTable
from capfst.exceptions import ModelError, quantity
from capfst.fst.symbols import EPSILON
from capfst.io.blocks import UTF8_MARK
from capfst.io.codecs import DAMAGED
from capfst.io.compression import decompressed
from capfst.lm import arpa_lines as lines
from capfst.lm.levels import BadRowError, Level, NgramTable, empty_table, link
from capfst.options import MAX_ORDER
from capfst.text.strings import Strings
from capfst.text.unicode import LOWERING, Lowering, lower_bytes

START, END, UNKNOWN = b"<s>", b"</s>", b"<unk>"
NEVER = 100 * lines.LN10
"""The cost of <unk> in a model without it, as in KenLM."""
_IMPOSSIBLE = float(np.finfo(np.float32).max)
"""Costs above it are infinite in cap.fst."""
_BLOCK = 1 << 24
_LONGEST = 1 << 26  # bytes of a line
_DIGITS = 12  # of a number of n-grams
_NGRAMS = re.compile(rb"\s*ngram\s+(\d{1,9})\s*=\s*(\d+)\s*$")
_WORD = re.compile(rb"[^ \t\r\n]+")
_SPACE = re.compile(rb"[ \t\r\n]*")


class Arpa(NamedTuple):
    """A model; words[l - 1] is the word of label l."""

    words: list[str]
    levels: list[Level]


class _Reader:
    """The lines of a stream: one by one, or n-grams a block at a time."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name
        self.block = b""  # whole lines
        self.offset = 0  # of the next line in the block
        self.begin = 0  # of the last line that `next` returned
        self.lines_before = 0  # the block

    @property
    def line(self) -> int:
        """The number of the last line that was read."""
        return self.line_at(self.offset) - 1

    def line_at(self, offset: int) -> int:
        """Return the number of the line at an offset in the block."""
        return self.lines_before + self.block.count(b"\n", 0, offset) + 1

    def fail(self, problem: str, line: int | None = None) -> NoReturn:
        where = self.line if line is None else line
        raise ModelError(f"{self.name}, line {where}: {problem}. Check the file, or export the model again.")

    def more(self) -> bool:
        """Read the next block, up to a line end, if the current one is used up; return whether there are more lines."""
        if self.offset < len(self.block):
            return True
        self.lines_before, self.block, self.offset = self.line, b"", 0
        try:
            block = self.stream.read(_BLOCK)
            rest = self.stream.readline(_LONGEST)
        except (OSError, *DAMAGED) as error:
            self.fail(f"cannot read: {error}", self.line + 1)
        if len(rest) == _LONGEST and not rest.endswith(b"\n"):
            self.fail(f"longer than {_LONGEST >> 20} MB", self.line + block.count(b"\n") + 1)
        self.block = block + rest
        if self.block and not self.block.endswith(b"\n"):
            self.block += b"\n"
        return self.block != b""

    def next(self) -> bytes | None:
        """Return the next line that is not blank, without its line end; None at the end of the file."""
        while self.more():
            self.offset = self.begin = _SPACE.match(self.block, self.offset).end()  # type: ignore[union-attr]
            if self.begin < len(self.block):
                self.offset = self.block.index(b"\n", self.begin) + 1
                return self.block[self.begin : self.offset].rstrip(b" \t\r\n")
        return None

    def section(self, mark: bytes) -> None:
        """Read the line that begins a section."""
        line = self.next()
        if line is None:
            self.fail(f"the file ends before {mark.decode()}; it is truncated")
        if line != mark:
            found = line[:60].decode(errors="replace")
            self.fail(f"expected {mark.decode()}, not {found!r}, or the header counts too few n-grams")

    def ngrams(self, order: int, number: int, index: WordTable) -> Iterator[NgramTable]:
        """Read the next `number` lines, of a section, as n-grams of word numbers; at order 1 as places in the block."""
        self.section(b"\\%d-grams:" % order)
        yield empty_table(order)
        while number and self.more():
            size = min(number, self.block.count(b"\n", self.offset))
            part, text = empty_table(order, size), np.frombuffer(self.block, np.uint8)
            self.offset, parsed, wrong = lines.parse(text, self.offset, index, part.words, part.cost, part.backoff)
            if wrong:
                self.fail(f"invalid {order}-gram: {lines.REASONS[wrong]}", self.line + 1)
            number -= parsed
            yield part[:parsed]
            if parsed < size and self.offset < len(self.block):
                break
        if number:
            self.fail(f"{number} {order}-grams fewer than the header counts", self.line + 1)


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
    index = Interner()
    index.ids(Strings.of([START, END, *forms]))
    values = np.array([unigrams[END], *(unigrams[word] for word in forms)])
    backoff = values[:, 1].copy()
    backoff[0] = unigrams.get(START, (0.0, 0.0))[1]
    tables = [NgramTable(np.arange(len(values), dtype=np.uint32)[:, None], values[:, 0].copy(), backoff)]
    kept, first_lines = [np.arange(len(values))], [0]
    for n, count in enumerate(numbers[1:], 2):
        parts = reader.ngrams(n, count, index.table)
        columns = [vars(next(parts)).values()]
        first_lines.append(reader.line + 1)
        columns += [vars(part).values() for part in parts]
        level = NgramTable(*map(np.concatenate, zip(*columns, strict=True)))
        kept.append(np.flatnonzero((level.words[:, 1:] != 0).all(axis=1) & (level.words[:, :-1] != 1).all(axis=1)))
        level = level[kept[-1]]
        level.words[:] = np.maximum(level.words, 1) - 1
        tables.append(level)
    reader.section(b"\\end\\")
    while not len(tables[-1]):
        tables.pop()
    tables[-1].backoff[:] = 0.0
    try:
        return Arpa([form.decode() for form in forms], link(tables))
    except BadRowError as error:
        line = first_lines[error.order - 1] + int(kept[error.order - 1][error.row])
        problem = "is repeated" if error.duplicate else "extends words that are not an n-gram"
        reader.fail(f"this {error.order}-gram {problem}", line)


def _header(reader: _Reader) -> list[int]:
    while (line := reader.next()) not in (b"\\data\\", UTF8_MARK + b"\\data\\"):  # editors add a mark
        if line is None:
            reader.fail("there is no \\data\\ line, so this is not an ARPA model")
    numbers: list[int] = []
    last = reader.line
    while match := _NGRAMS.match(reader.next() or b""):
        if int(match[1]) != len(numbers) + 1:
            reader.fail(f"expected the number of {len(numbers) + 1}-grams")
        if len(match[2]) > _DIGITS:
            reader.fail(f"a number of n-grams has {len(match[2])} digits")
        numbers.append(int(match[2]))
        last = reader.line
    reader.offset = reader.begin
    if not 1 <= len(numbers) <= MAX_ORDER:
        orders = quantity(len(numbers), "order")
        reader.fail(f"the header has {orders} of n-grams; supported are 1 to {MAX_ORDER}", last)
    return numbers


def _unigrams(reader: _Reader, count: int) -> dict[bytes, tuple[float, float]]:
    """Read the cost and backoff cost (−ln) of each word, including <unk>, which is added if missing."""
    unigrams: dict[bytes, tuple[float, float]] = {}
    for part in reader.ngrams(1, count, Interner().table):
        columns = (column.tolist() for column in (part.words[:, 0], part.cost, part.backoff))
        for begin, cost, backoff in zip(*columns, strict=True):
            word: bytes = _WORD.match(reader.block, begin)[0]  # type: ignore[index]
            problem = ""
            if word.decode(errors="replace").encode() != word:
                problem = "the word is not valid UTF-8"
            elif word == EPSILON.encode():
                problem = f"the word {EPSILON} is reserved in FSTs"
            elif cost < 0 and word != START:
                problem = f"invalid 1-gram: {lines.REASONS[lines.POSITIVE]}"
            elif word == END and cost > _IMPOSSIBLE:
                problem = "the probability of </s> is 0, so that no sentence can end"
            elif word in unigrams:
                problem = f"the word {word.decode()!r} is repeated"
            if problem:
                reader.fail(problem, reader.line_at(begin))
            unigrams[word] = cost + 0.0, backoff + 0.0
    if END not in unigrams:
        reader.fail("</s> is not among the 1-grams, so that no sentence can end")
    unigrams.setdefault(UNKNOWN, (NEVER, 0.0))
    return unigrams
