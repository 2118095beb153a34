"""The index of the words and phrases that a user gives: find them in a text, leftmost first, and the longest of each.

In: entries in their casing, one per line, then buffers of text in any casing. Out: an `EntryIndex`, and the matches in
a text. A word of a text consists of *pieces*: the parts of a hyphenated word are pieces, and so are its hyphens, so
that an entry is found whether or not the vocabulary has a hyphenated word as a whole. White space between pieces does
not count. The table is a trie in a hash table: the key of a run of pieces is a hash of their lowercase, computed from
the key of the run without the last piece.

Speed: most words of a text begin no entry. Small tables, which stay in the cache, show this by the labels of a word and
the next one, or by the key of an OOV word. Most entries of one word are found by its label alone.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import has_sigma, shape_of
from capfst.casing.transducer import is_joined
from capfst.casing.types import Words
from capfst.kernels import inner, kernel, prefetch
from capfst.kernels.types import Array, I64Array, U8Array, U64Array, U64Matrix, i64, u8, u32, u64
from capfst.system.hashing import PRIME, hash_pair
from capfst.text.strings import Strings
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED, WORD, canonical
from capfst.text.unicode import GROWTH, IS_CASED, IS_UPPER, Lowering, decode, eight_of, lower_into, put_plain

FIXED = np.inf
"""The weight of an entry whose casing is the only one."""
MOST_CASINGS = 10
"""Entries with the same pieces. Wherever these are in a text, the costs of each are compared."""
HAS_CASE, HAS_CAPITAL = 1, 2
WORD_FIRST, PHRASE_FIRST, ALONE = 1, 2, 4
FILTER_BITS = 21
BLOCK = 128  # words that take each step of the search together
_CONTINUES, _IS_FIXED = 1, 2
_AHEAD = 8
_HYPHEN, _APOSTROPHE = ord("-"), ord("'")

ENTRY = np.dtype(
    [
        ("piece", "i8"),  # its first piece; in the record after the last, the number of pieces
        ("weight", "f8"),  # in nats, or FIXED
        ("following", "i8"),  # the next entry with the same pieces in another casing, or −1
        ("start", "i8"),  # byte offsets in the text
        ("end", "i8"),
    ],
    align=True,
)
"""An entry."""
EntryArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(ENTRY)]
PIECE = np.dtype([("start", "i8"), ("end", "i8"), ("kind", "u1")], align=True)
"""A piece of an entry, in bytes of the text. kind: MARKS; WORD, if it is a word in lower case; else PROTECTED."""
PieceArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(PIECE)]
SLOT = np.dtype([("key", "u8"), ("entry", "i4"), ("flags", "u4")], align=True)
"""key: of a run of pieces with which entries begin; 0 in an empty slot. entry: the first entry that consists of these
pieces, or −1. flags: _CONTINUES, if longer entries begin with them; _IS_FIXED, if the entry has no weight."""
SlotArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(SLOT)]
PENDING = np.dtype([("begin", "i8"), ("end", "i8"), ("key", "u8"), ("entry", "i8")], align=True)
"""A run of words begin … end − 1, with which entries may begin, and its key, or 0; and the entry that is the first word
alone, or −1."""
PendingArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(PENDING)]
LONE = np.dtype([("entry", "i4"), ("form", "i2"), ("shape", "u1"), ("is_fixed", "?")], align=True)
"""An entry that is ALONE: which surface form of its word it is, or −1; its shape; whether it has no weight."""
LoneArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(LONE)]
MATCH = np.dtype(
    [("begin", "i8"), ("end", "i8"), ("entry", "i8"), ("form", "i4"), ("shape", "u1"), ("is_fixed", "?")], align=True
)
"""The words begin … end − 1 of a text are this entry, the first one with these pieces. form, shape: as in LONE; form is
NOT_ALONE if the entry was found by its pieces."""
NOT_ALONE = -2
MatchArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(MATCH)]


class EntryIndex(NamedTuple):
    """Entries, and a hash table over the runs of pieces with which they begin."""

    text: U8Array  # the entries, a line each
    entries: EntryArray  # ENTRY
    pieces: PieceArray  # PIECE
    slots: SlotArray  # SLOT
    first: U8Array
    """By label: WORD_FIRST, PHRASE_FIRST, if entries of one word, or of several, begin with the word; ALONE, if an
    entry is the word, and the label is enough to find it."""
    alone: LoneArray  # LONE, by label: the first entry that is the word, if that is ALONE
    filter: U64Array  # bits: of the labels of the first two words of each entry, and of the keys in the table
    longest: i64  # the size of the longest piece


class Rules(NamedTuple):
    """Parameters of lowercasing, and working memory."""

    info: U8Array
    lowering: Lowering
    word: U8Array  # a piece
    parts: U64Matrix  # two pieces, eight bytes per element


@inner
def piece_end(buf: U8Array, start: i64, end: i64, token_type: u8) -> i64:
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
def _slot_of(key: u64, slots: SlotArray) -> i64:
    """Return the slot of a key, or the empty slot for it."""
    slot = i64((key >> u64(32)) * u64(slots.size) >> u64(32))
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
def split(buf: U8Array, words: Words, entries: EntryArray, pieces: PieceArray) -> i64:
    """Fill the first pieces of the entries, which are the lines of a text with these words, and the pieces. Return
    their number."""
    n, entry = 0, 0
    entries[0].piece = 0
    for i in range(words.starts.size):
        token_type = words.token_types[i]
        if token_type == NEWLINE:
            entry += 1
            entries[entry].piece = n
            continue
        if entries[entry].piece == n:
            entries[entry].start = words.starts[i]
        entries[entry].end = words.ends[i]
        start, end = words.starts[i], words.ends[i]
        while start < end:
            piece = pieces[n]
            piece.start, piece.end = start, piece_end(buf, start, end, token_type)
            is_token = start == words.starts[i] and piece.end == end and token_type == WORD
            piece.kind = MARKS if token_type == MARKS else WORD if is_token else PROTECTED
            start = piece.end
            n += 1
    return n


@kernel
def mark_case(index: EntryIndex, info: U8Array, case: U8Array) -> None:
    """Fill `case` with HAS_CASE and HAS_CAPITAL of each entry."""
    for entry in range(case.size):
        case[entry] = 0
        for k in range(index.entries[entry].piece, index.entries[entry + 1].piece):
            i, end = i64(index.pieces[k].start), i64(index.pieces[k].end)
            while i < end:
                code, i = decode(index.text, i, end)
                if info[code] & IS_CASED:
                    case[entry] |= u8(HAS_CASE)
                if info[code] & IS_UPPER:
                    case[entry] |= u8(HAS_CAPITAL)


@inner
def is_same(text: U8Array, start: i64, end: i64, other: U8Array, other_start: i64, other_end: i64) -> bool:
    """Return whether two slices have the same bytes."""
    if end - start != other_end - other_start:
        return False
    for k in range(end - start):  # noqa: SIM110
        if text[start + k] != other[other_start + k]:
            return False
    return True


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
                slots[slot].flags |= u32(_CONTINUES)
            slot = _slot_of(key, slots)
            if slots[slot].key == u64(0):
                slots[slot].key, slots[slot].entry, slots[slot].flags = key, -1, 0
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
        if entries[slots[slot].entry].weight == np.inf:
            slots[slot].flags |= u32(_IS_FIXED)
    return -1, -1


@inner
def _is_exact(text: U8Array, start: i64, end: i64) -> bool:
    """Return whether the label of a word determines its lowercase: without digits, apostrophes and capital sigmas."""
    for i in range(start, end):
        if 48 <= text[i] <= 57 or text[i] == _APOSTROPHE or text[i] == 0xE2:  # ’ begins with it
            return False
    return not has_sigma(text, start, end)


@kernel
def mark_first(words: Words, index: EntryIndex, forms: Strings, info: U8Array) -> None:
    """Fill `first`, `alone` and `filter` of an EntryIndex from the words of its text in lower case. forms: the surface
    forms of the model."""
    first, entry, is_first = index.first, 0, True
    for i in range(words.starts.size):
        if words.token_types[i] == NEWLINE:
            entry += 1
            is_first = True
            continue
        label = words.first_labels[i]
        if is_first and label != 0:
            record = index.entries[entry]
            start, end = i64(record.start), i64(record.end)
            if i + 1 < words.starts.size and words.token_types[i + 1] != NEWLINE:
                first[label] |= u8(PHRASE_FIRST)
                _mark(hash_pair(label, words.first_labels[i + 1]), index.filter)
            elif words.token_types[i] != WORD or not _is_exact(index.text, start, end):
                first[label] |= u8(WORD_FIRST)
            else:
                lone = index.alone[label]
                if not first[label] & ALONE:
                    lone.entry, lone.shape, lone.form = entry, shape_of(index.text, start, end, info), -1
                    lone.is_fixed = record.weight == np.inf
                    for k in range(i64(words.n_forms[i])):
                        begin, stop = forms.offsets[label + k], forms.offsets[label + k + 1]
                        if is_same(index.text, start, end, forms.data, begin, stop):
                            lone.form = k
                first[label] |= u8(ALONE)
        is_first = False


@inner
def _extended_by_word(key: u64, buf: U8Array, words: Words, i: i64, index: EntryIndex, rules: Rules) -> u64:
    """Return the key of a run of pieces with those of word i after it; 0 if one of these is too long for an entry."""
    start, end, token_type = words.starts[i], words.ends[i], words.token_types[i]
    while start < end:
        stop = piece_end(buf, start, end, token_type)
        if stop - start > GROWTH * index.longest:
            return u64(0)
        key = _extended(key, rules.parts[0], _put(buf, start, stop, token_type, rules, rules.parts[0]))
        start = stop
    return key


@inner
def _candidates(words: Words, begin: i64, end: i64, index: EntryIndex, pending: PendingArray) -> i64:
    """List in `pending` those of the words begin … end − 1 with which entries may begin, by their labels: the key is
    that of the labels of the word and the next one. Return their number. No branch depends on the words."""
    n, last = 0, words.starts.size - 1
    for i in range(begin, end):
        label = words.first_labels[i]
        prefetch(index.first, words.first_labels[min(i + 2 * _AHEAD, last)])
        pending[n].begin = i
        n += (index.first[label] != 0) | ((label == 0) & (words.token_types[i] != NEWLINE))
    for k in range(n):
        i = i64(pending[k].begin)
        label = words.first_labels[i]
        key = hash_pair(label, words.first_labels[min(i + 1, last)])
        pending[k].key = key
        # What is not read is prefetched from a fixed place.
        how = i64(index.first[label])
        prefetch(index.filter, i64(key >> u64(64 - FILTER_BITS + 6)) * (how >> 1 & 1))
        prefetch(index.alone, i64(label) * (how >> 2 & 1))
    return n


@inner
def _queue(
    buf: U8Array, words: Words, begin: i64, end: i64, index: EntryIndex, rules: Rules, pending: PendingArray
) -> i64:
    """Fill `pending` with those of the words begin … end − 1 with which entries may begin, by the filter. Return their
    number."""
    n, size = 0, words.starts.size
    for k in range(_candidates(words, begin, end, index, pending)):
        i = i64(pending[k].begin)
        label, entry, key, stop = words.first_labels[i], -1, u64(0), i + 1
        how = index.first[label]
        may_go_on = label != 0 and how & PHRASE_FIRST != 0 and _may_have(pending[k].key, index.filter)
        if label == 0 or how & WORD_FIRST or may_go_on:
            key = _extended_by_word(key, buf, words, i, index, rules)
        if label != 0 and how & ALONE:
            entry = i64(index.alone[label].entry)
        if label != 0 and not how & WORD_FIRST and key != u64(0):
            is_last = stop == size or words.token_types[stop] == NEWLINE
            key, stop = u64(0) if is_last else _extended_by_word(key, buf, words, stop, index, rules), stop + 1
        key = key if _may_have(key, index.filter) else u64(0)
        if key != u64(0) or entry >= 0:
            record = pending[n]
            record.begin, record.end, record.key, record.entry = i, stop, key, entry
            prefetch(index.slots, i64((key >> u64(32)) * u64(index.slots.size) >> u64(32)))
            n += 1
    return n


@inner
def _longest(
    buf: U8Array, words: Words, begin: i64, end: i64, key: u64, entry: i64, index: EntryIndex, rules: Rules
) -> tuple[i64, i64, i64, i64]:
    """Return the longest entry that begins with the words begin … end − 1, which have this key, and its end; and the
    same among the entries of several words with a weight, which the first one is not. An end is −1 if there is none.

    entry: that of the first word alone, or −1.
    """
    entry_end, phrase, phrase_end = begin + 1 if entry >= 0 else -1, -1, -1
    while key != u64(0):
        slot = index.slots[_slot_of(key, index.slots)]
        if slot.key == u64(0):
            break
        if slot.entry >= 0 and (slot.flags & _IS_FIXED or end == begin + 1):
            entry, entry_end = i64(slot.entry), end
        elif slot.entry >= 0:
            phrase, phrase_end = i64(slot.entry), end
        if not slot.flags & _CONTINUES or end == words.starts.size or words.token_types[end] == NEWLINE:
            break
        key = _extended_by_word(key, buf, words, end, index, rules)
        end += 1
        if not _may_have(key, index.filter):  # the filter is in the cache, the table may not be
            break
    return entry, entry_end, phrase, phrase_end


@kernel
def find(
    buf: U8Array,
    words: Words,
    index: EntryIndex,
    rules: Rules,
    pending: PendingArray,
    matches: MatchArray,
    phrases: MatchArray,
) -> tuple[i64, i64]:
    """Fill `matches` with the entries in a text, and `phrases` with those of several words that have a weight: each
    from left to right, the longest at each word, without overlaps. Return the numbers of both.

    An entry is found by its label or the hash of its pieces; `verify` compares them. pending: working memory.
    """
    n_matches, n_phrases, end, phrase_end, size = 0, 0, 0, 0, words.starts.size
    for block in range(0, size, BLOCK):
        for k in range(_queue(buf, words, block, min(size, block + BLOCK), index, rules, pending)):
            begin = i64(pending[k].begin)
            if begin < end and begin < phrase_end:
                continue
            entry, entry_end, phrase, phrase_stop = _longest(
                buf, words, begin, i64(pending[k].end), pending[k].key, i64(pending[k].entry), index, rules
            )
            if entry_end > 0 and begin >= end:
                match = matches[n_matches]
                match.begin, match.end, match.entry, match.form = begin, entry_end, entry, NOT_ALONE
                if entry == pending[k].entry:
                    lone = index.alone[words.first_labels[begin]]
                    match.form, match.shape, match.is_fixed = lone.form, lone.shape, lone.is_fixed
                n_matches += 1
                end = entry_end
            if phrase_stop > 0 and begin >= phrase_end:
                match = phrases[n_phrases]
                match.begin, match.end, match.entry, match.form = begin, phrase_stop, phrase, NOT_ALONE
                n_phrases += 1
                phrase_end = phrase_stop
    return n_matches, n_phrases


@inner
def _fits(
    buf: U8Array, words: Words, begin: i64, end: i64, index: EntryIndex, entry: i64, rules: Rules, starts: I64Array,
    ends: I64Array,
) -> bool:  # fmt: skip
    """Return whether the words begin … end − 1, whose pieces have the hash of those of an entry, can be written as it:
    whether only case changes. Fill starts and ends of what to write for these words, −1 for MARKS."""
    text, k, last = index.text, i64(index.entries[entry].piece), i64(index.entries[entry + 1].piece)
    for i in range(begin, end):
        token_type, start, word_end = words.token_types[i], words.starts[i], words.ends[i]
        first = k
        while start < word_end:
            if k == last or (k > first and index.pieces[k - 1].end != index.pieces[k].start):
                return False
            piece, stop = index.pieces[k], piece_end(buf, start, word_end, token_type)
            size = _put(buf, start, stop, token_type, rules, rules.parts[0])
            if size != _put(text, piece.start, piece.end, piece.kind, rules, rules.parts[1]):
                return False
            for part in range((size + 7) >> 3):
                if rules.parts[0, part] != rules.parts[1, part]:
                    return False
            start = stop
            k += 1
        if token_type != MARKS:
            starts[i], ends[i] = index.pieces[first].start, index.pieces[k - 1].end
            if has_sigma(text, starts[i], ends[i]) and is_joined(buf, words.starts[i], word_end, buf.size, rules.info):
                return False
    return k == last


@kernel
def verify(
    buf: U8Array, words: Words, index: EntryIndex, rules: Rules, matches: MatchArray, has_weights: bool,
    starts: I64Array, ends: I64Array, shapes: U8Array,
) -> i64:  # fmt: skip
    """Keep the matches whose words can be written as their entry. Return their number.

    starts, ends: [n], −1 before; filled with what to write for each word, in bytes of the index's text; except for
    words in entries that are surface forms and ALONE, unless entries have weights. shapes: [n], AS_FORM before;
    filled with the shapes of words in entries without a weight. An identifier that is a word in lower case becomes a
    word, and no sentence begins inside an entry without a weight.
    """
    n, last = 0, matches.size - 1
    for m in range(matches.size):
        ahead = matches[min(m + 3 * _AHEAD, last)]
        prefetch(index.entries, ahead.entry * (ahead.form < 0))
        if matches[min(m + 2 * _AHEAD, last)].form == NOT_ALONE:
            prefetch(index.pieces, index.entries[matches[min(m + 2 * _AHEAD, last)].entry].piece)
        if matches[min(m + _AHEAD, last)].form == NOT_ALONE:
            prefetch(index.text, index.entries[matches[min(m + _AHEAD, last)].entry].start)
        begin, end, entry = i64(matches[m].begin), i64(matches[m].end), i64(matches[m].entry)
        form, shape, is_fixed = matches[m].form, matches[m].shape, bool(matches[m].is_fixed)
        record = index.entries[entry]
        if form != NOT_ALONE:
            if is_fixed:
                shapes[begin] = shape
            if form < 0 or has_weights:
                starts[begin], ends[begin] = record.start, record.end
        elif not _fits(buf, words, begin, end, index, entry, rules, starts, ends):
            for i in range(begin, end):
                starts[i] = ends[i] = -1
            continue
        else:
            is_fixed, piece = record.weight == np.inf, i64(record.piece)
            is_one_piece = end == begin + 1 and index.entries[entry + 1].piece == piece + 1
            if words.token_types[begin] == PROTECTED and is_one_piece and index.pieces[piece].kind == WORD:
                words.token_types[begin] = WORD
            for i in range(begin, end if is_fixed else begin):
                words.may_begin[i] = words.may_begin[i] and i == begin
                if starts[i] >= 0:
                    shapes[i] = shape_of(index.text, starts[i], ends[i], rules.info)
        match = matches[n]
        match.begin, match.end, match.entry = begin, end, entry
        match.form, match.shape, match.is_fixed = form, shape, is_fixed
        n += 1
    return n
