"""The evidence of the source: what is learned, what the target tells already, and that it is learned the same each
time."""

import numpy as np
import pytest

from capfst.bilingual.costs import WEIGHT
from capfst.bilingual.evidence import N_TEMPLATES, SCALE, learn_evidence


def words(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return words whose first feature determines the shape, among others that are random."""
    rng = np.random.default_rng(seed)
    shapes = rng.integers(0, 4, n).astype(np.uint8)
    features = rng.integers(100, 200, (n, N_TEMPLATES)).astype(np.uint32)
    features[:, 0] = 7 * shapes
    return features, shapes


def learned(features, without_source, shapes, may_begin: bool = False) -> np.ndarray:
    return learn_evidence(features, without_source, shapes, np.full(len(shapes), may_begin))


def evidence_of(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    return weights[features & len(weights) - 1].sum(axis=1) / SCALE


def leads(evidence: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Return by how much each word's shape leads the others."""
    own = np.take_along_axis(evidence, shapes[:, None].astype(np.int64), 1)[:, 0]
    return own - np.where(np.eye(4)[shapes], -np.inf, evidence).max(axis=1)


def test_only_what_the_target_does_not_tell_is_evidence():
    features, shapes = words(4000, 3)
    found, its_shapes = words(500, 4)

    def mean_lead(without_source: np.ndarray, may_begin: bool = False) -> float:
        of_words = leads(evidence_of(learned(features, without_source, shapes, may_begin), found), its_shapes)
        assert (of_words > 0).mean() > 0.99
        return float(of_words.mean())

    told = np.repeat(features[:, :1], N_TEMPLATES, axis=1)
    of_source = mean_lead(np.zeros_like(features))
    assert mean_lead(told) < of_source / 2
    assert mean_lead(told, may_begin=True) == pytest.approx(of_source, rel=0.1)


def test_learning_is_deterministic():
    features, shapes = words(300, 5)
    assert (learned(features, features, shapes) == learned(features, features, shapes)).all()


def test_a_casing_costs_its_evidence_less(recaser):
    source, target, align = "Open the Menu", "ouvrez le menu", "0-0 1-1 2-2"
    explained = recaser.explain(target, source=source, alignment=align)
    assert explained.casings[0].text == "Ouvrez le Menu"
    assert explained.casings[0].parts["source"] < -WEIGHT
