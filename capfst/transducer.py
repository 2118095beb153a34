"""T, the capitalization transducer: lowercase word → its surface forms, as ranges of labels.

T is implied by the symbol table, where the forms of a word stand together. In: the symbols of a model, then buffers
of text with their tokens. Out: for each token the range of its surface forms' labels; a word without any (OOV) has
the empty range 0, 0. Input of any casing is lowercased on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.characters import CASED, IGNORABLE, INFO, LOWER, decode, lower_into
from capfst.symbols import Symbols
from capfst.tokenize import COMPOUND, MARKS, NEWLINE, PROTECTED, canonical, capacity, scan, scan_spaced

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_EIGHT = 8


class Index(NamedTuple):
    """A hash table over lowercase words. A slot is empty (forms = 0) or a word: keys are its bytes, if they are 8 at
    most, or their hash."""

    keys: npt.NDArray[np.uint64]
    first: npt.NDArray[np.uint32]  # label of its most frequent form
    forms: npt.NDArray[np.uint32]  # how many forms it has; 0: the slot is empty
    sizes: npt.NDArray[np.int32]  # length of the word in bytes
    lowered: npt.NDArray[np.uint8]  # lowercase words of more than 8 bytes, end to end
    places: npt.NDArray[np.int64]  # where such a word starts in `lowered`


@njit(cache=True, nogil=True)
def _key(word, size):  # type: ignore[no-untyped-def]
    """Words of up to 8 bytes are their own key (with their length); longer ones are hashed and compared."""
    key = np.uint64(0)
    if size <= _EIGHT:
        for i in range(size):
            key |= np.uint64(word[i]) << np.uint64(8 * i)
        return key
    for i in range(size):
        key = (key ^ np.uint64(word[i])) * _PRIME
        key ^= key >> np.uint64(32)
    return key


@njit(cache=True, nogil=True)
def _slot(word, size, key, keys, first, forms, sizes, lowered, places):  # type: ignore[no-untyped-def]
    mask = np.uint64(keys.size - 1)
    at = (key + np.uint64(size)) * _PRIME
    at = (at ^ at >> np.uint64(32)) & mask
    while forms[at] != 0:
        if keys[at] == key and sizes[at] == size:
            same = True
            if size > _EIGHT:
                place = places[at]
                for i in range(size):
                    if lowered[place + i] != word[i]:
                        same = False
                        break
            if same:
                break
        at = (at + np.uint64(1)) & mask
    return np.int64(at)


@njit(cache=True, nogil=True)
def _build(data, offsets, starts, info, lower_table, keys, first, forms, sizes, lowered, places):  # type: ignore[no-untyped-def]
    longest = 0
    for label in range(1, offsets.size - 1):
        longest = max(longest, offsets[label + 1] - offsets[label])
    word = np.empty(longest * 3 // 2 + 8, np.uint8)
    used = 0
    for k in range(starts.size - 1):
        label = starts[k]
        start, end = offsets[label], offsets[label + 1]
        size = lower_into(data, start, end, start, end, word, 0, info, lower_table)
        key = _key(word, size)
        at = _slot(word, size, key, keys, first, forms, sizes, lowered, places)
        keys[at], first[at], forms[at], sizes[at] = key, label, starts[k + 1] - label, size
        if size > _EIGHT:
            lowered[used : used + size] = word[:size]
            places[at] = used
            used += size


def index(symbols: Symbols, starts: npt.NDArray[np.int64]) -> Index:
    """The index of T; `starts` is the first label of every lowercase word, and V + 1 (`symbols.check`)."""
    slots = 1 << max(4, int(2 * starts.size - 1).bit_length())
    table = Index(
        np.zeros(slots, np.uint64),
        np.zeros(slots, np.uint32),
        np.zeros(slots, np.uint32),
        np.zeros(slots, np.int32),
        np.empty(symbols.data.size * 3 // 2 + 8, np.uint8),
        np.zeros(slots, np.int64),
    )
    _build(symbols.data, symbols.offsets, starts, INFO, LOWER, *table)
    return table


@njit(cache=True, nogil=True)
def _is_joined(buf, start, end, size, info):  # type: ignore[no-untyped-def]
    """Whether a cased letter is joined to buf[start:end] by IGNORABLE characters only, so that the lowercase of a
    capital sigma in the token could depend on what stands outside it."""
    i = start
    while i > 0:
        i -= 1
        while i > 0 and buf[i] & 0xC0 == 0x80:
            i -= 1
        flags = info[decode(buf, i, size)[0]]
        if not flags & IGNORABLE:
            if flags & CASED:
                return True
            break
    i = end
    while i < size:
        code, i = decode(buf, i, size)
        flags = info[code]
        if not flags & IGNORABLE:
            return flags & CASED != 0
    return False


@njit(cache=True, nogil=True)
def _has_sigma(data, offsets, first, forms):  # type: ignore[no-untyped-def]
    found = False
    for i in range(offsets[first], offsets[first + forms] - 1):
        found |= data[i] == 0xCE and data[i + 1] == 0xA3
    return found


@njit(cache=True, nogil=True)
def _match(buf, size, plain, starts, ends, kinds, n, first, forms, scratch,  # type: ignore[no-untyped-def]
           data, offsets, info, lower_table, keys, t_first, t_forms, t_sizes, lowered, places):  # fmt: skip
    """Fills first[i], forms[i]: token i has the surface forms first[i] … first[i] + forms[i] − 1.

    Compounds that the model knows take the place of their parts, the others go; returns the number of tokens left.
    """
    word = np.empty(scratch.size, np.uint8)
    j = 0
    i = 0
    while i < n:
        s, e, kind = starts[i], ends[i], kinds[i]
        length = 0
        ascii_only = True
        if kind == PROTECTED or kind == MARKS:
            length = canonical(buf, s, e, kind, word)
        elif kind != NEWLINE:
            for k in range(s, e):
                b = buf[k]
                if b >= 128:
                    ascii_only = False
                    break
                if 65 <= b <= 90:
                    b |= np.uint8(32)
                elif 48 <= b <= 57 and not plain:
                    b = np.uint8(48)
                word[k - s] = b
            length = e - s
            if not ascii_only:
                length = lower_into(buf, s, e, 0, size, scratch, 0, info, lower_table)
                if plain:
                    word[:length] = scratch[:length]
                else:
                    length = canonical(scratch, 0, length, kind, word)
        starts[j], ends[j], kinds[j] = s, e, kind
        first[j] = 0
        forms[j] = 0
        if length > 0:
            at = _slot(word, length, _key(word, length), keys, t_first, t_forms, t_sizes, lowered, places)
            if t_forms[at] > 0:
                first[j], forms[j] = t_first[at], t_forms[at]
                if (
                    not ascii_only
                    and _has_sigma(data, offsets, first[j], forms[j])
                    and _is_joined(buf, s, e, size, info)
                ):
                    first[j], forms[j] = 0, 0
        i += 1
        if kind == COMPOUND:
            if forms[j] == 0:
                continue
            while i < n and ends[i] <= e:
                i += 1
        j += 1
    return j


class Words(NamedTuple):
    """The words of a buffer, line ends among them: byte offsets, kinds, and the surface forms first … first + forms −
    1."""

    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]
    first: npt.NDArray[np.uint32]
    forms: npt.NDArray[np.uint32]


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
        longest = int((words.ends[:n] - words.starts[:n]).max(initial=8))
        n = _match(
            buf, buf.size, self.pretokenized, words.starts, words.ends, words.kinds, n, words.first, words.forms,
            np.empty(longest * 3 // 2 + 8, np.uint8), self.symbols.data, self.symbols.offsets, INFO, LOWER, *self.index,
        )  # fmt: skip
        return Words._make(a[:n] for a in words)
