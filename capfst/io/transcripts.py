"""JSON of speech recognizers: texts and the words with their times, which get the same case.

`grammars/transcripts.tsv` lists the paths
(json_paths.py) of each recognizer: the first that the file has is the running text, and the others follow it, word by
word. A sentence continues over the items of an array; another speaker, channel or alternative begins a new line of the
running text. The pauses in it are those between words with times, in seconds, milliseconds or ticks of 100 ns.
Alternatives with scores can be put in another order (`Transcript.cost`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from math import inf, isfinite, isnan, log, nan
from operator import attrgetter
from pathlib import Path as File
from statistics import median
from typing import NamedTuple

from capfst.exceptions import CorpusError
from capfst.io.json_paths import Step, as_text, find_texts, steps, tree
from capfst.io.json_records import JsonItems, after_beginning, escape, unescape
from capfst.io.protocol import TextOptions
from capfst.io.running_text import Copy, RunningText, Span, Times, apart_in_capitals, letters_of
from capfst.io.text_file import FormatError, Part, SpeechFile
from capfst.text.facts import rows

PRESETS: dict[str, list[str]] = {}
"""For each recognizer, the paths of its texts and words; texts with marks and speakers first."""
_ARE_PROBABILITIES: dict[tuple[Step, ...], bool] = {}
"""For the texts of alternatives with scores: whether these are probabilities, or else logarithms."""
for _recognizer, _path, *_scores in rows("transcripts.tsv"):
    PRESETS.setdefault(_recognizer, []).append(_path)
    _ARE_PROBABILITIES |= {tuple(steps(_path)): kind == "probability" for kind in _scores}

_APART = frozenset(["channels", "alternatives", "hypotheses", "nbest", "combinedrecognizedphrases", "combinedphrases"])
"""Arrays, in lower case, whose items are not consecutive."""
_SPEAKER, _BEGIN, _END, _DURATION, _SCORE = range(5)
_KINDS = {
    **dict.fromkeys(["speaker", "speakerlabel", "speakertag", "speakerid", "channel", "channeltag"], _SPEAKER),
    **dict.fromkeys(["start", "starttime", "startoffset", "ts", "offset", "offsetinticks"], _BEGIN),
    **dict.fromkeys(["end", "endtime", "endoffset", "endts"], _END),
    **dict.fromkeys(["duration", "durationinticks", "length"], _DURATION),
    **dict.fromkeys(["confidence", "likelihood", "score", "avglogprob"], _SCORE),
}
"""What members tell of an object, by their names in lower case and without `_`."""
_UNITS = (1, 1e-3, 1e-7)  # of times, in seconds
_LONG = 60  # seconds: more than most words or segments last
_DEEPEST = 32  # steps of a path that are kept: no text is deeper
_CHANCE = 20  # letters that no other field has by chance
_CAPTION = "utf8"  # YouTube's text of captions, whose lines are wrapped
_MARKS = tuple(",.?!;:…。，、？！")
_special = re.compile(r"\s*(?:\[_[A-Z0-9_]+\]|<\|[^|]*\|>)\s*").fullmatch  # tokens of Whisper that are not text
_sound = re.compile(r"\s*\[[^\[\]]*\]\s*").fullmatch
_white = re.compile(r"\s")
_wrapped = re.compile(r"\n(?!\s*(?:[-–]|>>))").sub  # not before another speaker
_tokens = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|[\[\]{},:]|[^\[\]{},:"\s]+').finditer

Path = tuple[Step, ...]


class _Value:
    """An object or array that contains the strings that are being read."""

    __slots__ = ("apart", "end", "index", "is_array", "known", "name", "parent", "path", "start")

    def __init__(self, parent: _Value | None, is_array: bool, start: int) -> None:
        self.parent, self.is_array = parent, is_array
        self.start = self.end = start  # with brackets; the end is known after it
        self.name: str | None = None  # of the current member of an object
        self.index: int = 0  # of the current item of an array
        self.known: dict[int, str] = {}  # by _KINDS
        self.path: Path = () if parent is None else (*parent.path[:_DEEPEST], parent.name)
        self.apart: tuple[int, ...] = ()  # indices in arrays whose items are not consecutive
        if parent is not None:
            is_apart = parent.is_array and bool(parent.path) and str(parent.path[-1]).lower() in _APART
            self.apart = (*parent.apart[:_DEEPEST], parent.index) if is_apart else parent.apart

    @property
    def speaker(self) -> str | None:
        """The speaker that it names, or else one that it is in."""
        own = self.known.get(_SPEAKER)
        return own if own is not None or self.parent is None else self.parent.speaker

    @property
    def times(self) -> tuple[float, float] | None:
        """Its begin and end, in the unit of the file; those of the object of which it is an alternative."""
        if _BEGIN not in self.known and self.parent is not None and self.parent.path[-1:] == ("alternatives",):
            return self.parent.parent.times if self.parent.parent else None
        begin, end, length = (_number(self.known.get(kind, "")) for kind in (_BEGIN, _END, _DURATION))
        end = begin + length if isnan(end) else end
        return (begin, end) if isfinite(end - begin) else None


def _number(text: str) -> float:
    """Return a number, of which a string may be in seconds (*1.5s*), or nan."""
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        return nan


@lru_cache(1 << 10)
def _kind(name: str | None) -> int | None:
    return _KINDS.get((name or "").lower().replace("_", ""))


class _Text(NamedTuple):
    path: Path
    within: _Value
    start: int  # without quotes
    end: int
    value: str

    @property
    def apart(self) -> tuple[int, ...]:
        """The indices by which texts are apart; partial results, each of which is a hypothesis of its own, all are."""
        return (self.start,) if str(self.path[0]).startswith("partial") else self.within.apart

    @property
    def score(self) -> float:
        """The logarithm of the score of the alternative; −inf if it has none."""
        score = _number(self.within.known.get(_SCORE, ""))
        if _ARE_PROBABILITIES[self.path]:
            score = log(score) if score > 0 else nan
        return score if isfinite(score) else -inf


class Transcript(JsonItems, SpeechFile):
    """The JSON of a recognizer: that of `format`, one of PRESETS, or the one that has most of the paths of the file.
    `field` has paths instead of a preset's, in the same order; only these are recased."""

    _has_begun = _is_known = False

    def __init__(self, path: File, options: TextOptions) -> None:
        super().__init__(path, options)
        given = options.field or PRESETS.get(options.format or "", [])
        self._views = [tuple(steps(field)) for field in given]
        self._follows = not options.field  # whether all other fields with the same words get their case
        self.cost: Callable[[bytes], float] | None = None
        """What is subtracted from the score of an alternative, given its text, before the best ones are put first;
        None: their order stays."""

    def ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        ends = self.record_ends(data, is_first, is_last)
        # The beginning of an array is written only if its items are known.
        return [] if is_first and not is_last and len(ends) == 1 and ends[0] == after_beginning(data) else ends

    def running(self, part: Part) -> RunningText:
        data, begin = part.data, 0 if self._has_begun else after_beginning(part.data)
        self._has_begun = True
        texts = list(_texts(data, begin))
        n_items = sum(data.startswith("{", end) for end in {begin, *part.ends})
        if not self._is_known and data[begin:].strip("] \t\r\n"):
            self._views = self._views or _detected(texts)
            self._is_known = any(text.path in self._views for text in texts)
            if not (self._is_known or self._is_silent(data, begin)):
                raise CorpusError(self._unknown(texts))
        if self.cost:
            data = self._rescored(data, texts, self.cost)
            texts = list(_texts(data, begin))
        return self._running(data, texts, n_items)

    def _is_silent(self, data: str, begin: int) -> bool:
        """Return whether arrays of the item that begins there, or null, have the place of texts: nobody spoke."""
        for path in self._views:
            with suppress(FormatError):
                find_texts(data, begin, tree((as_text(path),)))
                return True
        return False

    def _unknown(self, texts: list[_Text]) -> str:
        found = ", ".join(dict.fromkeys(as_text(text.path) for text in texts))[:200] or "none"
        return (
            f"{self.path}: not of a recognizer that capfst knows ({', '.join(PRESETS)}). Use `format='transcript'`, and"
            f" `field` with the paths of its texts or words: {found}."
        )

    def _rescored(self, data: str, texts: list[_Text], cost: Callable[[bytes], float]) -> str:
        """Return a block in which the alternatives of each array that all have scores are in the order of these."""
        arrays: dict[_Value | None, dict[_Value, _Text]] = {}
        for text in texts:
            if text.path in self._views and text.path in _ARE_PROBABILITIES:
                arrays.setdefault(text.within.parent, {}).setdefault(text.within, text)
        parts, end = [], 0
        for array, found in arrays.items():
            if not array or len(found) <= array.index or any(text.score == -inf for text in found.values()):
                continue
            costs = {
                item: cost(text.value.encode("utf-8", "surrogatepass")) - text.score for item, text in found.items()
            }
            for item, best in zip(found, sorted(found, key=lambda item: costs[item]), strict=True):
                parts += [data[end : item.start], data[best.start : best.end]]
                end = item.end
        return "".join([*parts, data[end:]])

    def _running(self, data: str, texts: list[_Text], n_items: int) -> RunningText:
        """Return the running text of a block, given its strings."""
        views: dict[Path, list[_Text]] = {path: [] for path in self._views}
        for text in texts:
            is_sound = text.path[-1] == _CAPTION and _sound(text.value)
            if text.value and not (is_sound or _special(text.value)):
                views.setdefault(text.path, []).append(text)
        first, *others = list(filter(None, [_spans(views[path]) for path in self._views])) or [[]]
        spans, copies = list(first), []
        letters = _letters(first)
        for other in others:
            if _letters(other) != letters:  # words that only it has need a context
                spans += [other[0]._replace(before="\n"), *other[1:]]
                other[0] = other[0]._replace(before="\n")
            copies.append(Copy(other, first))
        if self._follows and len(letters) > _CHANCE:
            more = [_spans(found) for path, found in views.items() if path not in self._views]
            copies += [Copy(other, first) for other in more if _letters(other) == letters]
        return RunningText(data, spans, copies, _escaped, n_items, times=partial(_times, [*views.values()]))


def _escaped(old: str, recased: str) -> str:
    """Return the characters of a recased string, with the escapes and the white space of the old one."""
    if "\\n" in old:
        spaces = iter(_white.findall(unescape(old)))
        recased = _white.sub(lambda _: next(spaces), recased)
    return escape(old, recased)


def _letters(spans: list[Span]) -> str:
    return letters_of("".join([span.value for span in spans]))


def _texts(data: str, start: int) -> Iterator[_Text]:
    """Yield the strings of the JSON values that begin at `start`; the last one may be incomplete, and is left out."""
    value: _Value | None = None
    is_name = False  # whether the next string is the name of a member
    for token in _tokens(data, start):
        mark = token[0][0]
        if mark in "{[":
            value, is_name = _Value(value, mark == "[", token.start()), mark == "{"
        elif value is None or mark == ":":
            is_name = False
        elif mark in "}]":
            value.end = token.end()
            value = value.parent
        elif mark == '"' and not (len(token[0]) > 1 and token[0][-1] == '"'):
            return
        elif mark == ",":
            is_name = not value.is_array
            value.index += 1
        elif is_name:
            value.name = unescape(token[0][1:-1])
        else:
            text = token[0] if mark != '"' else unescape(token[0][1:-1])
            if (kind := _kind(value.name)) is not None:
                value.known[kind] = text
            if mark == '"':
                yield _Text((*value.path, value.name), value, token.start() + 1, token.end() - 1, text)


def is_transcript(data: str) -> bool:
    """Return whether a file that begins so is the JSON of a recognizer."""
    start = len(data) - len(data.lstrip("\ufeff \t\r\n"))
    is_array = data.startswith("[", start)
    return bool(_detected([*_texts(data, start + is_array)], is_array))


def _detected(texts: list[_Text], is_array: bool = True) -> list[Path]:
    """Return the paths of the preset that has most of those of a file, and some of them in arrays, or with times if the
    file is one; or none."""
    paths = {text.path for text in texts}
    views = [[tuple(steps(path)) for path in preset] for preset in PRESETS.values()]
    best = max(views, key=lambda view: len(paths.intersection(view)))
    found = paths.intersection(best)
    # Strings in an array may be anything, unless the text is there, too.
    are_in_arrays = any(None in path[:-1] or (None in path and len(found) > 1) for path in found)
    have_times = is_array and any(text.within.times for text in texts if text.path in found)
    return best if are_in_arrays or have_times else []


def _spans(texts: list[_Text]) -> list[Span]:
    """Return the spans of the texts of a path. They are joined by spaces; but if some have spaces of their own, those
    of an array are not, and marks never are."""
    texts = sorted(texts, key=attrgetter("apart"))
    has_spaces = any(text.value[0].isspace() for text in texts[1:])
    spans: list[Span] = []
    last: _Text | None = None
    is_spaced = False  # whether white space is between the last text and the next one
    for text in texts:
        if not text.value.strip():
            is_spaced = True
            continue
        before = ""
        if last is not None:
            continues = (text.apart, text.within.speaker) == (last.apart, last.within.speaker)
            continues &= not (text.path[-1] == _CAPTION and text.value.lstrip().startswith(">>"))  # another speaker
            is_part = has_spaces and _array_of(text) is _array_of(last) and not is_spaced
            has_one = text.value[0].isspace() or last.value[-1].isspace() or text.value in _MARKS
            before = ("" if is_part or has_one else " ") if continues else "\n"
        value = _wrapped(" ", text.value) if text.path[-1] == _CAPTION else text.value
        spans.append(Span(text.start, text.end, value, before))
        last, is_spaced = text, False
    return apart_in_capitals(spans)


def _array_of(text: _Text) -> _Value | None:
    """Return the array in which the text, or its object, is an item."""
    return text.within if text.within.is_array else text.within.parent


def _times(views: Iterable[list[_Text]]) -> Times:
    """Return the times of texts, given those of each path."""
    times: Times = {}
    for texts in views:
        found = {text.start: both for text in texts if (both := text.within.times)}
        typical = median([end - begin for begin, end in found.values()] or [0])
        unit = next((unit for unit in _UNITS if typical * unit < _LONG), 0)
        times |= {start: (begin * unit, end * unit) for start, (begin, end) in found.items()}
    return times
