"""Count the most frequent wrong words of a text of any length, in bounded memory.

This is the lossy counting of Manku & Motwani (2002, §4.2), with a bound on the number of entries, not on the error.

In: wrong words, one by one. Out: the most frequent ones, with their counts and some excerpts of the text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

_CAPACITY = 1 << 16  # different wrong words counted at once


class Excerpt(NamedTuple):
    """A wrong word in the reference's text."""

    before: str
    word: str
    after: str


class WrongWord(NamedTuple):
    """A wrong word: its kind, an index into `ErrorAnalysis.kinds`, and its forms in both texts."""

    kind: int
    reference: str
    hypothesis: str


@dataclass
class Occurrences:
    """The occurrences of a wrong word."""

    count: int
    missed: int  # upper bound of the occurrences that were not counted: Δ of the paper
    excerpts: list[Excerpt]  # of the first occurrences


@dataclass
class LossyCounter:
    """Counter of wrong words.

    Counts are exact for up to `capacity` different words. With more, a count may be too low by at most `missed`, and
    words without an entry occur at most `missed` times.
    """

    capacity: int = _CAPACITY
    missed: int = 0
    entries: dict[WrongWord, Occurrences] = field(default_factory=dict)

    def add(self, word: WrongWord) -> Occurrences:
        """Count one more occurrence of a wrong word, and return its entry."""
        entry = self.entries.get(word)
        if entry is None:
            if len(self.entries) >= self.capacity:
                self._forget()
            entry = self.entries[word] = Occurrences(0, self.missed, [])
        entry.count += 1
        return entry

    def _forget(self) -> None:
        """Drop entries that are no more frequent than the median: half of them, or more if many are equal to it."""
        highest = sorted(entry.count + entry.missed for entry in self.entries.values())
        self.missed = highest[len(highest) // 2]
        self.entries = {word: entry for word, entry in self.entries.items() if entry.count + entry.missed > self.missed}

    def top(self, n: int) -> list[tuple[WrongWord, Occurrences]]:
        """Return the n most frequent wrong words, in descending order of frequency."""
        return sorted(self.entries.items(), key=lambda item: (-item[1].count, item[0]))[:n]
