"""Probabilities → states and arcs, bucket by bucket: for models larger than memory, and faster.

In: the contexts as estimate.py hands them out. Out: the same states and arcs as by compile.py from the
levels of the whole model, in chunks, each with its place. It needs that every n-gram is kept: then every node
that does not end in `</s>` is a context, and its state's number follows from the node's.
"""

from collections.abc import Iterator

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.compile import Chunk, root
from capfst.estimate import NODE, PROB, SUFFIX, WORD, Contexts, Estimator
from capfst.fst import ARC, STATE
from capfst.levels import cost


@nb.njit(cache=True, nogil=True)
def _fill(
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


class Stream:
    """The acceptor of an uncut model, in chunks in the order of their places."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator
        counts = estimator.counts
        occurs = counts.tokens > 0
        # Level 1: a state for each label that occurs. The others are never followed by anything.
        self._of_label = np.where(occurs, np.cumsum(occurs), 0).astype(np.uint32)
        self._shift = [0, 0]  # state = node + shift, from level 2 on
        number = 1 + (int(occurs.sum()) if counts.order > 1 else 0)
        arcs = counts.words
        for n in range(2, counts.order + 1):
            grams = int(counts.starts[n][-1] - counts.ends[n].sum())
            arcs += grams
            self._shift.append(number - int(counts.ends[n].sum()))
            if n < counts.order:
                number += grams
        self.states = number
        self.arcs = arcs + number - 1
        self.start = 1 if counts.order > 1 else 0
        self.ngrams = [counts.words + 1, *(int(starts[-1]) for starts in counts.starts[2:])]

    def _state(self, n: int, node: npt.NDArray) -> npt.NDArray:
        """The states of nodes of level n that do not end in </s>."""
        if n == 0:
            return np.zeros(len(node), np.uint32)
        return self._of_label[node] if n == 1 else node + np.uint32(self._shift[n] % 2**32)

    def chunks(self) -> Iterator[Chunk]:
        target = self._of_label if self.estimator.counts.order > 1 else np.zeros_like(self._of_label)
        states, arcs = root(cost(self.estimator.unigrams.prob), target)
        yield Chunk(0, states, 0, arcs)
        at_state, at_arc = 1, len(arcs)
        for chunk in self.estimator.contexts(self._compile):
            chunk.states["pos"] += at_arc
            yield Chunk(at_state, chunk.states, at_arc, chunk.arcs)
            at_state += len(chunk.states)
            at_arc += len(chunk.arcs)

    def _compile(self, contexts: Contexts) -> Chunk:
        """The states and arcs of one bucket, as if it were the first."""
        n, grams = contexts.order, contexts.grams
        states, arcs = np.zeros(len(contexts.node), STATE), np.empty(len(grams) + len(contexts.node), ARC)
        last = n == self.estimator.counts.order
        target = self._state(n - 1, grams[:, SUFFIX]) if last else self._state(n, grams[:, NODE])
        number = _fill(
            contexts.size,
            cost(contexts.gamma),
            self._state(n - 2, contexts.suffix),
            grams[:, WORD],
            cost(grams.view(np.float32)[:, PROB]),
            target,
            0,
            states,
            arcs,
        )
        return Chunk(0, states, 0, arcs[:number])
