"""What the context model knows of a word: hashes of the word and its affixes, and in which shapes the corpus had it.

In: lowercase words as UTF-8, as the LM writes them; a labelled corpus. Out: hashes; counts by shape; and `evidence`,
counts in a nutshell, which is the same for words of the same habits, so that what is learned of one holds for all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.names import pattern
from capfst.casing.shapes import N_SHAPES, Shape
from capfst.corpus.labels import pieces
from capfst.fst.symbols import Symbols
from capfst.system.kernels import allocating, kernel
from capfst.text.unicode import INFO, LETTER, TO_LOWER, decode, lower_into

LONGEST = 5  # characters of an affix
WHOLE, PREFIX, SUFFIX, OUTLINE, FRAME = 0, 1, 1 + LONGEST, 1 + 2 * LONGEST, 2 + 2 * LONGEST
HASHES = 3 + 2 * LONGEST
"""Of a word: itself, its first 1 … 5 characters, its last 1 … 5, its outline (which kinds of characters follow each
other, and the pattern it has as a name or code), its frame (length, and whether it has a vowel)."""

UNSEEN = 0
BEGIN, END, BARE = 150, 151, 152
"""Evidence of no word: the line's begin and end, and what has no case."""

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_VOWELS = np.frombuffer(b"aeiouy", np.uint8)


@kernel
def mixed(a, b):  # type: ignore[no-untyped-def]
    """A hash of two numbers; its low bits depend on both. Two small numbers instead of two others are another hash."""
    h = (np.uint64(a) * _PRIME ^ (np.uint64(b) + _PRIME)) * np.uint64(0xFF51AFD7ED558CCD)
    return h ^ h >> np.uint64(32)


@kernel
def _hash(text, start, end, seed):  # type: ignore[no-untyped-def]
    h = np.uint64(seed)
    for i in range(start, end):
        h = (h ^ np.uint64(text[i])) * _PRIME
        h ^= h >> np.uint64(29)
    return mixed(h, end - start)


@kernel
def describe(text, start, end, info, hashes):  # type: ignore[no-untyped-def]
    """Fills hashes[HASHES] of the lowercase word text[start:end]; 0 for affixes that it is too short for."""
    hashes[WHOLE] = _hash(text, start, end, 1)
    hashes[PREFIX : PREFIX + 2 * LONGEST] = 0
    outline, before, length, vowel = np.uint64(3), np.int64(-1), 0, 0
    i = start
    while i < end:
        code, i = decode(text, i, end)
        length += 1
        if length <= LONGEST:
            hashes[PREFIX + length - 1] = _hash(text, start, i, 1 + length)
        for v in _VOWELS:
            vowel |= code == v
        if info[code] & 7 == LETTER:
            code = np.int64(97 if code < 128 else 128)
        if code != before:
            outline = mixed(outline, code)
            before = code
    k = end
    for n in range(1, min(LONGEST, length) + 1):
        k -= 1
        while text[k] & 0xC0 == 0x80:
            k -= 1
        hashes[SUFFIX + n - 1] = _hash(text, k, end, 1 + LONGEST + n)
    hashes[OUTLINE] = mixed(outline, pattern(text, start, end))
    hashes[FRAME] = mixed(4 + vowel, min(length, 8))


@kernel
def usual(counts):  # type: ignore[no-untyped-def]
    """Counts by shape → the most frequent shape, and how many there are in all."""
    most, n = 0, np.int64(0)
    for shape in range(N_SHAPES):
        n += counts[shape]
        if counts[shape] > counts[most]:
            most = shape
    return most, n


@kernel
def evidence(counts):  # type: ignore[no-untyped-def]
    """Counts by shape → 0 if there are none, else 1 … 120: the most frequent shape, how pure, how often."""
    most, n = usual(counts)
    if n == 0:
        return UNSEEN
    share = counts[most] / n
    purity = 0 if share == 1 else 1 if share > 0.98 else 2 if share > 0.9 else 3 if share > 0.7 else 4
    often = 0 if n == 1 else 1 if n == 2 else 2 if n <= 5 else 3 if n <= 20 else 4 if n <= 100 else 5
    return 1 + (most * 5 + purity) * 6 + often


@kernel
def coarse(e):  # type: ignore[no-untyped-def]
    """Evidence in 25 values: the shape, whether pure, whether rare."""
    if e == UNSEEN or e >= BEGIN:
        return 0
    often = (e - 1) % 6
    return 1 + ((e - 1) // 30 * 2 + ((e - 1) // 6 % 5 > 1)) * 3 + (0 if often == 0 else 1 if often < 3 else 2)


@kernel
def coarser(e):  # type: ignore[no-untyped-def]
    """Evidence in 12 values: the shape, whether pure, or which kind of no word."""
    if e == UNSEEN:
        return 0
    if e >= BEGIN:
        return e - BEGIN + 9
    return 1 + (e - 1) // 30 * 2 + ((e - 1) // 6 % 5 > 1)


@allocating
def _describe_all(data, offsets, starts, info, lower_table, hashes):  # type: ignore[no-untyped-def]
    word = np.empty((offsets[1:] - offsets[:-1]).max() * 3 // 2 + 8, np.uint8)
    for k in range(starts.size - 1):
        start, end = offsets[starts[k]], offsets[starts[k] + 1]
        size = lower_into(data, start, end, start, end, word, 0, info, lower_table)
        describe(word, 0, size, info, hashes[k])


def described(symbols: Symbols, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """uint32[words, HASHES] of a model's lowercase words; `starts` as from `symbols.check`."""
    hashes = np.empty((len(starts) - 1, HASHES), np.uint32)
    _describe_all(symbols.data, symbols.offsets, starts, INFO, TO_LOWER, hashes)
    return hashes


@allocating
def _count(labels, word_of, shapes, begins, counts):  # type: ignore[no-untyped-def]
    for label in labels:
        if label == 0:
            begins = True
        elif shapes[label] != Shape.CASELESS:
            if not begins:
                counts[word_of[label], shapes[label]] += 1
            begins = False
    return begins


def habits(
    labels: npt.NDArray[np.uint32], word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int64]:
    """int64[words, N_SHAPES]: how often the corpus has each word in each shape, but for the first word of a sentence,
    whose shape tells nothing. word_of, shapes: by label."""
    counts = np.zeros((int(word_of.max()) + 1, N_SHAPES), np.int64)
    begins = True
    for piece, _ in pieces(labels):
        begins = _count(piece, word_of, shapes, begins, counts)
    return counts
