"""S ∘ T ∘ LM, composed lazily: build the lattice of a chunk of words over the mapped arcs.

In: the words of a chunk with the labels of their surface forms, and the tables of the model (lookup.py). Out: the nodes
of each *position*, a point between two words. The nodes are the LM states that some casing of the previous words leads
to, and their backoffs. Each node has a row of edges, one for each form of the next word: its cost, and the node that it
leads to.

Nodes are looked up in rounds: the words give the states of one word of context, whose arcs give the states of two
words, and so on. The look-ups of a round are independent, so that prefetching hides the latency of memory.

Where a sentence may begin inside a line, the position also has the state in which sentences begin, and its backoffs. No
edge leads there: the search extends all paths by `</s>` to this state.

A backoff arc is a failure arc: it is followed only for forms for which the node has no arc. The entries of these forms
are those of the backoff's row plus the backoff cost. A node without any arc for the word needs no row: its paths
continue from its backoff, at the backoff cost. The rows include arc costs, which are the same in every state.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.kernels import fence, inlined, inner, prefetch
from capfst.kernels.types import Array, F32Array, F64Array, I32Array, I64Array, Record, f64, i64, u8
from capfst.lm.query import Starts
from capfst.search.lookup import FormArray, LookupTables, has_buckets, look_into_bucket, prepare, sixteenth_of
from capfst.text.tokenizer import NEWLINE

_LONGEST_CONTEXT = 16  # maximum number of nodes for the context of a line's first word
_AHEAD = 16  # positions to prefetch
FEW = 4  # forms of a word: few words have more, and the length of a loop over them could not be predicted
OUT_OF_CAPACITY, IRREGULAR = -1, -2
GAP = 255
"""Pseudo token type for a run of skipped words: all paths through the run are alike. Whatever the state before the run,
the words after it lead to the same state, so paths restart after it without context."""

POSITION = np.dtype(
    [
        ("number", "i8"),  # of the next word; for a gap, of the first word that is skipped
        ("offset", "i8"),  # of the word's costs in the arc costs; −1 if it has none
        ("label", "u4"),  # the first of the word's forms among which the search chooses
        ("n_forms", "u4"),  # the number of these forms; an OOV word has one, `<unk>`
        ("fraction", "u4"),  # of the word, as in lookup.FORM
        ("root", "i4"),  # the first node of the position; in the record after the last, the number of nodes
        ("first_expanded", "i4"),  # the first node of the position that has a row of its own
        ("token_type", "u1"),  # of the word, or GAP
        ("may_begin", "?"),  # whether a sentence may begin here, inside a line
        ("begin_odds", "f4"),  # as in Words
    ],
    align=True,
)
"""A position and the word after it, which may also be a line end or a gap. The last position has no word after it."""
PositionArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(POSITION)]
Position: TypeAlias = Annotated[Any, Record(POSITION)]
NODE = np.dtype(
    [
        ("best", "f8"),  # cost of the best path to it, +inf if there is none
        ("link", "i8"),  # the previous node on that path << 32 | form << 1 | whether a sentence ends in between
        ("backoff_cost", "f8"),  # of its state's backoff arc; later, of all backoffs from it to its resolved node
        ("resolved", "i4"),  # the first node with a row along its backoffs, from itself on; itself at a line's end
        ("row", "i4"),  # the first edge of its resolved node
        ("next_expanded", "i4"),  # the next node of the position that has a row of its own; −1 after the last
        ("state", "i4"),
        ("next", "i4"),  # the next node of the position; after the last, the first (the root)
        ("position", "i4"),
        ("backoff", "i4"),  # the node of its backoff state
        ("arc", "u4"),  # progress of its look-up: first its state's first arc, then a sixteenth, then the arc to read
        ("end", "u4"),  # the end of its state's arcs
    ],
    align=True,
)
"""A node, as large as a cache line. The first node of a position is the root. If paths begin at the position, the node
of that context follows the root in the order of `next`; in memory, the one-form states follow the root."""
NodeArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(NODE)]


class Lattice(NamedTuple):
    """The positions, nodes and edges of a chunk of words, and working memory to build them."""

    positions: PositionArray  # POSITION
    nodes: NodeArray  # NODE
    costs: F64Array  # of the edges
    targets: I64Array  # the nodes that the edges lead to
    queue: I32Array  # nodes of longer contexts, in the order of their discovery
    pending: I32Array  # nodes of one word of context whose look-up is pending


def new_lattice(words: int, capacity: int) -> Lattice:
    """Allocate a lattice for this many words, with capacity for this many nodes and edges."""
    return Lattice(
        np.empty(words + 2, POSITION),
        np.empty(capacity, NODE),
        np.empty(capacity, np.float64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
    )


@inlined
def ends_paths(token_type: u8) -> bool:
    """Return whether paths end at this token, a line end or a gap, and restart after it."""
    return token_type >= NEWLINE


@inlined
def gap_costs(record: Position) -> tuple[f64, f64]:
    """Return what it costs (−ln, up to a constant) that no sentence begins at a position, and that one does."""
    odds = f64(record.begin_odds)
    return (max(odds, 0.0), max(-odds, 0.0)) if record.may_begin else (0.0, np.inf)


@inner
def compose(size: i64, arc_costs: F32Array, lattice: Lattice, tables: LookupTables, starts: Starts, here: i64) -> i64:
    """Build the lattice of the words of the first `size` positions. Return the number of nodes; or OUT_OF_CAPACITY; or
    IRREGULAR, if the model is not an n-gram model.

    Paths begin in the state `here`; after a line end, and where a sentence may begin, in the states of `starts`.
    arc_costs: −ln, added to the costs of the LM.
    """
    n_nodes, n_edges, n_queued, n_short = _short_contexts(size, arc_costs, lattice, tables, starts, here)
    if n_nodes < 0:
        return n_nodes
    numbers, begin, end = lattice.pending, 0, _look_up_short(lattice, tables, n_short)
    n_done = 0
    while True:
        n_nodes, n_edges, n_queued = _expand(
            size, arc_costs, lattice, tables, numbers, begin, end, n_nodes, n_edges, n_queued
        )
        if n_nodes < 0 or n_done == n_queued:
            return n_nodes
        numbers, begin, end = lattice.queue, n_done, n_queued
        if not _look_up_longer(lattice, tables, begin, end):
            return IRREGULAR
        n_done = n_queued


@inlined
def _add_root(lattice: Lattice, position: i64, n_nodes: i64, n_edges: i64) -> i64:
    """Add the root of a position. Return the number of nodes."""
    node, record = lattice.nodes[n_nodes], lattice.positions[position]
    record.root = record.first_expanded = n_nodes
    node.best = np.inf
    node.backoff_cost = 0
    node.resolved = n_nodes
    node.row = n_edges
    node.next_expanded = -1
    node.state = 0
    node.next = n_nodes
    return n_nodes + 1


@inlined
def _prefetch_forms(forms: FormArray, record: Position) -> None:
    """Prefetch the first and last record of a word's forms."""
    label = i64(record.label)
    prefetch(forms, label)
    prefetch(forms, label + i64(record.n_forms) - 1)


@inner
def _short_contexts(
    size: i64, arc_costs: F32Array, lattice: Lattice, tables: LookupTables, starts: Starts, here: i64
) -> tuple[i64, i64, i64, i64]:
    """Add the root of each position, with its row, and the nodes of one word of context, or of the start of a line or a
    sentence.

    Return (number of nodes, or OUT_OF_CAPACITY; number of edges; length of the queue; number of pending nodes).
    """
    positions, nodes, forms = lattice.positions, lattice.nodes, tables.forms
    costs, targets = lattice.costs, lattice.targets
    limit = min(nodes.size, costs.size) - _LONGEST_CONTEXT - 1
    n_nodes, n_edges, n_queued, n_short = 0, 0, 0, 0
    for position in range(min(_AHEAD, size)):
        _prefetch_forms(forms, positions[position])
    if limit < 0:
        return OUT_OF_CAPACITY, n_edges, n_queued, n_short
    root = n_nodes
    n_nodes = _add_root(lattice, 0, root, n_edges)
    n_nodes = _add_context(tables, here, 0, root, n_nodes, nodes)
    for position in range(size):
        _prefetch_forms(forms, positions[min(position + _AHEAD, size - 1)])
        record = positions[position]
        label, n_forms = i64(record.label), i64(record.n_forms)
        if max(n_nodes, n_edges) + n_forms > limit:
            return OUT_OF_CAPACITY, n_edges, n_queued, n_short
        if ends_paths(record.token_type):
            _end_paths(nodes, root, n_nodes)
            root = n_nodes
            n_nodes = _add_root(lattice, position + 1, root, n_edges)
            if record.token_type == NEWLINE:
                n_nodes = _add_context(tables, starts.line, position + 1, root, n_nodes, nodes)
            continue
        # The look-ups of the nodes after the root. They resolve to the root unless there is an arc for the word.
        record.fraction = fraction = forms[label].fraction
        for number in range(root + 1, n_nodes):
            node, arc = nodes[number], i64(nodes[number].arc)
            node.resolved, node.row = root, nodes[root].row
            if arc < tables.longer.origin:
                node.arc = sixteenth = sixteenth_of(tables.short, arc, node.end, fraction)
                prefetch(tables.short.entries, sixteenth >> 4)
                lattice.pending[n_short] = number
                n_short += 1
            else:
                lattice.queue[n_queued] = number
                n_queued += 1
        root, row = n_nodes, n_edges
        n_edges += n_forms
        n_nodes = _add_root(lattice, position + 1, root, n_edges)
        for k in range(n_forms):
            form, node = forms[label + k], nodes[n_nodes]
            # The node is always written, but kept only if something follows the form: a branch would be
            # mispredicted.
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
        if record.offset >= 0:
            for k in range(n_forms):
                costs[row + k] += arc_costs[record.offset + k]
        if positions[position + 1].may_begin:
            n_nodes = _add_context(tables, starts.sentence, position + 1, root, n_nodes, nodes)
    _end_paths(nodes, root, n_nodes)
    positions[size + 1].root = n_nodes
    return n_nodes, n_edges, n_queued, n_short


@inlined
def _end_paths(nodes: NodeArray, root: i64, n_nodes: i64) -> None:
    """End the paths in the nodes of the last position: each resolves to itself."""
    for node in range(root + 1, n_nodes):
        nodes[node].resolved = node
        nodes[node].backoff_cost = 0


@inner
def _add_context(tables: LookupTables, state: i64, position: i64, root: i64, n_nodes: i64, nodes: NodeArray) -> i64:
    """Add the nodes of a state and its backoffs, backoffs first. Return the number of nodes."""
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
    """Find the arcs from which to read in contexts of one word, which have buckets. Return the number of nodes that
    probably have an arc for the word; these stay pending."""
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
        arc = arc if is_likely else 0  # instead of a branch: prefetch a fixed arc
        prefetch(arcs, arc)
        prefetch(arcs, arc + 1)
    return n_likely


@inner
def _look_up_longer(lattice: Lattice, tables: LookupTables, begin: i64, end: i64) -> bool:
    """Find the arcs from which to read in the longer contexts queue[begin:end]. Return whether their backoffs are those
    of an n-gram model."""
    positions, nodes, queue = lattice.positions, lattice.nodes, lattice.queue
    arcs, contexts, buckets = tables.arcs, tables.contexts, tables.longer
    for k in range(begin, end):
        prefetch(contexts, nodes[queue[k]].state)
    for k in range(begin, end):
        node = nodes[queue[k]]
        context, next_context = contexts[node.state], contexts[node.state + 1]
        pos, arcs_end = i64(context.pos), i64(next_context.pos)
        if np.isnan(context.backoff_cost) and not prepare(tables, node.state, nodes[node.backoff].state):
            return False
        node.backoff_cost = context.backoff_cost
        node.end = arcs_end
        sixteenth = sixteenth_of(buckets, pos, arcs_end, positions[node.position].fraction)
        node.arc = sixteenth = sixteenth if has_buckets(buckets, pos, arcs_end) else 0
        prefetch(buckets.entries, sixteenth >> 4)
    fence()  # see what other threads have prepared
    for k in range(begin, end):
        node = nodes[queue[k]]
        state, arcs_end = i64(node.state), i64(node.end)
        pos = i64(contexts[state].pos)
        label = i64(positions[node.position].label)
        is_likely, arc = look_into_bucket(tables, buckets, node.arc, state, arcs_end, label)
        arc = arc if is_likely else arcs_end
        node.arc = arc = arc if has_buckets(buckets, pos, arcs_end) else pos + 1  # after the backoff
        prefetch(arcs, arc)
        prefetch(arcs, arc + 1)
    return True


@inner
def _expand(
    size: i64,
    arc_costs: F32Array,
    lattice: Lattice,
    tables: LookupTables,
    numbers: I32Array,
    begin: i64,
    end: i64,
    n_nodes: i64,
    n_edges: i64,
    n_queued: i64,
) -> tuple[i64, i64, i64]:
    """Give a row to each of the nodes numbers[begin:end] that has an arc for the word, read from `arc` on, and add the
    nodes of the longer contexts that these arcs lead to; resolve the other nodes to their backoffs.

    Return (number of nodes, or OUT_OF_CAPACITY; number of edges; length of the queue).
    """
    positions, nodes, arcs = lattice.positions, lattice.nodes, tables.arcs
    costs, targets = lattice.costs, lattice.targets
    for each in range(begin, end):
        number = i64(numbers[each])
        node = nodes[number]
        position, arcs_end, arc = i64(node.position), i64(node.end), i64(node.arc)
        record, next_record = positions[position], positions[position + 1]
        label, n_forms, offset = i64(record.label), i64(record.n_forms), record.offset
        while arc < arcs_end and arcs[arc].ilabel < label:
            arc += 1
        backoff = nodes[node.backoff]
        row = i64(backoff.row)
        if arc == arcs_end or arcs[arc].ilabel >= label + n_forms:
            node.resolved = backoff.resolved
            node.row = row
            node.backoff_cost += backoff.backoff_cost
            continue
        if max(n_nodes, n_edges, n_queued) + max(n_forms, FEW) > min(nodes.size, costs.size):
            return OUT_OF_CAPACITY, n_edges, n_queued
        backoff_cost = backoff.backoff_cost + node.backoff_cost
        # Few forms without a loop; surplus entries are overwritten later.
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
        node.next_expanded = record.first_expanded
        record.first_expanded = number
        root = i64(next_record.root)
        is_followed = position + 1 < size and not ends_paths(next_record.token_type)
        while arc < arcs_end and arcs[arc].ilabel < label + n_forms:
            form = arcs[arc].ilabel - label
            edge, new = n_edges + form, nodes[n_nodes]
            costs[edge] = arcs[arc].weight
            if offset >= 0:
                costs[edge] += arc_costs[offset + form]
            state, target = i64(arcs[arc].nextstate), targets[edge]
            # As in _short_contexts, the node is always written, but kept only if it is new.
            is_new = (state != 0) & (nodes[target].state != state)
            new.best = np.inf
            new.backoff_cost = 0
            new.resolved = n_nodes  # until its look-up
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
        n_edges += n_forms
    return n_nodes, n_edges, n_queued
