"""Levels → the states and arcs of the acceptor, by the conventions of fst.py.

In: the levels of a model (levels.py). Out: its states, its arcs and its start. The states are the contexts:
the empty one, then those of one word in the order of level 1, those of two words, and so on; an n-gram that
nothing extends is no state. An arc leads to the longest context that ends what was read.
"""

import itertools

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.fst import ARC, STATE
from capfst.levels import Level
from capfst.sort import refine


@nb.njit(cache=True, nogil=True)
def fill(
    size: npt.NDArray,
    backoff_cost: npt.NDArray,
    backoff_state: npt.NDArray,
    word: npt.NDArray,
    cost: npt.NDArray,
    target: npt.NDArray,
    first_arc: int,
    states: npt.NDArray,
    arcs: npt.NDArray,
) -> int:
    """Contexts, with their n-grams one after the other, → their states, and their arcs from `first_arc` on.

    Returns the number of arcs, which in `arcs` begin at 0.
    """
    gram, at = 0, 0
    for context in range(len(size)):
        state = states[context]
        state.pos = first_arc + at
        state.final = np.inf
        state.niepsilons = 1
        state.noepsilons = 1
        arcs[at].ilabel = 0
        arcs[at].olabel = 0
        arcs[at].weight = backoff_cost[context]
        arcs[at].nextstate = backoff_state[context]
        begin = at
        at += 1
        for _ in range(size[context]):
            if word[gram] == 0:
                state.final = cost[gram]
            else:
                arcs[at].ilabel = word[gram]
                arcs[at].olabel = word[gram]
                arcs[at].weight = cost[gram]
                arcs[at].nextstate = target[gram]
                at += 1
            gram += 1
        state.narcs = at - begin
    return at


def root(cost: npt.NDArray, target: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray]:
    """State 0 and its arcs, from the costs of order 1 (of 0 it is that of `</s>`) and the states they lead to."""
    arcs = np.zeros(len(cost) - 1, ARC)
    arcs["ilabel"] = arcs["olabel"] = np.arange(1, len(cost))
    arcs["weight"] = cost[1:]
    arcs["nextstate"] = target[1:]
    state = np.zeros(1, STATE)
    state["final"], state["narcs"] = cost[0], len(arcs)
    return state, arcs


def compile_levels(levels: list[Level]) -> tuple[npt.NDArray, npt.NDArray, int]:
    """STATE[n], ARC[m], and the number of the start state.

    The prefix and the suffix of every n-gram must be entries of the level below.
    """
    sizes = [np.bincount(above.prefix, minlength=len(level)) for level, above in itertools.pairwise(levels)]
    sizes.append(np.zeros(len(levels[-1]), np.int64))
    states_of: list[npt.NDArray] = []
    number = 1
    contexts: list[npt.NDArray] = []
    for n, (level, size) in enumerate(zip(levels, sizes, strict=True)):
        # Models made elsewhere have backoff weights even where nothing follows.
        is_context = (size > 0) | (level.backoff != 0)
        contexts.append(np.flatnonzero(is_context))
        own = number + np.cumsum(is_context) - 1
        shorter = states_of[n - 1][level.suffix] if n else np.zeros(len(level), np.int64)
        states_of.append(np.where(is_context, own, shorter))
        number += int(is_context.sum())
    first_state, first_arcs = root(levels[0].cost, states_of[0])
    states = np.zeros(number, STATE)
    arcs = np.zeros(sum(int((level.word != 0).sum()) for level in levels) + number - 1, ARC)
    states[:1] = first_state
    arcs[: len(first_arcs)] = first_arcs
    at_state, at_arc = 1, len(first_arcs)
    for n, above in enumerate(levels[1:]):
        context = contexts[n]
        # Stable, so that the words, which rise in the level, rise in each context.
        sorting = refine(above.prefix.astype(np.uint64), np.arange(len(above), dtype=np.uint32))
        backoff_state = states_of[n - 1][levels[n].suffix[context]] if n else np.zeros(len(context), np.int64)
        at_arc += fill(
            sizes[n][context],
            levels[n].backoff[context],
            backoff_state,
            above.word[sorting],
            above.cost[sorting],
            states_of[n + 1][sorting],
            at_arc,
            states[at_state : at_state + len(context)],
            arcs[at_arc:],
        )
        at_state += len(context)
    return states, arcs, int(states_of[0][0])
