"""Classes of words that stand in the same places: months, surnames, verbs of saying, first parts of names.

In: labelled sentences. Out: a class for each label, so that what is learned of some surnames holds for the others. The
exchange algorithm (Martin, Liermann & Ney 1998) finds them: each surface form in turn moves to the class in which a
class bigram model gives the sentences the highest likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating, inner
from capfst.kernels.types import F64Array, I64Array, I64Matrix, f64, i64

BOUNDARY, RARE = 0, 1
"""Classes that no form enters or leaves: line ends, and forms too rare to be classed."""
N_CLASSES = 200
"""These two included; a class fits in a byte."""

_MIN_COUNT = 5  # occurrences of a form that is classed
_PASSES = 10
_MIN_MOVED = 0.005  # the share of forms that must have moved for another pass


class _Bigrams(NamedTuple):
    """The symbols on one side of each symbol: those of w are symbols[begins[w] : begins[w + 1]]."""

    begins: I64Array  # [symbols + 1]
    symbols: I64Array  # [bigrams]
    counts: I64Array  # how often the corpus has the bigram


class _ClassCounts(NamedTuple):
    """Class bigrams of the corpus."""

    pairs: I64Matrix  # [class, the next one]
    transposed: I64Matrix  # the same as [class, the previous one]; reading rows is fast
    sizes: I64Array  # occurrences of the symbols in each class


class _Symbol(NamedTuple):
    """The counts of one symbol: with each class behind it and before it (without itself); with itself; in all."""

    next: I64Array
    previous: I64Array
    itself: int
    total: int


@inner
def _nlogn(n: i64, table: F64Array) -> f64:
    """N ln N, from the table if it has that."""
    return table[n] if n < table.size else n * np.log(f64(n))


@inner
def _count_classes(following: _Bigrams, totals: I64Array, class_of: I64Array, counts: _ClassCounts) -> None:
    """Fills the counts of the classes, which are 0."""
    for w in range(totals.size):
        counts.sizes[class_of[w]] += totals[w]
        for k in range(following.begins[w], following.begins[w + 1]):
            c, d = class_of[w], class_of[following.symbols[k]]
            counts.pairs[c, d] += following.counts[k]
            counts.transposed[d, c] += following.counts[k]


@inner
def _neighbour_classes(bigrams: _Bigrams, w: i64, class_of: I64Array, counts: I64Array) -> i64:
    """Fills counts, int64[classes]: how often symbols of each class are on this side of w, without w itself. Returns
    how often w itself is there."""
    counts[:] = 0
    itself = 0
    for k in range(bigrams.begins[w], bigrams.begins[w + 1]):
        if bigrams.symbols[k] == w:
            itself += bigrams.counts[k]
        else:
            counts[class_of[bigrams.symbols[k]]] += bigrams.counts[k]
    return itself


@inner
def _add(counts: _ClassCounts, c: i64, symbol: _Symbol, sign: i64) -> None:
    """Adds a symbol to class c (sign 1), or takes it out (−1)."""
    for other in range(counts.sizes.size):
        counts.pairs[c, other] += sign * symbol.next[other]
        counts.transposed[other, c] += sign * symbol.next[other]
        counts.pairs[other, c] += sign * symbol.previous[other]
        counts.transposed[c, other] += sign * symbol.previous[other]
    counts.pairs[c, c] += sign * symbol.itself
    counts.transposed[c, c] += sign * symbol.itself
    counts.sizes[c] += sign * symbol.total


@inner
def _gains(counts: _ClassCounts, symbol: _Symbol, table: F64Array, gain: F64Array) -> None:
    """gain[c]: what the log-likelihood Σ_{c,d} N(c,d) ln N(c,d) − 2 Σ_c N(c) ln N(c) gains if the symbol, which is in
    no class, enters class c (Martin, Liermann & Ney 1998)."""
    n_classes = counts.sizes.size
    for c in range(n_classes):
        gain[c] = -2 * (_nlogn(counts.sizes[c] + symbol.total, table) - _nlogn(counts.sizes[c], table))
    for other in range(n_classes):
        if symbol.next[other] != 0:
            row, more = counts.transposed[other], symbol.next[other]
            for c in range(n_classes):
                gain[c] += _nlogn(row[c] + more, table) - _nlogn(row[c], table)
        if symbol.previous[other] != 0:
            row, more = counts.pairs[other], symbol.previous[other]
            for c in range(n_classes):
                gain[c] += _nlogn(row[c] + more, table) - _nlogn(row[c], table)
    for c in range(2, n_classes):
        # N(c,c) gains in both directions at once, which was taken for two pairs above.
        n, more, less = counts.pairs[c, c], symbol.next[c], symbol.previous[c]
        gain[c] += _nlogn(n + more + less + symbol.itself, table) + _nlogn(n, table)
        gain[c] -= _nlogn(n + more, table) + _nlogn(n + less, table)


@allocating
def _exchange(
    n_classes: i64, following: _Bigrams, preceding: _Bigrams, totals: I64Array, class_of: I64Array, table: F64Array
) -> None:
    """Moves symbols 2 … between the classes, class_of[symbols], in place. totals: occurrences of each symbol."""
    counts = _ClassCounts(
        np.zeros((n_classes, n_classes), np.int64),
        np.zeros((n_classes, n_classes), np.int64),
        np.zeros(n_classes, np.int64),
    )
    _count_classes(following, totals, class_of, counts)
    next_, previous = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    gain = np.empty(n_classes)
    for _ in range(_PASSES):
        moved = 0
        for w in range(2, totals.size):
            old = class_of[w]
            itself = _neighbour_classes(following, w, class_of, next_)
            _neighbour_classes(preceding, w, class_of, previous)
            symbol = _Symbol(next_, previous, itself, totals[w])
            _add(counts, old, symbol, -1)
            _gains(counts, symbol, table, gain)
            best = old
            for c in range(2, n_classes):
                if gain[c] > gain[best] + 1e-7:
                    best = c
            class_of[w] = best
            moved += best != old
            _add(counts, best, symbol, 1)
        if moved < _MIN_MOVED * totals.size:
            break


def label_classes(
    sources: Sequence[npt.NDArray[np.uint32]], n_labels: int, n_classes: int = N_CLASSES
) -> npt.NDArray[np.uint8]:
    """uint8[n_labels]: the class of each label in these sentences, which end in 0 each."""
    occurrences = sum((np.bincount(source, minlength=n_labels) for source in sources), np.zeros(n_labels, np.int64))
    order = np.argsort(-occurrences, kind="stable")
    order = order[(occurrences[order] >= _MIN_COUNT) & (order > 0)]
    # Symbols: one for each of the two classes above, then the forms that are classed, the most frequent first.
    symbol_of = np.full(n_labels, RARE)
    symbol_of[0] = BOUNDARY
    symbol_of[order] = np.arange(2, 2 + len(order))
    size = 2 + len(order)
    keys, counts = np.unique(
        np.concatenate(
            [symbol_of[np.append(np.uint32(0), source)][:-1] * size + symbol_of[source] for source in sources]
        ),
        return_counts=True,
    )
    first, second = keys // size, keys % size
    by_second = np.argsort(second, kind="stable")
    begins = np.arange(size + 1)
    following = _Bigrams(np.searchsorted(first, begins), second, counts)
    preceding = _Bigrams(np.searchsorted(second[by_second], begins), first[by_second], counts[by_second])
    class_of = np.empty(size, np.int64)
    class_of[:2] = BOUNDARY, RARE
    class_of[2:] = 2 + np.arange(len(order)) % (n_classes - 2)
    table = np.arange(1 << 16, dtype=np.float64)
    table[1:] *= np.log(table[1:])
    totals = np.bincount(first, counts, size).astype(np.int64)
    _exchange(n_classes, following, preceding, totals, class_of, table)
    return class_of[symbol_of].astype(np.uint8)


def word_classes(
    class_of: npt.NDArray[np.uint8],
    word_of: npt.NDArray[np.int64],
    lower: npt.NDArray[np.bool_],
    occurrences: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint8]:
    """uint8[words, 2]: the class of each word's form without capitals, and that of its most frequent form with
    capitals; RARE if it has none.

    By label: class_of, its class; word_of, its word; lower, whether its form has no capitals; occurrences.
    """
    classes = np.full((int(word_of.max()) + 1, 2), RARE, np.uint8)
    order = np.argsort(occurrences[1:], kind="stable") + 1  # the most frequent one is written last, and stays
    for column, labels in enumerate((order[lower[order]], order[~lower[order]])):
        classes[word_of[labels], column] = class_of[labels]
    return classes
