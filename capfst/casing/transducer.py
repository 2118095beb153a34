"""T, the capitalization transducer: lowercase word → its surface forms, as ranges of labels.

T is implied by the symbol table, where the forms of a word stand together. In: the symbols of a model, then buffers
of text with their tokens. Out: for each token the range of its surface forms' labels; a word without any (OOV) has
the empty range 0, 0. Input of any casing is lowercased on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.symbols import Symbols
from capfst.system.kernels import allocating, get_eight, kernel, prefetch
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD, canonical, capacity, scan, scan_spaced
from capfst.text.unicode import INFO, IS_CASED, IS_IGNORABLE, TO_LOWER, decode, lower_into, within

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(0x8080808080808080)
_EIGHT = 8
_BLOCK = 32  # tokens that wait for memory together

SLOT = np.dtype([("key", "u8"), ("first", "u4"), ("rest", "u4")])
"""A lowercase word: its bytes if they are 8 at most, else their hash; the label of its most frequent form; and how many
forms it has << 4 | how many bytes, 9 if more than 8. 0 in `rest`: the slot is empty."""


class Index(NamedTuple):
    """A hash table over lowercase words."""

    slots: npt.NDArray  # SLOT
    parts: npt.NDArray[np.uint64]  # of each longer word its size, and its bytes eight by eight, filled up with 0
    places: npt.NDArray[np.int64]  # where a longer word is in `parts`, by its most frequent form's label


@kernel
def _eight(text, at, end):  # type: ignore[no-untyped-def]
    """text[at:end], up to eight bytes of it, as the lowest bits of an integer, the others 0."""
    if at + _EIGHT <= text.size:
        return get_eight(text, at) & ~np.uint64(0) >> np.uint64(max(0, 64 - 8 * (end - at)))
    part = np.uint64(0)
    for i in range(at, min(end, at + _EIGHT)):
        part |= np.uint64(text[i]) << np.uint64(8 * (i - at))
    return part


@kernel
def _canonical_eight(part, plain):  # type: ignore[no-untyped-def]
    """Eight bytes of ASCII with small letters and, unless `plain`, with digits as 0."""
    part |= within(part, 65, 90) >> np.uint64(2)
    if not plain:
        part &= ~((within(part, 48, 57) >> np.uint64(7)) * np.uint64(15))
    return part


@kernel
def _key(found, place, size):  # type: ignore[no-untyped-def]
    """Words of up to 8 bytes are their own key (with their length); longer ones are hashed and compared."""
    key = found[place]
    for i in range(place + 1, place + ((size + 7) >> 3)):
        key *= _PRIME
        key ^= key >> np.uint64(32) ^ found[i]
    return key


@kernel
def _ideal(key, size, slots):  # type: ignore[no-untyped-def]
    """The slot where the search for a key begins."""
    at = (key + np.uint64(size)) * _PRIME
    return np.int64((at ^ at >> np.uint64(32)) & np.uint64(slots.size - 1))


@kernel
def _slot(at, key, found, place, size, slots, parts, places):  # type: ignore[no-untyped-def]
    """The slot, from `at` on, of the word in found[place:]; if it has none, the empty one for it."""
    short = np.uint32(min(size, 9))
    while slots[at].rest != 0:
        if slots[at].key == key and slots[at].rest & np.uint32(15) == short:
            same = True
            if size > _EIGHT:
                other = places[slots[at].first]
                same = parts[other] == np.uint64(size)
                for i in range((size + 7) >> 3):
                    same = same and parts[other + 1 + i] == found[place + i]
            if same:
                break
        at = at + 1 if at + 1 < slots.size else 0
    return at


@kernel
def _build(data, offsets, starts, word, info, lower_table, slots, parts, places):  # type: ignore[no-untyped-def]
    """Fills an index; `word` is room for one."""
    used = np.int64(0)
    for k in range(starts.size - 1):
        label = starts[k]
        start, end = offsets[label], offsets[label + 1]
        size = lower_into(data, start, end, start, end, word, 0, info, lower_table)
        parts[used] = size
        for i in range(0, size, _EIGHT):
            parts[used + 1 + (i >> 3)] = _eight(word, i, size)
        key = _key(parts, used + 1, size)
        at = _slot(_ideal(key, size, slots), key, parts, used + 1, size, slots, parts, places)
        slots[at].key = key
        slots[at].first = label
        slots[at].rest = (starts[k + 1] - label) << 4 | min(size, 9)
        if size > _EIGHT:
            places[label] = used
            used += 1 + ((size + 7) >> 3)


def index(symbols: Symbols, starts: npt.NDArray[np.int64]) -> Index:
    """The index of T; `starts` is the first label of every lowercase word, and V + 1 (`symbols.check`)."""
    table = Index(
        np.zeros(1 << max(4, int(2 * starts.size - 1).bit_length()), SLOT),
        np.empty(symbols.data.size * 3 // 16 + 2 * starts.size + 2, np.uint64),
        np.empty(len(symbols), np.int64),
    )
    word = np.empty(np.diff(symbols.offsets).max() * 3 // 2, np.uint8)
    _build(symbols.data, symbols.offsets, starts, word, INFO, TO_LOWER, *table)
    return table


@kernel
def is_joined(buf, start, end, size, info):  # type: ignore[no-untyped-def]
    """Whether a cased letter is joined to buf[start:end] by IGNORABLE characters only, so that the lowercase of a
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


@kernel
def _has_sigma(data, offsets, first, forms):  # type: ignore[no-untyped-def]
    found = False
    for i in range(offsets[first], offsets[first + forms] - 1):
        found |= data[i] == 0xCE and data[i + 1] == 0xA3
    return found


@kernel
def _spell(buf, size, plain, start, end, kind, info, lower_table, lowered, word, found, place):  # type: ignore[no-untyped-def]
    """Writes a token as the LM knows it, in lowercase, to found[place:]; its length, and whether it is ASCII."""
    if kind == WORD or kind == COMPOUND:
        every = np.uint64(0)
        for i in range(start, end, _EIGHT):
            part = _eight(buf, i, end)
            every |= part
            found[place + ((i - start) >> 3)] = _canonical_eight(part, plain)
        if every & _HIGH == np.uint64(0):
            return end - start, True
        length = lower_into(buf, start, end, 0, size, lowered, 0, info, lower_table)
        if plain:
            for i in range(length):
                word[i] = lowered[i]
        else:
            length = canonical(lowered, 0, length, kind, word)
    else:
        length = canonical(buf, start, end, kind, word)
    for i in range(0, length, _EIGHT):
        found[place + (i >> 3)] = _eight(word, i, length)
    return length, False


@allocating
def _match(buf, size, plain, starts, ends, kinds, n, first, forms,  # type: ignore[no-untyped-def]
           data, offsets, info, lower_table, slots, parts, places):  # fmt: skip
    """Fills first[i], forms[i]: token i has the surface forms first[i] … first[i] + forms[i] − 1.

    Compounds that the model knows take the place of their parts, the others go; returns the number of tokens left.
    """
    longest = 8
    for i in range(n):
        longest = max(longest, ends[i] - starts[i])
    lowered, word = np.empty(longest * 3 // 2 + 8, np.uint8), np.empty(longest * 3 // 2 + 8, np.uint8)
    found = np.empty(size // 2 + 2 * _BLOCK, np.uint64)
    place, length = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    key, at = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.int64)
    ascii_only = np.empty(_BLOCK, np.bool_)
    j = 0
    covered = 0  # by a compound
    for block in range(0, n, _BLOCK):
        used = np.int64(0)
        for i in range(block, min(n, block + _BLOCK)):
            if kinds[i] == NEWLINE:
                continue
            b = i - block
            place[b] = used
            width = ends[i] - starts[i]
            part = _eight(buf, starts[i], ends[i])
            if width <= _EIGHT and part & _HIGH == np.uint64(0) and (kinds[i] == WORD or width == 1):
                length[b], ascii_only[b] = width, True
                backtick = part == np.uint64(96) and kinds[i] != WORD
                key[b] = np.uint64(39) if backtick else _canonical_eight(part, plain)
            else:
                length[b], ascii_only[b] = _spell(
                    buf, size, plain, starts[i], ends[i], kinds[i], info, lower_table, lowered, word, found, used
                )
                used += (length[b] + 7) >> 3
                key[b] = _key(found, place[b], length[b])
            at[b] = _ideal(key[b], length[b], slots)
            prefetch(slots, at[b])
        for i in range(block, min(n, block + _BLOCK)):
            s, e, kind = starts[i], ends[i], kinds[i]
            if kind == NEWLINE:
                starts[j], ends[j], kinds[j], first[j], forms[j] = s, e, kind, 0, 0
                j += 1
                continue
            if s < covered:
                continue
            b = i - block
            slot = at[b]
            if length[b] > _EIGHT or slots[slot].key != key[b] or slots[slot].rest & np.uint32(15) != length[b]:
                slot = _slot(slot, key[b], found, place[b], length[b], slots, parts, places)
            label, number = slots[slot].first, slots[slot].rest >> np.uint32(4)
            if not ascii_only[b] and _has_sigma(data, offsets, label, number) and is_joined(buf, s, e, size, info):
                label, number = np.uint32(0), np.uint32(0)
            if kind == COMPOUND:
                if number == 0:
                    continue
                covered = e
            starts[j], ends[j], kinds[j], first[j], forms[j] = s, e, kind, label, number
            j += 1
    return j


class Words(NamedTuple):
    """The words of a buffer, line ends among them: word i is buf[starts[i]:ends[i]], and its surface forms are the
    labels first_labels[i] … first_labels[i] + n_forms[i] − 1."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    token_types: npt.NDArray[np.uint8]
    first_labels: npt.NDArray[np.uint32]
    n_forms: npt.NDArray[np.uint32]


ArcCosts = npt.NDArray[np.float32]
"""What the surface forms of each word cost beside the LM (−ln): one cost for each form, word after word."""


class CasingCosts(NamedTuple):
    """What the context model says of a text's words; all None without one."""

    arc_costs: ArcCosts | None = None
    shapes: npt.NDArray[np.uint8] | None = None
    """[n]: the shape in which a word is written that is in its most frequent form, or OOV; or `shapes.AS_FORM`."""
    options: npt.NDArray[np.float32] | None = None
    """[n, N_SHAPES + 1]: what each word costs in each shape if the LM reads it as its most frequent form, or cannot
    read it, and what in that form itself; +inf if it is not written so. The least is its form's arc cost."""


Casing = tuple[float, npt.NDArray[np.uint32]]
"""A cost, and the label of each word of a line, 0 for OOV words."""


class Transducer:
    """S ∘ T for whole buffers: which surface forms each word of the text may have."""

    def __init__(self, symbols: Symbols, starts: npt.NDArray[np.int64], pretokenized: bool) -> None:
        self.symbols = symbols
        self.pretokenized = pretokenized
        self.index = index(symbols, starts)

    def words(self, buf: npt.NDArray[np.uint8]) -> Words:
        """The words of valid UTF-8, any number of lines."""
        types = (np.int64, np.int64, np.uint8, np.uint32, np.uint32)
        words = Words._make(np.empty(capacity(buf.size), t) for t in types)
        if self.pretokenized:
            n = scan_spaced(buf, buf.size, *words[:3])
        else:
            n = scan(buf, buf.size, INFO, *words[:3])
        n = _match(
            buf, buf.size, self.pretokenized, words.starts, words.ends, words.token_types, n, words.first_labels,
            words.n_forms, self.symbols.data, self.symbols.offsets, INFO, TO_LOWER, *self.index,
        )  # fmt: skip
        return Words._make(a[:n] for a in words)
