"""bestpath: an exact Viterbi search over the lattices of a text, chunk by chunk.

In: the words of a text with the labels of their surface forms, and the model (lookup.py). Out: for each word the label
that its line's best path gives it, and the costs of these paths.

`advance` takes the paths to a position's nodes on over the word behind it. No path stops at a node that has no arc for
that word: what it costs from there on is what it costs from the backoff, where it stops instead. `break_sentence` takes
them on over the word and `</s>` to where the next sentence may begin. A chunk ends where all paths agree, or with a
line, so lines may be of any length.
Costs are −ln P, added in double precision. Ties go to the more frequent form of the first word in which paths differ;
of paths in the same forms, to the one in which a sentence goes on longer.
"""

from __future__ import annotations

import numpy as np

from capfst.fst.backoff import final_cost
from capfst.search.lattice import IRREGULAR, WordChunk, compose, first_node, new_lattice, node_of_state
from capfst.system.kernels import allocating, inlined, kernel
from capfst.text.tokenizer import NEWLINE

_STEP = np.int64(0xFFFFFFFF)


@kernel
def _precedes(nodes, a, b):  # type: ignore[no-untyped-def]
    """Whether the path with the last link a has, in the first word where they differ, a lower form than b's, or the
    same one without a sentence's end behind it."""
    is_less = False
    while a != b:
        if a & _STEP != b & _STEP:
            is_less = a & _STEP < b & _STEP
        a, b = nodes[a >> 32].link, nodes[b >> 32].link
    return is_less


@kernel
def _relax(nodes, target, cost, link):  # type: ignore[no-untyped-def]
    """Has the best path to a node come by this link, if it is better than the one known."""
    old, old_link = nodes[target].best, nodes[target].link
    is_less = cost < old
    nodes[target].best = cost if is_less else old
    nodes[target].link = link if is_less else old_link
    if (cost == old) & (cost < np.inf) and _precedes(nodes, link, old_link):
        nodes[target].link = link


@inlined
def start_paths(lattice, position, cost):  # type: ignore[no-untyped-def]
    """Has the paths begin at a position's longest context, or where its backoffs lead."""
    nodes = lattice.nodes
    node = first_node(lattice, position)
    resolved = np.int64(nodes[node].resolved)
    nodes[resolved].best = cost + nodes[node].backoff_cost
    nodes[resolved].link = 0


@inlined
def advance(lattice, position, n_forms):  # type: ignore[no-untyped-def]
    """Takes the best paths to a position's nodes on, with each of the forms of the word behind it, to the nodes that
    have rows for the next word."""
    nodes, edges = lattice.nodes, lattice.edges
    node = np.int64(lattice.first_expanded[position])
    while node >= 0:
        row = np.int64(nodes[node].row)
        best = nodes[node].best
        for k in range(n_forms):
            target = np.int64(edges[row + k].target)
            cost = best + (edges[row + k].cost + nodes[target].backoff_cost)
            _relax(nodes, np.int64(nodes[target].resolved), cost, node << 32 | k << 1)
        node = np.int64(lattice.next_expanded[node])


@inlined
def break_sentence(lattice, tables, position, n_forms, starts):  # type: ignore[no-untyped-def]
    """As `advance`, but behind the word the sentence ends (`</s>`), and the next one begins."""
    nodes, places, edges = lattice.nodes, lattice.places, lattice.edges
    restart = node_of_state(lattice, position + 1, starts.sentence)
    resolved, backoff_cost = np.int64(nodes[restart].resolved), nodes[restart].backoff_cost
    node = np.int64(lattice.first_expanded[position])
    while node >= 0:
        row = np.int64(nodes[node].row)
        for k in range(n_forms):
            state = places[np.int64(edges[row + k].target)].state
            end = final_cost(tables.states, tables.arcs, state)
            cost = nodes[node].best + (edges[row + k].cost + end + backoff_cost)
            _relax(nodes, resolved, cost, node << 32 | k << 1 | 1)
        node = np.int64(lattice.next_expanded[node])


@kernel
def _trace_back(lattice, node, begin, end, first, words, path):  # type: ignore[no-untyped-def]
    """Writes `path` for the words begin … end − 1 of a chunk from the best one to `node`, at the position behind them.

    first: the number of the chunk's first word.
    """
    for word in range(first + end - 1, first + begin - 1, -1):
        link = lattice.nodes[node].link
        form = np.uint32((link & _STEP) >> 1)
        path.labels[word] = words.first_labels[word] + form if words.n_forms[word] > 0 else np.uint32(0)
        if link & 1:
            path.begins[word + 1] = True
        node = link >> 32


@inlined
def best_final(lattice, tables, position):  # type: ignore[no-untyped-def]
    """The node of the position where the best path of a line ends, and its cost; −1 if no path has a finite cost."""
    nodes, places = lattice.nodes, lattice.places
    best, least = np.int64(-1), np.inf
    root = np.int64(lattice.roots[position])
    node = root
    while True:
        node = np.int64(places[node].next)
        if nodes[node].best < np.inf:
            cost = nodes[node].best + final_cost(tables.states, tables.arcs, places[node].state)
            is_tie = cost == least and cost < np.inf
            if cost < least or (is_tie and _precedes(nodes, nodes[node].link, nodes[best].link)):
                best, least = node, cost
        if node == root:
            return best, least


@allocating
def _common_node(lattice, position):  # type: ignore[no-untyped-def]
    """The last position up to this one where all paths to this one are in one node, and that node; −1 if there is no
    path."""
    nodes, places = lattice.nodes, lattice.places
    root = np.int64(lattice.roots[position])
    alive = [root]
    if nodes[root].best == np.inf:
        alive.pop()
    node = np.int64(places[root].next)
    while node != root:
        if nodes[node].best < np.inf:
            alive.append(node)
        node = np.int64(places[node].next)
    if len(alive) == 0:
        return position, np.int64(-1)
    while len(alive) > 1:
        position -= 1
        before = [nodes[alive[0]].link >> 32]
        for node in alive:
            if nodes[node].link >> 32 not in before:
                before.append(nodes[node].link >> 32)
        alive = before
    return position, alive[0]


@inlined
def fill_chunk(words, offsets, begin, unknown, chunk):  # type: ignore[no-untyped-def]
    """Makes a chunk of the words from `begin` on, as many as it holds.

    An OOV word has the form `<unk>`, as which it passes through; its arc cost is the last.
    """
    last = chunk.arc_costs.size - 1
    for i in range(chunk.token_types.size):
        word = begin + i
        is_known = words.n_forms[word] > 0
        chunk.token_types[i] = words.token_types[word]
        chunk.first_labels[i] = words.first_labels[word] if is_known else unknown
        chunk.n_forms[i] = words.n_forms[word] if is_known else 1
        chunk.offsets[i] = offsets[word] if offsets.size > 0 and is_known else last
        chunk.may_begin[i] = words.may_begin[word]
    end = begin + chunk.token_types.size
    chunk.may_begin[chunk.token_types.size] = end < words.token_types.size and words.may_begin[end]


@allocating
def new_chunk(size, arc_costs):  # type: ignore[no-untyped-def]
    """A chunk of so many words, to be filled."""
    return WordChunk(
        np.empty(size, np.uint8), np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.int64),
        arc_costs, np.empty(size + 1, np.bool_),
    )  # fmt: skip


@allocating
def _first_words(chunk, size):  # type: ignore[no-untyped-def]
    """The part of a chunk that so many words fill."""
    return WordChunk(
        chunk.token_types[:size], chunk.first_labels[:size], chunk.n_forms[:size], chunk.offsets[:size],
        chunk.arc_costs, chunk.may_begin[: size + 1],
    )  # fmt: skip


@allocating
def search(words, offsets, arc_costs, unknown, starts, tables, usual_size, path, costs):  # type: ignore[no-untyped-def]
    """Fills `path` with the lines' best paths, and costs with their costs (−ln P); path.labels[i] of a line's end says
    nothing.

    offsets[i]: where the costs of word i's forms begin in arc_costs, whose last one is an OOV word's; both may be
    empty. usual_size: of a chunk, in words. False if the model is not one of n-grams.
    """
    n = words.token_types.size
    room = 16 * usual_size + 256
    buffer, lattice = new_chunk(usual_size, arc_costs), new_lattice(usual_size, room)
    line, lines = 0, 0  # its first word; those before it
    begin, size = 0, usual_size
    here, cost = np.int64(starts.line), 0.0  # where all paths are before word `begin`
    while begin <= n:
        size = min(size, n - begin)
        if size > buffer.token_types.size:
            buffer, lattice = new_chunk(2 * size, arc_costs), new_lattice(2 * size, room)
        chunk = _first_words(buffer, size)
        fill_chunk(words, offsets, begin, unknown, chunk)
        n_nodes = compose(chunk, lattice, tables, starts, here)
        if n_nodes == IRREGULAR:
            return False
        if n_nodes < 0:
            room *= 2
            lattice = new_lattice(buffer.token_types.size, room)
            continue
        start_paths(lattice, 0, cost)
        traced = 0  # the words of the chunk whose path is written
        for position in range(size + 1):
            word = begin + position
            if word < n and position == size:
                break
            if word < n and words.token_types[word] != NEWLINE:
                advance(lattice, position, np.int64(chunk.n_forms[position]))
                if chunk.may_begin[position + 1]:
                    break_sentence(lattice, tables, position, np.int64(chunk.n_forms[position]), starts)
                continue
            node, costs[lines] = best_final(lattice, tables, position)
            if node >= 0:
                _trace_back(lattice, node, traced, position, begin, words, path)
            else:
                for i in range(line, word):  # the tie of infinite costs
                    path.labels[i] = words.first_labels[i] if words.n_forms[i] > 0 else 0
                    path.begins[i] = False
            if word == n:
                return True
            traced = position + 1
            line = word + 1
            lines += 1
            start_paths(lattice, position + 1, 0.0)
        position, node = _common_node(lattice, size)
        if node < 0:  # no casing of the line so far has a finite cost, as its end will show
            here, cost = np.int64(0), np.inf
            begin, size = begin + size, usual_size
        elif position == 0:
            size *= 2  # the paths through the chunk part in its first word
        else:
            _trace_back(lattice, node, traced, position, begin, words, path)
            here, cost = np.int64(lattice.places[node].state), lattice.nodes[node].best
            begin, size = begin + position, usual_size
    return True
