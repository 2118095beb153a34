"""Cells: the share of capitals by its definition, columns of names and of nouns, and calls without a column."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run

import capfst
from capfst.casing.types import Words
from capfst.context.features import TOKEN
from capfst.context.lexicon import NO_CASE
from capfst.context.other_lines import share_capitals

PEOPLE = ["Mary Smith", "John Long", "Daisy Baker", "Daisy Fry", "Miles Davis"]
WORDS = ["black", "uniform", "due date", "spring onion", "power cable"]


@pytest.fixture(scope="module")
def recaser() -> capfst.Recaser:
    return capfst.load()


Word = tuple[str, float]
"""A word, and p that it has capitals by itself."""


def capitals(cells: list[list[Word]]) -> list[float]:
    """Return p that each word has capitals, given the others, by the EM algorithm, word by word."""
    shares = [dict.fromkeys((True, False), prior) for prior in (0.9, 0.1)]
    kinds = [0.5, 0.5]
    for _ in range(30):
        counts = [{is_small: [2 * prior, 2.0] for is_small in (True, False)} for prior in (0.9, 0.1)]
        are_kind, found = [1.0, 1.0], []
        for cell in cells:
            are_small = [word == "of" for word, _ in cell]
            joint, have = list(kinds), [[0.0] * len(cell) for _ in kinds]
            for z, share in enumerate(shares):
                for k, ((_, p), is_small) in enumerate(zip(cell, are_small, strict=True)):
                    capital, small = share[is_small] * p**0.7, (1 - share[is_small]) * (1 - p) ** 0.7
                    joint[z] *= capital + small
                    have[z][k] = capital / (capital + small)
            weights = [each / sum(joint) for each in joint]
            for z, weight in enumerate(weights):
                are_kind[z] += weight
                for k, is_small in enumerate(are_small):
                    counts[z][is_small][0] += weight * have[z][k]
                    counts[z][is_small][1] += weight
            for k, is_small in enumerate(are_small):
                of_names = have[0][k] if is_small and k > 0 else max(have[0][k], 0.97)
                found.append(weights[0] * of_names + weights[1] * have[1][k])
        shares = [{k: a / n for k, (a, n) in count.items()} for count in counts]
        kinds = [max(each / (2 + len(cells)) - 0.03, 1e-12) for each in are_kind]
    return found


words = st.tuples(st.sampled_from(["of", "oak"]), st.floats(0.02, 0.98))


@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=8), st.booleans())
def test_words_change_by_the_shares_of_capitals(cells: list[list[Word]], has_mark: bool) -> None:
    column = [(word, p, k) for cell in cells for k, (word, p) in enumerate(cell)]
    buf = np.frombuffer(" ".join([word for word, *_ in column]).encode(), np.uint8)
    ends = np.cumsum([len(word) + 1 for word, *_ in column]) - 1
    found = Words._make([ends - [len(word) for word, *_ in column], ends, *[np.empty(0)] * 5])
    tokens = np.zeros(len(column) + has_mark, TOKEN)
    tokens["position"][: len(column)] = [k for *_, k in column]
    tokens["position"][len(column) :], tokens["shape_evidence"][len(column) :] = 9, NO_CASE
    rows = [[1 - p, p, 1e-30, 1e-30] for _, p, _ in column] + [[0.1, 0.2, 0.3, 0.4]] * has_mark
    log_p = np.log(rows).astype(np.float32)
    before = log_p.copy()
    share_capitals(buf, found, tokens, log_p)
    assert np.exp(log_p[: len(column), 1]).tolist() == pytest.approx(capitals(cells), abs=1e-3)
    assert np.exp(log_p[: len(column)]).sum(1).tolist() == pytest.approx([1.0] * len(column), abs=1e-5)
    assert np.array_equal(log_p[len(column) :], before[len(column) :])


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_a_column_decides_what_a_cell_leaves_open(recaser, change) -> None:
    people, words = ([change(cell) for cell in cells] for cells in (PEOPLE, WORDS))
    assert recaser(people) != PEOPLE
    assert recaser(people, cells=True) == PEOPLE
    assert recaser(words) != WORDS
    assert recaser(words, cells=True) == WORDS
    assert recaser("\n".join(people), cells=True) == "\n".join(PEOPLE)


COMPANIES = ["Applied Materials", "Bank of America", "The Boeing Company", "McDonald's", "Siemens AG", "Barclays plc"]


def test_names_of_common_words_are_names_in_a_column_of_names(recaser) -> None:
    column = COMPANIES + ["Ford", "IBM", "Intel", "General Motors", "3rd Bank", "Microsoft", "Moody's", "Pfizer"] * 12
    assert recaser([cell.lower() for cell in column], cells=True) == column


def test_a_column_may_arrive_cell_by_cell(recaser) -> None:
    cells = [f"{cell}\n".encode() for cell in WORDS]
    recased = recaser.pipeline_with({"cells": True}, "recaser").recase_blocks(cells, jobs=2)
    assert b"".join(recased).decode().splitlines() == WORDS


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
