"""Check that states and arcs follow the conventions of write.py, before any code relies on it.

In: the states and arcs of a mapped file, any bytes. Out: the number of n-grams per order, or the first error. Reading
takes most of the time. So one thread reads all arcs in sequence, whatever their states, and another thread reads the
states and the first arc of each; together they see everything.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.symbols import DamagedModelError
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import inner, kernel
from capfst.kernels.types import I64Array, U8Array, i64, u32, u64

MAX_ORDER = 8  # words in the longest n-grams that are accepted

_BLOCK = 4096  # arcs


@inner
def _are_wrong(arcs: ArcArray, begin: i64, end: i64, states: i64, labels: i64) -> tuple[bool, i64]:
    """Return whether any of arcs[begin:end] (begin > 0) is invalid in itself, or has a label that is neither 0 nor
    greater than that of the arc before it; and the number of arcs with the label 0.

    Computed without branches and with unsigned numbers (negative ones become large), so that the processor
    checks several arcs at once.
    """
    wrong, epsilons = False, 0
    for i in range(u64(begin), u64(end)):
        arc = arcs[i]
        label = arc.ilabel
        wrong |= (arc.olabel != label) | (u32(label) > u32(labels)) | (not arc.weight > -np.inf)
        wrong |= u32(arc.nextstate) >= u32(states)
        wrong |= (label <= arcs[i - u64(1)].ilabel) & (label != 0)
        epsilons += label == 0
    return wrong, epsilons


@kernel
def _read_arcs(arcs: ArcArray, states: i64, labels: i64) -> tuple[i64, i64]:
    """Return the first invalid arc after arc 0, or the number of arcs if there is none; and then also the number of
    arcs with the label 0."""
    epsilons = 0
    for begin in range(1, arcs.size, _BLOCK):
        wrong, more = _are_wrong(arcs, begin, min(begin + _BLOCK, arcs.size), states, labels)
        if wrong:
            while not _are_wrong(arcs, begin, begin + 1, states, labels)[0]:
                begin += 1
            return begin, epsilons
        epsilons += more
    return arcs.size, epsilons


@kernel
def _read_states(states: StateArray, arcs: ArcArray, labels: i64, depth: U8Array, ngrams: I64Array) -> i64:
    """Return the first state that is invalid in itself, in its position or in its first arc, or the number of states.

    Fills depth[n], and counts the n-grams by depth.
    """
    begin = 0  # of the state's arcs
    for s in range(states.size):
        state = states[s]
        end = begin + state.narcs
        backoff = u64(s > 0)
        if state.pos != begin or begin == end or end > arcs.size or not state.final > -np.inf:
            return s
        if state.niepsilons != backoff or state.noepsilons != backoff:
            return s
        arc = arcs[begin]
        if arc.olabel != arc.ilabel or not arc.weight > -np.inf:
            return s
        if backoff:
            if arc.ilabel != 0 or not 0 <= arc.nextstate < s:
                return s
            depth[s] = depth[arc.nextstate] + 1
            if depth[s] >= ngrams.size:
                return s
        elif arc.ilabel != 1 or not 0 <= arc.nextstate < states.size or state.narcs != labels or state.final == np.inf:
            return s
        ngrams[depth[s]] += i64(state.narcs) - i64(backoff) + (state.final < np.inf)
        begin = end
    return states.size if begin == arcs.size else states.size - 1


class _Checked(NamedTuple):
    bad: int  # the first invalid state, or −1
    depth: npt.NDArray[np.uint8]  # per state up to that one: its number of context words
    ngrams: npt.NDArray[np.int64]  # n-grams of all states, by depth


def read_all(states: npt.NDArray, arcs: npt.NDArray, labels: int, pool: Executor) -> _Checked:
    """Read all states and arcs, in a thread of the pool and in this thread."""
    depth = np.zeros(len(states), np.uint8)
    ngrams = np.zeros(MAX_ORDER, np.int64)
    reading = pool.submit(_read_arcs, arcs, len(states), labels)
    bad = _read_states(states, arcs, labels, depth, ngrams)
    arc, epsilons = reading.result()
    if bad == len(states) and arc == len(arcs) and epsilons == len(states) - 1:
        return _Checked(-1, depth, ngrams)
    # A state before `bad` may have an invalid arc, or an ε arc that is not its first.
    begins = states["pos"][:bad].astype(np.int64)
    end = int(begins[-1]) + int(states["narcs"][bad - 1]) if bad else 0
    arc = min(arc, end)
    inside = arcs["ilabel"][:arc] == 0
    inside[begins[begins < arc]] = False
    arc = int(np.argmax(inside)) if inside.any() else arc
    if arc < end:
        bad = int(np.searchsorted(begins, arc, "right")) - 1
    return _Checked(bad, depth, ngrams)


def problem(states: npt.NDArray, arcs: npt.NDArray, labels: int, depth: npt.NDArray[np.uint8], s: int) -> str | None:
    """Return the error in state s, given that all states before it are valid; None if there is none. The reference
    implementation of the kernels."""
    state = states[s]
    end = int(state["pos"]) + int(state["narcs"])
    begin = 0 if s == 0 else int(states["pos"][s - 1]) + int(states["narcs"][s - 1])
    if state["pos"] != begin or end > len(arcs) or (s == len(states) - 1 and end < len(arcs)):
        return "its arcs are not between those of its neighbors"
    if not state["final"] > -np.inf:
        return f"its final weight is {state['final']}"
    own = arcs[begin:end]
    epsilons = 0 if s == 0 else 1
    if state["niepsilons"] != epsilons or state["noepsilons"] != epsilons:
        return "it does not have the right number of ε arcs"
    if not (own["weight"] > -np.inf).all():
        return "an arc's weight is not a number"
    if (own["nextstate"] < 0).any() or (own["nextstate"] >= len(states)).any():
        return "an arc leads to no state"
    if (own["ilabel"] != own["olabel"]).any():
        return "an arc has different input and output labels"
    if s > 0:
        if len(own) == 0 or own["ilabel"][0] != 0 or own["nextstate"][0] >= s:
            return "its first arc is not a backoff to a state before it"
        if depth[own["nextstate"][0]] + 1 >= MAX_ORDER:
            return f"its order is greater than {MAX_ORDER}"
        own = own[1:]
    elif len(own) != labels or state["final"] == np.inf:
        return "the empty context must have one arc per label and a final weight"
    if (np.diff(own["ilabel"], prepend=0) <= 0).any() or (own["ilabel"] > labels).any():
        return "the labels of its arcs do not increase, or are not labels of symbols"
    return None


def check(states: npt.NDArray, arcs: npt.NDArray, labels: int, pool: Executor) -> tuple[int, ...]:
    """Return the number of n-grams per order.

    Raises:
        DamagedModelError: a state or an arc does not follow the conventions of write.py.
    """
    bad, depth, ngrams = read_all(states, arcs, labels, pool)
    if bad >= 0:
        raise DamagedModelError(f"state {bad}: {problem(states, arcs, labels, depth, bad)}")
    return tuple(np.trim_zeros(ngrams, "b").tolist())
