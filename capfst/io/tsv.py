"""Tab-separated values, without quotes: one or more columns are texts; recasing changes no other byte.

Columns are selected by their names in the file's first line, the header; or, in a file without header, by their numbers
from 1. The option `delimiter` replaces the tab.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from capfst.exceptions import CorpusError
from capfst.io.blocks import UTF8_MARK
from capfst.io.lines import LineFormat, MalformedError
from capfst.io.protocol import TextOptions

MAX_COLUMNS = 1 << 16


class Tsv(LineFormat):
    def __init__(self, path: Path, options: TextOptions) -> None:
        self.delimiter = options.delimiter or "\t"
        super().__init__(path, options)
        self.columns = Columns(path, self.selected("column", options.column))
        self.settings |= {"column": list(self.columns.names)}

    def begin(self, data: bytes) -> None:
        self.columns.begin(self.names(data), self.delimiter)

    def names(self, data: bytes) -> list[str]:
        header = data.removeprefix(UTF8_MARK).split(b"\n", 1)[0].rstrip(b"\r").decode(errors="replace")
        return header.split(self.delimiter)

    def find(self, line: str, number: int) -> list[slice | None]:
        if (self.columns.header and number == 1) or not line.strip("\r\n"):
            return []
        found: list[slice | None] = []
        column = start = 0
        for index in self.columns.indices:
            while column < index:
                start = line.find(self.delimiter, start) + 1
                column += 1
                if start == 0:
                    raise MalformedError(missing(self.columns.indices, column))
            end = line.find(self.delimiter, start)
            found.append(slice(start, end if end >= 0 else len(line.removesuffix("\n"))))
        return found


class Columns:
    """The selected columns of a table: by names, which are in its header, or by numbers.

    Raises:
        CorpusError: a number that no column has, or names and numbers.
    """

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self.path, self.names = path, names
        numbers = [name.isdecimal() for name in names]
        self.header = not numbers[0]
        """Whether the first record of the file is a header."""
        if any(numbers) and not all(numbers):
            raise CorpusError(f"{path}: columns are selected either by name or by number, not {', '.join(names)}.")
        self.indices = [] if self.header else _ordered(index_of(path, name) for name in names)
        """The columns' indices, from 0, in order; `begin` finds those of names."""

    def begin(self, header: list[str], delimiter: str) -> None:
        """Find the named columns in the header."""
        if self.header:
            self.indices = _ordered(index_among(self.path, header, name, delimiter) for name in self.names)


def _ordered(indices: Iterable[int]) -> list[int]:
    return sorted(set(indices))


def missing(indices: list[int], n_columns: int) -> str:
    """Return the message that a record has only so many columns."""
    first = next(index for index in indices if index >= n_columns)
    return f"no column {first + 1}: the line has {n_columns}"


def index_of(path: Path, number: str) -> int:
    """Return the index, from 0, of the column with this number, from 1; CorpusError if no file has such a column."""
    if not 1 <= int(number) <= MAX_COLUMNS:
        raise CorpusError(f"{path}: there is no column {number}. Columns are numbered from 1.")
    return int(number) - 1


def no_single_column(names: list[str], column: str) -> str:
    """Return the message that not exactly one of the columns has this name."""
    found = f"{names.count(column)} columns are called" if column in names else "no column is called"
    return f"{found} {column!r}. Choose one of {', '.join(names)[:200] or 'none'}, or use a number from 1."


def index_among(path: Path, names: list[str], column: str, delimiter: str) -> int:
    """Return the index, from 0, of the column of this name; CorpusError unless there is exactly one."""
    if names.count(column) != 1:
        other = next((mark for mark in ";|\t," if mark != delimiter and len(names) == 1 and mark in names[0]), None)
        written = {"\t": "\\t"}.get(other or "", other)
        remedy = f" If {written} separates the columns, use `delimiter='{written}'`." if other else ""
        raise CorpusError(f"{path}, line 1: {no_single_column(names, column)}{remedy}")
    return names.index(column)
