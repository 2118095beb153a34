"""Discounts of modified Kneser-Ney smoothing, the same as lmplz's.

In: how many n-grams of an order have the adjusted counts 1, 2, 3, 4. Out: what to subtract from the counts
1, 2 and 3 or more: equation (26) in Chen & Goodman (1999).
"""

import numpy as np
import numpy.typing as npt

from capfst.corpus.labels import pieces

FALLBACK = (0.5, 1.0, 1.5)
"""lmplz's --discount_fallback, where the closed form fails: small or artificial text."""


def discounts(counts_of_counts: npt.NDArray) -> npt.NDArray:
    """float64[4], the discount of a count of 0, 1, 2, 3 or more. counts_of_counts: int64[5], [0] is not looked at.

    Worked out in single precision as lmplz does, so that both fall back in the same cases.
    """
    n = counts_of_counts.astype(np.float32)
    if (n[1:4] == 0).any():
        return np.array((0.0, *FALLBACK))
    y = n[1] / np.float32(counts_of_counts[1] + 2.0 * counts_of_counts[2])
    amounts = [np.float32(j) - np.float32(j + 1) * y * n[j + 1] / n[j] for j in (1, 2, 3)]
    if any(not 0 <= amount <= j for j, amount in enumerate(amounts, 1)):
        return np.array((0.0, *FALLBACK))
    return np.array((0.0, *amounts), np.float64)


def follow_lmplz(labels: npt.NDArray, first_places: npt.NDArray, counts_of_counts: npt.NDArray) -> None:
    """Counts the last n-gram of each lower order by its occurrences instead of its adjusted count.

    A slip of lmplz (at the end of AdjustCounts::Run), which changes the discounts of small texts. Its last
    n-gram is the one that ends in the word seen last for the first time, before that the latest such word
    among those before it, and so on. first_places: int64[V + 1], where each label occurs first.
    """
    word = newest_word(first_places)
    start = max(0, int(first_places[word]))
    places = start + np.flatnonzero(np.concatenate([piece == word for piece, _ in pieces(labels, begin=start)]))
    places = places[:, None] - np.arange(1, len(counts_of_counts) - 1)
    recount(np.where(places < 0, 0, labels[np.maximum(places, 0)]), first_places, counts_of_counts)


def newest_word(first_places: npt.NDArray) -> int:
    """The word that is seen last for the first time. first_places: int64[V + 1], any numbers in this order."""
    first_places[0] = -1  # </s> and <s> come before all words
    return int(np.argmax(first_places))


def recount(before: npt.NDArray, first_places: npt.NDArray, counts_of_counts: npt.NDArray) -> None:
    """As `follow_lmplz`. before[i, n − 1]: the word n places before the i-th occurrence of `newest_word`; what is
    before a 0 does not matter."""
    for n in range(1, len(counts_of_counts) - 1):
        words = before[:, n - 1]
        adjusted, occurrences = len(np.unique(words)), len(words)
        for count, change in ((adjusted, -1), (occurrences, 1)):
            if count < 5:
                counts_of_counts[n, count] += change
        newest = words[np.argmax(first_places[words])]
        if newest == 0:
            break
        before = before[words == newest]
