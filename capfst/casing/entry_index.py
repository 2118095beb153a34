"""The index of the words and phrases that a user gives: find them in a text, leftmost first, and the longest of each.

In: entries in their casing, one per line, then buffers of text in any casing. Out: an `EntryIndex`, and how the entries
in a text write its words. A word of a text consists of *pieces*: the parts of a hyphenated word are pieces, and so are
its hyphens, so that an entry is found whether or not the vocabulary has a hyphenated word as a whole. White space
between pieces does not count. The table is a trie in a hash table: the key of a run of pieces is a hash of their
lowercase, computed from the key of the run without the last piece.

Speed: most words of a text begin no entry. A flag for each label, and a small table of bits, which stays in the cache,
show this.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, has_sigma, shape_of
from capfst.casing.transducer import is_joined
from capfst.casing.types import Words
from capfst.kernels import copy_bytes, inner, kernel, prefetch
from capfst.kernels.types import Array, I64Array, Record, U8Array, U64Array, U64Matrix, i64, u8, u64
from capfst.system.hashing import PRIME, hash_pair
from capfst.text.strings import is_same
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED, WORD, canonical
from capfst.text.unicode import GROWTH, INFO, Lowering, eight_of, lower_into, put_plain

FIXED = np.inf
"""The weight of an entry whose casing is the only one."""
MOST_CASINGS = 10
"""Entries with the same pieces. Wherever these are in a text, the costs of each are compared."""
FILTER_BITS = 21
BLOCK = 128  # words
_WORD_FIRST, _PHRASE_FIRST = 1, 2
_AHEAD = 8
_HYPHEN = ord("-")

ENTRY = np.dtype(
    [
        ("piece", "i8"),  # its first piece; in the record after the last, the number of pieces
        ("weight", "f8"),  # in nats, or FIXED
        ("following", "i4"),  # the next entry with the same pieces in another casing, or −1
        ("shapes", "i4"),  # bits: the shapes of its pieces
    ],
    align=True,
)
"""An entry."""
EntryArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(ENTRY)]
PIECE = np.dtype([("start", "i8"), ("end", "i8"), ("kind", "u1")], align=True)
"""A piece of an entry, in bytes of the text. kind: MARKS; WORD, if it is a word in lower case; else PROTECTED."""
PieceArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(PIECE)]
SLOT = np.dtype([("key", "u8"), ("entry", "i4"), ("is_fixed", "?"), ("continues", "?")], align=True)
"""key: of a run of pieces with which entries begin; 0 in an empty slot. entry: the first entry that consists of these
pieces, or −1. is_fixed: whether it has no weight. continues: whether longer entries begin with them."""
SlotArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(SLOT)]
CANDIDATE = np.dtype([("word", "i8"), ("key", "u8")], align=True)
"""A word with which entries may begin, and the key of its pieces."""
CandidateArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(CANDIDATE)]
MATCH = np.dtype([("begin", "i8"), ("end", "i8"), ("entry", "i8")], align=True)
"""The words begin … end − 1 of a text have the key of this entry, the first one with these pieces."""
MatchArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(MATCH)]
Match: TypeAlias = Annotated[Any, Record(MATCH)]
LISTED = np.dtype(
    [("word", "i8"), ("start", "i8"), ("end", "i8"), ("weight", "f4"), ("n", "i4")],
    align=True,
)
"""A word of a text in the casing of an entry, which is start … end − 1 of `Found.text`. n: the number of the entry's
words from this one on. weight: of the entry, in nats, or FIXED."""
ListedArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(LISTED)]
Listed: TypeAlias = Annotated[Any, Record(LISTED)]


@kernel
def _fill(listed: ListedArray, text: U8Array, info: U8Array, starts: I64Array, ends: I64Array, shapes: U8Array) -> None:
    """Fill the arrays of `Found` from the words in entries without a weight."""
    for m in range(listed.size):
        i, start, end = i64(listed[m].word), i64(listed[m].start), i64(listed[m].end)
        starts[i], ends[i], shapes[i] = start, end, shape_of(text, start, end, info)


class Writing(NamedTuple):
    """Words in the casing of entries, to be filled in."""

    listed: ListedArray  # LISTED
    text: U8Array


class Found(NamedTuple):
    """The entries in a text of n words."""

    text: U8Array  # the words in the casing of entries
    fixed: ListedArray  # LISTED: the words in entries without a weight, in the order of the text
    weighted: ListedArray  # LISTED: the words in the others, entry after entry
    starts: I64Array  # [n]: how words in entries without a weight are written, in bytes of the text; −1 for others
    ends: I64Array  # [n]
    shapes: U8Array  # [n]: of these words; AS_FORM for others

    @classmethod
    def of(cls, text: U8Array, fixed: ListedArray, weighted: ListedArray, n: int) -> Found:
        of_words = np.full(n, -1), np.full(n, -1), np.full(n, AS_FORM, np.uint8)
        _fill(fixed, text, INFO, *of_words)
        return cls(text, fixed, weighted, *of_words)


class EntryIndex(NamedTuple):
    """Entries, and a hash table over the runs of pieces with which they begin."""

    text: U8Array  # the entries, a line each
    entries: EntryArray  # ENTRY
    pieces: PieceArray  # PIECE
    slots: SlotArray  # SLOT
    first: U8Array  # by label: _WORD_FIRST, _PHRASE_FIRST, if entries of one word, or of several, begin with the word
    filter: U64Array  # bits: of the labels of the first two words of each entry, and of the keys in the table
    longest: i64  # the size of the longest piece


class Rules(NamedTuple):
    """Parameters of lowercasing, and working memory."""

    info: U8Array
    lowering: Lowering
    word: U8Array  # a piece
    parts: U64Matrix  # two pieces, eight bytes per element


@inner
def _piece_end(buf: U8Array, start: i64, end: i64, token_type: u8) -> i64:
    """Return the end of the piece at `start` of a word that ends at `end`."""
    if token_type == WORD or token_type == MARKS:
        return end
    if buf[start] == _HYPHEN:
        return start + 1
    i = start
    while i < end and buf[i] != _HYPHEN:
        i += 1
    return i


@inner
def _put(buf: U8Array, start: i64, end: i64, token_type: u8, rules: Rules, parts: U64Array) -> i64:
    """Write the piece buf[start:end] in lower case to `parts`. Return its size in bytes."""
    if token_type != MARKS and put_plain(buf, start, end, parts, 0, rules.lowering):
        return end - start
    if token_type == MARKS:
        size = canonical(buf, start, end, token_type, rules.word)
    else:
        size = lower_into(buf, start, end, 0, buf.size, rules.word, 0, rules.info, rules.lowering)
    for i in range(0, size, 8):
        parts[i >> 3] = eight_of(rules.word, i, size)
    return size


@inner
def _extended(key: u64, parts: U64Array, size: i64) -> u64:
    """Return the key of a run of pieces with one more piece, which `_put` has written."""
    for i in range((size + 7) >> 3):
        key = (key ^ parts[i]) * PRIME
        key ^= key >> u64(29)
    key = hash_pair(key, size)
    return key if key != u64(0) else u64(1)


@inner
def _home(key: u64, slots: SlotArray) -> i64:
    """Return the slot at which the search for a key begins."""
    return i64((key >> u64(32)) * u64(slots.size) >> u64(32))


@inner
def _slot_of(key: u64, slots: SlotArray) -> i64:
    """Return the slot of a key, or the empty slot for it."""
    slot = _home(key, slots)
    while slots[slot].key != key and slots[slot].key != u64(0):
        slot = slot + 1 if slot + 1 < slots.size else 0
    return slot


@inner
def _mark(key: u64, filter: U64Array) -> None:
    """Set the bit of a key in the filter."""
    bit = i64(key >> u64(64 - FILTER_BITS))
    filter[bit >> 6] |= u64(1) << u64(bit & 63)


@inner
def _may_have(key: u64, filter: U64Array) -> bool:
    """Return whether the bit of a key is set."""
    bit = i64(key >> u64(64 - FILTER_BITS))
    return filter[bit >> 6] >> u64(bit & 63) & u64(1) != u64(0)


@kernel
def split(buf: U8Array, words: Words, entries: EntryArray, pieces: PieceArray, info: U8Array) -> i64:
    """Fill the first pieces and the shapes of the entries, which are the lines of a text with these words, and the
    pieces. Return their number."""
    n, entry = 0, 0
    entries[0].piece = 0
    for i in range(words.starts.size):
        token_type = words.token_types[i]
        if token_type == NEWLINE:
            entry += 1
            entries[entry].piece = n
            continue
        start, end = words.starts[i], words.ends[i]
        while start < end:
            piece = pieces[n]
            piece.start, piece.end = start, _piece_end(buf, start, end, token_type)
            is_token = start == words.starts[i] and piece.end == end and token_type == WORD
            piece.kind = MARKS if token_type == MARKS else WORD if is_token else PROTECTED
            entries[entry].shapes |= 1 << shape_of(buf, start, i64(piece.end), info)
            start = piece.end
            n += 1
    return n


@inner
def _has_same_casing(index: EntryIndex, entry: i64, other: i64) -> bool:
    """Return whether two entries with the same pieces have the same casing."""
    text, shift = index.text, index.entries[other].piece - index.entries[entry].piece
    for k in range(index.entries[entry].piece, index.entries[entry + 1].piece):
        one, two = index.pieces[k], index.pieces[k + shift]
        if one.kind != MARKS and not is_same(text, one.start, one.end, text, two.start, two.end):
            return False
    return True


@kernel
def insert(index: EntryIndex, rules: Rules) -> tuple[i64, i64]:
    """Insert the entries into the table. Return two entries that contradict each other, because they have different
    casings and not both a weight; an entry twice if its words have more than MOST_CASINGS; (−1, −1) if there are none.

    An entry that is repeated in the same casing counts once, with the greatest of its weights.
    """
    entries, slots = index.entries, index.slots
    for entry in range(entries.size - 1):
        key, slot = u64(0), -1
        for k in range(entries[entry].piece, entries[entry + 1].piece):
            piece = index.pieces[k]
            size = _put(index.text, piece.start, piece.end, piece.kind, rules, rules.parts[0])
            key = _extended(key, rules.parts[0], size)
            _mark(key, index.filter)
            if slot >= 0:
                slots[slot].continues = True
            slot = _slot_of(key, slots)
            if slots[slot].key == u64(0):
                slots[slot].key, slots[slot].entry = key, -1
        entries[entry].following = -1
        other, last, n_casings = i64(slots[slot].entry), -1, 1
        while other >= 0:
            if _has_same_casing(index, entry, other):
                entries[other].weight = max(entries[other].weight, entries[entry].weight)
                last = entry  # it stays out
                break
            if entries[entry].weight == np.inf or entries[other].weight == np.inf:
                return other, entry
            last, other = other, i64(entries[other].following)
            n_casings += 1
        if last != entry and n_casings > MOST_CASINGS:
            return entry, entry
        if last < 0:
            slots[slot].entry = entry
        elif last != entry:
            entries[last].following = entry
        slots[slot].is_fixed = entries[slots[slot].entry].weight == np.inf
    return -1, -1


@kernel
def mark_first(words: Words, index: EntryIndex) -> None:
    """Fill `first` and `filter` of an EntryIndex from the words of its text in lower case."""
    index.first[0] = u8(_WORD_FIRST)
    for i in range(words.starts.size):
        if (i == 0 or words.token_types[i - 1] == NEWLINE) and words.first_labels[i] != 0:
            is_phrase = i + 1 < words.starts.size and words.token_types[i + 1] != NEWLINE
            index.first[words.first_labels[i]] |= u8(_PHRASE_FIRST if is_phrase else _WORD_FIRST)
            if is_phrase:
                _mark(hash_pair(words.first_labels[i], words.first_labels[i + 1]), index.filter)


@inner
def _extended_by_word(key: u64, buf: U8Array, words: Words, i: i64, index: EntryIndex, rules: Rules) -> u64:
    """Return the key of a run of pieces with those of word i after it; 0 if no entry begins with them."""
    start, end, token_type = words.starts[i], words.ends[i], words.token_types[i]
    while start < end:
        stop = _piece_end(buf, start, end, token_type)
        if stop - start > GROWTH * index.longest:
            return u64(0)
        key = _extended(key, rules.parts[0], _put(buf, start, stop, token_type, rules, rules.parts[0]))
        start = stop
    return key if _may_have(key, index.filter) else u64(0)


@inner
def _list_candidates(
    buf: U8Array, words: Words, begin: i64, end: i64, index: EntryIndex, rules: Rules, candidates: CandidateArray
) -> i64:
    """List those of the words begin … end − 1 with which entries may begin. Return their number."""
    n, n_left, last = 0, 0, words.starts.size - 1
    for i in range(begin, end):  # without branches that depend on the words
        label = words.first_labels[i]
        prefetch(index.first, words.first_labels[min(i + 2 * _AHEAD, last)])
        how, pair = index.first[label], hash_pair(label, words.first_labels[min(i + 1, last)])
        candidates[n].word = i
        n += (how & _WORD_FIRST != 0) | ((how != 0) & _may_have(pair, index.filter))
    for k in range(n):
        word = i64(candidates[k].word)
        key = _extended_by_word(u64(0), buf, words, word, index, rules)
        candidates[n_left].word, candidates[n_left].key = word, key
        prefetch(index.slots, _home(key, index.slots))
        n_left += (key != u64(0)) & (words.token_types[word] != NEWLINE)
    return n_left


@inner
def _add(matches: MatchArray, n: i64, begin: i64, end: i64, entry: i64) -> i64:
    """Add a match, if there is one, and it does not overlap the last of n. Return how many there are then."""
    if end < 0 or (n > 0 and begin < matches[n - 1].end):
        return n
    matches[n].begin, matches[n].end, matches[n].entry = begin, end, entry
    return n + 1


@kernel
def find(
    buf: U8Array, words: Words, index: EntryIndex, rules: Rules, candidates: CandidateArray, fixed: MatchArray,
    weighted: MatchArray,
) -> tuple[i64, i64]:  # fmt: skip
    """Fill `fixed` with the entries without a weight in a text, and `weighted` with the others: each from left to
    right, the longest at each word, without overlaps. Return the numbers of both.

    An entry is found by the hash of its pieces; `write_listed` compares them. candidates: working memory, [BLOCK].
    """
    n_fixed, n_weighted, size = 0, 0, words.starts.size
    for block in range(0, size, BLOCK):
        for j in range(_list_candidates(buf, words, block, min(size, block + BLOCK), index, rules, candidates)):
            begin, key = i64(candidates[j].word), candidates[j].key
            end, fixed_end, fixed_entry, weighted_end, weighted_entry = begin, -1, -1, -1, -1
            while key != u64(0):
                slot = index.slots[_slot_of(key, index.slots)]
                if slot.key == u64(0):
                    break
                end += 1
                if slot.entry >= 0 and slot.is_fixed:
                    fixed_end, fixed_entry = end, i64(slot.entry)
                elif slot.entry >= 0:
                    weighted_end, weighted_entry = end, i64(slot.entry)
                if not slot.continues or end == size or words.token_types[end] == NEWLINE:
                    break
                key = _extended_by_word(key, buf, words, end, index, rules)
            n_fixed = _add(fixed, n_fixed, begin, fixed_end, fixed_entry)
            n_weighted = _add(weighted, n_weighted, begin, weighted_end, weighted_entry)
    return n_fixed, n_weighted


@inner
def _write(
    buf: U8Array, words: Words, match: Match, index: EntryIndex, entry: i64, rules: Rules, found: Writing, n: i64,
    size: i64,
) -> tuple[i64, i64]:  # fmt: skip
    """Write words, whose pieces have the hash of those of an entry, in its casing, after the n words and the `size`
    bytes of `found`; if they can be, because only case changes. Return the new n and size."""
    text, k, last = index.text, i64(index.entries[entry].piece), i64(index.entries[entry + 1].piece)
    before, size_before = n, size
    for i in range(match.begin, match.end):
        token_type, start, word_end = words.token_types[i], words.starts[i], words.ends[i]
        first = k
        while start < word_end:
            if k == last or (k > first and index.pieces[k - 1].end != index.pieces[k].start):
                return before, size_before
            piece, stop = index.pieces[k], _piece_end(buf, start, word_end, token_type)
            length = _put(buf, start, stop, token_type, rules, rules.parts[0])
            if length != _put(text, piece.start, piece.end, piece.kind, rules, rules.parts[1]):
                return before, size_before
            for part in range((length + 7) >> 3):
                if rules.parts[0, part] != rules.parts[1, part]:
                    return before, size_before
            start = stop
            k += 1
        if token_type != MARKS:
            begin, end, record = i64(index.pieces[first].start), i64(index.pieces[k - 1].end), found.listed[n]
            copy_bytes(text, begin, end - begin, found.text, size)
            record.word, record.start, record.end = i, size, size + end - begin
            record.weight = index.entries[entry].weight
            n, size = n + 1, size + end - begin
            if has_sigma(text, begin, end) and is_joined(buf, words.starts[i], word_end, buf.size, rules.info):
                return before, size_before
    if k < last:
        return before, size_before
    for record in range(before, n):
        found.listed[record].n = n - record
    return n, size


@kernel
def write(
    buf: U8Array, words: Words, index: EntryIndex, rules: Rules, matches: MatchArray, found: Writing, size: i64
) -> tuple[i64, i64]:
    """Write the words in these matches in the casing of their entry, or of each if they are in several, after the
    `size` bytes that `found` has. Return the number of these words, and the new size. Matches whose words cannot be
    written so are left out.

    An identifier that is a word in lower case becomes a word, and no sentence begins inside an entry without a weight.
    """
    n, last = 0, matches.size - 1
    for m in range(matches.size):
        prefetch(index.entries, matches[min(m + 3 * _AHEAD, last)].entry)
        prefetch(index.pieces, index.entries[matches[min(m + 2 * _AHEAD, last)].entry].piece)
        piece = index.pieces[index.entries[matches[min(m + _AHEAD, last)].entry].piece]
        prefetch(index.text, piece.start)
        begin, end, entry, before = i64(matches[m].begin), i64(matches[m].end), i64(matches[m].entry), n
        first, is_fixed = i64(index.entries[entry].piece), index.entries[entry].weight == np.inf
        is_one_piece = end == begin + 1 and index.entries[entry + 1].piece == first + 1
        while entry >= 0:
            n, size = _write(buf, words, matches[m], index, entry, rules, found, n, size)
            entry = i64(index.entries[entry].following)
        if n == before:
            continue
        if words.token_types[begin] == PROTECTED and is_one_piece and index.pieces[first].kind == WORD:
            words.token_types[begin] = WORD
        for i in range(begin + 1, end if is_fixed else begin):
            words.may_begin[i] = False
    return n, size
