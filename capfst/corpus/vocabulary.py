"""Build the vocabulary of a corpus, and turn its ids into labels.

Input: the streams of ids of a corpus from several interners (intern.py), in order. Output: `Vocabulary`, the surface
forms sorted by (lowercase form, −count), equally frequent ones with the lowercase form first, and the corpus as labels,
with a 0 after each sentence. So labels do not depend on the order of blocks, on threads or on hashes. `restricted`
removes rare words, which become `<unk>`.

A line may contain several sentences: one begins at each position where it may, except after abbreviations, which hardly
ever end a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape, shapes
from capfst.corpus import first_words as fw
from capfst.corpus.intern import BREAKS, COMPOUND_BIT, COMPOUNDS, LINE_ENDS, Interner
from capfst.corpus.labels import LabeledCorpus, mapped
from capfst.corpus.word_lists import WordLists
from capfst.exceptions import CorpusError
from capfst.fst.symbols import EPSILON, UNKNOWN, Symbols
from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, I64Array, I64Matrix, U8Array, U32Array, U32Matrix, U64Matrix, i64, u32, u64
from capfst.system.buckets import Store
from capfst.text.language import DEFAULT, Language
from capfst.text.strings import Strings
from capfst.text.unicode import GROWTH, INFO, Lowering, lower_into

RESERVED = (EPSILON, "<s>", "</s>")
COMPOUND_COUNT = 2
"""A hyphenated word is one word if its lowercase form occurs at least this often; else more is learned from its
parts."""
ABBREVIATION = 0.2
"""An abbreviation is a word that ends less than this fraction of the lines that it would end if it were like the
average word before the end of a line or a position where a sentence may begin. Its lines are counted as one more,
except for capitalized words of up to SHORT bytes, such as Mr and Prof."""
SHORT = 4
MIXED_COUNT, MIXED_SHARE = 2, 0.25
"""The least number of occurrences of a name in mixed case, and the least share among those of its word."""
MIXED_RARE = 20
"""Lists with frequencies have names in mixed case whose words occur less often than this in the text."""
SLIP_SHARE = 0.002
"""A form in mixed case with a smaller share of the occurrences of its word is a slip: THe."""

_NOT_COUNTED = np.zeros((fw.PLACES, 0), np.int64)

Label = Callable[[npt.NDArray[np.uint32]], npt.NDArray[np.uint32]]
"""stream → its labels; may overwrite the stream."""


class IdStreams:
    """The streams of a corpus, in a temporary file: as ids, then rewritten as labels."""

    def __init__(self, store: Store, n_sources: int = 1) -> None:
        self.store, self.n_sources = store, n_sources
        self.file = store.open()
        self.streams: list[tuple[int, int, int]] = []  # per stream: index of its interner, length, its source
        self.size = 0

    def append(self, interner: int, stream: npt.NDArray[np.uint32], source: int = 0) -> None:
        self.store.write(self.file, stream, 4 * self.size)
        self.streams.append((interner, stream.size, source))
        self.size += stream.size

    def __iter__(self) -> Iterator[tuple[int, npt.NDArray[np.uint32]]]:
        start = 0
        for interner, size, _ in self.streams:
            stream = np.empty(size, np.uint32)
            self.store.read(self.file, stream, 4 * start)
            yield interner, stream
            start += size

    def rewrite(self, label: Callable[[int, npt.NDArray[np.uint32]], npt.NDArray[np.uint32]]) -> LabeledCorpus:
        """Replace each stream by label(its interner, stream), no more labels than ids; return all labels, mapped from
        the file."""
        size, ends = 0, np.zeros(self.n_sources, np.int64)
        for (_, _, source), (interner, stream) in zip(self.streams, self, strict=True):
            labels = label(interner, stream)
            self.store.write(self.file, labels, 4 * size)
            size += labels.size
            ends[source] = size
        return LabeledCorpus(mapped(self.file, size), np.maximum.accumulate(ends))


class _Rules(NamedTuple):
    """How streams become words of the vocabulary, by id."""

    kept: BoolArray  # whether a compound stays whole
    ends: BoolArray  # whether a sentence ends after the word, where it may
    kinds: U8Array  # what the word is
    first_forms: U32Matrix  # [2, ids], as from `first_words.first_forms`


@inner
def _add(counts: I64Matrix, place: i64, word: u32) -> None:
    if counts.size > 0:
        counts[place, word] += 1


@inner
def _end_first(stream: U32Array, first: i64, place: i64, rules: _Rules, counts: I64Matrix) -> None:
    """Count the first word of a sentence in its place, and replace it by its form there."""
    _add(counts, place, stream[first])
    stream[first] = rules.first_forms[place, stream[first]]


@kernel
def _resolve(stream: U32Array, rules: _Rules, counts: I64Matrix) -> i64:
    """Replace, in place, each compound by itself (if kept) or its parts, a position where a sentence may begin by a 0
    if the word before ends sentences, and each first word of a sentence by its form there; count the ids by their
    place, int64[PLACES, ids], before first words are replaced, unless the counts are empty. Return the new length."""
    j = 0
    i = 0
    place, first = fw.FIRST, (-1)
    while i < stream.size:
        word = stream[i]
        if word & COMPOUND_BIT:
            word &= ~COMPOUND_BIT
            parts = i64(stream[i + 1])
            i += 2
            if parts == 0:
                if not rules.ends[word]:
                    continue
                word = u32(0)
            elif not rules.kept[word]:
                continue
            i += parts
        else:
            i += 1
        kind = rules.kinds[word]
        if first >= 0:
            _end_first(stream, first, fw.BEFORE_NAME if kind == fw.NAME else fw.FIRST, rules, counts)
            place, first = fw.INSIDE, -1
        if word == 0:
            _add(counts, fw.INSIDE, word)
            place = fw.FIRST
        elif kind >= fw.MARK:
            _add(counts, fw.INSIDE, word)
            if place != fw.FIRST or kind != fw.END:
                place = fw.INSIDE if kind == fw.COMMA else fw.AFTER_MARK
        elif place == fw.FIRST:
            first = j
        else:
            _add(counts, place, word)
            place = fw.INSIDE
        stream[j] = word
        j += 1
    if first >= 0:
        _end_first(stream, first, fw.FIRST, rules, counts)
    return j


@kernel
def relabel(stream: U32Array, labels: U32Array) -> None:
    """Replace, in place, each id by labels[id], including those of compounds."""
    i = 0
    while i < stream.size:
        if stream[i] & COMPOUND_BIT:
            stream[i] = labels[stream[i] & ~COMPOUND_BIT] | COMPOUND_BIT
            i += 2
        else:
            stream[i] = labels[stream[i]]
            i += 1


@kernel
def _lowercase(words: Strings, lowering: Lowering, out: Strings) -> None:
    """Fill `out` with the lowercase form of each word."""
    size = 0
    out.offsets[0] = 0
    for k in range(words.offsets.size - 1):
        start, end = words.offsets[k], words.offsets[k + 1]
        size = lower_into(words.data, start, end, start, end, out.data, size, lowering)
        out.offsets[k + 1] = size


@kernel
def _prefixes(words: Strings, keys: U64Matrix) -> None:
    """Set keys[c, k] to bytes 8c … 8c + 7 of word k, as big-endian numbers, which sort like the bytes."""
    data, offsets = words
    for c in range(keys.shape[0]):
        for k in range(offsets.size - 1):
            key = u64(0)
            for i in range(offsets[k] + 8 * c, offsets[k] + 8 * c + 8):
                key = key << u64(8) | u64(data[i] if i < offsets[k + 1] else 0)
            keys[c, k] = key


@kernel
def _concatenate(words: Strings, order: I64Array, out: U8Array) -> None:
    """Fill `out` with the words order[0], order[1], …"""
    size = 0
    for k in order:
        for i in range(words.offsets[k], words.offsets[k + 1]):
            out[size] = words.data[i]
            size += 1


def _sort_runs(
    order: npt.NDArray[np.int64], tied: npt.NDArray[np.bool_], key: Callable[[int], Any], reverse: bool = False
) -> None:
    """Sort runs of `order`. tied[i]: whether order[i] and order[i + 1] are in the same run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], tied, [False]]).astype(np.int8)))
    for start, end in zip(edges[::2].tolist(), (edges[1::2] + 1).tolist(), strict=True):
        order[start:end] = sorted(order[start:end].tolist(), key=key, reverse=reverse)


def _ranks(words: Strings) -> npt.NDArray[np.int64]:
    """Return the rank of each of the words, which are distinct, in the order of their bytes."""
    keys = np.empty((2, len(words.offsets) - 1), np.uint64)
    _prefixes(words, keys)
    order = np.lexsort(keys[::-1])
    _sort_runs(order, (np.diff(keys[:, order]) == 0).all(0), words.utf8)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


class Frequencies(NamedTuple):
    """A word list that tells how often its entries occur."""

    language: int  # its index
    labels: npt.NDArray[np.uint32]  # of the words of its entries
    occurrences: npt.NDArray[np.int64]  # of each of these words


class Vocabulary(NamedTuple):
    """The vocabulary of a corpus and of word lists."""

    symbols: Symbols  # of the labels 0..V
    counts: npt.NDArray[np.int64]  # [V + 1]: occurrences of each label; counts[0]: number of sentences
    unknown: int  # the label of `<unk>`
    listed: list[npt.NDArray[np.uint32]]  # per language: labels of the entries of its word lists, a 0 after each
    frequencies: list[Frequencies]  # the word lists with frequencies


def build_vocabulary(
    interners: list[Interner], streams: IdStreams, language: Language = DEFAULT, lists: WordLists | None = None
) -> tuple[Vocabulary, LabeledCorpus]:
    """Return the vocabulary of the streams of these interners, and of word lists; and the streams as labels. Empties
    `interners`, whose memory is large.

    Raises:
        CorpusError: a word that is reserved in the LM.
    """
    common = Interner()
    common_ids = [common.absorb(interners.pop(0)) for _ in range(len(interners))]
    common_ids += [common.absorb(lists.interner)] if lists else []
    unknown, *reserved = common.ids(Strings.of(map(str.encode, (UNKNOWN, *RESERVED)))).tolist()
    small, small_of = lowercase_forms(common.words(), language.casing)
    small_ids = common.ids(small)[small_of].astype(np.int64)
    words = common.words()
    if language.dotted:  # the lowercase of I and İ depends on the language of the sentence
        is_i = [words.utf8(k).startswith((b"I", "İ".encode())) for k in range(len(small_ids))]
        small_ids = np.where(is_i & (small_ids > len(small_ids)), np.arange(len(small_ids)) + 1, small_ids)
    small_ids = np.concatenate([[0], small_ids, np.arange(len(small_ids), common.size) + 1])
    lowercase, lower_of = lowercase_forms(words, language.lowering)
    of_words = common.counts[: common.size + 1]
    totals = np.bincount(lower_of, of_words[1:, COMPOUNDS])
    kept = np.concatenate([[False], totals[lower_of] >= COMPOUND_COUNT])
    shape_of = shapes(_symbols(words, np.arange(common.size), language))
    as_they_are = np.arange(common.size + 1, dtype=np.uint32)
    rules = _Rules(
        kept,
        _ends_sentences(words, of_words[:, LINE_ENDS], of_words[:, BREAKS]),
        fw.word_kinds(words, shape_of, INFO),
        np.stack([as_they_are, as_they_are]),
    )

    def resolve(rules: _Rules, k: int, stream: npt.NDArray[np.uint32], counts: npt.NDArray[np.int64]) -> int:
        """Overwrite a stream with the common ids of its words, and count these by place; return their number."""
        relabel(stream, common_ids[k])
        return int(_resolve(stream, rules, counts))

    def label(rules: _Rules, k: int, stream: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        stream = stream[: resolve(rules, k, stream, _NOT_COUNTED)]
        relabel(stream, labels)
        return stream

    by_place, in_lists = np.zeros((2, fw.PLACES, common.size + 1), np.int64)
    for k, stream in streams:
        resolve(rules, k, stream, by_place)
    for each in lists.streams if lists else ():
        resolve(rules, -1, each.stream.copy(), in_lists)
    listed = np.append(False, in_lists[:, 1:].any(0))
    first = fw.first_forms(by_place, small_ids, shape_of, rules.kinds, len(language.names) > 1)
    counts = by_place[fw.INSIDE] + by_place[fw.AFTER_MARK]
    for place in (fw.FIRST, fw.BEFORE_NAME):
        np.add.at(counts, first[place], by_place[place])
    for word, id in zip(RESERVED, reserved, strict=True):
        if counts[id] or listed[id]:
            raise CorpusError(f"the corpus contains the reserved word {word!r}. Replace or remove it.")
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
    symbols, in_order = _symbols(words, order, language), np.concatenate([counts[:1], counts[order + 1]])
    entries = _listed(lists, partial(label, rules, -1))
    vocabulary = Vocabulary(symbols, in_order, int(labels[unknown]), *entries)
    return vocabulary, streams.rewrite(partial(label, rules._replace(first_forms=first)))


def _listed(lists: WordLists | None, label: Label) -> tuple[list[npt.NDArray[np.uint32]], list[Frequencies]]:
    """Return for each language the labels of its lists' entries, with a 0 after each; and the lists with
    frequencies."""
    entries: list[npt.NDArray[np.uint32]] = []
    frequencies = []
    for language, stream, occurrences in lists.streams if lists else ():
        labels = label(stream)
        if occurrences is None:
            entries += [np.zeros(0, np.uint32)] * (language + 1 - len(entries))
            entries[language] = np.concatenate([entries[language], labels])
        else:
            occurrences = occurrences[np.cumsum(labels == 0) - (labels == 0)]
            frequencies.append(Frequencies(language, labels[labels > 0], occurrences[labels > 0]))
    return entries, frequencies


def _ends_sentences(
    words: Strings, line_ends: npt.NDArray[np.int64], breaks: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Return for each id whether the word is not an abbreviation, given how many lines end with it, and how often it
    precedes a position inside a line where a sentence may begin."""
    total = line_ends + breaks
    first = words.data[words.offsets[:-1]]
    is_short = np.append(False, (np.diff(words.offsets) <= SHORT) & (first >= ord("A")) & (first <= ord("Z")))
    return line_ends + ~is_short > ABBREVIATION * line_ends.sum() / max(1, total.sum()) * total


class Restricted(NamedTuple):
    """A vocabulary without rare words, and the mapping of its labels."""

    vocabulary: Vocabulary
    new_labels: npt.NDArray[np.uint32]  # [V + 1]: by old label; that of `<unk>` for removed words
    old_labels: npt.NDArray[np.int64]  # by new label


def restricted(
    vocabulary: Vocabulary,
    starts: npt.NDArray[np.int32],
    min_count: int,
    max_words: int | None,
    frequency: npt.NDArray[np.float64] | None = None,
) -> Restricted:
    """Keep the forms that occur at least `min_count` times and are no slips, at most the `max_words` most frequent of
    them; and all names in mixed case, and forms in word lists without frequencies.

    starts: the words' first labels, as from symbols.check. frequency: of each label, instead of its count.
    """
    symbols, counts, unknown, listed, _ = vocabulary
    are_names, are_slips = _mixed_case(vocabulary, starts, min_count)
    kept = np.flatnonzero((counts >= min_count) & ~are_slips)
    kept = kept[(kept > 0) & (kept != unknown)]
    kept = kept[np.argsort(-(counts if frequency is None else frequency)[kept], kind="stable")][:max_words]
    kept = np.unique(np.concatenate([kept, np.flatnonzero(are_names), *listed]).astype(np.int64))
    kept = kept[kept > 0]  # in `listed`, 0 is the end of an entry
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
        [],
    )
    return Restricted(left, new_labels, old_labels)


def _mixed_case(
    vocabulary: Vocabulary, starts: npt.NDArray[np.int32], min_count: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return bool[V + 1], bool[V + 1]: the names in mixed case (iPadOS, McKinsey), which no rule spells reliably; and
    the slips (THe). Names make up MIXED_SHARE of the occurrences of their word in the text or, if it is rare there, in
    a list with frequencies; slips less than SLIP_SHARE."""
    symbols, counts, _, _, frequencies = vocabulary
    word_of = np.searchsorted(starts, np.arange(len(counts)), "right")

    def of_word(occurrences: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return np.bincount(word_of, occurrences).astype(np.float64)[word_of]

    total = of_word(counts)
    are_names = (counts >= max(MIXED_COUNT, min_count)) & (counts >= MIXED_SHARE * total)
    for each in frequencies:
        listed = np.bincount(each.labels, each.occurrences, len(counts)).astype(np.int64)
        are_names |= (total < MIXED_RARE) & (listed > 0) & (listed >= MIXED_SHARE * of_word(listed))
    is_mixed = shapes(symbols) == Shape.MIXED
    return is_mixed & are_names, is_mixed & ~are_names & (counts < SLIP_SHARE * total)


def _symbols(words: Strings, order: npt.NDArray[np.int64], language: Language) -> Symbols:
    """Return the symbols `<epsilon>`, then the words order[0], order[1], …"""
    epsilon = np.frombuffer(EPSILON.encode(), np.uint8)
    lengths = np.concatenate([[len(epsilon)], np.diff(words.offsets)[order]])
    data = np.empty(int(lengths.sum()), np.uint8)
    data[: len(epsilon)] = epsilon
    _concatenate(words, order, data[len(epsilon) :])
    return Symbols(data, np.concatenate([[0], np.cumsum(lengths)]), language)


def lowercase_forms(words: Strings, lowering: Lowering) -> tuple[Strings, npt.NDArray[np.int64]]:
    """Return the distinct lowercase forms of the words; and for each word the index of its form."""
    lowered = Strings(np.empty(words.data.size * GROWTH + 8, np.uint8), np.empty(len(words.offsets), np.int64))
    _lowercase(words, lowering, lowered)
    distinct = Interner()
    lower_of = distinct.ids(lowered).astype(np.int64) - 1
    return distinct.words(), lower_of
