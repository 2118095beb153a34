"""The engine `fast`: bestpath(S ∘ T ∘ LM) by lazy composition over the mapped arcs.

In: the words of a buffer with the labels of their surface forms (transducer.py), and the model. Out: for each word the
label that the best path gives it. Same paths and costs as `openfst.py`, without building an FST.

Two steps for a chunk of words, a *gap* being the place between two words:

1. `compose`: the nodes of each gap, which are the LM states that some casing of the words before it leads to, and their
   backoffs; and their arcs for the forms of the word behind the gap. Nodes are looked up in rounds: the words give the
   states of one word of context, their arcs those of two words, and so on. So the look-ups of a round do not wait for
   each other, and prefetching hides the memory's latency. As the forms of a word are neighbours in every state, one
   search finds all of them.
2. `advance`: an exact Viterbi search over these nodes, which are then in the cache. A backoff arc is a failure arc,
   taken for the forms that the node has no arc for.

A chunk ends where all paths agree, or with a line, so lines may be of any length.
Costs are −ln P, added in double precision. Ties go to the more frequent form of the first word in which paths differ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.lm import LanguageModel
from capfst.prefetch import prefetch
from capfst.tokenize import NEWLINE
from capfst.transducer import Words

CHUNK = 256
"""Words. Their nodes fit into the cache."""
STEP = 16
"""Arcs from one signpost to the next: 256 bytes."""
_BATCH = 32  # look-ups that wait for memory together
_PRIME = np.uint64(0x9E3779B97F4A7C15)


NODE = np.dtype(
    [
        ("state", "i4"),
        ("following", "i4"),  # the next node of the gap, in the order of states (so backoffs come first), or −1
        ("gap", "i4"),
        ("backoff", "i4"),  # a node of the same gap
        ("begin", "i4"),  # its edges
        ("end", "i4"),
        ("row", "i4"),  # in `advance`
        ("before", "i4"),  # the node before it on the best path
        ("form", "i4"),  # the form that this path takes from there
        ("best", "f8"),  # the path's cost, +inf if there is none
        ("cost", "f8"),  # of the backoff
    ]
)
"""A node of the lattice. The first nodes are the roots of the gaps, gap by gap."""
EDGE = np.dtype([("cost", "f8"), ("form", "i4"), ("target", "i4")])
"""An arc from a node with a form of the word behind its gap, to a node of the next gap."""


@njit(cache=True, nogil=True)
def _bit(state, label, pairs):  # type: ignore[no-untyped-def]
    h = (np.uint64(state) << np.uint64(32) | np.uint64(label)) * _PRIME
    return (h ^ h >> np.uint64(31)) & np.uint64(pairs.size * 8 - 1)


@njit(cache=True, nogil=True)
def derive(states, arcs, word_of, posts, singles, pairs):  # type: ignore[no-untyped-def]
    """Fills posts, singles and pairs; word_of[l] is the label of the most frequent form of label l's word."""
    for k in range(posts.size):
        posts[k] = arcs[k * STEP].ilabel
    for state in range(1, singles.size):
        pos = np.int64(states[state].pos)
        singles[state] = arcs[pos].weight
        last = np.int64(-1)
        for a in range(pos + 1, pos + np.int64(states[state].narcs)):
            word = np.int64(word_of[arcs[a].ilabel])
            if word != last:
                last = word
                bit = _bit(state, word, pairs)
                pairs[bit >> np.uint64(3)] |= np.uint8(1) << np.uint8(bit & np.uint64(7))


@njit(cache=True, nogil=True)
def narrow(posts, number, low, high, label, left):  # type: ignore[no-untyped-def]
    """Narrows `number` searches for label[i] in the arcs low[i]:high[i] to STEP + 1 arcs, by the signposts among them.

    The searches go on side by side, so that they wait for memory together. Changes low and high; left is scratch.
    """
    longest = np.int64(0)
    for i in range(number):
        left[i] = (low[i] + STEP - 1) // STEP
        longest = max(longest, (high[i] + STEP - 1) // STEP - left[i])
    # The first of the signposts left[i] … that is not below the label is one of the `size[i]` behind left[i], or next.
    while longest > 0:
        half = (longest + 1) >> 1
        for i in range(number):
            end = (high[i] + STEP - 1) // STEP
            at = left[i] + half - 1
            # A short range is searched with steps that are too long for it: those beyond its end are not taken.
            left[i] += half if at < end and posts[min(at, posts.size - 1)] < label[i] else 0
        longest = longest - half if longest > 1 else 0
    for i in range(number):
        low[i], high[i] = max(low[i], (left[i] - 1) * STEP), min(high[i], left[i] * STEP + 1)


@njit(cache=True, nogil=True)
def lower_bound(arcs, low, high, label):  # type: ignore[no-untyped-def]
    """The first of the arcs low:high, sorted, with `label` or a higher one; `high` if there is none."""
    size = high - low
    while size > 0:
        half = size >> 1
        below = arcs[low + half].ilabel < label
        low = low + half + 1 if below else low
        size = size - half - 1 if below else half
    return low


@njit(cache=True, nogil=True)
def final_cost(states, arcs, state):  # type: ignore[no-untyped-def]
    """The cost of `</s>` behind `state`."""
    if states[state].final == np.inf and state != 0:
        arc = arcs[states[state].pos]
        return np.float64(arc.weight) + final_cost(states, arcs, arc.nextstate)
    return np.float64(states[state].final)


@njit(cache=True, nogil=True)
def _node(nodes, count, gap, state):  # type: ignore[no-untyped-def]
    """The node of `state` in the gap, made if it is new; and the number of nodes."""
    if state == 0:
        return np.int64(gap), count
    last = np.int64(gap)
    node = np.int64(nodes[gap].following)
    while node >= 0 and nodes[node].state < state:
        last = node
        node = np.int64(nodes[node].following)
    if node >= 0 and nodes[node].state == state:
        return node, count
    nodes[count].state = state
    nodes[count].gap = gap
    nodes[count].following = node
    nodes[last].following = count
    return np.int64(count), count + 1


@njit(cache=True, nogil=True)
def compose(kinds, first, forms, start, here, states, arcs, posts, singles, pairs, nodes, edges):  # type: ignore[no-untyped-def]
    """The nodes of a chunk's gaps, and their arcs; returns the number of nodes, or −1 if the lattice lacks room.

    Gap g is before word g. Paths begin in the state `here`, and behind a line's end in that of `start`.
    """
    size = kinds.size
    room = min(nodes.size, edges.size)
    if room <= size + 2:
        return -1
    for gap in range(size + 1):
        nodes[gap].following = -1
        nodes[gap].state = 0
        nodes[gap].begin = nodes[gap].end = 0
    count = size + 1
    used = 0
    _, count = _node(nodes, count, 0, here)
    for gap in range(size):
        low, number = np.int64(first[gap]), np.int64(forms[gap])
        if max(count, used) + number + 1 > room:
            return -1
        if kinds[gap] == NEWLINE:
            _, count = _node(nodes, count, gap + 1, start)
            continue
        nodes[gap].begin = used
        for k in range(number):
            arc = arcs[low + k - 1]  # a unigram
            edges[used].form = k
            edges[used].target, count = _node(nodes, count, gap + 1, arc.nextstate)
            edges[used].cost = arc.weight
            used += 1
        nodes[gap].end = used

    asked = np.empty(_BATCH, np.int64)
    low_of, high_of = np.empty(_BATCH, np.int64), np.empty(_BATCH, np.int64)
    label_of, scratch = np.empty(_BATCH, np.int64), np.empty(_BATCH, np.int64)
    done = size + 1
    while done < count:
        last = min(count, done + _BATCH)
        number = 0
        for node in range(done, last):
            gap = nodes[node].gap
            state = nodes[node].state
            nodes[node].begin = nodes[node].end = 0
            if gap == size or kinds[gap] == NEWLINE:
                continue  # only its final weight counts
            if state < singles.size:
                bit = _bit(state, first[gap], pairs)
                if pairs[bit >> np.uint64(3)] >> np.uint8(bit & np.uint64(7)) & 1 == 0:
                    nodes[node].backoff = gap
                    nodes[node].cost = singles[state]
                    continue
            prefetch(states, state)
            asked[number] = node
            number += 1
        for i in range(number):
            state = nodes[asked[i]].state
            low_of[i] = np.int64(states[state].pos) + 1
            high_of[i] = low_of[i] - 1 + np.int64(states[state].narcs)
            label_of[i] = first[nodes[asked[i]].gap]
            prefetch(arcs, low_of[i] - 1)
        narrow(posts, number, low_of, high_of, label_of, scratch)
        for i in range(number):
            for line in range(low_of[i], high_of[i], 4):
                prefetch(arcs, line)
        for i in range(number):
            node = asked[i]
            gap = np.int64(nodes[node].gap)
            low, behind = np.int64(first[gap]), np.int64(first[gap]) + np.int64(forms[gap])
            if max(count, used) + behind - low + 1 > room:
                return -1
            state = nodes[node].state
            pos = np.int64(states[state].pos)
            end = pos + np.int64(states[state].narcs)
            nodes[node].backoff, count = _node(nodes, count, gap, arcs[pos].nextstate)
            nodes[node].cost = arcs[pos].weight
            nodes[node].begin = used
            at = lower_bound(arcs, low_of[i], high_of[i], low)
            while at < end and arcs[at].ilabel < behind:
                edges[used].form = arcs[at].ilabel - low
                edges[used].target, count = _node(nodes, count, gap + 1, arcs[at].nextstate)
                edges[used].cost = arcs[at].weight
                used += 1
                at += 1
            nodes[node].end = used
        done = last
    return count


@njit(cache=True, nogil=True)
def _precedes(nodes, a, a_form, b, b_form):  # type: ignore[no-untyped-def]
    """Whether the path to node a and on with a_form has, in the first word where they differ, a lower form than b's."""
    less = a_form < b_form
    while a != b:
        if nodes[a].form != nodes[b].form:
            less = nodes[a].form < nodes[b].form
        a, b = nodes[a].before, nodes[b].before
    return less


@njit(cache=True, nogil=True)
def advance(nodes, edges, gap, number, costs, targets):  # type: ignore[no-untyped-def]
    """Takes the paths to a gap's nodes on, with each of the `number` forms of the word behind it.

    costs, targets: room for a row of `number` entries for each node: what each form costs, backoffs included.
    """
    node = np.int64(gap)
    row = 0
    while node >= 0:
        nodes[node].row = row
        if node != gap:
            source = nodes[nodes[node].backoff].row
            for k in range(number):
                costs[row + k] = nodes[node].cost + costs[source + k]
                targets[row + k] = targets[source + k]
        for a in range(nodes[node].begin, nodes[node].end):
            costs[row + edges[a].form] = edges[a].cost
            targets[row + edges[a].form] = edges[a].target
        if nodes[node].best < np.inf:
            for k in range(number):
                cost = nodes[node].best + costs[row + k]
                target = targets[row + k]
                if cost < nodes[target].best or (
                    cost == nodes[target].best
                    and cost < np.inf
                    and _precedes(nodes, node, k, nodes[target].before, nodes[target].form)
                ):
                    nodes[target].best = cost
                    nodes[target].before = node
                    nodes[target].form = k
        row += number
        node = np.int64(nodes[node].following)


@njit(cache=True, nogil=True)
def _settle(nodes, node, begin, end, first, choice):  # type: ignore[no-untyped-def]
    """Writes the choice for the words begin … end − 1 from the best path to `node`, in the gap behind them."""
    for word in range(end - 1, begin - 1, -1):
        choice[word] = first[word] + np.uint32(nodes[node].form)
        node = np.int64(nodes[node].before)


@njit(cache=True, nogil=True)
def _end(states, arcs, nodes, gap):  # type: ignore[no-untyped-def]
    """The node of `gap` where the best path of a line ends; −1 if no path has a finite cost."""
    winner, least = np.int64(-1), np.inf
    node = np.int64(gap)
    while node >= 0:
        if nodes[node].best < np.inf:
            cost = nodes[node].best + final_cost(states, arcs, nodes[node].state)
            if cost < least or (cost == least and cost < np.inf and _precedes(nodes, node, 0, winner, 0)):
                winner, least = node, cost
        node = np.int64(nodes[node].following)
    return winner


@njit(cache=True, nogil=True)
def _meet(nodes, gap):  # type: ignore[no-untyped-def]
    """The last gap up to `gap` where all paths to `gap` are in one node, and that node; −1 if there is no path."""
    alive = [np.int64(0) for _ in range(0)]
    node = np.int64(gap)
    while node >= 0:
        if nodes[node].best < np.inf:
            alive.append(node)
        node = np.int64(nodes[node].following)
    if len(alive) == 0:
        return gap, np.int64(-1)
    while len(alive) > 1:
        gap -= 1
        met = [np.int64(nodes[alive[0]].before)]
        for node in alive:
            if nodes[node].before not in met:
                met.append(np.int64(nodes[node].before))
        alive = met
    return gap, alive[0]


@njit(cache=True, nogil=True)
def search(kinds, first, forms, start, states, arcs, posts, singles, pairs, chunk, choice):  # type: ignore[no-untyped-def]
    """Fills choice[i] with the label of word i on its line's best path. Each line starts in the state `start`.

    Every word has a form: an OOV word `<unk>`, as which it passes through. choice[i] of a line's end says nothing.
    """
    n = kinds.size
    nodes, edges = np.empty(8 * chunk, NODE), np.empty(8 * chunk, EDGE)
    costs, targets = np.empty(64, np.float64), np.empty(64, np.int32)
    line = 0  # its first word
    at = 0
    here, cost = np.int64(start), 0.0  # where all paths are before word `at`
    size = chunk
    while at < n:
        size = min(size, n - at)
        stop = at + size
        count = compose(
            kinds[at:stop], first[at:stop], forms[at:stop], start, here,
            states, arcs, posts, singles, pairs, nodes, edges,
        )  # fmt: skip
        if count < 0:
            nodes, edges = np.empty(2 * nodes.size, NODE), np.empty(2 * nodes.size, EDGE)
            continue
        for k in range(count):
            nodes[k].best = np.inf
        node, _ = _node(nodes, count, 0, here)
        nodes[node].best = cost
        settled = 0
        for gap in range(size):
            if kinds[at + gap] != NEWLINE:
                number = np.int64(forms[at + gap])
                rows = 1
                node = np.int64(nodes[gap].following)
                while node >= 0:
                    rows += 1
                    node = np.int64(nodes[node].following)
                if rows * number > costs.size:
                    costs, targets = np.empty(2 * rows * number, np.float64), np.empty(2 * rows * number, np.int32)
                advance(nodes, edges, gap, number, costs, targets)
                continue
            node = _end(states, arcs, nodes, gap)
            if node >= 0:
                _settle(nodes, node, settled, gap, first[at:stop], choice[at:stop])
            else:
                choice[line : at + gap] = first[line : at + gap]  # the tie of infinite costs
            settled = gap + 1
            line = at + gap + 1
            node, _ = _node(nodes, count, gap + 1, start)
            nodes[node].best = 0.0
        if stop == n:
            node = _end(states, arcs, nodes, size)
            if node >= 0:
                _settle(nodes, node, settled, size, first[at:stop], choice[at:stop])
            else:
                choice[line:n] = first[line:n]
            return
        gap, node = _meet(nodes, size)
        if node < 0:  # no casing of the line so far has a finite cost, as its end will show
            here, cost = np.int64(0), np.inf
            at, size = stop, chunk
        elif gap == 0:
            size *= 2  # the paths through the chunk part in its first word
        else:
            _settle(nodes, node, settled, gap, first[at:stop], choice[at:stop])
            here, cost = np.int64(nodes[node].state), nodes[node].best
            at, size = at + gap, chunk


class Engine:
    """The best paths of whole texts; each line starts in the LM state `start`. Threads may share it."""

    def __init__(self, lm: LanguageModel, start: int) -> None:
        self.start = start
        self.unknown = lm.unknown
        states, arcs = lm.model.states, lm.model.arcs
        backoffs = arcs["nextstate"][states["pos"][1:]]
        singles = 1 + int(np.argmax(backoffs != 0)) if backoffs.any() else len(states)
        noted = int(states["narcs"][1:singles].sum(dtype=np.int64))
        # Read-only: the model, and what is derived from it to touch little of it.
        self.tables = (
            states,
            arcs,
            np.empty((len(arcs) + STEP - 1) // STEP, np.int32),
            np.zeros(singles, np.float64),
            np.zeros(1 << max(3, noted.bit_length()), np.uint8),  # 8 to 16 bits a pair
        )
        word_of = np.zeros(len(lm.model.symbols), np.int32)
        word_of[1:] = np.repeat(lm.model.starts[:-1], np.diff(lm.model.starts))
        derive(states, arcs, word_of, *self.tables[2:])

    def best(self, words: Words, chunk: int = CHUNK) -> npt.NDArray[np.uint32]:
        """The label of each word on its line's best path; 0 for OOV words and line ends."""
        known = words.forms > 0
        choice = np.empty(len(words.kinds), np.uint32)
        first = np.where(known, words.first, np.uint32(self.unknown))
        search(words.kinds, first, np.maximum(words.forms, 1), self.start, *self.tables, chunk, choice)
        return choice * known
