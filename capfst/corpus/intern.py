"""Tokens → ids, in order of appearance.

In: blocks of whole lines. Out: each block as a stream of ids, 0 at a line's end. A hyphenated word stands in it as a
whole and in parts, (id | 2³¹, number of parts), parts: vocabulary.py keeps one of the two, once the whole corpus is
known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD, canonical, capacity, scan, scan_spaced
from capfst.text.unicode import INFO

COMPOUND_BIT = np.uint32(1 << 31)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _hash(data, start, end):  # type: ignore[no-untyped-def]
    h = np.uint64(end - start)
    for i in range(start, end):
        h = (h ^ np.uint64(data[i])) * _PRIME
        h ^= h >> np.uint64(29)
    return h


@njit(cache=True, nogil=True)
def _find(slots, data, offsets, word, length):  # type: ignore[no-untyped-def]
    """The slot of word[:length]: its own, or the empty one where it belongs. A slot is hash bits << 32 | id + 1."""
    mask = np.uint64(slots.size - 1)
    h = _hash(word, 0, length)
    tag = h >> np.uint64(32)
    at = (h * _PRIME) >> np.uint64(32) & mask
    while True:
        slot = slots[at]
        if slot == 0:
            return at, tag
        if slot >> np.uint64(32) == tag:
            k = np.int64(slot & np.uint64(0xFFFFFFFF)) - 1
            start = offsets[k]
            if offsets[k + 1] - start == length:
                same = True
                for i in range(length):
                    if data[start + i] != word[i]:
                        same = False
                        break
                if same:
                    return at, tag
        at = (at + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def _rehash(slots, data, offsets, n):  # type: ignore[no-untyped-def]
    for k in range(n):
        start, end = offsets[k], offsets[k + 1]
        at, tag = _find(slots, data, offsets, data[start:end], end - start)
        slots[at] = tag << np.uint64(32) | np.uint64(k + 1)


@njit(cache=True, nogil=True)
def _intern(buf, starts, ends, kinds, first, last, plain, slots, data, offsets, n, scratch, stream):  # type: ignore[no-untyped-def]
    """Appends the ids of tokens first..last to `stream`; stops early when a table is full.

    Returns (tokens done, ids written, words known).
    """
    written = 0
    i = first
    while i < last:
        kind = kinds[i]
        if kind == NEWLINE:
            stream[written] = 0
            written += 1
            i += 1
            continue
        if plain:
            length = ends[i] - starts[i]
            scratch[:length] = buf[starts[i] : ends[i]]
        else:
            length = canonical(buf, starts[i], ends[i], kind, scratch)
        if 2 * (n + 1) > slots.size or n + 2 > offsets.size or offsets[n] + length > data.size:
            break
        at, tag = _find(slots, data, offsets, scratch, length)
        if slots[at] == 0:
            data[offsets[n] : offsets[n] + length] = scratch[:length]
            offsets[n + 1] = offsets[n] + length
            n += 1
            slots[at] = tag << np.uint64(32) | np.uint64(n)
        word = np.uint32(slots[at] & np.uint64(0xFFFFFFFF))
        if kind == COMPOUND:
            parts = 1
            while i + parts < last and ends[i + parts] <= ends[i]:
                parts += 1
            stream[written] = word | COMPOUND_BIT
            stream[written + 1] = parts - 1
            written += 2
        else:
            stream[written] = word
            written += 1
        i += 1
    return i, written, n


@njit(cache=True, nogil=True)
def _count_compounds(stream, counts):  # type: ignore[no-untyped-def]
    i = 0
    while i < stream.size:
        if stream[i] & COMPOUND_BIT:
            counts[stream[i] & ~COMPOUND_BIT] += 1
            i += 2 + np.int64(stream[i + 1])
        else:
            i += 1


class Interner:
    """Gives words ids (1, 2, …); one for each thread."""

    def __init__(self) -> None:
        self.size = 0
        self.slots = np.zeros(1 << 16, np.uint64)
        self.offsets = np.zeros(1 << 15, np.int64)
        self.data = np.empty(1 << 18, np.uint8)
        self.compounds = np.zeros(1, np.int64)  # by id: how often a hyphenated word occurred
        self._tokens: tuple[np.ndarray, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tokens": ()}

    def text(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """The words: that of id k is data[offsets[k − 1]:offsets[k]]."""
        return self.data[: self.offsets[self.size]], self.offsets[: self.size + 1]

    def block(self, block: bytes, pretokenized: bool) -> npt.NDArray[np.uint32]:
        """The stream of a block of whole lines: uint32 ids, 0 for a line's end, a compound as (id | 2³¹, number of
        parts), parts."""
        buf = np.frombuffer(block, np.uint8)
        if not self._tokens or self._tokens[0].size < capacity(buf.size):
            self._tokens = tuple(np.empty(capacity(buf.size), t) for t in (np.int64, np.int64, np.uint8))
        starts, ends, kinds = self._tokens
        if pretokenized:
            n = scan_spaced(buf, buf.size, starts, ends, kinds)
        else:
            n = scan(buf, buf.size, INFO, starts, ends, kinds)
        stream = self.ids(buf, starts[:n], ends[:n], kinds[:n], pretokenized)
        if self.compounds.size <= self.size:
            self.compounds = np.concatenate([self.compounds, np.zeros(self.offsets.size, np.int64)])
        _count_compounds(stream, self.compounds)
        return stream

    def add(self, word: bytes) -> int:
        """The id of a word, which is a new one if need be."""
        ends = np.array([len(word)])
        return int(self.ids(np.frombuffer(word, np.uint8), ends - ends, ends, np.full(1, WORD, np.uint8), True)[0])

    def absorb(self, other: Interner) -> npt.NDArray[np.uint32]:
        """Takes over another's words and counts; [k]: the id here of its id k."""
        ids = self.ids_of(other)
        self.compounds = np.concatenate([self.compounds, np.zeros(self.size + 1, np.int64)])
        np.add.at(self.compounds, ids[: other.size + 1], other.compounds[: other.size + 1])
        return ids

    def ids_of(self, other: Interner) -> npt.NDArray[np.uint32]:
        """[k]: the id here of another's id k; new words become known."""
        data, offsets = other.text()
        kinds = np.full(other.size, WORD, np.uint8)
        return np.concatenate([np.zeros(1, np.uint32), self.ids(data, offsets[:-1], offsets[1:], kinds, True)])

    def ids(
        self, buf: npt.NDArray, starts: npt.NDArray, ends: npt.NDArray, kinds: npt.NDArray, plain: bool
    ) -> npt.NDArray[np.uint32]:
        """The stream of these tokens of `buf`; `plain`: as they are, not as the tokenizer's."""
        n = len(starts)
        longest = int((ends - starts).max(initial=8))
        scratch = np.empty(longest, np.uint8)
        stream = np.empty(2 * n, np.uint32)
        done = written = 0
        while done < n:
            done, more, self.size = _intern(
                buf, starts, ends, kinds, done, n, plain,
                self.slots, self.data, self.offsets, self.size, scratch, stream[written:],
            )  # fmt: skip
            written += more
            if done < n:
                self._grow(longest)
        return stream[:written].copy()

    def _grow(self, longest: int) -> None:
        n = self.size
        if n >= (1 << 31) - 2:
            raise OverflowError("more than 2^31 different words")
        if 2 * (n + 1) > self.slots.size:
            self.slots = np.zeros(2 * self.slots.size, np.uint64)
            _rehash(self.slots, self.data, self.offsets, n)
        if n + 2 > self.offsets.size:
            self.offsets = np.resize(self.offsets, 2 * self.offsets.size)
        if self.offsets[n] + longest > self.data.size:
            self.data = np.resize(self.data, 2 * self.data.size + longest)
