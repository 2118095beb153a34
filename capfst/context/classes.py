"""Classes of words that stand in the same places: months, surnames, verbs of saying, first parts of names.

In: labelled sentences. Out: a class for each label, found by the exchange algorithm over bigrams (Martin, Liermann &
Ney 1998): each surface form in turn moves to the class in which the sentences are likeliest, given the classes of the
neighbours. What was learned of some names holds for their like.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capfst.system.kernels import allocating, kernel

BOUNDARY, RARE = 0, 1  # classes that nothing enters or leaves: line ends, and what is too rare to be classed
NUMBER = 200
"""Of classes, with these two."""

_LEAST = 5  # occurrences of what is classed
_PASSES = 10
_MOVING = 0.005  # the share of forms that must have moved for another pass


@kernel
def _nlogn(n, table):  # type: ignore[no-untyped-def]
    return table[n] if n < table.size else n * np.log(np.float64(n))


@allocating
def _exchange(  # type: ignore[no-untyped-def]
    number, after, after_of, after_counts, before, before_of, before_counts, totals, class_of, table, passes, moving
):
    """Moves symbols 2 … between the classes, in place: the bigrams' Σ N ln N less 2 Σ N ln N of the classes grows.

    after, before: where the lists of what stands behind and before each symbol begin, with counts.
    """
    pairs = np.zeros((number, number), np.int64)  # [class, class behind it]
    turned = np.zeros((number, number), np.int64)
    sizes = np.zeros(number, np.int64)
    for w in range(totals.size):
        sizes[class_of[w]] += totals[w]
        for k in range(after[w], after[w + 1]):
            pairs[class_of[w], class_of[after_of[k]]] += after_counts[k]
    turned[:] = pairs.T
    right, left = np.empty(number, np.int64), np.empty(number, np.int64)
    gain = np.empty(number)
    for _ in range(passes):
        moved = 0
        for w in range(2, totals.size):
            own, n = class_of[w], totals[w]
            right[:] = 0
            left[:] = 0
            itself = np.int64(0)
            for k in range(after[w], after[w + 1]):
                if after_of[k] == w:
                    itself += after_counts[k]
                else:
                    right[class_of[after_of[k]]] += after_counts[k]
            for k in range(before[w], before[w + 1]):
                if before_of[k] != w:
                    left[class_of[before_of[k]]] += before_counts[k]
            _put(pairs, turned, sizes, own, right, left, itself, n, -1)
            for c in range(number):
                gain[c] = -2 * (_nlogn(sizes[c] + n, table) - _nlogn(sizes[c], table))
            for c in range(number):
                if right[c] != 0:
                    for to in range(number):
                        gain[to] += _nlogn(turned[c, to] + right[c], table) - _nlogn(turned[c, to], table)
                if left[c] != 0:
                    for to in range(number):
                        gain[to] += _nlogn(pairs[c, to] + left[c], table) - _nlogn(pairs[c, to], table)
            best = own
            for to in range(2, number):
                # The class with itself was taken for two classes above.
                here = pairs[to, to]
                gain[to] += _nlogn(here + right[to] + left[to] + itself, table) + _nlogn(here, table)
                gain[to] -= _nlogn(here + right[to], table) + _nlogn(here + left[to], table)
            for to in range(2, number):
                if gain[to] > gain[best] + 1e-7:
                    best = to
            class_of[w] = best
            moved += best != own
            _put(pairs, turned, sizes, best, right, left, itself, n, 1)
        if moved < moving * totals.size:
            break


@kernel
def _put(pairs, turned, sizes, to, right, left, itself, n, sign):  # type: ignore[no-untyped-def]
    """Adds a symbol to a class, or takes it out."""
    for c in range(sizes.size):
        pairs[to, c] += sign * right[c]
        turned[c, to] += sign * right[c]
        pairs[c, to] += sign * left[c]
        turned[to, c] += sign * left[c]
    pairs[to, to] += sign * itself
    turned[to, to] += sign * itself
    sizes[to] += sign * n


def classes(sources: Sequence[npt.NDArray[np.uint32]], labels: int, number: int = NUMBER) -> npt.NDArray[np.uint8]:
    """uint8[labels]: the class of each label in these sentences."""
    counts = sum((np.bincount(source, minlength=labels) for source in sources), np.zeros(labels, np.int64))
    order = np.argsort(-counts, kind="stable")
    order = order[(counts[order] >= _LEAST) & (order > 0)]
    symbol = np.full(labels, RARE)
    symbol[0] = BOUNDARY
    symbol[order] = np.arange(2, 2 + len(order))
    size = 2 + len(order)
    keys, found = np.unique(
        np.concatenate([symbol[np.append(np.uint32(0), source)][:-1] * size + symbol[source] for source in sources]),
        return_counts=True,
    )
    one, other = keys // size, keys % size
    turned = np.argsort(other, kind="stable")
    class_of = np.empty(size, np.int64)
    class_of[:2] = BOUNDARY, RARE
    class_of[2:] = 2 + np.arange(len(order)) % (number - 2)
    table = np.arange(1 << 16, dtype=np.float64)
    table[1:] *= np.log(table[1:])
    _exchange(
        number, np.searchsorted(one, np.arange(size + 1)), other, found,
        np.searchsorted(other[turned], np.arange(size + 1)), one[turned], found[turned],
        np.bincount(one, found, size).astype(np.int64), class_of, table, _PASSES, _MOVING,
    )  # fmt: skip
    return class_of[symbol].astype(np.uint8)


def of_words(
    class_of: npt.NDArray[np.uint8],
    word_of: npt.NDArray[np.int64],
    small: npt.NDArray[np.bool_],
    counts: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint8]:
    """uint8[words, 2]: the class of each word's form without capitals, and that of its most frequent other form; RARE
    if it has none. small: of each label, whether its form is without capitals. counts: of each label."""
    found = np.full((int(word_of.max()) + 1, 2), RARE, np.uint8)
    order = np.argsort(counts[1:], kind="stable") + 1  # the most frequent one is the last, and stays
    for column, chosen in enumerate((order[small[order]], order[~small[order]])):
        found[word_of[chosen], column] = class_of[chosen]
    return found
