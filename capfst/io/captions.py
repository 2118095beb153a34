"""Subtitles: SubRip (.srt), WebVTT (.vtt), SubStation Alpha (.ass, .ssa), SubViewer (.sbv) and TTML (.ttml, .dfxp); and
lyrics with times (.lrc).

In: a file. Out: its running text (running_text.py), which is that of the cues. Times, tags, styles and all
else stay. The classes find the cues of their format, and cue_text.py the words in these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple

from capfst.exceptions import CorpusError
from capfst.io.cue_text import ENTITY, LINE, MUSIC, OVERRIDE, SOUND, SPACE, TAG, TURN, Marks, joined_cues
from capfst.io.protocol import TextOptions
from capfst.io.running_text import Remarks, RunningText, Span, Times, spans_between
from capfst.io.text_file import Part, SpeechFile
from capfst.options import KEEP

_clock = re.compile(r"\d+:\d\d(?::\d\d(?:[.,]\d+)?|[.,]\d+)").search
_blank_line = re.compile(r"\n\r?\n").search


class Cue(NamedTuple):
    """The text of a cue, at the characters start … end − 1."""

    start: int
    end: int
    speaker: str | None = None  # None: the format names none


class Captions(SpeechFile):
    """A file of subtitles. A subclass finds its cues."""

    title: ClassVar[str]
    marks: ClassVar[tuple[str, ...]] = (LINE, TAG, MUSIC, SOUND, TURN, ENTITY, SPACE)
    begins: ClassVar[str] = r"(?!)"  # what a file begins with, even if it has no cues

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self._remarks = options.remarks
        self._marks = Marks(self.marks, options.remarks != KEEP)
        self._speaker: str | None = None
        self._is_known = False

    def whole(self, data: str) -> int:
        blank = max(data.rfind("\n\n"), data.rfind("\n\r\n")) + 1
        return data.find("\n", blank) + 1 if blank else 0

    def running(self, part: Part) -> RunningText:
        data = part.data if "\n" in part.data else part.data.replace("\r", "\n")  # old line ends; they are written
        cues, places = [], [(0, 0)]
        for cue in self.cues(data):
            places.append(cue[:2])
            breaks = cue.speaker not in (None, "", self._speaker)
            self._speaker = cue.speaker or self._speaker
            cues.append(self._marks.read(data, cue.start, cue.end, breaks))
        text = data.lstrip("\ufeff \t\r\n")
        if text and not (self._is_known or cues or re.match(self.begins, text)):
            raise CorpusError(f"{self.path}: no cues of {self.title}. Rename it, or change `format` (recase, batch).")
        self._is_known = True
        remarks = Remarks([remark for cue in cues for remark in cue.remarks], self._remarks == "capitalized")
        spans, copies = joined_cues(cues)
        times = partial(_times, data, places)
        return RunningText(part.data, spans, copies, records=len(cues), times=times, are_cues=True, remarks=remarks)

    def cues(self, data: str) -> Iterator[Cue]:
        """Yield the cues of a block."""
        raise NotImplementedError


def _times(data: str, cues: list[tuple[int, int]]) -> Times:
    """Return the times of cues, given where each is: the first ones between it and the cue before."""
    found = ((start, _clock(data, end_before, start)) for (_, end_before), (start, _) in pairwise(cues))
    return {start: (_seconds(clock[0]),) * 2 for start, clock in found if clock}


def _seconds(clock: str) -> float:
    """Return a time in seconds, given as [hours:]minutes:seconds."""
    return sum(60**k * float(part) for k, part in enumerate(reversed(clock.replace(",", ".").split(":"))))


class _Timed(Captions):
    """Subtitles in which a line with times is before the text of each cue."""

    ends_at_blank_line = True
    has_data = False  # whether cues may be JSON instead of text
    times = re.compile(r"(?m)^(?:[ \t\r\ufeff]*\d+[ \t\r\ufeff]*\n)?[ \t\ufeff]*-?\d[^\n]*?-->[^\n]*")
    """A line with times, and the number of the cue before it."""
    _in_cue = False

    def cues(self, data: str) -> Iterator[Cue]:
        start = 0 if self._in_cue else -1
        for times in chain(self.times.finditer(data), [None]):
            end = times.start() if times else len(data)
            if start >= 0:
                blank = _blank_line(data, start, end) if self.ends_at_blank_line else None
                end = blank.start() if blank else end
                text = data[start:end].strip() if self.has_data else ""
                if not (text.startswith("{") and text.endswith("}")):
                    yield Cue(start, end)
            self._in_cue = start >= 0 and not self.ends_at_blank_line
            start = times.end() if times else -1


class Srt(_Timed):
    """SubRip. The text of a cue may have blank lines, although it should not."""

    title = "SubRip"
    marks = (*Captions.marks, OVERRIDE)
    ends_at_blank_line = False
    times = re.compile(_Timed.times.pattern.replace("n)?", r"n\s*)?", 1))  # in files whose line ends were doubled


class Vtt(_Timed):
    """WebVTT (W3C Candidate Recommendation, 2019)."""

    title = "WebVTT"
    begins = "WEBVTT"
    has_data = True
    marks = (LINE, TAG.replace("[^<>]", "[^>]"), *Captions.marks[2:])  # a tag ends with >, whatever is in it


class Sbv(_Timed):
    """SubViewer, as YouTube writes it."""

    title = "SubViewer"
    times = re.compile(r"(?m)^[ \t\ufeff]*\d+:\d\d:\d\d[.,]\d+,\d+:\d\d:\d\d[.,]\d+[ \t\r]*$")


class Ttml(Captions):
    """TTML (W3C), and the XML of YouTube's captions."""

    title = "TTML"
    begins = "<"
    _tags = re.compile(r"<(/?)(?:\w{1,20}:)?(?:p|text)(?=[\s/>])([^<>]*)>").finditer
    _agent = re.compile(r"agent=[\"']([^\"']*)").search

    def whole(self, data: str) -> int:
        ends = [data.rfind(f"</{name}>") for name in ("p", "tt:p", "text")]
        return data.find(">", max(ends)) + 1 if max(ends) >= 0 else 0

    def cues(self, data: str) -> Iterator[Cue]:
        start, speaker = -1, None
        for tag in self._tags(data):
            if tag[1]:
                if start >= 0:
                    yield Cue(start, tag.start(), speaker)
                start = -1
            elif not tag[2].endswith("/"):
                agent = self._agent(tag[2])
                start, speaker = tag.end(), agent[1] if agent else None


_EVENT = {
    "layer", "marked", "start", "end", "style", "name", "actor", "marginl", "marginr", "marginv", "effect", "text",
}  # fmt: skip


class Ass(Captions):
    """SubStation Alpha, 4 and 4+."""

    title = "SubStation Alpha"
    begins = r"(?:[;!][^\n]*\n\s*)*\[(?:Script Info|Events)\]"
    marks = (r"(?P<line>\\[Nn])", SPACE, OVERRIDE, TAG, MUSIC, SOUND, TURN)
    _lines = re.compile(r"(?m)^[ \t]*(\[[^\]\n]*\]|Format|Dialogue)[ \t]*:?[ \t]*([^\r\n]*)").finditer

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self._is_event = True  # until a section begins
        self._fields = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]

    whole = SpeechFile.whole  # any line

    def cues(self, data: str) -> Iterator[Cue]:
        for line in self._lines(data):
            kind = line[1].lower()
            if kind.startswith("["):
                self._is_event = kind == "[events]"
            elif self._is_event and kind == "format":
                fields = [field.strip().lower() for field in line[2].split(",")]
                self._fields = fields if set(fields) <= _EVENT and fields[-1] == "text" else self._fields
            elif self._is_event:
                values = line[2].split(",", len(self._fields) - 1)
                if len(values) == len(self._fields):
                    named = dict(zip(self._fields, values, strict=True))
                    speaker = " ".join([named.get("style", ""), named.get("name", ""), named.get("actor", "")])
                    yield Cue(line.end() - len(values[-1]), line.end(), speaker.strip())


class Lrc(SpeechFile):
    """Lyrics: each line, and the title, names and album that tags have, is a line of its own. Words may have times."""

    least = 1
    _lines = re.compile(r"[^\r\n]+").finditer
    _tag = re.compile(r"[ \t\ufeff]*\[([A-Za-z#]{1,8})[ \t]*:").match
    _times = re.compile(r"[\[<]\d{1,3}:\d\d(?:[.:]\d{1,3})?[\]>]").finditer
    _names = frozenset(["ti", "ar", "al", "au", "lr", "by"])  # title, artist, album, author, lyricist, who made it

    def running(self, part: Part) -> RunningText:
        data = part.data
        spans: list[Span] = []
        lines = [line.span() for line in self._lines(data)]
        for start, end in lines:
            if tag := self._tag(data, start, end):
                closed = data.find("]", tag.end(), end)
                if closed < 0 or tag[1].lower() not in self._names:
                    continue
                start, end = tag.end(), closed
            times = [] if tag else self._times(data, start, end)
            spans += spans_between(data, start, end, times, "\n" if spans else "")[0]
        return RunningText(data, spans, records=len(lines))
