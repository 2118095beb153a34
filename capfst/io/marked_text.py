"""Markdown and HTML files: plain text, of which parts are hidden from recasing (text/markup.py).

Only the text between these parts is recased. They are found in the order of the file, so that a block of it depends on
those before; the blocks are then recased in any threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress, count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.io.blocks import joined, raw_blocks
from capfst.io.compression import OnRead
from capfst.io.documents import Head, lines_of, whole_documents
from capfst.io.lines import BLOCK, LineBlock
from capfst.io.plain_text import PlainText
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.text.markup import Hiding, bytes_hidden, shown


class MarkedBlock(NamedTuple):
    """Whole lines of a file, with parts hidden."""

    data: bytes
    line: int  # the number of the first line, from 1
    hidden: npt.NDArray[np.uint8]  # the bytes of these parts


class MarkedText(PlainText):
    splittable = False

    def __init__(self, path: Path, options: TextOptions, markup: str) -> None:
        super().__init__(path, options)
        self.markup = markup

    def pieces(self, on_read: OnRead) -> Iterator[MarkedBlock]:  # type: ignore[override]
        hiding, line = Hiding(), 1
        blocks = hiding.hide(self._blocks(on_read), self.markup)
        for data in joined(whole_documents(blocks), BLOCK) if self.by_document else blocks:
            if line == 1:
                self.head_lines = data[: Head().more(data)]
            yield MarkedBlock(data, line, hiding.take(data))
            line += data.count(b"\n")

    def _blocks(self, on_read: OnRead) -> Iterator[bytes]:
        for number, block in enumerate(raw_blocks(self.path, BLOCK, on_read)):
            if number == 0:
                self.begin_all(block)
            yield block.decode(errors="replace").encode() if self.errors == "replace" else block

    def recased(self, block: LineBlock | MarkedBlock, recase: Recase) -> tuple[bytes | memoryview, RecaseCounts]:
        assert isinstance(block, MarkedBlock)
        original = LineBlock(bytes(shown(block.data, block.hidden)), block.line)
        if self.decoded(original)[1]:
            return self._recased_lines(original, block.data, recase)
        recased, counts = recase(block.data, head=b"" if block.line == 1 else self.head_lines)
        counts = counts.at(lambda line: block.line - 1 + line)
        return shown(recased, block.hidden), counts + RecaseCounts(records=counts.lines)

    def _recased_lines(self, block: LineBlock, masked: bytes, recase: Recase) -> tuple[bytes, RecaseCounts]:
        """Recase a block with malformed lines. masked: the block with parts hidden."""
        good = [not malformed for _, _, malformed, *_ in self.line_records(block)]
        lines, masked_lines = list(lines_of(block.data)), list(lines_of(masked))
        text = b"".join(line for line, is_good in zip(masked_lines, good, strict=True) if is_good)
        original = b"".join(line for line, is_good in zip(lines, good, strict=True) if is_good)
        recased, counts = recase(text)
        recased_lines = lines_of(bytes(shown(recased, bytes_hidden(original, text))))
        out = [next(recased_lines) if is_good else line for line, is_good in zip(lines, good, strict=True)
               if is_good or self.on_error == "pass"]  # fmt: skip
        counts = counts.at(lambda line: block.line - 1 + list(compress(count(), good))[line])
        return b"".join(out), counts + RecaseCounts(records=len(good), malformed=good.count(False))
