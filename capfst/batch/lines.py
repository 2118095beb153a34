"""Formats whose records are lines: text itself, and what `tsv.py` and `jsonl.py` make of it.

In: a file of lines. Out: the same file in which only the case of each record's text differs. A record that has no such
text, or is not UTF-8, is malformed: its file fails, or it passes byte for byte, or it is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from capfst.batch.protocol import Options, Recase
from capfst.batch.report import Counts
from capfst.corpus.compression import Seen, compressing_like
from capfst.corpus.read import FOREIGN, raw_blocks
from capfst.errors import CapfstError

BLOCK = 1 << 20  # bytes of text that are recased at once

_NOT_UTF8 = re.compile("[\udc80-\udcff]").search  # as "surrogateescape" has it


class MalformedError(Exception):
    """Says what is wrong with a record."""


class Piece(NamedTuple):
    block: bytes  # of whole lines
    line: int  # the number of the first one, from 1


class Text:
    """A sentence a line."""

    def __init__(self, path: Path, options: Options) -> None:
        self.path = path
        self.errors = options.errors
        self.on_error = options.on_error
        self.settings: dict[str, str] = {"errors": options.errors, "on_error": options.on_error}

    def begin(self, block: bytes) -> None:
        """Is shown the file's first block."""

    def find(self, line: str, number: int) -> slice | None:
        """Where in line `number` (its end included) the text to recase is, None if it has none; or MalformedError."""
        return slice(0, len(line.removesuffix("\n")))

    def text(self, raw: str) -> str:
        """What was found, without the format's escapes."""
        return raw

    def raw(self, old: str, recased: str) -> str:
        """Text that is to take the place of `old`, with the format's escapes."""
        return recased

    def pieces(self, seen: Seen) -> Iterator[Piece]:
        line = 1
        for block in raw_blocks(self.path, BLOCK, seen):
            if line == 1:
                for start, remedy in FOREIGN.items():
                    if block.startswith(start):
                        raise CapfstError(f"{self.path}: {remedy}")
                self.begin(block)
            yield Piece(block, line)
            line += block.count(b"\n")

    def recased(self, piece: Piece, recase: Recase) -> tuple[bytes | memoryview, Counts]:
        escaped = False
        try:
            text = piece.block.decode()
        except UnicodeDecodeError:
            escaped = self.errors == "strict"
            text = piece.block.decode(errors="surrogateescape" if escaped else "replace")
        if type(self) is Text and not escaped:
            recased, counts = recase(text.encode() if "\ufffd" in text else piece.block)
            return recased, counts + Counts(records=counts.lines)
        return self._by_record(text, escaped, piece.line, recase)

    def _by_record(self, text: str, escaped: bool, first: int, recase: Recase) -> tuple[bytes, Counts]:
        lines = [line + "\n" for line in text.split("\n")]
        lines[-1] = lines[-1][:-1]  # empty, but at the end of a file
        if not lines[-1]:
            lines.pop()
        kept: list[str] = []
        found: list[tuple[int, slice]] = []
        values: list[bytes] = []
        malformed = 0
        for number, line in enumerate(lines, first):
            place = None
            try:
                if escaped and (bad := _NOT_UTF8(line)):
                    raise MalformedError(f"not UTF-8, 0x{ord(bad[0]) - 0xDC00:02x} after {line[: bad.start()][-20:]!r}")
                place = self.find(line, number)
            except MalformedError as error:
                malformed += 1
                if self.on_error == "fail":
                    raise CapfstError(
                        f"{self.path}: line {number}: {error}: mend it, or use --on-error pass or drop"
                    ) from error
                if self.on_error == "drop":
                    continue
            if place is not None:
                found.append((len(kept), place))
                values.append(self.text(line[place]).encode("utf-8", "surrogatepass"))
            kept.append(line)
        recased, counts = recase_values(values, recase)
        for (i, place), old, new in zip(found, values, recased, strict=True):
            if new != old:
                line = kept[i]
                raw = self.raw(line[place], new.decode("utf-8", "surrogatepass"))
                kept[i] = line[: place.start] + raw + line[place.stop :]
        done = "".join(kept).encode("utf-8", "surrogateescape")
        return done, counts + Counts(records=len(lines), malformed=malformed)

    def writing(self, file: BinaryIO) -> AbstractContextManager[Callable[[bytes | memoryview], object]]:
        return compressing_like(self.path, file)


def recase_values(values: list[bytes], recase: Recase) -> tuple[list[bytes], Counts]:
    """Texts of any number of lines, recased as one text."""
    if not values:
        return [], Counts()
    recased, counts = recase(b"\n".join([*values, b""]))
    text = bytes(recased)
    ends = np.flatnonzero(np.frombuffer(recased, np.uint8) == ord("\n")).tolist()
    done = []
    start, line = 0, -1
    for value in values:
        line += value.count(b"\n") + 1
        done.append(text[start : ends[line]])
        start = ends[line] + 1
    return done, counts
