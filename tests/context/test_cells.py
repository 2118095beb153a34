"""Cells: the share of capitals by its definition, columns of names and of nouns, and calls without a column."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run

import capfst
from capfst.context.cells import share_capitals
from capfst.context.features import TOKEN
from capfst.context.lexicon import NO_CASE

PEOPLE = ["Mary Smith", "John Long", "Daisy Baker", "Ann Slaughter", "Miles Davis"]
WORDS = ["black", "uniform", "due date", "invoice number", "power cable"]


@pytest.fixture(scope="module")
def recaser() -> capfst.Recaser:
    return capfst.load()


def capitals(cells: list[list[float]]) -> list[list[float]]:
    """Return p that each word has capitals, given that without the other words, by the EM algorithm, word by word."""
    places = [["first", *["inner"] * (len(cell) - 2), *["last"] * (len(cell) > 1)] for cell in cells]
    shares = [dict.fromkeys(("first", "inner", "last"), prior) for prior in (0.9, 0.1)]
    kinds = [0.5, 0.5]
    for _ in range(30):
        counts = [{place: [2 * prior, 2.0] for place in shares[0]} for prior in (0.9, 0.1)]
        are_kind, found = [1.0, 1.0], []
        for cell, at in zip(cells, places, strict=True):
            joint = [kinds[0], kinds[1]]
            odds = [
                [share[k] / (1 - share[k]) * (p / (1 - p)) ** 0.7 for p, k in zip(cell, at, strict=True)]
                for share in shares
            ]
            for z, share in enumerate(shares):
                for p, k in zip(cell, at, strict=True):
                    joint[z] *= share[k] * p**0.7 + (1 - share[k]) * (1 - p) ** 0.7
            weights = [each / sum(joint) for each in joint]
            found.append(
                [sum(w * o[i] / (1 + o[i]) for w, o in zip(weights, odds, strict=True)) for i in range(len(cell))]
            )
            for z in range(2):
                are_kind[z] += weights[z]
                for i, k in enumerate(at):
                    counts[z][k][0] += weights[z] * odds[z][i] / (1 + odds[z][i])
                    counts[z][k][1] += weights[z]
        shares = [{k: a / n for k, (a, n) in count.items()} for count in counts]
        kinds = [each / (2 + len(cells)) for each in are_kind]
    return found


@given(st.lists(st.lists(st.floats(0.02, 0.98), min_size=1, max_size=4), min_size=1, max_size=8), st.booleans())
def test_words_change_by_the_shares_of_capitals(cells: list[list[float]], has_mark: bool) -> None:
    words = [(p, k) for cell in cells for k, p in enumerate(cell)]
    tokens = np.zeros(len(words) + has_mark, TOKEN)
    tokens["position"][: len(words)] = [k for _, k in words]
    tokens["position"][len(words) :], tokens["shape_evidence"][len(words) :] = 9, NO_CASE
    rows = [[1 - p, p, 1e-30, 1e-30] for p, _ in words] + [[0.1, 0.2, 0.3, 0.4]] * has_mark
    log_p = np.log(rows).astype(np.float32)
    before = log_p.copy()
    share_capitals(tokens, log_p)
    expected = [p for cell in capitals(cells) for p in cell]
    assert np.exp(log_p[: len(words), 1]).tolist() == pytest.approx(expected, abs=1e-3)
    assert np.exp(log_p[: len(words)]).sum(1).tolist() == pytest.approx([1.0] * len(words), abs=1e-5)
    assert np.array_equal(log_p[len(words) :], before[len(words) :])


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
