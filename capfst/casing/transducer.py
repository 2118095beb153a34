"""T, the capitalization transducer: lowercase word → its surface forms, as ranges of labels.

T is implied by the symbol table, where the forms of a word stand together. In: the symbols of a model, then buffers
of text with their tokens. Out: for each token the range of its surface forms' labels; a word without any (OOV) has
the empty range 0, 0. Input of any casing is lowercased on the way.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import has_sigma
from capfst.casing.types import Words
from capfst.fst.symbols import Symbols
from capfst.kernels import copy_bytes, inner, kernel, outlined, prefetch
from capfst.kernels.types import (
    Array,
    I32Array,
    I64Array,
    Record,
    U8Array,
    U64Array,
    i64,
    u8,
    u32,
    u64,
)
from capfst.system.hashing import PRIME
from capfst.system.sparse import sparse
from capfst.text.code import is_identifier, is_version
from capfst.text.restoring import stripping
from capfst.text.sentences import has_ended
from capfst.text.tokenizer import (
    COMPOUND,
    NEWLINE,
    PROTECTED,
    WORD,
    Tokens,
    TokensAndKeys,
    canonical,
    read_tokens,
    room_for,
)
from capfst.text.unicode import (
    GROWTH,
    INFO,
    IS_CASED,
    IS_IGNORABLE,
    Lowering,
    decode,
    eight_of,
    lower_into,
    put_lowered,
    put_plain,
    within,
)

_EIGHT = 8
_BLOCK = 32  # tokens that wait for memory together
_KEPT = 1 << 21  # bytes of text, for the tokens of which a thread keeps memory
_LENGTH = np.uint32(15)  # the bits of a slot's `n_forms_length` that hold the length

SLOT = np.dtype([("key", "u8"), ("label_or_place", "u4"), ("n_forms_length", "u4")], align=True)
"""A lowercase word: its bytes if they are 8 at most, else their hash; the label of its most frequent form, or of a
longer word its place in the parts; and how many forms it has << 4 | how many bytes, 9 if more than 8. 0 if empty."""
SlotArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(SLOT)]
Slot: TypeAlias = Annotated[Any, Record(SLOT)]
_SLOTS = 1.6  # for each word
_FREQUENT = 12.0  # −ln P at most of a frequent word: one that occurs once in 163,000 words, or more often


class Index(NamedTuple):
    """A hash table over lowercase words."""

    slots: SlotArray  # SLOT
    parts: U64Array
    """0; and of each longer word the label of its most frequent form << 32 | its size, and its bytes eight by eight,
    filled up with 0."""


@inner
def _without_digits(part: u64) -> u64:
    """Eight bytes of ASCII with 0 in the place of each digit."""
    return part & ~((within(part, 48, 57) >> u64(7)) * u64(15))


@inner
def _key(parts: U64Array, begin: i64, size: i64) -> u64:
    """The key of a word of `size` bytes in parts[begin:]. Words of up to 8 bytes are their own key (with their length);
    longer ones are hashed and compared."""
    key = parts[begin]
    for i in range(begin + 1, begin + ((size + 7) >> 3)):
        key *= PRIME
        key ^= key >> u64(32) ^ parts[i]
    return key


@inner
def _first_slot(key: u64, size: i64, slots: SlotArray) -> i64:
    """The slot where the search for a key begins."""
    hashed = (key + u64(size)) * PRIME
    return i64((hashed >> u64(32)) * u64(slots.size) >> u64(32))


@inner
def _find_slot(slot: i64, key: u64, parts: U64Array, begin: i64, size: i64, index: Index) -> i64:
    """The slot, from `slot` on, of the word in parts[begin:]; if it has none, the empty one for it."""
    slots = index.slots
    length = u32(min(size, 9))
    while slots[slot].n_forms_length != 0:
        if slots[slot].key == key and slots[slot].n_forms_length & _LENGTH == length:
            is_same = True
            if size > _EIGHT:
                other = slots[slot].label_or_place
                is_same = index.parts[other] & u64(0xFFFFFFFF) == u64(size)
                for i in range((size + 7) >> 3):
                    is_same = is_same and index.parts[other + 1 + i] == parts[begin + i]
            if is_same:
                break
        slot = slot + 1 if slot + 1 < slots.size else 0
    return slot


@inner
def _first_label(slot: i64, size: i64, index: Index) -> u32:
    """The first label of the word of `size` bytes in a slot; 0 if the slot is empty."""
    found = index.slots[slot].label_or_place
    return found if size <= _EIGHT else u32(index.parts[found] >> u64(32))


_TOKEN = np.dtype(
    [
        ("key", "u8"),
        ("slot", "i8"),  # where the search for it begins
        ("begin", "i8"),  # of its bytes, in the parts; −1 if they are the key
        ("length", "i8"),
        ("is_plain", "?"),
    ],
    align=True,
)
"""A token of a block."""
_TokenArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(_TOKEN)]
_Token: TypeAlias = Annotated[Any, Record(_TOKEN)]


class _Room(NamedTuple):
    """Memory for the tokens of a block."""

    lowered: U8Array  # for a word
    word: U8Array
    parts: U64Array  # the bytes of the tokens, eight by eight
    tokens: _TokenArray  # _TOKEN
    longer: I64Array  # those of more than eight bytes

    @classmethod
    def of(cls, size: int, longest: int) -> _Room:
        """Room for a buffer of so many bytes, and tokens of `longest` bytes at most."""
        word = longest * GROWTH + 8
        # A block may hold a compound and its parts: all of the buffer twice, each token to its next eight bytes.
        sizes = word, word, 2 * GROWTH * size // _EIGHT + 2 * _BLOCK, _BLOCK, _BLOCK + 1
        types: tuple[npt.DTypeLike, ...] = np.uint8, np.uint8, np.uint64, _TOKEN, np.int64
        return cls._make(sparse(n, t) for n, t in zip(sizes, types, strict=True))


@kernel
def _build(
    data: U8Array,
    offsets: I64Array,
    starts: I32Array,
    order: I64Array,
    info: U8Array,
    lowering: Lowering,
    index: Index,
    room: _Room,
) -> None:
    """Fills an index with the words, in this order."""
    slots, parts = index.slots, index.parts
    parts[0], used = u64(0), 1
    for block in range(0, order.size, _BLOCK):
        block_end = min(order.size, block + _BLOCK)
        for k in range(block, block_end):
            token, label = room.tokens[k - block], starts[order[k]]
            start, end = offsets[label], offsets[label + 1]
            size = put_lowered(data, start, end, parts, used + 1, room.word, info, lowering)
            token.begin, token.length, token.key = used + 1, size, _key(parts, used + 1, size)
            token.slot = _first_slot(token.key, size, slots)
            prefetch(slots, token.slot)
            if size > _EIGHT:
                parts[used] = u64(label) << u64(32) | u64(size)
                used += 1 + ((size + 7) >> 3)
        for k in range(block, block_end):
            token, word = room.tokens[k - block], order[k]
            slot = slots[_find_slot(token.slot, token.key, parts, token.begin, token.length, index)]
            slot.key = token.key
            slot.label_or_place = starts[word] if token.length <= _EIGHT else token.begin - 1
            slot.n_forms_length = (starts[word + 1] - starts[word]) << 4 | min(token.length, 9)


def build_index(symbols: Symbols, starts: npt.NDArray[np.int32], costs: npt.NDArray[np.float32] | None = None) -> Index:
    """The index of T. `starts` is the first label of every lowercase word, and V + 1 (`symbols.check`). costs: −ln P of
    labels 1..V, by which frequent words come first, so that most are found in the slot where their search begins."""
    is_rare = np.zeros(len(starts) - 1, np.bool_) if costs is None else costs[starts[:-1] - 1] > _FREQUENT
    index = Index(
        np.zeros(int(_SLOTS * starts.size) + 1, SLOT),
        np.empty(symbols.data.size * GROWTH // 8 + 2 * starts.size + 3, np.uint64),
    )
    room = _Room.of(0, int(np.diff(symbols.offsets).max()))
    order = np.argsort(is_rare, kind="stable")
    _build(symbols.data, symbols.offsets, starts, order, INFO, symbols.language.lowering, index, room)
    return index


@inner
def find_label(word: U8Array, size: i64, index: Index, parts: U64Array) -> u32:
    """The first label of word[:size], a word in lower case as the LM knows it; 0 if it is OOV. parts: room for it, by
    eight bytes."""
    for i in range(0, size, _EIGHT):
        parts[i >> 3] = eight_of(word, i, size)
    key = _key(parts, 0, size)
    slot = _find_slot(_first_slot(key, size, index.slots), key, parts, 0, size, index)
    return _first_label(slot, size, index)


@outlined
@inner
def is_joined(buf: U8Array, start: i64, end: i64, size: i64, info: U8Array) -> bool:
    """Whether a cased letter is joined to buf[start:end] by IS_IGNORABLE characters only, so that the lowercase of a
    capital sigma in the token could depend on what stands outside it."""
    i = start
    while i > 0:
        i -= 1
        while i > 0 and buf[i] & 0xC0 == 0x80:
            i -= 1
        flags = info[decode(buf, i, size)[0]]
        if not flags & IS_IGNORABLE:
            if flags & IS_CASED:
                return True
            break
    i = end
    while i < size:
        code, i = decode(buf, i, size)
        flags = info[code]
        if not flags & IS_IGNORABLE:
            return flags & IS_CASED != 0
    return False


@outlined
@inner
def canonical_lowercase(
    buf: U8Array,
    start: i64,
    end: i64,
    token_type: u8,
    pretokenized: bool,
    info: U8Array,
    lowering: Lowering,
    lowered: U8Array,
    word: U8Array,
) -> i64:
    """Writes the token buf[start:end] to `word` as the LM knows it, in lowercase; its length. `lowered` is room for it,
    too: both hold GROWTH times as many bytes as the token, and 8 more."""
    if token_type != WORD and token_type != COMPOUND:
        return canonical(buf, start, end, token_type, word)
    length = lower_into(buf, start, end, 0, buf.size, lowered, 0, info, lowering)
    if not pretokenized:
        return canonical(lowered, 0, length, token_type, word)
    copy_bytes(lowered, 0, length, word, 0)
    return length


@inner
def _normalize(
    buf: U8Array,
    start: i64,
    end: i64,
    token_type: u8,
    pretokenized: bool,
    info: U8Array,
    lowering: Lowering,
    lowered: U8Array,
    word: U8Array,
    parts: U64Array,
    begin: i64,
) -> tuple[i64, bool]:
    """Writes a token as the LM knows it, in lowercase, to parts[begin:]; its length, and whether it is plain ASCII."""
    is_word = token_type == WORD or token_type == COMPOUND
    if is_word and put_plain(buf, start, end, parts, begin, lowering):
        for i in range(0, 0 if pretokenized else end - start, _EIGHT):
            parts[begin + (i >> 3)] = _without_digits(parts[begin + (i >> 3)])
        return end - start, True
    length = canonical_lowercase(buf, start, end, token_type, pretokenized, info, lowering, lowered, word)
    for i in range(0, length, _EIGHT):
        parts[begin + (i >> 3)] = eight_of(word, i, length)
    return length, False


@kernel
def _match(
    buf: U8Array,
    pretokenized: bool,
    tokens: Tokens,
    keys: U64Array,
    data: U8Array,
    offsets: I64Array,
    info: U8Array,
    lowering: Lowering,
    index: Index,
    room: _Room,
    words: Words,
) -> i64:
    """Fills `words` from the tokens, whose keys these are.

    Compounds that the model knows take the place of their parts, the others go; returns the number of words left.
    """
    starts, ends, token_types = tokens
    slots, parts, n_tokens = index.slots, room.parts, keys.size
    n_words = 0
    covered = 0  # by a compound
    ended, last_end = False, 0  # whether a sentence may have ended with the last word
    for block in range(0, n_tokens, _BLOCK):
        used, n_longer = 0, 0
        for i in range(block, min(n_tokens, block + _BLOCK)):
            token, key = room.tokens[i - block], keys[i]
            token.length, token.begin, token.is_plain = ends[i] - starts[i], -1, True
            if key == 0 or not lowering.is_regular:
                token.begin = used
                token.length, token.is_plain = _normalize(
                    buf, starts[i], ends[i], token_types[i], pretokenized, info, lowering, room.lowered, room.word,
                    parts, used,
                )  # fmt: skip
                key = _key(parts, used, token.length)
                used += (token.length + 7) >> 3
                room.longer[n_longer] = i - block
                n_longer += i64(token.length > _EIGHT)
            token.key, token.slot = key, _first_slot(key, token.length, slots)
            prefetch(slots, token.slot)
        for k in range(n_longer):
            slot = slots[room.tokens[room.longer[k]].slot]
            if slot.n_forms_length & _LENGTH == 9:
                prefetch(index.parts, slot.label_or_place)
        for i in range(block, min(n_tokens, block + _BLOCK)):
            start, end, token_type = starts[i], ends[i], token_types[i]
            token = room.tokens[i - block]
            slot = slots[token.slot]
            label, n_forms = slot.label_or_place, slot.n_forms_length >> u32(4)
            is_found = (slot.key == token.key) & (i64(slot.n_forms_length & _LENGTH) == token.length)
            if not is_found & (token.begin < 0):  # one branch for all that is seldom
                if start < covered:
                    continue
                length = token.length
                k = _find_slot(token.slot, token.key, parts, token.begin, length, index)
                label, n_forms = _first_label(k, length, index), slots[k].n_forms_length >> u32(4)
                # A form that the lowercase of the whole line would not give back is not offered.
                may_change = not token.is_plain and has_sigma(data, offsets[label], offsets[label + n_forms])
                if may_change and is_joined(buf, start, end, buf.size, info):
                    label, n_forms = u32(0), u32(0)
                if buf[start] | 32 == 118 and n_forms != 0 and not pretokenized and is_version(buf, start, end):
                    label, n_forms = u32(0), u32(0)  # to know v0.0 is to know no v2.0
                if n_forms == 0 and (token_type == WORD or token_type == COMPOUND) and not pretokenized:
                    if is_identifier(buf, start, end, info):
                        token_type = u8(PROTECTED)
                        covered = end
                    elif token_type == COMPOUND:
                        continue
                elif token_type == COMPOUND:
                    covered = end
            words.starts[n_words], words.ends[n_words], words.token_types[n_words] = start, end, token_type
            words.first_labels[n_words], words.n_forms[n_words] = label, n_forms
            words.may_begin[n_words] = ended and token_type != NEWLINE and start > last_end
            ended, last_end = has_ended(buf, start, end, token_type, ended), end
            n_words += 1
    return n_words


class Transducer:
    """S ∘ T for whole buffers: which surface forms each word of the text may have, and where sentences may begin.
    Arguments as of `build_index`."""

    def __init__(
        self,
        symbols: Symbols,
        starts: npt.NDArray[np.int32],
        pretokenized: bool,
        costs: npt.NDArray[np.float32] | None = None,
    ) -> None:
        self.symbols = symbols
        self.pretokenized = pretokenized
        self.index = build_index(symbols, starts, costs)
        self._of_thread = threading.local()

    @cached_property
    def stripping(self) -> Lowering:
        """The lowering of the model's language, and then without diacritics."""
        return stripping(self.symbols.language.name.partition("/")[0])

    def words(self, buf: npt.NDArray[np.uint8]) -> Words:
        """The words of valid UTF-8, any number of lines."""
        language = self.symbols.language
        token_room, room = self._room(buf.size)
        tokens, keys = read_tokens(buf, self.pretokenized, language.info, language.elisions, token_room)
        types = np.int64, np.int64, np.uint8, np.uint32, np.uint32, np.bool_
        words = Words._make(np.empty(keys.size, t) for t in types)
        n = _match(
            buf, self.pretokenized, tokens, keys, self.symbols.data, self.symbols.offsets, INFO, language.lowering,
            self.index, room, words,
        )  # fmt: skip
        return Words._make(a[:n] for a in words)

    def _room(self, size: int) -> tuple[TokensAndKeys, _Room]:
        """Memory for the tokens of `size` bytes, which the thread keeps for later texts unless it is very much."""
        if size > _KEPT:
            return room_for(size), _Room.of(size, size)
        mine = self._of_thread
        if getattr(mine, "size", -1) < size:
            mine.size = max(1 << 16, 1 << size.bit_length())
            mine.room = room_for(mine.size), _Room.of(mine.size, mine.size)
        room: tuple[TokensAndKeys, _Room] = mine.room
        return room
