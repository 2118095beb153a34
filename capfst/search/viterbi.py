"""bestpath: an exact Viterbi search over the lattices of a text, chunk by chunk.

In: the words of a text with the labels of their surface forms, and the model (find.py). Out: for each word the label
that its line's best path gives it, and the costs of these paths.

`advance` takes the paths to a gap's nodes on over the word behind it. No path stops at a node that has no arc for its
gap's word: what it costs from there on is what it costs from the backoff, where it stops instead. A chunk ends where
all paths agree, or with a line, so lines may be of any length.
Costs are −ln P, added in double precision. Ties go to the more frequent form of the first word in which paths differ.
"""

from __future__ import annotations

import numpy as np

from capfst.fst.backoff import final_cost
from capfst.search.lattice import EDGE, IRREGULAR, NODE, PLACE, compose
from capfst.system.kernels import allocating, kernel
from capfst.text.tokenizer import NEWLINE

_FORM = np.int64(0xFFFFFFFF)


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
def begin(places, nodes, base, cost):  # type: ignore[no-untyped-def]
    """Has the paths begin at a gap's longest context, or where its backoffs lead."""
    node = np.int64(places[base].next)
    into = np.int64(nodes[node].into)
    nodes[into].best = cost + nodes[node].lift
    nodes[into].link = 0


@kernel
def advance(nodes, edges, others, node, number):  # type: ignore[no-untyped-def]
    """Takes the best paths to a gap's nodes on, from the first that has a row, with each of the `number` forms of the
    word behind it, to the nodes that have rows for the next word."""
    while node >= 0:
        row = np.int64(nodes[node].row)
        best = nodes[node].best
        for k in range(number):
            target = np.int64(edges[row + k].target)
            _relax(
                nodes, np.int64(nodes[target].into), best + (edges[row + k].cost + nodes[target].lift), node << 32 | k
            )
        node = np.int64(others[node])


@kernel
def _settle(nodes, node, begin, end, first, forms, choice):  # type: ignore[no-untyped-def]
    """Writes the choice for the words begin … end − 1 from the best path to `node`, in the gap behind them."""
    for word in range(end - 1, begin - 1, -1):
        link = nodes[node].link
        choice[word] = first[word] + np.uint32(link & _FORM) if forms[word] > 0 else np.uint32(0)
        node = link >> 32


@kernel
def finish(states, arcs, places, nodes, base):  # type: ignore[no-untyped-def]
    """The node of the gap where the best path of a line ends, and its cost; −1 if no path has a finite cost."""
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
            return winner, least


@allocating
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


@kernel
def candidates(first, forms, offsets, last, unknown, labels, numbers, at):  # type: ignore[no-untyped-def]
    """The candidates of a chunk's words: labels[i] … labels[i] + numbers[i] − 1, whose weights begin at at[i].

    An OOV word has `<unk>`, as which it passes through; its weight is the last.
    """
    for word in range(first.size):
        known = forms[word] > 0
        labels[word] = first[word] if known else unknown
        numbers[word] = forms[word] if known else 1
        at[word] = offsets[word] if offsets.size > 0 and known else last


@allocating
def search(kinds, first, forms, offsets, weights, unknown, start,  # type: ignore[no-untyped-def]
           states, arcs, table, slots, posts, bits, chunk, choice, costs):  # fmt: skip
    """Fills choice[i] with the label of word i on its line's best path, 0 for OOV words, and costs with those of the
    lines' best paths. Each line starts in the state `start`; choice[i] of a line's end says nothing.

    False if the model is not one of n-grams.
    """
    n = kinds.size
    room = 16 * chunk + 256
    bases, heads = np.empty(chunk + 2, np.int32), np.empty(chunk + 2, np.int32)
    labels, numbers, weighed = np.empty(chunk, np.uint32), np.empty(chunk, np.uint32), np.empty(chunk, np.int64)
    queue, hits, others = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    nodes, places, edges = np.empty(room, NODE), np.empty(room, PLACE), np.empty(room, EDGE)
    line, lines = 0, 0  # its first word; those before it
    at = 0
    here, cost = np.int64(start), 0.0  # where all paths are before word `at`
    size = chunk
    while at <= n:
        size = min(size, n - at)
        stop = at + size
        if size > labels.size:
            bases, heads = np.empty(2 * size + 2, np.int32), np.empty(2 * size + 2, np.int32)
            labels, numbers = np.empty(2 * size, np.uint32), np.empty(2 * size, np.uint32)
            weighed = np.empty(2 * size, np.int64)
        last = weights.size - 1
        candidates(first[at:stop], forms[at:stop], offsets[at:stop], last, unknown, labels, numbers, weighed)
        count = compose(
            kinds[at:stop], labels, numbers, weighed, weights, start, here,
            states, arcs, table, slots, posts, bits, bases, heads, queue, hits, nodes, places, edges, others,
        )  # fmt: skip
        if count == IRREGULAR:
            return False
        if count < 0:
            room *= 2
            queue, hits, others = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
            nodes, places, edges = np.empty(room, NODE), np.empty(room, PLACE), np.empty(room, EDGE)
            continue
        begin(places, nodes, np.int64(bases[0]), cost)
        settled = 0
        for gap in range(size + 1):
            word = at + gap
            if word < n and gap == size:
                break
            if word < n and kinds[word] != NEWLINE:
                advance(nodes, edges, others, np.int64(heads[gap]), np.int64(numbers[gap]))
                continue
            node, costs[lines] = finish(states, arcs, places, nodes, bases[gap])
            if node >= 0:
                _settle(nodes, node, settled, gap, first[at:stop], forms[at:stop], choice[at:stop])
            else:
                for i in range(line, word):  # the tie of infinite costs
                    choice[i] = first[i] if forms[i] > 0 else 0
            if word == n:
                return True
            settled = gap + 1
            line = word + 1
            lines += 1
            begin(places, nodes, np.int64(bases[gap + 1]), 0.0)
        gap, node = _meet(bases, places, nodes, size)
        if node < 0:  # no casing of the line so far has a finite cost, as its end will show
            here, cost = np.int64(0), np.inf
            at, size = stop, chunk
        elif gap == 0:
            size *= 2  # the paths through the chunk part in its first word
        else:
            _settle(nodes, node, settled, gap, first[at:stop], forms[at:stop], choice[at:stop])
            here, cost = np.int64(places[node].state), nodes[node].best
            at, size = at + gap, chunk
    return True
