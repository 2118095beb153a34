"""Levels → the states and arcs of the acceptor, by the conventions of fst.py.

In: the levels of a model (levels.py). Out: its states, its arcs and its start, whole or in chunks, so that not
all need be in memory. The states are the contexts: the empty one, then those of one word in the order of
level 1, those of two words, and so on; an n-gram that nothing extends is no state. An arc leads to the longest
context that ends what was read.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.fst import ARC, STATE
from capfst.levels import Level


class Chunk(NamedTuple):
    """Consecutive states from number `first_state` on, and their arcs from number `first_arc` on."""

    first_state: int
    states: npt.NDArray
    first_arc: int
    arcs: npt.NDArray


@dataclass
class Acceptor:
    """Sizes, and chunks in the order of their places, worked out when they are asked for, once."""

    states: int
    arcs: int
    start: int
    ngrams: list[int]  # of each order; order 1 counts </s>, not <s>
    chunks: Callable[[], Iterator[Chunk]]


def root(cost: npt.NDArray, target: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray]:
    """State 0 and its arcs, from the costs of order 1 (of 0 it is that of `</s>`) and the states they lead to."""
    arcs = np.zeros(len(cost) - 1, ARC)
    arcs["ilabel"] = arcs["olabel"] = np.arange(1, len(cost))
    arcs["weight"] = cost[1:]
    arcs["nextstate"] = target[1:]
    state = np.zeros(1, STATE)
    state["final"], state["narcs"] = cost[0], len(arcs)
    return state, arcs


@nb.njit(cache=True, nogil=True)
def _distribute(
    word: npt.NDArray,
    prefix: npt.NDArray,
    cost: npt.NDArray,
    target: npt.NDArray,
    state_of: npt.NDArray,
    first_state: int,
    states: npt.NDArray,
    arcs: npt.NDArray,
) -> None:
    """Gives the states of a level (numbers from first_state on) their n-grams; words rise in the level, and so in each.

    Of the states it takes `narcs`, the number of arcs there are already, which it raises.
    """
    first_arc = states[0].pos
    for i in range(len(word)):
        state = states[state_of[prefix[i]] - first_state]
        if word[i] == 0:
            state.final = cost[i]
            continue
        arc = arcs[state.pos - first_arc + state.narcs]
        state.narcs += 1
        arc.ilabel = word[i]
        arc.olabel = word[i]
        arc.weight = cost[i]
        arc.nextstate = target[i]


def lay_out(levels: list[Level]) -> Acceptor:
    """The acceptor of a model in which the prefix and the suffix of every n-gram are entries of the level below."""
    states_of: list[npt.NDArray] = []
    contexts: list[npt.NDArray] = []
    number, arcs = 1, 0
    for n, level in enumerate(levels):
        # Models made elsewhere have backoff weights even where nothing follows.
        is_context = level.backoff != 0
        if n + 1 < len(levels):
            is_context[levels[n + 1].prefix] = True
        contexts.append(np.flatnonzero(is_context))
        shorter = states_of[n - 1][level.suffix] if n else np.zeros(len(level), np.uint32)
        shorter[contexts[n]] = np.arange(number, number + len(contexts[n]))
        states_of.append(shorter)
        number += len(contexts[n])
        arcs += int(np.count_nonzero(level.word))
    ngrams = [len(level) for level in levels]
    return Acceptor(
        number, arcs + number - 1, int(states_of[0][0]), ngrams, lambda: _chunks(levels, states_of, contexts)
    )


def _chunks(levels: list[Level], states_of: list[npt.NDArray], contexts: list[npt.NDArray]) -> Iterator[Chunk]:
    states, arcs = root(levels[0].cost, states_of[0])
    yield Chunk(0, states, 0, arcs)
    at_state, at_arc = 1, len(arcs)
    for n, (level, above) in enumerate(itertools.pairwise(levels)):
        context = contexts[n]
        sizes = 1 + np.bincount(above.prefix[above.word != 0], minlength=len(level))[context]
        states, arcs = np.zeros(len(context), STATE), np.zeros(int(sizes.sum()), ARC)
        states["pos"] = at_arc + np.cumsum(sizes) - sizes
        states["narcs"] = states["niepsilons"] = states["noepsilons"] = 1
        states["final"] = np.inf
        backoffs = states["pos"] - np.uint32(at_arc)
        arcs["weight"][backoffs] = level.backoff[context]
        arcs["nextstate"][backoffs] = states_of[n - 1][level.suffix[context]] if n else 0
        if len(above):
            _distribute(above.word, above.prefix, above.cost, states_of[n + 1], states_of[n], at_state, states, arcs)
        yield Chunk(at_state, states, at_arc, arcs)
        at_state += len(states)
        at_arc += len(arcs)


def compile_levels(levels: list[Level]) -> tuple[npt.NDArray, npt.NDArray, int]:
    """STATE[n], ARC[m], and the number of the start state, of the same acceptor."""
    return assemble(lay_out(levels))


def assemble(acceptor: Acceptor) -> tuple[npt.NDArray, npt.NDArray, int]:
    """STATE[n], ARC[m], and the number of the start state."""
    states, arcs = np.empty(acceptor.states, STATE), np.empty(acceptor.arcs, ARC)
    for chunk in acceptor.chunks():
        states[chunk.first_state : chunk.first_state + len(chunk.states)] = chunk.states
        arcs[chunk.first_arc : chunk.first_arc + len(chunk.arcs)] = chunk.arcs
    return states, arcs, acceptor.start
