"""Praat's TextGrid, long and short: tiers of intervals or points that have text.

In: the file. Out: its running text (running_text.py): a sentence continues over the intervals of a tier, and another
tier begins a new line. A tier with the words of an earlier one follows it word by word. Names of tiers, times and tiers
of sounds (*phones*) stay. As in Praat, only strings count, and numbers, which are not read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from capfst.io.running_text import Copy, RunningText, Span, apart_in_capitals, letters_of, spans_between
from capfst.io.text_file import Part, SpeechFile

_strings = re.compile(r'(?:(?<!\w)([A-Za-z]{1,8})[ \t]{0,9}=[ \t]{0,9})?"([^"]*(?:""[^"]*)*)"').finditer
_quotes = re.compile('""').finditer
_TIERS = ("IntervalTier", "TextTier")
_sounds = re.compile(r"(?i)phon(?:es?|em|et|o)|\bMAU\b|segm|syll|tone|pitch|break|ipa\b|sampa").search


class TextGrid(SpeechFile):
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
            letters = letters_of("".join([span.value for span in tier]))
            if letters in known:
                copies.append(Copy(tier, known[letters]))
                continue
            known[letters] = tier
            if spans:
                tier[0] = tier[0]._replace(before="\n")
            spans += tier
        return RunningText(part.data, spans, copies, records=sum(map(len, tiers)))


def _tiers(data: str) -> Iterator[list[Span]]:
    """Yield the texts of each tier."""
    tier: list[Span] = []
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
            quotes = _quotes(data, *string.span(2))
            tier += spans_between(data, *string.span(2), quotes, " " if tier else "", lambda quote: '"')
    yield tier
