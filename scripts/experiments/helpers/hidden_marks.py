"""Marks between words as hidden events of an n-gram LM (Stolcke & Shriberg 1996; Gravano, Jansche & Bacchiani 2009).

In: an LM of text in which marks are words, and words without marks. Out: P, float32[n, 4], the probability of each mark
after each word, over all ways to insert marks (the forward–backward algorithm).

Hypotheses end in different states of the LM. At each word, those whose probability is e^BEAM times less than the best
one's are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import inner, kernel
from capfst.kernels.types import F32Matrix, F64Array, F64Matrix, I32Matrix, I64Array, U32Array, f64, i64
from capfst.lm.query import step

N_MARKS = 4
BEAM = 6.0
_WIDTH = 48  # hypotheses per word
_BLOCK = 5_000  # words between which no hypothesis is handed over


class Lattice(NamedTuple):
    """Layer t has the hypotheses before word t of a block; the links of t lead to layer t + 1."""

    counts: I64Array  # hypotheses per layer
    states: I32Matrix
    forward: F64Matrix  # −ln of the probability of all paths from the start
    backward: F64Matrix  # … and of those to the end
    links: I64Array  # links per layer
    sources: I32Matrix
    targets: I32Matrix
    marks: I32Matrix
    costs: F64Matrix


def _lattice(size: int) -> Lattice:
    states, sources, targets, marks = (np.empty((size + 1, n), np.int32) for n in (_WIDTH, *[_WIDTH * N_MARKS] * 3))
    forward, backward, costs = (np.empty((size + 1, n)) for n in (_WIDTH, _WIDTH, _WIDTH * N_MARKS))
    counts, links = np.zeros((2, size + 1), np.int64)
    return Lattice(counts, states, forward, backward, links, sources, targets, marks, costs)


@inner
def _add(x: f64, y: f64) -> f64:
    """Return −ln(e^−x + e^−y)."""
    return min(x, y) - np.log1p(np.exp(-abs(x - y)))


@inner
def _extend(lattice: Lattice, states: StateArray, arcs: ArcArray, t: i64, word: i64, labels: U32Array) -> None:
    """Build layer t + 1: each hypothesis reads no mark or one of labels[1:], then the word."""
    best = np.inf
    for j in range(lattice.counts[t]):
        best = min(best, lattice.forward[t, j])
    n, links = 0, 0
    for j in range(lattice.counts[t]):
        for mark in range(N_MARKS if t > 0 else 1):
            state, cost = i64(lattice.states[t, j]), f64(0)
            if mark > 0:
                cost, state = step(states, arcs, state, labels[mark])
            if lattice.forward[t, j] + cost > best + BEAM:
                continue
            of_word, state = step(states, arcs, state, word)
            cost += of_word
            target = 0
            while target < n and lattice.states[t + 1, target] != state:
                target += 1
            if target == _WIDTH:
                continue
            if target == n:
                n += 1
                lattice.states[t + 1, target] = state
                lattice.forward[t + 1, target] = lattice.forward[t, j] + cost
            else:
                known = lattice.forward[t + 1, target]
                lattice.forward[t + 1, target] = _add(known, lattice.forward[t, j] + cost)
            lattice.sources[t, links], lattice.targets[t, links] = j, target
            lattice.marks[t, links], lattice.costs[t, links] = mark, cost
            links += 1
    lattice.counts[t + 1], lattice.links[t] = n, links


@inner
def _sum_up(lattice: Lattice, t: i64, p: F64Array) -> None:
    """Fill the backward costs of layer t, and p with the probability of each mark before word t."""
    for j in range(lattice.counts[t]):
        lattice.backward[t, j] = np.inf
    for k in range(lattice.links[t]):
        source = i64(lattice.sources[t, k])
        cost = lattice.costs[t, k] + lattice.backward[t + 1, lattice.targets[t, k]]
        known = lattice.backward[t, source]
        lattice.backward[t, source] = cost if known == np.inf else _add(known, cost)
    whole = np.inf
    for j in range(lattice.counts[t]):
        whole = min(whole, lattice.forward[t, j] + lattice.backward[t, j])
    for mark in range(N_MARKS):
        p[mark] = 0
    for k in range(lattice.links[t]):
        cost = lattice.costs[t, k] + lattice.backward[t + 1, lattice.targets[t, k]]
        p[lattice.marks[t, k]] += np.exp(whole - lattice.forward[t, lattice.sources[t, k]] - cost)


@kernel
def _fill(
    states: StateArray,
    arcs: ArcArray,
    start: i64,
    words: U32Array,
    labels: U32Array,
    lattice: Lattice,
    sums: F64Array,
    p: F32Matrix,
) -> None:
    size = len(lattice.counts) - 1
    for begin in range(0, len(words), size):
        n = min(size, len(words) - begin)
        lattice.counts[0], lattice.states[0, 0], lattice.forward[0, 0] = 1, start, 0
        for t in range(n):
            _extend(lattice, states, arcs, t, words[begin + t], labels)
        for j in range(lattice.counts[n]):
            lattice.backward[n, j] = 0
        for t in range(n - 1, 0, -1):
            _sum_up(lattice, t, sums)
            total = sums[0] + sums[1] + sums[2] + sums[3]
            for mark in range(N_MARKS):
                p[begin + t - 1, mark] = sums[mark] / total
        for mark in range(N_MARKS):
            p[begin + n - 1, mark] = mark == 2  # a block ends with a period


def hidden_marks(states: StateArray, arcs: ArcArray, start: int, words: U32Array, labels: U32Array) -> F32Matrix:
    """Return the probabilities of the marks after words. labels: of the marks in the LM, from the second item on."""
    p = np.empty((len(words), N_MARKS), np.float32)
    _fill(states, arcs, start, words, labels, _lattice(_BLOCK), np.empty(N_MARKS), p)
    return p
