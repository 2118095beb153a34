"""Plain text: each line is a record, all of which is text; also text with markup, of which parts are hidden.

The parts of Markdown and HTML that are not text (text/markup.py) are hidden from recasing. They are found in the order
of the file, so that a block of it depends on those before; the blocks are then recased in any threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, compress, count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import OptionError
from capfst.io.blocks import joined, whole_lines
from capfst.io.documents import Head, lines_of, whole_documents
from capfst.io.lines import LineFormat, Record, ends_of_lines
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.text_file import BLOCK, Part
from capfst.text.markup import NONE, Hiding, bytes_hidden, ends_line, shown


class TextBlock(NamedTuple):
    """Whole lines of a file."""

    data: bytes
    line: int  # the number of the first line, from 1
    hidden: npt.NDArray[np.uint8] | None  # the bytes of hidden parts; None: there is no markup

    @property
    def original(self) -> bytes:
        return self.data if self.hidden is None else bytes(shown(self.data, self.hidden))

    @property
    def ends_line(self) -> bytes:
        """For each line feed of `data`: 1 if it ends a line of the file, else 0."""
        return b"\1" * self.data.count(b"\n") if self.hidden is None else ends_line(self.data, self.hidden)


class PlainText(LineFormat):
    """Lines, of which blank ones separate documents."""

    def __init__(self, path: Path, options: TextOptions, markup: str = NONE) -> None:
        super().__init__(path, options)
        self.markup = markup
        self.splittable &= markup == NONE

    def other(self, options: TextOptions) -> LineFormat:
        raise OptionError(
            f"{self.path}: text has no fields. Use `capfst recase --source` for its source, or --document for documents"
            " that blank lines separate."
        )

    def cut(self, pieces: Iterable[bytes], line: int = 1) -> Iterator[TextBlock]:  # type: ignore[override]
        """Yield the lines of a text in blocks."""
        blocks, hiding = whole_lines(pieces, BLOCK, str(self.path)), None
        if self.markup != NONE:
            hiding = Hiding()
            if self.errors == "replace":
                blocks = (block.decode(errors="replace").encode() for block in blocks)
            blocks = hiding.hide(blocks, self.markup)
        for data in joined(whole_documents(blocks), BLOCK) if self.by_document else blocks:
            if line == 1:
                self.head_lines = data[: Head().more(data)].decode(errors="replace").encode()
            yield (block := TextBlock(data, line, hiding.take(data) if hiding else None))
            line += block.ends_line.count(1)

    def find(self, record: str, number: int) -> list[slice | None]:
        return [slice(0, len(record.removesuffix("\n")))]

    def records(self, part: Part | TextBlock) -> Iterator[Record]:
        assert isinstance(part, TextBlock)
        data = part.original.decode(errors="surrogateescape" if self.errors == "strict" else "replace")
        return super().records(Part(data, part.line, ends_of_lines(data, is_last=True)))

    def recased(self, part: Part | TextBlock, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        """Recase a block as a whole, without malformed lines."""
        assert isinstance(part, TextBlock)
        text = part.data
        try:
            part.original.decode()
        except UnicodeDecodeError:
            if self.errors == "strict":
                return self._recased_lines(part, recase)
            text = text.decode(errors="replace").encode()
        recased, counts = recase(text, head=b"" if part.line == 1 else self.head_lines)
        ends = part.ends_line
        counts += RecaseCounts(records=counts.lines - ends.count(0), lines=-ends.count(0))
        counts = counts.at(lambda line: part.line - 1 + ends.count(1, 0, line))
        return recased if part.hidden is None else shown(recased, part.hidden), counts

    def _recased_lines(self, part: TextBlock, recase: Recase) -> tuple[bytes, RecaseCounts]:
        good = [not record.is_malformed for record in self.records(part)]
        lines = list(lines_of(part.original))
        starts = accumulate(map(len, lines), initial=0)
        given = (part.data[start : start + len(line)] for start, line in zip(starts, lines, strict=False))
        original, text = (b"".join(compress(each, good)) for each in (lines, given))
        hidden = None if part.hidden is None else bytes_hidden(original, text)
        recased, counts = self.recased(TextBlock(text, part.line, hidden), recase)
        recased_lines = lines_of(bytes(recased))
        out = [next(recased_lines) if is_good else line for line, is_good in zip(lines, good, strict=True)
               if is_good or self.on_error == "pass"]  # fmt: skip
        numbers, n = list(compress(count(part.line - 1), good)), good.count(False)
        counts = counts.at(lambda line: numbers[line - part.line + 1]) + RecaseCounts(records=n, malformed=n)
        return b"".join(out), counts
