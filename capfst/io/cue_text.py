"""The words in the cues of subtitles, and the text that they make together.

In: the text of cues, with tags, sounds, music and labels of speakers, among which `Marks` finds the words. Out: the
spans of their running text (`joined_cues`): sentences continue over lines and cues, and another speaker begins a new
line of it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from capfst.io.running_text import Copy, Span, are_capitals, in_capitals, spans_between, upper
from capfst.text.sentences import CLOSES, ENDS

_SOUND, _SOUND_LINE = 3, 6  # most words in round brackets that are a sound: inside a line, and as a whole line
_SHOUT = 4  # most words in capitals that stay among text that is not in capitals: shouts, signs, sounds
_MOST_SAME = 100  # lines that a cue may repeat from the cue before
_LEAST_STARTS, _CAPITAL_STARTS = 3, 0.8  # cues within a sentence; fraction with a capital that shows they are not

LINE, TAG, MUSIC, SOUND, TURN, ENTITY, OVERRIDE, SPACE = (
    r"(?P<line>\r?\n|\[br\]|<(?:\w{1,20}:)?(?i:br)(?=[\s/>])[^<>]{0,400}>)",
    r"(?P<tag></?[A-Za-z][^<>]{0,400}>|</?>|<\d[\d:.]*>)",
    r"(?P<music>[♩♪♫♬]+|(?<!\S)\#(?!\S))",
    r"(?P<sound>(?:\[[^\[\]]{0,200}\]|【[^【】]{0,200}】|\([^()]{0,200}\)|（[^（）]{0,200}）):?)",
    r"(?P<turn>>>+|&gt;(?:&gt;)+|(?<=[.?!…][ ])[-–](?=[ ]|[^\W\d_]))",
    r"(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)",
    r"(?P<override>\{[^{}\n]*\})",
    r"(?P<space>\\h)",  # FFmpeg writes it for the spaces of closed captions
)
_dash = re.compile(r"\s*[-‐‑–](?![-‐‑–\d])[ \t]*(?=\S|\Z)").match
_lone_label = re.compile(r"\s*[^\W\d_][\w.'’]*(?: [\w.'’]+)?:\s*").fullmatch
_first_word = re.compile(r"[^\W\d_][\w'’]*").search
_label = re.compile(r"\s*[^\W_a-z][\w.'’#&/-]*(?: (?:[#&]|[^\W_a-z])[\w.'’#&/()-]*){0,3}:(?=\s|\Z)").match
_voice = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>").match
_drawing = re.compile(r"\\p(\d+)").findall


class CueText(NamedTuple):
    """The words of a cue."""

    lines: list[list[Span]]
    keys: list[str]  # the text of each line in lower case
    breaks: bool  # whether another speaker begins with it
    after: str  # what stands after them in the running text, with a line break if another speaker begins
    in_capitals: bool | None  # None: a single word, or none
    remarks: list[list[Span]]  # to recase: the words of each


class Marks:
    """Finds the words among marks of these kinds, and on request those of remarks. It knows which speaker the last tag
    or label names, so that another one can be noticed."""

    def __init__(self, kinds: Iterable[str], with_remarks: bool = False) -> None:
        self._marks = re.compile("|".join(kinds)).finditer
        self._with_remarks = with_remarks
        self._voice = ""

    def read(self, data: str, start: int, end: int, breaks: bool) -> CueText:
        """Return the words of the cue that is data[start:end]. breaks: whether another speaker begins with it."""
        lines, remarks, after = self._lines(data, start, end)
        texts = [_text([line]) for line in lines]
        is_upper: bool | None = in_capitals(" ".join(texts))
        if not is_upper and len(lines) > 1 and any(map(_is_shout, texts)):
            lines = [line for line, text in zip(lines, texts, strict=True) if not _is_shout(text)]
            texts = [_text([line]) for line in lines]
        keys = [" ".join(text.lower().split()) for text in texts]
        if not lines or (is_upper and len(keys) == 1 and " " not in keys[0]):
            is_upper = None
        breaks |= bool(lines and "\n" in lines[0][0].before)
        return CueText(lines, keys, breaks, after, is_upper, remarks)

    def _lines(self, data: str, begin: int, last: int) -> tuple[list[list[Span]], list[list[Span]], str]:
        """Return the text of a cue by lines, its remarks, and what is after it."""
        lines: list[list[Span]] = [[]]
        remarks: list[list[Span]] = []
        before, end, starts_line, is_drawing = "", begin, True, False
        for mark in chain(self._marks(data, begin, last), [None]):
            start, stop = end, mark.start() if mark else last
            if start < stop and not is_drawing:
                skipped, breaks = self._beginning(data, start, stop, begin, last) if starts_line else (0, False)
                before = "\n" if breaks else before
                text = data[start + skipped : stop]
                if text.strip():
                    lines[-1].append(Span(start + skipped, stop, text, before))
                    before, starts_line = "\n" if starts_line and _lone_label(text) else "", False
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
            elif kind == "sound" and not _is_sound(mark, last, starts_line):
                end = mark.start()  # it is text
                continue
            elif kind == "sound" and self._with_remarks and ":" not in mark[0][-2:]:
                within = data, mark.start() + 1, end - 1
                words, _ = spans_between(*within, self._marks(*within), instead=self._in_remark)
                remarks += [words] if words else []
            before += self._instead_of(mark)
        return [line for line in lines if line], remarks, before

    def _in_remark(self, mark: re.Match[str]) -> str:
        return self._instead_of(mark).replace("\n", " ")

    def _instead_of(self, mark: re.Match[str]) -> str:
        """Return what stands for a mark in the running text."""
        kind = mark.lastgroup
        if kind == "entity":
            character = html.unescape(mark[0])
            return character if character.isprintable() else " " * character.isspace()
        if kind == "tag":
            voice = _voice(mark[0])
            breaks = voice is not None and self._is_other(voice[1].strip())
            return "\n" if breaks else " " * mark[0].startswith(("<rt", "</rt"))
        if kind == "sound":
            return "\n" if ":" in mark[0][-2:] and self._is_other(mark[0]) else " "  # a label has a colon
        if kind == "turn":
            self._voice = ""
        return {"music": "\n", "turn": "\n", "override": ""}.get(kind or "", " ")

    def _is_other(self, voice: str) -> bool:
        """Return whether this is another speaker than the last one that was named, or an unknown one (empty)."""
        before, self._voice = self._voice, voice
        return voice != before or not voice

    def _beginning(self, data: str, start: int, end: int, begin: int, last: int) -> tuple[int, bool]:
        """Return how many characters at the beginning of the line data[start:end] stay as they are, and whether another
        speaker begins. The cue is data[begin:last]."""
        text = data[start:end]
        if text.lstrip()[:1].islower():
            return 0, _lone_label(text) is not None
        dash = _dash(text)
        skipped, voice = dash.end() if dash else 0, ""
        label = _label(text, skipped)
        if label and any(word[0].islower() for word in label[0].split()):
            label = None
        if label and not (label[0].isupper() and start + label.end() in _capitals(data, begin, last, self._marks)):
            skipped, voice = label.end(), label[0].strip()
        return skipped, bool(dash or label) and (self._is_other(voice) or dash is not None)


def _text(lines: list[list[Span]]) -> str:
    return " ".join(["".join([span.before + span.value for span in line]) for line in lines])


def _is_shout(text: str) -> bool:
    return text.isupper() and 1 < len(text.split()) <= _SHOUT


@lru_cache(1)  # a cue may have many labels
def _capitals(data: str, begin: int, last: int, marks: Callable[..., Iterable[re.Match[str]]]) -> set[int]:
    """Return the offsets from which the words of the cue data[begin:last] are, up to its end, in capitals."""
    words = list(data[begin:last])
    for mark in marks(data, begin, last):
        words[mark.start() - begin : mark.end() - begin] = " " * len(mark[0])
    offsets, n_upper, n_lower = set(), 0, 0
    for i in reversed(range(len(words))):
        n_upper, n_lower = n_upper + words[i].isupper(), n_lower + words[i].islower()
        if are_capitals(n_upper, n_lower):
            offsets.add(begin + i)
    return offsets


def _is_sound(mark: re.Match[str], last: int, starts_line: bool) -> bool:
    """Return whether brackets contain a sound or a remark: square brackets do; round ones do in capitals or at the
    beginning of a line if they contain a few words. last: the end of the cue."""
    if mark[0][0] in "[【":
        return True
    n_words = len(mark[0].split())
    after = mark.string[mark.end() : min(last, mark.end() + 80)].split("\n", 1)[0]
    is_line = starts_line and not after.strip(" \t\r.!?…-")
    return n_words <= (_SOUND_LINE if is_line else _SOUND) and (starts_line or mark[0].isupper())


def joined_cues(cues: Iterable[CueText]) -> tuple[list[Span], list[Copy]]:
    """Return the running text of cues, and the spans that repeat others: lines that a cue repeats from the one before,
    as captions do that roll up, and lines that the next cue continues, as live captions do that grow word by word."""
    cues = list(cues)
    n_upper = sum(cue.in_capitals is True for cue in cues)
    is_upper = mostly_upper = 2 * n_upper > sum(cue.in_capitals is not None for cue in cues)
    begin_with_capital = _begin_with_capital(cues)
    spans: list[Span] = []
    copies: list[Copy] = []
    before = CueText([], [], False, "", None, [])
    breaks = False
    for cue in cues:
        breaks |= cue.breaks
        lines, was_upper = cue.lines, is_upper
        is_upper = was_upper if cue.in_capitals is None else cue.in_capitals
        if not lines or (is_upper and not mostly_upper and _is_shout(_text(lines))):
            is_upper = was_upper
            breaks |= "\n" in cue.after
            continue
        if is_upper:
            lines = [[span._replace(value=upper(span.value)) for span in line] for line in lines]
        n_same, grows = _n_same(before.keys, cue.keys)
        old = before.lines[len(before.lines) - n_same :]
        if grows:
            n_same -= 1
            grows = spans[-len(old[-1]) :] == old[-1]
        if grows:
            del spans[-len(old[-1]) :]
            lines[n_same][0] = lines[n_same][0]._replace(before=old[-1][0].before)
            copies.append(Copy(old[-1], lines[n_same]))
        copies += map(Copy, lines[:n_same], old)
        new = lines[n_same:]
        if new and not grows:
            word = _first_word(_text(new)) if begin_with_capital else None
            breaks |= is_upper != was_upper or (word is not None and word[0][0].isupper())
            characters = "\n" if breaks or "\n" in new[0][0].before else f" {new[0][0].before.lstrip()}"
            after = before.after.split("\n")[0].rstrip()
            new[0][0] = new[0][0]._replace(before=after + characters if spans else "")
        spans += chain.from_iterable(new)
        breaks = "\n" in cue.after or (breaks and not new)
        before = cue._replace(lines=lines)
    return spans, copies


def _begin_with_capital(cues: list[CueText]) -> bool:
    """Return whether cues begin with a capital even where the cue before does not end a sentence."""
    n = n_starts = 0
    ended = True
    for cue in cues:
        if cue.lines and cue.in_capitals is False:
            text = _text(cue.lines)
            word = _first_word(text)
            if not ended and word and word[0] != "I" and not word[0].startswith(("I'", "I’")):
                n += 1
                n_starts += word[0][0].isupper()
            ended = text.rstrip(CLOSES + " \r\n")[-1:] in ENDS
    return n >= _LEAST_STARTS and n_starts >= _CAPITAL_STARTS * n


def _n_same(before: list[str], lines: list[str]) -> tuple[int, bool]:
    """Return how many lines at the beginning of a cue repeat those at the end of the cue before; and whether the last
    of these has more words."""
    if not any(lines[0].startswith(line) for line in before):
        return 0, False
    for n in range(min(len(lines), len(before), _MOST_SAME), 0, -1):
        if lines[: n - 1] == before[-n:-1] or n == 1:
            if lines[n - 1] == before[-1]:
                return n, False
            if lines[n - 1].startswith(f"{before[-1]} "):
                return n, True
    return 0, False
