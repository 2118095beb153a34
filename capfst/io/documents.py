"""Lines → documents: blank lines part them.

Of a longer document each stretch of LONGEST lines, or of LARGEST bytes, is a document of its own, so that memory
is bounded. Where a document ends depends on nothing but its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import AnyStr

LONGEST = 200  # lines
LARGEST = 1 << 18  # bytes of UTF-8

PIECE = 1 << 19
"""Bytes of text, in whole lines, that are recased at once: larger pieces take less time, and more memory, and leave
threads without work at the end of small files. A document, which is smaller, is never in two of them."""


def documents(lines: Iterable[AnyStr]) -> Iterator[list[AnyStr]]:
    """The lines of each document, with their ends or without; the blank lines behind it are the last of them."""
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
    """Blocks of whole lines → a block for each document."""
    lines = (line for block in blocks for line in lines_of(block))
    return map(b"".join, documents(lines))


def lines_of(text: AnyStr) -> Iterator[AnyStr]:
    """The lines of a text with their ends; a single line is not copied."""
    newline = "\n" if isinstance(text, str) else b"\n"
    start = 0
    while start < len(text):
        end = text.find(newline, start) + 1 or len(text)
        yield text[start:end]
        start = end
