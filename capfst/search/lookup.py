"""Where a state's arcs for a word are: the forms of a word are neighbours in every state, so one search finds them all.

In: the mapped model. Out: `LookupTables`, derived from it in a few hundredths of a second, and kernels that look up a
word in them. How many arcs of a state have a lower label is guessed from how many have one elsewhere.
The states of one word of context are the most asked and the largest: they have buckets of words, of about as many arcs
each, which tell of most words that are missing that they are, and of others where to begin to read. In a longer context
a sparse index (the label of every few arcs) is searched from the guess on. Both touch as few lines of memory as can be,
as one that is not in the cache takes as long as a hundred instructions even if it is prefetched, and tell early enough
what they will touch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.read import CapFst
from capfst.system.binary_search import lower_bound
from capfst.system.kernels import inlined, kernel

STEP = 4
"""Binary logarithm of the arcs from one entry of the sparse index to the next: 256 bytes."""
_BUCKET = 1
"""Binary logarithm of the arcs in a bucket, on average: 32 bytes. So each state that has an arc has a bucket."""
NEAR = 1 << 15
"""A bucket is near if its first arc is less than so many arcs from where it would be if all were of the same size."""
LINE = 4
"""Arcs in a line of the cache."""

FORM = np.dtype(
    [
        ("cost", "f4"),  # of the unigram
        ("backoff_cost", "f4"),  # from its state
        ("state", "i4"),  # the context of this one form; 0 if nothing follows it
        ("pos", "u4"),  # of the state's arcs, the backoff first
        ("end", "u4"),  # behind the last of them
        ("share", "u4"),  # of the arcs of states of one word: those of lower words, times 2³² (`_shares`)
    ]
)
"""A surface form. The forms of a word are in one place, which is what their states are not."""
CONTEXT = np.dtype(
    [
        ("pos", "u4"),  # of its state's arcs, the backoff first
        ("backoff_cost", "f4"),  # 0 until it is needed; threads that write it at once write the same
    ]
)
"""A context of several words: what is in its state and its first arc, in fewer lines of memory."""


class LookupTables(NamedTuple):
    """What kernels know of a model."""

    states: npt.NDArray  # STATE
    arcs: npt.NDArray  # ARC
    forms: npt.NDArray  # FORM, by label
    buckets: npt.NDArray[np.uint32]  # of the states of one word (`fill_buckets`)
    contexts: npt.NDArray  # CONTEXT, by state; behind the last the number of arcs
    sparse_index: npt.NDArray[np.int32]  # the labels of every 2**STEP-th arc, from `origin` on
    origin: int  # the first arc behind the unigrams where a line of the cache begins
    n_short: int  # the arcs of the states of one word at most, which come first
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
    """Fills the buckets of the states begin … end − 1, which are 0; shares: of each label.

    A bucket's lower half is a filter: a bit for each of its words, that of the last four bits of its share. In its
    upper half is how far its first arc is from where the bucket would begin if all were of the same size, and NEAR
    more; 0 if it is not near.
    """
    for state in range(begin, end):
        pos = np.int64(states[state].pos)
        behind = pos + np.int64(states[state].narcs)
        first, last = first_bucket(pos), first_bucket(behind)
        for arc in range(behind - 1, pos, -1):  # but for the backoff; the first one of a bucket stays
            share = np.int64(shares[arcs[arc].ilabel])
            bucket = first + guessed_place(last - first, share)
            place = arc - (bucket << _BUCKET) + NEAR
            place = place if 0 < place < 2 * NEAR else np.int64(0)
            buckets[bucket] = place << 16 | np.int64(buckets[bucket]) & 0xFFFF | 1 << (share & 15)


@inlined
def look_into_bucket(tables, bucket, state, end, label):  # type: ignore[no-untyped-def]
    """Whether a state of one word is likely to have an arc for the word that has this label; and if it has, the first
    one or one before it."""
    entry = np.int64(tables.buckets[bucket])
    is_likely = entry >> (np.int64(tables.forms[label].share) & 15) & 1
    arc = (bucket << _BUCKET) + (entry >> 16) - NEAR
    if is_likely and entry >> 16 == 0:
        arc = lower_bound(tables.arcs.ilabel, np.int64(tables.states[state].pos) + 1, end, label)
    return is_likely, arc


@kernel
def _fill_forms(states, arcs, shares, forms):  # type: ignore[no-untyped-def]
    """Fills FORM[labels], but for label 0."""
    for label in range(1, forms.size):
        form, unigram = forms[label], arcs[label - 1]
        form.cost, form.share = unigram.weight, shares[label]
        state = np.int64(unigram.nextstate)
        if state != 0:
            pos = np.int64(states[state].pos)
            form.state, form.pos, form.end = state, pos, pos + np.int64(states[state].narcs)
            form.backoff_cost = arcs[pos].weight


def lookup_tables(model: CapFst) -> LookupTables:
    """The tables of a model."""
    states, arcs, labels = model.states, model.arcs, len(model.symbols)
    # As many words, and `<s>`, are the states of one word of context at most, which come first.
    is_longer = arcs["nextstate"][states["pos"][1 : labels + 1]] != 0
    short = 1 + (int(np.argmax(is_longer)) if is_longer.any() else len(is_longer))
    n_short = int(states["pos"][short]) if short < len(states) else len(arcs)
    shares = _shares(arcs["ilabel"][labels:n_short:16], model.starts)
    forms = np.zeros(labels, FORM)
    _fill_forms(states, arcs, shares, forms)
    buckets = np.zeros(first_bucket.py_func(n_short) + 1, np.uint32)  # a last state without arcs asks for one behind it
    fill_buckets(states, arcs, shares, 1, short, buckets)
    contexts = np.zeros(len(states) + 1, CONTEXT)
    contexts["pos"] = np.append(states["pos"], np.uint32(len(arcs)))
    origin = labels + -(labels + arcs.ctypes.data // arcs.itemsize) % LINE
    sparse_index = arcs["ilabel"][origin :: 1 << STEP].copy()
    is_finite = np.isfinite(arcs["weight"][: labels - 1]).all()
    context = max(model.order, model.signature.order) - 1 if is_finite else -1
    return LookupTables(states, arcs, forms, buckets, contexts, sparse_index, origin, n_short, context)


def _shares(some: npt.NDArray[np.int32], starts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """The share of each label, the same for all forms of a word, from the labels of some arcs. Its last four bits are
    those of the word's number, so that the words of a bucket differ in them."""
    counts = np.bincount(some, minlength=starts[-1])
    shares = np.minimum((np.cumsum(counts) - counts) / max(1, len(some)) * 2**32, 2**32 - 1).astype(np.uint32)
    words = shares[starts[:-1]] & 0xFFFFFFF0 | np.arange(len(starts) - 1, dtype=np.uint32) & 15
    return np.append(np.zeros(starts[0], np.uint32), np.repeat(words, np.diff(starts)))
