"""More than the best path: the n best casings of a line, and what each form of each word costs at best.

In: the words of one line, with the labels of their forms, and the model. Out: the costs and labels of the n cheapest
paths; or for each form of each word the cost of the cheapest path through it (the max-marginals).

The lattice is that of `lattice.py`, of the whole line. `advance` (viterbi.py) goes through it forwards; `ways` goes
backwards and gives each node its n cheapest ways to the end of the line. As each casing is one path, no two of them are
alike. All of it is exact, and equal costs stand in the order of the labels.
"""

from __future__ import annotations

import numpy as np

from capfst.fst.backoff import final_cost
from capfst.search.lattice import EDGE, NO_ROOM, NODE, PLACE, compose
from capfst.search.viterbi import advance, begin, candidates
from capfst.system.kernels import allocating, kernel


@allocating
def lattice(kinds, first, forms, offsets, weights, unknown, start, states, arcs, table, slots, posts, bits):  # type: ignore[no-untyped-def]
    """The lattice of a line: (number of nodes, `compose`'s error if negative; numbers of forms; and what `compose`
    makes: bases, heads, nodes, places, edges, others)."""
    size = kinds.size
    room = 16 * size + 256
    bases, heads = np.empty(size + 2, np.int32), np.empty(size + 2, np.int32)
    labels, numbers, at = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.int64)
    candidates(first, forms, offsets, weights.size - 1, unknown, labels, numbers, at)
    while True:
        queue, hits, others = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
        nodes, places, edges = np.empty(room, NODE), np.empty(room, PLACE), np.empty(room, EDGE)
        count = compose(
            kinds, labels, numbers, at, weights, start, start,
            states, arcs, table, slots, posts, bits, bases, heads, queue, hits, nodes, places, edges, others,
        )  # fmt: skip
        if count != NO_ROOM:
            return count, numbers, bases, heads, nodes, places, edges, others
        room *= 2


@kernel
def _merge(nodes, edges, node, number, costs, forms, ranks, taken):  # type: ignore[no-untyped-def]
    """The cheapest ways from a node that has a row: those of its targets, each list of which is sorted, merged."""
    row = np.int64(nodes[node].row)
    for k in range(number):
        taken[k] = 0
    for rank in range(costs.shape[1]):
        least, best = np.inf, np.int64(0)
        for k in range(number):
            if taken[k] < costs.shape[1]:
                cost = edges[row + k].cost + costs[np.int64(edges[row + k].target), taken[k]]
                if cost < least:
                    least, best = cost, k
        costs[node, rank], forms[node, rank], ranks[node, rank] = least, best, taken[best]
        taken[best] += 1


@kernel
def ways(states, arcs, numbers, bases, nodes, places, edges, costs, forms, ranks, taken):  # type: ignore[no-untyped-def]
    """Fills in each node's cheapest ways to the end of the line, as many as costs[node] has room for, +inf where there
    are no more: what they cost, the form that they begin with, and which of the ways from there they go on."""
    for gap in range(numbers.size, -1, -1):
        base = np.int64(bases[gap])
        node = base
        while True:  # those with a row first
            if gap == numbers.size:
                costs[node, 0] = final_cost(states, arcs, places[node].state)
                costs[node, 1:] = np.inf
            elif nodes[node].into == node:
                _merge(nodes, edges, node, np.int64(numbers[gap]), costs, forms, ranks, taken)
            node = np.int64(places[node].next)
            if node == base:
                break
        node = np.int64(places[base].next)
        while gap < numbers.size and node != base:
            into = np.int64(nodes[node].into)
            if into != node:
                for rank in range(costs.shape[1]):
                    costs[node, rank] = nodes[node].lift + costs[into, rank]
                    forms[node, rank], ranks[node, rank] = forms[into, rank], ranks[into, rank]
            node = np.int64(places[node].next)


@allocating
def best_paths(first, known, states, arcs, count, numbers, bases, heads, nodes, places, edges, others, n):  # type: ignore[no-untyped-def]
    """(costs float64[m], labels uint32[m, words]) of the m ≤ n cheapest paths, +inf being no cost of any; OOV words
    have the label 0."""
    costs = np.empty((count, n))
    forms, ranks = np.empty((count, n), np.int32), np.empty((count, n), np.int32)
    most = np.int64(1)
    for number in numbers:
        most = max(most, np.int64(number))
    ways(states, arcs, numbers, bases, nodes, places, edges, costs, forms, ranks, np.empty(most, np.int64))
    start = np.int64(places[bases[0]].next)
    found = 0
    while found < n and costs[start, found] < np.inf:
        found += 1
    choice = np.zeros((found, numbers.size), np.uint32)
    for path in range(found):
        node, rank = start, np.int64(path)
        for word in range(numbers.size):
            form, rank_there = np.int64(forms[node, rank]), np.int64(ranks[node, rank])
            if known[word] > 0:
                choice[path, word] = first[word] + form
            node, rank = np.int64(edges[nodes[node].row + form].target), rank_there
    return costs[start, :found].copy(), choice


@allocating
def through(known, states, arcs, count, numbers, bases, heads, nodes, places, edges, others, least):  # type: ignore[no-untyped-def]
    """Fills in the cost of the cheapest path through each form of each word that is not OOV, in the words' order."""
    costs = np.empty((count, 1))
    forms, ranks = np.empty((count, 1), np.int32), np.empty((count, 1), np.int32)
    most = np.int64(1)
    for number in numbers:
        most = max(most, np.int64(number))
    ways(states, arcs, numbers, bases, nodes, places, edges, costs, forms, ranks, np.empty(most, np.int64))
    begin(places, nodes, np.int64(bases[0]), 0.0)
    least[:] = np.inf
    at = np.int64(0)
    for word in range(numbers.size):
        node, number = np.int64(heads[word]), np.int64(numbers[word])
        advance(nodes, edges, others, node, number)
        if known[word] == 0:
            continue
        while node >= 0:
            row = np.int64(nodes[node].row)
            for k in range(number):
                cost = nodes[node].best + edges[row + k].cost + costs[np.int64(edges[row + k].target), 0]
                least[at + k] = min(least[at + k], cost)
            node = np.int64(others[node])
        at += number
