"""Levels → the states and arcs of the acceptor, by the conventions of fst/write.py.

In: the levels of a model (levels.py), or an estimator all of whose n-grams are kept (`UnprunedAcceptor`). Out: its
states, arcs and start state, as whole arrays or in chunks, so that the model need not fit in memory. The states are the
contexts: the empty one, then those of one word in the order of level 1, those of two words, and so on; n-grams that are
not extended are not states. An arc leads to the state of the longest suffix of the words read that is a context.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.write import ARC, STATE, ArcArray, StateArray
from capfst.kernels import kernel
from capfst.kernels.types import F64Array, U32Array, i64
from capfst.lm.kneser_ney import NODE, PROB, SUFFIX, WORD, Contexts, Estimator
from capfst.lm.levels import Level, cost


class Chunk(NamedTuple):
    """Consecutive states, the first with number `first_state`, and their arcs, the first with number `first_arc`."""

    first_state: int
    states: npt.NDArray  # STATE[·]
    first_arc: int
    arcs: npt.NDArray  # ARC[·]


@dataclass
class Acceptor:
    """The size of an acceptor, and its chunks in order, computed while they are read."""

    states: int  # their number
    arcs: int  # their number
    start: int  # the state of <s>
    ngrams: list[int]  # of each order; order 1 counts </s>, not <s>
    chunks: Callable[[], Iterator[Chunk]]


def root(cost: npt.NDArray, target: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray]:
    """Return state 0 and its arcs, given the costs of order 1, float64[V + 1] (at 0 the cost of `</s>`), and the target
    states of the arcs, uint32[V + 1]."""
    arcs = np.zeros(len(cost) - 1, ARC)
    arcs["ilabel"] = arcs["olabel"] = np.arange(1, len(cost))
    arcs["weight"] = cost[1:]
    arcs["nextstate"] = target[1:]
    state = np.zeros(1, STATE)
    state["final"], state["narcs"] = cost[0], len(arcs)
    return state, arcs


@kernel
def _fill_from_level(
    level: tuple[U32Array, U32Array, F64Array],
    target: U32Array,
    state_of: U32Array,
    first_state: i64,
    states: StateArray,
    arcs: ArcArray,
) -> None:
    """Add the n-grams of a level to the states of their prefixes (numbers from first_state on), sorted by word like the
    level.

    level: (word, prefix, cost) of the n-grams, as in Level; target: the target state of each; state_of: the state of
    each prefix. `narcs` of a state is its number of arcs so far, and is increased.
    """
    word, prefix, cost = level
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
    return Acceptor(
        number, arcs + number - 1, int(states_of[0][0]), ngrams, lambda: _chunks(levels, states_of, contexts)
    )


def _chunks(levels: list[Level], states_of: list[npt.NDArray], contexts: list[npt.NDArray]) -> Iterator[Chunk]:
    """Yield the root, then the states of each level's contexts, with their arcs."""
    states, arcs = root(levels[0].cost, states_of[0])
    yield Chunk(0, states, 0, arcs)
    first_state, first_arc = 1, len(arcs)
    for n, (level, above) in enumerate(itertools.pairwise(levels)):
        context = contexts[n]
        sizes = 1 + np.bincount(above.prefix[above.word != 0], minlength=len(level))[context]
        states, arcs = np.zeros(len(context), STATE), np.zeros(int(sizes.sum()), ARC)
        states["pos"] = first_arc + np.cumsum(sizes) - sizes
        states["narcs"] = states["niepsilons"] = states["noepsilons"] = 1
        states["final"] = np.inf
        backoffs = states["pos"] - np.uint32(first_arc)
        arcs["weight"][backoffs] = level.backoff[context]
        arcs["nextstate"][backoffs] = states_of[n - 1][level.suffix[context]] if n else 0
        if len(above):
            ngrams = above.word, above.prefix, above.cost
            _fill_from_level(ngrams, states_of[n + 1], states_of[n], first_state, states, arcs)
        yield Chunk(first_state, states, first_arc, arcs)
        first_state += len(states)
        first_arc += len(arcs)


def compile_levels(levels: list[Level]) -> tuple[npt.NDArray, npt.NDArray, int]:
    """Return STATE[n], ARC[m] and the number of the start state of the acceptor of these levels."""
    return assemble(lay_out(levels))


def assemble(acceptor: Acceptor) -> tuple[npt.NDArray, npt.NDArray, int]:
    """Return STATE[n], ARC[m] and the number of the start state of an acceptor."""
    states, arcs = np.empty(acceptor.states, STATE), np.empty(acceptor.arcs, ARC)
    for chunk in acceptor.chunks():
        states[chunk.first_state : chunk.first_state + len(chunk.states)] = chunk.states
        arcs[chunk.first_arc : chunk.first_arc + len(chunk.arcs)] = chunk.arcs
    return states, arcs, acceptor.start


class _Targets(NamedTuple):
    """Input of `_fill_from_contexts` besides the contexts. Costs are −ln, states are numbers of states."""

    backoff_cost: F64Array  # float64[c], of each context
    backoff_state: U32Array  # uint32[c]
    cost: F64Array  # float64[n], of each n-gram
    state: U32Array  # uint32[n], the target of its arc


@kernel
def _fill_from_contexts(contexts: Contexts, targets: _Targets, states: StateArray, arcs: ArcArray) -> i64:
    """Fill the states of contexts, and their arcs from number 0 on; return the number of arcs."""
    gram, row = 0, 0
    for context in range(len(contexts.size)):
        state = states[context]
        state.pos = row
        state.final = np.inf
        state.niepsilons = 1
        state.noepsilons = 1
        arcs[row].ilabel = 0
        arcs[row].olabel = 0
        arcs[row].weight = targets.backoff_cost[context]
        arcs[row].nextstate = targets.backoff_state[context]
        begin = row
        row += 1
        for _ in range(contexts.size[context]):
            word = contexts.grams[gram, WORD]
            if word == 0:
                state.final = targets.cost[gram]
            else:
                arcs[row].ilabel = word
                arcs[row].olabel = word
                arcs[row].weight = targets.cost[gram]
                arcs[row].nextstate = targets.state[gram]
                row += 1
            gram += 1
        state.narcs = row - begin
    return row


class UnprunedAcceptor:
    """An acceptor, as `Acceptor`, of a model that keeps all n-grams of the estimator. Its chunks can be read once."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator
        counts = estimator.counts
        occurs = counts.tokens > 0
        # Level 1: a state for each label that occurs. Other labels have no successors.
        self._of_label = np.where(occurs, np.cumsum(occurs), 0).astype(np.uint32)
        self._shift = [0, 0]  # state = node + shift, from level 2 on
        number = 1 + (int(occurs.sum()) if counts.order > 1 else 0)
        arcs = counts.words
        for n in range(2, counts.order + 1):
            grams = int(counts.first_nodes[n][-1] - counts.sentence_ends[n].sum())
            arcs += grams
            self._shift.append(number - int(counts.sentence_ends[n].sum()))
            if n < counts.order:
                number += grams
        self.states = number
        self.arcs = arcs + number - 1
        self.start = 1 if counts.order > 1 else 0
        self.ngrams = [counts.words + 1, *(int(first_nodes[-1]) for first_nodes in counts.first_nodes[2:])]

    def _state(self, n: int, node: npt.NDArray) -> npt.NDArray:
        """Return the states of nodes of level n that do not end in </s>."""
        if n == 0:
            return np.zeros(len(node), np.uint32)
        return self._of_label[node] if n == 1 else node + np.uint32(self._shift[n] % 2**32)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the root, then the states of each bucket of contexts, with their arcs."""
        target = self._of_label if self.estimator.counts.order > 1 else np.zeros_like(self._of_label)
        states, arcs = root(cost(self.estimator.unigrams.prob), target)
        yield Chunk(0, states, 0, arcs)
        first_state, first_arc = 1, len(arcs)
        for chunk in self.estimator.contexts(self._compile):
            chunk.states["pos"] += first_arc
            yield Chunk(first_state, chunk.states, first_arc, chunk.arcs)
            first_state += len(chunk.states)
            first_arc += len(chunk.arcs)

    def _compile(self, contexts: Contexts) -> Chunk:
        """Build the states and arcs of one bucket, numbered as if it were the first."""
        n, grams = contexts.order, contexts.grams
        states, arcs = np.zeros(len(contexts.node), STATE), np.empty(len(grams) + len(contexts.node), ARC)
        last = n == self.estimator.counts.order
        targets = _Targets(
            cost(contexts.gamma),
            self._state(n - 2, contexts.suffix),
            cost(contexts.prob[:, PROB]),
            self._state(n - 1, grams[:, SUFFIX]) if last else self._state(n, grams[:, NODE]),
        )
        number = _fill_from_contexts(contexts, targets, states, arcs)
        return Chunk(0, states, 0, arcs[:number])
