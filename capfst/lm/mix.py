"""Mix models into one backoff model: P(w|h) is the weighted sum of the models' P(w|h).

In: models (levels.py), each with its own words, and their weights; or the costs of a development text under each, from
which the weights are tuned. Out: one model with the n-grams of all. Order: union of the n-grams; their probability in
each model, if necessary by backing off; weighted sum; backoff weights so that probabilities sum to 1.

A word that a model lacks has the probability 0 in it. A model of the weight 0 is left out: its words would cost +inf.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capfst.exceptions import OptionError, quantity
from capfst.lm.arpa_read import Arpa
from capfst.lm.levels import Level, NgramTable, cost, empty_table, link, normalize, united
from capfst.text.unicode import LOWERING, Lowering, lower_bytes

_ROUNDS = 200
"""The maximal number of iterations of EM."""


def mix(models: Sequence[Arpa], weights: Sequence[float], lowering: Lowering = LOWERING) -> Arpa:
    """Return the mixture of models with these weights, which must sum to 1.

    Raises:
        OptionError: the number of weights is not the number of models, a weight is negative, or the sum is not 1.
    """
    is_negative = any(math.copysign(1, weight) < 0 for weight in weights)  # -0, too, is hardly what was meant
    if len(weights) != len(models) or is_negative or not abs(sum(weights) - 1) <= 1e-6:  # or NaN
        given = ",".join(map(str, weights))
        raise OptionError(
            f"`weights` is {given}. Use {quantity(len(models), 'number')}, one per model, with a sum of 1, such as"
            " 0.7,0.3."
        )
    models, weights = zip(*((model, w) for model, w in zip(models, weights, strict=True) if w > 0), strict=True)
    unigram: dict[str, float] = {}
    for (words, levels), weight in zip(models, weights, strict=True):
        for word, p in zip(words, weight * np.exp(-levels[0].cost[1:]), strict=True):
            unigram[word] = unigram.get(word, 0.0) + p
    union = sorted(unigram, reverse=True)  # lowercase first among equally likely forms
    union.sort(key=lambda word: (lower_bytes(word.encode(), lowering), -unigram[word]))
    label = {word: i for i, word in enumerate(union, 1)}
    tables = [_tables(levels, np.array([0, *map(label.__getitem__, words)], np.uint32)) for words, levels in models]
    orders = itertools.zip_longest(*tables)
    merged = [united([own or empty_table(n) for own in of_order]) for n, of_order in enumerate(orders, 1)]
    for own in merged[0]:
        own.cost[np.isnan(own.cost)] = np.inf
    whole = [link(list(own)) for own in zip(*merged, strict=True)]
    levels = whole[0]
    for n, level in enumerate(levels):
        level.cost = cost(sum(w * np.exp(-own[n].cost) for w, own in zip(weights, whole, strict=True)))
        level.backoff = np.zeros(len(level))
    for shorter, level in itertools.pairwise(levels):
        normalize(shorter, level)
    return Arpa(union, levels)


def tune(costs: npt.NDArray) -> npt.NDArray:
    """Return float64[k], the weights under which a text is most likely, by EM; costs: float64[k, T], −ln P of each
    token.

    Tokens that are OOV in all models (infinite costs) are ignored.
    """
    with np.errstate(invalid="ignore"):
        likelihood = np.nan_to_num(np.exp(costs.min(axis=0) - costs))  # relative to the best model's
    likelihood = likelihood[:, likelihood.any(axis=0)]
    weights = np.full(len(costs), 1 / len(costs))
    for _ in range(_ROUNDS):
        joint = weights[:, None] * likelihood
        updated = (joint / joint.sum(axis=0)).mean(axis=1) if joint.size else weights
        if np.abs(updated - weights).max() < 1e-7:
            break
        weights = updated
    return weights


def _tables(levels: list[Level], label: npt.NDArray) -> list[NgramTable]:
    """Return the n-grams of a model, per order, as rows of the union's labels; label[l] is the union's label of l."""
    words = label[: len(levels[0]), None]
    tables = [NgramTable(words, levels[0].cost, levels[0].backoff)]
    for level in levels[1:]:
        words = np.hstack([words[level.prefix], label[level.word][:, None]])
        tables.append(NgramTable(words, level.cost, level.backoff))
    return tables
