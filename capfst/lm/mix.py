"""Mix models into one backoff model: P(w|h) is the weighted sum of the models' P(w|h).

In: models (levels.py), each with its own words, and their weights; or the costs of a development text under each, from
which the weights are tuned. Out: one model with the n-grams of all. Order: union of the n-grams; their probability in
each model, if necessary by backing off; weighted sum; backoff weights so that probabilities sum to 1.

A word that a model lacks has the probability 0 in it.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capfst.exceptions import OptionError, quantity
from capfst.lm.arpa_read import Arpa
from capfst.lm.levels import Level, NgramTable, link, normalize, suffix_order
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
    unigram: dict[str, float] = {}
    for (words, levels), weight in zip(models, weights, strict=True):
        for word, p in zip(words, weight * np.exp(-levels[0].cost[1:]), strict=True):
            unigram[word] = unigram.get(word, 0.0) + p
    union = sorted(unigram, reverse=True)  # lowercase first among equally likely forms
    union.sort(key=lambda word: (lower_bytes(word.encode(), lowering), -unigram[word]))
    label = {word: i for i, word in enumerate(union, 1)}
    tables = [_tables(levels, np.array([0, *map(label.__getitem__, words)], np.uint32)) for words, levels in models]
    order = max(map(len, tables))
    merged = [_unigrams([own[0] for own in tables], len(union) + 1)]
    merged += [_merge([own[n] if n < len(own) else _no_ngrams(n + 1) for own in tables]) for n in range(1, order)]
    whole = [link(list(own)) for own in zip(*merged, strict=True)]
    levels = whole[0]
    for n, level in enumerate(levels):
        with np.errstate(divide="ignore"):
            level.cost = -np.log(sum(w * np.exp(-own[n].cost) for w, own in zip(weights, whole, strict=True)))
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


def _no_ngrams(order: int) -> NgramTable:
    return NgramTable(np.empty((0, order), np.uint32), np.empty(0), np.empty(0))


def _unigrams(models: list[NgramTable], number: int) -> list[NgramTable]:
    """Return order 1 of each model, over the union's `number` labels."""
    tables = []
    for own in models:
        cost, backoff = np.full(number, np.inf), np.zeros(number)
        cost[own.words[:, 0]], backoff[own.words[:, 0]] = own.cost, own.backoff
        tables.append(NgramTable(np.arange(number, dtype=np.uint32)[:, None], cost, backoff))
    return tables


def _merge(models: list[NgramTable]) -> list[NgramTable]:
    """Return the n-grams of all models, once per model with its costs: NaN where it lacks the n-gram."""
    words = np.concatenate([own.words for own in models])
    order = suffix_order(words)
    words = words[order]
    first = np.flatnonzero(np.append(np.ones(min(1, len(words)), bool), (words[1:] != words[:-1]).any(axis=1)))
    ends = np.cumsum([len(own) for own in models])
    tables = []
    for own, end in zip(models, ends, strict=True):
        cost, backoff = np.full(len(order), np.nan), np.zeros(len(order))
        cost[end - len(own) : end], backoff[end - len(own) : end] = own.cost, own.backoff
        merged_cost, merged_backoff = np.fmin.reduceat(cost[order], first), np.add.reduceat(backoff[order], first)
        tables.append(NgramTable(words[first], merged_cost, merged_backoff))
    return tables
