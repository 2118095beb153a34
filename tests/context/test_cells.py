"""Cells: the share of capitals by its definition, columns of names and of nouns, and calls without a column."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run

import capfst
from capfst.casing.shapes import N_SHAPES
from capfst.context.cells import share_capitals
from capfst.context.features import TOKEN
from capfst.context.lexicon import BEGIN, NO_CASE

PEOPLE = ["Mary Smith", "John Long", "Daisy Baker", "Ann Slaughter", "Miles Davis"]
WORDS = ["black", "uniform", "due date", "invoice number", "power cable"]


@pytest.fixture(scope="module")
def recaser() -> capfst.Recaser:
    return capfst.load()


def share(odds: list[float]) -> float:
    """Return r, the share of capitals, for words with these odds of having one."""
    r = 0.5
    for _ in range(20):
        r = (1 + sum(r * each / (r * each + 1 - r) for each in odds)) / (2 + len(odds))
    return r


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.booleans(), st.sampled_from([0, 30, NO_CASE])), max_size=20))
def test_words_change_by_the_share_of_capitals_at_their_position(words: list[tuple[float, bool, int]]) -> None:
    tokens = np.zeros(len(words), TOKEN)
    tokens["position"] = [is_later for _, is_later, _ in words]
    tokens["shape_evidence"] = [evidence for *_, evidence in words]
    log_p = np.log([[1 - p, p / 2, p / 4, p / 4] for p, *_ in words] or np.empty((0, N_SHAPES))).astype(np.float32)
    before = log_p.copy()
    share_capitals(tokens, log_p)
    for k, (p, is_later, evidence) in enumerate(words):
        alike = [q / (1 - q) for q, later, other in words if later == is_later and max(evidence, other) < BEGIN]
        r = share(alike) if evidence < BEGIN else 0.5
        lower = (1 - r) * (1 - p) / ((1 - r) * (1 - p) + r * p)
        assert np.exp(log_p[k]).tolist() == pytest.approx(
            [lower, *((1 - lower) * x for x in (0.5, 0.25, 0.25))], abs=1e-4
        )
        assert evidence < BEGIN or np.array_equal(log_p[k], before[k])


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_a_column_decides_what_a_cell_leaves_open(recaser, change) -> None:
    people, words = ([change(cell) for cell in cells] for cells in (PEOPLE, WORDS))
    assert recaser(people) != PEOPLE
    assert recaser(people, cells=True) == PEOPLE
    assert recaser(words) != WORDS
    assert recaser(words, cells=True) == WORDS
    assert recaser("\n".join(people), cells=True) == "\n".join(PEOPLE)


def test_columns_need_not_have_words(recaser) -> None:
    for cells in ([], [""], ["", "3", "-"]):
        assert recaser(cells, cells=True) == cells


def test_a_column_of_a_table(tmp_path) -> None:
    with (tmp_path / "in.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "name"), *((f"ID {k}", name.upper()) for k, name in enumerate(PEOPLE))])
    run("batch", tmp_path / "in.csv", "--column", "name", "--cells", "-o", tmp_path / "out")
    with (tmp_path / "out" / "in.csv").open(encoding="utf-8", newline="") as file:
        assert [(row["id"], row["name"]) for row in csv.DictReader(file)] == [
            (f"ID {k}", name) for k, name in enumerate(PEOPLE)
        ]


def test_without_a_column_it_is_an_error(recaser) -> None:
    for call in (recaser.confidence, recaser.explain, recaser.sentences, recaser.recase_lines):
        with pytest.raises(capfst.OptionError, match=r"`cells` cannot be used with"):
            call("mary smith" if call != recaser.recase_lines else ["mary smith"], cells=True)
    assert b"--cells" in run("recase", "--cells", "--no-context", stdin="a", code=2).stderr
