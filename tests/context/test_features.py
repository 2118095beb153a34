"""context/features.py: decisions, and which words matter. test_learn.py and test_casing_costs.py compare all features
with a reference implementation."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain_context as reference
from support.plain_context import Token

from capfst.casing.shapes import N_SHAPES
from capfst.context.features import (
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_NEIGHBOR_FEATURES,
    NO_DECISION,
    PADDING,
    TOKEN,
    TokenArray,
    decision,
    decision_features,
    has_capitals,
    neighbor_features,
    sentence_padding,
    settled_by,
    word_features,
)  # fmt: skip
from capfst.context.lexicon import N_HASHES, UNSEEN
from capfst.kernels import kernel
from capfst.kernels.types import F64Array, U32Array, i64


@kernel
def decision_of(scores: F64Array) -> i64:
    return decision(scores)


@kernel
def settled_decision_of(scores: F64Array) -> i64:
    return settled_by(scores[0], scores[1], scores[2], scores[3])


@kernel
def neighbor_features_of(tokens: TokenArray, t: i64, domain: i64, features: U32Array) -> None:
    neighbor_features(tokens, t, domain, features)


def array(line: Sequence[Token]) -> np.ndarray:
    """Return the line's tokens with padding, as an array for kernels."""
    made = np.zeros(len(line) + 2 * PADDING, TOKEN)
    assert sentence_padding(made, 0) == PADDING
    sentence_padding(made, len(line) + PADDING)
    for k, token in enumerate(line, PADDING):
        made[k] = tuple(token)
    return made


def test_padding_matches_the_reference() -> None:
    assert [tuple(token.tolist()) for token in array([])] == [tuple(token) for token in reference.PADDING * 2]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0, -3.5, -4, -9], 7),
        ([0, -3.4, -9, -9], NO_DECISION),
        ([-4, 0, -5, -9], 0),
        ([-4, -9, 0, -5], 8),
        ([-4, -9, -5, 0], 10),
        ([0, 0, 0, 0], NO_DECISION),
        ([9, 4, 4, 4], 7),
    ],
)
def test_the_first_pass_settles_a_word_if_one_score_leads(scores: list[float], expected: int) -> None:
    assert settled_decision_of(np.array(scores, np.float64)) == reference.settled_decision(scores) == expected


def test_features_of_different_templates_differ() -> None:
    """All features of an unseen word differ, in a line that repeats one word."""
    line = [Token(5, 5, UNSEEN, 0, 0, 5, 5)] * 7
    found = np.empty(MAX_WORD_FEATURES + N_NEIGHBOR_FEATURES + N_DECISION_FEATURES, np.uint32)
    n = word_features(np.arange(5, 5 + N_HASHES, dtype=np.uint32), UNSEEN, 5, found)
    neighbor_features_of(array(line), PADDING + 2, 5, found[n:])
    decision_features(
        array(line), np.full(13, 5, np.uint8), PADDING + 2, np.int64(5), np.int64(0), found[n + N_NEIGHBOR_FEATURES :]
    )
    assert n == MAX_WORD_FEATURES
    assert len(set(found.tolist())) == MAX_WORD_FEATURES + N_NEIGHBOR_FEATURES + N_DECISION_FEATURES


def test_neighbors_matter_up_to_three_positions_away() -> None:
    line = [Token(n, n, n) for n in range(1, 10)]
    found = np.empty((2, N_NEIGHBOR_FEATURES), np.uint32)
    neighbor_features_of(array(line), PADDING + 4, 0, found[0])
    changed = []
    for k in range(len(line)):
        neighbor_features_of(
            array([*line[:k], Token(99, 99, 99, 0, 0, 99, 99), *line[k + 1 :]]), PADDING + 4, 0, found[1]
        )
        changed.append(bool((found[0] != found[1]).any()))
    assert changed == [False, *[True] * 7, False]


@settings(deadline=None)
@given(
    scores=st.lists(st.floats(-9, 9, width=32), min_size=4, max_size=4), dtype=st.sampled_from([np.float32, np.float64])
)
def test_decisions_match_the_reference(scores: list[float], dtype: type) -> None:
    given = np.array(scores, dtype)
    assert decision_of(given.astype(np.float64)) == reference.decision(given.astype(float).tolist())


@pytest.mark.parametrize(
    ("p", "decided", "capital"),
    [
        ([0.001, 0.999, 0, 0], 0, True),
        ([0.45, 0.55, 0, 0], 3, True),
        ([0.5, 0.5, 0, 0], 4, False),  # a tie goes to lower case
        ([0.999, 0.001, 0, 0], 7, False),
        ([0.1, 0.05, 0.85, 0], 8, True),
        ([0.3, 0, 0.7, 0], 9, True),
        ([0.3, 0, 0, 0.7], 10, True),
    ],
)
def test_decisions(p: list[float], decided: int, capital: bool) -> None:
    assert decision_of(np.log(np.array(p) + 1e-9)) == decided
    assert has_capitals(decided) == reference.has_capitals(decided) == capital


def test_only_decisions_have_capitals() -> None:
    assert [bool(has_capitals(d)) for d in range(NO_DECISION + 1)] == list(
        map(reference.has_capitals, range(NO_DECISION + 1))
    )
    assert N_SHAPES == 4
