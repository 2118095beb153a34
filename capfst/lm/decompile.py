"""States and arcs → the levels they were compiled from.

In: states and arcs by the conventions of fst.py, made by us: every context's suffix is a context too. Out:
levels (levels.py).
"""

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.lm.backoff_model import Level, Rows, link


@nb.njit(cache=True, nogil=True)
def histories(states: npt.NDArray, arcs: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray]:
    """For each state: how many words it remembers, the last of them, and the state that remembers the others.

    Word 0, and state 0, where no arc leads to the state: it is the start, and remembers <s>.
    """
    number = len(states)
    depth, word, before = np.zeros(number, np.int32), np.zeros(number, np.int32), np.zeros(number, np.int32)
    for state in range(1, number):
        depth[state] = depth[arcs[states[state].pos].nextstate] + 1
    for state in range(number):
        first = np.int64(states[state].pos)
        for at in range(first, first + np.int64(states[state].narcs)):
            target = arcs[at].nextstate
            if arcs[at].ilabel != 0 and depth[target] == depth[state] + 1:
                word[target] = arcs[at].ilabel
                before[target] = state
    return depth, word, before


def decompile(states: npt.NDArray, arcs: npt.NDArray, start: int) -> list[Level]:
    """The levels of a model of STATE[n] and ARC[m]."""
    depth, last, before = histories(states, arcs)
    number = int(states["narcs"][0]) + 1
    backoffs = np.where(depth > 0, arcs["weight"][states["pos"]], 0.0).astype(np.float64)
    cost, backoff = np.append(states["final"][:1], arcs["weight"][: number - 1]), np.zeros(number)
    contexts = np.flatnonzero(depth == 1)
    backoff[last[contexts]] = backoffs[contexts]
    rows = [Rows(np.arange(number, dtype=np.uint32)[:, None], cost.astype(np.float64), backoff)]
    words = last[contexts, None].astype(np.uint32)  # of the contexts of this depth, first word first
    for n in range(1, int(depth[-1]) + 1):
        own, first_context = states[contexts], contexts[0]
        ending = np.flatnonzero(own["final"] != np.inf)
        sizes = own["narcs"].astype(np.int64) - 1
        of_context = np.repeat(np.arange(len(contexts)), sizes)
        first = own["pos"].astype(np.int64) + 1 - (np.cumsum(sizes) - sizes)
        at = np.arange(len(of_context)) + first[of_context]
        target = arcs["nextstate"][at]
        longer = depth[target] == n + 1
        rows.append(
            Rows(
                np.hstack(
                    [
                        words[np.append(of_context, ending)],
                        np.append(arcs["ilabel"][at], np.zeros_like(ending))[:, None].astype(np.uint32),
                    ]
                ),
                np.append(arcs["weight"][at], own["final"][ending]).astype(np.float64),
                np.append(np.where(longer, backoffs[target], 0.0), np.zeros(len(ending))),
            )
        )
        # The contexts one word longer, which are in the order of their states.
        contexts = np.flatnonzero(depth == n + 1)
        words = np.hstack([words[before[contexts] - first_context], last[contexts, None].astype(np.uint32)])
    return link(rows)
