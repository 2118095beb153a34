"""Where a state's arcs for a word are: the forms of a word are neighbours in every state, so one search finds them all.

In: the mapped model. Out: `LookupTables`, derived from it in a few hundredths of a second and read-only, and kernels
that look up a word in them. How many arcs of a state have a lower label is guessed from how many have one elsewhere.
The states of one word of context are the most asked and the largest: they have buckets of labels, of about as many arcs
each, which say where to begin to read. In a longer context a sparse index (the label of every few arcs) is searched
from the guess on. Both touch as little memory as can be, and tell early enough what they will touch for it to be
prefetched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.read import CapFst
from capfst.system.binary_search import lower_bound
from capfst.system.kernels import inlined, kernel

STEP = 16
"""Arcs from one entry of the sparse index to the next: 256 bytes."""
_BUCKET = 1
"""Binary logarithm of the arcs in a bucket, on average: 32 bytes."""

FORM = np.dtype(
    [
        ("cost", "f4"),  # of the unigram
        ("backoff_cost", "f4"),  # from its state
        ("state", "i4"),  # the context of this one form; 0 if nothing follows it
        ("pos", "u4"),  # of the state's arcs, the backoff first
        ("narcs", "u4"),
        ("share", "u4"),  # of all arcs of states of one word: those that have a lower label, about, times 2³²
    ]
)
"""A surface form. The forms of a word are in one place, which is what their states are not."""


class LookupTables(NamedTuple):
    """What kernels know of a model."""

    states: npt.NDArray  # STATE
    arcs: npt.NDArray  # ARC
    forms: npt.NDArray  # FORM, by label
    buckets: npt.NDArray[np.uint32]  # of the states of one word: the first arc in the bucket, or behind it
    sparse_index: npt.NDArray[np.int32]  # the labels of the arcs 0, STEP, 2 STEP, …
    n_short: int  # the arcs of the states of one word, which come first
    context: int  # behind so many words the state depends on no word before; −1: some words are impossible


@inlined
def first_bucket(arc):  # type: ignore[no-untyped-def]
    """The number of a state's first bucket, by its first arc; by the arc behind its last one, that of the bucket behind
    its last one. A state of few arcs may have none."""
    return arc >> _BUCKET


@inlined
def guessed_place(n, share):  # type: ignore[no-untyped-def]
    """Where in n things in the order of labels a label is that has this share: 0 … n − 1."""
    return n * np.int64(share) >> 32


@kernel
def search_sparse_index(sparse_index, low, high, guess, label):  # type: ignore[no-untyped-def]
    """The first of the entries low:high that is not below the label (`high` if there is none), sought from `guess` on
    in steps that double."""
    if low < high:
        step = np.int64(1)
        guess = min(max(guess, low), high - 1)
        if sparse_index[guess] < label:
            low = guess + 1
            while low + step <= high and sparse_index[low + step - 1] < label:
                low += step
                step *= 2
            high = min(high, low + step - 1)
        else:
            high = guess
            while high - step >= low and sparse_index[high - step] >= label:
                high -= step
                step *= 2
            low = max(low, high - step + 1)
        low = lower_bound(sparse_index, low, high, label)
    return low


@inlined
def skip_lower_labels(arcs, arc, end, label):  # type: ignore[no-untyped-def]
    """The first of arcs[arc:end] that has no lower label; `end` if all have."""
    while arc + 4 <= end and arcs[arc + 3].ilabel < label:
        arc += 4
    if arc + 4 <= end:  # where of four cannot be predicted: no branch asks
        lower = np.int64(arcs[arc].ilabel < label) + np.int64(arcs[arc + 1].ilabel < label)
        return arc + lower + np.int64(arcs[arc + 2].ilabel < label)
    while arc < end and arcs[arc].ilabel < label:
        arc += 1
    return arc


@kernel
def fill_buckets(states, arcs, shares, begin, end, buckets):  # type: ignore[no-untyped-def]
    """Fills the buckets of the states begin … end − 1, which are 0; shares: of each label."""
    for state in range(begin, end):
        pos = np.int64(states[state].pos)
        behind = pos + np.int64(states[state].narcs)
        first, last = first_bucket(pos), first_bucket(behind)
        if first == last:
            continue
        for arc in range(behind - 1, pos, -1):  # but for the backoff; the first one of a bucket stays
            buckets[first + guessed_place(last - first, shares[arcs[arc].ilabel])] = arc
        arc = behind
        for bucket in range(last - 1, first - 1, -1):
            arc = np.int64(buckets[bucket]) if buckets[bucket] != 0 else arc
            buckets[bucket] = arc


@kernel
def _fill_forms(states, arcs, shares, forms):  # type: ignore[no-untyped-def]
    """Fills FORM[labels], but for label 0."""
    for label in range(1, forms.size):
        form, unigram = forms[label], arcs[label - 1]
        form.cost, form.share = unigram.weight, shares[label]
        state = np.int64(unigram.nextstate)
        if state != 0:
            form.state, form.pos, form.narcs = state, states[state].pos, states[state].narcs
            form.backoff_cost = arcs[states[state].pos].weight


def lookup_tables(model: CapFst) -> LookupTables:
    """The tables of a model."""
    states, arcs, labels = model.states, model.arcs, len(model.symbols)
    # As many words, and `<s>`, are the states of one word of context at most, which come first.
    is_longer = arcs["nextstate"][states["pos"][1 : labels + 1]] != 0
    singles = 1 + (int(np.argmax(is_longer)) if is_longer.any() else len(is_longer))
    n_short = int(states["pos"][singles]) if singles < len(states) else len(arcs)
    sparse_index = arcs["ilabel"][::STEP].copy()
    counts = np.bincount(sparse_index[labels // STEP + 1 : n_short // STEP], minlength=labels)
    shares = np.minimum((np.cumsum(counts) - counts) / max(1, counts.sum()) * 2**32, 2**32 - 1).astype(np.uint32)
    forms, buckets = np.zeros(labels, FORM), np.zeros(first_bucket.py_func(n_short), np.uint32)
    _fill_forms(states, arcs, shares, forms)
    fill_buckets(states, arcs, shares, 1, singles, buckets)
    is_finite = np.isfinite(arcs["weight"][: labels - 1]).all()
    context = max(model.order, model.signature.order) - 1 if is_finite else -1
    return LookupTables(states, arcs, forms, buckets, sparse_index, n_short, context)
