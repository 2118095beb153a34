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

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.kernels import acquire, inlined, inner, kernel, prefetch
from capfst.kernels.types import Array, F32Array, F64Array, I32Array, I64Array, Record, i64, u8, u32
from capfst.lm.query import Starts
from capfst.search.lookup import FormArray, LookupTables, has_buckets, look_into_bucket, prepare, sixteenth_of
from capfst.text.tokenizer import NEWLINE

_LONGEST_CONTEXT = 16  # nodes that the context of a line's first word makes at most
_AHEAD = 16  # positions
FEW = 4  # forms of a word: few words have more, and how many they have is hard to predict
NO_ROOM, IRREGULAR = -1, -2
GAP = 255
"""In the place of a token type: words that are left out, as all paths through them are alike. Whatever state is before
these, the words behind them lead to the same one, so they begin without any context."""

POSITION = np.dtype(
    [
        ("number", "i8"),  # of the word behind it; of a gap, that of the first word that is left out
        ("offset", "i8"),  # of the word's costs in the arc costs; −1: there are none
        ("label", "u4"),  # the first one of the word's forms among which the search chooses
        ("n_forms", "u4"),  # their number; an OOV word has one form, `<unk>`
        ("share", "u4"),  # of the word, as in lookup.FORM
        ("root", "i4"),  # the first node of the position; behind the last position, the number of nodes
        ("first_expanded", "i4"),  # the first node of the position that has a row of its own
        ("token_type", "u1"),  # of the word, or GAP
        ("may_begin", "?"),  # whether a sentence may begin here, inside a line
    ],
    align=True,
)
"""A position, and the word behind it, which may also be a line's end or a gap; there is none behind the last one."""
PositionArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(POSITION)]
Position: TypeAlias = Annotated[Any, Record(POSITION)]
NODE = np.dtype(
    [
        ("best", "f8"),  # the cost of the best path, +inf if there is none
        ("link", "i8"),  # the node before it on that path << 32 | the form it takes from there, 0 for the first
        ("backoff_cost", "f8"),  # of its state's backoff arc; then of all backoffs from it to its resolved node
        ("resolved", "i4"),  # the first of it, its backoff, its backoff's … that has a row; itself at a line's end
        ("row", "i4"),  # the first of its edges, or of those of its resolved node
        ("next_expanded", "i4"),  # the next node of the position that has a row of its own, −1 behind the last
        ("state", "i4"),
        ("next", "i4"),  # node of the position; behind the last is the first, the root
        ("position", "i4"),
        ("backoff", "i4"),  # the node of its backoff state
        ("arc", "u4"),  # how far its look-up is: its state's first arc, the sixteenth of a bucket, the arc to read
        ("end", "u4"),  # the arc behind its state's last one
    ],
    align=True,
)
"""A node, of as many bytes as a line of the cache. The first one of a position is the root, behind which comes by
`next` the context in which paths begin at the position, if any; in memory, the states of one form follow the root."""
NodeArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(NODE)]
Node: TypeAlias = Annotated[Any, Record(NODE)]


class Lattice(NamedTuple):
    """The positions, nodes and edges of a chunk of words, and room for making them."""

    positions: PositionArray  # POSITION
    nodes: NodeArray  # NODE
    costs: F64Array  # of edges
    targets: I64Array  # the nodes that they lead to
    queue: I32Array  # nodes of longer contexts, in the order in which they are found
    pending: I32Array  # nodes of one word of context that are looked up


def new_lattice(words: int, room: int) -> Lattice:
    """A lattice for as many words, with room for as many nodes and edges."""
    return Lattice(
        np.empty(words + 2, POSITION),
        np.empty(room, NODE),
        np.empty(room, np.float64),
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
    )


@inlined
def ends_paths(token_type: u8) -> bool:
    """Whether paths end at a line end or a gap, and begin anew behind it."""
    return token_type >= NEWLINE


@inlined
def first_node(lattice: Lattice, position: i64) -> i64:
    """The node of the context in which paths begin at a position, the longest there."""
    return lattice.nodes[i64(lattice.positions[position].root)].next


@inlined
def node_of_state(lattice: Lattice, position: i64, state: i64) -> i64:
    """The node of a state that is at the position."""
    node = i64(lattice.positions[position].root)
    while lattice.nodes[node].state != state:
        node = i64(lattice.nodes[node].next)
    return node


@kernel
def compose(size: i64, arc_costs: F32Array, lattice: Lattice, tables: LookupTables, starts: Starts, here: i64) -> i64:
    """The lattice of the words of the first `size` positions; the number of nodes, NO_ROOM for them, or IRREGULAR, a
    model not of n-grams.

    Paths begin in the state `here`; behind a line's end, and where a sentence may begin, in those of `starts`.
    arc_costs: what forms cost beside the LM, −ln.
    """
    n_nodes, n_edges, n_queued, n_short = _short_contexts(size, arc_costs, lattice, tables, starts, here)
    if n_nodes < 0:
        return n_nodes
    found, begin, end = lattice.pending, 0, _look_up_short(lattice, tables, n_short)
    n_done = 0
    while True:
        n_nodes, n_edges, n_queued = _expand(
            size, arc_costs, lattice, tables, found, begin, end, n_nodes, n_edges, n_queued
        )
        if n_nodes < 0 or n_done == n_queued:
            return n_nodes
        found, begin, end = lattice.queue, n_done, n_queued
        if not _look_up_longer(lattice, tables, begin, end):
            return IRREGULAR
        n_done = n_queued


@inlined
def _add_root(lattice: Lattice, position: i64, n_nodes: i64, n_edges: i64) -> i64:
    """Makes the root of a position: the number of nodes."""
    node, place = lattice.nodes[n_nodes], lattice.positions[position]
    place.root = place.first_expanded = n_nodes
    node.best = np.inf
    node.backoff_cost = 0
    node.resolved = n_nodes
    node.row = n_edges
    node.next_expanded = -1
    node.state = 0
    node.next = n_nodes
    return n_nodes + 1


@inlined
def _prefetch_forms(forms: FormArray, place: Position) -> None:
    label = i64(place.label)
    prefetch(forms, label)
    prefetch(forms, label + i64(place.n_forms) - 1)


@inner
def _short_contexts(
    size: i64, arc_costs: F32Array, lattice: Lattice, tables: LookupTables, starts: Starts, here: i64
) -> tuple[i64, i64, i64, i64]:
    """Makes of each position the root, with its row, and the nodes of one word of context, or those of a line's start,
    and those of a sentence's start.

    (number of nodes, or NO_ROOM; edges; longer contexts, in the queue; those of one word to look up, pending)
    """
    positions, nodes, forms = lattice.positions, lattice.nodes, tables.forms
    costs, targets = lattice.costs, lattice.targets
    room = min(nodes.size, costs.size) - _LONGEST_CONTEXT - 1
    n_nodes, n_edges, n_queued, n_short = 0, 0, 0, 0
    for position in range(min(_AHEAD, size)):
        _prefetch_forms(forms, positions[position])
    if room < 0:
        return NO_ROOM, n_edges, n_queued, n_short
    root = n_nodes
    n_nodes = _add_root(lattice, 0, root, n_edges)
    n_nodes = _add_context(tables, here, 0, root, n_nodes, nodes)
    for position in range(size):
        _prefetch_forms(forms, positions[min(position + _AHEAD, size - 1)])
        place = positions[position]
        label, n_forms = i64(place.label), i64(place.n_forms)
        if max(n_nodes, n_edges) + n_forms > room:
            return NO_ROOM, n_edges, n_queued, n_short
        if ends_paths(place.token_type):
            _end_paths(nodes, root, n_nodes)
            root = n_nodes
            n_nodes = _add_root(lattice, position + 1, root, n_edges)
            if place.token_type == NEWLINE:
                n_nodes = _add_context(tables, starts.line, position + 1, root, n_nodes, nodes)
            continue
        n_queued, n_short = _await_word(lattice, tables, place, forms[label].share, root, n_nodes, n_queued, n_short)
        root, row = n_nodes, n_edges
        n_edges += n_forms
        n_nodes = _add_root(lattice, position + 1, root, n_edges)
        for k in range(n_forms):
            form, node = forms[label + k], nodes[n_nodes]
            # A node is written in any case, but stays only if something follows the form: no branch, as nobody can
            # predict it.
            is_followed = form.state != 0
            costs[row + k] = form.cost
            targets[row + k] = n_nodes if is_followed else root
            node.best = np.inf
            node.state = form.state
            node.position = position + 1
            node.backoff = root
            node.next = n_nodes + 1
            node.arc = form.pos
            node.end = form.end
            node.backoff_cost = form.backoff_cost
            n_nodes += is_followed
        nodes[root].next = root + 1
        nodes[n_nodes - 1].next = root
        if place.offset >= 0:
            for k in range(n_forms):
                costs[row + k] += arc_costs[place.offset + k]
        if positions[position + 1].may_begin:
            n_nodes = _add_context(tables, starts.sentence, position + 1, root, n_nodes, nodes)
    _end_paths(nodes, root, n_nodes)
    positions[size + 1].root = n_nodes
    return n_nodes, n_edges, n_queued, n_short


@inlined
def _await_word(
    lattice: Lattice,
    tables: LookupTables,
    place: Position,
    share: u32,
    root: i64,
    n_nodes: i64,
    n_queued: i64,
    n_short: i64,
) -> tuple[i64, i64]:
    """Has the nodes behind the root wait for the word behind the position, which has this share; they resolve to the
    root unless they turn out to have an arc for it.

    (longer contexts, in the queue; those of one word to look up, pending)
    """
    nodes, queue, pending = lattice.nodes, lattice.queue, lattice.pending
    place.share = share
    row = nodes[root].row
    for number in range(root + 1, n_nodes):
        node = nodes[number]
        node.resolved = root
        node.row = row
        arc = i64(node.arc)
        if arc < tables.longer.origin:
            sixteenth = sixteenth_of(tables.short, arc, node.end, share)
            node.arc = sixteenth
            prefetch(tables.short.entries, sixteenth >> 4)
            pending[n_short] = number
            n_short += 1
        else:
            queue[n_queued] = number
            n_queued += 1
    return n_queued, n_short


@inlined
def _end_paths(nodes: NodeArray, root: i64, n_nodes: i64) -> None:
    """Has paths end in the nodes of the last position."""
    for node in range(root + 1, n_nodes):
        nodes[node].resolved = node
        nodes[node].backoff_cost = 0


@inner
def _add_context(tables: LookupTables, state: i64, position: i64, root: i64, n_nodes: i64, nodes: NodeArray) -> i64:
    """Makes the nodes of a state and its backoffs, backoffs first; the number of nodes."""
    states, arcs = tables.states, tables.arcs
    length = 0
    backoff = i64(state)
    while backoff != 0:
        length += 1
        backoff = i64(arcs[states[backoff].pos].nextstate)
    before = i64(root)
    for number in range(n_nodes + length - 1, n_nodes - 1, -1):
        node = nodes[number]
        node.best = np.inf
        node.state = state
        node.position = position
        node.backoff = number - 1 if number > n_nodes else root
        pos = i64(states[state].pos)
        node.arc = pos
        node.end = pos + i64(states[state].narcs)
        node.backoff_cost = arcs[pos].weight
        node.next = nodes[before].next
        nodes[before].next = before = number
        state = arcs[pos].nextstate
    return n_nodes + length


@inner
def _look_up_short(lattice: Lattice, tables: LookupTables, n_short: i64) -> i64:
    """Finds where to begin to read the arcs of contexts of one word, which have buckets; the number of nodes that are
    likely to have one for the word, which stay pending."""
    positions, nodes, pending, arcs = lattice.positions, lattice.nodes, lattice.pending, tables.arcs
    n_likely = 0
    for k in range(n_short):
        node = nodes[pending[k]]
        is_likely, arc = look_into_bucket(
            tables, tables.short, node.arc, node.state, node.end,
            positions[node.position].label,
        )  # fmt: skip
        node.arc = arc
        pending[n_likely] = pending[k]
        n_likely += is_likely
        arc = arc if is_likely else 0  # without a branch, nothing is fetched for the others
        prefetch(arcs, arc)
        prefetch(arcs, arc + 1)
    return n_likely


@inner
def _look_up_longer(lattice: Lattice, tables: LookupTables, begin: i64, behind: i64) -> bool:
    """Finds where to begin to read the arcs of the longer contexts queue[begin:behind]; whether these are as in a model
    of n-grams."""
    positions, nodes, queue = lattice.positions, lattice.nodes, lattice.queue
    arcs, contexts, buckets = tables.arcs, tables.contexts, tables.longer
    for k in range(begin, behind):
        prefetch(contexts, nodes[queue[k]].state)
    for k in range(begin, behind):
        node = nodes[queue[k]]
        context, behind_context = contexts[node.state], contexts[node.state + 1]
        pos, end = i64(context.pos), i64(behind_context.pos)
        if np.isnan(context.backoff_cost) and not prepare(tables, node.state, nodes[node.backoff].state):
            return False
        node.backoff_cost = context.backoff_cost
        node.end = end
        sixteenth = sixteenth_of(buckets, pos, end, positions[node.position].share)
        node.arc = sixteenth = sixteenth if has_buckets(buckets, pos, end) else 0
        prefetch(buckets.entries, sixteenth >> 4)
    acquire()  # what other threads have prepared
    for k in range(begin, behind):
        node = nodes[queue[k]]
        state, end = i64(node.state), i64(node.end)
        pos = i64(contexts[state].pos)
        label = i64(positions[node.position].label)
        is_likely, arc = look_into_bucket(tables, buckets, node.arc, state, end, label)
        arc = arc if is_likely else end
        node.arc = arc = arc if has_buckets(buckets, pos, end) else pos + 1  # behind the backoff
        prefetch(arcs, arc)
        prefetch(arcs, arc + 1)
    return True


@inner
def _expand(
    size: i64,
    arc_costs: F32Array,
    lattice: Lattice,
    tables: LookupTables,
    found: I32Array,
    begin: i64,
    behind: i64,
    n_nodes: i64,
    n_edges: i64,
    n_queued: i64,
) -> tuple[i64, i64, i64]:
    """Gives rows of their own to those of the nodes found[begin:behind] that have an arc for the word, to be read from
    their `arc` on, and has the others resolve to their backoffs.

    (number of nodes, or NO_ROOM; edges; nodes in the queue)
    """
    nodes, arcs = lattice.nodes, tables.arcs
    for k in range(begin, behind):
        number = i64(found[k])
        node = nodes[number]
        place = lattice.positions[node.position]
        label, end, arc = i64(place.label), i64(node.end), i64(node.arc)
        while arc < end and arcs[arc].ilabel < label:
            arc += 1
        if arc < end and arcs[arc].ilabel < label + i64(place.n_forms):
            n_nodes, n_edges, n_queued = _add_row(
                size, arc_costs, lattice, tables, number, arc, n_nodes, n_edges, n_queued
            )
            if n_nodes < 0:
                break
        else:
            backoff = nodes[node.backoff]
            node.resolved = backoff.resolved
            node.row = backoff.row
            node.backoff_cost += backoff.backoff_cost
    return n_nodes, n_edges, n_queued


@inlined
def _add_row(
    size: i64,
    arc_costs: F32Array,
    lattice: Lattice,
    tables: LookupTables,
    number: i64,
    arc: i64,
    n_nodes: i64,
    n_edges: i64,
    n_queued: i64,
) -> tuple[i64, i64, i64]:
    """Gives a node a row, as it has arcs for the word from `arc` on, and makes the nodes of the longer contexts that
    these lead to.

    (number of nodes, or NO_ROOM; edges; nodes in the queue)
    """
    positions, nodes, arcs = lattice.positions, lattice.nodes, tables.arcs
    costs, targets = lattice.costs, lattice.targets
    node = nodes[number]
    position, end = i64(node.position), i64(node.end)
    place, place_behind = positions[position], positions[position + 1]
    label, n_forms, offset = i64(place.label), i64(place.n_forms), place.offset
    if max(n_nodes, n_edges, n_queued) + max(n_forms, FEW) > min(nodes.size, costs.size):
        return NO_ROOM, n_edges, n_queued
    backoff = nodes[node.backoff]
    row, backoff_cost = i64(backoff.row), backoff.backoff_cost + node.backoff_cost
    # Of few forms without a loop; what is too much is overwritten.
    cost1, cost2, cost3, cost4 = costs[row], costs[row + 1], costs[row + 2], costs[row + 3]
    target1, target2, target3, target4 = targets[row], targets[row + 1], targets[row + 2], targets[row + 3]
    costs[n_edges], costs[n_edges + 1] = backoff_cost + cost1, backoff_cost + cost2
    costs[n_edges + 2], costs[n_edges + 3] = backoff_cost + cost3, backoff_cost + cost4
    targets[n_edges], targets[n_edges + 1] = target1, target2
    targets[n_edges + 2], targets[n_edges + 3] = target3, target4
    for form in range(FEW, n_forms):
        costs[n_edges + form] = backoff_cost + costs[row + form]
        targets[n_edges + form] = targets[row + form]
    node.resolved = number
    node.backoff_cost = 0
    node.row = n_edges
    node.next_expanded = place.first_expanded
    place.first_expanded = number
    root = i64(place_behind.root)
    is_followed = position + 1 < size and not ends_paths(place_behind.token_type)
    while arc < end and arcs[arc].ilabel < label + n_forms:
        form = arcs[arc].ilabel - label
        edge, new = n_edges + form, nodes[n_nodes]
        costs[edge] = arcs[arc].weight
        if offset >= 0:
            costs[edge] += arc_costs[offset + form]
        state, target = i64(arcs[arc].nextstate), targets[edge]
        # As in _short_contexts, a node is written in any case, but stays only if it is new.
        is_new = (state != 0) & (nodes[target].state != state)
        new.best = np.inf
        new.backoff_cost = 0
        new.resolved = n_nodes  # until it is looked up
        new.state = state
        new.position = position + 1
        new.backoff = target
        new.next = nodes[root].next
        nodes[root].next = n_nodes if is_new else new.next
        lattice.queue[n_queued] = n_nodes
        targets[edge] = n_nodes if is_new else target if state != 0 else root
        n_nodes += is_new
        n_queued += is_new & is_followed
        arc += 1
    return n_nodes, n_edges + n_forms, n_queued
