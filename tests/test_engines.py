"""The engines: both find the least cost over all casings, which is tried here by enumeration, and agree on ties."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import FORMS, backoff_models

from capfst.recase import Recaser
from capfst.tokenize import NEWLINE

WORDS = [*sorted({form.lower() for form in FORMS}), "oov", "<unk>", "!"]
LINES = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)


def enumerated(recaser: Recaser, ranges: list[range]) -> list[tuple[float, tuple[int, ...]]]:
    """All casings with their costs, by one arc after the other; cheapest first, ties by label."""
    found = []
    for labels in itertools.product(*ranges):
        cost, state = 0.0, recaser.engine.start
        for label in labels:
            more, state = recaser.lm.arc(state, label)
            cost += more
        found.append((cost + recaser.lm.final(state), labels))
    return sorted(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@settings(deadline=None, max_examples=150)
@given(
    model=backoff_models(),
    lines=st.lists(LINES, max_size=4),
    start=st.sampled_from(["and", "<unk>", "It"]),
    chunk=st.integers(1, 9),
)
def test_the_best_path_is_the_least_of_all_casings(folder, model, lines, start, chunk):
    model = model.save(folder / "m.fst")
    fast = Recaser(model, start_token=start)
    slow = Recaser(model, start_token=start, engine="openfst")
    words = fast.transducer.words(np.frombuffer("\n".join(lines).encode(), np.uint8))
    fast_choice, slow_choice = fast.engine.best(words, chunk), slow.engine.best(words)
    begin = 0
    for end in [*np.flatnonzero(words.kinds == NEWLINE), len(words.kinds)]:
        line = slice(begin, end)
        begin = end + 1
        ranges = slow.engine.ranges(words, line)
        best = enumerated(fast, ranges)[0]
        expected = [label if k else 0 for label, k in zip(best[1], words.forms[line], strict=True)]
        assert fast_choice[line].tolist() == expected
        assert slow_choice[line].tolist() == expected


@settings(deadline=None, max_examples=100)
@given(model=backoff_models(), line=LINES, n=st.integers(1, 6))
def test_nbest_is_the_head_of_all_casings(folder, model, line, n):
    recaser = Recaser(model.save(folder / "n.fst"), engine="openfst")
    words = recaser.transducer.words(np.frombuffer(line.encode(), np.uint8))
    start = recaser.lm.arc(recaser.model.start, recaser.lm.label("and"))[0]
    costs = [cost for cost, _ in enumerated(recaser, recaser.engine.ranges(words, slice(None)))]
    finite = [cost for cost in costs if cost < math.inf][:n] or [math.inf]
    found = recaser.nbest(line, n)
    assert [cost for cost, _ in found] == pytest.approx([cost + start for cost in finite], rel=1e-4, abs=1e-4)
    assert found[0][1] == recaser.recase(line)
    assert len({casing for _, casing in found}) == len(found)
