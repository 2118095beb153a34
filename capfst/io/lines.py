"""Formats whose records are lines: what text, TSV, CSV and JSON lines have in common.

In: a file of lines. Out: the text of each record; or the same file in which only the case of these texts differs. A
record that has no such text, or is not UTF-8, is malformed: its file fails, or it passes byte for byte, or it is
dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from capfst.exceptions import CapfstError
from capfst.io.aligned import Others, document_options, joined, misfit, other_options, settings
from capfst.io.blocks import raw_blocks, refuse_foreign
from capfst.io.compression import OnRead, compressing_like
from capfst.io.documents import lines_of
from capfst.io.protocol import Recase, RecaseCounts, TextOptions

BLOCK = 1 << 20  # bytes of text that are recased at once
_LONG = 4 << 20  # characters: a longer text is recased in pieces, so that it costs little more memory than its own

_BLANK = re.compile(r"[ \t]").search
_NOT_UTF8 = re.compile("[\udc80-\udcff]").search  # as "surrogateescape" decodes such bytes


class MalformedError(Exception):
    """Says what is wrong with a record."""


class LineBlock(NamedTuple):
    """Whole lines of a file."""

    data: bytes
    line: int  # the number of the first one, from 1


class Record(NamedTuple):
    """A record of a file of lines."""

    line: str  # with its end, and with those inside of it
    place: slice | None  # of its text; None if it has none, or is malformed
    malformed: bool
    others: Others = ()
    key: str | None = None  # what it has in common with the records of its document; None: nothing


class LineFormat:
    """A format of lines. Made of it by saying where in a line the text is (`find`); by `escape` and `unescape`, if that
    text has escapes; by `names`, if its parts have names, and `begin`, if the file's first lines matter; and by
    `blocks`, `records` and `splittable`, if a record may have several lines."""

    splittable = True
    """Whether each line end ends a record, so that parts of a file can be recased apart."""
    record_is_document = True
    """If the lines of documents are evidence for each other, and nothing tells documents apart."""

    def __init__(self, path: Path, options: TextOptions) -> None:
        self.path = path
        self.errors = options.errors
        self.on_error = options.on_error
        self.remedy = options.remedy
        self.settings: dict[str, str] = {"errors": options.errors, "on_error": options.on_error, **settings(options)}
        self.others = [self.other(more) for more in other_options(options)]
        """The source and the alignment of each record, as formats of this file."""
        self.by_document = getattr(options, "document", None) is not None
        in_common = document_options(options)
        self.document = self.other(in_common) if in_common else None
        """What tells documents apart, as a format of this file."""
        if self.by_document:
            self.splittable = False

    def other(self, options: TextOptions) -> LineFormat:
        """This file with another text of its records."""
        return type(self)(self.path, options)

    def blocks(self, on_read: OnRead) -> Iterator[bytes]:
        """The file in blocks of whole records."""
        return raw_blocks(self.path, BLOCK, on_read)

    def records(self, text: str, number: int) -> list[str]:
        """The records of a block, whose first line has this number."""
        return list(lines_of(text))

    def begin(self, data: bytes) -> None:
        """Is given the file's first block before any line of it is recased."""

    def begin_all(self, data: bytes) -> None:
        """As `begin`, for all texts of a record.

        Raises:
            CapfstError: the file is none of text in UTF-8.
        """
        refuse_foreign(data, str(self.path))
        for file_format in (self, *self.others, *([self.document] if self.document else [])):
            file_format.begin(data)

    def names(self, data: bytes) -> list[str]:
        """The names of a record's parts, of a file whose first block this is."""
        raise NotImplementedError

    def chosen(self, part: str, name: str | None) -> str:
        """The name of the part of a record (field, column) that is the text; CapfstError if none was chosen."""
        if name is None:
            names = self.names(next(self.blocks(lambda piece: None), b""))
            raise CapfstError(
                f"{self.path}: say which {part} is the text: --{part} NAME (it has {', '.join(names)[:200] or 'none'})"
            )
        return name

    def find(self, line: str, number: int) -> slice | None:
        """Where in the record of line `number` (its end included) the text to recase is; None if it has none.

        Raises:
            MalformedError: the line is not as the format has it.
        """
        raise NotImplementedError

    def key(self, line: str, number: int) -> str | None:
        """What `find` finds, as it is to be compared with what other records have; None if there is nothing."""
        place = self.find(line, number)
        return None if place is None else self.unescape(line[place])

    def unescape(self, raw: str) -> str:
        """What `find` has found, as text."""
        return raw

    def escape(self, old: str, recased: str) -> str:
        """Recased text as it is to be written in the place of `old`."""
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
        """Whole records, the first in this line: those of whole documents, and those of a last one, which may go on. A
        document as long as a block ends with it."""
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
        """What a record has in common with those of its document; None if nothing, or if it is malformed. number: 1 if
        it is the file's first."""
        try:
            return self.document.key(record, number) if self.document else None
        except MalformedError:
            return None

    def decoded(self, block: LineBlock) -> tuple[str, bool]:
        """The block's text; and whether it holds, as lone surrogates, bytes that are not UTF-8 and make their lines
        malformed."""
        try:
            return block.data.decode(), False
        except UnicodeDecodeError:
            strict = self.errors == "strict"
            return block.data.decode(errors="surrogateescape" if strict else "replace"), strict

    def found(self, block: LineBlock) -> Iterator[Record]:
        """The records of a block, and where their texts are.

        Raises:
            CapfstError: a record is malformed, and that is to fail the file.
        """
        text, malformed_bytes = self.decoded(block)
        after = block.line
        for line in self.records(text, block.line):
            number, after = after, after + (line.count("\n") or 1)
            place, malformed = None, False
            others: Others = ()
            key = None
            try:
                if malformed_bytes and (bad := _NOT_UTF8(line)):
                    raise MalformedError(f"not UTF-8, 0x{ord(bad[0]) - 0xDC00:02x} after {line[: bad.start()][-20:]!r}")
                place = self.find(line, number)
                if self.others and place is not None:
                    others = self._others(line, number, place)
                if self.document and place is not None:
                    key = self.document.key(line, number)
            except MalformedError as error:
                place, malformed = None, True
                if self.on_error == "fail":
                    raise CapfstError(f"{self.path}: line {number}: {error}: {self.remedy}") from error
            yield Record(line, place, malformed, others, key)

    def _others(self, line: str, number: int, place: slice) -> Others:
        """The other texts of a record; MalformedError if they do not belong to its text."""
        found = ((other, other.find(line, number)) for other in self.others)
        texts = [other.unescape(line[there]) if there is not None else "" for other, there in found]
        if why := misfit(self.unescape(line[place]), texts):
            raise MalformedError(why)
        return tuple(text.encode("utf-8", "surrogatepass") for text in texts)

    def texts(self, on_read: OnRead) -> Iterator[str]:
        for block in self.pieces(on_read):
            for line, place, *_ in self.found(block):
                if place is not None:
                    yield self.unescape(line[place])

    def recased(self, block: LineBlock, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        output: list[bytes] = []
        counts = RecaseCounts()
        kept: list[str] = []  # lines, or pieces of long ones
        places: list[tuple[int, slice]] = []  # of the texts: line in `kept`, part of the line
        others: list[Others] = []  # of the texts
        begins: list[bool] = []  # whether a document begins with the text
        parts = self.by_document and self.record_is_document
        key_before: str | None = None
        size = n_records = n_malformed = 0  # size: of these texts
        for line, place, malformed, its_others, key in self.found(block):
            n_records += 1
            n_malformed += malformed
            if malformed and self.on_error == "drop":
                continue
            if place is None:
                kept.append(line)
                continue
            # A translation is not cut, as its source is whole.
            for start, end in [(0, len(line))] if its_others else _pieces(line, place):
                others.append(its_others)
                begins.append(parts and start == 0 and (key is None or key != key_before))
                places.append((len(kept), slice(max(place.start - start, 0), min(place.stop, end) - start)))
                kept.append(line[start:end])
                size += end - start
                if size >= _LONG:
                    recased, more = self._recased(kept, places, others, begins, recase)
                    output.append(recased)
                    # A piece that does not end its text counts as no line.
                    counts += more + RecaseCounts(lines=-(end < len(line)))
                    kept, places, others, begins, size = [], [], [], [], 0
            key_before = key
        recased, more = self._recased(kept, places, others, begins, recase)
        output.append(recased)
        return b"".join(output), counts + more + RecaseCounts(records=n_records, malformed=n_malformed)

    def _recased(
        self,
        kept: list[str],
        places: list[tuple[int, slice]],
        others: list[Others],
        begins: list[bool],
        recase: Recase,
    ) -> tuple[bytes, RecaseCounts]:
        """These lines with the texts at these places recased."""
        values = [self.unescape(kept[i][place]).encode("utf-8", "surrogatepass") for i, place in places]
        recased, counts = _recase_values(values, others, begins, recase)
        for (i, place), old, new in zip(places, values, recased, strict=True):
            if new != old:
                line = kept[i]
                written = self.escape(line[place], new.decode("utf-8", "surrogatepass"))
                kept[i] = line[: place.start] + written + line[place.stop :]
        return "".join(kept).encode("utf-8", "surrogateescape"), counts

    def writing(self, file: BinaryIO) -> AbstractContextManager[Callable[[bytes | memoryview], object]]:
        return compressing_like(self.path, file)


def _pieces(line: str, place: slice) -> Iterator[tuple[int, int]]:
    """Start and end of the pieces of a line: cut behind a blank of the text at `place` where that is long."""
    start, end = 0, place.start
    while place.stop - end > _LONG:
        blank = _BLANK(line, end + _LONG, place.stop)
        if blank is None:
            break
        end = blank.end()
        yield start, end
        start = end
    yield start, len(line)


def _recase_values(
    values: list[bytes], others: list[Others], begins: list[bool], recase: Recase
) -> tuple[list[bytes], RecaseCounts]:
    """Texts of any number of lines, recased as one text; a blank line stands before those with which documents
    begin."""
    if not values:
        return [], RecaseCounts()
    parted = [b"\n" + value if begin else value for value, begin in zip(values, begins, strict=True)]
    recased, counts = recase(b"\n".join([*parted, b""]), *joined(others))
    text = bytes(recased)
    line_ends = np.flatnonzero(np.frombuffer(recased, np.uint8) == ord("\n")).tolist()
    split = []
    start, line = 0, -1
    for value, begin in zip(parted, begins, strict=True):
        line += value.count(b"\n") + 1
        split.append(text[start + begin : line_ends[line]])
        start = line_ends[line] + 1
    return split, counts + RecaseCounts(lines=-sum(begins))
