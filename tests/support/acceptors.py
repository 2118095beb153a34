"""Random labels, models that are estimated from labels in memory, and checks that hold for every estimated model."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from capfst.lm.acceptor import assemble
from capfst.lm.estimate import acceptor, estimate
from capfst.lm.levels import Level
from capfst.lm.query import step
from capfst.options import TrainOptions


@dataclass
class Model:
    """The acceptor of a model, and its number of n-grams per order."""

    states: npt.NDArray  # STATE[n]
    arcs: npt.NDArray  # ARC[m]
    start: int
    ngrams: list[int]  # per order; order 1 counts </s>, not <s>


def build(labels: npt.NDArray, words: int, order: int, **options: Any) -> Model:
    """Estimate a model in memory."""
    whole = acceptor(labels, words, TrainOptions(order=order, **options))
    return Model(*assemble(whole), whole.ngrams)


def estimated(
    labels: npt.NDArray, words: int, order: int, ambiguity: npt.NDArray | None = None, **options: Any
) -> list[Level]:
    """Return the levels of a model."""
    return estimate(labels, words, TrainOptions(order=order, **options), ambiguity)


def check_conventions(model: Model, words: int) -> None:
    """Check the order of states and arcs, and that each state except the root has one backoff arc, its first."""
    states, arcs = model.states, model.arcs
    assert states["pos"].tolist() == (np.cumsum(states["narcs"]) - states["narcs"]).tolist()
    assert states["narcs"].sum() == len(arcs)
    for state, here in enumerate(states):
        own = arcs[here["pos"] : here["pos"] + here["narcs"]]
        assert (own["ilabel"] == own["olabel"]).all()
        assert here["niepsilons"] == here["noepsilons"] == (state > 0)
        if state == 0:
            assert own["ilabel"].tolist() == list(range(1, words + 1))
            assert np.isfinite(here["final"])
        else:
            assert own["ilabel"][0] == 0
            assert own["nextstate"][0] < state
            assert (np.diff(own["ilabel"]) > 0).all()


def sum_to_one(model: Model, words: int) -> None:
    """Check that the probabilities of all words and </s> sum to 1 in each state."""
    for state in range(len(model.states)):
        total = sum(math.exp(-step(model.states, model.arcs, state, label)[0]) for label in range(words + 1))
        assert total == pytest.approx(1, abs=1e-6)


def random_labels(words: int = 300, tokens: int = 20_000) -> np.ndarray:
    """Return labels with a Zipf distribution; 0 is </s>, the last label."""
    rng = np.random.default_rng(7)
    labels = np.minimum(rng.zipf(1.3, tokens) - 1, words).astype(np.uint32)
    labels[-1] = 0
    return labels
