"""bestpath: an exact Viterbi search over the lattices of a text, chunk by chunk.

In: the words of a text with the labels of their surface forms, and the tables of the model (lookup.py). Out: for each
word its label on its line's best path, and the costs of these paths.

`advance` extends the paths to a position's nodes by the next word. A path never stops at a node that has no arc for
that word, but at the node's backoff, from which it costs the same.
`cross_boundary` extends the paths by the word and `</s>` to the state in which sentences begin. A chunk ends where all
paths share a node, or at the end of a line; lines may therefore have any length.

Costs are −ln P, added in double precision. Ties go to the more frequent form of the first word in which the paths
differ; if all forms are the same, to the path with the later sentence boundary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.types import ArcCosts, LabelPath, Words
from capfst.kernels import inlined, inner, kernel, outlined
from capfst.kernels.types import F32Array, F64Array, I64Array, U32Array, f64, i64, u32
from capfst.lm.query import Starts, final_cost
from capfst.search import lattice as lat
from capfst.search.lookup import LookupTables
from capfst.text.tokenizer import NEWLINE

_STEP = 0xFFFFFFFF
DONE, TOO_LONG, IMPOSSIBLE = 0, -3, -4


@inner
def _precedes(nodes: lat.NodeArray, a: i64, b: i64) -> bool:
    """Return whether the path that ends in link `a` wins a tie with the path that ends in link `b`: whether, at the
    first word where they differ, it has the lower form, or the same form without a sentence boundary after it."""
    is_less = False
    while a != b:
        if a & _STEP != b & _STEP:
            is_less = bool(a & _STEP < b & _STEP)
        a, b = nodes[a >> 32].link, nodes[b >> 32].link
    return is_less


@inner
def _relax(nodes: lat.NodeArray, target: i64, cost: f64, link: i64) -> None:
    """Relax an edge: update the node's best path if the path by this link is cheaper, or wins the tie."""
    old, old_link = nodes[target].best, nodes[target].link
    is_less = cost < old
    nodes[target].best = cost if is_less else old
    nodes[target].link = link if is_less else old_link
    if cost == old and cost < np.inf and _precedes(nodes, link, old_link):
        nodes[target].link = link


@inlined
def start_paths(lattice: lat.Lattice, position: i64, cost: f64) -> None:
    """Start the paths at the longest context of a position, or at the node to which it resolves."""
    nodes = lattice.nodes
    node = nodes[nodes[i64(lattice.positions[position].root)].next]
    resolved = nodes[node.resolved]
    resolved.best = cost + node.backoff_cost
    resolved.link = 0


@inlined
def advance(lattice: lat.Lattice, position: i64, n_forms: i64, gap_cost: f64) -> None:
    """Extend the best paths to the nodes of a position by each form of the next word, and by the gap after it, to nodes
    that have rows for the word after it."""
    nodes, costs, targets = lattice.nodes, lattice.costs, lattice.targets
    number = i64(lattice.positions[position].first_expanded)
    while number >= 0:
        node = nodes[number]
        row, best, link = i64(node.row), node.best + gap_cost, number << 32
        for k in range(row, row + n_forms):
            target = nodes[targets[k]]
            _relax(nodes, target.resolved, best + (costs[k] + target.backoff_cost), link)
            link += 2
        number = i64(node.next_expanded)


@inlined
def cross_boundary(
    lattice: lat.Lattice, tables: LookupTables, position: i64, n_forms: i64, starts: Starts, gap_cost: f64
) -> None:
    """Extend the best paths as `advance` does, then by the end of the sentence (`</s>`) to the start of the next
    sentence."""
    nodes, costs, targets = lattice.nodes, lattice.costs, lattice.targets
    begin = i64(lattice.positions[position + 1].root)
    while nodes[begin].state != starts.sentence:
        begin = i64(nodes[begin].next)
    restart = nodes[begin]
    number = i64(lattice.positions[position].first_expanded)
    while number >= 0:
        node = nodes[number]
        row = i64(node.row)
        for k in range(n_forms):
            end = final_cost(tables.states, tables.arcs, nodes[targets[row + k]].state)
            cost = node.best + (costs[row + k] + end + restart.backoff_cost + gap_cost)
            _relax(nodes, restart.resolved, cost, number << 32 | k << 1 | 1)
        number = i64(node.next_expanded)


@inner
def _trace_back(lattice: lat.Lattice, node: i64, begin: i64, end: i64, words: Words, path: LabelPath) -> None:
    """Write to `path` the best path to `node`, for the words begin … end − 1 of a chunk; the node is at the position
    after them."""
    for k in range(end - 1, begin - 1, -1):
        link, record = lattice.nodes[node].link, lattice.positions[k]
        form = u32((link & _STEP) >> 1)
        path.labels[record.number] = record.label + form if words.n_forms[record.number] > 0 else u32(0)
        if link & 1:
            path.begins[record.number + 1] = True
        node = link >> 32


@inlined
def best_final(lattice: lat.Lattice, tables: LookupTables, position: i64) -> tuple[i64, f64]:
    """Return the node of the position where the best path of a line ends, and its cost; node −1 if no path has a finite
    cost."""
    nodes = lattice.nodes
    best, least = (-1), np.inf
    root = i64(lattice.positions[position].root)
    node = root
    while True:
        node = i64(nodes[node].next)
        if nodes[node].best < np.inf:
            cost = nodes[node].best + final_cost(tables.states, tables.arcs, nodes[node].state)
            is_tie = cost == least and cost < np.inf
            if cost < least or (is_tie and _precedes(nodes, nodes[node].link, nodes[best].link)):
                best, least = node, cost
        if node == root:
            return best, least


@inner
def _common_node(lattice: lat.Lattice, position: i64) -> tuple[i64, i64]:
    """Return the last position, this one or an earlier one, where all paths to this position share a node, and that
    node; −1 if there is no path. Overwrites the lattice's queue."""
    nodes, alive = lattice.nodes, lattice.queue
    n_alive = 0
    root = i64(lattice.positions[position].root)
    node = root
    while True:
        if nodes[node].best < np.inf:
            alive[n_alive] = node
            n_alive += 1
        node = i64(nodes[node].next)
        if node == root:
            break
    if n_alive == 0:
        return position, -1
    while n_alive > 1:
        position -= 1
        n_before = 0
        for k in range(n_alive):
            before = nodes[alive[k]].link >> 32
            m = 0
            while m < n_before and alive[m] != before:
                m += 1
            alive[m] = before
            n_before = max(n_before, m + 1)
        n_alive = n_before
    return position, alive[0]


class Choices(NamedTuple):
    """The forms among which the search chooses: for word i the labels first_labels[i] … first_labels[i] + n_forms[i] −
    1. Their arc costs, if any, are arc_costs[offsets[i]:]."""

    first_labels: U32Array
    n_forms: U32Array
    offsets: I64Array  # [n], or [0] without costs
    arc_costs: F32Array  # −ln, added to the costs of the LM
    unknown: int  # the label of `<unk>`, the only form of an OOV word; it has no arc cost


@kernel
def _choose(words: Words, choices: Choices, path: LabelPath) -> None:
    """Fill `choices` with the forms, without the leading and trailing ones of infinite cost; fill `path` with the first
    form of each word."""
    costs = choices.arc_costs
    offset = 0
    for i in range(words.n_forms.size):
        n_forms = i64(words.n_forms[i])
        if n_forms <= lat.FEW and offset + lat.FEW <= costs.size:  # no loop: nearly all words
            has0, has1 = costs[offset] < np.inf, (n_forms > 1) & (costs[offset + 1] < np.inf)
            has2, has3 = (n_forms > 2) & (costs[offset + 2] < np.inf), (n_forms > 3) & (costs[offset + 3] < np.inf)
            low = 0 if has0 else 1 if has1 else 2 if has2 else 3
            high = 4 if has3 else 3 if has2 else 2 if has1 else 1
            low = low if low < high else 0
        else:
            low, high = n_forms, 0
            for k in range(n_forms):
                is_finite = costs[offset + k] < np.inf
                low = min(low, k) if is_finite else low
                high = k + 1 if is_finite else high
            if high == 0:
                low, high = 0, 1
        label = words.first_labels[i] + low
        choices.first_labels[i] = label
        choices.n_forms[i] = high - low if n_forms > 0 else 0
        choices.offsets[i] = offset + low
        path.labels[i] = label if n_forms > 0 else 0
        offset += n_forms


def choose(words: Words, arc_costs: ArcCosts | None, unknown: int) -> tuple[Choices, LabelPath]:
    """Return the choices of the words, all forms that may be on a path of finite cost, and a path to fill in. With
    costs, it already has the first form of each word, because the search may then skip words."""
    n = len(words.n_forms)
    path = LabelPath(np.zeros(n, np.uint32), np.zeros(n, np.bool_))
    if arc_costs is None:
        return Choices(words.first_labels, words.n_forms, np.empty(0, np.int64), np.empty(0, np.float32), unknown), path
    choices = Choices(np.empty(n, np.uint32), np.empty(n, np.uint32), np.empty(n, np.int64), arc_costs, unknown)
    _choose(words, choices, path)
    return choices, path


@inlined
def _is_open(words: Words, choices: Choices, i: i64) -> bool:
    """Return whether word i leaves a choice: it has several forms, or a sentence may begin with it."""
    return choices.n_forms[i] > 1 or words.may_begin[i]


@outlined
def fill_chunk(
    words: Words, choices: Choices, begin: i64, context: i64, size: i64, positions: lat.PositionArray
) -> tuple[i64, i64]:
    """Fill up to `size` positions with the words from `begin` on. Return the number of positions filled, and the number
    of the next word.

    With a context of 0 or more, runs of words without a choice are replaced by a GAP, except the `context` words before
    and after each word with a choice.
    """
    n = words.token_types.size
    needed = begin - 1 if context >= 0 else n  # no word up to this one is skipped
    i = begin
    while context >= 0 and i > 0 and begin - i < context and words.token_types[i - 1] != NEWLINE:
        i -= 1
        if _is_open(words, choices, i):
            needed = i + context
            break
    k, i = 0, begin
    while k < size and i < n:
        token_type, record = words.token_types[i], positions[k]
        if token_type == NEWLINE:
            needed = i if context >= 0 else n
        elif i > needed:
            ahead = i
            while ahead < n and words.token_types[ahead] != NEWLINE and not _is_open(words, choices, ahead):
                ahead += 1
            is_end = ahead == n or words.token_types[ahead] == NEWLINE
            resume = ahead if is_end else max(i, ahead - context)
            if resume > i:
                record.token_type, record.n_forms, record.number = lat.GAP, 0, i
                record.may_begin = False
                record.label = 0
                record.offset = -1
                k += 1
                i, needed = resume, ahead
                continue
            needed = ahead
        if context >= 0 and token_type != NEWLINE and _is_open(words, choices, i):
            needed = max(needed, i + context)
        n_forms = choices.n_forms[i]
        record.token_type, record.number = token_type, i
        record.may_begin, record.begin_odds = words.may_begin[i], words.begin_odds[i]
        record.label = choices.first_labels[i] if n_forms > 0 else choices.unknown
        record.n_forms = max(n_forms, u32(1))
        record.offset = choices.offsets[i] if n_forms > 0 and choices.offsets.size > 0 else -1
        k += 1
        i += 1
    positions[k].may_begin = i < n and words.may_begin[i]
    positions[k].begin_odds = words.begin_odds[i] if i < n else 0
    return k, i


@kernel
def search(
    words: Words,
    choices: Choices,
    context: i64,
    starts: Starts,
    tables: LookupTables,
    usual_size: i64,
    lattice: lat.Lattice,
    path: LabelPath,
    costs: F64Array,
) -> tuple[i64, i64]:
    """Fill `path` with the best path of each line, and `costs` with the costs of these paths (−ln P); path.labels of
    line ends are undefined.

    context: `tables.context` to skip words without a choice as in `fill_chunk` (`path` must then already have their
    labels, and the costs are meaningless), or −1. usual_size: of a chunk, in words. lattice: working memory.

    Returns DONE and the number of lines; TOO_LONG and the number of positions that a chunk needs; OUT_OF_CAPACITY;
    IRREGULAR; or IMPOSSIBLE if words are skipped and no path through a line has a finite cost.
    """
    n, positions = words.token_types.size, lattice.positions
    line, lines, begin, size = 0, 0, 0, usual_size  # the first word of the line and of the chunk
    # The LM state of all paths before the chunk, and the cost of the best path to it.
    here, cost = i64(starts.line), 0.0
    while begin <= n:
        size = min(size, n - begin)
        if size > positions.size - 2:
            return TOO_LONG, size
        filled, next_word = fill_chunk(words, choices, begin, context, size, positions)
        status = lat.compose(filled, choices.arc_costs, lattice, tables, starts, here)
        if status < 0:
            return status, 0
        start_paths(lattice, 0, cost)
        traced = 0  # the words before this position have their labels
        for position in range(filled + 1):
            record = positions[position]
            if position < filled and not lat.ends_paths(record.token_type):
                goes_on, begins = lat.gap_costs(positions[position + 1])
                if goes_on < np.inf:
                    advance(lattice, position, record.n_forms, goes_on)
                if begins < np.inf:
                    cross_boundary(lattice, tables, position, record.n_forms, starts, begins)
                continue
            if position == filled and next_word < n:
                break
            node, least = best_final(lattice, tables, position)
            word = next_word if position == filled else record.number
            if node >= 0:
                _trace_back(lattice, node, traced, position, words, path)
            elif context >= 0:
                return IMPOSSIBLE, 0
            else:
                for i in range(line, word):  # all casings tie at infinite cost
                    path.labels[i] = words.first_labels[i] if words.n_forms[i] > 0 else 0
                    path.begins[i] = words.may_begin[i] and words.begin_odds[i] == np.inf
            traced = position + 1
            if position == filled or record.token_type == NEWLINE:
                costs[lines] = least
                line = word + 1
                lines += 1
            if position == filled:
                return DONE, lines
            start_paths(lattice, position + 1, 0.0)
        position, node = _common_node(lattice, filled)
        if node < 0:  # no casing of the line has a finite cost so far: handled at its end
            here, cost = 0, np.inf
            begin, size = next_word, usual_size
        elif position == 0:
            size *= 2  # the paths differ from the first word of the chunk on
        else:
            _trace_back(lattice, node, traced, position, words, path)
            here, cost = i64(lattice.nodes[node].state), lattice.nodes[node].best
            begin, size = next_word if position == filled else i64(positions[position].number), usual_size
    return DONE, lines
