"""Comma-separated values, read as by Python's `csv`: one column is the text; recasing changes no other byte.

A field that begins with a quote may contain commas, line ends, and doubled quotes; in other fields, quotes are ordinary
characters. The column is selected by its name in the file's first record, the header; or, in a file without header, by
its number from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from capfst.exceptions import CorpusError
from capfst.io.blocks import UTF8_MARK, raw_blocks
from capfst.io.compression import OnRead
from capfst.io.lines import BLOCK, LineFormat, MalformedError
from capfst.io.protocol import TextOptions
from capfst.io.tsv import MAX_COLUMNS, index_among, index_of

LONGEST = 256 << 20  # bytes of a record

_CLOSED = r'[^"]*(?:""[^"]*)*"(?!")'  # quoted text, after its first quote
_FIELD = rf'(?:"{_CLOSED}[^,\r\n]*|[^",\r\n][^,\r\n]*)?'
_MORE = rf"(?:,{_FIELD}){{0,{MAX_COLUMNS - 1}}}"  # bounded because a match takes a hundred bytes per column
_END = r"(?:\r\n?|\n)"
_field = re.compile(_FIELD).match
_quoted = re.compile(f'"({_CLOSED})').match
_record = re.compile(rf"{_FIELD}{_MORE}(?:{_END}|\Z)").match
_raw_record = re.compile(f"{_FIELD}{_MORE}{_END}".encode()).match
_raw_last = re.compile(rf"{_FIELD}{_MORE}\Z".encode()).match
_raw_rest = re.compile(rf"{_CLOSED}[^,\r\n]*{_MORE}{_END}".encode()).match  # the rest of a record, from within quotes


class Csv(LineFormat):
    splittable = False  # a line end may be part of a record

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self.column = self.selected("column", options.column)
        self.settings |= {"column": self.column}
        self.header = not self.column.isdecimal()
        if not self.header:
            self._take(index_of(path, self.column))

    def blocks(self, on_read: OnRead) -> Iterator[bytes]:
        """Yield blocks of whole records. A record with an open quote extends to the end of the file.

        Raises:
            CorpusError: such a record would be dropped, with the lines after it.
        """
        held: list[bytes] = []  # of an incomplete record
        line, size = 1, 0
        mark = UTF8_MARK
        for data in raw_blocks(self.path, BLOCK, on_read):
            end = begin = len(mark) if data.startswith(mark) else 0
            mark = b""
            if held:
                rest = _raw_rest(data)
                end = rest.end() if rest else begin
            if end > begin or not held:
                while record := _raw_record(data, end):
                    end = record.end()
            if end > begin:
                whole = b"".join([*held, data[:end]])
                yield whole
                line += whole.count(b"\n")
                held, size = [], 0
            else:
                end = 0
            if end < len(data):
                held.append(data[end:])
                size += len(data) - end
            if size > LONGEST:
                raise CorpusError(
                    f"{self.path}, line {line}: a record has more than {LONGEST >> 20} MiB. Close its quote."
                )
        if held:
            whole = b"".join(held)
            if self.on_error == "drop" and b"\n" in whole[:-1] and not _raw_last(whole):
                raise CorpusError(f"{self.path}, line {line}: a quote is not closed before the file's end. Close it.")
            yield whole

    def begin(self, data: bytes) -> None:
        if self.header:
            self._take(index_among(self.path, self.names(data), self.column))

    def names(self, data: bytes) -> list[str]:
        header = next(iter(self.records(data.decode(errors="replace"), 1)), "")
        try:
            return [self.unescape(header[field]) for field in _fields(header, 1)]
        except MalformedError as error:
            raise CorpusError(f"{self.path}, line 1: {error}. Fix it.") from error

    def _take(self, index: int) -> None:
        """Select the column by its index, from 0."""
        self.index = index
        self._column = re.compile(rf"(?:{_FIELD},){{{index}}}({_FIELD}){_MORE}(?:{_END}|\Z)").match

    def records(self, text: str, number: int) -> list[str]:
        if '"' not in text and "\r" not in text:
            return super().records(text, number)
        records = []
        start, begin = 0, _begin(text, number)
        while start < len(text):
            record = _record(text, begin)
            end = record.end() if record else len(text)
            records.append(text[start:end])
            start = begin = end
        return records

    def find(self, line: str, number: int) -> slice | None:
        if (self.header and number == 1) or not line.strip("\r\n"):
            return None
        if record := self._column(line, _begin(line, number)):
            return slice(*record.span(1))
        n_columns = sum(1 for _ in _fields(line, number))
        raise MalformedError(f"no column {self.index + 1}: the line has {n_columns}")

    def unescape(self, raw: str) -> str:
        quoted = _quoted(raw)
        return quoted[1][:-1].replace('""', '"') + raw[quoted.end() :] if quoted else raw

    def escape(self, old: str, recased: str) -> str:
        quoted = _quoted(old)
        if not quoted:
            return recased
        after = len(old) - quoted.end()  # characters after the closing quote, which are not escaped
        inside = len(recased) - after if len(recased) == len(self.unescape(old)) else len(recased)
        return '"' + recased[:inside].replace('"', '""') + '"' + recased[inside:]


def _begin(text: str, number: int) -> int:
    """Return the offset of the first field, which is after a byte order mark in a file's first line."""
    return 1 if number == 1 and text.startswith("\ufeff") else 0


def _fields(record: str, number: int) -> Iterator[slice]:
    """Yield the positions of a record's fields, with their quotes.

    Raises:
        MalformedError: a quote is not closed.
    """
    start = _begin(record, number)
    if not _record(record, start):
        raise MalformedError(f"a quote is not closed, or it has more than {MAX_COLUMNS:,} columns")
    while True:
        end = _field(record, start).end()  # type: ignore[union-attr]
        yield slice(start, end)
        if not record.startswith(",", end):
            return
        start = end + 1
