"""More than the best path: the n best casings of a line, and what each form of each word costs at best.

In: the words of one line, with the labels of their forms, and the model. Out: the costs and labels of the n cheapest
paths; or for each form of each word the cost of the cheapest path through it (the max-marginals).

The lattice is that of `lattice.py`, of the whole line. `advance` (viterbi.py) goes through it forwards; `_completions`
goes backwards and gives each node its n cheapest ways to the end of the line. As each casing is one path, no two of
them are alike. All of it is exact, and equal costs stand in the order of the labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.backoff import final_cost
from capfst.search.lattice import NO_ROOM, compose, first_node, new_lattice
from capfst.search.viterbi import advance, fill_chunk, new_chunk, start_paths
from capfst.system.kernels import allocating, kernel


class Completions(NamedTuple):
    """The cheapest ways from each node to the end of the line, [nodes, n], cheapest first."""

    costs: npt.NDArray[np.float64]  # −ln P; +inf: there are no more
    forms: npt.NDArray[np.int32]  # the form of the next word
    ranks: npt.NDArray[np.int32]  # which of the ways of the node behind that form it goes on with


@allocating
def line_lattice(words, offsets, arc_costs, unknown, start, tables):  # type: ignore[no-untyped-def]
    """A line's chunk and lattice, and its number of nodes, or IRREGULAR. Arguments as in `viterbi.search`."""
    size = words.token_types.size
    room = 16 * size + 256
    chunk, lattice = new_chunk(size, arc_costs), new_lattice(size, room)
    fill_chunk(words, offsets, 0, unknown, chunk)
    n_nodes = compose(chunk, lattice, tables, start, start)
    while n_nodes == NO_ROOM:
        room *= 2
        lattice = new_lattice(size, room)
        n_nodes = compose(chunk, lattice, tables, start, start)
    return chunk, lattice, n_nodes


@kernel
def _merge(lattice, node, n_forms, completions, taken):  # type: ignore[no-untyped-def]
    """The cheapest ways from a node that has a row: those of its targets, each list of which is sorted, merged."""
    edges, costs = lattice.edges, completions.costs
    row = np.int64(lattice.nodes[node].row)
    for k in range(n_forms):
        taken[k] = 0
    for rank in range(costs.shape[1]):
        least, best = np.inf, np.int64(0)
        for k in range(n_forms):
            if taken[k] < costs.shape[1]:
                cost = edges[row + k].cost + costs[np.int64(edges[row + k].target), taken[k]]
                if cost < least:
                    least, best = cost, k
        costs[node, rank], completions.forms[node, rank], completions.ranks[node, rank] = least, best, taken[best]
        taken[best] += 1


@allocating
def _completions(chunk, lattice, tables, n_nodes, n):  # type: ignore[no-untyped-def]
    """The n cheapest ways of each node to the end of the line."""
    nodes, places = lattice.nodes, lattice.places
    size = chunk.n_forms.size
    costs = np.empty((n_nodes, n))
    forms, ranks = np.empty((n_nodes, n), np.int32), np.empty((n_nodes, n), np.int32)
    completions = Completions(costs, forms, ranks)
    most_forms = np.int64(1)
    for n_forms in chunk.n_forms:
        most_forms = max(most_forms, np.int64(n_forms))
    taken = np.empty(most_forms, np.int64)
    for position in range(size, -1, -1):
        root = np.int64(lattice.roots[position])
        node = root
        while True:  # those with a row first
            if position == size:
                costs[node, 0] = final_cost(tables.states, tables.arcs, places[node].state)
                costs[node, 1:] = np.inf
            elif nodes[node].resolved == node:
                _merge(lattice, node, np.int64(chunk.n_forms[position]), completions, taken)
            node = np.int64(places[node].next)
            if node == root:
                break
        node = np.int64(places[root].next)
        while position < size and node != root:
            resolved = np.int64(nodes[node].resolved)
            if resolved != node:
                for rank in range(n):
                    costs[node, rank] = nodes[node].backoff_cost + costs[resolved, rank]
                    forms[node, rank], ranks[node, rank] = forms[resolved, rank], ranks[resolved, rank]
            node = np.int64(places[node].next)
    return completions


@allocating
def best_paths(words, chunk, lattice, tables, n_nodes, n):  # type: ignore[no-untyped-def]
    """(costs float64[m], labels uint32[m, words]) of the m ≤ n cheapest paths, +inf being no cost of any; OOV words
    have the label 0."""
    completions = _completions(chunk, lattice, tables, n_nodes, n)
    size = chunk.n_forms.size
    start = first_node(lattice, 0)
    n_paths = 0
    while n_paths < n and completions.costs[start, n_paths] < np.inf:
        n_paths += 1
    labels = np.zeros((n_paths, size), np.uint32)
    for path in range(n_paths):
        node, rank = start, np.int64(path)
        for word in range(size):
            form, rank_behind = np.int64(completions.forms[node, rank]), np.int64(completions.ranks[node, rank])
            if words.n_forms[word] > 0:
                labels[path, word] = words.first_labels[word] + form
            node, rank = np.int64(lattice.edges[lattice.nodes[node].row + form].target), rank_behind
    return completions.costs[start, :n_paths].copy(), labels


@allocating
def max_marginals(words, chunk, lattice, tables, n_nodes):  # type: ignore[no-untyped-def]
    """float64[sum of forms]: the cost of the cheapest path through each form of each word, in the words' order."""
    nodes, edges = lattice.nodes, lattice.edges
    to_go = _completions(chunk, lattice, tables, n_nodes, 1).costs
    start_paths(lattice, 0, 0.0)
    least = np.full(np.int64(words.n_forms.sum()), np.inf)
    begin = np.int64(0)
    for word in range(chunk.n_forms.size):
        n_forms = np.int64(chunk.n_forms[word])
        advance(lattice, word, n_forms)
        if words.n_forms[word] == 0:
            continue
        node = np.int64(lattice.first_expanded[word])
        while node >= 0:
            row = np.int64(nodes[node].row)
            for k in range(n_forms):
                cost = nodes[node].best + edges[row + k].cost + to_go[np.int64(edges[row + k].target), 0]
                least[begin + k] = min(least[begin + k], cost)
            node = np.int64(lattice.next_expanded[node])
        begin += n_forms
    return least
