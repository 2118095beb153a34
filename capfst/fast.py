"""The engine `fast`: bestpath(S ∘ T ∘ LM) by lazy composition over the mapped arcs.

In: the words of a buffer with the labels of their surface forms (transducer.py), and the model. Out: for each word the
label that the best path gives it. Same paths and costs as `openfst.py`, without building an FST.

Two steps for a chunk of words, a *gap* being the place between two words:

1. `compose`: the nodes of each gap, which are the LM states that some casing of the words before it leads to, and their
   backoffs; and their arcs for the forms of the word behind the gap. Nodes are looked up in rounds: the words give the
   states of one word of context, their arcs those of two words, and so on. So the look-ups of a round do not wait for
   each other, and prefetching hides the memory's latency. As the forms of a word are neighbours in every state, one
   search finds all of them.
2. `advance`: an exact Viterbi search over these nodes, which are then in the cache. A backoff arc is a failure arc,
   taken for the forms that the node has no arc for. A node that has none at all is not searched: what its paths cost
   from there on is what they cost from its backoff, and as much for all.

A chunk ends where all paths agree, or with a line, so lines may be of any length.
Costs are −ln P, added in double precision. Ties go to the more frequent form of the first word in which paths differ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.find import tables
from capfst.lattice import EDGE, NODE, PLACE, compose
from capfst.lm import LanguageModel
from capfst.memory import kernel
from capfst.tokenize import NEWLINE
from capfst.transducer import Words

CHUNK = 96
"""Words. Their nodes fit into the cache."""

_FORM = np.int64(0xFFFFFFFF)


@kernel
def final_cost(states, arcs, state):  # type: ignore[no-untyped-def]
    """The cost of `</s>` behind `state`."""
    cost = np.float64(0)
    while states[state].final == np.inf and state != 0:
        arc = arcs[states[state].pos]
        cost += arc.weight
        state = arc.nextstate
    return cost + states[state].final


@kernel
def _precedes(nodes, a, b):  # type: ignore[no-untyped-def]
    """Whether the path with the last link a has, in the first word where they differ, a lower form than b's."""
    less = False
    while a != b:
        if a & _FORM != b & _FORM:
            less = a & _FORM < b & _FORM
        a, b = nodes[a >> 32].link, nodes[b >> 32].link
    return less


@kernel
def _relax(nodes, target, cost, link):  # type: ignore[no-untyped-def]
    old, old_link = nodes[target].best, nodes[target].link
    less = cost < old
    nodes[target].best = cost if less else old
    nodes[target].link = link if less else old_link
    if (cost == old) & (cost < np.inf) and _precedes(nodes, link, old_link):
        nodes[target].link = link


@kernel
def _take(nodes, edges, node, number):  # type: ignore[no-untyped-def]
    """Takes the best path to a node on."""
    best = nodes[node].best
    into = np.int64(nodes[node].into)
    if into != node:
        _relax(nodes, into, best + nodes[node].lift, nodes[node].link)
        return
    row = np.int64(nodes[node].row)
    for k in range(number):
        _relax(nodes, np.int64(edges[row + k].target), best + edges[row + k].cost, node << 32 | k)


@kernel
def advance(places, nodes, edges, base, number):  # type: ignore[no-untyped-def]
    """Takes the paths to a gap's nodes on, with each of the `number` forms of the word behind it."""
    node = np.int64(places[base].next)
    while node != base:
        _take(nodes, edges, node, number)
        node = np.int64(places[node].next)
    _take(nodes, edges, base, number)


@kernel
def _settle(nodes, node, begin, end, first, choice):  # type: ignore[no-untyped-def]
    """Writes the choice for the words begin … end − 1 from the best path to `node`, in the gap behind them."""
    for word in range(end - 1, begin - 1, -1):
        link = nodes[node].link
        choice[word] = first[word] + np.uint32(link & _FORM)
        node = link >> 32


@kernel
def _end(states, arcs, places, nodes, base):  # type: ignore[no-untyped-def]
    """The node of the gap where the best path of a line ends; −1 if no path has a finite cost."""
    winner, least = np.int64(-1), np.inf
    node = np.int64(base)
    while True:
        node = np.int64(places[node].next)
        if nodes[node].best < np.inf:
            cost = nodes[node].best + final_cost(states, arcs, places[node].state)
            if cost < least or (
                cost == least and cost < np.inf and _precedes(nodes, nodes[node].link, nodes[winner].link)
            ):
                winner, least = node, cost
        if node == base:
            return winner


@njit(cache=True, nogil=True)
def _meet(bases, places, nodes, gap):  # type: ignore[no-untyped-def]
    """The last gap up to `gap` where all paths to `gap` are in one node, and that node; −1 if there is no path."""
    base = np.int64(bases[gap])
    alive = [base for _ in range(nodes[base].best < np.inf)]
    node = np.int64(places[base].next)
    while node != base:
        if nodes[node].best < np.inf:
            alive.append(node)
        node = np.int64(places[node].next)
    if len(alive) == 0:
        return gap, np.int64(-1)
    while len(alive) > 1:
        gap -= 1
        met = [nodes[alive[0]].link >> 32]
        for node in alive:
            if nodes[node].link >> 32 not in met:
                met.append(nodes[node].link >> 32)
        alive = met
    return gap, alive[0]


@njit(cache=True, nogil=True)
def search(kinds, first, forms, start, states, arcs, table, slots, posts, bits, chunk, choice):  # type: ignore[no-untyped-def]
    """Fills choice[i] with the label of word i on its line's best path. Each line starts in the state `start`.

    Every word has a form: an OOV word `<unk>`, as which it passes through. choice[i] of a line's end says nothing.
    """
    n = kinds.size
    room = 16 * chunk + 256
    bases = np.empty(chunk + 2, np.int32)
    queue, hits = np.empty(room, np.int32), np.empty(room, np.int32)
    nodes, places, edges = np.empty(room, NODE), np.empty(room, PLACE), np.empty(room, EDGE)
    line = 0  # its first word
    at = 0
    here, cost = np.int64(start), 0.0  # where all paths are before word `at`
    size = chunk
    while at < n:
        size = min(size, n - at)
        stop = at + size
        if size + 2 > bases.size:
            bases = np.empty(2 * size, np.int32)
        count = compose(
            kinds[at:stop], first[at:stop], forms[at:stop], start, here,
            states, arcs, table, slots, posts, bits, bases, queue, hits, nodes, places, edges,
        )  # fmt: skip
        if count == -2:
            return False
        if count < 0:
            room *= 2
            queue, hits = np.empty(room, np.int32), np.empty(room, np.int32)
            nodes, places, edges = np.empty(room, NODE), np.empty(room, PLACE), np.empty(room, EDGE)
            continue
        node = np.int64(places[bases[0]].next)  # the longest context
        nodes[node].best = cost
        nodes[node].link = 0
        settled = 0
        for gap in range(size):
            if kinds[at + gap] != NEWLINE:
                advance(places, nodes, edges, np.int64(bases[gap]), np.int64(forms[at + gap]))
                continue
            node = _end(states, arcs, places, nodes, bases[gap])
            if node >= 0:
                _settle(nodes, node, settled, gap, first[at:stop], choice[at:stop])
            else:
                choice[line : at + gap] = first[line : at + gap]  # the tie of infinite costs
            settled = gap + 1
            line = at + gap + 1
            node = np.int64(places[bases[gap + 1]].next)
            nodes[node].best = 0.0
            nodes[node].link = 0
        if stop == n:
            node = _end(states, arcs, places, nodes, bases[size])
            if node >= 0:
                _settle(nodes, node, settled, size, first[at:stop], choice[at:stop])
            else:
                choice[line:n] = first[line:n]
            return True
        gap, node = _meet(bases, places, nodes, size)
        if node < 0:  # no casing of the line so far has a finite cost, as its end will show
            here, cost = np.int64(0), np.inf
            at, size = stop, chunk
        elif gap == 0:
            size *= 2  # the paths through the chunk part in its first word
        else:
            _settle(nodes, node, settled, gap, first[at:stop], choice[at:stop])
            here, cost = np.int64(places[node].state), nodes[node].best
            at, size = at + gap, chunk
    return True


class Engine:
    """The best paths of whole texts; each line starts in the LM state `start`. Threads may share it."""

    def __init__(self, lm: LanguageModel, start: int) -> None:
        self.start = start
        self.unknown = lm.unknown
        self.tables = tables(lm.model)

    def best(self, words: Words, chunk: int = CHUNK) -> npt.NDArray[np.uint32]:
        """The label of each word on its line's best path; 0 for OOV words and line ends."""
        known = words.forms > 0
        choice = np.empty(len(words.kinds), np.uint32)
        first = np.where(known, words.first, np.uint32(self.unknown))
        search(words.kinds, first, np.maximum(words.forms, 1), self.start, *self.tables, chunk, choice)
        return choice * known
