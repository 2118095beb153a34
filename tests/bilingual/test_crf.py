"""Forward–backward against a sum over all paths, the gradient against differences, and that learning makes the right
casings likelier."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import backoff_models, possible_begins, set_begin_odds
from support.translations import bitext

from capfst.bilingual.candidates import CLASSIFIER, LM, N_ALL
from capfst.bilingual.classifier import learn_classifier
from capfst.bilingual.crf import ProblemCollector, fit, learn, negative_log_likelihood, prior_mean
from capfst.bilingual.forward_backward import forward_backward
from capfst.casing import encode
from capfst.io.alignments import Block
from capfst.kernels import allocating
from capfst.kernels.types import F64Array, f64, i64
from capfst.recaser import Recaser, load
from capfst.search.paths import Edges, line_paths
from capfst.training.bilingual import _features

WORDS = ["it", "us", "i", "new", "oov", ".", "p.m.", "don"]


@allocating
def summed(edges: Edges, n_nodes: i64, lm_weight: f64, scores: F64Array, posteriors: F64Array) -> tuple[f64, f64]:
    forward, backward = np.empty(n_nodes), np.empty(n_nodes)
    return forward_backward(edges, 0, edges.arc.size, n_nodes, lm_weight, scores, forward, backward, posteriors)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    model=backoff_models(),
    line=st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    lm_weight=st.floats(0.1, 2),
    rng=st.randoms(use_true_random=False),
)
def test_forward_backward_is_the_sum_over_all_paths(tmp_path_factory, model, line, lm_weight, rng):
    recaser = Recaser(model.save(tmp_path_factory.mktemp("model") / "m.fst"))
    words = recaser.pipeline.loaded.transducer.words(np.frombuffer(line.encode(), np.uint8))
    set_begin_odds(words)
    starts, lm = recaser.pipeline.engine.starts, recaser.pipeline.loaded.lm
    ranges = [
        range(a, a + n) if n else range(lm.unknown, lm.unknown + 1)
        for a, n in zip(words.first_labels.tolist(), words.n_forms.tolist(), strict=True)
    ]
    first = np.cumsum([0, *map(len, ranges)])
    scores = np.array([rng.choice([rng.uniform(-2, 2), -math.inf]) if rng.random() < 0.3 else 0.5 * rng.random()
                       for _ in range(first[-1])])  # fmt: skip
    total, expected, of_arcs = 0.0, 0.0, np.zeros(first[-1])
    for labels in itertools.product(*ranges):
        for begins in itertools.product(*possible_begins(words)):
            cost, state, score = sum(of_gap for _, of_gap in begins), starts.line, 0.0
            for k, (label, (begin, _)) in enumerate(zip(labels, begins, strict=True)):
                if begin:
                    cost, state = cost + lm.final(state), starts.sentence
                more, state = lm.arc(state, label)
                cost += more
                score += scores[first[k] + label - ranges[k][0]]
            cost += lm.final(state)
            weight = math.exp(score - lm_weight * cost) if cost < math.inf else 0.0
            total += weight
            expected += weight * cost if weight else 0
            for k, label in enumerate(labels):
                of_arcs[first[k] + label - ranges[k][0]] += weight
    edges, _, begins, _, _ = line_paths(words, None, lm, starts)
    posteriors = np.zeros(first[-1])
    log_z, mean = summed(edges, len(begins) - 1, lm_weight, scores, posteriors)
    if total == 0:
        assert log_z == -math.inf
        return
    assert log_z == pytest.approx(math.log(total), abs=1e-6)
    assert mean == pytest.approx(expected / total, rel=1e-5, abs=1e-6)
    assert posteriors == pytest.approx(of_arcs / total, abs=1e-6)


@pytest.fixture(scope="module")
def problem(monolingual_model):
    recaser = load(monolingual_model)
    of_classifier, of_weights = bitext(80, seed=1), bitext(40, seed=2)
    collector = ProblemCollector()
    for texts in (of_classifier, of_weights):
        block = Block(*("".join(f"{line}\n" for line in lines).encode() for lines in texts))
        target, source, links = recaser.pipeline.linked(block)
        if texts is of_classifier:
            classifier = learn_classifier(*_features(target, source, links, np.arange(80)))
            continue
        gold = encode.labels(target.buf, target.words, recaser.model.symbols, recaser.pipeline.loaded.lm.unknown)
        costs = recaser.pipeline.monolingual(target)
        loaded, starts = recaser.pipeline.loaded, recaser.pipeline.engine.starts
        collector.add(
            target, source, links, list(range(40)), gold, costs, loaded.forms, classifier, True, loaded.lm, starts
        )
    return collector.problem()


def test_the_gradient_matches_differences(problem):
    rng = np.random.default_rng(3)
    lines = np.arange(0, len(problem.nodes), 2)
    weights = prior_mean() + 0.1 * rng.normal(size=N_ALL)
    _, gradient = negative_log_likelihood(problem, lines, weights)
    used = np.flatnonzero(gradient)
    assert len(used) > 30
    for k in [LM, LM + 1, LM + 3, CLASSIFIER, *rng.choice(used, 30).tolist()]:
        step = np.zeros(N_ALL)
        step[k] = 1e-5
        above, below = (negative_log_likelihood(problem, lines, weights + sign * step)[0] for sign in (1, -1))
        assert gradient[k] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-5)


def test_the_likelihood_is_a_sum_over_lines(problem):
    every, some, others = (
        negative_log_likelihood(problem, lines, prior_mean())[0]
        for lines in (np.arange(len(problem.nodes)), np.arange(5), np.arange(5, len(problem.nodes)))
    )
    assert every == pytest.approx(some + others)


def test_learning_makes_the_right_casings_likelier(problem):
    pytest.importorskip("scipy", reason="training on translations needs SciPy")
    lines = np.arange(len(problem.nodes))
    before = negative_log_likelihood(problem, lines, prior_mean())[0]
    weights = fit(problem, lines, 1.0, prior_mean())
    assert negative_log_likelihood(problem, lines, weights)[0] < before / 3
    assert weights[LM] > 0
    learned = learn(problem)
    assert learned.held_out[learned.sigma] == min(learned.held_out.values())
