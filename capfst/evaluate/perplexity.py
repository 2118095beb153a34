"""Compute the perplexity of a text under a model, with and without OOV words, as KenLM's `query -v summary` does.

In: the states and arcs of an LM in the layout of `fst/write.py`, and labels: each sentence's words, then 0 for `</s>`.
Out: exp of the mean cost (−ln P) per token.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CorpusError
from capfst.lm.query import token_costs


class Perplexity(NamedTuple):
    """Perplexities of a text. `</s>` counts as a token, an OOV word as `<unk>`."""

    including_oov: float
    excluding_oov: float
    oov: int
    tokens: int


def perplexity(
    states: npt.NDArray, arcs: npt.NDArray, start: int, blocks: Iterable[npt.NDArray], unknown: int
) -> Perplexity:
    """Compute the perplexity of labels, in blocks of whole sentences, uint32[T] each.

    unknown: the label of `<unk>`.

    Raises:
        CorpusError: there are no labels.
    """
    total_cost = known_cost = 0.0
    tokens = n_oov = 0
    for labels in blocks:
        cost = token_costs(states, arcs, start, labels)
        oov = labels == unknown
        total_cost += float(cost.sum())
        known_cost += float(cost[~oov].sum())
        tokens += len(labels)
        n_oov += int(np.count_nonzero(oov))
    if not tokens:
        raise CorpusError("the text is empty, so it has no perplexity. Give cased text with words.")
    return Perplexity(_exp_mean(total_cost, tokens), _exp_mean(known_cost, tokens - n_oov), n_oov, tokens)


def _exp_mean(cost: float, tokens: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(cost / tokens))
