"""Lazy S ∘ T ∘ LM: the lattice of a chunk of words, over the mapped arcs.

In: the words of a chunk with the labels of their surface forms, and the model (find.py). Out: the nodes of each *gap*,
which is the place between two words: the LM states that some casing of the words before it leads to, and their
backoffs; and for each node a row: what each form of the word behind the gap costs, and the node it leads to.

Nodes are looked up in rounds: the words give the states of one word of context, their arcs those of two words, and so
on. So the look-ups of a round do not wait for each other, and prefetching hides the memory's latency.

A backoff arc is a failure arc, taken for the forms that the node has no arc for: their entries in its row are those of
the backoff's row, dearer by the backoff. A node without any arc for the word needs no row: whatever follows, its paths
are as good as others that are in its backoff at the backoff's cost. What the forms cost beside the LM, in every state
the same, is in the rows.
"""

from __future__ import annotations

import numpy as np

from capfst.search.lookup import STEP, hashed, probe, signpost
from capfst.system.kernels import kernel, prefetch
from capfst.text.tokenizer import NEWLINE

_AHEAD = 12  # words
NO_ROOM, IRREGULAR = -1, -2

NODE = np.dtype(
    [
        ("best", "f8"),  # the cost of the best path, +inf if there is none
        ("link", "i8"),  # the node before it on that path << 32 | the form it takes from there, 0 for the first
        ("lift", "f8"),  # what the backoffs to `into` cost
        ("into", "i4"),  # the first node that has a row: itself, its backoff, its backoff's …; itself at a line's end
        ("row", "i4"),  # where that row begins, among the edges
    ]
)
"""What the search needs of a node. The first node of a gap is the root, then come the states of one form."""
PLACE = np.dtype(
    [
        ("state", "i4"),
        ("next", "i4"),  # node of the gap; behind the last is the first, the root
        ("gap", "i4"),
        ("back", "i4"),  # the node of the backoff
        ("pos", "u4"),
        ("narcs", "u4"),
        ("at", "i4"),  # how far the look-up is
        ("bow", "f4"),
    ]
)
"""What composition needs of a node. Behind the root the longest contexts come first, so that backoffs come last."""
EDGE = np.dtype([("cost", "f8"), ("target", "i8")])


@kernel
def _chain(states, arcs, state, gap, base, count, nodes, places):  # type: ignore[no-untyped-def]
    """Makes the nodes of a state and its backoffs, backoffs first; returns the number of nodes."""
    length = np.int64(0)
    backoff = np.int64(state)
    while backoff != 0:
        length += 1
        backoff = np.int64(arcs[states[backoff].pos].nextstate)
    for node in range(count + length - 1, count - 1, -1):
        place = places[node]
        place.state = state
        place.gap = gap
        place.back = place.next = node - 1
        place.pos = states[state].pos
        place.narcs = states[state].narcs
        place.bow = arcs[place.pos].weight
        nodes[node].best = np.inf
        state = arcs[place.pos].nextstate
    if length > 0:
        places[base].next = count + length - 1
        places[count].back = places[count].next = base
    return count + length


@kernel
def compose(  # type: ignore[no-untyped-def]
    kinds, first, forms, at_weights, weights, start, here,
    states, arcs, table, slots, posts, bits, bases, heads, queue, hits, nodes, places, edges, others,
):  # fmt: skip
    """The lattice of a chunk; returns the number of nodes, NO_ROOM for them, or IRREGULAR, a model not of n-grams.

    Gap g is before word g; bases[g] is its root; the nodes with a row are heads[g], others[heads[g]], … until −1.
    Paths begin in the state `here`, and behind a line's end in `start`. Word g has the forms first[g] … first[g] +
    forms[g] − 1, which cost weights[at_weights[g]:] more, if there are any.
    """
    heavy = weights.size > 0
    size, limit = kinds.size, slots.size >> 1
    room = min(nodes.size, edges.size)
    tags = (np.int64(1) << (32 - bits)) - 1
    inside = (np.int64(1) << bits) - 1
    count, used = np.int64(0), np.int64(0)
    last = np.int64(0)  # in the queue
    for gap in range(size + 1):
        if gap + _AHEAD < size:
            prefetch(table, first[gap + _AHEAD])
        base = count
        bases[gap] = heads[gap] = base
        others[base] = -1
        nodes[base].best = np.inf
        nodes[base].lift = 0
        nodes[base].into = base
        nodes[base].row = used
        places[base].state = 0
        places[base].next = base
        count += 1
        if gap == 0 or kinds[gap - 1] == NEWLINE:
            if count + 16 > room:
                return NO_ROOM
            count = _chain(states, arcs, here if gap == 0 else start, gap, base, count, nodes, places)
        else:
            label, number = np.int64(first[gap - 1]), np.int64(forms[gap - 1])
            if count + number > room:
                return NO_ROOM
            for k in range(number):
                form = table[label + k]
                nodes[count].best = np.inf
                place = places[count]
                place.state = form.state
                place.gap = gap
                place.back = base
                place.next = places[base].next
                places[base].next = count
                place.pos = form.pos
                place.narcs = form.narcs
                place.bow = form.bow
                count += 1
        if gap < size and kinds[gap] != NEWLINE:
            label, number = np.int64(first[gap]), np.int64(forms[gap])
            if used + number > room:
                return NO_ROOM
            h = hashed(label)
            for node in range(base + 1, count):
                nodes[node].into = base
                nodes[node].row = used
                nodes[node].lift = places[node].bow
                if places[node].pos < limit:
                    begin, span = 2 * np.int64(places[node].pos), 2 * np.int64(places[node].narcs)
                    slot = h * span >> 32
                    places[node].at = slot
                    prefetch(slots, begin + slot)
                else:
                    queue[last] = node
                    last += 1
            for k in range(number):
                edges[used].cost = table[label + k].cost
                if heavy:
                    edges[used].cost += weights[at_weights[gap] + k]
                edges[used].target = count + 1 + k
                used += 1
        else:
            for node in range(base + 1, count):
                nodes[node].into = node
                nodes[node].lift = 0
    bases[size + 1] = count

    # One word of context.
    asked = np.int64(0)
    for gap in range(size):
        if kinds[gap] == NEWLINE:
            continue
        tag = hashed(first[gap]) & tags
        for node in range(np.int64(bases[gap]) + 1, np.int64(bases[gap + 1])):
            place = places[node]
            if place.pos < limit and place.narcs > 1:
                begin, span = 2 * np.int64(place.pos), 2 * np.int64(place.narcs)
                slot = probe(slots, begin, span, np.int64(place.at), tag, bits)
                at = np.int64(slots[begin + slot]) & inside
                prefetch(arcs, place.pos + at)
                place.at = slot
                hits[asked] = node
                asked += 1 if at > 0 else 0
    for k in range(asked):
        place = places[hits[k]]
        label, number = np.int64(first[place.gap]), np.int64(forms[place.gap])
        pos, narcs = np.int64(place.pos), np.int64(place.narcs)
        at = pos + (np.int64(slots[2 * pos + place.at]) & inside)
        while at > pos and not label <= arcs[at].ilabel < label + number:  # another word of the same tag
            slot = np.int64(place.at) + 1
            slot = probe(slots, 2 * pos, 2 * narcs, slot if slot < 2 * narcs else 0, hashed(label) & tags, bits)
            place.at = slot
            at = pos + (np.int64(slots[2 * pos + slot]) & inside)
        place.at = at if at > pos else 0

    done = np.int64(0)
    while True:
        for k in range(asked):
            node = np.int64(hits[k])
            place = places[node]
            back = np.int64(place.back)
            nodes[node].into = nodes[back].into
            row = np.int64(nodes[back].row)
            nodes[node].row = row
            lift = nodes[back].lift + place.bow
            nodes[node].lift = lift
            at = np.int64(place.at)
            if at > 0:
                gap = np.int64(place.gap)
                label, number = np.int64(first[gap]), np.int64(forms[gap])
                if max(count, used, last) + number > room:
                    return NO_ROOM
                looks = 1 if gap + 1 < size and kinds[gap + 1] != NEWLINE else 0
                end = np.int64(place.pos) + np.int64(place.narcs)
                nodes[node].into = node
                nodes[node].lift = 0
                nodes[node].row = used
                others[node] = heads[gap]
                heads[gap] = node
                for form in range(number):
                    target = edges[row + form].target
                    if at < end and arcs[at].ilabel == label + form:
                        edges[used].cost = arcs[at].weight
                        if heavy:
                            edges[used].cost += weights[at_weights[gap] + form]
                        state = arcs[at].nextstate
                        shorter = target
                        if places[target].state != state:
                            before = np.int64(bases[gap + 1])
                            target = np.int64(places[before].next)
                            while places[target].state > state:
                                before = target
                                target = np.int64(places[target].next)
                            if places[target].state != state:
                                places[count].state = state
                                places[count].gap = gap + 1
                                places[count].back = shorter
                                places[count].next = target
                                places[before].next = count
                                nodes[count].best = np.inf
                                nodes[count].into = count  # until it is looked up
                                nodes[count].lift = 0
                                target = count
                                count += 1
                                prefetch(states, state)
                                queue[last] = target
                                last += looks
                        at += 1
                    else:
                        edges[used].cost = lift + edges[row + form].cost
                    edges[used].target = target
                    used += 1
        if done == last:
            break
        # Longer contexts, by their length.
        for k in range(done, last):
            place = places[queue[k]]
            state = np.int64(place.state)
            pos, narcs = np.int64(states[state].pos), np.int64(states[state].narcs)
            place.pos = pos
            place.narcs = narcs
            prefetch(arcs, pos)
            if narcs > STEP:
                prefetch(posts, np.int64(pos + narcs * table[first[place.gap]].share) // STEP)
            else:
                for line in range(pos + 4, pos + narcs, 4):
                    prefetch(arcs, line)
        for k in range(done, last):
            place = places[queue[k]]
            pos, narcs = np.int64(place.pos), np.int64(place.narcs)
            if narcs > STEP:
                low, high = (pos + STEP) // STEP, (pos + narcs + STEP - 1) // STEP
                label = np.int64(first[place.gap])
                guess = np.int64(pos + narcs * table[label].share) // STEP
                post = signpost(posts, low, high, guess, label)
                place.at = post
                for line in range((post - 1) * STEP, post * STEP, 4):
                    prefetch(arcs, line)
        asked = np.int64(0)
        for k in range(done, last):
            node = np.int64(queue[k])
            place = places[node]
            label, number = np.int64(first[place.gap]), np.int64(forms[place.gap])
            pos, narcs = np.int64(place.pos), np.int64(place.narcs)
            if places[place.back].state != arcs[pos].nextstate:
                return IRREGULAR
            place.bow = arcs[pos].weight
            at, end = pos + 1, pos + narcs
            if narcs > STEP:
                at = max(at, (np.int64(place.at) - 1) * STEP)
            while at < end and arcs[at].ilabel < label:
                at += 1
            place.at = at if at < end and arcs[at].ilabel < label + number else 0
            hits[asked] = node
            asked += 1
        done = last
    return count
