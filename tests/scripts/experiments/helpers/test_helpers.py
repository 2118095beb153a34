"""scripts/experiments/helpers: overlap against all runs of words one by one, intervals, tables."""

import re

import numpy as np
import pytest
from helpers.bootstrap import bootstrap
from helpers.markdown import fill, table
from helpers.overlap import overlap
from hypothesis import given
from hypothesis import strategies as st

from capfst.exceptions import CorpusError

TEXT = st.lists(st.lists(st.sampled_from(["a", "B", "-", "c."]), max_size=12).map(" ".join), max_size=4)


def runs(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"[^\W_]+", text.lower())
    return [tuple(words[k : k + 8]) for k in range(len(words) - 7)]


@given(TEXT, st.lists(TEXT.map("\n".join), max_size=3))
def test_overlap(lines, blocks):
    others = {run for block in blocks for run in runs(block)}
    common = [[run in others for run in runs(line)] for line in lines]
    found = overlap(lines, (block.encode() for block in blocks))
    assert found.lines.tolist() == [any(line) for line in common]
    assert (found.runs, found.common_runs) == (sum(map(len, common)), sum(map(sum, common)))


def test_intervals_of_paired_systems():
    correct = np.array([[1.0, 1.0], [0.0, 1.0]] * 50)  # units × systems
    counts = np.stack([correct, np.ones_like(correct)], axis=-1)
    value, low, high = bootstrap(counts, lambda sums: sums[..., 0] / sums[..., 1])
    assert value.tolist() == [0.5, 1.0]
    assert 0.3 < low[0] < 0.45 and 0.55 < high[0] < 0.7
    assert low[1] == high[1] == 1.0


def test_table():
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | --: |\n| x | 1 |"


def test_tables_are_written_between_their_marks(tmp_path):
    document = tmp_path / "a.md"
    document.write_text("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", "utf-8")
    fill(document, "x", "new")
    assert document.read_text("utf-8") == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    with pytest.raises(CorpusError, match=r"a\.md.*<!-- y -->.*<!-- /y -->"):
        fill(document, "y", "new")
