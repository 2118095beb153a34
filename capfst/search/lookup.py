"""Where a state's arcs for a word are: the forms of a word are neighbours in every state, so one search finds them all.

In: the mapped model. Out: `LookupTables`, derived from it in a few hundredths of a second and read-only, and kernels
that look up a word in them. The states of one word of context are the most asked and the largest: they have a hash
table over their words. In a longer context a sparse index (the label of every few arcs) tells which few arcs to read;
where to look in it is guessed from how many arcs have a lower label elsewhere. Both touch as little memory as can be,
and tell early enough what they will touch for it to be prefetched.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.read import CapFst
from capfst.system.binary_search import lower_bound
from capfst.system.hashing import PRIME
from capfst.system.kernels import inlined, kernel

STEP = 16
"""Arcs from one entry of the sparse index to the next: 256 bytes."""

FORM = np.dtype(
    [
        ("cost", "f4"),  # of the unigram
        ("backoff_cost", "f4"),  # from its state
        ("state", "i4"),  # the context of this one form; 0 if nothing follows it
        ("pos", "u4"),  # of the state's arcs, the backoff first
        ("narcs", "u4"),
        ("share_below", "f4"),  # of all arcs: those that have a lower label
    ]
)
"""A surface form. The forms of a word are in one place, which is what their states are not."""


class LookupTables(NamedTuple):
    """What kernels know of a model."""

    states: npt.NDArray  # STATE
    arcs: npt.NDArray  # ARC
    forms: npt.NDArray  # FORM, by label
    slots: npt.NDArray[np.uint32]  # the hash tables, that of state s at 2 pos … 2 (pos + narcs)
    sparse_index: npt.NDArray[np.int32]  # the labels of the arcs 0, STEP, 2 STEP, …
    arc_bits: int  # the lowest bits of a slot: an arc, counted from pos; the others: a tag; 0: the slot is empty
    context: int  # behind so many words the state depends on no word before; −1: some words are impossible


@kernel
def hash_label(label):  # type: ignore[no-untyped-def]
    """32 bits."""
    return np.int64(np.uint64(label) * PRIME >> np.uint64(16) & np.uint64(0xFFFFFFFF))


@inlined
def slot_tag(tables, hashed):  # type: ignore[no-untyped-def]
    """The bits of a label's hash that its slot holds."""
    return hashed & ((np.int64(1) << (32 - tables.arc_bits)) - 1)


@inlined
def slot_arc(tables, slot):  # type: ignore[no-untyped-def]
    """The arc that slots[slot] leads to, counted from its state's first; 0: the slot is empty."""
    return np.int64(tables.slots[slot]) & ((np.int64(1) << tables.arc_bits) - 1)


@inlined
def find_slot(tables, begin, size, slot, tag):  # type: ignore[no-untyped-def]
    """The first slot of slots[begin : begin + size], from `slot` on and round, that has the tag or is empty."""
    value = np.int64(tables.slots[begin + slot])
    while value != 0 and value >> tables.arc_bits != tag:
        slot = slot + 1 if slot + 1 < size else 0
        value = np.int64(tables.slots[begin + slot])
    return slot


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


@kernel
def _fill_slots(tables, word_of, begin, end):  # type: ignore[no-untyped-def]
    """The hash tables of the states begin … end − 1; word_of[l]: the label of the most frequent form of l's word."""
    states, arcs, slots = tables.states, tables.arcs, tables.slots
    for state in range(begin, end):
        pos = np.int64(states[state].pos)
        narcs = np.int64(states[state].narcs)
        before = np.int64(0)
        for k in range(1, narcs):
            word = np.int64(word_of[arcs[pos + k].ilabel])
            if word != before:
                before = word
                hashed = hash_label(word)
                slot = hashed * 2 * narcs >> 32
                while slots[2 * pos + slot] != 0:
                    slot = slot + 1 if slot + 1 < 2 * narcs else 0
                slots[2 * pos + slot] = slot_tag(tables, hashed) << tables.arc_bits | k


@kernel
def _count_labels(arcs, begin, end, counts):  # type: ignore[no-untyped-def]
    """Adds to counts[label] how many of arcs[begin:end] have it; np.bincount would copy all labels as int64."""
    for arc in range(begin, end):
        counts[arcs[arc].ilabel] += 1


def _forms(states: npt.NDArray, arcs: npt.NDArray, labels: int, end: int) -> npt.NDArray:
    """FORM[labels]; the shares are those of the arcs before `end` that are no unigrams."""
    forms, unigrams = np.zeros(labels, FORM), arcs[: labels - 1]
    every = np.zeros(labels, np.int64)
    _count_labels(arcs, labels - 1, end, every)
    counts = every[1:]
    forms["cost"][1:] = unigrams["weight"]
    forms["share_below"][1:] = (np.cumsum(counts) - counts) / max(1, counts.sum())
    has_context = 1 + np.flatnonzero(unigrams["nextstate"])
    context = unigrams["nextstate"][has_context - 1]
    forms["state"][has_context] = context
    for name in "pos", "narcs":
        forms[name][has_context] = states[name][context]
    forms["backoff_cost"][has_context] = arcs["weight"][states["pos"][context]]
    return forms


def lookup_tables(model: CapFst) -> LookupTables:
    """The tables of a model, made in two threads."""
    states, arcs, labels = model.states, model.arcs, len(model.symbols)
    # As many words, and `<s>`, are the states of one word of context at most, which come first.
    is_longer = arcs["nextstate"][states["pos"][1 : labels + 1]] != 0
    singles = 1 + (int(np.argmax(is_longer)) if is_longer.any() else len(is_longer))
    end = int(states["pos"][singles]) if singles < len(states) else len(arcs)
    tables = LookupTables(
        states,
        arcs,
        _forms(states, arcs, labels, end),
        np.zeros(2 * end, np.uint32),
        arcs["ilabel"][::STEP].copy(),
        int(states["narcs"][1:singles].max(initial=1)).bit_length(),
        max(model.order, model.signature.order) - 1 if np.isfinite(arcs["weight"][: labels - 1]).all() else -1,
    )
    word_of = np.zeros(labels, np.int32)
    word_of[1:] = np.repeat(model.starts[:-1], np.diff(model.starts))
    half = max(1, int(np.searchsorted(states["pos"][:singles], end // 2)))
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(_fill_slots, tables, word_of, 1, half),
            pool.submit(_fill_slots, tables, word_of, half, singles),
        ]
    for job in jobs:
        job.result()
    return tables
