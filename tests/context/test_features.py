"""context/features.py: features and decisions, with twins in plain Python."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain_context as twin
from support.plain_context import Fact

from capfst.casing.shapes import N_SHAPES
from capfst.context.features import (
    FACT,
    FAR,
    FIRST,
    LEADS,
    MARGIN,
    NO_DECISION,
    OWN,
    SECOND,
    decision,
    first_features,
    is_capital,
    margin,
    own_features,
    second_features,
)  # fmt: skip
from capfst.context.words import BARE, HASHES, UNSEEN

numbers = st.integers(0, 2**32 - 1)
evidence = st.sampled_from([UNSEEN, BARE]) | st.integers(1, 120)
classes = st.integers(0, 255)
facts = st.builds(
    Fact, numbers, numbers, evidence, st.sampled_from([0, 0, 1, 7, LEADS]), st.integers(0, FAR), classes, classes
)  # fmt: skip
lines = st.lists(facts, min_size=1, max_size=5)
probabilities = st.lists(
    st.sampled_from([0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.99, 1]) | st.floats(0, 1), min_size=4, max_size=4
)


def array(line: Sequence[Fact]) -> np.ndarray:
    """The line's facts with margins, as the kernels have them."""
    made = np.zeros(len(line) + 2 * MARGIN, FACT)
    assert margin(made, 0) == MARGIN
    margin(made, len(line) + MARGIN)
    for k, fact in enumerate(line, MARGIN):
        made[k] = tuple(fact)
    return made


def test_margins_are_the_twins() -> None:
    assert [tuple(fact.tolist()) for fact in array([])] == [tuple(fact) for fact in twin.BETWEEN * 2]


@settings(deadline=None)
@given(hashes=st.lists(st.sampled_from([0]) | numbers, min_size=HASHES, max_size=HASHES), e=evidence)
def test_own_features(hashes: list[int], e: int) -> None:
    found = np.full(OWN + 1, 7, np.uint64)
    n = own_features(np.array(hashes, np.uint32), e, found)
    assert found[:n].tolist() == twin.own_features(hashes, e)
    assert found[-1] == 7


@settings(deadline=None)
@given(line=lines)
def test_first_features(line: list[Fact]) -> None:
    every, (places,) = twin.lines_of([line])
    for t in places:
        found = np.full(FIRST + 1, 7, np.uint64)
        first_features(array(line), t, found)
        assert found[:FIRST].tolist() == twin.first_features(every, t)
        assert found[-1] == 7


@settings(deadline=None)
@given(line=lines, data=st.data())
def test_second_features(line: list[Fact], data: st.DataObject) -> None:
    every, (places,) = twin.lines_of([line])
    decisions = [NO_DECISION] * len(every)
    for t in places:
        decisions[t] = data.draw(st.sampled_from([*range(11), NO_DECISION]))
    capitals = sum(map(twin.is_capital, decisions))
    words = capitals + data.draw(st.integers(0, 20))
    for t in places:
        found = np.full(SECOND + 1, 7, np.uint64)
        second_features(array(line), np.array(decisions, np.uint8), t, np.int64(capitals), np.int64(words), found)
        assert found[:SECOND].tolist() == twin.second_features(every, decisions, t, capitals, words)
        assert found[-1] == 7


def test_features_of_one_kind_are_not_those_of_another() -> None:
    """All features of a word differ, in a line of one word over and over."""
    line = [Fact(5, 5, 5, 0, 0, 5, 5)] * 5
    found = np.empty(OWN + FIRST + SECOND, np.uint64)
    own = own_features(np.arange(5, 5 + HASHES, dtype=np.uint32), 5, found)
    first_features(array(line), 4, found[own:])
    second_features(array(line), np.full(9, 5, np.uint8), 4, np.int64(0), np.int64(5), found[own + FIRST :])
    assert own == OWN
    assert len(set(found.tolist())) == OWN + FIRST + SECOND


def test_neighbours_matter_up_to_two_places_away() -> None:
    line = [Fact(n, n, n) for n in range(1, 8)]
    found = np.empty((2, FIRST), np.uint64)
    first_features(array(line), MARGIN + 3, found[0])
    changed = []
    for k in range(len(line)):
        first_features(array([*line[:k], Fact(99, 99, 99, 0, 0, 99, 99), *line[k + 1 :]]), MARGIN + 3, found[1])
        changed.append(bool((found[0] != found[1]).any()))
    assert changed == [False, True, True, True, True, True, False]


@settings(deadline=None)
@given(p=probabilities, dtype=st.sampled_from([np.float32, np.float64]))
def test_decisions_are_the_twins(p: list[float], dtype: type) -> None:
    given = np.array(p, dtype)
    assert decision(given) == twin.decision(given.astype(float).tolist())


@pytest.mark.parametrize(
    ("p", "decided", "capital"),
    [
        ([0.001, 0.999, 0, 0], 0, True),
        ([0.45, 0.55, 0, 0], 3, True),
        ([0.5, 0.5, 0, 0], 4, False),  # a tie is for lower case
        ([0.999, 0.001, 0, 0], 7, False),
        ([0.1, 0.05, 0.85, 0], 8, True),
        ([0.3, 0, 0.7, 0], 9, True),
        ([0.3, 0, 0, 0.7], 10, True),
    ],
)
def test_decisions(p: list[float], decided: int, capital: bool) -> None:
    assert decision(np.array(p)) == decided
    assert is_capital(decided) == twin.is_capital(decided) == capital


def test_what_is_no_decision_is_no_capital() -> None:
    assert [bool(is_capital(d)) for d in range(NO_DECISION + 1)] == list(map(twin.is_capital, range(NO_DECISION + 1)))
    assert N_SHAPES == 4
