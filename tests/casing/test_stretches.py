"""casing/stretches.py: the likeliest states, against all sequences of states."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capfst.casing import stretches
from capfst.casing.stretches import CAPITALS, CASELESS, KEPT, LOST_MARKS, SMALL, Observed, find

words = st.tuples(st.integers(0, CASELESS), st.integers(0, 2), st.integers(0, 2))


def observed(seen: list[tuple[int, int, int]]) -> Observed:
    columns = np.array(seen, np.uint8).reshape(-1, 3).T
    return Observed(np.arange(len(seen)), *map(np.ascontiguousarray, columns))


def cost(states: tuple[int, ...], seen: list[tuple[int, int, int]]) -> float:
    total = 0.0
    for before, state in pairwise((KEPT, *states)):
        if before != state:
            total += np.inf if before and state else stretches._BEGINS if state else stretches._ENDS
    for state, (written, modelled, mark) in zip(states, seen, strict=True):
        total += stretches._MARKS[state, mark]
        total += 0 if written == CASELESS else stretches._CASE[state, written, modelled]
    return total


@settings(max_examples=60, deadline=None)
@given(st.lists(words, max_size=5), st.integers(1, 4))
def test_no_states_are_likelier(few: list[tuple[int, int, int]], times: int) -> None:
    seen = [word for word in few for _ in range(times)]
    found = tuple(find(observed(seen)).tolist())
    blocks = product(range(5), repeat=len(few))
    others = (tuple(state for state in block for _ in range(times)) for block in blocks)
    assert cost(found, seen) <= min((cost(other, seen) for other in others), default=0.0) + 1e-9


LOWER, CAPITALIZED, UPPER = range(3)
NAME = [(CAPITALIZED, CAPITALIZED, 0)]
SENTENCE = [*NAME, *[(LOWER, LOWER, 0)] * 6, (LOWER, LOWER, 1)]
BARE = [(LOWER, CAPITALIZED, 0), *[(LOWER, LOWER, 0)] * 6, (LOWER, LOWER, 2)]
SHOUTED = [(UPPER, CAPITALIZED, 0), *[(UPPER, LOWER, 0)] * 6, (UPPER, LOWER, 2)]


@pytest.mark.parametrize(
    ("stretch", "expected"),
    [
        (BARE * 6, LOST_MARKS[0]),
        (SHOUTED, LOST_MARKS[1]),
        ([(a, b, min(m, 1)) for a, b, m in BARE] * 6, SMALL),
        ([(a, b, min(m, 1)) for a, b, m in SHOUTED], CAPITALS),
        ([(LOWER, LOWER, 0)] * 30, KEPT),  # a long clause
        (NAME * 30, KEPT),
        ([(CASELESS, LOWER, 0)] * 30, KEPT),
    ],
)
def test_states_of_stretches(stretch: list[tuple[int, int, int]], expected: int) -> None:
    seen = SENTENCE * 5 + stretch + SENTENCE * 5
    found = find(observed(seen))
    assert set(found[40 : 40 + len(stretch)].tolist()) == {expected}
    others = [*range(40), *range(40 + len(stretch), len(seen))]
    assert not any(found[i] for i in others if seen[i][:2] != (LOWER, LOWER))  # those are as the model writes them
