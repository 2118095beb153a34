"""Classes of surface forms that occur in the same contexts: months, surnames, verbs of saying, first parts of names.

In: labeled sentences. Out: a class for each label, so that weights learned from some surnames apply to the others. The
exchange algorithm (Martin, Liermann & Ney 1998) moves each surface form in turn to the class in which a class bigram
model gives the sentences the highest likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from capfst.kernels import allocating, inner
from capfst.kernels.types import BoolArray, F64Array, I64Array, I64Matrix, U8Array, U8Matrix, U32Array, f64, i64

BOUNDARY, RARE = 0, 1
"""Classes that no form enters or leaves: line ends, and forms too rare to be classified."""
N_CLASSES = 200
"""Including these two. A class fits in a byte."""

_MIN_COUNT = 5  # occurrences of a form that is classified
_PASSES = 10
_MIN_MOVED = 0.005  # the fraction of forms that must have moved for another pass


class _Bigrams(NamedTuple):
    """Neighbors of each symbol on one side: those of w are symbols[begins[w] : begins[w + 1]]."""

    begins: I64Array  # [symbols + 1]
    symbols: I64Array  # [bigrams]
    counts: I64Array  # [bigrams]: occurrences in the corpus


class _ClassCounts(NamedTuple):
    """Counts of class bigrams and of classes in the corpus."""

    pairs: I64Matrix  # [class, next class]
    transposed: I64Matrix  # [class, previous class]: the transpose, because reading rows is fast
    sizes: I64Array  # occurrences of the symbols in each class


class _Symbol(NamedTuple):
    """Counts of one symbol: before each class and after each class (excluding itself), before itself, and in total."""

    next: I64Array
    previous: I64Array
    itself: int
    total: int


@inner
def _nlogn(n: i64, table: F64Array) -> f64:
    """Return n ln n, from the table if n is in it."""
    return table[n] if n < table.size else n * np.log(f64(n))


@inner
def _neighbor_classes(bigrams: _Bigrams, w: i64, class_of: I64Array, counts: I64Array) -> i64:
    """Fill counts, int64[classes]: how often symbols of each class are on this side of w, except w itself. Return how
    often w itself is."""
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
    """Add a symbol to class c (sign 1), or remove it (−1)."""
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
    """Fill gain[c] with the increase of the log-likelihood Σ_{c,d} N(c,d) ln N(c,d) − 2 Σ_c N(c) ln N(c) if the symbol,
    which is in no class, enters class c (Martin, Liermann & Ney 1998)."""
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
        # N(c,c) increases in both directions at once; above, these counted as two pairs.
        n, more, less = counts.pairs[c, c], symbol.next[c], symbol.previous[c]
        gain[c] += _nlogn(n + more + less + symbol.itself, table) + _nlogn(n, table)
        gain[c] -= _nlogn(n + more, table) + _nlogn(n + less, table)


@allocating
def _exchange(
    counts: _ClassCounts, following: _Bigrams, preceding: _Bigrams, totals: I64Array, class_of: I64Array,
    table: F64Array,
) -> i64:  # fmt: skip
    """Move each symbol from 2 on to its best class, changing class_of[symbols] and the counts in place. Return how many
    have moved. totals: occurrences of each symbol."""
    n_classes = counts.sizes.size
    next_, previous = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    gain = np.empty(n_classes)
    moved = 0
    for w in range(2, totals.size):
        old = class_of[w]
        itself = _neighbor_classes(following, w, class_of, next_)
        _neighbor_classes(preceding, w, class_of, previous)
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
    return moved


def label_classes(sources: Sequence[U32Array], n_labels: int, n_classes: int = N_CLASSES) -> U8Array:
    """Return uint8[n_labels], the class of each label in these sentences, each of which ends with 0."""
    occurrences = sum((np.bincount(source, minlength=n_labels) for source in sources), np.zeros(n_labels, np.int64))
    order = np.argsort(-occurrences, kind="stable")
    order = order[(occurrences[order] >= _MIN_COUNT) & (order > 0)]
    # Symbols: one for each of the two fixed classes, then the forms to be classified, the most frequent first.
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
    both = n_classes * class_of[first] + class_of[second]
    pairs = np.bincount(both, counts, n_classes**2).astype(np.int64).reshape(n_classes, n_classes)
    sizes = np.bincount(class_of, totals, n_classes).astype(np.int64)
    of_classes = _ClassCounts(pairs, np.ascontiguousarray(pairs.T), sizes)
    for _ in range(_PASSES):  # Ctrl-C ends the program after a pass
        if _exchange(of_classes, following, preceding, totals, class_of, table) < _MIN_MOVED * size:
            break
    return class_of[symbol_of].astype(np.uint8)


def word_classes(class_of: U8Array, word_of: I64Array, lower: BoolArray, occurrences: I64Array) -> U8Matrix:
    """Return uint8[words, 2]: the class of each word's form without capitals, and that of its most frequent form with
    capitals; RARE if the word has no such form.

    By label: class_of, its class; word_of, its word; lower, whether its form has no capitals; occurrences.
    """
    classes = np.full((int(word_of.max()) + 1, 2), RARE, np.uint8)
    order = np.argsort(occurrences[1:], kind="stable") + 1  # the most frequent one is written last and stays
    for column, labels in enumerate((order[lower[order]], order[~lower[order]])):
        classes[word_of[labels], column] = class_of[labels]
    return classes
