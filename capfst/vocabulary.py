"""Tokens → ids, and in the end ids → labels: the vocabulary of a corpus.

In: blocks of whole lines, in any number of threads. Each `Interner` gives the words of its blocks ids in order of
appearance and returns every block as a stream of ids. Out: `Vocabulary`, the surface forms sorted by (lowercase form,
−count, form), and the streams as labels, a 0 after each line.

A hyphenated word stands in a stream as a whole and in parts; `settle` keeps one of the two, once the whole corpus is
known. Sorting makes labels independent of the order of blocks, threads and hashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.characters import INFO, lower_bytes
from capfst.tokenize import COMPOUND, NEWLINE, canonical, capacity, scan, scan_spaced

UNKNOWN = b"<unk>"
RESERVED = (b"<epsilon>", b"<s>", b"</s>")
COMPOUND_COUNT = 2
"""A hyphenated word is a word of its own from this count of its lowercase form on; a single occurrence teaches more
in parts."""

_COMPOUND_BIT = np.uint32(1 << 31)
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
            while i + parts < last and ends[i + parts] <= ends[i] and kinds[i + parts] != NEWLINE:
                parts += 1
            stream[written] = word | _COMPOUND_BIT
            stream[written + 1] = parts - 1
            written += 2
        else:
            stream[written] = word
            written += 1
        i += 1
    return i, written, n


class Interner:
    """Gives words ids (1, 2, …); one for each thread."""

    def __init__(self) -> None:
        self.size = 0
        self.slots = np.zeros(1 << 16, np.uint64)
        self.offsets = np.zeros(1 << 15, np.int64)
        self.data = np.empty(1 << 18, np.uint8)
        self._tokens: tuple[np.ndarray, ...] = ()

    def words(self) -> list[bytes]:
        """The words by id − 1."""
        data = self.data[: self.offsets[self.size]].tobytes()
        bounds = self.offsets[: self.size + 1].tolist()
        return [data[a:b] for a, b in pairwise(bounds)]

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
        longest = int((ends[:n] - starts[:n]).max(initial=8))
        scratch = np.empty(longest, np.uint8)
        stream = np.empty(2 * n, np.uint32)
        done = written = 0
        while done < n:
            done, more, self.size = _intern(
                buf, starts, ends, kinds, done, n, pretokenized,
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


@njit(cache=True, nogil=True)
def _settle(stream, kept, counts):  # type: ignore[no-untyped-def]
    """In place: each compound becomes itself (if kept) or its parts; counts what is left. Returns the new length."""
    j = 0
    i = 0
    while i < stream.size:
        word = stream[i]
        if word & _COMPOUND_BIT:
            word &= ~_COMPOUND_BIT
            parts = np.int64(stream[i + 1])
            i += 2
            if not kept[word]:
                continue
            i += parts
        else:
            i += 1
        counts[word] += 1
        stream[j] = word
        j += 1
    return j


@njit(cache=True, nogil=True)
def _count_compounds(stream, counts):  # type: ignore[no-untyped-def]
    i = 0
    while i < stream.size:
        if stream[i] & _COMPOUND_BIT:
            counts[stream[i] & ~_COMPOUND_BIT] += 1
            i += 2 + np.int64(stream[i + 1])
        else:
            i += 1


@njit(cache=True, nogil=True)
def _relabel(stream, labels):  # type: ignore[no-untyped-def]
    for i in range(stream.size):
        stream[i] = labels[stream[i]]


class Vocabulary(NamedTuple):
    """Surface forms by label − 1, their counts int64[V], and the label of `<unk>`."""

    forms: list[bytes]
    counts: npt.NDArray[np.int64]
    unknown: int


def settle(
    interners: list[Interner], streams: list[tuple[int, npt.NDArray[np.uint32]]]
) -> tuple[Vocabulary, list[npt.NDArray[np.uint32]]]:
    """The vocabulary of all streams, each given as (number of its interner, ids), and the streams as labels, changed
    in place."""
    ids: dict[bytes, int] = {}
    numbers = []  # of each interner: its ids → common ids
    for interner in interners:
        numbers.append(np.array([0, *(ids.setdefault(word, len(ids) + 1) for word in interner.words())], np.uint32))
    words = [b"", *ids]
    lowers = [lower_bytes(word) for word in words]

    compounds = [np.zeros(numbers[k].size, np.int64) for k in range(len(interners))]
    for k, stream in streams:
        _count_compounds(stream, compounds[k])
    totals: dict[bytes, int] = {}
    for k, counted in enumerate(compounds):
        for own in np.flatnonzero(counted):
            lowercase = lowers[numbers[k][own]]
            totals[lowercase] = totals.get(lowercase, 0) + int(counted[own])

    counts = np.zeros(len(words), np.int64)
    settled = []
    own_counts = [np.zeros(number.size, np.int64) for number in numbers]
    kept = [np.zeros(number.size, np.bool_) for number in numbers]
    for k, counted in enumerate(compounds):
        for own in np.flatnonzero(counted):
            kept[k][own] = totals[lowers[numbers[k][own]]] >= COMPOUND_COUNT
    for k, stream in streams:
        settled.append((k, stream[: _settle(stream, kept[k], own_counts[k])]))
    for number, own in zip(numbers, own_counts, strict=True):
        np.add.at(counts, number, own)
    counts[0] = 0

    counts_of = counts.tolist()
    present = [i for i in range(1, len(words)) if counts_of[i]]
    if UNKNOWN not in ids or not counts_of[ids[UNKNOWN]]:
        present.append(len(words))
        words.append(UNKNOWN)
        lowers.append(UNKNOWN)
        counts_of.append(0)
    present.sort(key=lambda i: (lowers[i], -counts_of[i], words[i]))
    labels = np.zeros(len(words), np.uint32)
    labels[present] = np.arange(1, len(present) + 1, dtype=np.uint32)
    for number in numbers:
        number[:] = labels[number]
    for k, stream in settled:
        _relabel(stream, numbers[k])
    forms = [words[i] for i in present]
    vocabulary = Vocabulary(forms, np.array([counts_of[i] for i in present], np.int64), forms.index(UNKNOWN) + 1)
    return vocabulary, [stream for _, stream in settled]


def reserved(words: Iterable[bytes]) -> bytes | None:
    """A word that a tokenised corpus may not hold, if there is one."""
    return next((word for word in words if word in RESERVED), None)
