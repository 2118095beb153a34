"""HTML and Markdown: hide what is not text, so that recasing copies it, and show it again.

In: blocks of whole lines of a file. Out: the same blocks, in which other characters stand for code, tags, comments,
front matter and the targets of links (scanners.py): NUL, which is like white space to the tokenizer, SUB, a
protected token, or a line feed, in the tag of a block of HTML: what is before it and what follows are lines of their
own. Recasing changes neither the number nor the order of these and of line feeds, so `Hiding.show` replaces all of them
by the bytes that they stand for. The bytes that are hidden do not depend on the blocks in which a file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from capfst.text.scanners import Span

U8 = npt.NDArray[np.uint8]
AUTO, NONE, MARKDOWN, HTML = "auto", "none", "markdown", "html"
MARKUPS = (AUTO, NONE, MARKDOWN, HTML)
SUFFIXES = {
    ".md": MARKDOWN, ".markdown": MARKDOWN, ".mdown": MARKDOWN, ".htm": HTML, ".html": HTML, ".xhtml": HTML,
}  # fmt: skip

_BLANK, _CODE, _NEWLINE = b"\0\x1a\n"


def markup_of(suffix: str, markup: str = AUTO) -> str:
    """Return the markup of a file with this suffix: NONE, MARKDOWN or HTML. markup: one of MARKUPS."""
    return SUFFIXES.get(suffix, NONE) if markup == AUTO else markup


class Hidden(NamedTuple):
    """A text in which parts are hidden, and the bytes of these and of its line ends."""

    text: bytes
    bytes: U8


def _hidden(data: bytes, spans: list[Span]) -> Hidden:
    """Hide the spans, but not line ends in them."""
    from capfst.text.scanners import BREAK, CODE  # noqa: PLC0415  (few texts have markup)

    original = np.frombuffer(data, np.uint8)
    masked = original.copy()
    for start, end, kind in spans:
        masked[start:end] = _CODE if kind == CODE else _BLANK
        if kind == BREAK:
            masked[start + 1] = _NEWLINE  # not the first one, so that no line is empty
    masked[original == _NEWLINE] = _NEWLINE
    return Hidden(masked.tobytes(), original[_is_hidden(masked)])


def _is_hidden(text: U8) -> npt.NDArray[np.bool_]:
    return (text == _BLANK) | (text == _CODE) | (text == _NEWLINE)


def bytes_hidden(data: bytes, text: bytes) -> U8:
    """Return the bytes of data that are hidden in the text."""
    return np.frombuffer(data, np.uint8)[_is_hidden(np.frombuffer(text, np.uint8))]


def ends_line(text: bytes, hidden: U8) -> bytes:
    """Return a byte for each line feed of a text that hides these bytes: 1 if it is shown as a line feed, else 0."""
    characters = np.frombuffer(text, np.uint8)
    return (hidden[characters[_is_hidden(characters)] == _NEWLINE] == _NEWLINE).tobytes()


def shown(text: bytes | memoryview, hidden: U8) -> memoryview:
    """Return a text with these bytes where it hides some."""
    out = np.frombuffer(text, np.uint8).copy()
    out[_is_hidden(out)] = hidden
    return out.data


def hide(blocks: Iterable[bytes], markup: str) -> Iterator[Hidden]:
    """Hide parts of a file, which is given in blocks of whole lines. The blocks that are yielded end elsewhere."""
    scanner = None
    if markup != NONE:
        from capfst.text.scanners import Html, Markdown  # noqa: PLC0415  (few texts have markup)

        scanner = Markdown() if markup == MARKDOWN else Html()
    held = b""
    for block in blocks:
        data = held + block
        spans, n = scanner.scan(data, is_last=False) if scanner else ([], len(data))
        if n:
            yield _hidden(data[:n], spans)
        held = data[n:]
    if held and scanner:
        yield _hidden(held, scanner.scan(held, is_last=True)[0])


def hide_text(text: bytes, markup: str) -> Hidden:
    """Hide parts of a whole text."""
    masked = b"".join(part.text for part in hide([text], markup))
    return Hidden(masked, bytes_hidden(text, masked))


class Hiding:
    """Hides parts of files, and shows them in the recased text, which streams through in the same order. counts_lines:
    for `line_of`, which needs a byte for each line."""

    def __init__(self, counts_lines: bool = False) -> None:
        self._waiting, self._ends_line = bytearray(), bytearray()
        self._counts_lines = counts_lines

    def hide(self, blocks: Iterable[bytes], markup: str) -> Iterator[bytes]:
        """Yield the text of a file with parts hidden."""
        for text, hidden in hide(blocks, markup):
            self._waiting += hidden.data
            if self._counts_lines:
                self._ends_line += ends_line(text, hidden)
            yield text

    def show(self, recased: Iterable[bytes | memoryview]) -> Iterator[memoryview]:
        """Yield recased text with the hidden parts."""
        for text in recased:
            yield shown(text, self.take(text))

    def take(self, text: bytes | memoryview) -> U8:
        """Return the bytes that the text, the next one in order, hides."""
        n = int(np.count_nonzero(_is_hidden(np.frombuffer(text, np.uint8))))
        taken = np.frombuffer(self._waiting[:n], np.uint8)
        del self._waiting[:n]
        return taken

    def line_of(self, line: int) -> int:
        """Return the line of the files in which a line of their text is, both from 0."""
        return self._ends_line.count(1, 0, line)
