"""Reference implementation of the context model in plain Python: hashes, shape evidence, features, decisions."""

import math
from itertools import groupby
from typing import NamedTuple

import numpy as np

from capfst.casing.names import pattern
from capfst.casing.shapes import Shape
from capfst.context.features import FIRST_PASS_LEAD, NO_DECISION
from capfst.context.lexicon import BEGIN, END, LISTED, NO_CASE, UNSEEN
from capfst.text.unicode import INFO, LETTER

PRIME = 0x9E3779B97F4A7C15
BITS = 2**64 - 1
LOW = 2**32 - 1
SHAPES = range(4)


def hash_pair(a: int, b: int) -> int:
    h = (a * PRIME ^ b + PRIME) * 0xFF51AFD7ED558CCD & BITS
    return h ^ h >> 32


def hash_bytes(text: str, seed: int) -> int:
    h = seed
    for byte in text.encode():
        h = (h ^ byte) * PRIME & BITS
        h ^= h >> 29
    return hash_pair(h, len(text.encode()))


def hash_word(word: str) -> list[int]:
    """Return the hashes of the word, its first 1 … 5 characters, its last 1 … 5, outline and frame, and its first 12
    trigrams."""
    sizes = range(1, 6)
    first = [hash_bytes(word[:n], 1 + n) if n <= len(word) else 0 for n in sizes]
    last = [hash_bytes(word[-n:], 6 + n) if n <= len(word) else 0 for n in sizes]
    codes = [(97 if c < "\x80" else 128) if INFO[ord(c)] & 7 == LETTER else ord(c) for c in word]
    outline = 3
    for code, _ in groupby(codes):
        outline = hash_pair(outline, code)
    data = np.frombuffer(word.encode(), np.uint8)
    frame = hash_pair(4 + any(c in "aeiouy" for c in word), min(len(word), 8))
    hashes = [hash_bytes(word, 1), *first, *last, hash_pair(outline, pattern(data, 0, len(data))), frame]
    hashes += [hash_bytes(word[k : k + 3], 12) if k + 3 <= len(word) else 0 for k in range(12)]
    return [h & LOW for h in hashes]


def shape_evidence(counts: list[int]) -> int:
    n = sum(counts)
    if n == 0:
        return UNSEEN
    most = max(SHAPES, key=lambda shape: counts[shape])
    fraction = counts[most] / n
    impurity = [fraction == 1, fraction > 0.98, fraction > 0.9, fraction > 0.7, True].index(True)
    frequency = [n <= 1, n <= 2, n <= 5, n <= 20, n <= 100, True].index(True)
    return 1 + most * 30 + impurity * 6 + frequency


def evidence_parts(e: int) -> tuple[int, int, int]:
    """Return the shape, impurity and frequency in shape evidence."""
    if e >= LISTED:
        return (e - LISTED) // 7, min((e - LISTED) % 7, 4), 2
    return (e - 1) // 30, (e - 1) // 6 % 5, (e - 1) % 6


def evidence_in_25(e: int) -> int:
    if e == UNSEEN or e >= BEGIN:
        return 0
    shape, impurity, frequency = evidence_parts(e)
    return 1 + shape * 6 + 3 * (impurity > 1) + [0, 1, 1, 2, 2, 2][frequency]


def evidence_in_12(e: int) -> int:
    if e >= BEGIN:
        return 9 + [BEGIN, END, NO_CASE].index(e)
    return 0 if e == UNSEEN else 1 + evidence_parts(e)[0] * 2 + (evidence_parts(e)[1] > 1)


class Token(NamedTuple):
    """As features.TOKEN."""

    word_hash: int
    suffix2_hash: int
    shape_evidence: int
    frequency_rank: int = 0
    position: int = 0
    lower_class: int = 0
    cased_class: int = 0
    language_evidence: int = 0
    embedding: int = 0


PADDING = [Token(END, END, END), *[Token(BEGIN, BEGIN, BEGIN)] * 3]


def padded(lines: list[list[Token]]) -> tuple[list[Token], list[list[int]]]:
    """Return all tokens with their padding, and the indices of those of each line."""
    every, indices = list(PADDING), []
    for line in lines:
        indices.append(list(range(len(every), len(every) + len(line))))
        every += [*line, *PADDING]
    return every, indices


def joined(*numbers: int) -> int:
    n = 0
    for number in numbers:
        n = n << 8 | number
    return n


def splitmix(number: int) -> int:
    """Return the value of SplitMix64 with this number, from the seed 0."""
    z = number * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def feature(template: int, rest: int = 0, **words: int) -> int:
    """Return the hash of a template's number and values: hashes of words or endings, by position; all others packed in
    one."""
    names = ["left3", "left2", "left", "own", "right", "right2", "right3", "suffix", "rest", "template", "language"]
    values = {**words, "rest": rest, "template": template}
    total = sum(values[name] * (splitmix(k) | 1) for k, name in enumerate(names, 101) if name in values)
    return total % 2**64 >> 32


def word_features(hashes: list[int], e: int, domain: int) -> list[int]:
    affixes = [feature(3, evidence_in_25(e), own=h) for h in hashes[1:13] if h]
    trigrams = []
    for h in filter(None, hashes[13:] if e == UNSEEN else []):
        trigrams += [feature(45, own=h), feature(46, domain, own=h)]
    return [feature(1, e), feature(2, own=hashes[0]), *affixes, *trigrams]


def numbered(first: int, listed: list[dict[str, int]]) -> list[int]:
    """Return a hash of each feature, given its values, with consecutive template numbers."""
    return [feature(k, **values) for k, values in enumerate(listed, first)]


def first_features(tokens: list[Token], t: int, domain: int) -> list[int]:
    near, it, after = tokens[t - 1 : t + 2]
    word, e, c = it.word_hash, it.shape_evidence, evidence_in_25(it.shape_evidence)
    listed = [
        *[{"own": word}, {"own": word, "left": near.word_hash}, {"own": word, "right": after.word_hash}],
        *[{"left": near.word_hash, "rest": c}, {"right": after.word_hash, "rest": c}],
        {"rest": joined(near.shape_evidence, e, after.shape_evidence)},
        {"rest": joined(domain, it.position, e), "language": it.language_evidence},
        {"own": word, "rest": domain},
    ]
    return numbered(70, listed)


def neighbor_features(tokens: list[Token], t: int, domain: int) -> list[int]:
    (farther, far, near, it, after, behind, beyond) = tokens[t - 3 : t + 4]
    x, y, x2, y2 = near.word_hash, after.word_hash, far.word_hash, behind.word_hash
    word, suffix = it.word_hash, it.suffix2_hash
    e, a, b = it.shape_evidence, near.shape_evidence, after.shape_evidence
    c, a1, b1 = evidence_in_25(e), evidence_in_12(a), evidence_in_12(b)
    around = tokens[t - 2 : t + 3]
    lower, cased = ([getattr(token, name) for token in around] for name in ("lower_class", "cased_class"))
    e12 = evidence_in_12(e)
    classes = [
        listed
        for k2, k1, own, l1, l2 in (lower, cased)
        for listed in ((k1, own, e12), (l1, own, e12), (k1, l1, 0, c), (k1, k2, c), (l1, l2, c))
    ]
    k2, k1, own, l1, l2 = lower
    d = domain if e != UNSEEN else 0
    own_word, w, s = {"own": word}, {"left": x}, {"right": y}
    w2, s2, ending, in_25 = {"left2": x2}, {"right2": y2}, {"suffix": suffix}, {"rest": c}
    in_domain, known = {"rest": joined(d, c)}, {"language": it.language_evidence}
    listed = [
        *[{**neighbor, **in_25} for neighbor in (w, s, w2, s2, {"left3": farther.word_hash})],
        {"right3": beyond.word_hash, **in_25},
        *[{**w, **own_word}, {**s, **own_word}],
        *[{**w, **w2, **in_25}, {**s, **s2, **in_25}, {**w, **s, **in_25}],
        *[{**w, **s, **own_word}, {**w, **w2, **own_word}, {**s, **s2, **own_word}],
        {**own_word, "rest": joined(k1, l1)},
        *[{**w, **ending}, {**s, **ending}, {**ending, "rest": b}],
        *[{"rest": joined(*f)} for f in ((a, e, b), (a1, b1, e))],
        {**known, "rest": joined(it.position, c)},
        *[{"rest": joined(*f)} for f in ((k1, k2, own), (l1, l2, own), *classes)],
        *[{**known, "rest": joined(d, e)}, {**own_word, "rest": d}],
        *[{**w, **in_domain}, {**s, **in_domain}, {**known, **ending, **in_domain}],
        {"rest": joined(d, own, a1)},
        {**known, "rest": joined(d, it.position, c)},
        {"rest": joined(d, a1, b1, c)},
    ]
    return numbered(4, listed)


def decision_features(tokens: list[Token], decisions: list[int], t: int, n_words: int, n_capitals: int) -> list[int]:
    it, d = tokens[t], decisions[t]
    word, left, right = (tokens[k].word_hash for k in (t, t - 1, t + 1))
    a, b = (16 + tokens[k].frequency_rank if tokens[k].frequency_rank else decisions[k] for k in (t - 1, t + 1))
    a2, b2, c = decisions[t - 2], decisions[t + 2], evidence_in_12(it.shape_evidence)
    fraction = 1 + 8 * (n_capitals - has_capitals(d)) // (n_words - 1) if n_words > 1 else 0
    listed = [
        *[{"rest": joined(*f)} for f in ((d,), (d, a), (d, b), (d, a, b), (d, a, a2), (d, b, b2), (c, a), (c, b))],
        *[{"own": word, "rest": a}, {"own": word, "rest": b}, {"own": word, "rest": joined(a, b)}],
        *[{"own": word, "left": left, "rest": a2}, {"own": word, "right": right, "rest": b2}],
        *[{"rest": joined(*f)} for f in ((d, fraction), (d, fraction, min(n_words - 1, 12)), (c, fraction))],
    ]
    return numbered(50, listed)


def leads(scores: list[float]) -> list[float]:
    """Return by how much each score exceeds the best of the others."""
    return [score - max(scores[:k] + scores[k + 1 :]) for k, score in enumerate(scores)]


def decision(scores: list[float]) -> int:
    best = max(SHAPES, key=lambda shape: scores[shape])
    if best == Shape.UPPER:
        return 8 if leads(scores)[best] > math.log(4) else 9
    if best > Shape.UPPER:
        return 10
    odds = [sign * math.log(p / (1 - p)) for p in (0.99, 0.9, 0.7) for sign in (1, -1)]
    return sum(leads(scores)[Shape.CAPITALIZED] <= bound for bound in (0, *odds))


def settled_decision(scores: list[float]) -> int:
    """Return the decision if the best score has the necessary lead, else NO_DECISION."""
    second, best = sorted(scores)[-2:]
    return (7, 0, 8, 10)[scores.index(best)] if best - second >= FIRST_PASS_LEAD else NO_DECISION


def has_capitals(d: int) -> bool:
    return d in (0, 1, 2, 3, 8, 9, 10)


def softmax(z: list[float]) -> list[float]:
    powers = [math.exp(x - max(z)) for x in z]
    return [power / sum(powers) for power in powers]
