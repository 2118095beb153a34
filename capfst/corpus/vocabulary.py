"""Ids → labels: the vocabulary of a corpus.

In: the streams of ids that several interners made of a corpus (intern.py), in order. Out: `Vocabulary`, the surface
forms sorted by (lowercase form, −count), of equally frequent ones the lower-case one first, and the corpus as labels,
a 0 after each line. So labels depend on neither the order of blocks, nor threads, nor hashes. A word that is cut
becomes `<unk>`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.corpus.intern import COMPOUND_BIT, Interner
from capfst.errors import CapfstError
from capfst.fst.symbols import EPSILON, UNKNOWN, Symbols
from capfst.system.buckets import Store
from capfst.text.tokenizer import WORD
from capfst.text.unicode import INFO, TO_LOWER, lower_into

RESERVED = (EPSILON, "<s>", "</s>")
COMPOUND_COUNT = 2
"""A hyphenated word is a word of its own if its lowercase form occurs as often; else it teaches more in its parts."""


Tally = Callable[[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]], object]
"""(interner's number, stream, counts): adds the stream's to the counts; the stream may be overwritten."""
Label = Callable[[int, npt.NDArray[np.uint32]], npt.NDArray[np.uint32]]
"""(interner's number, stream) → its labels."""


class Corpus(Protocol):
    """The streams of a corpus, wherever they are: in a file (`Streams`) or on Spark (spark_corpus.py)."""

    def count(self, tally: Tally, size: int) -> npt.NDArray[np.int64]: ...

    def rewrite(self, label: Label) -> Any: ...


class Streams:
    """The streams of a corpus, in a temporary file: as ids, then rewritten as labels."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.file = store.open()
        self.places: list[tuple[int, int]] = []  # of each stream: its interner's number, its length
        self.size = 0
        self.ends: list[int] = []  # of each stream, in the labels

    def append(self, interner: int, stream: npt.NDArray[np.uint32]) -> None:
        self.store.write(self.file, stream, 4 * self.size)
        self.places.append((interner, stream.size))
        self.size += stream.size

    def __iter__(self) -> Iterator[tuple[int, npt.NDArray[np.uint32]]]:
        at = 0
        for interner, size in self.places:
            stream = np.empty(size, np.uint32)
            view = stream.view(np.uint8).data
            done = 0
            while done < len(view):
                read = os.preadv(self.file, [view[done:]], 4 * at + done)
                if not read:
                    raise CapfstError("temporary data ended early: the disk or another program damaged it")
                done += read
            yield interner, stream
            at += size

    def count(self, tally: Tally, size: int) -> npt.NDArray[np.int64]:
        """What `tally` adds up over all streams, int64[size]."""
        counts = np.zeros(size, np.int64)
        for interner, stream in self:
            tally(interner, stream, counts)
        return counts

    def rewrite(self, label: Label) -> npt.NDArray[np.uint32]:
        """Each stream as `label` gives it, which makes none longer, end to end: mapped from the file."""
        size = 0
        self.ends = []
        for interner, stream in self:
            labels = label(interner, stream)
            self.store.write(self.file, labels, 4 * size)
            size += labels.size
            self.ends.append(size)
        os.ftruncate(self.file, 4 * size)
        with open(self.file, "r+b") as file:
            return np.memmap(file, np.uint32, "r", shape=(size,)) if size else np.zeros(0, np.uint32)


@njit(cache=True, nogil=True)
def _settle(stream, kept, counts):  # type: ignore[no-untyped-def]
    """In place: each compound becomes itself (if kept) or its parts; counts what is left. Returns the new length."""
    j = 0
    i = 0
    while i < stream.size:
        word = stream[i]
        if word & COMPOUND_BIT:
            word &= ~COMPOUND_BIT
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
def relabel(stream, labels):  # type: ignore[no-untyped-def]
    """In place, compounds too."""
    i = 0
    while i < stream.size:
        if stream[i] & COMPOUND_BIT:
            stream[i] = labels[stream[i] & ~COMPOUND_BIT] | COMPOUND_BIT
            i += 2
        else:
            stream[i] = labels[stream[i]]
            i += 1


@njit(cache=True, nogil=True)
def _lowered(data, offsets, info, lower_table, out, ends):  # type: ignore[no-untyped-def]
    size = 0
    for k in range(offsets.size - 1):
        start, end = offsets[k], offsets[k + 1]
        size = lower_into(data, start, end, start, end, out, size, info, lower_table)
        ends[k] = size


@njit(cache=True, nogil=True)
def _prefixes(data, starts, ends, keys):  # type: ignore[no-untyped-def]
    """keys[c, k]: bytes 8c … 8c + 7 of word k as a number, which is in the order of the bytes."""
    for c in range(keys.shape[0]):
        for k in range(starts.size):
            key = np.uint64(0)
            for i in range(starts[k] + 8 * c, starts[k] + 8 * c + 8):
                key = key << np.uint64(8) | np.uint64(data[i] if i < ends[k] else 0)
            keys[c, k] = key


@njit(cache=True, nogil=True)
def _gather(data, starts, ends, order, out):  # type: ignore[no-untyped-def]
    size = 0
    for k in order:
        for i in range(starts[k], ends[k]):
            out[size] = data[i]
            size += 1


def _sort_runs(
    order: npt.NDArray[np.int64], tied: npt.NDArray[np.bool_], key: Callable[[int], Any], reverse: bool = False
) -> None:
    """Sorts runs of `order`; tied[i]: order[i] and order[i + 1] are of one run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
    for start, end in zip(edges[::2].tolist(), (edges[1::2] + 1).tolist(), strict=True):
        order[start:end] = sorted(order[start:end].tolist(), key=key, reverse=reverse)


class _Words:
    """Words as bytes end to end."""

    def __init__(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        self.data, self.starts, self.ends = data, offsets[:-1], offsets[1:]

    def __getitem__(self, k: int | np.integer) -> bytes:
        return self.data[self.starts[k] : self.ends[k]].tobytes()

    def ranks(self) -> npt.NDArray[np.int64]:
        """[k]: the place of word k in the order of the words, which are different."""
        keys = np.empty((2, len(self.starts)), np.uint64)
        _prefixes(self.data, self.starts, self.ends, keys)
        order = np.lexsort(keys[::-1])
        _sort_runs(order, (np.diff(keys[:, order]) == 0).all(0), self.__getitem__)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


class _Settling(NamedTuple):
    """Streams → words of the vocabulary: numbers[k], the common id of each id of the k-th interner; kept, the compounds
    that stay whole. It can be sent to other processes."""

    numbers: list[npt.NDArray[np.uint32]]
    kept: npt.NDArray[np.bool_]

    def tally(self, k: int, stream: npt.NDArray[np.uint32], counts: npt.NDArray[np.int64]) -> int:
        """Counts the words of a stream, which is overwritten with their common ids; how many there are."""
        relabel(stream, self.numbers[k])
        return int(_settle(stream, self.kept, counts))

    def label(self, labels: npt.NDArray[np.uint32], k: int, stream: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """labels: by common id."""
        stream = stream[: self.tally(k, stream, np.zeros(len(self.kept), np.int64))]
        relabel(stream, labels)
        return stream


class Vocabulary(NamedTuple):
    """The symbols of labels 0..V; how often each occurs, int64[V + 1], at 0 the line ends; and the label of `<unk>`."""

    symbols: Symbols
    counts: npt.NDArray[np.int64]
    unknown: int


def settle(
    interners: list[Interner], streams: Corpus, min_count: int = 1, max_words: int | None = None
) -> tuple[Vocabulary, Any]:
    """The vocabulary of the streams that these interners made, and the streams as labels, a 0 after each line: of
    `Streams` an array, uint32[T].

    Words that occur less than `min_count` times become `<unk>`, and all but the `max_words` most frequent ones.
    """
    common = Interner()
    numbers = [common.absorb(interner) for interner in interners]
    unknown = common.add(UNKNOWN.encode())
    words = _Words(*common.text())
    lowers = Interner()
    lower_of = _lower_ids(words, lowers)
    totals = np.bincount(lower_of, common.compounds[1 : common.size + 1])
    kept = np.concatenate([[False], totals[lower_of] >= COMPOUND_COUNT])
    settling = _Settling(numbers, kept)
    counts = streams.count(settling.tally, common.size + 1)
    present = counts >= max(min_count, 1)
    present[[0, unknown]] = False
    _refuse(words, np.flatnonzero(counts) - 1)
    sentences = counts[0]
    lowercase = _Words(*lowers.text())
    ranks = lowercase.ranks()[lower_of - 1]

    def lack_of_case(k: int) -> tuple[bool, bytes]:
        return words[k] == lowercase[lower_of[k] - 1], words[k]

    def in_order(*keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The words that are present by these keys, the last one first; of equal ones the lower-case one first."""
        order = np.flatnonzero(present) - 1
        order = order[np.lexsort([key[order] for key in keys])]
        _sort_runs(order, np.all([np.diff(key[order]) == 0 for key in keys], axis=0), lack_of_case, reverse=True)
        return order

    if max_words is not None:
        present[in_order(ranks, -counts[1:])[max_words:] + 1] = False
    counts[unknown] += counts[1:][~present[1:]].sum() - counts[unknown]
    present[unknown] = True
    order = in_order(-counts[1:], ranks)

    labels = np.zeros(common.size + 1, np.uint32)
    labels[order + 1] = np.arange(1, len(order) + 1)
    labels[1:][~present[1:]] = labels[unknown]
    lengths = words.ends[order] - words.starts[order]
    data = np.empty(len(EPSILON) + int(lengths.sum()), np.uint8)
    data[: len(EPSILON)] = np.frombuffer(EPSILON.encode(), np.uint8)
    _gather(words.data, words.starts, words.ends, order, data[len(EPSILON) :])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([[len(EPSILON)], lengths]))])
    vocabulary = Vocabulary(
        Symbols(data, offsets), np.concatenate([[sentences], counts[order + 1]]), int(labels[unknown])
    )
    return vocabulary, streams.rewrite(partial(settling.label, labels))


def _refuse(words: _Words, present: npt.NDArray[np.int64]) -> None:
    """CapfstError if one of the words has a meaning of its own in the LM."""
    for word in RESERVED:
        for k in np.flatnonzero(words.ends - words.starts == len(word)):
            if words[k].decode() == word and k in present:
                raise CapfstError(f"the corpus has the word {word!r}, which is the LM's own: replace or remove it")


def _lower_ids(words: _Words, lowers: Interner) -> npt.NDArray[np.int64]:
    """[k]: the id in `lowers` of the lowercase form of word k."""
    out, ends = np.empty(words.data.size * 3 // 2 + 8, np.uint8), np.empty(len(words.ends), np.int64)
    _lowered(words.data, np.append(words.starts, words.ends[-1:]), INFO, TO_LOWER, out, ends)
    offsets = np.concatenate([[0], ends])
    return lowers.ids(out, offsets[:-1], offsets[1:], np.full(len(ends), WORD, np.uint8), True).astype(np.int64)
