"""Tab- and comma-separated values: one or more columns are texts; recasing changes no other byte.

Columns are selected by their names in the file's first record, the header; or, in a file without header, by their
numbers from 1. The option `delimiter` replaces the tab or comma. TSV has no quotes. CSV is read as by Python's `csv`: a
field that begins with a quote may contain delimiters, line ends, and doubled quotes; in other fields, quotes are
ordinary characters.
"""

from __future__ import annotations

import re
import sys
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from capfst.exceptions import CorpusError
from capfst.io.lines import LineFormat, ends_of_lines
from capfst.io.protocol import TextOptions
from capfst.io.running_text import divided
from capfst.io.text_file import FormatError

MAX_COLUMNS = 1 << 16

_CLOSED = r'[^"]*(?:""[^"]*)*"(?!")'  # quoted text, after its first quote
_quoted = re.compile(f'"({_CLOSED})').match


class Tsv(LineFormat):
    usual_delimiter: ClassVar[str] = "\t"

    def __init__(self, path: Path, options: TextOptions) -> None:
        self.delimiter = options.delimiter or self.usual_delimiter
        super().__init__(path, options)
        self.columns = self.selected("column", options.column)
        self.settings |= {"column": list(self.columns)}
        numbers = [name.isdecimal() for name in self.columns]
        if any(numbers) and not all(numbers):
            raise CorpusError(
                f"{path}: columns are selected either by name or by number, not {', '.join(self.columns)}."
            )
        self.has_header = not any(numbers)
        self.indices = [] if self.has_header else sorted({self._index(name) for name in self.columns})
        """The columns' indices, from 0, in order; `begin` finds those of names."""

    def _index(self, number: str) -> int:
        if not 1 <= int(number) <= MAX_COLUMNS:
            raise CorpusError(f"{self.path}: there is no column {number}. Columns are numbered from 1.")
        return int(number) - 1

    def begin(self, header: str) -> None:
        if self.has_header:
            names = self.names(header)
            self.indices = sorted({self._index_among(names, name) for name in self.columns})

    def _index_among(self, names: list[str], column: str) -> int:
        """Return the index of the column of this name; CorpusError unless there is exactly one."""
        if names.count(column) != 1:
            others = (mark for mark in ";|\t," if mark != self.delimiter and len(names) == 1 and mark in names[0])
            other = next(others, "").replace("\t", "\\t")
            remedy = f" If {other} separates the columns, use `delimiter='{other}'` (batch, train)." if other else ""
            raise CorpusError(f"{self.path}, line 1: {no_single_column(names, column)}{remedy}")
        return names.index(column)

    def names(self, data: str) -> list[str]:
        return data.removeprefix("\ufeff").split("\n", 1)[0].rstrip("\r").split(self.delimiter)

    def find(self, record: str, number: int) -> list[slice | None]:
        if (self.has_header and number == 1) or not record.strip("\r\n"):
            return []
        found: list[slice | None] = []
        column = start = 0
        for index in self.indices:
            while column < index:
                start = record.find(self.delimiter, start) + 1
                column += 1
                if start == 0:
                    raise self._missing(column)
            end = record.find(self.delimiter, start)
            found.append(slice(start, end if end >= 0 else len(record.removesuffix("\n"))))
        return found

    def escape(self, old: str, recased: str) -> str:
        if self.delimiter in recased:
            raise CorpusError(
                f"{self.path}: an inserted mark is the delimiter, {self.delimiter!r}. Rename the file to .csv, which"
                " has quotes."
            )
        return recased

    def _missing(self, n_columns: int) -> FormatError:
        """Return the error that a record has only so many columns."""
        first = next(index for index in self.indices if index >= n_columns)
        return FormatError(f"no column {first + 1}: the line has {n_columns}")


def no_single_column(names: list[str], column: str) -> str:
    """Return the message that not exactly one of the columns has this name."""
    found = f"{names.count(column)} columns are called" if column in names else "no column is called"
    return f"{found} {column!r}. Choose one of {', '.join(names)[:200] or 'none'}, or use a number from 1."


class Csv(Tsv):
    usual_delimiter = ","
    splittable = False  # a line end may be part of a record
    longest = sys.maxsize  # whether a text needs quotes depends on all of it
    most = 256 << 20
    too_long = "a record has more than {} MiB. Close its quote."

    @cached_property
    def _field(self) -> re.Pattern[str]:
        """The regular expression for a field, with its quotes."""
        inside = rf"[^{re.escape(self.delimiter)}\r\n]"
        return re.compile(rf'(?:"{_CLOSED}{inside}*|(?!"){inside}+)?')

    def _pattern(self, indices: list[int]) -> re.Pattern[str]:
        """Return the regular expression for a record, with a group for each column of these ascending indices."""
        mark, field, groups, column = re.escape(self.delimiter), self._field.pattern, "", 0
        for index in indices:
            groups += rf"{mark if groups else ''}(?:{field}{mark}){{{index - column}}}({field})"
            column = index + 1
        more = rf"(?:{mark}{field}){{0,{MAX_COLUMNS - 1}}}"  # bounded: a match takes a hundred bytes per column
        return re.compile(rf"{groups or field}{more}(?:\r\n?|\n|\Z)")

    @cached_property
    def _record(self) -> re.Pattern[str]:
        return self._pattern([])

    @cached_property
    def _columns(self) -> re.Pattern[str]:
        return self._pattern(self.indices)

    def record_ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        """Return the ends of records as `ends`. A record with an open quote extends to the end of the file.

        Raises:
            FormatError: such a record would be dropped, with the lines after it.
        """
        if '"' not in data and "\r" not in data:
            return ends_of_lines(data, is_last)
        ends: list[int] = []
        end = _begin(data, is_first)
        while end < len(data) and (record := self._record.match(data, end)):
            end = record.end()
            if end == len(data) and not is_last:
                return ends  # a quote or a line end may go on
            ends.append(end)
        if is_last and end < len(data):
            if self.on_error == "drop" and "\n" in data[end:-1]:
                raise FormatError("a quote is not closed before the file's end. Close it.", end)
            ends.append(len(data))
        return ends

    def names(self, data: str) -> list[str]:
        try:
            return [self.unescape(field) for field in self._fields(data, 1)]
        except FormatError as error:
            raise CorpusError(f"{self.path}, line 1: {error}. Fix it.") from error

    def find(self, record: str, number: int) -> list[slice | None]:
        if (self.has_header and number == 1) or not record.strip("\r\n"):
            return []
        if found := self._columns.match(record, _begin(record, number == 1)):
            return [slice(*found.span(group)) for group in range(1, len(self.indices) + 1)]
        raise self._missing(len(self._fields(record, number)))

    def _fields(self, data: str, number: int) -> list[str]:
        """Return the fields of the first record, with their quotes; FormatError if a quote is not closed."""
        begin = _begin(data, number == 1)
        if not self._record.match(data, begin):
            raise FormatError(f"a quote is not closed, or it has more than {MAX_COLUMNS:,} columns")
        fields: list[str] = []
        while not fields or data.startswith(self.delimiter, begin - 1):
            field = self._field.match(data, begin)
            fields.append(field[0])  # type: ignore[index]
            begin = field.end() + 1  # type: ignore[union-attr]
        return fields

    def unescape(self, raw: str) -> str:
        quoted = _quoted(raw)
        return quoted[1][:-1].replace('""', '"') + raw[quoted.end() :] if quoted else raw

    def escape(self, old: str, recased: str) -> str:
        quoted = _quoted(old)
        if not quoted and self.delimiter not in recased:  # else it is a mark that was inserted
            return recased
        inside, after = recased, ""
        if quoted and quoted.end() < len(old):
            value = self.unescape(old)
            inside, after = divided(value, recased, [0, len(self.unescape(quoted[0])), len(value)])
            if self.delimiter in after:
                inside, after = recased, ""
        return '"' + inside.replace('"', '""') + '"' + after


def _begin(data: str, is_first: bool) -> int:
    """Return the offset of the first field, which is after a byte order mark at the beginning of a file."""
    return int(is_first and data.startswith("\ufeff"))
