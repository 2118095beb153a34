"""The classifier: its probabilities, what it learns, and that it learns the same each time."""

import numpy as np
import pytest

from capfst.bilingual.classifier import classify, learn_classifier
from capfst.bilingual.source_features import N_TEMPLATES
from capfst.kernels import allocating
from capfst.kernels.types import F32Matrix, I8Matrix, U64Matrix


@allocating
def classified(classifier: I8Matrix, features: U64Matrix, costs: F32Matrix) -> None:
    for word in range(len(features)):
        classify(classifier, features[word], costs[word])


def costs_of(classifier: np.ndarray, features: np.ndarray) -> np.ndarray:
    costs = np.empty((len(features), 4), np.float32)
    classified(classifier, features.astype(np.uint64), costs)
    return costs


def words(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return words whose first feature determines the shape, among others that are random."""
    rng = np.random.default_rng(seed)
    shapes = rng.integers(0, 4, n).astype(np.uint8)
    features = rng.integers(100, 200, (n, N_TEMPLATES)).astype(np.uint32)
    features[:, 0] = 7 * shapes
    return features, shapes


def test_costs_are_minus_log_probabilities():
    classifier = np.random.default_rng(1).integers(-127, 128, (1 << 8, 4)).astype(np.int8)
    features = words(50, 2)[0]
    scores = classifier[features & 255].sum(axis=1) / 32
    expected = np.log(np.exp(scores).sum(axis=1, keepdims=True)) - scores
    assert costs_of(classifier, features) == pytest.approx(expected, abs=1e-4)


def test_informative_features_are_learned():
    learned = learn_classifier(*words(2000, 3))
    features, shapes = words(500, 4)
    costs = costs_of(learned, features)
    assert (costs.argmin(axis=1) == shapes).mean() > 0.99
    assert costs[np.arange(500), shapes].mean() < 0.3


def test_learning_is_deterministic():
    assert (learn_classifier(*words(300, 5)) == learn_classifier(*words(300, 5))).all()


def test_without_words_all_shapes_are_as_likely():
    learned = learn_classifier(np.zeros((0, N_TEMPLATES), np.uint32), np.zeros(0, np.uint8))
    assert costs_of(learned, words(3, 6)[0]) == pytest.approx(np.full((3, 4), np.log(4)), abs=1e-5)
