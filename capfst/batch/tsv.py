"""Tab-separated values: one column is recased, all other bytes stay. Nothing is quoted.

A column is named by the file's first line, which then is its header; or is a number, from 1, in a file without header.
"""

from __future__ import annotations

from pathlib import Path

from capfst.batch.lines import MalformedError, Text
from capfst.batch.protocol import Options
from capfst.corpus.read import UTF8_MARK
from capfst.errors import CapfstError


class Tsv(Text):
    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path, options)
        self.column = options.column
        self.settings |= {"column": options.column}
        self.header = not self.column.isdecimal()
        self.before = int(self.column) - 1 if not self.header else 0  # columns before it

    def begin(self, block: bytes) -> None:
        if not self.header:
            return
        names = block.removeprefix(UTF8_MARK).split(b"\n", 1)[0].rstrip(b"\r").decode(errors="replace").split("\t")
        if names.count(self.column) != 1:
            shown = ", ".join(names)[:200]
            raise CapfstError(
                f"{self.path}: the first line has {names.count(self.column)} columns called {self.column!r} ({shown}):"
                " name one with --column, or give its number"
            )
        self.before = names.index(self.column)

    def find(self, line: str, number: int) -> slice | None:
        if (self.header and number == 1) or not line.strip("\r\n"):
            return None
        start = 0
        for column in range(self.before):
            start = line.find("\t", start) + 1
            if start == 0:
                raise MalformedError(f"it has {column + 1} columns, and no column {self.before + 1}")
        end = line.find("\t", start)
        return slice(start, end if end >= 0 else len(line.removesuffix("\n")))
