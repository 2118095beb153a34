"""Levels ↔ the states and arcs of the acceptor, by the conventions of fst/write.py.

In: the levels of a model (levels.py), or an estimator all of whose n-grams are kept. Out: its states, arcs and start
state, as whole arrays or in chunks, so that the model need not fit in memory. The states are the contexts: the empty
one, then those of one word in the order of level 1, those of two words, and so on; n-grams that are not extended are
not states. An arc leads to the state of the longest suffix of the words read that is a context. `decompile` returns the
levels of states and arcs that were made so.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.write import ARC, STATE, Acceptor, ArcArray, Chunk, StateArray
from capfst.kernels import allocating
from capfst.kernels.types import F64Array, I32Array, U32Array, U32Strided, i64
from capfst.lm.kneser_ney import NODE, PROB, SUFFIX, WORD, Contexts, Estimator
from capfst.lm.levels import Level, NgramTable, cost, link


def root(cost: npt.NDArray, target: npt.NDArray) -> Chunk:
    """Return state 0 and its arcs, given the costs of order 1, float64[V + 1] (at 0 the cost of `</s>`), and the target
    states of the arcs, uint32[V + 1]."""
    arcs = np.zeros(len(cost) - 1, ARC)
    arcs["ilabel"] = arcs["olabel"] = np.arange(1, len(cost))
    arcs["weight"] = cost[1:]
    arcs["nextstate"] = target[1:]
    state = np.zeros(1, STATE)
    state["final"], state["narcs"] = cost[0], len(arcs)
    return state, arcs


@allocating
def _chunk(
    backoff: F64Array, backoff_state: U32Array, word: U32Strided, prefix: U32Array, cost: F64Array, target: U32Array
) -> tuple[StateArray, ArcArray]:
    """Return states, numbered from 0 on, with their arcs, given the backoff cost of each and the state that this leads
    to; and the n-grams that extend them, sorted by word within each: word, state, cost and target of each."""
    n_arcs = len(backoff)
    for i in range(len(word)):
        n_arcs += word[i] != 0
    states, arcs = np.zeros(len(backoff), STATE), np.zeros(n_arcs, ARC)
    for i in range(len(word)):
        states[prefix[i]].narcs += word[i] != 0
    pos = 0
    for k in range(len(states)):
        state, arc = states[k], arcs[pos]
        state.pos, state.final = pos, np.inf
        state.niepsilons = state.noepsilons = 1
        arc.weight, arc.nextstate = backoff[k], backoff_state[k]
        pos += 1 + i64(state.narcs)
        state.narcs = 1
    for i in range(len(word)):
        state = states[prefix[i]]
        if word[i] == 0:
            state.final = cost[i]
            continue
        arc = arcs[state.pos + state.narcs]
        state.narcs += 1
        arc.ilabel = arc.olabel = word[i]
        arc.weight = cost[i]
        arc.nextstate = target[i]
    return states, arcs


def lay_out(levels: list[Level]) -> Acceptor:
    """Lay out the acceptor of a model in which prefix and suffix of every n-gram are entries of the level below."""
    states_of: list[npt.NDArray] = []
    contexts: list[npt.NDArray] = []
    number, arcs = 1, 0
    for n, level in enumerate(levels):
        # Other programs' models have backoff weights even for n-grams that are not extended.
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
    start = int(states_of[0][0])
    return Acceptor(number, arcs + number - 1, start, ngrams, lambda: _chunks(levels, states_of, contexts))


def _chunks(levels: list[Level], states_of: list[npt.NDArray], contexts: list[npt.NDArray]) -> Iterator[Chunk]:
    """Yield the root, then the states of each level's contexts, with their arcs."""
    yield root(levels[0].cost, states_of[0])
    for n, (level, above) in enumerate(itertools.pairwise(levels)):
        context, number = contexts[n], np.zeros(len(level), np.uint32)
        number[context] = np.arange(len(context))
        backoff_state = states_of[n - 1][level.suffix[context]] if n else np.zeros(len(context), np.uint32)
        yield _chunk(
            level.backoff[context], backoff_state, above.word, number[above.prefix], above.cost, states_of[n + 1]
        )


def compile_levels(levels: list[Level]) -> tuple[npt.NDArray, npt.NDArray, int]:
    """Return STATE[n], ARC[m] and the number of the start state of the acceptor of these levels."""
    return assemble(lay_out(levels))


def assemble(acceptor: Acceptor) -> tuple[npt.NDArray, npt.NDArray, int]:
    """Return STATE[n], ARC[m] and the number of the start state of an acceptor."""
    states, arcs = np.empty(acceptor.states, STATE), np.empty(acceptor.arcs, ARC)
    end = end_arc = 0
    for own, own_arcs in acceptor.chunks():
        begin, begin_arc, end, end_arc = end, end_arc, end + len(own), end_arc + len(own_arcs)
        states[begin:end], arcs[begin_arc:end_arc] = own, own_arcs
        states["pos"][begin:end] += np.uint32(begin_arc)
    return states, arcs, acceptor.start


def unpruned(estimator: Estimator) -> Acceptor:
    """Lay out the acceptor of a model that keeps all n-grams of the estimator. Its chunks can be read once."""
    counts, order = estimator.counts, estimator.counts.order
    occurs = counts.tokens > 0
    # Level 1: a state for each label that occurs. Other labels have no successors.
    of_label = np.where(occurs, np.cumsum(occurs), 0).astype(np.uint32)
    shift = [0, 0]  # state = node + shift, from level 2 on
    number = 1 + (int(occurs.sum()) if order > 1 else 0)
    n_arcs = counts.words
    for n in range(2, order + 1):
        grams = int(counts.first_nodes[n][-1] - counts.sentence_ends[n].sum())
        n_arcs += grams
        shift.append(number - int(counts.sentence_ends[n].sum()))
        if n < order:
            number += grams

    def state(n: int, node: npt.NDArray) -> npt.NDArray:
        """Return the states of nodes of level n that do not end in </s>."""
        if n == 0:
            return np.zeros(len(node), np.uint32)
        return of_label[node] if n == 1 else node + np.uint32(shift[n] % 2**32)

    def compiled(contexts: Contexts) -> Chunk:
        n, grams = contexts.order, contexts.grams
        return _chunk(
            cost(contexts.gamma),
            state(n - 2, contexts.suffix),
            grams[:, WORD],
            np.repeat(np.arange(len(contexts.node), dtype=np.uint32), contexts.size),
            cost(contexts.prob[:, PROB]),
            state(n - 1, grams[:, SUFFIX]) if n == order else state(n, grams[:, NODE]),
        )

    def chunks() -> Iterator[Chunk]:
        yield root(cost(estimator.unigrams), of_label if order > 1 else np.zeros_like(of_label))
        yield from estimator.contexts(compiled)

    ngrams = [counts.words + 1, *(int(first_nodes[-1]) for first_nodes in counts.first_nodes[2:])]
    return Acceptor(number, n_arcs + number - 1, int(order > 1), ngrams, chunks)


class Histories(NamedTuple):
    """The words of each state's context; for the start state <s>, word 0, after state 0."""

    length: I32Array  # int32[n]: number of words
    last: I32Array  # int32[n]: the last word
    before: I32Array  # int32[n]: the state of the other words


@allocating
def histories(states: StateArray, arcs: ArcArray) -> tuple[I32Array, I32Array, I32Array]:
    """Return the Histories of a model, as a tuple."""
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
