"""Tab-separated values: one column is recased, all other bytes stay. Nothing is quoted.

The column is given by its name in the file's first line, the header; or, in a file without header, by its number, from
1.
"""

from __future__ import annotations

from pathlib import Path

from capfst.batch.lines import LineFormat, MalformedError
from capfst.batch.protocol import BatchOptions
from capfst.corpus.read import UTF8_MARK
from capfst.exceptions import CapfstError


class Tsv(LineFormat):
    def __init__(self, path: Path, options: BatchOptions) -> None:
        super().__init__(path, options)
        self.column = options.column
        self.settings |= {"column": options.column}
        self.header = not self.column.isdecimal()
        self.index = 0 if self.header else int(self.column) - 1  # of the column, from 0; `begin` finds a named one

    def begin(self, data: bytes) -> None:
        if not self.header:
            return
        names = data.removeprefix(UTF8_MARK).split(b"\n", 1)[0].rstrip(b"\r").decode(errors="replace").split("\t")
        if names.count(self.column) != 1:
            shown = ", ".join(names)[:200]
            raise CapfstError(
                f"{self.path}: the first line has {names.count(self.column)} columns called {self.column!r} ({shown}):"
                " name one with --column, or give its number"
            )
        self.index = names.index(self.column)

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
