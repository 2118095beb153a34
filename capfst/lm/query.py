"""LM, the capitalization language model: a backoff acceptor over surface forms, with exact failure semantics.

In: the states and arcs of a model, by the conventions of write.py. Out: what a label or `</s>` costs behind a state
(−ln P), and where it leads. A backoff arc is a failure arc: taken for what the state lacks, and only then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.fst.symbols import UNKNOWN
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import allocating, kernel
from capfst.kernels.types import F64Array, U32Array, f64, i64
from capfst.system.binary_search import lower_bound
from capfst.text.unicode import lower

SENTENCE_END = 0
"""In the place of a label: `</s>`, whose cost is a state's final weight."""


@kernel
def final_cost(states: StateArray, arcs: ArcArray, state: i64) -> f64:
    """The cost of `</s>` behind `state`."""
    cost = f64(0)
    while states[state].final == np.inf and state != 0:
        backoff = arcs[states[state].pos]
        cost += backoff.weight
        state = backoff.nextstate
    return cost + states[state].final


@kernel
def step(states: StateArray, arcs: ArcArray, state: i64, label: i64) -> tuple[f64, i64]:
    """The cost of a label, or of SENTENCE_END, behind `state`, and the state behind both."""
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
    """float64[T]: the cost of each of labels[T] in its sentence; each sentence ends with SENTENCE_END."""
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
    sentence: int  # that of a sentence inside a line


class LanguageModel:
    """A model, one arc at a time."""

    def __init__(self, model: CapFst) -> None:
        self.model = model
        self.unknown = self.label(UNKNOWN)

    def label(self, form: str) -> int:
        """The label of a surface form; that of `<unk>` if the model does not know it."""
        form = form.encode("utf-8", "replace").decode()  # no word of the model has a lone surrogate
        symbols, starts = self.model.symbols, self.model.starts
        for known in (form, UNKNOWN):
            for label in symbols.forms(lower(known, symbols.language.lowering), starts):
                if symbols[label] == known:
                    return label
        raise CapfstError(f"the model {self.model.path} has no {UNKNOWN}: train it again")

    def arc(self, state: int, label: int) -> tuple[float, int]:
        """The cost of `label` behind `state`, and the state behind both."""
        cost, after = step(self.model.states, self.model.arcs, state, label)
        return cost, after

    def final(self, state: int) -> float:
        """The cost of `</s>` behind `state`."""
        cost: float = final_cost(self.model.states, self.model.arcs, state)
        return cost
