"""The symbol table: label ↔ surface form, as arrays, and in OpenFst's format.

In: surface forms sorted by (lowercase form, −count), or the bytes of a table in a mapped file. Out: `Symbols`, or those
bytes. Label 0 is `<epsilon>`, labels 1..V are the surface forms; the forms of one lowercase word are a range of labels.
An entry in the file: length (int32), UTF-8, key (int64), little-endian.
"""

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from capfst.exceptions import ModelError, quantity
from capfst.forks import cached
from capfst.kernels import count_ones, get_eight, inner, kernel, put_eight
from capfst.kernels.types import I32Array, I64Array, U8Array, U64Array, U64Matrix, i64, u8, u64
from capfst.system.sparse import sparse
from capfst.text.language import DEFAULT, Language
from capfst.text.strings import Strings, is_same
from capfst.text.unicode import GROWTH, Lowering, is_small, lower_bytes, put_lowered

EPSILON = "<epsilon>"
UNKNOWN = "<unk>"  # the surface form of all OOV words
ENTRY = 4 + 8  # bytes of a table's entry besides its symbol
_PAIRWISE = 64  # the kernel compares a form with at most this many before it


class DamagedModelError(ModelError):
    """A file that is not a complete, unchanged model; `reason` is the evidence."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the file is damaged: {reason}. Copy it again, or train the model again.")


@dataclass(frozen=True)
class Symbols:
    """The symbols of labels 0..V: symbol l is the UTF-8 in data[offsets[l]:offsets[l + 1]]."""

    data: U8Array  # all symbols, one after the other
    offsets: I64Array  # [V + 2]
    language: Language = DEFAULT  # of the lowercase forms

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", self.offsets.astype(np.int64, copy=False))

    @classmethod
    def from_words(cls, words: Iterable[str], language: Language = DEFAULT) -> "Symbols":
        """Build the table of `<epsilon>` and these surface forms, with labels 1, 2, …"""
        return cls(*Strings.of(word.encode() for word in (EPSILON, *words)), language)

    @property
    def strings(self) -> Strings:
        """The symbols, for kernels."""
        return Strings(self.data, self.offsets)

    def __len__(self) -> int:
        """V + 1: `<epsilon>` counts."""
        return len(self.offsets) - 1

    def utf8(self, label: int) -> bytes:
        """Return a symbol as UTF-8; IndexError unless 0 ≤ label ≤ V."""
        if not 0 <= label < len(self):
            raise IndexError(f"there is no label {label}")
        return self.strings.utf8(label)

    def lowercase(self, label: int) -> bytes:
        """Return the lowercase form of a symbol."""
        return lower_bytes(self.utf8(label), self.language.lowering)

    def __getitem__(self, label: int) -> str:
        return self.utf8(label).decode()

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    @cached
    def small_forms(self) -> U8Array:
        """One bit per label, the lowest of each byte first: set if the form is certainly ASCII without capitals, and
        for label 0."""
        small = np.zeros(len(self) // 8 + 1, np.uint8)
        small[0] = 1
        _mark_small(self.strings, small)
        return small

    def forms(self, word: str, starts: I32Array) -> range:
        """Return T(word): the labels of the surface forms of a lowercase word; `starts` as from `check`."""
        key = word.encode()
        entry = bisect.bisect_left(starts[:-1], key, key=self.lowercase)
        if entry == len(starts) - 1 or self.lowercase(starts[entry]) != key:
            return range(0)
        return range(int(starts[entry]), int(starts[entry + 1]))

    def words(self, starts: I32Array) -> list[bytes]:
        """Return the lowercase words in order; `starts` as from `check`."""
        forms = b"\n".join(map(self.strings.utf8, starts[:-1].tolist()))
        return lower_bytes(forms, self.language.lowering).split(b"\n")

    def first_labels_of(self, words: Iterable[bytes], starts: I32Array) -> I32Array:
        """Return the first label of each lowercase word; 0 if it has no surface form. `starts` as from `check`."""
        labels = dict(zip(self.words(starts), starts[:-1].tolist(), strict=True))
        return np.array([labels.get(word, 0) for word in words], np.int32)


@kernel
def _mark_small(symbols: Strings, small: U8Array) -> None:
    data, offsets = symbols
    for label in range(1, len(offsets) - 1):
        small[label >> 3] |= u8(is_small(data, offsets[label], offsets[label + 1])) << (label & 7)


@kernel
def _unpack(buffer: U8Array, i: i64, symbols: Strings) -> i64:
    """Fill `symbols` from the entries at buffer[i:]; return the position after the last entry, or −1 − label of a bad
    one.

    symbols.data must be 8 bytes longer than buffer[i:] without the lengths and keys.
    """
    data, offsets = symbols
    offsets[0] = 0
    for label in range(len(offsets) - 1):
        begin, length = offsets[label], i64(get_eight(buffer, i) & u64(0xFFFFFFFF))
        if length > len(data) - 8 - begin or get_eight(buffer, i + 4 + length) != u64(label):
            return -1 - label
        for k in range(0, length, 8):  # the next symbol overwrites the excess
            put_eight(data, begin + k, get_eight(buffer, i + 4 + k))
        i += ENTRY + length
        offsets[label + 1] = begin + length
    return i


@inner
def _order(one: U64Array, one_size: i64, two: U64Array, two_size: i64) -> i64:
    """Compare two words, given as uint64 of eight bytes each and their sizes in bytes: return a number below 0 if `one`
    comes first, 0 if they are equal, above 0 otherwise."""
    for k in range(min(one_size, two_size) + 7 >> 3):
        differ = one[k] ^ two[k]
        if differ != 0:
            first = u64(count_ones(i64((differ & (~differ + u64(1))) - u64(1))) & ~7)
            return i64(one[k] >> first & u64(255)) - i64(two[k] >> first & u64(255))
    return one_size - two_size


@kernel
def _find_words(symbols: Strings, starts: I32Array, parts: U64Matrix, scratch: U8Array, lowering: Lowering) -> i64:
    """Fill `starts` with the first label of each lowercase word, and V + 1.

    `parts` (two words as uint64 of eight bytes) and `scratch` (one word) are work space. Returns the number of words,
    or −label of a symbol that is out of order or repeated.
    """
    data, offsets = symbols
    words, before_size = 0, 0
    for label in range(1, len(offsets) - 1):
        before, now = parts[label - 1 & 1], parts[label & 1]
        start, end = offsets[label], offsets[label + 1]
        size = put_lowered(data, start, end, now, 0, scratch, lowering)
        order = -1 if label == 1 else _order(before, before_size, now, size)
        if order > 0:
            return -label
        if order < 0:
            starts[words] = label
            words += 1
        else:
            for other in range(max(starts[words - 1], label - _PAIRWISE), label):
                if is_same(data, start, end, data, offsets[other], offsets[other + 1]):
                    return -label
        before_size = size
    starts[words] = len(offsets) - 1
    return words


def pack(symbols: Symbols) -> U8Array:
    """Return the table's entries in the file's format."""
    n, size = len(symbols), len(symbols.data) + ENTRY * len(symbols)
    out, is_symbol = np.empty(size, np.uint8), np.ones(size, np.bool_)
    begins, ends = (offsets + ENTRY * np.arange(n) for offsets in (symbols.offsets[:-1], symbols.offsets[1:] + 4))
    for first, numbers in (begins, np.diff(symbols.offsets).astype("<i4")), (ends, np.arange(n, dtype="<i8")):
        for k, byte in enumerate(numbers.view(np.uint8).reshape(n, -1).T):
            out[first + k], is_symbol[first + k] = byte, False
    out[is_symbol] = symbols.data
    return out


def unpack(buffer: U8Array, start: int, size: int) -> tuple[Symbols, int]:
    """Read the table of `size` entries at buffer[start:], whose keys must be 0, 1, …; return it and the position after
    it."""
    if not 2 <= size <= (len(buffer) - start) // ENTRY:
        raise DamagedModelError(
            f"its symbol table cannot have {quantity(size, 'symbol')} in {quantity(len(buffer) - start, 'byte')}"
        )
    data = sparse(len(buffer) - start - ENTRY * size + 8, np.uint8)  # the rest of the file may exceed memory
    strings = Strings(data, np.empty(size + 1, np.int64))
    after = _unpack(buffer, start, strings)
    if after < 0:
        raise DamagedModelError(f"the entry of label {-1 - after} in its symbol table cannot be read")
    return Symbols(strings.data[: strings.offsets[-1]].copy(), strings.offsets), after


def first_labels(symbols: Symbols) -> I32Array:
    """Return int32[words + 1]: the first label of each lowercase word, then V + 1. The symbols must be valid UTF-8.

    Raises:
        DamagedModelError: they are out of order, or repeated.
    """
    starts = np.empty(len(symbols), np.int32)
    longest = np.diff(symbols.offsets).max() * GROWTH + 8
    parts, scratch = np.empty((2, longest // 8), np.uint64), np.empty(longest, np.uint8)
    words = _find_words(symbols.strings, starts, parts, scratch, symbols.language.lowering)
    if words < 0:
        raise DamagedModelError(f"symbol {-words} ({symbols[-words][:80]!r}) is out of order or repeated")
    return starts[: words + 1].copy()


def check(symbols: Symbols) -> I32Array:
    """Check the symbols, and return the same as `first_labels`.

    Raises:
        DamagedModelError: the first symbol is not `<epsilon>`; or the symbols are not non-empty, UTF-8, distinct, and
            sorted by the bytes of their lowercase forms.
    """
    data, offsets = symbols.data, symbols.offsets
    lengths = np.diff(offsets)
    empty = np.flatnonzero(lengths <= 0)
    if len(empty):
        raise DamagedModelError(f"symbol {empty[0]} is empty")
    try:
        str(data.data, "utf-8")
    except UnicodeDecodeError as error:
        label = np.searchsorted(offsets, error.start, "right") - 1
        raise DamagedModelError(f"symbol {label} is not UTF-8") from None
    # Each symbol is valid if all the data is, and no symbol begins inside a character.
    torn = np.flatnonzero(data[offsets[:-1]] & 0xC0 == 0x80)
    if len(torn):
        raise DamagedModelError(f"symbol {torn[0]} is not UTF-8")
    if symbols.utf8(0) != EPSILON.encode():
        raise DamagedModelError(f"symbol 0 is not {EPSILON}")
    starts = first_labels(symbols)
    for word in np.flatnonzero(np.diff(starts) > _PAIRWISE):
        forms = [symbols.utf8(label) for label in range(starts[word], starts[word + 1])]
        if len(set(forms)) < len(forms):
            raise DamagedModelError(f"a form of the word {symbols[starts[word]][:80]!r} is repeated")
    # The lowercase of symbol 0 is that of any `<epsilon>`, also with a grammar that changes its letters.
    if EPSILON in map(symbols.__getitem__, symbols.forms(symbols.lowercase(0).decode(), starts)):
        raise DamagedModelError(f"{EPSILON} is among its words")
    return starts
