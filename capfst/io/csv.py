"""Comma-separated values, read as by Python's `csv`: one or more columns are texts; recasing changes no other byte.

A field that begins with a quote may contain commas, line ends, and doubled quotes; in other fields, quotes are ordinary
characters. Columns are selected by their names in the file's first record, the header; or, in a file without header, by
their numbers from 1. The option `delimiter` replaces the comma.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from unicodedata import combining

from capfst.exceptions import CorpusError
from capfst.io.blocks import UTF8_MARK, raw_blocks
from capfst.io.compression import OnRead
from capfst.io.lines import BLOCK, MalformedError
from capfst.io.tsv import MAX_COLUMNS, Tsv

LONGEST = 256 << 20  # bytes of a record

_CLOSED = r'[^"]*(?:""[^"]*)*"(?!")'  # quoted text, after its first quote
_END = r"(?:\r\n?|\n)"
_quoted = re.compile(f'"({_CLOSED})').match


class _Grammar:
    """Regular expressions for fields and records with this delimiter, as methods `match`."""

    def __init__(self, delimiter: str) -> None:
        mark = re.escape(delimiter)
        in_field = rf"[^{mark}\r\n]"
        field = rf'(?:"{_CLOSED}{in_field}*|(?!"){in_field}(?:{in_field})*)?'
        more = rf"(?:{mark}{field}){{0,{MAX_COLUMNS - 1}}}"  # bounded: a match takes a hundred bytes per column
        self.field = re.compile(field).match
        self.record = re.compile(rf"{field}{more}(?:{_END}|\Z)").match
        self.raw_record = re.compile(f"{field}{more}{_END}".encode()).match
        self.raw_last = re.compile(rf"{field}{more}\Z".encode()).match
        # The rest of a record, from within quotes.
        self.raw_rest = re.compile(rf"{_CLOSED}{in_field}*{more}{_END}".encode()).match
        self._parts = mark, field, more

    def columns(self, indices: list[int]) -> Callable[[str, int], re.Match[str] | None]:
        """Return the regular expression for a record, with a group for each column of these ascending indices."""
        mark, field, more = self._parts
        groups, column = "", 0
        for index in indices:
            groups += mark if groups else ""
            groups += rf"(?:{field}{mark}){{{index - column}}}({field})"
            column = index + 1
        return re.compile(rf"{groups}{more}(?:{_END}|\Z)").match


class Csv(Tsv):
    usual_delimiter = ","
    splittable = False  # a line end may be part of a record

    @cached_property
    def grammar(self) -> _Grammar:
        return _Grammar(self.delimiter)

    @cached_property
    def _columns(self) -> Callable[[str, int], re.Match[str] | None]:
        """The regular expression for a record; its groups are the columns."""
        return self.grammar.columns(self.indices)

    def blocks(self, on_read: OnRead) -> Iterator[bytes]:
        """Yield blocks of whole records. A record with an open quote extends to the end of the file.

        Raises:
            CorpusError: such a record would be dropped, with the lines after it.
        """
        held: list[bytes] = []  # of an incomplete record
        line, size = 1, 0
        mark = UTF8_MARK
        for data in raw_blocks(self.path, BLOCK, on_read, self.transcoding):
            end = begin = len(mark) if data.startswith(mark) else 0
            mark = b""
            if held:
                rest = self.grammar.raw_rest(data)
                end = rest.end() if rest else begin
            if end > begin or not held:
                while record := self.grammar.raw_record(data, end):
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
            if self.on_error == "drop" and b"\n" in whole[:-1] and not self.grammar.raw_last(whole):
                raise CorpusError(f"{self.path}, line {line}: a quote is not closed before the file's end. Close it.")
            yield whole

    def names(self, data: bytes) -> list[str]:
        header = next(iter(self.records(data.decode(errors="replace"), 1)), "")
        try:
            return [self.unescape(header[field]) for field in self._fields(header, 1)]
        except MalformedError as error:
            raise CorpusError(f"{self.path}, line 1: {error}. Fix it.") from error

    def records(self, text: str, number: int) -> list[str]:
        if '"' not in text and "\r" not in text:
            return super().records(text, number)
        records = []
        start, begin = 0, _begin(text, number)
        while start < len(text):
            record = self.grammar.record(text, begin)
            end = record.end() if record else len(text)
            records.append(text[start:end])
            start = begin = end
        return records

    def find(self, line: str, number: int) -> list[slice | None]:
        if (self.has_header and number == 1) or not line.strip("\r\n"):
            return []
        if record := self._columns(line, _begin(line, number)):
            return [slice(*record.span(group)) for group in range(1, len(self.indices) + 1)]
        raise self.missing(sum(1 for _ in self._fields(line, number)))

    def _fields(self, record: str, number: int) -> Iterator[slice]:
        """Yield the positions of a record's fields, with their quotes.

        Raises:
            MalformedError: a quote is not closed.
        """
        start = _begin(record, number)
        if not self.grammar.record(record, start):
            raise MalformedError(f"a quote is not closed, or it has more than {MAX_COLUMNS:,} columns")
        while True:
            end = self.grammar.field(record, start).end()  # type: ignore[union-attr]
            yield slice(start, end)
            if not record.startswith(self.delimiter, end):
                return
            start = end + 1

    def unescape(self, raw: str) -> str:
        quoted = _quoted(raw)
        return quoted[1][:-1].replace('""', '"') + raw[quoted.end() :] if quoted else raw

    def escape(self, old: str, recased: str) -> str:
        quoted = _quoted(old)
        if not quoted:
            return recased
        after = len(old) - quoted.end()  # characters after the closing quote, which are not escaped
        inside = len(recased) - after
        if after and len(recased) != len(self.unescape(old)):  # İ is one character, i̇ is two, both with one base
            bases = [k for k, character in enumerate(recased) if not combining(character)]
            n_before = sum(not combining(character) for character in self.unescape(quoted[0]))
            inside = [*bases, len(recased)][n_before]
        return '"' + recased[:inside].replace('"', '""') + '"' + recased[inside:]


def _begin(text: str, number: int) -> int:
    """Return the offset of the first field, which is after a byte order mark in a file's first line."""
    return 1 if number == 1 and text.startswith("\ufeff") else 0
