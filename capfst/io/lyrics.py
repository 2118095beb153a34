"""Lyrics with times (.lrc), with the times of words, too.

In: a file. Out: its running text (running_text.py): each line, and the title, names and album that tags
have, is a line of its own. Tags and times stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from capfst.io.running_text import RunningText, Span
from capfst.io.text_file import Part, SpeechFile

_lines = re.compile(r"[^\r\n]+").finditer
_tag = re.compile(r"[ \t\ufeff]*\[([A-Za-z#]{1,8})[ \t]*:").match
_times = re.compile(r"[\[<]\d{1,3}:\d\d(?:[.:]\d{1,3})?[\]>]").finditer
_NAMES = frozenset(["ti", "ar", "al", "au", "lr", "by"])  # tags: title, artist, album, author, lyricist, who made it


class Lrc(SpeechFile):
    least = 1

    def running(self, part: Part) -> RunningText:
        data = part.data
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
        return RunningText(data, spans, records=n_lines)


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
