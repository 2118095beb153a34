"""The base class of formats whose records are lines: plain text, TSV, CSV and JSON lines.

Input: a file of lines. Output: the text of each record; or the same file with only the case of these texts changed. A
record that violates its format, or is not UTF-8, is malformed: it fails its file, passes unchanged or is dropped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from capfst.exceptions import CorpusError, OptionError, quantity
from capfst.io.alignments import OtherTexts, joined_texts, mismatch
from capfst.io.blocks import raw_blocks, refuse_foreign
from capfst.io.compression import OnRead, compressing_like
from capfst.io.documents import lines_of
from capfst.io.encodings import UTF8, Transcoding, advice
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.text.markup import NONE, hide_text, markup_of, shown

BLOCK = 1 << 20  # bytes of text that are recased at once
_LONG = 4 << 20  # characters; a longer text is recased in pieces, to bound the additional memory

_BLANK = re.compile(r"[ \t]").search
_NOT_UTF8 = re.compile("[\udc80-\udcff]").search  # as "surrogateescape" decodes such bytes


class MalformedError(Exception):
    """A record violates its format. The message has the problem, without place and remedy."""


class LineBlock(NamedTuple):
    """Whole lines of a file."""

    data: bytes
    line: int  # the number of the first line, from 1


class LineRecord(NamedTuple):
    """A record of a file of lines."""

    line: str  # with its line end, and the line ends in it
    positions: list[slice]  # of the texts; empty if the record has none, or is malformed
    malformed: bool
    others: list[OtherTexts]  # of each text; empty if the texts are not translations
    number: int  # of its first line
    key: str | None = None  # the value that it shares with the records of its document; None: it shares none


class LineFormat:
    """A format of lines. A subclass defines the positions of texts in a line (`find`); `escape` and `unescape`, if
    a text may have escapes; `names`, if the parts of a record have names; `begin`, if the file has a header; and
    `blocks`, `records` and `splittable`, if a record may have several lines."""

    splittable = True
    """Whether each line end ends a record, so that parts of a file can be recased separately."""
    least_lines = 1
    """The number of lines of a record without a line end."""
    record_is_document = True
    """Whether, without a document key, each record is a document."""

    def __init__(self, path: Path, options: TextOptions) -> None:
        self.path = path
        self.markup = markup_of("", options.markup)
        self.errors = options.errors
        self.on_error = options.on_error
        self.remedy = options.remedy
        self.settings: dict[str, Any] = options.settings()
        self.transcoding = Transcoding(options.encoding, options.errors) if options.encoding != UTF8 else None
        self.others = [self.other(selected) for selected in options.other_texts()]
        """Formats of this file that select the source and the alignment of each record."""
        self.by_document = options.document is not None
        document_key = options.document_key()
        self.document = self.other(document_key) if document_key else None
        """Format of this file that selects the value that the records of a document share."""
        if self.by_document or self.transcoding:
            self.splittable = False

    def other(self, options: TextOptions) -> LineFormat:
        """Return a format of this file that selects another text of its records."""
        return type(self)(self.path, options)

    def blocks(self, on_read: OnRead) -> Iterator[bytes]:
        """Yield the file in blocks of whole records."""
        return raw_blocks(self.path, BLOCK, on_read, self.transcoding)

    def records(self, text: str, number: int) -> list[str]:
        """Split a block into records. number: that of its first line."""
        return list(lines_of(text))

    def begin(self, data: bytes) -> None:
        """Read the header in the file's first block. Called before any line is recased."""

    def begin_all(self, data: bytes) -> None:
        """Call `begin` for all texts of a record.

        Raises:
            CorpusError: the file is not UTF-8 text.
        """
        refuse_foreign(data, str(self.path))
        for file_format in (self, *self.others, *([self.document] if self.document else [])):
            file_format.begin(data)

    def names(self, data: bytes) -> list[str]:
        """Return the names of a record's parts (fields or columns). data: the file's beginning (`head`)."""
        raise NotImplementedError

    def head(self) -> bytes:
        """Return the beginning of the file, with its first record."""
        return next(self.blocks(lambda piece: None), b"")

    def selected(self, part: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the parts of a record (fields or columns) that are texts.

        Raises:
            OptionError: there is no name.
        """
        if not names:
            known = ", ".join(self.names(self.head()))[:200] or "none"
            raise OptionError(
                f"{self.path}: no {part} is chosen for the text. Use `{part}` with one of these {part}s: {known}."
            )
        return names

    def find(self, line: str, number: int) -> list[slice | None]:
        """Return the positions of the texts in a record, in order; None for a text that is null. The record includes
        its line end; `number` is that of its first line.

        Raises:
            MalformedError: the line violates the format.
        """
        raise NotImplementedError

    def key(self, line: str, number: int) -> str | None:
        """Return the text of a record in the form in which the records of a document share it; None if it has none."""
        texts = [self.unescape(line[position]) for position in self.find(line, number) if position is not None]
        return "\t".join(texts) if texts else None

    def unescape(self, raw: str) -> str:
        """Return the text of the part of a line that `find` selects."""
        return raw

    def escape(self, old: str, recased: str) -> str:
        """Return recased text as it is written instead of `old`."""
        return recased

    def pieces(self, on_read: OnRead) -> Iterator[LineBlock]:
        line, held = 0, b""
        for block in self.blocks(on_read):
            if line == 0:
                self.begin_all(block)
                line = 1
            data, held = self._cut(held + block, line)
            yield LineBlock(data, line)
            line += data.count(b"\n")
        if held:
            yield LineBlock(held, line)

    def _cut(self, data: bytes, line: int) -> tuple[bytes, bytes]:
        """Split whole records, the first of them in this line, into those of whole documents and those of the last
        document, which may continue. A document as long as a block ends with it."""
        if self.document is None:
            return data, b""
        records = self.records(data.decode(errors="surrogateescape"), line)
        last = len(records) - 1
        key = self._key(records[last], line + last)
        while last > 0 and key is not None and self._key(records[last - 1], line + last - 1) == key:
            last -= 1
        parts = ("".join(some).encode(errors="surrogateescape") for some in (records[:last], records[last:]))
        return (data, b"") if last == 0 else tuple(parts)  # type: ignore[return-value]

    def _key(self, record: str, number: int) -> str | None:
        """Return the value that a record shares with those of its document; None if there is none, or the record is
        malformed. number: 1 for the file's first record."""
        try:
            return self.document.key(record, number) if self.document else None
        except MalformedError:
            return None

    def decoded(self, block: LineBlock) -> tuple[str, bool]:
        """Return the block's text; and whether it contains lone surrogates: bytes that are not UTF-8, whose lines are
        malformed."""
        try:
            return block.data.decode(), False
        except UnicodeDecodeError:
            strict = self.errors == "strict"
            return block.data.decode(errors="surrogateescape" if strict else "replace"), strict

    def line_records(self, block: LineBlock) -> Iterator[LineRecord]:
        """Yield the records of a block with the positions of their texts.

        Raises:
            CorpusError: a record is malformed, which fails the file.
        """
        text, malformed_bytes = self.decoded(block)
        after = block.line
        for line in self.records(text, block.line):
            number, after = after, after + (line.count("\n") or self.least_lines)
            positions: list[slice | None] = []
            others: list[OtherTexts] = []
            malformed, key = False, None
            try:
                if malformed_bytes and (bad := _NOT_UTF8(line)):
                    raise MalformedError(
                        f"not UTF-8, 0x{ord(bad[0]) - 0xDC00:02x} after {line[: bad.start()][-20:]!r}."
                        f" {advice(block.data)}"
                    )
                positions = self.find(line, number)
                if self.others and positions:
                    others = self._others(line, number, positions)
                if self.document and positions:
                    key = self.document.key(line, number)
            except MalformedError as error:
                positions, malformed = [], True
                if self.on_error == "fail":
                    raise CorpusError(f"{self.path}, line {number}: {error}. {self.remedy}") from error
            found = [each for each in positions if each is not None] if None in positions else positions
            yield LineRecord(line, found, malformed, others, number, key)  # type: ignore[arg-type]

    def _others(self, line: str, number: int, positions: list[slice | None]) -> list[OtherTexts]:
        """Return the other texts of each text of a record; MalformedError if they do not fit it."""
        found = [other.find(line, number) for other in self.others]
        if any(len(each) != len(positions) for each in found):
            counts = ", ".join(str(len(each)) for each in found)
            raise MalformedError(f"it has {quantity(len(positions), 'text')}, but {counts} sources or alignments")
        others: list[OtherTexts] = []
        for position, *there in zip(positions, *found, strict=True):
            if position is None:
                continue
            pairs = zip(self.others, there, strict=True)
            texts = [other.unescape(line[each]) if each is not None else "" for other, each in pairs]
            if why := mismatch(self.unescape(line[position]), texts):
                raise MalformedError(why)
            others.append(tuple(text.encode("utf-8", "surrogatepass") for text in texts))
        return others

    def texts(self, on_read: OnRead) -> Iterator[str]:
        for block in self.pieces(on_read):
            for line, positions, *_ in self.line_records(block):
                for position in positions:
                    yield self.unescape(line[position])

    def recased(self, block: LineBlock, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        output: list[bytes] = []
        counts = RecaseCounts()
        kept: list[str] = []  # lines, or pieces of long ones
        positions: list[tuple[int, slice]] = []  # of the texts: index in `kept`, slice of that line
        others: list[OtherTexts] = []  # of the texts
        begins: list[bool] = []  # whether a document begins with the text
        numbers: list[int] = []  # of the lines of the texts, from 0
        separates = self.by_document and self.record_is_document
        key_before: str | None = None
        size = n_records = n_malformed = 0  # size: characters of the lines with these texts
        for line, found, malformed, its_others, line_number, key in self.line_records(block):
            n_records += 1
            n_malformed += malformed
            if malformed and self.on_error == "drop":
                continue
            if not found:
                kept.append(line)
                continue
            # A translation is not cut, because its source is not.
            for number, start, end, part, is_whole in _pieces(line, found, _LONG if not its_others else len(line)):
                others.append(its_others[number] if its_others else ())
                begins.append(separates and start == 0 and (key is None or key != key_before))
                positions.append((len(kept), part))
                numbers.append(line_number - 1)
                kept.append(line[start:end])
                size += end - start
                if size >= _LONG:
                    recased, more = self._recased(kept, positions, others, begins, recase)
                    output.append(recased)
                    more = more.at(numbers.__getitem__)
                    # A piece that does not end its text is not counted as a line.
                    counts += more + RecaseCounts(lines=-(not is_whole))
                    kept, positions, others, begins, numbers, size = [], [], [], [], [], 0
            key_before = key
        recased, more = self._recased(kept, positions, others, begins, recase)
        output.append(recased)
        counts += more.at(numbers.__getitem__) + RecaseCounts(records=n_records, malformed=n_malformed)
        return b"".join(output), counts

    def _recased(
        self,
        kept: list[str],
        positions: list[tuple[int, slice]],
        others: list[OtherTexts],
        begins: list[bool],
        recase: Recase,
    ) -> tuple[bytes, RecaseCounts]:
        """Return the lines with the texts at these positions recased. The places of repair are numbers of texts."""
        values = [self.unescape(kept[i][part]).encode("utf-8", "surrogatepass") for i, part in positions]
        if self.markup != NONE:
            hidden = [hide_text(value, self.markup) for value in values]
            texts, counts = _recase_values([part.text for part in hidden], others, begins, recase)
            recased = [bytes(shown(text, part.bytes)) for text, part in zip(texts, hidden, strict=True)]
        else:
            recased, counts = _recase_values(values, others, begins, recase)
        for (i, part), old, new in zip(positions, values, recased, strict=True):
            if new != old:
                line = kept[i]
                written = self.escape(line[part], new.decode("utf-8", "surrogatepass"))
                kept[i] = line[: part.start] + written + line[part.stop :]
        return "".join(kept).encode("utf-8", "surrogateescape"), counts

    @contextmanager
    def writing(self, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
        with compressing_like(self.path, file) as write:
            yield self.transcoding.writer(write, str(self.path)) if self.transcoding else write


def _pieces(line: str, positions: list[slice], longest: int) -> Iterator[tuple[int, int, int, slice, bool]]:
    """Cut a line into pieces with one text each; a text of more than `longest` characters is cut after blanks. Yield
    for each piece the number of its text, its start and end, the text's position in it, and whether it ends the
    text."""
    start = 0
    if len(positions) == 1 and positions[0].stop - positions[0].start <= longest:
        yield 0, 0, len(line), positions[0], True
        return
    for number, position in enumerate(positions):
        begin = position.start
        while position.stop - begin > longest and (blank := _BLANK(line, begin + longest, position.stop)):
            yield number, start, blank.end(), slice(begin - start, blank.end() - start), False
            start = begin = blank.end()
        end = len(line) if number == len(positions) - 1 else position.stop
        yield number, start, end, slice(begin - start, position.stop - start), True
        start = end


def _recase_values(
    values: list[bytes], others: list[OtherTexts], begins: list[bool], recase: Recase
) -> tuple[list[bytes], RecaseCounts]:
    """Recase texts of any number of lines as one text, with a blank line before each that begins a document. The places
    of repair are numbers of texts."""
    if not values:
        return [], RecaseCounts()
    separated = [b"\n" + value if begin else value for value, begin in zip(values, begins, strict=True)]
    recased, counts = recase(b"\n".join([*separated, b""]), *joined_texts(others))
    text = bytes(recased)
    line_ends = np.flatnonzero(np.frombuffer(recased, np.uint8) == ord("\n")).tolist()
    split, ends = [], []  # ends: the last line of each text
    start, line = 0, -1
    for value, begin in zip(separated, begins, strict=True):
        line += value.count(b"\n") + 1
        split.append(text[start + begin : line_ends[line]])
        start = line_ends[line] + 1
        ends.append(line)
    return split, counts.at(lambda line: bisect_left(ends, line)) + RecaseCounts(lines=-sum(begins))
