"""Entropy pruning: the remaining n-grams are the best ones, and a complete model that sums to 1."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.acceptors import build, check_conventions, estimated, random_labels, sum_to_one
from support.plain_kneser_ney import WORDS, corpora, discounts_of, grams_of, kneser_ney, labels_of, raw_counts

from capfst.evaluate.perplexity import perplexity
from capfst.lm import count as counting
from capfst.lm.acceptor import compile_levels
from capfst.lm.levels import Level, normalize
from capfst.lm.prune import Pruner, _spread_context_size


def scores_of(
    corpus: list[list[str]], order: int, ambiguity: dict[str, float] | None = None
) -> dict[tuple[str, ...], float]:
    """Reference implementation: the relative entropy between the model and the model without this n-gram, summed over
    all words, times the ambiguity of the last two words, and at most the best average score per space in its context.
    """
    prob, gamma = kneser_ney(corpus, order)
    raw = raw_counts(corpus, order)
    tokens = sum(raw[1].values())
    discounts = discounts_of(corpus, order)

    def given_shorter(word: str, context: tuple[str, ...]) -> float:
        return prob[(*context, word)] if (*context, word) in prob else gamma[context] * given_shorter(word, context[1:])

    scores = {}
    for gram in prob:
        context = gram[:-1]
        if not context:
            continue
        words = {end[-1] for end in prob if end[:-1] == context}
        count = sum(raw[len(gram)][(*context, word)] for word in words)
        share = (count - discounts[len(context)][min(count, 3)]) / tokens
        left = words - {gram[-1]}
        weight = 1 - sum(prob[(*context, word)] for word in left)
        weight /= 1 - sum(given_shorter(word, context[1:]) for word in left)
        loss = 0.0
        for word in ["</s>", *WORDS]:
            p = given_shorter(word, context)
            q = p if word in left else weight * given_shorter(word, context[1:])
            loss += p * math.log(p / q) if p else 0.0
        scores[gram] = (
            share * loss * (sum(ambiguity[word] for word in gram[-2 if len(gram) <= 3 else -1 :]) if ambiguity else 1)
        )
    for context in {gram[:-1] for gram in scores}:
        own = 52 / 16 if len(context) > 1 else 36 / 16  # state, backoff arc, the arc to the state
        grams = sorted((gram for gram in scores if gram[:-1] == context), key=scores.__getitem__, reverse=True)
        totals = itertools.accumulate(scores[gram] for gram in grams)
        worth = max(total / (own + j) for j, total in enumerate(totals, 1))
        scores.update({gram: min(scores[gram], worth) for gram in grams})
    return scores


def test_an_ngram_alone_in_its_context_is_dropped_first() -> None:
    """Its state is dropped with it: of two equally good n-grams, the one that shares a context is kept."""
    size = np.array([1, 3, 2], np.uint32)
    score = np.array([4, 4, 3, 1, 0, 0], np.float32)
    _spread_context_size(size, 2.25, score)
    np.testing.assert_allclose(score, [4 / 3.25, 7 / 4.25, 7 / 4.25, 1, 0, 0], rtol=1e-6)


@settings(deadline=None, max_examples=30)
@given(corpora, st.integers(2, 4), st.sampled_from([0.0, 1e-4, 1e-3, 1e-2]), st.booleans())
@example([[], [], [], ["b", "a", "a", "b", "a"]], 2, 0.0, False)  # after b, all words but a have the probability 0
@example([[], [], [], ["b", "a", "a", "b", "a"]], 2, 1e-2, False)
def test_scores(corpus: list[list[str]], order: int, threshold: float, has_ambiguity: bool) -> None:
    labels = labels_of(corpus)
    values = np.append(0, np.linspace(0.01, 0.9, len(WORDS))).astype(np.float32)
    ambiguity = values if has_ambiguity else None
    full, _ = grams_of(estimated(labels, len(WORDS), order))
    kept, _ = grams_of(estimated(labels, len(WORDS), order, ambiguity, prune_threshold=threshold))
    assert {gram: full[gram] for gram in kept} == pytest.approx(kept, rel=1e-6)
    by_word = dict(zip(["<s>", *WORDS], values.tolist(), strict=True)) | {"</s>": 0}
    scores = scores_of(corpus, order, by_word if has_ambiguity else None)
    slack = 1e-3 * threshold + 1e-7
    best = {gram for gram, score in scores.items() if score > threshold + slack}
    parts = {gram[i:j] for gram in best for i in range(len(gram)) for j in range(i + 1, len(gram) + 1)}
    assert parts & set(full) <= set(kept)
    for gram in set(full) - set(kept):
        assert scores[gram] < threshold + slack


@pytest.mark.slow
@settings(deadline=None)
@given(corpora, st.integers(2, 5), st.floats(0, 1))
def test_complete_model_within_the_limit(corpus: list[list[str]], order: int, fraction: float) -> None:
    labels = labels_of(corpus)
    total = sum(len(level) for level in estimated(labels, len(WORDS), order))
    limit = len(WORDS) + 1 + int(fraction * (total - len(WORDS) - 1))
    model = build(labels, len(WORDS), order, max_ngrams=limit)
    assert model.ngrams[0] == len(WORDS) + 1
    assert sum(model.ngrams) <= limit
    check_conventions(model, len(WORDS))
    sum_to_one(model, len(WORDS))


def test_nothing_to_prune_gives_the_full_model() -> None:
    labels = random_labels()
    full, same = build(labels, 300, 3), build(labels, 300, 3, max_ngrams=10**9)
    assert full.arcs.tobytes() == same.arcs.tobytes()
    states, arcs, _ = compile_levels(estimated(labels, 300, 3))
    assert states.tobytes() == full.states.tobytes()
    assert arcs.tobytes() == full.arcs.tobytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("threshold", [1e30, 1e308])
def test_a_large_threshold_drops_all_but_words(threshold: float) -> None:
    labels = np.array([0, 1, 2, 1, 2, 0, 1, 2, 0], np.uint32)
    kept, _ = grams_of(estimated(labels, 3, 2, prune_threshold=threshold))
    assert {len(gram) for gram in kept} == {1}


def test_threshold_of_zero_drops_nothing() -> None:
    labels = random_labels()
    for one, other in zip(estimated(labels, 300, 3), estimated(labels, 300, 3, prune_threshold=0.0), strict=True):
        np.testing.assert_array_equal(one.cost, other.cost)
        np.testing.assert_allclose(one.backoff, other.backoff, atol=1e-4)


def test_smaller_models_are_worse_on_the_training_text() -> None:
    labels = random_labels()
    sizes = [12_731, 8_000, 3_000, 1_000, 301]
    models = [build(labels, 300, 3, max_ngrams=size) for size in sizes]
    assert [sum(model.ngrams) for model in models] == pytest.approx(sizes, rel=0.02)
    perplexities = [perplexity(m.states, m.arcs, m.start, [labels], 300).including_oov for m in models]
    assert perplexities == sorted(perplexities)


def test_ngrams_that_are_dropped_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the others are chosen, bucket by bucket."""
    sizes = []

    def traced(pruner: Pruner, least: int) -> list[Level]:
        tracemalloc.start()
        levels = select(pruner, least)
        sizes.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        return levels

    select = Pruner._select
    monkeypatch.setattr(Pruner, "_select", traced)
    monkeypatch.setattr(counting, "_BUCKET", 1 << 10)
    labels = np.random.default_rng(7).integers(0, 2000, 100_000).astype(np.uint32)
    labels[-1] = 0
    build(labels, 2000, 4, max_ngrams=2100)
    assert sizes[0] < 5 * len(labels)


def test_cutoffs_and_pruning_together() -> None:
    model = build(random_labels(), 300, 4, cutoffs=(0, 0, 1), max_ngrams=4000)
    check_conventions(model, 300)
    sum_to_one(model, 300)


def test_backoff_of_a_context_without_remaining_probability() -> None:
    """If the n-grams of a context have all the probability, its backoff weight is 0."""
    one = np.zeros(1, np.uint32)
    half = np.full(2, np.log(2))
    levels = [
        Level(np.arange(2, dtype=np.uint32), np.zeros(2, np.uint32), np.zeros(2, np.uint32), half, np.zeros(2)),
        Level(one + 1, one, one + 1, np.zeros(1), np.zeros(1)),
    ]
    normalize(*levels)
    assert levels[0].backoff.tolist() == [np.inf, 0.0]
