"""All paths of a line: S ∘ T ∘ LM as a list of edges, for everything beyond the best path.

In: the words of one line, with the labels and costs of their forms, and the model. Out: `LineLattice`, whose nodes are
states of the LM between two words, from the lattice of lattice.py; its n cheapest paths; the cheapest path through each
edge, and through each form of each word (the max-marginals). explain/ reads the same edges, and bilingual/ sums over
them.

All paths are different, but those that differ only in sentence boundaries may be written alike. All results are exact,
and paths of equal cost are in the order of their labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.types import ArcCosts, Casing, LabelPath, Words
from capfst.kernels import inlined, kernel
from capfst.kernels.types import (
    BoolArray,
    BoolMatrix,
    F64Array,
    F64Matrix,
    I32Array,
    I32Matrix,
    I64Array,
    U32Matrix,
    f64,
    i64,
)
from capfst.lm.query import Starts, final_cost
from capfst.search.lattice import OUT_OF_CAPACITY, Lattice, compose, first_node, gap_costs, new_lattice, node_of_state
from capfst.search.lookup import LookupTables
from capfst.search.viterbi import Choices, choose, fill_chunk

END = -1
"""Pseudo arc: an edge for `</s>`, at the end of the line."""


class Edges(NamedTuple):
    """The edges of a line, in the order of the words, their source nodes and their arcs. Nodes are numbered in the
    order of the words; paths begin in node 0 and end in the last one."""

    source: I32Array
    target: I32Array
    arc: I32Array  # the form of the word, numbered over all words of the line (an OOV word has one form); or END
    ends: BoolArray  # whether a sentence ends after the word, inside the line
    lm: F64Array  # cost by the LM, −ln, including `</s>` if a sentence ends
    gap: F64Array  # cost of the gap after the word, where a sentence may end

    @classmethod
    def empty(cls, n: int) -> Edges:
        """Allocate n edges."""
        ints, costs = np.empty((3, n), np.int32), np.empty((2, n))
        return cls._make([*ints, np.empty(n, np.bool_), *costs])


def composed(words: Words, choices: Choices, starts: Starts, tables: LookupTables) -> tuple[Lattice, int]:
    """Compose the lattice of a line. Return it and its number of nodes, or IRREGULAR. Arguments as for
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
def _number(numbers: I32Array, key: i64, keys: I32Array, n: i64) -> i64:
    """Number the node with this key, as node n, unless it has a number. Return the number of numbered nodes."""
    if numbers[key] < 0:
        numbers[key], keys[n] = n, key
        return n + 1
    return n


@inlined
def _put(edges: Edges, n: i64, source: i64, target: i64, arc: i64, ends: bool, lm: f64, gap: f64) -> i64:
    """Put edge n, if there is capacity for it. Return the number of edges."""
    if n < edges.source.size:
        edges.source[n], edges.target[n], edges.arc[n] = source, target, arc
        edges.ends[n], edges.lm[n], edges.gap[n] = ends, lm, gap
    return n + 1


@kernel
def _list_edges(
    lattice: Lattice,
    tables: LookupTables,
    starts: Starts,
    arc_costs: F64Array,
    stays_first: BoolArray,
    numbers: I32Array,
    keys: I32Array,
    edges: Edges,
) -> tuple[i64, i64]:
    """Fill `edges` as far as they have capacity; return the numbers of edges and of nodes.

    arc_costs: of each arc; those that cost +inf have no edges. stays_first: as for `line_lattice`, or [0]. A node has
    the key 2 · (its number in the lattice) + (whether the next word is the first of a sentence). numbers: by key,
    filled with −1. keys: by number.
    """
    positions, nodes, size = lattice.positions, lattice.nodes, lattice.positions.size - 2
    first = i64(stays_first.size != 0)
    n_edges, first_arc, begin = 0, 0, 0
    end = _number(numbers, 2 * first_node(lattice, 0) + first, keys, 0)
    for word in range(size):
        n_forms, n = i64(positions[word].n_forms), end
        goes_on, begins = gap_costs(positions[word + 1])
        restart = -1
        if positions[word + 1].may_begin:
            restart = node_of_state(lattice, word + 1, starts.sentence)
        for source in range(begin, end):
            node = nodes[keys[source] >> 1]
            stays = keys[source] & 1 if first == 0 or stays_first[word] else 0
            for arc in range(first_arc, first_arc + n_forms):
                edge = i64(node.row) + arc - first_arc
                target, cost = lattice.targets[edge], node.backoff_cost + lattice.costs[edge]
                is_there = arc_costs[arc] < np.inf
                if is_there and goes_on < np.inf:
                    is_restart = restart >= 0 and nodes[target].state == starts.sentence  # two nodes with one state
                    key = 2 * (restart if is_restart else target) + stays
                    n = _number(numbers, key, keys, n)
                    n_edges = _put(edges, n_edges, source, numbers[key], arc, False, cost, goes_on)
                if is_there and begins < np.inf:
                    key, end_cost = 2 * restart + first, final_cost(tables.states, tables.arcs, nodes[target].state)
                    n = _number(numbers, key, keys, n)
                    n_edges = _put(edges, n_edges, source, numbers[key], arc, True, cost + end_cost, begins)
        begin, end, first_arc = end, n, first_arc + n_forms
    for source in range(begin, end):
        cost = final_cost(tables.states, tables.arcs, nodes[keys[source] >> 1].state)
        n_edges = _put(edges, n_edges, source, end, END, False, cost, 0.0)
    return n_edges, end + 1


class LineLattice(NamedTuple):
    """The lattice of a line, by edges and by nodes; the last node, where paths end, has no state."""

    edges: Edges
    costs: F64Array  # of the edges, including those of their arcs
    begins: I64Array  # the first edge from each node, and the number of edges
    states: I32Array  # of the LM
    is_first: BoolArray  # whether the next word is the first of a sentence; always False if that was not told


def line_lattice(
    words: Words,
    arc_costs: ArcCosts | None,
    stays_first: npt.NDArray[np.bool_] | None,
    unknown: int,
    starts: Starts,
    tables: LookupTables,
) -> LineLattice | None:
    """Return the lattice of a line; None if the model is not an n-gram model.

    stays_first: bool[words], whether the next word is the first of a sentence if this one is; None: that does not
    matter. unknown: the label of `<unk>`.
    """
    choices, _ = choose(words, None, unknown)
    lattice, n_nodes = composed(words, choices, starts, tables)
    if n_nodes < 0:
        return None
    of_arcs = np.zeros(int(np.maximum(words.n_forms, 1).sum()))
    if arc_costs is not None:
        of_arcs[np.repeat(words.n_forms > 0, np.maximum(words.n_forms, 1))] = arc_costs
    stays = np.empty(0, np.bool_) if stays_first is None else stays_first
    keys, size, n_edges = np.empty(2 * n_nodes, np.int32), 0, 16 * len(words.n_forms) + 256
    while size < n_edges:  # at most twice
        size, edges = n_edges, Edges.empty(n_edges)
        numbers = np.full(2 * n_nodes, -1, np.int32)
        n_edges, n = _list_edges(lattice, tables, starts, of_arcs, stays, numbers, keys, edges)
    edges = Edges._make(array[:n_edges] for array in edges)
    costs = edges.lm + edges.gap
    costs += np.append(of_arcs, 0)[edges.arc]  # END has no cost
    begins = np.searchsorted(edges.source, np.arange(n + 1))
    return LineLattice(edges, costs, begins, lattice.nodes["state"][keys[: n - 1] >> 1], keys[: n - 1] & 1 != 0)


class Completions(NamedTuple):
    """The n cheapest paths from each node to the end of the line, [nodes, n], cheapest first."""

    costs: F64Matrix  # −ln P; +inf after the last completion
    edges: I32Matrix  # the first edge
    ranks: I32Matrix  # rank of the completion that continues it, among those of the node after the edge


@kernel
def _complete(line: LineLattice, taken: I32Array, found: Completions) -> None:
    """Merge the sorted completions of the nodes after the edges of each node. taken: by edge, 0."""
    costs, targets, n = found.costs, line.edges.target, found.costs.shape[1]
    for node in range(costs.shape[0] - 2, -1, -1):
        for rank in range(n if line.begins[node] < line.begins[node + 1] else 0):
            least, best = np.inf, line.begins[node]
            for edge in range(line.begins[node], line.begins[node + 1]):
                if taken[edge] < n:
                    cost = line.costs[edge] + costs[targets[edge], taken[edge]]
                    if cost < least:
                        least, best = cost, edge
            costs[node, rank], found.edges[node, rank], found.ranks[node, rank] = least, best, taken[best]
            taken[best] += 1


def completions(line: LineLattice, n: int) -> Completions:
    """Return the n cheapest completions of each node."""
    shape = len(line.begins) - 1, n
    found = Completions(np.full(shape, np.inf), np.zeros(shape, np.int32), np.zeros(shape, np.int32))
    found.costs[-1, 0] = 0
    _complete(line, np.zeros(len(line.costs), np.int32), found)
    return found


class Paths(NamedTuple):
    """The cheapest path through each edge, and to and from each node."""

    through: F64Array  # its cost
    before: I32Array  # the last edge of the cheapest path to each node; −1 if there is none
    after: I32Array  # the first edge of the cheapest path from each node


@kernel
def _go_through(line: LineLattice, to_go: F64Matrix, costs: F64Array, before: I32Array, through: F64Array) -> None:
    """Fill in `Paths`, given the costs of completions. costs: of the cheapest paths to the nodes: of node 0, 0; of the
    others, filled with +inf."""
    edges = line.edges
    for edge in range(through.size):
        cost, target = costs[edges.source[edge]] + line.costs[edge], edges.target[edge]
        through[edge] = cost + to_go[target, 0]
        if cost < costs[target]:
            costs[target], before[target] = cost, edge


def cheapest_paths(line: LineLattice) -> Paths:
    """Return the cheapest paths through the edges of a line."""
    to_go = completions(line, 1)
    through, before = np.empty(len(line.costs)), np.full(len(to_go.costs), -1, np.int32)
    _go_through(line, to_go.costs, np.append(0, np.full(len(before) - 1, np.inf)), before, through)
    return Paths(through, before, to_go.edges[:, 0])


def max_marginals(line: LineLattice, words: Words) -> npt.NDArray[np.float64]:
    """Return float64[2, forms]: the cost of the cheapest path through each form of each word, in the order of the
    words, where the word is not the first of a sentence, and where it is; +inf if no such path has a finite cost. An
    OOV word has one form."""
    least, arcs = np.full((2, int(np.maximum(words.n_forms, 1).sum())), np.inf), line.edges.arc != END
    is_first = line.is_first[line.edges.source[arcs]].astype(np.int64)
    np.minimum.at(least, (is_first, line.edges.arc[arcs]), cheapest_paths(line).through[arcs])
    return least


def best_paths(line: LineLattice, words: Words, n: int) -> list[Casing]:
    """Return the m ≤ n cheapest paths of finite cost, with their costs; the label of OOV words is 0."""
    found, size = completions(line, n), len(words.n_forms)
    labels, begins = np.zeros((n, size), np.uint32), np.zeros((n, size), np.bool_)
    m = _trace(line.edges, found, words, labels, begins)
    return list(zip(found.costs[0, :m].tolist(), map(LabelPath, labels, begins), strict=False))


@kernel
def _trace(edges: Edges, found: Completions, words: Words, labels: U32Matrix, begins: BoolMatrix) -> i64:
    """Fill labels and begins, [n, words], of the paths of finite cost; return their number."""
    for path in range(labels.shape[0]):
        node, rank, first_arc = 0, i64(path), 0
        if found.costs[node, rank] == np.inf:
            return path
        for word in range(words.n_forms.size):
            edge = found.edges[node, rank]
            if words.n_forms[word] > 0:
                labels[path, word] = words.first_labels[word] + edges.arc[edge] - first_arc
            if edges.ends[edge]:
                begins[path, word + 1] = True
            node, rank = i64(edges.target[edge]), i64(found.ranks[node, rank])
            first_arc += max(i64(words.n_forms[word]), 1)
    return labels.shape[0]
