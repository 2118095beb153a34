"""Check that states and arcs follow the conventions of write.py, before any code relies on it.

In: the states and arcs of a file, any bytes. Out: the number of n-grams per order, or the first error.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.fst.symbols import DamagedModelError
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import inner, kernel
from capfst.kernels.types import I64Array, U8Array, i64, u32

MAX_ORDER = 8  # words in the longest n-grams that are accepted

PROBLEMS = (
    "its arcs are not between those of its neighbors",
    "its final weight is {final}",
    "it does not have the right number of ε arcs",
    "an arc's weight is not a number",
    "an arc leads to no state",
    "an arc has different input and output labels",
    "its first arc is not a backoff to a state before it",
    f"its order is greater than {MAX_ORDER}",
    "the empty context must have one arc per label and a final weight",
    "the labels of its arcs do not increase, or are not labels of symbols",
)
"""What may be wrong with a state."""
_POSITION, _FINAL, _EPSILONS, _WEIGHT, _TARGET, _LABELS, _BACKOFF, _ORDER, _ROOT, _UNSORTED = range(len(PROBLEMS))


@inner
def _of_arcs(arcs: ArcArray, begin: i64, end: i64, before: i64, n_states: i64, labels: i64) -> i64:
    """Return a bit for each problem of arcs[begin:end], whose labels must be greater than `before`. There are no
    branches, so that the processor checks several arcs at once; a negative unsigned number is large."""
    found = i64(0)
    for i in range(begin, end):
        arc = arcs[i]
        found |= i64(not arc.weight > -np.inf) << _WEIGHT
        found |= i64(u32(arc.nextstate) >= u32(n_states)) << _TARGET
        found |= i64(arc.ilabel != arc.olabel) << _LABELS
        found |= i64((arc.ilabel <= before) | (arc.ilabel > labels)) << _UNSORTED
        before = i64(arc.ilabel)
    return found


@kernel
def find_problem(states: StateArray, arcs: ArcArray, labels: i64, depth: U8Array, ngrams: I64Array) -> tuple[i64, i64]:
    """Return the first invalid state and a bit for each of its problems, or the number of states and 0.

    Fills depth[n], and counts the n-grams by depth.
    """
    begin = 0  # of the state's arcs
    for s in range(states.size):
        state = states[s]
        end, backoff = begin + i64(state.narcs), i64(s > 0)
        if state.pos != begin or end > arcs.size or (s == states.size - 1 and end < arcs.size):
            return s, 1 << _POSITION
        found = i64(not state.final > -np.inf) << _FINAL
        found |= i64((state.niepsilons != backoff) | (state.noepsilons != backoff)) << _EPSILONS
        found |= _of_arcs(arcs, begin, end, -backoff, states.size, labels)
        if backoff == 0:
            found |= i64((end != labels) | (state.final == np.inf)) << _ROOT
        elif begin == end or arcs[begin].ilabel != 0 or not 0 <= arcs[begin].nextstate < s:
            found |= 1 << _BACKOFF
        else:
            depth[s] = depth[arcs[begin].nextstate] + 1
            found |= i64(depth[s] >= ngrams.size) << _ORDER
        if found != 0:
            return s, found
        ngrams[depth[s]] += end - begin - backoff + i64(state.final < np.inf)
        begin = end
    return states.size, 0


def check(states: npt.NDArray, arcs: npt.NDArray, labels: int) -> tuple[int, ...]:
    """Return the number of n-grams per order.

    Raises:
        DamagedModelError: a state or an arc does not follow the conventions of write.py.
    """
    ngrams = np.zeros(MAX_ORDER, np.int64)
    bad, problems = find_problem(states, arcs, labels, np.zeros(len(states), np.uint8), ngrams)
    if problems:
        first = (problems & -problems).bit_length() - 1
        raise DamagedModelError(f"state {bad}: {PROBLEMS[first].format(final=states['final'][bad])}")
    return tuple(np.trim_zeros(ngrams, "b").tolist())
