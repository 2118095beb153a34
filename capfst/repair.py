"""Repair a text: restore case and marks where it has lost them, and change nothing else.

In: a text with stretches that have lost their case, and maybe their marks, as recognizers write them for minutes when
they lose the thread. Out: the same with these repaired. All of the text is written by the model, first to find the
stretches (casing/stretches.py), then again with marks in these alone, whose words replace those of the text.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from capfst.casing.stretches import CASELESS, KEPT, LOST_MARKS, Observed, find, observe
from capfst.casing.types import Words
from capfst.casing.written import SHAPE, written_shapes
from capfst.io.protocol import Stretch
from capfst.text.tokenizer import MARKS, NEWLINE

_SHOWN = 80  # bytes, of which the first words are shown

Buffer = npt.NDArray[np.uint8]


class Repaired(NamedTuple):
    given: Buffer
    """The text as it was, with the marks that it has got."""
    text: Buffer
    stretches: list[Stretch]
    """Those that were repaired."""
    spans: list[tuple[int, int]]
    """The bytes of the text, as it was, of each of them, up to the end."""


class Writer(Protocol):
    """Writes a text as if it had no case: a Pipeline, whose methods these are."""

    def marks(self, buf: Buffer) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]: ...
    def recase(self, buf: Buffer) -> tuple[Words, memoryview]: ...
    def tokens(self, buf: Buffer) -> Words: ...
    @property
    def pretokenized(self) -> bool: ...


class _Written(NamedTuple):
    """A text with inserted marks, and the same as the model writes it."""

    buf: Buffer
    words: Words
    places: npt.NDArray[np.int64]  # of the inserted marks
    recased: Buffer
    starts: npt.NDArray[np.int64]  # of each word in `recased`; −1 in a line that has other words there
    ends: npt.NDArray[np.int64]
    observed: Observed

    @classmethod
    def of(cls, writer: Writer, buf: Buffer, offsets: npt.NDArray[np.int64], marks: npt.NDArray[np.uint8]) -> _Written:
        full = np.insert(buf, offsets, marks)
        places = offsets + np.arange(len(offsets))
        inserted = np.zeros(len(full), np.bool_)
        inserted[places] = True
        words, written = writer.recase(full)
        recased = np.frombuffer(written, np.uint8)
        tokens = writer.tokens(recased)
        own, others = _same_lines(words, tokens)
        starts, ends = np.full((2, len(words.starts)), -1)
        starts[own], ends[own] = tokens.starts[others], tokens.ends[others]
        modelled = np.zeros(len(words.starts), np.uint8)
        modelled[own] = written_shapes(recased, tokens, writer.pretokenized)[others] & SHAPE
        return cls(
            full, words, places, recased, starts, ends, observe(full, words, inserted, modelled, writer.pretokenized)
        )


def _same_lines(words: Words, tokens: Words) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the words of the lines that have as many words in both, as indices of both."""
    lines = [np.cumsum(each.token_types == NEWLINE) - (each.token_types == NEWLINE) for each in (words, tokens)]
    n = 1 + max(int(each[-1]) if each.size else 0 for each in lines)
    same = np.equal(*(np.bincount(each, minlength=n) for each in lines))
    own, others = (np.flatnonzero(same[each]) for each in lines)
    return own, others


def repaired(writer: Writer, buf: Buffer) -> Repaired:
    """Repair the stretches of a text that have lost their case."""
    offsets, marks = writer.marks(buf)
    text = _Written.of(writer, buf, offsets, marks)
    states = find(text.observed)
    if not states.any():
        return Repaired(buf, buf, [], [])
    words_before = np.searchsorted(text.words.starts[text.observed.words], text.places) - 1
    has_lost = np.isin(states, LOST_MARKS)[words_before]
    if not has_lost.all():
        text = _Written.of(writer, buf, offsets[has_lost], marks[has_lost])
        if len(text.observed.words) != len(states):  # a mark had changed what a word is
            states = find(text.observed)
    states[text.starts[text.observed.words] < 0] = KEPT
    edges = np.flatnonzero(np.diff(states != KEPT, prepend=False, append=False))
    given, parts, stretches, spans, done = [], [], [], [], 0
    lines = np.cumsum(text.words.token_types == NEWLINE)
    has_case = text.observed.written != CASELESS
    for first, after in edges.reshape(-1, 2).tolist():
        within = first + np.flatnonzero(has_case[first:after])
        if not within.size:  # numbers between lines that cannot be compared
            continue
        first, after = int(within[0]), int(within[-1]) + 1
        begin, last = int(text.observed.words[first]), int(text.observed.words[after - 1])
        end = int(text.words.ends[last])
        k = int(np.searchsorted(text.places, end))
        if k < len(text.places) and text.places[k] <= _end_of_marks(text.words, last):
            end = int(text.places[k]) + 1  # the mark after the last word
        while last + 1 < len(text.words.starts) and text.words.ends[last + 1] <= end:
            last += 1
        begins = int(text.words.starts[begin])
        start = begins - int(np.searchsorted(text.places, begins))
        given += [buf[done:start], text.buf[begins : text.words.ends[last]]]
        parts += [buf[done:start], text.recased[text.starts[begin] : text.ends[last]]]
        done = end - int(np.searchsorted(text.places, end))
        words = buf[start : start + _SHOWN].tobytes().decode("utf-8", "ignore").split()
        stretches.append(Stretch(int(lines[begin]), len(within), " ".join(words[:4])))
        spans.append((start, done))
    rest = buf[done:]
    return Repaired(np.concatenate([*given, rest]), np.concatenate([*parts, rest]), stretches, spans)


def _end_of_marks(words: Words, i: int) -> int:
    while i + 1 < len(words.starts) and words.token_types[i + 1] == MARKS:
        i += 1
    return int(words.ends[i])
