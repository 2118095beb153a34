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

from capfst.search.lookup import has_buckets, look_into_bucket, sixteenth_of
from capfst.system.kernels import inlined, kernel, prefetch
from capfst.text.tokenizer import NEWLINE

_LONGEST_CONTEXT = 16  # nodes that the context of a line's first word makes at most
FEW = 4  # forms of a word: few words have more, and how many they have is hard to predict
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
        ("row", "i4"),  # the first of its edges, or of those of its resolved node
    ]
)
"""What the search needs of a node. The first node of a position is the root, then come the states of one form."""
PLACE = np.dtype(
    [
        ("state", "i4"),
        ("next", "i4"),  # node of the position; behind the last is the first, the root
        ("position", "i4"),
        ("label", "u4"),  # the first one of the word behind the position, if there is one
        ("backoff", "i4"),  # the node of its backoff state
        ("arc", "u4"),  # how far its look-up is: its state's first arc, the sixteenth of a bucket, the arc to read
        ("end", "u4"),  # the arc behind its state's last one
        ("backoff_arc", "f4"),  # the cost of its state's backoff arc
    ]
)
"""What composition needs of a node. Behind the root comes the context in which paths begin at the position, if any."""
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
    pending: npt.NDArray[np.int32]  # nodes of one word of context that are looked up


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
    """The node of the context in which paths begin at a position, the longest there."""
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
    n_nodes, n_edges, n_queued, n_short = _short_contexts(chunk, lattice, tables, starts, here)
    if n_nodes < 0:
        return n_nodes
    found, begin, end = lattice.pending, np.int64(0), _look_up_short(lattice, tables, n_short)
    n_done = np.int64(0)
    while True:
        n_nodes, n_edges, n_queued = _expand(chunk, lattice, tables, found, begin, end, n_nodes, n_edges, n_queued)
        if n_nodes < 0 or n_done == n_queued:
            return n_nodes
        found, begin, end = lattice.queue, n_done, n_queued
        if not _look_up_longer(lattice, tables, begin, end):
            return np.int64(IRREGULAR)
        n_done = n_queued


@inlined
def _add_root(lattice, position, n_nodes, n_edges):  # type: ignore[no-untyped-def]
    """Makes the root of a position: the number of nodes."""
    node, place = lattice.nodes[n_nodes], lattice.places[n_nodes]
    lattice.roots[position] = lattice.first_expanded[position] = n_nodes
    lattice.next_expanded[n_nodes] = -1
    node.best = np.inf
    node.backoff_cost = 0
    node.resolved = n_nodes
    node.row = n_edges
    place.state = 0
    place.next = n_nodes
    return n_nodes + 1


@kernel
def _short_contexts(chunk, lattice, tables, starts, here):  # type: ignore[no-untyped-def]
    """Makes of each position the root, with its row, and the nodes of one word of context, or those of a line's start,
    and those of a sentence's start.

    (number of nodes, or NO_ROOM; edges; longer contexts, in the queue; those of one word to look up, pending)
    """
    nodes, places, edges, queue = lattice.nodes, lattice.places, lattice.edges, lattice.queue
    forms, arc_costs, pending = tables.forms, chunk.arc_costs, lattice.pending
    size = chunk.token_types.size
    room = min(nodes.size, edges.size) - _LONGEST_CONTEXT - 1
    n_nodes, n_edges, n_queued, n_short = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for position in range(size):
        label = np.int64(chunk.first_labels[position])
        prefetch(forms, label)
        prefetch(forms, label + np.int64(chunk.n_forms[position]) - 1)
    if room < 0:
        return np.int64(NO_ROOM), n_edges, n_queued, n_short
    root = n_nodes
    n_nodes = _add_root(lattice, 0, root, n_edges)
    n_nodes = _add_context(tables, here, 0, root, n_nodes, nodes, places)
    for position in range(size):
        label, n_forms = np.int64(chunk.first_labels[position]), np.int64(chunk.n_forms[position])
        if max(n_nodes, n_edges) + n_forms > room:
            return np.int64(NO_ROOM), n_edges, n_queued, n_short
        token_type = chunk.token_types[position]
        if ends_paths(token_type):
            _end_paths(nodes, root, n_nodes)
            root = n_nodes
            n_nodes = _add_root(lattice, position + 1, root, n_edges)
            if token_type == NEWLINE:
                n_nodes = _add_context(tables, starts.line, position + 1, root, n_nodes, nodes, places)
            continue
        share = forms[label].share
        for node in range(root + 1, n_nodes):
            nodes[node].resolved = root
            nodes[node].row = nodes[root].row
            nodes[node].backoff_cost = places[node].backoff_arc
            places[node].label = label
            arc = np.int64(places[node].arc)
            if arc < tables.longer.origin:
                sixteenth = sixteenth_of(tables.short, arc, np.int64(places[node].end), share)
                places[node].arc = sixteenth
                prefetch(tables.short.entries, sixteenth >> 4)
                pending[n_short] = node
                n_short += 1
            else:
                queue[n_queued] = node
                n_queued += 1
        root = n_nodes
        n_nodes = _add_root(lattice, position + 1, root, n_edges + n_forms)
        offset = chunk.offsets[position]
        for k in range(n_forms):
            form = forms[label + k]
            cost = np.float64(form.cost)
            if offset >= 0:
                cost += arc_costs[offset + k]
            edges[n_edges].cost = cost
            edges[n_edges].target = root
            n_edges += 1
            if form.state != 0:
                edges[n_edges - 1].target = n_nodes
                nodes[n_nodes].best = np.inf
                place = places[n_nodes]
                place.state = form.state
                place.position = position + 1
                place.backoff = root
                place.next = places[root].next
                places[root].next = n_nodes
                place.arc = form.pos
                place.end = form.end
                place.backoff_arc = form.backoff_cost
                n_nodes += 1
        if chunk.may_begin[position + 1]:
            n_nodes = _add_context(tables, starts.sentence, position + 1, root, n_nodes, nodes, places)
    _end_paths(nodes, root, n_nodes)
    lattice.roots[size + 1] = n_nodes
    return n_nodes, n_edges, n_queued, n_short


@inlined
def _end_paths(nodes, root, n_nodes):  # type: ignore[no-untyped-def]
    """Has paths end in the nodes of the last position."""
    for node in range(root + 1, n_nodes):
        nodes[node].resolved = node
        nodes[node].backoff_cost = 0


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
        pos = np.int64(states[state].pos)
        place.arc = pos
        place.end = pos + np.int64(states[state].narcs)
        place.backoff_arc = arcs[pos].weight
        nodes[node].best = np.inf
        place.next = places[before].next
        places[before].next = before = node
        state = arcs[pos].nextstate
    return n_nodes + length


@kernel
def _look_up_short(lattice, tables, n_short):  # type: ignore[no-untyped-def]
    """Finds where to begin to read the arcs of contexts of one word, which have buckets; the number of nodes that are
    likely to have one for the word, which stay pending."""
    places, pending, arcs = lattice.places, lattice.pending, tables.arcs
    n_likely = np.int64(0)
    for k in range(n_short):
        node = np.int64(pending[k])
        place = places[node]
        is_likely, arc = look_into_bucket(
            tables, tables.short, np.int64(place.arc), np.int64(place.state), np.int64(place.end), np.int64(place.label)
        )
        place.arc = arc
        pending[n_likely] = node
        n_likely += is_likely
        arc = arc if is_likely else np.int64(0)  # without a branch, nothing is fetched for the others
        prefetch(arcs, arc)
        prefetch(arcs, arc + 1)
    return n_likely


@kernel
def _look_up_longer(lattice, tables, begin, behind):  # type: ignore[no-untyped-def]
    """Finds where to begin to read the arcs of the longer contexts queue[begin:behind]; whether these are as in a model
    of n-grams."""
    places, queue = lattice.places, lattice.queue
    arcs, forms, contexts, buckets = tables.arcs, tables.forms, tables.contexts, tables.longer
    for k in range(begin, behind):
        prefetch(contexts, places[queue[k]].state)
    for k in range(begin, behind):
        place = places[queue[k]]
        state = np.int64(place.state)
        pos, end = np.int64(contexts[state].pos), np.int64(contexts[state + 1].pos)
        if contexts[state].backoff_cost == 0:
            if places[place.backoff].state != arcs[pos].nextstate:
                return False
            contexts[state].backoff_cost = arcs[pos].weight
        place.backoff_arc = contexts[state].backoff_cost
        place.end = end
        sixteenth = sixteenth_of(buckets, pos, end, forms[place.label].share)
        place.arc = sixteenth = sixteenth if has_buckets(buckets, pos, end) else np.int64(0)
        prefetch(buckets.entries, sixteenth >> 4)
    for k in range(begin, behind):
        place = places[queue[k]]
        state, end = np.int64(place.state), np.int64(place.end)
        pos = np.int64(contexts[state].pos)
        is_likely, arc = look_into_bucket(tables, buckets, np.int64(place.arc), state, end, np.int64(place.label))
        arc = arc if is_likely else end
        place.arc = arc = arc if has_buckets(buckets, pos, end) else pos + 1  # behind the backoff
        prefetch(arcs, arc)
        prefetch(arcs, arc + 1)
    return True


@kernel
def _expand(chunk, lattice, tables, found, begin, behind, n_nodes, n_edges, n_queued):  # type: ignore[no-untyped-def]
    """Gives rows of their own to those of the nodes found[begin:behind] that have an arc for the word, to be read from
    their place's `arc` on, and has the others resolve to their backoffs.

    (number of nodes, or NO_ROOM; edges; nodes in the queue)
    """
    nodes, arcs = lattice.nodes, tables.arcs
    for k in range(begin, behind):
        node = np.int64(found[k])
        place = lattice.places[node]
        label, end = np.int64(place.label), np.int64(place.end)
        arc = np.int64(place.arc)
        while arc < end and arcs[arc].ilabel < label:
            arc += 1
        if arc < end and arcs[arc].ilabel < label + np.int64(chunk.n_forms[place.position]):
            n_nodes, n_edges, n_queued = _add_row(chunk, lattice, tables, node, arc, n_nodes, n_edges, n_queued)
            if n_nodes < 0:
                break
        else:
            backoff = nodes[place.backoff]
            nodes[node].resolved = backoff.resolved
            nodes[node].row = backoff.row
            nodes[node].backoff_cost = backoff.backoff_cost + place.backoff_arc
    return n_nodes, n_edges, n_queued


@inlined
def _add_row(chunk, lattice, tables, node, arc, n_nodes, n_edges, n_queued):  # type: ignore[no-untyped-def]
    """Gives a node a row, as it has arcs for the word from `arc` on, and makes the nodes of the longer contexts that
    these lead to.

    (number of nodes, or NO_ROOM; edges; nodes in the queue)
    """
    nodes, places, edges = lattice.nodes, lattice.places, lattice.edges
    arcs, arc_costs = tables.arcs, chunk.arc_costs
    place = places[node]
    position = np.int64(place.position)
    label, n_forms = np.int64(place.label), np.int64(chunk.n_forms[position])
    if max(n_nodes, n_edges, n_queued) + max(n_forms, FEW) > min(nodes.size, edges.size):
        return np.int64(NO_ROOM), n_edges, n_queued
    row = np.int64(nodes[place.backoff].row)
    backoff_cost = nodes[place.backoff].backoff_cost + place.backoff_arc
    nodes[node].resolved = node
    nodes[node].backoff_cost = 0
    nodes[node].row = n_edges
    lattice.next_expanded[node] = lattice.first_expanded[position]
    lattice.first_expanded[position] = node
    for form in range(max(n_forms, FEW)):  # what is too much is overwritten
        edges[n_edges + form].cost = backoff_cost + edges[row + form].cost
        edges[n_edges + form].target = edges[row + form].target
    end = np.int64(place.end)
    offset = chunk.offsets[position]
    root = np.int64(lattice.roots[position + 1])
    is_followed = position + 1 < chunk.token_types.size and not ends_paths(chunk.token_types[position + 1])
    next_label = chunk.first_labels[position + 1] if is_followed else np.uint32(0)
    while arc < end and arcs[arc].ilabel < label + n_forms:
        form = arcs[arc].ilabel - label
        edge = n_edges + form
        edges[edge].cost = arcs[arc].weight
        if offset >= 0:
            edges[edge].cost += arc_costs[offset + form]
        state = np.int64(arcs[arc].nextstate)
        target = np.int64(edges[edge].target)
        # A node is written in any case, but stays only if it is new: no branch, as nobody can predict it.
        is_new = (state != 0) & (places[target].state != state)
        place = places[n_nodes]
        place.state = state
        place.position = position + 1
        place.label = next_label
        place.backoff = target
        place.next = places[root].next
        places[root].next = n_nodes if is_new else place.next
        nodes[n_nodes].best = np.inf
        nodes[n_nodes].resolved = n_nodes  # until it is looked up
        nodes[n_nodes].backoff_cost = 0
        lattice.queue[n_queued] = n_nodes
        edges[edge].target = n_nodes if is_new else target if state != 0 else root
        n_nodes += is_new
        n_queued += is_new & is_followed
        arc += 1
    return n_nodes, n_edges + n_forms, n_queued
