"""Forward–backward over S ∘ T ∘ LM in the log semiring: sums over all casings of a line, instead of the best casing.

In: the words of a line, and the model; scores of the arcs of S ∘ T. Out: the edges of the lattice of
`search/lattice.py`, as lists in the order of the words; ln Z, the posterior probability of each arc, and the expected
cost by the LM.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.types import Words
from capfst.kernels import allocating, inlined, inner
from capfst.kernels.types import F64Array, I32Array, f64, i64
from capfst.lm.query import Starts, final_cost
from capfst.search.lattice import Lattice, first_node, gap_costs, node_of_state
from capfst.search.lookup import LookupTables
from capfst.search.nbest import line_lattice
from capfst.search.viterbi import choose

END = -1
"""Pseudo arc: an edge for `</s>`, at the end of the line."""


class Edges(NamedTuple):
    """Edges of the lattice of a line. Nodes are numbered in the order of the words; paths begin in node 0 and end in
    the last one."""

    source: I32Array
    target: I32Array
    arc: I32Array  # the form of the word, numbered over all words of the line (an OOV word has one form); or END
    cost: F64Array  # by the LM, −ln


@inlined
def _number(numbers: I32Array, node: i64, n: i64) -> i64:
    """Number a node, as node n, unless it has a number; return the number of numbered nodes."""
    if numbers[node] < 0:
        numbers[node] = n
        return n + 1
    return n


@allocating
def _list_edges(
    size: i64, lattice: Lattice, tables: LookupTables, starts: Starts, n_nodes: i64, edges: Edges
) -> tuple[i64, i64]:
    """Fill `edges` from the lattice of a line of `size` words, as far as they have capacity; return the numbers of
    edges and of nodes."""
    positions, nodes = lattice.positions, lattice.nodes
    numbers = np.full(n_nodes, -1, np.int32)
    n, n_edges, first_arc = 0, 0, 0
    start = first_node(lattice, 0)
    n = _number(numbers, nodes[start].resolved, n)
    for word in range(size):
        n_forms = i64(positions[word].n_forms)
        goes_on, begins = gap_costs(positions[word + 1])
        restart = -1
        if positions[word + 1].may_begin:
            restart = node_of_state(lattice, word + 1, starts.sentence)
        node = i64(positions[word].first_expanded)
        while node >= 0:
            for k in range(n_forms if numbers[node] >= 0 else 0):
                edge = i64(nodes[node].row) + k
                target = lattice.targets[edge]
                for ends in range(0 if goes_on < np.inf else 1, 2 if begins < np.inf else 1):
                    reached, cost = target, lattice.costs[edge] + (nodes[start].backoff_cost if word == 0 else 0.0)
                    cost += begins if ends else goes_on
                    if ends:
                        reached = restart
                        cost += final_cost(tables.states, tables.arcs, nodes[target].state)
                    resolved = i64(nodes[reached].resolved)
                    n = _number(numbers, resolved, n)
                    if n_edges < edges.source.size:
                        edges.source[n_edges], edges.target[n_edges] = numbers[node], numbers[resolved]
                        edges.arc[n_edges], edges.cost[n_edges] = first_arc + k, cost + nodes[reached].backoff_cost
                    n_edges += 1
            node = i64(nodes[node].next_expanded)
        first_arc += n_forms
    root = i64(positions[size].root)
    node = root
    while True:
        if numbers[node] >= 0:
            if n_edges < edges.source.size:
                edges.source[n_edges], edges.target[n_edges], edges.arc[n_edges] = numbers[node], n, END
                edges.cost[n_edges] = final_cost(tables.states, tables.arcs, nodes[node].state)
            n_edges += 1
        node = i64(nodes[node].next)
        if node == root:
            break
    return n_edges, n + 1


def line_edges(words: Words, unknown: int, starts: Starts, tables: LookupTables) -> tuple[Edges, int]:
    """Return the edges of a line, and the number of its nodes; no edges and IRREGULAR if the model is not an n-gram
    model."""
    choices, _ = choose(words, None, unknown, leave_out=False)
    lattice, n_nodes = line_lattice(words, choices, starts, tables)
    if n_nodes < 0:
        return _allocate(0), n_nodes
    size = len(words.token_types)
    edges = _allocate(_list_edges(size, lattice, tables, starts, n_nodes, _allocate(0))[0])
    return edges, _list_edges(size, lattice, tables, starts, n_nodes, edges)[1]


def _allocate(n: int) -> Edges:
    """Allocate n edges."""
    return Edges(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.float64))


@inner
def _log_add(a: f64, b: f64) -> f64:
    """Return ln(eᵃ + eᵇ)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@inner
def forward_backward(
    edges: Edges,
    begin: i64,
    end: i64,
    n_nodes: i64,
    lm_weight: f64,
    scores: F64Array,
    forward: F64Array,
    backward: F64Array,
    posteriors: F64Array,
) -> tuple[f64, f64]:
    """Return ln Z of the edges begin … end − 1, a line with n_nodes nodes, and the expected cost by the LM; add the
    posterior probability of each arc to posteriors[arc].

    A path has the weight exp(Σ scores[arc] − lm_weight · Σ cost). scores[arc]: −inf if the arc is excluded. forward,
    backward: buffers, [n_nodes].
    """
    for node in range(n_nodes):
        forward[node] = backward[node] = -np.inf
    forward[0], backward[n_nodes - 1] = 0, 0
    for e in range(begin, end):
        score = -lm_weight * edges.cost[e]
        if edges.arc[e] != END:
            score += scores[edges.arc[e]]
        if score > -np.inf and forward[edges.source[e]] > -np.inf:
            forward[edges.target[e]] = _log_add(forward[edges.target[e]], forward[edges.source[e]] + score)
    log_z = forward[n_nodes - 1]
    expected = 0.0
    for e in range(end - 1, begin - 1, -1):
        score = -lm_weight * edges.cost[e]
        if edges.arc[e] != END:
            score += scores[edges.arc[e]]
        score += backward[edges.target[e]]
        if score == -np.inf or forward[edges.source[e]] == -np.inf:
            continue
        backward[edges.source[e]] = _log_add(backward[edges.source[e]], score)
        posterior = np.exp(forward[edges.source[e]] + score - log_z)
        expected += posterior * edges.cost[e]
        if edges.arc[e] != END:
            posteriors[edges.arc[e]] += posterior
    return log_z, expected
