"""HTML and Markdown: hide what is not text, so that recasing copies it, and show it again.

In: blocks of whole lines of a file. Out: the same blocks, in which other characters stand for code, tags, comments,
front matter and the targets of links (scanners.py): BLANK, which is like white space to the tokenizer, or CODE, a
protected token. Recasing changes neither their number nor their order, so `Hiding.show` replaces them by the bytes that
they stand for. The bytes that are hidden do not depend on the blocks in which a file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from capfst.text.scanners import Span

AUTO, NONE, MARKDOWN, HTML = "auto", "none", "markdown", "html"
MARKUPS = (AUTO, NONE, MARKDOWN, HTML)
SUFFIXES = {
    ".md": MARKDOWN, ".markdown": MARKDOWN, ".mdown": MARKDOWN, ".htm": HTML, ".html": HTML, ".xhtml": HTML,
}  # fmt: skip

BLANK, CODE = b"\0", b"\x1a"


def markup_of(suffix: str, markup: str = AUTO) -> str:
    """Return the markup of a file with this suffix: NONE, MARKDOWN or HTML. markup: one of MARKUPS."""
    return SUFFIXES.get(suffix, NONE) if markup == AUTO else markup


class Hidden(NamedTuple):
    """A text in which parts are hidden, and the bytes that it hides."""

    text: bytes
    bytes: npt.NDArray[np.uint8]


def _hidden(data: bytes, spans: list[Span]) -> Hidden:
    """Hide the spans, but not line ends in them."""
    masked = bytearray(data)
    for start, end, is_code in spans:
        masked[start:end] = (CODE if is_code else BLANK) * (end - start)
    out = np.frombuffer(masked, np.uint8)
    out[np.frombuffer(data, np.uint8) == ord("\n")] = ord("\n")
    return Hidden(bytes(masked), bytes_hidden(data, masked))


def _is_hidden(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    return (text == BLANK[0]) | (text == CODE[0])


def bytes_hidden(data: bytes, text: bytes | bytearray) -> npt.NDArray[np.uint8]:
    """Return the bytes of data that are hidden in the text."""
    return np.frombuffer(data, np.uint8)[_is_hidden(np.frombuffer(text, np.uint8))]


def shown(text: bytes | memoryview, hidden: npt.NDArray[np.uint8]) -> memoryview:
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
    """Hides parts of files, and shows them in the recased text, which streams through in the same order."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def hide(self, blocks: Iterable[bytes], markup: str) -> Iterator[bytes]:
        """Yield the text of a file with parts hidden."""
        for text, hidden in hide(blocks, markup):
            self._waiting += hidden.data
            yield text

    def show(self, recased: Iterable[bytes | memoryview]) -> Iterator[memoryview]:
        """Yield recased text with the hidden parts."""
        for text in recased:
            yield shown(text, self.take(text))

    def take(self, text: bytes | memoryview) -> npt.NDArray[np.uint8]:
        """Return the bytes that the text, the next one in order, hides."""
        n = int(np.count_nonzero(_is_hidden(np.frombuffer(text, np.uint8))))
        taken = np.frombuffer(self._waiting[:n], np.uint8)
        del self._waiting[:n]
        return taken
