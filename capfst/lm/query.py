"""Query LM, the capitalization language model: a backoff acceptor over surface forms, with exact failure semantics.

In: the states and arcs of a model, by the conventions of fst/write.py. Out: the cost (−ln P) of a label or of `</s>` in
a state, and the next state. A backoff arc is a failure arc: it is taken only for labels that the state lacks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.fst.symbols import UNKNOWN
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import allocating, kernel
from capfst.kernels.types import F64Array, U32Array, f64, i64
from capfst.system.binary_search import lower_bound
from capfst.text.unicode import lower

SENTENCE_END = 0
"""Pseudo label of `</s>`, whose cost is a state's final weight."""


@kernel
def final_cost(states: StateArray, arcs: ArcArray, state: i64) -> f64:
    """Return the cost of `</s>` in `state`."""
    cost = f64(0)
    while states[state].final == np.inf and state != 0:
        backoff = arcs[states[state].pos]
        cost += backoff.weight
        state = backoff.nextstate
    return cost + states[state].final


@kernel
def step(states: StateArray, arcs: ArcArray, state: i64, label: i64) -> tuple[f64, i64]:
    """Return the cost of a label, or of SENTENCE_END, in `state`, and the next state."""
    if label == SENTENCE_END:
        return final_cost(states, arcs, state), 0
    cost = f64(0)
    state, label = i64(state), i64(label)
    while state != 0:
        pos = i64(states[state].pos)
        end = pos + i64(states[state].narcs)
        arc = lower_bound(arcs["ilabel"], pos + 1, end, label)
        if arc < end and arcs[arc].ilabel == label:
            return cost + arcs[arc].weight, arcs[arc].nextstate
        cost += arcs[pos].weight
        state = i64(arcs[pos].nextstate)
    return cost + arcs[label - 1].weight, arcs[label - 1].nextstate


@allocating
def token_costs(states: StateArray, arcs: ArcArray, start: i64, labels: U32Array) -> F64Array:
    """Return float64[T]: the cost of each of labels[T] in its sentence; each sentence ends with SENTENCE_END."""
    costs = np.empty(len(labels))
    state = i64(start)
    for t in range(len(labels)):
        costs[t], state = step(states, arcs, state, labels[t])
        if labels[t] == SENTENCE_END:
            state = i64(start)
    return costs


class Starts(NamedTuple):
    """The states in which the words of a text begin."""

    line: int  # the first word of a line
    sentence: int  # the first word of a sentence inside a line


class LanguageModel:
    """A model, queried from Python one arc at a time."""

    def __init__(self, model: CapFst) -> None:
        self.model = model
        self.unknown = self.label(UNKNOWN)

    def label(self, form: str) -> int:
        """Return the label of a surface form; that of `<unk>` if the form is OOV."""
        form = form.encode("utf-8", "replace").decode()  # a lone surrogate is in no word of the model
        symbols, starts = self.model.symbols, self.model.starts
        for known in (form, UNKNOWN):
            for label in symbols.forms(lower(known, symbols.language.lowering), starts):
                if symbols[label] == known:
                    return label
        raise ModelError(f"{self.model.path}: the model has no {UNKNOWN}. Train it again.")

    def arc(self, state: int, label: int) -> tuple[float, int]:
        """Return the cost of `label` in `state`, and the next state."""
        cost, after = step(self.model.states, self.model.arcs, state, label)
        return cost, after

    def final(self, state: int) -> float:
        """Return the cost of `</s>` in `state`."""
        cost: float = final_cost(self.model.states, self.model.arcs, state)
        return cost

    def backoffs(self, state: int, label: int) -> int:
        """Return how many backoffs `arc` takes."""
        states, arcs, n = self.model.states, self.model.arcs, 0
        while state != 0:
            pos = int(states["pos"][state])
            labels = arcs["ilabel"][pos + 1 : pos + int(states["narcs"][state])]
            if label in labels[np.searchsorted(labels, label) :][:1]:
                break
            state, n = int(arcs["nextstate"][pos]), n + 1
        return n

    def context(self, state: int) -> int:
        """Return the number of words of context in a state."""
        n = 0
        while state != 0:
            state = int(self.model.arcs["nextstate"][self.model.states["pos"][state]])
            n += 1
        return n
