"""Lazy S ∘ T ∘ LM: the lattice of a chunk of words, over the mapped arcs.

In: the words of a chunk with the labels of their surface forms, and the model (lookup.py). Out: the nodes of each
*position*, which is a place between two words: the LM states that some casing of the words before it leads to, and
their backoffs; and for each node a row of edges: what each form of the word behind the position costs, and the node it
leads to.

Nodes are looked up in rounds: the words give the states of one word of context, their arcs those of two words, and so
on. So the look-ups of a round do not wait for each other, and prefetching hides the memory's latency.

Where a sentence may begin inside a line, the position also has the state in which sentences begin, and its backoffs. No
edge leads there: the search takes all paths there over `</s>`, too.

A backoff arc is a failure arc, taken for the forms that the node has no arc for: their entries in its row are those of
the backoff's row, dearer by the backoff. A node without any arc for the word needs no row: whatever follows, its paths
are as good as others that are in its backoff at the backoff's cost. What the forms cost beside the LM, in every state
the same, is in the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.search.lookup import STEP, first_bucket, guessed_place, search_sparse_index, skip_lower_labels
from capfst.system.kernels import inlined, kernel, prefetch
from capfst.text.tokenizer import NEWLINE

_AHEAD = 12  # words
_LONGEST_CONTEXT = 16  # nodes that the context of a line's first word makes at most
NO_ROOM, IRREGULAR = -1, -2
GAP = 255
"""In the place of a token type: words that are left out, as all paths through them are alike. Whatever state is before
these, the words behind them lead to the same one, so they begin without any context."""

NODE = np.dtype(
    [
        ("best", "f8"),  # the cost of the best path, +inf if there is none
        ("link", "i8"),  # the node before it on that path << 32 | the form it takes from there, 0 for the first
        ("backoff_cost", "f8"),  # of all backoffs from it to its resolved node
        ("resolved", "i4"),  # the first of it, its backoff, its backoff's … that has a row; itself at a line's end
        ("row", "i4"),  # the first of its edges
    ]
)
"""What the search needs of a node. The first node of a position is the root, then come the states of one form."""
PLACE = np.dtype(
    [
        ("state", "i4"),
        ("next", "i4"),  # node of the position; behind the last is the first, the root
        ("position", "i4"),
        ("backoff", "i4"),  # the node of its backoff state
        ("pos", "u4"),  # its state's first arc
        ("narcs", "u4"),
        ("cursor", "u4"),  # how far its look-up is: a bucket, an entry of the sparse index, an arc; 0: there is none
        ("backoff_arc", "f4"),  # the cost of its state's backoff arc
    ]
)
"""What composition needs of a node. Behind the root the longest contexts come first, so that backoffs come last."""
EDGE = np.dtype([("cost", "f8"), ("target", "i8")])


class WordChunk(NamedTuple):
    """The words of a chunk; line ends and gaps, too. An OOV word has one form, `<unk>`."""

    token_types: npt.NDArray[np.uint8]  # or GAP
    first_labels: npt.NDArray[np.uint32]  # of the forms among which the search chooses
    n_forms: npt.NDArray[np.uint32]  # their number
    offsets: npt.NDArray[np.int64]  # of the word's costs in arc_costs; −1: there are none
    arc_costs: npt.NDArray[np.float32]  # what forms cost beside the LM, −ln
    may_begin: npt.NDArray[np.bool_]  # [words + 1]: whether a sentence may begin at a position inside a line
    numbers: npt.NDArray[np.int64]  # of the words; of a gap, that of the first word that is left out


class Lattice(NamedTuple):
    """The nodes and edges of a chunk, and room for making them."""

    roots: npt.NDArray[np.int32]  # [positions + 1]: the root of each position, and the number of nodes
    first_expanded: npt.NDArray[np.int32]  # [positions]: the first node of the position that has a row of its own
    next_expanded: npt.NDArray[np.int32]  # [nodes]: the next one, −1 behind the last
    nodes: npt.NDArray  # NODE
    places: npt.NDArray  # PLACE, by node
    edges: npt.NDArray  # EDGE
    queue: npt.NDArray[np.int32]  # nodes of longer contexts, in the order in which they are found
    pending: npt.NDArray[np.int32]  # nodes whose arcs for the word are found, or known to be missing


def new_lattice(words: int, room: int) -> Lattice:
    """A lattice for as many words, with room for as many nodes and edges."""
    return Lattice(
        np.empty(words + 2, np.int32),
        np.empty(words + 2, np.int32),
        np.empty(room, np.int32),
        np.empty(room, NODE),
        np.empty(room, PLACE),
        np.empty(room, EDGE),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
    )


@inlined
def ends_paths(token_type):  # type: ignore[no-untyped-def]
    """Whether paths end at a line end or a gap, and begin anew behind it."""
    return token_type >= NEWLINE


@inlined
def first_node(lattice, position):  # type: ignore[no-untyped-def]
    """The node of a position's longest context."""
    return np.int64(lattice.places[np.int64(lattice.roots[position])].next)


@inlined
def node_of_state(lattice, position, state):  # type: ignore[no-untyped-def]
    """The node of a state that is at the position."""
    node = np.int64(lattice.roots[position])
    while lattice.places[node].state != state:
        node = np.int64(lattice.places[node].next)
    return node


@kernel
def compose(chunk, lattice, tables, starts, here):  # type: ignore[no-untyped-def]
    """The lattice of a chunk; the number of nodes, NO_ROOM for them, or IRREGULAR, a model not of n-grams.

    Paths begin in the state `here`; behind a line's end, and where a sentence may begin, in those of `starts`.
    """
    n_nodes, n_edges, n_queued = _short_contexts(chunk, lattice, tables, starts, here)
    if n_nodes < 0:
        return n_nodes
    n_pending = _look_up_short(chunk, lattice, tables)
    n_done = np.int64(0)
    while True:
        n_nodes, n_edges, n_queued = _expand(chunk, lattice, tables, n_pending, n_nodes, n_edges, n_queued)
        if n_nodes < 0 or n_done == n_queued:
            return n_nodes
        n_pending = _look_up_longer(chunk, lattice, tables, n_done, n_queued)
        if n_pending < 0:
            return n_pending
        n_done = n_queued


@kernel
def _short_contexts(chunk, lattice, tables, starts, here):  # type: ignore[no-untyped-def]
    """Makes of each position the root, with its row, and the nodes of one word of context, or those of a line's start,
    and those of a sentence's start.

    (number of nodes, or NO_ROOM; edges; nodes in the queue)
    """
    nodes, places, edges, queue = lattice.nodes, lattice.places, lattice.edges, lattice.queue
    forms, arcs, buckets, arc_costs = tables.forms, tables.arcs, tables.buckets, chunk.arc_costs
    size = chunk.token_types.size
    room = min(nodes.size, edges.size)
    n_nodes, n_edges, n_queued = np.int64(0), np.int64(0), np.int64(0)
    for position in range(size + 1):
        if position + _AHEAD < size:
            prefetch(forms, chunk.first_labels[position + _AHEAD])
        root = n_nodes
        if root == room:
            return np.int64(NO_ROOM), n_edges, n_queued
        lattice.roots[position] = lattice.first_expanded[position] = root
        lattice.next_expanded[root] = -1
        nodes[root].best = np.inf
        nodes[root].backoff_cost = 0
        nodes[root].resolved = root
        nodes[root].row = n_edges
        places[root].state = 0
        places[root].next = root
        n_nodes += 1
        if position == 0 or ends_paths(chunk.token_types[position - 1]):
            if n_nodes + _LONGEST_CONTEXT > room:
                return np.int64(NO_ROOM), n_edges, n_queued
            state = here if position == 0 else starts.line if chunk.token_types[position - 1] == NEWLINE else 0
            n_nodes = _add_context(tables, state, position, root, n_nodes, nodes, places)
        else:
            label, n_forms = np.int64(chunk.first_labels[position - 1]), np.int64(chunk.n_forms[position - 1])
            if n_nodes + n_forms > room:
                return np.int64(NO_ROOM), n_edges, n_queued
            for k in range(n_forms):
                form = forms[label + k]
                nodes[n_nodes].best = np.inf
                place = places[n_nodes]
                place.state = form.state
                place.position = position
                place.backoff = root
                place.next = places[root].next
                places[root].next = n_nodes
                place.pos = form.pos
                place.narcs = form.narcs
                place.backoff_arc = form.backoff_cost
                n_nodes += 1
            if chunk.may_begin[position]:
                if n_nodes + _LONGEST_CONTEXT > room:
                    return np.int64(NO_ROOM), n_edges, n_queued
                n_nodes = _add_context(tables, starts.sentence, position, root, n_nodes, nodes, places)
        if position < size and not ends_paths(chunk.token_types[position]):
            label, n_forms = np.int64(chunk.first_labels[position]), np.int64(chunk.n_forms[position])
            if n_edges + n_forms > room:
                return np.int64(NO_ROOM), n_edges, n_queued
            share = forms[label].share
            for node in range(root + 1, n_nodes):
                nodes[node].resolved = root
                nodes[node].row = n_edges
                nodes[node].backoff_cost = places[node].backoff_arc
                pos, narcs = np.int64(places[node].pos), np.int64(places[node].narcs)
                if pos < tables.n_short:
                    first = first_bucket(pos)
                    n_buckets = first_bucket(pos + narcs) - first
                    if n_buckets > 0:
                        bucket = first + guessed_place(n_buckets, share)
                        places[node].cursor = bucket
                        prefetch(buckets, bucket)
                    else:
                        prefetch(arcs, pos)
                else:
                    queue[n_queued] = node
                    n_queued += 1
            offset = chunk.offsets[position]
            for k in range(n_forms):
                edges[n_edges].cost = forms[label + k].cost
                if offset >= 0:
                    edges[n_edges].cost += arc_costs[offset + k]
                edges[n_edges].target = n_nodes + 1 + k
                n_edges += 1
        else:
            for node in range(root + 1, n_nodes):
                nodes[node].resolved = node
                nodes[node].backoff_cost = 0
    lattice.roots[size + 1] = n_nodes
    return n_nodes, n_edges, n_queued


@kernel
def _add_context(tables, state, position, root, n_nodes, nodes, places):  # type: ignore[no-untyped-def]
    """Makes the nodes of a state and its backoffs, backoffs first; the number of nodes."""
    states, arcs = tables.states, tables.arcs
    length = np.int64(0)
    backoff = np.int64(state)
    while backoff != 0:
        length += 1
        backoff = np.int64(arcs[states[backoff].pos].nextstate)
    before = np.int64(root)
    for node in range(n_nodes + length - 1, n_nodes - 1, -1):
        place = places[node]
        place.state = state
        place.position = position
        place.backoff = node - 1 if node > n_nodes else root
        place.pos = states[state].pos
        place.narcs = states[state].narcs
        place.backoff_arc = arcs[place.pos].weight
        nodes[node].best = np.inf
        while places[places[before].next].state > state:
            before = np.int64(places[before].next)
        place.next = places[before].next
        places[before].next = before = node
        state = arcs[place.pos].nextstate
    return n_nodes + length


@kernel
def _look_up_short(chunk, lattice, tables):  # type: ignore[no-untyped-def]
    """Looks up the words behind contexts of one word, which have buckets; the number of pending nodes."""
    places, pending, arcs = lattice.places, lattice.pending, tables.arcs
    n_asked = np.int64(0)
    for position in range(chunk.token_types.size):
        if ends_paths(chunk.token_types[position]):
            continue
        for node in range(np.int64(lattice.roots[position]) + 1, np.int64(lattice.roots[position + 1])):
            place = places[node]
            pos, narcs = np.int64(place.pos), np.int64(place.narcs)
            if pos < tables.n_short and narcs > 1:
                arc = pos + 1
                if first_bucket(pos + narcs) > first_bucket(pos):
                    arc = np.int64(tables.buckets[place.cursor])
                place.cursor = arc
                prefetch(arcs, arc)
                prefetch(arcs, arc + 3)
                pending[n_asked] = node
                n_asked += 1
    n_pending = np.int64(0)
    for k in range(n_asked):
        place = places[pending[k]]
        label, n_forms = np.int64(chunk.first_labels[place.position]), np.int64(chunk.n_forms[place.position])
        arc, end = np.int64(place.cursor), np.int64(place.pos) + np.int64(place.narcs)
        arc = skip_lower_labels(arcs, arc, end, label)
        place.cursor = arc
        pending[n_pending] = pending[k]
        n_pending += arc < end and arcs[arc].ilabel < label + n_forms
    return n_pending


@kernel
def _expand(chunk, lattice, tables, n_pending, n_nodes, n_edges, n_queued):  # type: ignore[no-untyped-def]
    """Gives the pending nodes rows of their own, if they have an arc for the word, and makes the nodes of the longer
    contexts that these arcs lead to.

    (number of nodes, or NO_ROOM; edges; nodes in the queue)
    """
    nodes, places, edges, queue = lattice.nodes, lattice.places, lattice.edges, lattice.queue
    first_expanded, next_expanded = lattice.first_expanded, lattice.next_expanded
    states, arcs, arc_costs = tables.states, tables.arcs, chunk.arc_costs
    size = chunk.token_types.size
    room = min(nodes.size, edges.size)
    for k in range(n_pending):
        node = np.int64(lattice.pending[k])
        place = places[node]
        backoff = np.int64(place.backoff)
        nodes[node].resolved = nodes[backoff].resolved
        row = np.int64(nodes[backoff].row)
        nodes[node].row = row
        backoff_cost = nodes[backoff].backoff_cost + place.backoff_arc
        nodes[node].backoff_cost = backoff_cost
        arc = np.int64(place.cursor)
        if arc == 0:
            continue
        position = np.int64(place.position)
        label, n_forms = np.int64(chunk.first_labels[position]), np.int64(chunk.n_forms[position])
        if max(n_nodes, n_edges, n_queued) + n_forms > room:
            return np.int64(NO_ROOM), n_edges, n_queued
        has_next = 1 if position + 1 < size and not ends_paths(chunk.token_types[position + 1]) else 0
        end = np.int64(place.pos) + np.int64(place.narcs)
        nodes[node].resolved = node
        nodes[node].backoff_cost = 0
        nodes[node].row = n_edges
        next_expanded[node] = first_expanded[position]
        first_expanded[position] = node
        offset = chunk.offsets[position]
        for form in range(n_forms):
            target = edges[row + form].target
            if arc < end and arcs[arc].ilabel == label + form:
                edges[n_edges].cost = arcs[arc].weight
                if offset >= 0:
                    edges[n_edges].cost += arc_costs[offset + form]
                state = arcs[arc].nextstate
                shorter = target
                if places[target].state != state:
                    before = np.int64(lattice.roots[position + 1])
                    target = np.int64(places[before].next)
                    while places[target].state > state:
                        before = target
                        target = np.int64(places[target].next)
                    if places[target].state != state:
                        places[n_nodes].state = state
                        places[n_nodes].position = position + 1
                        places[n_nodes].backoff = shorter
                        places[n_nodes].next = target
                        places[before].next = n_nodes
                        nodes[n_nodes].best = np.inf
                        nodes[n_nodes].resolved = n_nodes  # until it is looked up
                        nodes[n_nodes].backoff_cost = 0
                        target = n_nodes
                        n_nodes += 1
                        prefetch(states, state)
                        queue[n_queued] = target
                        n_queued += has_next
                arc += 1
            else:
                edges[n_edges].cost = backoff_cost + edges[row + form].cost
            edges[n_edges].target = target
            n_edges += 1
    return n_nodes, n_edges, n_queued


@kernel
def _look_up_longer(chunk, lattice, tables, begin, end):  # type: ignore[no-untyped-def]
    """Looks up the words behind the longer contexts queue[begin:end]; the number of pending nodes, or IRREGULAR."""
    places, queue, pending = lattice.places, lattice.queue, lattice.pending
    states, arcs, forms, sparse_index = tables.states, tables.arcs, tables.forms, tables.sparse_index
    for k in range(begin, end):
        place = places[queue[k]]
        state = np.int64(place.state)
        pos, narcs = np.int64(states[state].pos), np.int64(states[state].narcs)
        place.pos = pos
        place.narcs = narcs
        prefetch(arcs, pos)
        if narcs > STEP:
            share = forms[chunk.first_labels[place.position]].share
            prefetch(sparse_index, (pos + guessed_place(narcs, share)) // STEP)
        else:
            for line in range(pos + 4, pos + narcs, 4):
                prefetch(arcs, line)
    for k in range(begin, end):
        place = places[queue[k]]
        pos, narcs = np.int64(place.pos), np.int64(place.narcs)
        if narcs > STEP:
            low, high = (pos + STEP) // STEP, (pos + narcs + STEP - 1) // STEP
            label = np.int64(chunk.first_labels[place.position])
            guess = (pos + guessed_place(narcs, forms[label].share)) // STEP
            entry = search_sparse_index(sparse_index, low, high, guess, label)
            place.cursor = entry
            for line in range((entry - 1) * STEP, entry * STEP, 4):
                prefetch(arcs, line)
    n_pending = np.int64(0)
    for k in range(begin, end):
        node = np.int64(queue[k])
        place = places[node]
        label, n_forms = np.int64(chunk.first_labels[place.position]), np.int64(chunk.n_forms[place.position])
        pos, narcs = np.int64(place.pos), np.int64(place.narcs)
        if places[place.backoff].state != arcs[pos].nextstate:
            return np.int64(IRREGULAR)
        place.backoff_arc = arcs[pos].weight
        arc, last = pos + 1, pos + narcs
        if narcs > STEP:
            arc = max(arc, (np.int64(place.cursor) - 1) * STEP)
        arc = skip_lower_labels(arcs, arc, last, label)
        place.cursor = arc if arc < last and arcs[arc].ilabel < label + n_forms else 0
        pending[n_pending] = node
        n_pending += 1
    return n_pending
