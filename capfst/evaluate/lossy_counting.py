"""The most frequent wrong words of a text of any length, in bounded memory.

This is the lossy counting of Manku & Motwani (2002, §4.2), with a bound on the number of entries, not on the error.

In: wrong words, one after the other. Out: the most frequent ones, with their counts and some excerpts of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

_CAPACITY = 1 << 16  # different wrong words that are counted at once


class Excerpt(NamedTuple):
    """A wrong word in the reference's text."""

    before: str
    word: str
    after: str


class WrongWord(NamedTuple):
    """A wrong word: its kind (an index into the analysis's `kinds`), and both texts' forms of it."""

    kind: int
    reference: str
    hypothesis: str


@dataclass
class Occurrences:
    """Of a wrong word."""

    count: int
    missed: int  # at most so many were not counted: Δ of the paper
    excerpts: list[Excerpt]  # the first ones


class LossyCounter:
    """Counts wrong words. Exact as long as there are no more different ones than `capacity`; after that, a count may be
    too low by `missed` at most, and words that are not listed occur no more often than that."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self.capacity = capacity
        self.missed = 0
        self.entries: dict[WrongWord, Occurrences] = {}

    def add(self, word: WrongWord) -> Occurrences:
        """Counts a wrong word once more."""
        entry = self.entries.get(word)
        if entry is None:
            if len(self.entries) >= self.capacity:
                self._forget()
            entry = self.entries[word] = Occurrences(0, self.missed, [])
        entry.count += 1
        return entry

    def _forget(self) -> None:
        """Drops what is not more frequent than the median: half of the entries, or more if many are as frequent."""
        highest = sorted(entry.count + entry.missed for entry in self.entries.values())
        self.missed = highest[len(highest) // 2]
        self.entries = {word: entry for word, entry in self.entries.items() if entry.count + entry.missed > self.missed}

    def top(self, n: int) -> list[tuple[WrongWord, Occurrences]]:
        """The n most frequent, the most frequent first."""
        return sorted(self.entries.items(), key=lambda item: (-item[1].count, item[0]))[:n]
