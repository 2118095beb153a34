"""Beyond the best path: the n best casings of a line, and the cheapest path through each form of each word.

In: the words of one line, with the labels of their forms, and the model. Out: the costs and labels of the n cheapest
paths; or for each form of each word the cost of the cheapest path through it (the max-marginals).

The lattice (lattice.py) covers the whole line. `_completions` traverses it backwards and finds the n cheapest
completions of each node; `max_marginals` also traverses it forwards. A step is a form of a word, and whether a sentence
ends after it. All paths are different, but those that differ only in sentence boundaries may be written alike. All
results are exact, and paths of equal cost are in the order of their labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.types import Words
from capfst.kernels import allocating, inlined, inner, inner_allocating
from capfst.kernels.types import BoolArray, BoolMatrix, F64Array, F64Matrix, I32Matrix, I64Array, U32Matrix, f64, i64
from capfst.lm.query import Starts, final_cost
from capfst.search.lattice import OUT_OF_CAPACITY, Lattice, compose, first_node, gap_costs, new_lattice, node_of_state
from capfst.search.lookup import LookupTables
from capfst.search.viterbi import Choices, fill_chunk


class Completions(NamedTuple):
    """The n cheapest paths from each node to the end of the line, [nodes, n], cheapest first."""

    costs: F64Matrix  # −ln P; +inf after the last completion
    steps: I32Matrix  # the form of the next word << 1 | whether a sentence ends after it
    ranks: I32Matrix  # rank of the completion that continues it, among those of the node after the step


def line_lattice(
    words: Words,
    choices: Choices,
    starts: Starts,
    tables: LookupTables,
) -> tuple[Lattice, int]:
    """Build the lattice of a line. Return it and its number of nodes, or IRREGULAR. Arguments as for
    `viterbi.search`."""
    size = len(words.token_types)
    capacity = 16 * size + 256
    n_nodes = OUT_OF_CAPACITY
    while n_nodes == OUT_OF_CAPACITY:
        lattice = new_lattice(size, capacity)
        fill_chunk(words, choices, 0, -1, size, lattice.positions)
        n_nodes = compose(size, choices.arc_costs, lattice, tables, starts, starts.line)
        capacity *= 2
    return lattice, n_nodes


@inlined
def _step(
    lattice: Lattice, tables: LookupTables, node: i64, step: i64, restart: i64, gap: tuple[f64, f64]
) -> tuple[f64, i64]:
    """Return the cost of a step from a node, and the node it leads to. restart: the node where a sentence begins after
    the word; −1 if none may begin there. gap: as from `gap_costs`."""
    edge = i64(lattice.nodes[node].row) + (step >> 1)
    cost, target = lattice.costs[edge], lattice.targets[edge]
    if step & 1 == 0:
        return cost + gap[0], target
    if restart < 0:
        return np.inf, target
    return cost + final_cost(tables.states, tables.arcs, lattice.nodes[target].state) + gap[1], restart


@inlined
def _restart(lattice: Lattice, starts: Starts, position: i64) -> i64:
    """Return the node where a sentence begins at a position inside a line; −1 if none may begin there."""
    may_begin = lattice.positions[position].may_begin
    return node_of_state(lattice, position, starts.sentence) if may_begin else (-1)


@inner
def _merge(
    lattice: Lattice,
    tables: LookupTables,
    node: i64,
    n_forms: i64,
    restart: i64,
    gap: tuple[f64, f64],
    completions: Completions,
    taken: I64Array,
) -> None:
    """Find the cheapest completions of a node that has a row: merge the sorted completions of its targets."""
    costs = completions.costs
    for step in range(2 * n_forms):
        taken[step] = 0
    for rank in range(costs.shape[1]):
        least, best = np.inf, 0
        for step in range(2 * n_forms):
            if taken[step] < costs.shape[1]:
                cost, target = _step(lattice, tables, node, step, restart, gap)
                cost += costs[target, taken[step]]
                if cost < least:
                    least, best = cost, step
        costs[node, rank], completions.steps[node, rank], completions.ranks[node, rank] = least, best, taken[best]
        taken[best] += 1


@inner_allocating
def _completions(lattice: Lattice, tables: LookupTables, starts: Starts, n_nodes: i64, n: i64) -> Completions:
    """Find the n cheapest completions of each node."""
    nodes, positions = lattice.nodes, lattice.positions
    size = positions.size - 2
    costs = np.empty((n_nodes, n))
    steps, ranks = np.empty((n_nodes, n), np.int32), np.empty((n_nodes, n), np.int32)
    completions = Completions(costs, steps, ranks)
    most_forms = 1
    for position in range(size):
        most_forms = max(most_forms, i64(positions[position].n_forms))
    taken = np.empty(2 * most_forms, np.int64)
    for position in range(size, -1, -1):
        root = i64(positions[position].root)
        restart = _restart(lattice, starts, position + 1) if position < size else (-1)
        node = root
        while True:  # nodes with a row first
            if position == size:
                costs[node, 0] = final_cost(tables.states, tables.arcs, nodes[node].state)
                costs[node, 1:] = np.inf
            elif nodes[node].resolved == node:
                gap = gap_costs(positions[position + 1])
                n_forms = i64(positions[position].n_forms)
                _merge(lattice, tables, node, n_forms, restart, gap, completions, taken)
            node = i64(nodes[node].next)
            if node == root:
                break
        node = i64(nodes[root].next)
        while position < size and node != root:
            resolved = i64(nodes[node].resolved)
            if resolved != node:
                for rank in range(n):
                    costs[node, rank] = nodes[node].backoff_cost + costs[resolved, rank]
                    steps[node, rank], ranks[node, rank] = steps[resolved, rank], ranks[resolved, rank]
            node = i64(nodes[node].next)
    return completions


@allocating
def best_paths(
    words: Words, lattice: Lattice, tables: LookupTables, starts: Starts, n_nodes: i64, n: i64
) -> tuple[F64Array, U32Matrix, BoolMatrix]:
    """Return (costs float64[m], labels uint32[m, words], begins bool[m, words]) of the m ≤ n cheapest paths of finite
    cost; the label of OOV words is 0."""
    completions = _completions(lattice, tables, starts, n_nodes, n)
    size = words.n_forms.size
    start = first_node(lattice, 0)
    n_paths = 0
    while n_paths < n and completions.costs[start, n_paths] < np.inf:
        n_paths += 1
    labels, begins = np.zeros((n_paths, size), np.uint32), np.zeros((n_paths, size), np.bool_)
    for path in range(n_paths):
        node, rank = start, i64(path)
        for word in range(size):
            step, next_rank = i64(completions.steps[node, rank]), i64(completions.ranks[node, rank])
            if words.n_forms[word] > 0:
                labels[path, word] = words.first_labels[word] + (step >> 1)
            if step & 1:
                begins[path, word + 1] = True
            restart, gap = _restart(lattice, starts, word + 1), gap_costs(lattice.positions[word + 1])
            node, rank = _step(lattice, tables, node, step, restart, gap)[1], next_rank
    return completions.costs[start, :n_paths].copy(), labels, begins


@allocating
def max_marginals(
    words: Words, stays_first: BoolArray, lattice: Lattice, tables: LookupTables, starts: Starts, n_nodes: i64
) -> F64Matrix:
    """Return float64[2, forms]: the cost of the cheapest path through each form of each word, in the order of the
    words, where the word is not the first of a sentence, and where it is. An OOV word has one form.

    stays_first: bool[words], whether the next word is the first of a sentence if this one is.
    """
    nodes, positions = lattice.nodes, lattice.positions
    size = words.n_forms.size
    to_go = _completions(lattice, tables, starts, n_nodes, 1).costs
    best = np.full((n_nodes, 2), np.inf)  # costs of the cheapest paths to the nodes
    start = first_node(lattice, 0)
    best[i64(nodes[start].resolved), 1] = nodes[start].backoff_cost
    least = np.full((2, i64(positions["n_forms"][:size].sum())), np.inf)
    begin = 0
    for word in range(size):
        n_forms = i64(positions[word].n_forms)
        restart, gap = _restart(lattice, starts, word + 1), gap_costs(positions[word + 1])
        node = i64(positions[word].first_expanded)
        while node >= 0:
            for step in range(2 * n_forms):
                more, target = _step(lattice, tables, node, step, restart, gap)
                resolved = i64(nodes[target].resolved)
                for first in range(2):
                    cost, form = best[node, first] + more, begin + (step >> 1)
                    least[first, form] = min(least[first, form], cost + to_go[target, 0])
                    after = 1 if step & 1 or (first and stays_first[word]) else 0
                    best[resolved, after] = min(best[resolved, after], cost + nodes[target].backoff_cost)
            node = i64(nodes[node].next_expanded)
        begin += n_forms
    return least
