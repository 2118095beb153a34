"""What a model thinks of a text, in the numbers that KenLM's `query -v summary` prints.

In: states and arcs by the conventions of fst.py, and labels, each sentence its words and then a 0. Out: the
perplexity, and what goes into it. A backoff arc is taken for what a state lacks, and only then.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt


class Perplexity(NamedTuple):
    """Of a text; `</s>` counts as a token, a word that the model does not know as one with the label of `<unk>`."""

    including_oov: float
    excluding_oov: float
    oov: int
    tokens: int


@nb.njit(cache=True, nogil=True)
def find(arcs: npt.NDArray, begin: int, end: int, label: int) -> int:
    """The arc with this label among arcs[begin:end], sorted by label; where it would be if there is none."""
    while begin < end:
        middle = (begin + end) // 2
        if arcs[middle].ilabel < label:
            begin = middle + 1
        else:
            end = middle
    return begin


@nb.njit(cache=True, nogil=True)
def step(states: npt.NDArray, arcs: npt.NDArray, state: int, label: int) -> tuple[float, int]:
    """-ln P(label) behind `state`, and the state behind both. Label 0 is </s>, which leads to the root."""
    cost = 0.0
    while True:
        here = states[state]
        if label == 0:
            if state == 0 or here.final != np.inf:
                return cost + here.final, 0
        elif state == 0:
            arc = arcs[np.int64(here.pos) + label - 1]
            return cost + arc.weight, arc.nextstate
        else:
            begin, end = np.int64(here.pos) + 1, np.int64(here.pos) + np.int64(here.narcs)
            at = find(arcs, begin, end, label)
            if at < end and arcs[at].ilabel == label:
                return cost + arcs[at].weight, arcs[at].nextstate
        cost += arcs[here.pos].weight
        state = arcs[here.pos].nextstate


@nb.njit(cache=True, nogil=True)
def costs(states: npt.NDArray, arcs: npt.NDArray, start: int, labels: npt.NDArray) -> npt.NDArray:
    """float64[T], -ln P of each label (0: `</s>`) in its sentence."""
    found = np.empty(len(labels))
    state = start
    for t in range(len(labels)):
        found[t], state = step(states, arcs, state, np.int64(labels[t]))
        if labels[t] == 0:
            state = start
    return found


def perplexity(
    states: npt.NDArray, arcs: npt.NDArray, start: int, blocks: Iterable[npt.NDArray], unknown: int
) -> Perplexity:
    """The perplexity of labelled sentences, in blocks of whole ones (uint32[T]); `unknown` is the label of `<unk>`."""
    total = known = 0.0
    tokens = number = 0
    for labels in blocks:
        cost = costs(states, arcs, start, labels)
        oov = labels == unknown
        total += float(cost.sum())
        known += float(cost[~oov].sum())
        tokens += len(labels)
        number += int(np.count_nonzero(oov))
    return Perplexity(_exp(total, tokens), _exp(known, tokens - number), number, tokens)


def _exp(cost: float, tokens: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(cost / tokens)) if tokens else float("nan")
