"""Compute the discounts of modified Kneser-Ney smoothing, identical to lmplz's.

In: the number of n-grams of an order with the adjusted counts 1, 2, 3, 4. Out: the discounts of counts of 1, 2 and 3 or
more: equation (26) in Chen & Goodman (1999).
"""

import numpy as np
import numpy.typing as npt

from capfst.corpus.labels import pieces

FALLBACK = (0.5, 1.0, 1.5)
"""lmplz's --discount_fallback, for small or artificial text, where the closed form fails."""


def discounts(counts_of_counts: npt.NDArray) -> npt.NDArray:
    """Return float64[4], the discounts of counts of 0, 1, 2, 3 or more. counts_of_counts: int64[5], whose [0] is
    ignored.

    Computed in single precision, as in lmplz, so that both fall back in the same cases.
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
    """Count the last n-gram of each lower order by its occurrences instead of its adjusted count.

    This reproduces a bug of lmplz (at the end of AdjustCounts::Run), which changes the discounts of small texts. lmplz
    sorts words by first occurrence. So its last n-gram ends in the word that first occurs last; the word before that
    is, of the words that precede it, the one that first occurs last; and so on. first_places: int64[V + 1], the
    position of each label's first occurrence.
    """
    first_places[0] = -1  # </s> and <s> come before all words
    word = int(np.argmax(first_places))
    start = max(0, int(first_places[word]))
    positions = start + np.flatnonzero(np.concatenate([piece == word for piece, _ in pieces(labels, begin=start)]))
    for n in range(1, len(counts_of_counts) - 1):
        words = np.where(positions < n, 0, labels[np.maximum(positions - n, 0)])
        adjusted, occurrences = len(np.unique(words)), len(words)
        for count, change in ((adjusted, -1), (occurrences, 1)):
            if count < 5:
                counts_of_counts[n, count] += change
        newest = words[np.argmax(first_places[words])]
        if newest == 0:
            break
        positions = positions[words == newest]
