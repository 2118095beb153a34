"""Plain-Python twins of the context model: hashes, evidence, features, decisions."""

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np

from capfst.casing.names import pattern
from capfst.casing.shapes import Shape
from capfst.context.words import BARE, BEGIN, END, UNSEEN
from capfst.text.unicode import INFO, LETTER

PRIME = 0x9E3779B97F4A7C15
BITS = 2**64 - 1
LOW = 2**32 - 1
SHAPES = range(4)


def mixed(a: int, b: int) -> int:
    h = (a * PRIME ^ b + PRIME) * 0xFF51AFD7ED558CCD & BITS
    return h ^ h >> 32


def hash_of(text: str, seed: int) -> int:
    h = seed
    for byte in text.encode():
        h = (h ^ byte) * PRIME & BITS
        h ^= h >> 29
    return mixed(h, len(text.encode()))


def describe(word: str) -> list[int]:
    """The word, its first 1 … 5 characters, its last 1 … 5, outline and frame."""
    sizes = range(1, 6)
    first = [hash_of(word[:n], 1 + n) if n <= len(word) else 0 for n in sizes]
    last = [hash_of(word[-n:], 6 + n) if n <= len(word) else 0 for n in sizes]
    codes = [(97 if c < "\x80" else 128) if INFO[ord(c)] & 7 == LETTER else ord(c) for c in word]
    outline = 3
    for code, _ in groupby(codes):
        outline = mixed(outline, code)
    data = np.frombuffer(word.encode(), np.uint8)
    frame = mixed(4 + any(c in "aeiouy" for c in word), min(len(word), 8))
    hashes = [hash_of(word, 1), *first, *last, mixed(outline, pattern(data, 0, len(data))), frame]
    return [h & LOW for h in hashes]


def evidence(counts: list[int]) -> int:
    n = sum(counts)
    if n == 0:
        return UNSEEN
    most = max(SHAPES, key=lambda shape: counts[shape])
    share = counts[most] / n
    purity = [share == 1, share > 0.98, share > 0.9, share > 0.7, True].index(True)
    often = [n <= 1, n <= 2, n <= 5, n <= 20, n <= 100, True].index(True)
    return 1 + most * 30 + purity * 6 + often


def parts(e: int) -> tuple[int, int, int]:
    """The shape, purity and frequency in evidence."""
    return (e - 1) // 30, (e - 1) // 6 % 5, (e - 1) % 6


def coarse(e: int) -> int:
    if e == UNSEEN or e >= BEGIN:
        return 0
    shape, purity, often = parts(e)
    return 1 + shape * 6 + 3 * (purity > 1) + [0, 1, 1, 2, 2, 2][often]


def coarser(e: int) -> int:
    if e >= BEGIN:
        return 9 + [BEGIN, END, BARE].index(e)
    return 0 if e == UNSEEN else 1 + parts(e)[0] * 2 + (parts(e)[1] > 1)


class Fact(NamedTuple):
    """As features.FACT."""

    word: int
    two: int
    evidence: int
    lead: int = 0
    place: int = 0
    small: int = 0
    capital: int = 0


BETWEEN = [Fact(END, END, END), Fact(BEGIN, BEGIN, BEGIN)]


def lines_of(facts: list[list[Fact]]) -> tuple[list[Fact], list[list[int]]]:
    """All facts with their margins, and where those of each line are."""
    every, places = list(BETWEEN), []
    for line in facts:
        places.append(list(range(len(every), len(every) + len(line))))
        every += [*line, *BETWEEN]
    return every, places


def packed(*numbers: int) -> int:
    n = 0
    for number in numbers:
        n = n << 8 | number
    return n


def own_features(hashes: list[int], e: int) -> list[int]:
    affixes = [mixed(mixed(3, h), coarse(e)) for h in hashes[1:] if h]
    return [mixed(1, e), mixed(2, hashes[0]), *affixes]


def numbered(first: int, listed: list[tuple[int, ...]]) -> list[int]:
    """A hash of each feature, of one or two numbers, and its own number."""
    return [mixed(mixed(k, f[0]), f[1]) if len(f) > 1 else mixed(k, f[0]) for k, f in enumerate(listed, first)]


def first_features(facts: list[Fact], t: int) -> list[int]:
    (far, near, it, after, behind) = facts[t - 2 : t + 3]
    x, y, x2, y2 = near.word, after.word, far.word, behind.word
    e, a, b = it.evidence, near.evidence, after.evidence
    c, a1, a2, b1, b2 = coarse(e), coarser(a), coarser(far.evidence), coarser(b), coarser(behind.evidence)
    small, capital = ([getattr(fact, name) for fact in facts[t - 2 : t + 3]] for name in ("small", "capital"))
    classes = [
        listed
        for k2, k1, own, l1, l2 in (small, capital)
        for listed in ((k1, own, coarser(e)), (l1, own, coarser(e)), (k1, l1, 0, c), (k1, k2, c), (l1, l2, c))
    ]
    listed = [
        *[(word,) for word in (x, y, x2, y2)],
        *[(word, c) for word in (x, y, x2, y2)],
        *[(x, it.word), (y, it.word), (x, x2), (y, y2), (x, y)],
        *[(mixed(x, x2), c), (mixed(y, y2), c), (mixed(x, y), c)],
        *[(x, it.two), (y, it.two), (it.two, b)],
        *[(packed(*f),) for f in ((a, e), (b, e), (a, e, b), (a2, a1, e), (b2, b1, e), (a1, b1, e), (it.place, c))],
    ]
    return [*numbered(10, listed), *numbered(40, [(packed(*f),) for f in classes])]


def second_features(facts: list[Fact], decisions: list[int], t: int, capitals: int, words: int) -> list[int]:
    it, d = facts[t], decisions[t]
    a, b = (16 + facts[k].lead if facts[k].lead else decisions[k] for k in (t - 1, t + 1))
    a2, b2, c = decisions[t - 2], decisions[t + 2], coarser(it.evidence)
    share = 1 + 8 * (capitals - is_capital(d)) // (words - 1) if words > 1 else 0
    listed = [
        *[(packed(*f),) for f in ((d,), (d, a), (d, b), (d, a, b), (d, a, a2), (d, b, b2), (c, a), (c, b))],
        *[(it.word, a), (it.word, b), (it.word, packed(a, b))],
        *[(mixed(it.word, facts[t - 1].word), a2), (mixed(it.word, facts[t + 1].word), b2)],
        *[(packed(*f),) for f in ((d, share), (d, share, min(words - 1, 12)), (c, share))],
    ]
    return numbered(50, listed)


def decision(p: list[float]) -> int:
    best = max(SHAPES, key=lambda shape: p[shape])
    if best == Shape.UPPER:
        return 8 if p[Shape.UPPER] > 0.8 else 9
    if best > Shape.UPPER:
        return 10
    return sum(p[Shape.CAPITALIZED] <= bound for bound in (0.99, 0.9, 0.7, 0.5, 0.3, 0.1, 0.01))


def is_capital(d: int) -> bool:
    return d in (0, 1, 2, 3, 8, 9, 10)


def softmax(z: list[float]) -> list[float]:
    powers = [math.exp(x - max(z)) for x in z]
    return [power / sum(powers) for power in powers]
