"""Mixing: probabilities are the weighted sums, contexts sum to 1, tuned weights are optimal."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acceptors import Model, build, estimated, sum_to_one
from support.plain_kneser_ney import WORDS, corpora, grams_of, labels_of

from capfst.exceptions import OptionError
from capfst.lm.acceptor import compile_levels, decompile
from capfst.lm.arpa_read import Arpa
from capfst.lm.mix import mix, tune
from capfst.lm.query import token_costs

OTHERS = ["<unk>", *"abcxyz"]


def test_of(corpus: list[list[str]], order: int, limit: int | None, words: list[str] = WORDS) -> Arpa:
    return Arpa(words, estimated(labels_of(corpus), len(words), order, max_ngrams=limit))


test_of.__test__ = False  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=40)
@given(corpora, corpora, st.integers(1, 4), st.integers(1, 4), st.floats(0.05, 0.95), st.none() | st.integers(9, 50))
def test_weighted_sums(one: list, two: list, m: int, n: int, weight: float, limit: int | None) -> None:
    models = [test_of(one, m, limit), test_of(two, n, None)]
    words, levels = mix(models, (weight, 1 - weight))
    assert sorted(words) == sorted(WORDS)
    states, arcs, start = compile_levels(levels)
    sum_to_one(Model(states, arcs, start, []), len(words))
    both = [grams_of(model.levels) for model in models]

    def probability(k: int, gram: tuple[str, ...]) -> float:
        prob, gamma = both[k]
        return prob[gram] if gram in prob else gamma.get(gram[:-1], 1) * probability(k, gram[1:])

    for gram, p in grams_of(levels, words)[0].items():
        assert p == pytest.approx(weight * probability(0, gram) + (1 - weight) * probability(1, gram), rel=1e-5)


def test_words_of_only_one_model() -> None:
    one = test_of([list("abca")], 2, None)
    two = Arpa(OTHERS, estimated(np.array([2, 5, 6, 7, 0], np.uint32), len(OTHERS), 2))
    words, levels = mix([one, two], (0.5, 0.5))
    assert set(words) == {*WORDS, *OTHERS}
    states, arcs, start = compile_levels(levels)
    sum_to_one(Model(states, arcs, start, []), len(words))
    prob, _ = grams_of(levels, words)
    assert prob["x",] == pytest.approx(grams_of(two.levels, OTHERS)[0]["x",] / 2)


def test_a_model_without_weight_gives_no_words() -> None:
    """They would cost +inf, and with them each line in which they are."""
    one = test_of([list("abca")], 2, None)
    two = Arpa(OTHERS, estimated(np.array([2, 5, 6, 7, 0], np.uint32), len(OTHERS), 3))
    words, levels = mix([two, one], (0.0, 1.0))
    assert words == WORDS
    assert grams_of(levels, words)[0] == pytest.approx(grams_of(one.levels, WORDS)[0])


@pytest.mark.parametrize("weights", [(1.0,), (0.7, 0.7), (-0.1, 1.1), (math.nan, math.nan), (math.inf, 0.0)])
def test_invalid_weights(weights: tuple[float, ...]) -> None:
    model = test_of([list("ab")], 2, None)
    given = ",".join(map(str, weights))
    with pytest.raises(OptionError, match=rf"`weights` is {re.escape(given)}\. "):
        mix([model, model], weights)


def test_tuned_weights_are_the_best() -> None:
    rng = np.random.default_rng(3)
    costs = rng.exponential(2, (2, 500))
    best = tune(costs)
    assert best.sum() == pytest.approx(1)

    def cost(weight: float) -> float:
        return float(-np.log(weight * np.exp(-costs[0]) + (1 - weight) * np.exp(-costs[1])).sum())

    assert all(cost(best[0]) <= cost(w) + 1e-6 for w in np.linspace(0.01, 0.99, 99))


def test_tune_ignores_tokens_that_are_oov_in_all_models() -> None:
    inf = math.inf
    assert tune(np.array([[1.0, inf, inf], [inf, 1.0, inf]])) == pytest.approx([0.5, 0.5])
    assert tune(np.array([[1.0, inf], [inf, inf]])) == pytest.approx([1, 0], abs=1e-5)


@settings(deadline=None, max_examples=40)
@given(corpora, st.integers(1, 5), st.none() | st.integers(9, 60))
def test_decompile(corpus: list[list[str]], order: int, limit: int | None) -> None:
    model = build(labels_of(corpus), len(WORDS), order, max_ngrams=limit)
    states, arcs, start = compile_levels(decompile(model.states, model.arcs))
    assert start == model.start
    assert states.tobytes() == model.states.tobytes()
    assert arcs.tobytes() == model.arcs.tobytes()
    labels = labels_of(corpus)
    assert (
        token_costs(states, arcs, start, labels).tolist()
        == token_costs(model.states, model.arcs, model.start, labels).tolist()
    )
