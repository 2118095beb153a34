"""Split lines into documents at blank lines.

A document longer than LONGEST lines or LARGEST bytes is split into several, which bounds memory. The end of a document
depends only on its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import AnyStr

LONGEST = 200  # lines
LARGEST = 1 << 18  # bytes of UTF-8

HEAD_LINES, HEAD_BYTES = 64, 1 << 16

PIECE = 1 << 19
"""Bytes of text, in whole lines, that are recased at once. Larger pieces take less time but more memory, and leave
threads idle at the end of small files. A document is smaller, and never split over two pieces."""


class Head:
    """The first lines of a text: HEAD_LINES, or fewer that have HEAD_BYTES."""

    def __init__(self) -> None:
        self._lines = self._size = 0

    @property
    def is_complete(self) -> bool:
        return self._lines >= HEAD_LINES or self._size >= HEAD_BYTES

    def more(self, text: bytes) -> int:
        """Return how many bytes of the next lines of the text belong to its head."""
        end = 0
        while not self.is_complete and end < len(text):
            begin, end = end, text.find(b"\n", end) + 1 or len(text)
            self._lines += 1
            self._size += end - begin
        return end


def documents(lines: Iterable[AnyStr]) -> Iterator[list[AnyStr]]:
    """Yield the lines of each document, with the blank lines after it. Lines may have their line ends or not."""
    held: list[AnyStr] = []
    size, was_blank = 0, False
    for line in lines:
        utf8 = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
        is_blank, length = not utf8.strip(), len(utf8) + (not utf8.endswith(b"\n"))
        if (was_blank and not is_blank) or len(held) == LONGEST or (held and size + length > LARGEST):
            yield held
            held, size = [], 0
        held.append(line)
        size += length
        was_blank = is_blank
    if held:
        yield held


def whole_documents(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a block for each document in blocks of whole lines."""
    lines = (line for block in blocks for line in lines_of(block))
    return map(b"".join, documents(lines))


def lines_of(text: AnyStr) -> Iterator[AnyStr]:
    """Yield the lines of a text with their ends; a single line is not copied."""
    newline = "\n" if isinstance(text, str) else b"\n"
    start = 0
    while start < len(text):
        end = text.find(newline, start) + 1 or len(text)
        yield text[start:end]
        start = end
