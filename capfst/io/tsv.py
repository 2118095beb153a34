"""Tab-separated values, without quotes: one or more columns are texts; recasing changes no other byte.

Columns are selected by their names in the file's first line, the header; or, in a file without header, by their numbers
from 1. The option `delimiter` replaces the tab.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from capfst.exceptions import CorpusError
from capfst.io.blocks import UTF8_MARK
from capfst.io.lines import LineFormat, MalformedError
from capfst.io.protocol import TextOptions

MAX_COLUMNS = 1 << 16


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
        """Return the index of the column with this number, from 1."""
        if not 1 <= int(number) <= MAX_COLUMNS:
            raise CorpusError(f"{self.path}: there is no column {number}. Columns are numbered from 1.")
        return int(number) - 1

    def begin(self, data: bytes) -> None:
        if self.has_header:
            names = self.names(data)
            self.indices = sorted({self._index_among(names, name) for name in self.columns})

    def _index_among(self, names: list[str], column: str) -> int:
        """Return the index of the column of this name; CorpusError unless there is exactly one."""
        if names.count(column) != 1:
            others = (mark for mark in ";|\t," if mark != self.delimiter and len(names) == 1 and mark in names[0])
            other = next(others, "").replace("\t", "\\t")
            remedy = f" If {other} separates the columns, use `delimiter='{other}'`." if other else ""
            raise CorpusError(f"{self.path}, line 1: {no_single_column(names, column)}{remedy}")
        return names.index(column)

    def names(self, data: bytes) -> list[str]:
        header = data.removeprefix(UTF8_MARK).split(b"\n", 1)[0].rstrip(b"\r").decode(errors="replace")
        return header.split(self.delimiter)

    def find(self, line: str, number: int) -> list[slice | None]:
        if (self.has_header and number == 1) or not line.strip("\r\n"):
            return []
        found: list[slice | None] = []
        column = start = 0
        for index in self.indices:
            while column < index:
                start = line.find(self.delimiter, start) + 1
                column += 1
                if start == 0:
                    raise self.missing(column)
            end = line.find(self.delimiter, start)
            found.append(slice(start, end if end >= 0 else len(line.removesuffix("\n"))))
        return found

    def missing(self, n_columns: int) -> MalformedError:
        """Return the error that a record has only so many columns."""
        first = next(index for index in self.indices if index >= n_columns)
        return MalformedError(f"no column {first + 1}: the line has {n_columns}")


def no_single_column(names: list[str], column: str) -> str:
    """Return the message that not exactly one of the columns has this name."""
    found = f"{names.count(column)} columns are called" if column in names else "no column is called"
    return f"{found} {column!r}. Choose one of {', '.join(names)[:200] or 'none'}, or use a number from 1."
