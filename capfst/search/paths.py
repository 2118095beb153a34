"""All paths through S ∘ T ∘ LM as a list of edges, for everything beyond the best path of a line.

In: S as a lattice of tokens (token_lattice.py), and the model. Out: `AllPaths`; the n cheapest paths; the cheapest path
through each edge, and through each form of each word (the max-marginals). A node is a state of S and a state of the LM,
so paths with different words before them share a node as soon as the LM no longer distinguishes them. explain/ reads
the same edges, and bilingual/ sums over them.

All paths are different, but paths that differ only in sentence boundaries may be written alike. All results are exact;
paths of equal cost are in the order of their labels.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.types import Casing, LabelPath, Words
from capfst.exceptions import CorpusError
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import inner, kernel
from capfst.kernels.types import Array, BoolArray, F64Array, F64Matrix, I32Array, I32Matrix, I64Array, f64, i64, u64
from capfst.lm.query import LanguageModel, Starts, final_cost, step
from capfst.search.token_lattice import TokenLattice
from capfst.system.hashing import hash_pair

END = -1
"""Pseudo arc: an edge for `</s>`, at the end of the line."""
_OUT_OF_CAPACITY = -1
_LARGEST = 1 << 26
"""The largest number of edges of a lattice, which take 4 GB."""

_NODE = np.dtype(
    [
        ("state", "i8"),  # of S
        ("lm", "i8"),  # state of the LM
        ("is_first", "i8"),  # whether the next word is the first of a sentence
        ("next", "i4"),  # the next node of the state of S; −1 after the last
        ("rank", "i4"),  # its place in the order of the edges
    ],
    align=True,
)
_NodeArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(_NODE)]


class Edges(NamedTuple):
    """The edges of all paths, in the order of the states of S, their source nodes and their arcs. Nodes are numbered in
    the same order; paths begin in node 0 and end in the last one."""

    source: I32Array
    target: I32Array
    arc: I32Array  # the form of the token, numbered over all tokens (an OOV word has one form); or END
    ends: BoolArray  # whether a sentence ends after the word, inside the line
    lm: F64Array  # cost by the LM, −ln, including `</s>` if a sentence ends
    gap: F64Array  # cost by S: of the gap after the word, where a sentence may end


class _Nodes(NamedTuple):
    """The nodes of S ∘ T ∘ LM, as they are found."""

    nodes: _NodeArray
    slots: I32Array  # a hash table of nodes, whose size is a power of two; −1
    ends: I32Matrix  # [states, 2]: the first and the last node of each state of S; −1


@inner
def _number(found: _Nodes, state: i64, lm: i64, is_first: i64, n: i64) -> tuple[i64, i64]:
    """Return the number of a node, which becomes node n unless it is known; and the number of known nodes."""
    nodes, slots, ends = found
    mask = slots.size - 1
    slot = i64(hash_pair(u64(state << 1 | is_first), u64(lm)) & u64(mask))
    while slots[slot] >= 0:
        node = nodes[slots[slot]]
        if node.state == state and node.lm == lm and node.is_first == is_first:
            return i64(slots[slot]), n
        slot = (slot + 1) & mask
    slots[slot] = n
    node = nodes[n]
    node.state, node.lm, node.is_first, node.next = state, lm, is_first, -1
    if ends[state, 0] < 0:
        ends[state, 0] = n
    else:
        nodes[ends[state, 1]].next = n
    ends[state, 1] = n
    return n, n + 1


@inner
def _put(edges: Edges, n: i64, source: i64, target: i64, arc: i64, is_end: bool, lm: f64, gap: f64) -> i64:
    """Put edge n. Return the number of edges."""
    edges.source[n], edges.target[n], edges.arc[n] = source, target, arc
    edges.ends[n], edges.lm[n], edges.gap[n] = is_end, lm, gap
    return n + 1


@kernel
def _compose(
    lattice: TokenLattice, states: StateArray, arcs: ArcArray, starts: Starts, found: _Nodes, edges: Edges
) -> tuple[i64, i64]:
    """Fill in nodes and edges; return their numbers, or _OUT_OF_CAPACITY. The target of an edge is the number of its
    node as it was found, −1 for the last one."""
    first = i64(lattice.stays_first.size != 0)
    _, n = _number(found, lattice.start, starts.line, first, 0)
    rank, n_edges = 0, 0
    for state in range(lattice.final.size):
        number = i64(found.ends[state, 0])
        while number >= 0:
            node = found.nodes[number]
            node.rank, lm = rank, i64(node.lm)
            for k in range(lattice.first[state], lattice.first[state + 1]):
                token = lattice.tokens[k]
                stays = i64(node.is_first) if first != 0 and lattice.stays_first[k] else 0
                for form in range(token.n_forms):
                    arc = token.arc + form
                    if lattice.arc_costs[arc] == np.inf:
                        continue
                    if max(n, n_edges) + 3 > edges.source.size:
                        return n, _OUT_OF_CAPACITY
                    cost, after = f64(0), lm
                    if token.label > 0:
                        cost, after = step(states, arcs, lm, token.label + form)
                    if token.cost < np.inf:
                        target, n = _number(found, token.target, after, stays, n)
                        n_edges = _put(edges, n_edges, rank, target, arc, False, cost, token.cost)
                    if token.end_cost < np.inf:
                        target, n = _number(found, token.target, starts.sentence, first, n)
                        cost += final_cost(states, arcs, after)
                        n_edges = _put(edges, n_edges, rank, target, arc, True, cost, token.end_cost)
            if lattice.final[state] < np.inf:
                if n_edges == edges.source.size:
                    return n, _OUT_OF_CAPACITY
                cost = final_cost(states, arcs, lm)
                n_edges = _put(edges, n_edges, rank, -1, END, False, cost, lattice.final[state])
            rank += 1
            number = i64(node.next)
    return n, n_edges


class AllPaths(NamedTuple):
    """All paths through S ∘ T ∘ LM, by edges and by nodes; the last node, where paths end, has no state."""

    edges: Edges
    costs: F64Array  # of the edges, including those of their arcs
    begins: I64Array  # the first edge from each node, and the number of edges
    states: I64Array  # of the LM
    is_first: BoolArray  # whether the next word is the first of a sentence; always False if `stays_first` is empty


def all_paths(lattice: TokenLattice, lm: LanguageModel, starts: Starts) -> AllPaths:
    """Compose S ∘ T ∘ LM. CorpusError if it has too many edges."""
    capacity, n_edges = 16 * len(lattice.tokens) + 256, _OUT_OF_CAPACITY
    while n_edges == _OUT_OF_CAPACITY:
        if capacity > _LARGEST:
            raise CorpusError(
                "a line or a lattice has too many paths to search them all. Split the line, prune the lattice."
            )
        ints, ends, costs = np.empty((3, capacity), np.int32), np.empty(capacity, np.bool_), np.empty((2, capacity))
        edges, slots = Edges._make([*ints, ends, *costs]), np.full(2 << capacity.bit_length(), -1, np.int32)
        found = _Nodes(np.empty(capacity, _NODE), slots, np.full((len(lattice.final), 2), -1, np.int32))
        n, n_edges = _compose(lattice, lm.model.states, lm.model.arcs, starts, found, edges)
        capacity *= 4
    edges, nodes = Edges._make(array[:n_edges] for array in edges), found.nodes[:n]
    edges.target[:] = np.append(nodes["rank"], n)[edges.target]
    costs = lattice.weight * edges.lm + edges.gap
    costs += np.append(lattice.arc_costs, 0)[edges.arc]  # END has no cost
    nodes, begins = nodes[np.argsort(nodes["rank"])], np.searchsorted(edges.source, np.arange(n + 2))
    return AllPaths(edges, costs, begins, nodes["lm"].copy(), nodes["is_first"] != 0)


class Completions(NamedTuple):
    """The n cheapest paths from each node to the end of the line, [nodes, n], cheapest first."""

    costs: F64Matrix  # −ln P; +inf after the last completion
    edges: I32Matrix  # the first edge
    ranks: I32Matrix  # rank of the completion that continues it, among those of the node after the edge


@kernel
def _complete(line: AllPaths, taken: I32Array, found: Completions) -> None:
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


def completions(line: AllPaths, n: int) -> Completions:
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
def _go_through(line: AllPaths, to_go: F64Matrix, costs: F64Array, before: I32Array, through: F64Array) -> None:
    """Fill in `Paths`, given the costs of completions. costs: of the cheapest paths to the nodes: of node 0, 0; of the
    others, filled with +inf."""
    edges = line.edges
    for edge in range(through.size):
        cost, target = costs[edges.source[edge]] + line.costs[edge], edges.target[edge]
        through[edge] = cost + to_go[target, 0]
        if cost < costs[target]:
            costs[target], before[target] = cost, edge


def cheapest_paths(line: AllPaths) -> Paths:
    """Return the cheapest paths through the edges of a line."""
    to_go = completions(line, 1)
    through, before = np.empty(len(line.costs)), np.full(len(to_go.costs), -1, np.int32)
    _go_through(line, to_go.costs, np.append(0, np.full(len(before) - 1, np.inf)), before, through)
    return Paths(through, before, to_go.edges[:, 0])


def places(words: Words, arcs: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the word of each arc of a line, and which of the word's forms it is; an OOV word has one."""
    n_arcs = np.maximum(words.n_forms, 1).astype(np.int64)
    of_arcs = np.repeat(np.arange(len(n_arcs)), n_arcs)[arcs]
    return of_arcs, arcs - (np.cumsum(n_arcs) - n_arcs)[of_arcs]


def max_marginals(line: AllPaths, words: Words) -> npt.NDArray[np.float64]:
    """Return float64[2, words, forms]: the cost of the cheapest path through each form of each word, where the word is
    not the first of a sentence, and where it is; +inf if no such path has a finite cost, or there is no such form. An
    OOV word has one form."""
    least, is_arc = np.full((2, len(words.n_forms), words.n_forms.max(initial=1)), np.inf), line.edges.arc != END
    is_first = line.is_first[line.edges.source[is_arc]].astype(np.int64)
    np.minimum.at(least, (is_first, *places(words, line.edges.arc[is_arc])), cheapest_paths(line).through[is_arc])
    return least


def most_frequent(words: Words) -> Casing:
    """Return the path of the most frequent forms, at the cost +inf: the result if no path has a finite cost."""
    labels = np.where(words.n_forms, words.first_labels, np.uint32(0))
    return np.inf, LabelPath(labels, words.may_begin & (words.begin_odds == np.inf))


def cheapest(line: AllPaths, n: int, length: int) -> tuple[F64Array, I32Matrix]:
    """Return the costs of the m ≤ n cheapest paths of finite cost, and their edges, int32[m, length]; −1 after the last
    edge. length: of the longest path, in edges."""
    found = completions(line, n)
    edges = np.full((np.count_nonzero(found.costs[0] < np.inf), length), -1, np.int32)
    _trace(line.edges.target, found, edges)
    return found.costs[0, : len(edges)], edges


@kernel
def _trace(targets: I32Array, found: Completions, edges: I32Matrix) -> None:
    """Fill in the edges of paths."""
    last = found.costs.shape[0] - 1
    for path in range(edges.shape[0]):
        node, rank, k = i64(0), i64(path), 0
        while node < last:
            edge = found.edges[node, rank]
            edges[path, k] = edge
            node, rank, k = i64(targets[edge]), i64(found.ranks[node, rank]), k + 1
