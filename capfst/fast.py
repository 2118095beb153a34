"""The engine `fast`: bestpath(S ∘ T ∘ LM) by lazy composition over the mapped arcs.

In: the words of a buffer with the labels of their surface forms (transducer.py), and the model. Out: for each word
the label that the best path gives it. An exact Viterbi search, left to right: a hypothesis is the LM state behind a
casing of the words so far; hypotheses in the same state are recombined. Same paths and costs as `openfst.py`, without
building an FST.

A backoff arc is a failure arc: taken for the words that the state lacks. As the forms of a word are neighbours in
every state, one search per state and backoff level finds all of them; what was found is kept in a memo of recent
(state, word) pairs.

Costs are −ln P, added in double precision. Ties go to the more frequent form of the first word in which paths differ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.lm import LanguageModel
from capfst.tokenize import NEWLINE
from capfst.transducer import Words

_GROUP = 4  # forms in one entry of the memo
_LINE = 8  # uint64 in one entry: the key, 4 costs, 4 states (two in one), one spare; 64 bytes are a cache line
_MEMO = 1 << 16
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def lower_bound(labels, low, high, label):  # type: ignore[no-untyped-def]
    """The first arc in labels[low:high, 0], sorted, with `label` or a higher one."""
    size = high - low
    while size > 0:
        half = size >> 1
        if labels[low + half, 0] < label:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low


@njit(cache=True, nogil=True)
def resolve(states, labels, weights, state, first, forms, costs, nexts):  # type: ignore[no-untyped-def]
    """costs[k], nexts[k] of the labels first + k (k < forms ≤ 4) behind `state`, backoffs taken where needed."""
    missing = (1 << forms) - 1
    cost = 0.0
    while state != 0:
        pos = np.int64(states[state].pos)
        end = pos + np.int64(states[state].narcs)
        at = lower_bound(labels, pos + 1, end, first)
        while at < end and labels[at, 0] < first + forms:
            k = labels[at, 0] - first
            if missing >> k & 1:
                costs[k] = cost + np.float64(weights[at, 2])
                nexts[k] = labels[at, 3]
                missing &= ~(1 << k)
            at += 1
        if missing == 0:
            return
        cost += np.float64(weights[pos, 2])
        state = labels[pos, 3]
    for k in range(forms):
        if missing >> k & 1:
            at = first + k - 1
            costs[k] = cost + np.float64(weights[at, 2])
            nexts[k] = labels[at, 3]


@njit(cache=True, nogil=True)
def final_cost(states, labels, weights, state):  # type: ignore[no-untyped-def]
    """The cost of `</s>` behind `state`."""
    cost = 0.0
    while states[state].final == np.inf and state != 0:
        pos = states[state].pos
        cost += np.float64(weights[pos, 2])
        state = labels[pos, 3]
    return cost + np.float64(states[state].final)


@njit(cache=True, nogil=True)
def _precedes(previous, chosen, a, a_label, b, b_label):  # type: ignore[no-untyped-def]
    """Whether the path to node a and on with a_label has, in the first word where they differ, a lower label than b's
    path."""
    less = a_label < b_label
    while a != b:
        if chosen[a] != chosen[b]:
            less = chosen[a] < chosen[b]
        a, b = previous[a], previous[b]
    return less


@njit(cache=True, nogil=True)
def _grown(array, size):  # type: ignore[no-untyped-def]
    larger = np.empty(size, array.dtype)
    larger[: array.size] = array
    return larger


@njit(cache=True, nogil=True)
def search(kinds, first, forms, states, labels, weights, start, unknown, memo, memo_costs, choice):  # type: ignore[no-untyped-def]
    """Fills choice[i] with the label of word i on its line's best path; 0 for OOV words and line ends.

    Each line starts in the state `start`. An OOV word has the label `unknown` in the LM and passes through.
    """
    mask = np.uint64(memo.shape[0] - 1)
    costs = np.empty(_GROUP, np.float64)
    nexts = np.empty(_GROUP, np.int32)
    # The paths of a line: node → node before and label. Node 0 is the line's start.
    previous = np.empty(1 << 12, np.int32)
    chosen = np.empty(1 << 12, np.uint32)
    # Hypotheses: cost, state, node; the present ones in row `now`.
    width = 64
    h_cost = np.empty((2, width), np.float64)
    h_state = np.empty((2, width), np.int32)
    h_node = np.empty((2, width), np.int32)

    n = kinds.size
    i = 0
    while i < n:
        begin = i
        now = 0
        live = 1
        h_cost[0, 0], h_state[0, 0], h_node[0, 0] = 0.0, start, 0
        previous[0], chosen[0] = -1, 0
        nodes = 1
        settled = i  # the choice is made for the words before
        while i < n and kinds[i] != NEWLINE:
            low, count = np.int64(first[i]), np.int64(forms[i])
            if count == 0:
                low, count = unknown, 1
            after = 1 - now
            if live * count > h_cost.shape[1]:
                width = 2 * live * count
                for_cost, for_state, for_node = h_cost, h_state, h_node
                h_cost = np.empty((2, width), np.float64)
                h_state = np.empty((2, width), np.int32)
                h_node = np.empty((2, width), np.int32)
                h_cost[now, :live] = for_cost[now, :live]
                h_state[now, :live] = for_state[now, :live]
                h_node[now, :live] = for_node[now, :live]
            if nodes + live * count > previous.size:
                previous = _grown(previous, 2 * (nodes + live * count))
                chosen = _grown(chosen, previous.size)
            fresh = nodes  # nodes of this word start here; node fresh + k belongs to hypothesis k
            found = 0
            for h in range(live):
                state, cost, node = h_state[now, h], h_cost[now, h], h_node[now, h]
                for group in range(0, count, _GROUP):
                    label = low + group
                    size = min(count - group, _GROUP)
                    key = np.uint64(state) << np.uint64(32) | np.uint64(label)
                    slot = np.int64((key * _PRIME) >> np.uint64(40) & mask)
                    if memo[slot, 0] != key:
                        resolve(states, labels, weights, state, label, size, costs, nexts)
                        memo[slot, 0] = key
                        for k in range(size):
                            memo_costs[slot, 1 + k] = costs[k]
                            memo[slot, 5 + (k >> 1)] = (
                                memo[slot, 5 + (k >> 1)] & ~(np.uint64(0xFFFFFFFF) << np.uint64(32 * (k & 1)))
                            ) | np.uint64(nexts[k]) << np.uint64(32 * (k & 1))
                    for k in range(size):
                        new_cost = cost + memo_costs[slot, 1 + k]
                        new_state = np.int32(
                            memo[slot, 5 + (k >> 1)] >> np.uint64(32 * (k & 1)) & np.uint64(0xFFFFFFFF)
                        )
                        at = 0
                        while at < found and h_state[after, at] != new_state:
                            at += 1
                        if at == found:
                            found += 1
                        elif not (
                            new_cost < h_cost[after, at]
                            or (
                                new_cost == h_cost[after, at]
                                and _precedes(
                                    previous,
                                    chosen,
                                    node,
                                    label + k,
                                    previous[fresh + at],
                                    chosen[fresh + at],
                                )
                            )
                        ):
                            continue
                        h_cost[after, at], h_state[after, at], h_node[after, at] = (
                            new_cost,
                            new_state,
                            fresh + at,
                        )
                        previous[fresh + at], chosen[fresh + at] = node, label + k
            nodes = fresh + found
            now, live = after, found
            i += 1
            if live == 1 and h_cost[now, 0] < np.inf:
                # All paths agree on the words so far.
                node = h_node[now, 0]
                for j in range(i - 1, settled - 1, -1):
                    choice[j] = chosen[node] if forms[j] else 0
                    node = previous[node]
                settled = i
                h_node[now, 0] = 0
                nodes = 1
        best = 0
        best_cost = h_cost[now, 0] + final_cost(states, labels, weights, h_state[now, 0])
        for h in range(1, live):
            cost = h_cost[now, h] + final_cost(states, labels, weights, h_state[now, h])
            if cost < best_cost or (
                cost == best_cost and _precedes(previous, chosen, h_node[now, h], 0, h_node[now, best], 0)
            ):
                best, best_cost = h, cost
        if best_cost == np.inf:
            for j in range(begin, i):
                choice[j] = first[j] if forms[j] else 0
        else:
            node = h_node[now, best]
            for j in range(i - 1, settled - 1, -1):
                choice[j] = chosen[node] if forms[j] else 0
                node = previous[node]
        if i < n:
            choice[i] = 0
            i += 1


class Engine:
    """The best paths of whole texts; each line starts in the LM state `start`. Not to be shared by threads: it keeps
    a memo."""

    def __init__(self, lm: LanguageModel, start: int) -> None:
        self.start = start
        self.unknown = lm.unknown
        self.states = lm.model.states
        self.labels = lm.model.arcs.view(np.int32).reshape(-1, 4)
        self.weights = lm.model.arcs.view(np.float32).reshape(-1, 4)
        self.memo = np.full((_MEMO, _LINE), ~np.uint64(0))  # no state and word have this key

    def best(self, words: Words) -> npt.NDArray[np.uint32]:
        """The label of each word on its line's best path; 0 for OOV words and line ends."""
        choice = np.empty(len(words.kinds), np.uint32)
        search(
            words.kinds, words.first, words.forms, self.states, self.labels, self.weights, self.start, self.unknown,
            self.memo, self.memo.view(np.float64), choice,
        )  # fmt: skip
        return choice
