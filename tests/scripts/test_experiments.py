"""scripts/experiments.py: overlap against all runs of words, one by one; intervals; tables."""

import re
import runpy
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "experiments.py"))
TEXT = st.lists(st.lists(st.sampled_from(["a", "B", "-", "c."]), max_size=12).map(" ".join), max_size=4)


def runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"[^\W_]+", text.lower())
    return [tuple(words[k : k + 8]) for k in range(len(words) - 7)]


@given(TEXT, st.lists(TEXT.map("\n".join), max_size=3))
def test_overlap(lines, blocks):
    others = {run for block in blocks for run in runs(block)}
    common = [[run in others for run in runs(line)] for line in lines]
    found = SCRIPT["overlap"](lines, (block.encode() for block in blocks))
    assert found.lines.tolist() == [any(line) for line in common]
    assert (found.runs, found.common_runs) == (sum(map(len, common)), sum(map(sum, common)))


def test_intervals_of_paired_systems():
    correct = np.array([[1.0, 1.0], [0.0, 1.0]] * 50)  # units × systems
    counts = np.stack([correct, np.ones_like(correct)], axis=-1)
    value, low, high = SCRIPT["bootstrap"](counts, lambda sums: sums[..., 0] / sums[..., 1])
    assert value.tolist() == [0.5, 1.0]
    assert 0.3 < low[0] < 0.45 and 0.55 < high[0] < 0.7
    assert low[1] == high[1] == 1.0


def test_table():
    assert SCRIPT["table"](["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | --: |\n| x | 1 |"
