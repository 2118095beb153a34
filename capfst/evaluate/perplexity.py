"""What a model thinks of a text, in the numbers that KenLM's `query -v summary` prints.

In: states and arcs by the conventions of fst/write.py, and labels, each sentence its words and then a 0. Out: the
perplexity, and what goes into it.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.backoff import token_costs


class Perplexity(NamedTuple):
    """Of a text; `</s>` counts as a token, a word that the model does not know as one with the label of `<unk>`."""

    including_oov: float
    excluding_oov: float
    oov: int
    tokens: int


def perplexity(
    states: npt.NDArray, arcs: npt.NDArray, start: int, blocks: Iterable[npt.NDArray], unknown: int
) -> Perplexity:
    """The perplexity of labelled sentences, in blocks of whole ones (uint32[T]); `unknown` is the label of `<unk>`."""
    total = known = 0.0
    tokens = number = 0
    for labels in blocks:
        cost = token_costs(states, arcs, start, labels)
        oov = labels == unknown
        total += float(cost.sum())
        known += float(cost[~oov].sum())
        tokens += len(labels)
        number += int(np.count_nonzero(oov))
    return Perplexity(_exp(total, tokens), _exp(known, tokens - number), number, tokens)


def _exp(cost: float, tokens: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(cost / tokens)) if tokens else float("nan")
