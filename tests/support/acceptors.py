"""What every model that is estimated or compiled must be; and labels, and models made of them in memory."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from capfst.lm.acceptor import assemble
from capfst.lm.estimate import EstimationOptions, acceptor
from capfst.lm.query import step

UNPRUNED = EstimationOptions()


@dataclass
class Model:
    """A model's acceptor, and its numbers of n-grams."""

    states: npt.NDArray  # STATE[n]
    arcs: npt.NDArray  # ARC[m]
    start: int
    ngrams: list[int]  # of each order; order 1 counts </s>, not <s>


def build(labels: npt.NDArray, words: int, order: int, options: EstimationOptions = UNPRUNED) -> Model:
    """The model of `acceptor` in memory."""
    with acceptor(labels, words, order, options) as chunked:
        return Model(*assemble(chunked), chunked.ngrams)


def check_conventions(model: Model, words: int) -> None:
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
    for state in range(len(model.states)):
        total = sum(math.exp(-step(model.states, model.arcs, state, label)[0]) for label in range(words + 1))
        assert total == pytest.approx(1, abs=1e-6)


def random_labels(words: int = 300, tokens: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(7)
    labels = np.minimum(rng.zipf(1.3, tokens) - 1, words).astype(np.uint32)
    labels[-1] = 0
    return labels
