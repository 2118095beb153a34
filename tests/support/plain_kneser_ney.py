"""Reference implementation of the estimation: interpolated modified Kneser-Ney with dictionaries of tuples of words."""

import math
from collections import Counter

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from capfst.lm.levels import Level

BEGIN, END = "<s>", "</s>"
corpora = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), min_size=1, max_size=30)
WORDS = ["<unk>", *"abcdefg"]


def labels_of(corpus: list[list[str]]) -> npt.NDArray[np.uint32]:
    return np.array([n for line in corpus for n in (*(WORDS.index(word) + 1 for word in line), 0)], np.uint32)


def raw_counts(corpus: list[list[str]], order: int) -> list[Counter]:
    """Return a list whose item n counts the n-grams of order n, with <s> only as first word (not counted alone)."""
    counts: list[Counter] = [Counter() for _ in range(order + 1)]
    for line in corpus:
        words = [BEGIN, *line, END]
        for end in range(1, len(words)):
            for n in range(1, min(order, end + 1) + 1):
                counts[n][tuple(words[end - n + 1 : end + 1])] += 1
    return counts


def adjusted_counts(raw: list[Counter]) -> list[Counter]:
    """Count occurrences for the highest order and after <s>, and distinct preceding words for all other n-grams."""
    adjusted = [
        Counter(),
        *(Counter({g: c for g, c in level.items() if g[0] == BEGIN}) for level in raw[1:-1]),
        raw[-1],
    ]
    for n in range(2, len(raw)):
        for gram in raw[n]:
            adjusted[n - 1][gram[1:]] += 1
    return adjusted


def last_of_lmplz(corpus: list[list[str]], raw: list[Counter]) -> tuple[str, ...]:
    """Return the n-gram whose suffixes lmplz counts by occurrences: the last by the first positions of its words."""
    seen = [BEGIN, END, *dict.fromkeys(word for line in corpus for word in line)]
    longest = [gram for level in raw[1:] for gram in level if len(gram) == len(raw) - 1 or gram[0] == BEGIN]
    return max(longest, key=lambda gram: [seen.index(word) for word in reversed(gram)])


def discounts(counts: Counter) -> list[float]:
    n = [sum(value == k for value in counts.values()) for k in range(5)]
    if 0 in n[1:4]:
        return [0, 0.5, 1, 1.5]
    y = n[1] / (n[1] + 2 * n[2])
    amounts = [0, *(k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3))]
    return amounts if all(-1e-6 <= amount <= k for k, amount in enumerate(amounts)) else [0, 0.5, 1, 1.5]


def discounts_of(corpus: list[list[str]], order: int) -> list[list[float]]:
    """Return a list whose item n has the discounts of order n."""
    raw = raw_counts(corpus, order)
    adjusted = adjusted_counts(raw)
    last = last_of_lmplz(corpus, raw)
    for n in range(1, min(order, len(last))):
        adjusted[n][last[-n:]] = raw[n][last[-n:]]
    return list(map(discounts, adjusted))


def kneser_ney(corpus: list[list[str]], order: int) -> tuple[dict, dict]:
    """Return the probability of each n-gram, and the backoff weight of each context."""
    adjusted = adjusted_counts(raw_counts(corpus, order))
    amounts = discounts_of(corpus, order)
    prob: dict[tuple[str, ...], float] = {}
    gamma: dict[tuple[str, ...], float] = {}
    for n in range(1, order + 1):
        amount = amounts[n]
        total: Counter = Counter()
        freed: Counter = Counter()
        for gram, count in adjusted[n].items():
            total[gram[:-1]] += count
            freed[gram[:-1]] += amount[min(count, 3)]
        for context in total:
            gamma[context] = freed[context] / total[context]
        if n == 1:
            adjusted[1].update({(word,): 0 for word in WORDS})
        for gram, count in adjusted[n].items():
            below = prob[gram[1:]] if n > 1 else 1 / (len(WORDS) + 1)
            prob[gram] = (count - amount[min(count, 3)]) / total[gram[:-1]] + gamma[gram[:-1]] * below
    return prob, gamma


def grams_of(levels: list[Level], words: list[str] = WORDS) -> tuple[dict, dict]:
    """Return the probabilities and the backoff weights (except those that are 1) in levels, as `kneser_ney` does."""
    prob: dict[tuple[str, ...], float] = {}
    weight: dict[tuple[str, ...], float] = {}
    contexts = [()]
    for n, level in enumerate(levels):
        own = []
        for i, word in enumerate(level.word):
            history = contexts[level.prefix[i]] if n else ()
            prob[(*history, [END, *words][word])] = math.exp(-level.cost[i])
            own.append((*history, [BEGIN if n == 0 else END, *words][word]))
            if level.backoff[i]:
                weight[own[-1]] = math.exp(-level.backoff[i])
        contexts = own
    return prob, weight
