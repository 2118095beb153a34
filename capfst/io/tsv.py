"""Tab-separated values, without quotes: one column is the text; recasing changes no other byte.

The column is selected by its name in the file's first line, the header; or, in a file without header, by its number
from 1.
"""

from __future__ import annotations

from pathlib import Path

from capfst.exceptions import CorpusError
from capfst.io.blocks import UTF8_MARK
from capfst.io.lines import LineFormat, MalformedError
from capfst.io.protocol import TextOptions

MAX_COLUMNS = 1 << 16


class Tsv(LineFormat):
    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self.column = self.selected("column", options.column)
        self.settings |= {"column": self.column}
        self.header = not self.column.isdecimal()
        self.index = 0 if self.header else index_of(path, self.column)  # `begin` finds a named column

    def begin(self, data: bytes) -> None:
        if self.header:
            self.index = index_among(self.path, self.names(data), self.column)

    def names(self, data: bytes) -> list[str]:
        return data.removeprefix(UTF8_MARK).split(b"\n", 1)[0].rstrip(b"\r").decode(errors="replace").split("\t")

    def find(self, line: str, number: int) -> slice | None:
        if (self.header and number == 1) or not line.strip("\r\n"):
            return None
        start = 0
        for column in range(self.index):
            start = line.find("\t", start) + 1
            if start == 0:
                raise MalformedError(f"no column {self.index + 1}: the line has {column + 1}")
        end = line.find("\t", start)
        return slice(start, end if end >= 0 else len(line.removesuffix("\n")))


def index_of(path: Path, number: str) -> int:
    """Return the index, from 0, of the column with this number, from 1; CorpusError if no file has such a column."""
    if not 1 <= int(number) <= MAX_COLUMNS:
        raise CorpusError(f"{path}: there is no column {number}. Columns are numbered from 1.")
    return int(number) - 1


def no_single_column(names: list[str], column: str) -> str:
    """Return the message that not exactly one of the columns has this name."""
    found = f"{names.count(column)} columns are called" if column in names else "no column is called"
    return f"{found} {column!r}. Choose one of {', '.join(names)[:200] or 'none'}, or use a number from 1."


def index_among(path: Path, names: list[str], column: str) -> int:
    """Return the index, from 0, of the column of this name; CorpusError unless there is exactly one."""
    if names.count(column) != 1:
        raise CorpusError(f"{path}, line 1: {no_single_column(names, column)}")
    return names.index(column)
