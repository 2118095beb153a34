"""The index of the words and phrases that a user gives: find them in a text, leftmost first, and the longest of each.

In: entries in their casing, one per line, then buffers of text in any casing. Out: an `EntryIndex`, and how the entries
in a text write its words. Adjacent words are a *run*: their lowercase, with a blank between two words, unless there is
a hyphen. So `coca-cola` is one run, whether the vocabulary has it as a word or as its parts. White space between words
does not count. The index is a trie over words, as a sorted table: the key of a run is a hash of its bytes, computed
from the key of the run without the last word.

Speed: most words of a text begin no entry, which their labels show.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import shape_of
from capfst.casing.types import ListedArray, Words
from capfst.kernels import copy_bytes, inner, kernel, prefetch
from capfst.kernels.types import Array, BoolArray, I64Array, U8Array, U64Array, i64, u64
from capfst.system.hashing import PRIME
from capfst.text.strings import is_same
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED, WORD, canonical
from capfst.text.unicode import CAPITAL_SIGMA, GROWTH, Lowering, contains, is_joined, lower_into

FIXED = np.inf
"""The weight of an entry whose casing is the only one."""
_AHEAD = 16  # words
_BLANK, _HYPHEN = ord(" "), ord("-")

ENTRY = np.dtype([("start", "i8"), ("weight", "f8"), ("following", "i4"), ("is_word", "?")], align=True)
"""An entry. start: of its casing; also in the record after the last. weight: in nats, or FIXED. following: the next
entry of the same words in another casing, or −1. is_word: whether it is one word in lower case."""
EntryArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(ENTRY)]
SLOT = np.dtype([("key", "u8"), ("entry", "i4"), ("is_fixed", "?"), ("continues", "?")], align=True)
"""key: of a run with which entries begin; 0 in an empty slot. entry: the first entry that is this run, or −1. is_fixed:
whether it has no weight. continues: whether longer entries begin with the run."""
SlotArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(SLOT)]


class EntryIndex(NamedTuple):
    """Entries by their runs, and the trie of the runs with which they begin."""

    begins: BoolArray  # by label: whether entries begin with this word
    slots: SlotArray  # SLOT: a hash table over the runs with which entries begin
    entries: EntryArray  # ENTRY
    casings: U8Array  # of the entries, end to end
    longest: i64  # the size of the longest run


class Rules(NamedTuple):
    """Parameters of lowercasing, and working memory."""

    lowering: Lowering
    run: U8Array
    ends: I64Array  # of the words of the run
    word: U8Array

    @classmethod
    def of(cls, lowering: Lowering, longest: int) -> Rules:
        """Return the rules, with memory for runs of at most `longest` bytes, and a word of another text."""
        size = (1 + GROWTH * GROWTH) * longest + 8
        return cls(lowering, np.empty(size, np.uint8), np.empty(size, np.int64), np.empty(size, np.uint8))


@inner
def _put_word(buf: U8Array, words: Words, i: i64, rules: Rules, run: U8Array, begin: i64, size: i64) -> i64:
    """Write word i in lower case after run[begin:size]. Return the new size."""
    start, end, word = words.starts[i], words.ends[i], size + (size > begin)
    if words.token_types[i] == MARKS:
        after = word + canonical(buf, start, end, MARKS, run[word:])
    else:
        after = lower_into(buf, start, end, 0, buf.size, run, word, rules.lowering)
    if word == size:
        return after
    if run[size - 1] != _HYPHEN and run[word] != _HYPHEN:
        run[size] = _BLANK
        return after
    for k in range(word, after):
        run[k - 1] = run[k]
    return after - 1


@inner
def _extended(key: u64, run: U8Array, begin: i64, end: i64) -> u64:
    """Return the key of a run, given that of the run without its last bytes run[begin:end]."""
    for k in range(begin, end):
        key = (key ^ u64(run[k])) * PRIME
    return key if key != u64(0) else u64(1)


@kernel
def spell(buf: U8Array, words: Words, rules: Rules, text: U8Array, offsets: I64Array, keys: U64Array) -> None:
    """Write the runs of the lines of a text, and their offsets, int64[lines + 1]. keys: uint64[words], of the run of
    each line up to each word."""
    line, begin, size, key = 0, 0, 0, u64(0)
    offsets[0] = 0
    for i in range(words.starts.size):
        if words.token_types[i] == NEWLINE:
            line, begin, key = line + 1, size, u64(0)
            offsets[line] = size
            continue
        after = _put_word(buf, words, i, rules, text, begin, size)
        key = _extended(key, text, size, after)
        keys[i], size = key, after


@inner
def _slot_of(key: u64, slots: SlotArray) -> i64:
    """Return the slot of a key, or the empty slot for it."""
    slot = i64((key >> u64(32)) * u64(slots.size) >> u64(32))
    while slots[slot].key != key and slots[slot].key != u64(0):
        slot = slot + 1 if slot + 1 < slots.size else 0
    return slot


@kernel
def insert(words: Words, keys: U64Array, index: EntryIndex, firsts: I64Array) -> None:
    """Fill begins and slots of an EntryIndex, given the words of the entries in lower case, a line each, and
    their keys. firsts: of each entry, the first one with the same run. Unknown words may begin any entry."""
    entry, slot, slots, begins = 0, -1, index.slots, True
    index.begins[0] = True
    for i in range(words.starts.size):
        if words.token_types[i] == NEWLINE:
            if slots[slot].entry < 0:
                slots[slot].entry, slots[slot].is_fixed = entry, index.entries[entry].weight == np.inf
            firsts[entry] = slots[slot].entry
            entry, begins = entry + 1, True
            continue
        if begins:
            index.begins[words.first_labels[i]] = True
        else:
            slots[slot].continues = True
        slot, begins = _slot_of(keys[i], slots), False
        slots[slot].key = keys[i]


@inner
def _same_end(run: U8Array, begin: i64, end: i64, text: U8Array, i: i64, text_end: i64) -> i64:
    """Return the end of the part of text[i:text_end] that is another casing of run[begin:end], if one is: both have the
    same blanks and hyphens."""
    while begin < end:
        if run[begin] != _BLANK and run[begin] != _HYPHEN:
            while begin < end and run[begin] != _BLANK and run[begin] != _HYPHEN:
                begin += 1
            while i < text_end and text[i] != _BLANK and text[i] != _HYPHEN:
                i += 1
        else:
            begin, i = begin + 1, i + 1
    return min(i, text_end)


@inner
def _list(
    buf: U8Array, words: Words, begin: i64, end: i64, index: EntryIndex, entry: i64, rules: Rules,
    listed: ListedArray, n: i64, text: U8Array, size: i64,
) -> tuple[i64, i64]:  # fmt: skip
    """Write the words begin … end − 1, whose run has the key of an entry, in its casing, after the n words and the
    `size` bytes that there are; if they can be, because only case changes. Return the new n and size."""
    casing, run, info, first, size_before, run_end = index.casings, rules.run, rules.lowering.info, n, size, 0
    at, stop = i64(index.entries[entry].start), i64(index.entries[entry + 1].start)
    for i in range(begin, end):
        word = run_end + (run_end > 0 and run[run_end] == _BLANK)
        at += word - run_end
        run_end = rules.ends[i - begin]
        after = _same_end(run, word, run_end, casing, at, stop)
        if words.token_types[i] != MARKS:
            length = lower_into(casing, at, after, at, after, rules.word, 0, rules.lowering)
            may_change = contains(casing, at, after, CAPITAL_SIGMA)
            may_change = may_change and is_joined(buf, words.starts[i], words.ends[i], info)
            if may_change or not is_same(rules.word, 0, length, run, word, run_end):
                return first, size_before
            copy_bytes(casing, at, after - at, text, size)
            record = listed[n]
            record.word, record.start, record.end = i, size, size + after - at
            record.weight, record.n = index.entries[entry].weight, 0
            record.shape = shape_of(casing, at, after, info)
            n, size = n + 1, size + after - at
        at = after
    if at != stop:
        return first, size_before
    listed[first].n = n - first
    return n, size


@kernel
def find(
    buf: U8Array, words: Words, index: EntryIndex, rules: Rules, is_fixed: bool, listed: ListedArray, text: U8Array,
    size: i64,
) -> tuple[i64, i64]:  # fmt: skip
    """Fill `listed` with the words in entries, without a weight or with one, from left to right, the longest at each
    word, without overlaps; and text[size:] with these words. Return their number, and the new size. Entries whose words
    cannot be written so are left out.

    An identifier that is a word in lower case becomes a word, and no sentence begins inside an entry without a weight.
    """
    n, after, last = 0, 0, words.starts.size - 1
    for begin in range(words.starts.size):
        prefetch(index.begins, words.first_labels[min(begin + _AHEAD, last)])
        if begin < after or not index.begins[words.first_labels[begin]]:
            continue
        end, key, run_end, entry = begin, u64(0), 0, -1
        while end <= last and words.token_types[end] != NEWLINE and run_end <= index.longest:
            if words.ends[end] - words.starts[end] > GROWTH * index.longest:
                break
            before = run_end
            run_end = _put_word(buf, words, end, rules, rules.run, 0, run_end)
            key, rules.ends[end - begin] = _extended(key, rules.run, before, run_end), run_end
            slot = index.slots[_slot_of(key, index.slots)]
            end += 1
            if slot.entry >= 0 and slot.is_fixed == is_fixed:
                entry, after = i64(slot.entry), end
            if not slot.continues:  # also an empty slot
                break
        if entry < 0:
            continue
        first, n_before = index.entries[entry], n
        while entry >= 0:  # the casings of these words
            n, size = _list(buf, words, begin, after, index, entry, rules, listed, n, text, size)
            entry = i64(index.entries[entry].following)
        if n > n_before:
            if words.token_types[begin] == PROTECTED and after == begin + 1 and first.is_word:
                words.token_types[begin] = WORD
            for i in range(begin + 1, after if is_fixed else begin):
                words.may_begin[i] = False
    return n, size
