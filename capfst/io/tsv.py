"""Tab-separated values: one column is the text; all other bytes stay when it is recased. Nothing is quoted.

The column is given by its name in the file's first line, the header; or, in a file without header, by its number, from
1.
"""

from __future__ import annotations

from pathlib import Path

from capfst.exceptions import CapfstError
from capfst.io.blocks import UTF8_MARK
from capfst.io.lines import LineFormat, MalformedError
from capfst.io.protocol import TextOptions

MAX_COLUMNS = 1 << 16


class Tsv(LineFormat):
    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self.column = self.chosen("column", options.column)
        self.settings |= {"column": self.column}
        self.header = not self.column.isdecimal()
        self.index = 0 if self.header else index_of(path, self.column)  # `begin` finds a named one

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
                raise MalformedError(f"it has {column + 1} columns, and no column {self.index + 1}")
        end = line.find("\t", start)
        return slice(start, end if end >= 0 else len(line.removesuffix("\n")))


def index_of(path: Path, number: str) -> int:
    """The index, from 0, of the column with this number, from 1. CapfstError if there cannot be one."""
    if not 1 <= int(number) <= MAX_COLUMNS:
        raise CapfstError(f"{path}: there is no column {number}: columns have numbers from 1 on")
    return int(number) - 1


def index_among(path: Path, names: list[str], column: str) -> int:
    """The index, from 0, of the column of this name. CapfstError if none is called so, or several."""
    if names.count(column) != 1:
        shown = ", ".join(names)[:200]
        raise CapfstError(
            f"{path}: the first line has {names.count(column)} columns called {column!r} ({shown}): name one with"
            " --column, or give its number"
        )
    return names.index(column)
