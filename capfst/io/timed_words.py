"""Transcripts of speech, line by line: NIST's .ctm, a word per line, and .stm, a turn per line; Kaldi's `text`, an
utterance per line. Praat's TextGrid, long and short: tiers of intervals or points that have text.

In: a file. Out: its running text (running_text.py). A sentence continues over lines or intervals; another recording,
channel, speaker or tier begins a new line of the running text. A tier with the words of an earlier one follows it word
by word. Times, confidences, identifiers, comments, marks of noises (<unk>, [laughter]), names of tiers, and tiers of
sounds (*phones*) stay. Only .ctm has the pauses between words.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from capfst.io.running_text import Copy, RunningText, Span, Times, apart_in_capitals, letters_of, spans_between
from capfst.io.text_file import FormatError, Part, SpeechFile

_TIME = r"[ \t]+(?:-?\d+\.?\d*|-?\.\d+|\*)"  # sclite reads negative durations, too
_BEGIN, _DURATION = (_TIME.replace("(?:", f"(?P<{name}>") for name in ("begin", "duration"))
_WORDS = r"(?:[ \t]+(?P<words>\S(?:[^\n]*\S)?))?"
_NOISE = (
    r"(?i)(?<![^\s\"])"
    r"(?:<[^<>\s]*>|\[[^\[\]\s]*\]|\(?%[a-z]+\)?|\{\w+\}|[{}@/]|!sil|spoken_noise|ignore_time_segment_in_scoring)(?!\S)"
)
_noises = re.compile(_NOISE).finditer
_suspicious = re.compile(r"[<\[{%@/!}]|(?i:spoken_noise|ignore_time)").search
_parts = re.compile(r"[-_.]").split


def is_noise(word: str) -> bool:
    """Return whether a word is the mark of a noise."""
    return any(_noises(word))


def _line(fields: str) -> re.Pattern[str]:
    """Return the regular expression for a line with these fields, a comment or a blank line, with its end."""
    return re.compile(rf"[ \t\r\ufeff]*(?:\n|\Z)|[ \t\ufeff]*(?:;;[^\n]*|{fields})[ \t\r]*(?:\n|\Z)")


def _words_of(line: re.Match[str], before: str) -> list[Span]:
    (start, last), words = line.span("words"), line["words"]
    if not _suspicious(words):
        return [Span(start, last, words, before)]
    spans, _ = spans_between(line.string, start, last, _noises(line.string, start, last))
    return [span._replace(before=" " if k else before) for k, span in enumerate(spans)]


class SpeechLines(SpeechFile):
    """A file of lines, each of which has some of the words of a stream of speech."""

    title: ClassVar[str]
    fields: ClassVar[str]
    line: ClassVar[re.Pattern[str]]
    """A line, with the groups `stream` and `speaker`, which name the stream, and `words`, which is None in a comment or
    a blank line."""
    _stream = ""

    def whole(self, data: str) -> int:
        """Return where the lines of the last recording begin, or where they end if it is the only one."""
        begin = data.rfind("\n", 0, -1) + 1
        name = (data[begin:].split(maxsplit=1) or [""])[0]
        while begin > 0 and data.startswith(name, before := data.rfind("\n", 0, begin - 1) + 1):
            begin = before
        return begin or len(data)

    def running(self, part: Part) -> RunningText:
        data = part.data
        spans: list[Span] = []
        n_lines = end = 0
        given: tuple[str | Any, ...] = ()  # names of the stream of the line before
        while end < len(data) and (line := self.line.match(data, end)):
            end = line.end()
            if line["words"] is not None:
                names = line.group("stream", "speaker")
                stream = self._stream if names == given else " ".join(" ".join(filter(None, names)).split())
                before = " " if names == given or self.continues(self._stream, stream) else "\n"
                if found := _words_of(line, before if spans else ""):
                    given, self._stream = names, stream
                    spans += found
                n_lines += 1
        if end < len(data):
            bad = data[end : data.find("\n", end) + 1 or len(data)].strip()
            raise FormatError(
                f"not {self.title}, which has {self.fields}: {bad[:60]!r}. Fix it, or choose another `format`.", end
            )
        times = partial(self.times, data)
        return RunningText(data, apart_in_capitals(spans), records=n_lines, times=times)

    def continues(self, stream: str, after: str) -> bool:
        """Return whether a line of the stream `after` may continue a sentence of this stream."""
        return stream == after

    def times(self, data: str) -> Times:
        """Return the times of words."""
        return {}


class Ctm(SpeechLines):
    """A word per line, with its times (NIST sclite)."""

    title = "CTM"
    fields = "a recording, channel, start, duration and word in each line"
    line = _line(
        rf"(?P<stream>\S+[ \t]+\S+){_BEGIN}{_DURATION}[ \t]+(?P<words>\S+)"
        r"(?:[ \t]+\S+(?:[ \t]+\S+(?:[ \t]+(?P<speaker>\S+))?)?)?"
    )

    def times(self, data: str) -> Times:
        times = {}
        for line in self.line.finditer(data):
            if line["words"] and "*" not in line.group("begin", "duration"):
                begin = float(line["begin"])
                times[line.start("words")] = begin, begin + float(line["duration"])
        return times


class Stm(SpeechLines):
    """A turn per line, with its times (NIST sclite)."""

    title = "STM"
    fields = "a recording, channel, speaker, begin, end and words in each line"
    line = _line(rf"(?P<stream>\S+[ \t]+\S+)[ \t]+(?P<speaker>\S+){_TIME}{_TIME}(?:[ \t]*<[^<>\n]*>)?{_WORDS}")


class KaldiText(SpeechLines):
    """An utterance per line, after its identifier."""

    title = "Kaldi's text"
    fields = "an identifier and words in each line"
    line = _line(rf"(?P<stream>\S+)(?P<speaker>){_WORDS}")

    def continues(self, stream: str, after: str) -> bool:
        """Return whether the identifiers differ in their last part, a number or time that ascends, or in the last two,
        a start and an end."""
        before, now = _parts(stream), _parts(after)
        if len(before) != len(now) or not (before[-1].isdecimal() and now[-1].isdecimal()):
            return False
        if len(now) > 1 and before[:-1] == now[:-1]:
            return int(before[-1]) < int(now[-1])
        has_start = len(now) > 2 and before[:-2] == now[:-2] and now[-2].isdecimal()
        return has_start and int(before[-1]) <= int(now[-2])


_strings = re.compile(r'(?:(?<!\w)([A-Za-z]{1,8})[ \t]{0,9}=[ \t]{0,9})?"([^"]*(?:""[^"]*)*)"').finditer
_marks = re.compile(rf'{_NOISE}|""|(?<=")(?:sil|spn?)\Z').finditer  # aligners write sp or sil for a pause
_TIERS = ("IntervalTier", "TextTier")
_sounds = re.compile(r"(?i)phon(?:es?|em|et|o)|\bMAU\b|segm|syll|tone|pitch|break|ipa\b|sampa").search


class TextGrid(SpeechFile):
    """Praat's format. As in Praat, only strings count, and numbers, which are not read."""

    most = sys.maxsize

    def whole(self, data: str) -> int:
        """Return 0: a string may have any number of lines."""
        return 0

    def running(self, part: Part) -> RunningText:
        tiers = [apart_in_capitals(spans) for spans in _tiers(part.data) if spans]
        spans: list[Span] = []
        copies: list[Copy] = []
        known: dict[str, list[Span]] = {}
        for tier in tiers:
            first = known.setdefault(letters_of("".join([span.value for span in tier])), tier)
            if first is not tier:
                copies.append(Copy(tier, first))
                continue
            tier[0] = tier[0]._replace(before="\n" * bool(spans) + tier[0].before)
            spans += tier
        return RunningText(part.data, spans, copies, records=sum(map(len, tiers)))


def _tiers(data: str) -> Iterator[list[Span]]:
    tier: list[Span] = []
    before = ""  # the next text
    is_in = is_named = False  # whether a tier has begun, and its name was read
    is_text = True  # whether its strings are text
    for string in _strings(data):
        key, value = (string[1] or "").lower(), string[2]
        if value in _TIERS and (key == "class" or (not key and is_named >= is_in)):
            yield tier
            tier, is_in, is_named, is_text = [], True, False, True
        elif key == "name" or (not key and is_in and not is_named):
            is_named, is_text = True, not _sounds(value)
        elif is_text and (key in ("text", "mark") or (not key and is_in)):
            marks, before = _marks(data, *string.span(2)), f"{before.rstrip()} " if tier else ""
            found, before = spans_between(data, *string.span(2), marks, before, lambda mark: '"' * (mark[0] == '""'))
            tier += found
    yield tier
