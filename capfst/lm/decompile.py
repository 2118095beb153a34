"""States and arcs → the levels from which they were compiled.

In: states and arcs by the conventions of fst/write.py, made by capfst: the suffix of a context is also a context. Out:
levels (levels.py).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import allocating
from capfst.kernels.types import I32Array, i64
from capfst.lm.levels import Level, NgramTable, link


class Histories(NamedTuple):
    """The words of each state's context; for the start state <s>, word 0, after state 0."""

    length: I32Array  # int32[n]: number of words
    last: I32Array  # int32[n]: the last word
    before: I32Array  # int32[n]: the state of the other words


@allocating
def _histories(states: StateArray, arcs: ArcArray) -> tuple[I32Array, I32Array, I32Array]:
    number = len(states)
    length, last, before = np.zeros(number, np.int32), np.zeros(number, np.int32), np.zeros(number, np.int32)
    for state in range(1, number):
        length[state] = length[arcs[states[state].pos].nextstate] + 1
    for state in range(number):
        first = i64(states[state].pos)
        for arc in range(first, first + i64(states[state].narcs)):
            target = arcs[arc].nextstate
            if arcs[arc].ilabel != 0 and length[target] == length[state] + 1:
                last[target] = arcs[arc].ilabel
                before[target] = state
    return length, last, before


def histories(states: npt.NDArray[np.void], arcs: npt.NDArray[np.void]) -> Histories:
    """Return the contexts of the states of a model, STATE[n] and ARC[m]."""
    return Histories(*_histories(states, arcs))


def decompile(states: npt.NDArray, arcs: npt.NDArray) -> list[Level]:
    """Return the levels of a model of STATE[n] and ARC[m]."""
    length, last, before = histories(states, arcs)
    number = int(states["narcs"][0]) + 1
    backoffs = np.where(length > 0, arcs["weight"][states["pos"]], 0.0).astype(np.float64)
    cost, backoff = np.append(states["final"][:1], arcs["weight"][: number - 1]), np.zeros(number)
    contexts = np.flatnonzero(length == 1)
    backoff[last[contexts]] = backoffs[contexts]
    tables = [NgramTable(np.arange(number, dtype=np.uint32)[:, None], cost.astype(np.float64), backoff)]
    words = last[contexts, None].astype(np.uint32)  # uint32[c, n]: the contexts of n words, first word first
    for n in range(1, int(length[-1]) + 1):
        own, first_context = states[contexts], contexts[0]
        ending = np.flatnonzero(own["final"] != np.inf)
        sizes = own["narcs"].astype(np.int64) - 1
        of_context = np.repeat(np.arange(len(contexts)), sizes)
        first = own["pos"].astype(np.int64) + 1 - (np.cumsum(sizes) - sizes)
        own_arcs = arcs[np.arange(len(of_context)) + first[of_context]]
        target = own_arcs["nextstate"]
        longer = length[target] == n + 1
        tables.append(
            NgramTable(
                np.hstack(
                    [
                        words[np.append(of_context, ending)],
                        np.append(own_arcs["ilabel"], np.zeros_like(ending))[:, None].astype(np.uint32),
                    ]
                ),
                np.append(own_arcs["weight"], own["final"][ending]).astype(np.float64),
                np.append(np.where(longer, backoffs[target], 0.0), np.zeros(len(ending))),
            )
        )
        # The contexts of n + 1 words, in the order of their states.
        contexts = np.flatnonzero(length == n + 1)
        words = np.hstack([words[before[contexts] - first_context], last[contexts, None].astype(np.uint32)])
    return link(tables)
