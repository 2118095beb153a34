"""Ids → labels: the vocabulary of a corpus.

In: the streams of ids that several interners made of a corpus (intern.py), in order. Out: `Vocabulary`, the surface
forms sorted by (lowercase form, −count), of equally frequent ones the lower-case one first, and the corpus as labels,
a 0 after each sentence. So labels depend on neither the order of blocks, nor threads, nor hashes. `restricted` leaves
out rare words, which become `<unk>`.

A line may hold several sentences: one begins where it may, but for places behind abbreviations, which hardly ever end
a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from capfst.corpus.intern import BREAKS, COMPOUND_BIT, COMPOUNDS, LINE_ENDS, Interner
from capfst.corpus.labels import mapped
from capfst.corpus.word_lists import WordLists
from capfst.exceptions import CapfstError
from capfst.fst.symbols import EPSILON, UNKNOWN, Symbols
from capfst.kernels import kernel
from capfst.kernels.types import BoolArray, I64Array, U8Array, U32Array, U64Matrix, i64, u32, u64
from capfst.system.buckets import Store
from capfst.text.language import DEFAULT, Language
from capfst.text.strings import Strings
from capfst.text.unicode import GROWTH, INFO, Lowering, lower_into

RESERVED = (EPSILON, "<s>", "</s>")
COMPOUND_COUNT = 2
"""A hyphenated word is a word of its own if its lowercase form occurs as often; else it teaches more in its parts."""
ABBREVIATION = 0.2
"""An abbreviation is a word that ends less than such a share of the lines that it would end if it were like all words
that stand before the end of a line or a place where a sentence may begin. One line more is allowed for, but not for
capitalised words of up to SHORT bytes, such as Mr and Prof."""
SHORT = 4


Tally = Callable[[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]], object]
"""(interner's number, stream, counts): adds the stream's to the counts; the stream may be overwritten."""
Label = Callable[[int, npt.NDArray[np.uint32]], npt.NDArray[np.uint32]]
"""(interner's number, stream) → its labels."""


class StreamedCorpus(Protocol):
    """The streams of a corpus, wherever they are: in a file (`IdStreams`) or on Spark (spark/corpus.py)."""

    def count(self, tally: Tally, size: int) -> npt.NDArray[np.int64]: ...

    def rewrite(self, label: Label) -> Any: ...


class IdStreams:
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
        start = 0
        for interner, size in self.places:
            stream = np.empty(size, np.uint32)
            self.store.read(self.file, stream, 4 * start)
            yield interner, stream
            start += size

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
        return mapped(self.file, size)


@kernel
def _resolve(stream: U32Array, kept: BoolArray, ends: BoolArray, counts: I64Array) -> i64:
    """In place: each compound becomes itself (if kept) or its parts, a place where a sentence may begin a 0 if the word
    before ends sentences; counts what is left. Returns the new length."""
    j = 0
    i = 0
    while i < stream.size:
        word = stream[i]
        if word & COMPOUND_BIT:
            word &= ~COMPOUND_BIT
            parts = i64(stream[i + 1])
            i += 2
            if parts == 0:
                if not ends[word]:
                    continue
                word = u32(0)
            elif not kept[word]:
                continue
            i += parts
        else:
            i += 1
        counts[word] += 1
        stream[j] = word
        j += 1
    return j


@kernel
def relabel(stream: U32Array, labels: U32Array) -> None:
    """In place: each id becomes labels[id], those of compounds too."""
    i = 0
    while i < stream.size:
        if stream[i] & COMPOUND_BIT:
            stream[i] = labels[stream[i] & ~COMPOUND_BIT] | COMPOUND_BIT
            i += 2
        else:
            stream[i] = labels[stream[i]]
            i += 1


@kernel
def _lowercase(words: Strings, info: U8Array, lowering: Lowering, out: Strings) -> None:
    """Fills `out` with the lowercase form of each word."""
    size = 0
    out.offsets[0] = 0
    for k in range(words.offsets.size - 1):
        start, end = words.offsets[k], words.offsets[k + 1]
        size = lower_into(words.data, start, end, start, end, out.data, size, info, lowering)
        out.offsets[k + 1] = size


@kernel
def _prefixes(words: Strings, keys: U64Matrix) -> None:
    """keys[c, k]: bytes 8c … 8c + 7 of word k as a number, which is in the order of the bytes."""
    data, offsets = words
    for c in range(keys.shape[0]):
        for k in range(offsets.size - 1):
            key = u64(0)
            for i in range(offsets[k] + 8 * c, offsets[k] + 8 * c + 8):
                key = key << u64(8) | u64(data[i] if i < offsets[k + 1] else 0)
            keys[c, k] = key


@kernel
def _concatenate(words: Strings, order: I64Array, out: U8Array) -> None:
    """Fills uint8[·] with the words order[0], order[1], …"""
    size = 0
    for k in order:
        for i in range(words.offsets[k], words.offsets[k + 1]):
            out[size] = words.data[i]
            size += 1


def _sort_runs(
    order: npt.NDArray[np.int64], tied: npt.NDArray[np.bool_], key: Callable[[int], Any], reverse: bool = False
) -> None:
    """Sorts runs of `order`; tied[i]: order[i] and order[i + 1] are of one run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
    for start, end in zip(edges[::2].tolist(), (edges[1::2] + 1).tolist(), strict=True):
        order[start:end] = sorted(order[start:end].tolist(), key=key, reverse=reverse)


def _ranks(words: Strings) -> npt.NDArray[np.int64]:
    """[k]: how many of the words, which are different, are less than word k, byte by byte."""
    keys = np.empty((2, len(words.offsets) - 1), np.uint64)
    _prefixes(words, keys)
    order = np.lexsort(keys[::-1])
    _sort_runs(order, (np.diff(keys[:, order]) == 0).all(0), words.utf8)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


class _Resolver(NamedTuple):
    """Streams → words of the vocabulary. It can be sent to other processes."""

    common_ids: list[npt.NDArray[np.uint32]]  # [k]: by id of the k-th interner, the id that all have in common
    kept: npt.NDArray[np.bool_]  # by common id: the compounds that stay whole
    ends: npt.NDArray[np.bool_]  # by common id: the words behind which a sentence ends, if it may

    def tally(self, k: int, stream: npt.NDArray[np.uint32], counts: npt.NDArray[np.int64]) -> int:
        """Counts the words of a stream, which is overwritten with their common ids; how many there are."""
        relabel(stream, self.common_ids[k])
        return int(_resolve(stream, self.kept, self.ends, counts))

    def label(self, labels: npt.NDArray[np.uint32], k: int, stream: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The stream, which is overwritten, as labels; `labels`: by common id."""
        stream = stream[: self.tally(k, stream, np.zeros(len(self.kept), np.int64))]
        relabel(stream, labels)
        return stream


class Vocabulary(NamedTuple):
    """The symbols of labels 0..V; how often each occurs, int64[V + 1], at 0 the sentences; the label of `<unk>`; and of
    each language, as far as there are any, the labels of the entries of its word lists, a 0 after each."""

    symbols: Symbols
    counts: npt.NDArray[np.int64]
    unknown: int
    listed: list[npt.NDArray[np.uint32]]


def build_vocabulary(
    interners: list[Interner], streams: StreamedCorpus, language: Language = DEFAULT, lists: WordLists | None = None
) -> tuple[Vocabulary, Any]:
    """The vocabulary of the streams that these interners made, and of word lists; and the streams as labels, a 0 after
    each sentence: of `IdStreams` an array, uint32[T]."""
    common = Interner()
    common_ids = [common.absorb(interner) for interner in [*interners, *([lists.interner] if lists else [])]]
    unknown = common.add(UNKNOWN.encode())
    words = common.words()
    lowercase, lower_of = lowercase_forms(words, language.lowering)
    of_words = common.counts[: common.size + 1]
    totals = np.bincount(lower_of, of_words[1:, COMPOUNDS])
    kept = np.concatenate([[False], totals[lower_of] >= COMPOUND_COUNT])
    resolver = _Resolver(common_ids, kept, _ends_sentences(words, of_words[:, LINE_ENDS], of_words[:, BREAKS]))
    counts = streams.count(resolver.tally, common.size + 1)
    listed = _in_lists(lists, resolver, len(interners))
    _refuse_reserved(words, counts + listed)
    ranks = _ranks(lowercase)[lower_of]

    def lack_of_case(k: int) -> tuple[bool, bytes]:
        return words.utf8(k) == lowercase.utf8(lower_of[k]), words.utf8(k)

    present = (counts[1:] > 0) | listed[1:]
    present[unknown - 1] = True
    order = np.flatnonzero(present)
    order = order[np.lexsort([-counts[1:][order], ranks[order]])]
    tied = (np.diff(ranks[order]) == 0) & (np.diff(counts[1:][order]) == 0)
    _sort_runs(order, tied, lack_of_case, reverse=True)

    labels = np.zeros(common.size + 1, np.uint32)
    labels[order + 1] = np.arange(1, len(order) + 1)
    label = partial(resolver.label, labels)
    vocabulary = Vocabulary(
        _symbols(words, order, language),
        np.concatenate([counts[:1], counts[order + 1]]),
        int(labels[unknown]),
        _entries(lists, label, len(interners)),
    )
    return vocabulary, streams.rewrite(label)


def _in_lists(lists: WordLists | None, resolver: _Resolver, k: int) -> npt.NDArray[np.bool_]:
    """By common id: whether a word list has it. k: the number of the lists' interner."""
    found = np.zeros(len(resolver.kept), np.int64)
    for _, stream in lists.streams if lists else ():
        resolver.tally(k, stream.copy(), found)
    found[0] = 0
    return found > 0


def _entries(lists: WordLists | None, label: Label, k: int) -> list[npt.NDArray[np.uint32]]:
    """Of each language, the labels of its lists' entries, a 0 after each."""
    streams = lists.streams if lists else []
    by_language: list[list[npt.NDArray[np.uint32]]] = [[] for _ in range(1 + max((n for n, _ in streams), default=-1))]
    for language, stream in streams:
        by_language[language].append(label(k, stream))
    return [np.concatenate([np.zeros(0, np.uint32), *streams]) for streams in by_language]


def _ends_sentences(
    words: Strings, line_ends: npt.NDArray[np.int64], breaks: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """By id: whether the word is no abbreviation, given how many lines end with it, and how often it stands before a
    place inside a line where a sentence may begin."""
    places = line_ends + breaks
    first = words.data[words.offsets[:-1]]
    is_short = np.append(False, (np.diff(words.offsets) <= SHORT) & (first >= ord("A")) & (first <= ord("Z")))
    return line_ends + ~is_short > ABBREVIATION * line_ends.sum() / max(1, places.sum()) * places


class Restricted(NamedTuple):
    """What is left of a vocabulary, and how its labels have changed."""

    vocabulary: Vocabulary
    new_labels: npt.NDArray[np.uint32]  # [V + 1], of the old labels; `<unk>`'s of words that were left out
    old_labels: npt.NDArray[np.int64]  # of the new labels


def restricted(
    vocabulary: Vocabulary, starts: npt.NDArray[np.int32], min_count: int, max_words: int | None
) -> Restricted:
    """The vocabulary of the forms that occur at least `min_count` times, of these the `max_words` most frequent ones;
    and of all that word lists have.

    starts: the words' first labels, as from symbols.check.
    """
    symbols, counts, unknown, listed = vocabulary
    kept = np.flatnonzero(counts >= min_count)
    kept = kept[(kept > 0) & (kept != unknown)]
    kept = kept[np.argsort(-counts[kept], kind="stable")][:max_words]
    kept = np.union1d(kept, np.unique(np.concatenate([np.zeros(1, np.uint32), *listed]))[1:]).astype(np.int64)
    left_out = np.ones(len(counts), bool)
    left_out[0] = left_out[kept] = False
    counts = counts.copy()
    counts[unknown] = counts[left_out].sum()
    order = np.sort(np.append(kept, unknown))
    order = order[np.lexsort([-counts[order], np.searchsorted(starts, order, "right")])]
    old_labels = np.concatenate([[0], order])
    new_labels = np.zeros(len(counts), np.uint32)
    new_labels[old_labels] = np.arange(len(old_labels))
    new_labels[left_out] = new_labels[unknown]
    left = Vocabulary(
        _symbols(symbols.strings, order, symbols.language),
        counts[old_labels],
        int(new_labels[unknown]),
        [new_labels[entries] for entries in listed],
    )
    return Restricted(left, new_labels, old_labels)


def _symbols(words: Strings, order: npt.NDArray[np.int64], language: Language) -> Symbols:
    """`<epsilon>`, then the words order[0], order[1], …"""
    epsilon = np.frombuffer(EPSILON.encode(), np.uint8)
    lengths = np.concatenate([[len(epsilon)], np.diff(words.offsets)[order]])
    data = np.empty(int(lengths.sum()), np.uint8)
    data[: len(epsilon)] = epsilon
    _concatenate(words, order, data[len(epsilon) :])
    return Symbols(data, np.concatenate([[0], np.cumsum(lengths)]), language)


def _refuse_reserved(words: Strings, counts: npt.NDArray[np.int64]) -> None:
    """CapfstError if a word that occurs (counts[k + 1]: word k) has a meaning of its own in the LM."""
    lengths = np.diff(words.offsets)
    for word in RESERVED:
        for k in np.flatnonzero((lengths == len(word)) & (counts[1:] > 0)):
            if words.utf8(k).decode() == word:
                raise CapfstError(f"the corpus has the word {word!r}, which is the LM's own: replace or remove it")


def lowercase_forms(words: Strings, lowering: Lowering) -> tuple[Strings, npt.NDArray[np.int64]]:
    """The different lowercase forms of the words; and [k]: which of them is that of word k."""
    lowered = Strings(np.empty(words.data.size * GROWTH + 8, np.uint8), np.empty(len(words.offsets), np.int64))
    _lowercase(words, INFO, lowering, lowered)
    distinct = Interner()
    lower_of = distinct.ids(lowered).astype(np.int64) - 1
    return distinct.words(), lower_of
