"""Frequent: the most frequent wrong words of a text of any length.

In: wrong words, one after the other. Out: the most frequent of them, with their counts and some contexts. Memory is
bounded, by lossy counting (Manku & Motwani 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

_PAIRS = 1 << 16  # different wrong words that are counted at once


class Context(NamedTuple):
    """A wrong word in the reference's text."""

    before: str
    word: str
    after: str


class Pair(NamedTuple):
    """A wrong word: its kind (an index into the analysis's `kinds`), the reference's form and the hypothesis's."""

    kind: int
    reference: str
    hypothesis: str


@dataclass
class Wrong:
    """How often a wrong word was seen, how often it may have been missed before, and its first contexts."""

    count: int
    missed: int
    contexts: list[Context]


class Frequent:
    """The most frequent wrong words, in bounded memory, by lossy counting (Manku & Motwani 2002).

    Exact as long as there are no more different ones than `capacity`. After that, a count may be too low, by
    `missed` at most, and words that are not listed occur no more often than that.
    """

    def __init__(self, capacity: int = _PAIRS) -> None:
        self.capacity = capacity
        self.missed = 0
        self.entries: dict[Pair, Wrong] = {}

    def add(self, pair: Pair) -> Wrong:
        """Counts a wrong word once more."""
        entry = self.entries.get(pair)
        if entry is None:
            if len(self.entries) >= self.capacity:
                self._forget()
            entry = self.entries[pair] = Wrong(0, self.missed, [])
        entry.count += 1
        return entry

    def _forget(self) -> None:
        """The rarer half."""
        most = sorted(entry.count + entry.missed for entry in self.entries.values())
        self.missed = most[len(most) // 2]
        self.entries = {pair: entry for pair, entry in self.entries.items() if entry.count + entry.missed > self.missed}

    def top(self, n: int) -> list[tuple[Pair, Wrong]]:
        """The n most frequent, the most frequent first."""
        return sorted(self.entries.items(), key=lambda item: (-item[1].count, item[0]))[:n]
