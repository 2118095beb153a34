"""The base class of formats whose records are lines: plain text, TSV, CSV and JSON lines.

Input: a file of lines. Output: the text of each record; or the same file with only the case of these texts changed. A
record that violates its format, or is not UTF-8, is malformed: it fails its file, passes unchanged or is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CorpusError, OptionError, quantity
from capfst.io.alignments import OtherTexts, mismatch
from capfst.io.blocks import raw_blocks, refuse_foreign
from capfst.io.compression import OnRead, compressing_like
from capfst.io.documents import lines_of
from capfst.io.encodings import UTF8, Transcoding, advice
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.running_text import RunningText, Span
from capfst.text.markup import NONE, hide_text, markup_of, shown

BLOCK = 1 << 20  # bytes of text that are recased at once

_BLANK = re.compile(r"[ \t]").search
_NOT_UTF8 = re.compile("[\udc80-\udcff]").search  # as "surrogateescape" decodes such bytes


class MalformedError(Exception):
    """A record violates its format. The message has the problem, without place and remedy."""


class LineBlock(NamedTuple):
    """Whole lines of a file."""

    data: bytes
    line: int  # the number of the first line, from 1


LineRecord = tuple[str, list[slice], bool, list[OtherTexts], str | None]
"""A record of a file of lines: the line, with its line end and those in it; the positions of its texts, none if it has
no text or is malformed; whether it is malformed; the other texts of each text, none if they are not translations; and
the value that it shares with the records of its document, or None."""


class TextFile:
    """A file of text in any format."""

    def __init__(self, path: Path, options: TextOptions) -> None:
        self.path = path
        self.errors = options.errors
        self.settings: dict[str, Any] = options.settings()
        self.transcoding = Transcoding(options.encoding, options.errors) if options.encoding != UTF8 else None

    @contextmanager
    def writing(self, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
        """Open a function that writes UTF-8 with the compression and in the encoding of the file."""
        with compressing_like(self.path, file) as write:
            yield self.transcoding.writer(write, str(self.path)) if self.transcoding else write


class LineFormat(TextFile):
    """A format of lines. A subclass defines the positions of texts in a line (`find`); `escape` and `unescape`, if
    a text may have escapes; `names`, if the parts of a record have names; `begin`, if the file has a header; and
    `blocks`, `records` and `splittable`, if a record may have several lines."""

    splittable = True
    """Whether each line end ends a record, so that parts of a file can be recased separately."""
    longest = 4 << 20
    """Characters of a text that are recased at once, to bound the additional memory."""
    least_lines = 1
    """The number of lines of a record without a line end."""
    record_is_document = True
    """Whether, without a document key, each record is a document."""

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self.markup = markup_of("", options.markup)
        self.on_error = options.on_error
        self.remedy = options.remedy
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
                    raise CorpusError(f"{self.path}, line {number}: {error}. {self.remedy}".rstrip()) from error
            found = [each for each in positions if each is not None] if None in positions else positions
            yield line, found, malformed, others, key  # type: ignore[misc]

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
        output, counts, first = [], RecaseCounts(), block.line - 1
        for part in self.running(block):
            recased, more = part.recased(recase, first)
            output.append(recased)
            counts += more
            first += part.data.count("\n")
        return b"".join(output), counts

    def running(self, block: LineBlock) -> Iterator[RunningText]:
        """Yield a block, usually as one part, with the text of its records, each on lines of its own. A text that
        begins a document is after a blank line."""
        kept: list[str] = []
        spans: list[Span] = []
        others: list[OtherTexts] = []  # of the spans
        hidden: dict[str, npt.NDArray[np.uint8]] = {}  # by what is written
        separates, hides = self.by_document and self.record_is_document, self.markup != NONE
        key_before: str | None = None
        size = n_records = n_malformed = n_extra = 0  # n_extra: lines of the running text that are not lines of texts

        def show(old: str, recased: str) -> str:
            text = shown(recased.encode("utf-8", "surrogatepass"), hidden[old])
            return self.escape(old, str(text, "utf-8", "surrogatepass"))

        def part() -> RunningText:
            if spans:
                spans[0] = spans[0]._replace(before=spans[0].before[1:])
            counts = RecaseCounts(records=n_records, malformed=n_malformed, lines=-n_extra)
            return RunningText("".join(kept), spans, (), show if hides else self.escape, counts, others=others)

        for line, found, malformed, its_others, key in self.line_records(block):
            n_records += 1
            n_malformed += malformed
            if malformed and self.on_error == "drop":
                continue
            before = "\n"
            if separates and found and (key is None or key != key_before):
                before = "\n\n"
                n_extra += 1
            key_before = key if found else key_before
            others += its_others
            is_long = len(line) > self.longest and found and not its_others  # a source is not cut
            for piece, positions, is_whole in _cut(line, found, self.longest) if is_long else [(line, found, True)]:
                for position in positions:
                    raw = piece[position]
                    value = self.unescape(raw)
                    if hides:
                        text, hidden[raw] = hide_text(value.encode("utf-8", "surrogatepass"), self.markup)
                        value = text.decode("utf-8", "surrogatepass")
                    spans.append(Span(size + position.start, size + position.stop, value, before))
                    before = "\n"
                kept.append(piece)
                size += len(piece)
                n_extra += not is_whole
                if size >= self.longest:
                    yield part()
                    kept, spans, others, size = [], [], [], 0
                    n_records = n_malformed = n_extra = 0
        yield part()


def _cut(line: str, positions: list[slice], longest: int) -> Iterator[tuple[str, list[slice], bool]]:
    """Yield pieces of a line with one text each, its position in the piece, and whether the piece ends the text: a
    longer text is cut after blanks."""
    start = 0
    for number, position in enumerate(positions, 1):
        begin = position.start
        while position.stop - begin > longest and (blank := _BLANK(line, begin + longest, position.stop)):
            yield line[start : blank.end()], [slice(begin - start, blank.end() - start)], False
            start = begin = blank.end()
        end = len(line) if number == len(positions) else position.stop
        yield line[start:end], [slice(begin - start, position.stop - start)], True
        start = end
