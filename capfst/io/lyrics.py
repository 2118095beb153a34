"""Lyrics with times (.lrc), with the times of words, too.

In: blocks of a file. Out: their running text (running_text.py): each line, and the title, names and album that tags
have, is a line of its own. Tags and times stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from capfst.io.protocol import RecaseCounts
from capfst.io.running_text import RunningText, Span

_lines = re.compile(r"[^\r\n]+").finditer
_tag = re.compile(r"[ \t\ufeff]*\[([A-Za-z#]{1,8})[ \t]*:").match
_times = re.compile(r"[\[<]\d{1,3}:\d\d(?:[.:]\d{1,3})?[\]>]").finditer
_NAMES = frozenset(["ti", "ar", "al", "au", "lr", "by"])  # tags: title, artist, album, author, lyricist, who made it


class Lrc:
    """Reads a file of lyrics."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the parts of a file that is given in blocks of whole lines."""
        for block in blocks:
            data = block.decode()
            spans: list[Span] = []
            n_lines = 0
            for line in _lines(data):
                before = "\n" if spans else ""
                for start, end in _texts(data, line.start(), line.end()):
                    if data[start:end].strip("\ufeff \t"):
                        spans.append(Span(start, end, data[start:end], before))
                        before = ""
                    else:
                        before += data[start:end]
                n_lines += 1
            yield RunningText(data, spans, counts=RecaseCounts(records=n_lines))


def _texts(data: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of the texts of a line."""
    if tag := _tag(data, start, end):
        closed = data.find("]", tag.end(), end)
        if closed >= 0 and tag[1].lower() in _NAMES:
            yield tag.end(), closed
        return
    for time in _times(data, start, end):
        yield start, time.start()
        start = time.end()
    yield start, end
