"""The hash table of T: lowercase word → the label of its most frequent surface form, and the number of its forms.

In: the symbols of a model. Out: an `Index`, and kernels that find a word in it. A token's search has two stages: its
first slot is computed and prefetched while other tokens are read, then compared (`PENDING`, `Scratch`).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.fst.symbols import Symbols
from capfst.kernels import inner, kernel, prefetch
from capfst.kernels.types import Array, F32Array, I32Array, I64Array, Record, U8Array, U64Array, i64, u32, u64
from capfst.system.hashing import PRIME
from capfst.system.sparse import sparse
from capfst.text.strings import Strings
from capfst.text.unicode import GROWTH, Lowering, eight_of, put_lowered

EIGHT = 8  # the longest words, in bytes, that are their own keys
BLOCK = 32  # tokens whose slots are prefetched together
LENGTH = np.uint32(15)  # the bits of a slot's `n_forms_length` that hold the length

SLOT = np.dtype([("key", "u8"), ("label_or_position", "u4"), ("n_forms_length", "u4")], align=True)
"""A lowercase word. key: its bytes if there are at most 8, else their hash. label_or_position: the label of its most
frequent form; for a longer word, its position in the parts. n_forms_length: the number of its forms << 4 | its length
in bytes, 9 if more than 8. An empty slot is 0."""
SlotArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(SLOT)]
Slot: TypeAlias = Annotated[Any, Record(SLOT)]
_SLOTS = 1.6  # per word
_FREQUENT = 12.0  # −ln P: words below it, which occur at least once in 163,000 words, are frequent


class Index(NamedTuple):
    """A hash table over lowercase words."""

    slots: SlotArray  # SLOT
    parts: U64Array
    """0; then for each longer word the label of its most frequent form << 32 | its size, and its bytes, eight per
    element and padded with 0."""


@inner
def key_of(parts: U64Array, begin: i64, size: i64) -> u64:
    """Return the key of the word of `size` bytes in parts[begin:]. Words of up to 8 bytes are their own key (with their
    length); longer ones are hashed and compared."""
    key = parts[begin]
    for i in range(begin + 1, begin + ((size + 7) >> 3)):
        key *= PRIME
        key ^= key >> u64(32) ^ parts[i]
    return key


@inner
def first_slot(key: u64, size: i64, slots: SlotArray) -> i64:
    """Return the slot where the search for a key begins."""
    hashed = (key + u64(size)) * PRIME
    return i64((hashed >> u64(32)) * u64(slots.size) >> u64(32))


@inner
def find_slot(slot: i64, key: u64, parts: U64Array, begin: i64, size: i64, index: Index) -> i64:
    """Return the slot, from `slot` on, of the word in parts[begin:]; if it has none, the empty slot for it."""
    slots = index.slots
    length = u32(min(size, 9))
    while slots[slot].n_forms_length != 0:
        if slots[slot].key == key and slots[slot].n_forms_length & LENGTH == length:
            is_same = True
            if size > EIGHT:
                other = slots[slot].label_or_position
                is_same = index.parts[other] & u64(0xFFFFFFFF) == u64(size)
                for i in range((size + 7) >> 3):
                    is_same = is_same and index.parts[other + 1 + i] == parts[begin + i]
            if is_same:
                break
        slot = slot + 1 if slot + 1 < slots.size else 0
    return slot


@inner
def slot_of(parts: U64Array, begin: i64, size: i64, index: Index) -> i64:
    """Return the slot of the word of `size` bytes in parts[begin:]; if it has none, the empty slot for it."""
    key = key_of(parts, begin, size)
    return find_slot(first_slot(key, size, index.slots), key, parts, begin, size, index)


@inner
def first_label(slot: i64, size: i64, index: Index) -> u32:
    """Return the first label of the word of `size` bytes in a slot; 0 if the slot is empty."""
    entry = index.slots[slot].label_or_position
    return entry if size <= EIGHT else u32(index.parts[entry] >> u64(32))


PENDING = np.dtype(
    [
        ("key", "u8"),
        ("slot", "i8"),  # where its search begins
        ("begin", "i8"),  # the index of its bytes in the parts; −1 if they are the key
        ("length", "i8"),
        ("is_plain", "?"),  # whether it is plain ASCII
    ],
    align=True,
)
"""A token of a block, between the two stages of its search."""
PendingArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(PENDING)]


class Scratch(NamedTuple):
    """Working memory for the tokens of a block."""

    lowered: U8Array  # one word
    word: U8Array  # one word
    stripped: U8Array  # one word without diacritics
    parts: U64Array  # the bytes of the tokens, eight per element
    tokens: PendingArray  # PENDING
    longer: I64Array  # indices of the tokens of more than eight bytes

    @classmethod
    def of(cls, size: int, longest: int) -> Scratch:
        """Allocate memory for a buffer of `size` bytes, and tokens of at most `longest` bytes."""
        word = longest * GROWTH + 8
        # A block may hold a compound and its parts, and one of them again: each token is padded to eight bytes.
        sizes = word, word, GROWTH * word, 3 * GROWTH * size // EIGHT + 2 * BLOCK, BLOCK, BLOCK + 1
        types: tuple[npt.DTypeLike, ...] = np.uint8, np.uint8, np.uint8, np.uint64, PENDING, np.int64
        return cls._make(sparse(n, t) for n, t in zip(sizes, types, strict=True))


@kernel
def _build(
    forms: Strings, starts: I32Array, order: I64Array, lowering: Lowering, index: Index, scratch: Scratch
) -> None:
    """Fill an index with the words, in this order. forms: by label."""
    slots, parts, (data, offsets) = index.slots, index.parts, forms
    parts[0], used = u64(0), 1
    for block in range(0, order.size, BLOCK):
        block_end = min(order.size, block + BLOCK)
        for k in range(block, block_end):
            token, label = scratch.tokens[k - block], starts[order[k]]
            start, end = offsets[label], offsets[label + 1]
            size = put_lowered(data, start, end, parts, used + 1, scratch.word, lowering)
            token.begin, token.length, token.key = used + 1, size, key_of(parts, used + 1, size)
            token.slot = first_slot(token.key, size, slots)
            prefetch(slots, token.slot)
            if size > EIGHT:
                parts[used] = u64(label) << u64(32) | u64(size)
                used += 1 + ((size + 7) >> 3)
        for k in range(block, block_end):
            token, word = scratch.tokens[k - block], order[k]
            slot = slots[find_slot(token.slot, token.key, parts, token.begin, token.length, index)]
            slot.key = token.key
            slot.label_or_position = starts[word] if token.length <= EIGHT else token.begin - 1
            slot.n_forms_length = (starts[word + 1] - starts[word]) << 4 | min(token.length, 9)


def build_index(symbols: Symbols, starts: I32Array, costs: F32Array | None = None) -> Index:
    """Build the index of T. starts: the first label of each lowercase word, and V + 1 (`symbols.check`). costs: −ln P
    of the labels 1..V; frequent words are inserted first, so that most are in the slot where their search begins."""
    is_rare = np.zeros(len(starts) - 1, np.bool_) if costs is None else costs[starts[:-1] - 1] > _FREQUENT
    index = Index(
        np.zeros(int(_SLOTS * starts.size) + 1, SLOT),
        np.empty(symbols.data.size * GROWTH // 8 + 2 * starts.size + 3, np.uint64),
    )
    scratch = Scratch.of(0, int(np.diff(symbols.offsets).max()))
    order = np.argsort(is_rare, kind="stable")
    _build(symbols.strings, starts, order, symbols.language.lowering, index, scratch)
    return index


@inner
def find_label(word: U8Array, size: i64, index: Index, parts: U64Array) -> u32:
    """Return the first label of word[:size], a word in lowercase as the LM has it; 0 if it is OOV. parts: working
    memory for the word, eight bytes per element."""
    for i in range(0, size, EIGHT):
        parts[i >> 3] = eight_of(word, i, size)
    return first_label(slot_of(parts, 0, size, index), size, index)
