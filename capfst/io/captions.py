"""Subtitles: SubRip (.srt), WebVTT (.vtt), SubStation Alpha (.ass, .ssa) and SubViewer (.sbv).

In: blocks of a file. Out: their running text (running_text.py), which is that of the cues. A sentence continues over
cues and lines; a change of speaker begins a new line of the running text. Times, tags, styles and all else stay. The
readers of the formats find the text of each cue; `_Speech` finds the words in it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import ClassVar, NamedTuple

from capfst.exceptions import CorpusError
from capfst.io.blocks import joined
from capfst.io.lines import BLOCK
from capfst.io.running_text import Copy, RunningText, Span

_CAPITALS = 0.8  # of the letters of a cue in capitals; more than of NASA's
_SOUND, _SOUND_LINE = 3, 6  # most words in round brackets that are a sound: inside a line, and as a whole line

_LINE, _TAG, _MUSIC, _SOUNDS, _TURN, _ENTITY, _OVERRIDE, _SPACE = (
    r"(?P<line>\r?\n)",
    r"(?P<tag></?[A-Za-z][^<>]{0,400}>|</?>|<\d[\d:.]*>)",
    r"(?P<music>[♩♪♫♬]+|(?<!\S)\#(?!\S))",
    r"(?P<sound>\[[^\[\]]{0,200}\]|【[^【】]{0,200}】|\([^()]{0,200}\)|（[^（）]{0,200}）)",
    r"(?P<turn>>>+|&gt;(?:&gt;)+)",
    r"(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)",
    r"(?P<override>\{[^{}\n]*\})",
    r"(?P<space>\\h)",
)
_BLANK_LINE = re.compile(r"\n\r?\n")
_special = re.compile(r"[<>(（\[【{\\&#♩♪♫♬]").search
_text_lines = re.compile(r"[^\r\n]*[^\s][^\r\n]*").finditer
_dash = re.compile(r"\s*[-‐‑–](?![-‐‑–\d])[ \t]*(?=\S|\Z)").match
_label = re.compile(r"\s*[^\W\d_a-z][\w.'’#&/-]*(?: [^\W_a-z][\w.'’#&/()-]*){0,3}:(?=\s|\Z)").match
_voice = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>").match
_drawing = re.compile(r"\\p(\d+)").findall


class Cue(NamedTuple):
    """The text of a cue, at the characters start … end − 1."""

    start: int
    end: int
    speaker: str | None = None  # None: the format names none


class _Speech:
    """Finds the words of cues, in order. It knows who speaks, and the lines of the cue before."""

    def __init__(self, marks: Iterable[str]) -> None:
        self._marks = re.compile("|".join(marks)).finditer
        self._speaker: str | None = None
        self._in_capitals = False
        self.begin()

    def begin(self) -> None:
        """Begin a block of a file."""
        self.spans: list[Span] = []
        self.copies: list[Copy] = []
        self._last: list[list[Span]] = []  # lines of the cue before
        self._last_keys: list[str] = []
        self._breaks = False  # whether another speaker begins with the next text

    def read(self, data: str, cue: Cue) -> None:
        """Add the text of a cue."""
        self._breaks |= self._is_another(cue.speaker)
        lines, breaks_after = self._lines(data, cue)
        if not lines:
            self._breaks |= breaks_after
            return
        in_capitals = self._is_in_capitals("".join([span.value for line in lines for span in line]))
        if in_capitals:
            lines = [[span._replace(value=_upper(span.value)) for span in line] for line in lines]
        keys = ["".join([span.value for span in line]).strip().lower() for line in lines]
        n_same = _n_same(self._last_keys, keys)  # captions that roll up
        self.copies += map(Copy, lines[:n_same], self._last[len(self._last) - n_same :])
        new = lines[n_same:]
        if new:
            first = new[0][0]
            breaks = self._breaks or in_capitals != self._in_capitals or "\n" in first.before
            before = "\n" if breaks else f" {first.before.lstrip()}"
            new[0][0] = first._replace(before=before if self.spans else "")
            self.spans += chain.from_iterable(new)
            self._breaks = False
        self._breaks |= breaks_after
        self._last, self._last_keys, self._in_capitals = lines, keys, in_capitals

    def _is_another(self, speaker: str | None) -> bool:
        """Return whether another speaker is named than before."""
        if not speaker or speaker == self._speaker:
            return False
        self._speaker = speaker
        return True

    def _is_in_capitals(self, text: str) -> bool:
        """Return whether a cue is in capitals; a single word is if the cue before is."""
        if text.isupper():
            return self._in_capitals or len(text.split()) > 1
        if text.islower():
            return False
        n_upper, n_lower = sum(map(str.isupper, text)), sum(map(str.islower, text))
        return n_upper > _CAPITALS * (n_upper + n_lower)

    def _lines(self, data: str, cue: Cue) -> tuple[list[list[Span]], bool]:
        """Return the text of a cue by lines; and whether another speaker begins after it."""
        if not _special(data, cue.start, cue.end):  # nearly always
            return [[_plain(line)] for line in _text_lines(data, cue.start, cue.end)], False
        lines: list[list[Span]] = [[]]
        before, end, starts_line, is_drawing = "", cue.start, True, False
        for mark in chain(self._marks(data, cue.start, cue.end), [None]):
            start, stop = end, mark.start() if mark else cue.end
            if start < stop and not is_drawing:
                skipped, breaks = _beginning(data[start:stop]) if starts_line else (0, False)
                before = "\n" if breaks else before
                text = data[start + skipped : stop]
                if text.strip():
                    lines[-1].append(Span(start + skipped, stop, text, before))
                    before, starts_line = "", False
                elif text:
                    before += " "
            if mark is None:
                break
            kind, end = mark.lastgroup, mark.end()
            if kind == "line":
                lines.append([])
                starts_line = True
            elif kind == "override" and (drawing := _drawing(mark[0])):
                is_drawing = drawing[-1] != "0"
            elif kind == "sound" and not _is_sound(mark, cue, starts_line):
                end = mark.start()  # it is text
            before += self._instead_of(mark, kind)
        return [line for line in lines if line], "\n" in before

    def _instead_of(self, mark: re.Match[str], kind: str | None) -> str:
        """Return what stands for a mark in the running text."""
        if kind == "entity":
            character = html.unescape(mark[0])
            return character if character.isprintable() else " " * character.isspace()
        if kind == "tag":
            voice = _voice(mark[0])
            breaks = voice is not None and self._is_another(voice[1].strip())
            return "\n" if breaks else " " * mark[0].startswith(("<br", "<rt", "</rt"))
        return {"music": "\n", "turn": "\n", "override": ""}.get(kind or "", " ")


def _plain(line: re.Match[str]) -> Span:
    """Return the span of a line without marks."""
    skipped, breaks = _beginning(line[0])
    return Span(line.start() + skipped, line.end(), line[0][skipped:], "\n" if breaks else " ")


def _beginning(text: str) -> tuple[int, bool]:
    """Return how many characters at the beginning of a line stay as they are, and whether another speaker begins."""
    if text[0].islower():
        return 0, False
    dash = _dash(text)
    start = dash.end() if dash else 0
    label = _label(text, start)
    if label and label[0].isupper() and not text[label.end() :].isupper():
        start = label.end()
    return start, bool(dash or label)


def _is_sound(mark: re.Match[str], cue: Cue, starts_line: bool) -> bool:
    """Return whether brackets contain a sound or a remark: square brackets do; round ones do in capitals or at the
    beginning of a line if they contain a few words."""
    if mark[0][0] in "[【":
        return True
    n_words = len(mark[0].split())
    after = mark.string[mark.end() : min(cue.end, mark.end() + 80)].split("\n", 1)[0]
    is_line = starts_line and not after.strip(" \t\r.!?…-")
    return n_words <= (_SOUND_LINE if is_line else _SOUND) and (starts_line or mark[0].isupper())


def _upper(text: str) -> str:
    return text.upper() if len(text.upper()) == len(text) else text


def _n_same(before: list[str], lines: list[str]) -> int:
    """Return how many lines at the beginning of a cue repeat those at the end of the cue before."""
    if lines[0] not in before:
        return 0
    return next((n for n in range(min(len(lines), len(before)), 0, -1) if lines[:n] == before[-n:]), 0)


class Captions:
    """Reads a file of subtitles. A subclass finds its cues."""

    title: ClassVar[str]
    marks: ClassVar[tuple[str, ...]] = (_LINE, _TAG, _MUSIC, _SOUNDS, _TURN, _ENTITY)

    def __init__(self, name: str) -> None:
        self.name = name
        self._speech = _Speech(self.marks)

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the parts of a file that is given in blocks of whole lines.

        Raises:
            CorpusError: there are no cues in the first block.
        """
        held, is_first = "", True
        ahead = joined(blocks, BLOCK)
        block = next(ahead, None)
        while block is not None:
            data, block = held + block.decode(), next(ahead, None)
            n = len(data) if block is None else self.whole(data)
            held = data[n:]
            if n:
                yield self._running(data[:n], is_first)
                is_first = False

    def whole(self, data: str) -> int:
        """Return the length of the whole cues of a block."""
        blank = max(data.rfind("\n\n"), data.rfind("\n\r\n")) + 1
        return data.find("\n", blank) + 1 if blank else 0

    def _running(self, data: str, is_first: bool) -> RunningText:
        self._speech.begin()
        n_cues = 0
        for cue in self.cues(data):
            self._speech.read(data, cue)
            n_cues += 1
        if is_first and n_cues == 0 and data.strip("\ufeff \t\r\n") and not self.is_empty(data):
            raise CorpusError(f"{self.name}: no cues of {self.title}. Choose another `format`.")
        return RunningText(data, self._speech.spans, self._speech.copies, n_records=n_cues)

    def is_empty(self, data: str) -> bool:
        """Return whether a file that begins so has no cues."""
        return False

    def cues(self, data: str) -> Iterator[Cue]:
        """Yield the cues of a block."""
        raise NotImplementedError


class _Timed(Captions):
    """Subtitles in which a line with times is before the text of each cue."""

    ends_at_blank_line = True
    _in_cue = False

    def times(self, data: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each line with times, and of the number of the cue before it."""
        end = 0
        while (arrow := data.find("-->", end)) >= 0:
            last, end = end, data.find("\n", arrow)
            end = len(data) if end < 0 else end
            start = max(last, data.rfind("\n", last, arrow) + 1)
            if data[start:arrow].lstrip(" \t\ufeff")[:1].isdecimal():
                before = max(last, data.rfind("\n", last, max(last, start - 1)) + 1)
                yield before if data[before:start].strip(" \t\r\n\ufeff").isdecimal() else start, end

    def cues(self, data: str) -> Iterator[Cue]:
        starts = [0] if self._in_cue else []
        ends = []
        for start, end in self.times(data):
            ends.append(start)
            starts.append(end)
        ends = [*(ends if self._in_cue else ends[1:]), len(data)]
        for start, end in zip(starts, ends, strict=False):
            blank = _BLANK_LINE.search(data, start, end) if self.ends_at_blank_line else None
            yield Cue(start, blank.start() if blank else end)
        self._in_cue = bool(starts) and not self.ends_at_blank_line


class Srt(_Timed):
    """SubRip. The text of a cue may have blank lines, although it should not."""

    title = "SubRip"
    marks = (*Captions.marks, _OVERRIDE)
    ends_at_blank_line = False


class Vtt(_Timed):
    """WebVTT (W3C Candidate Recommendation, 2019)."""

    title = "WebVTT"
    marks = (_LINE, _TAG.replace("[^<>]", "[^>]"), *Captions.marks[2:])  # a tag ends with >, whatever is in it

    def is_empty(self, data: str) -> bool:
        return data.lstrip("\ufeff").startswith("WEBVTT")


class Sbv(_Timed):
    """SubViewer, as YouTube writes it."""

    title = "SubViewer"
    marks = (r"(?P<line>\r?\n|\[br\])", *Captions.marks[1:])
    _times = re.compile(r"(?m)^[ \t\ufeff]*\d+:\d\d:\d\d[.,]\d+,\d+:\d\d:\d\d[.,]\d+[ \t\r]*$")

    def times(self, data: str) -> Iterator[tuple[int, int]]:
        return (times.span() for times in self._times.finditer(data))


_EVENT = {
    "layer", "marked", "start", "end", "style", "name", "actor", "marginl", "marginr", "marginv", "effect", "text",
}  # fmt: skip


class Ass(Captions):
    """SubStation Alpha, 4 and 4+."""

    title = "SubStation Alpha"
    marks = (r"(?P<line>\\[Nn])", r"(?P<space>\\h)", _OVERRIDE, _MUSIC, _SOUNDS, _TURN)
    _lines = re.compile(r"(?m)^[ \t]*(\[[^\]\n]*\]|Format|Dialogue)[ \t]*:?[ \t]*([^\r\n]*)").finditer

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._is_event = False
        self._fields = ["layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect", "text"]

    def whole(self, data: str) -> int:
        return len(data)

    def is_empty(self, data: str) -> bool:
        return "[Script Info]" in data or "[Events]" in data

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
