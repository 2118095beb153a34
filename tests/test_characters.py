"""Each row of the table of characters in docs/research/languages.md is recased as the table shows."""

import re
import unicodedata
from pathlib import Path

import pytest

import capfst

PAGE = Path(__file__).parent.parent / "docs" / "research" / "languages.md"
ROWS = [
    re.findall(r"`([^`]+)`", line)
    for line in PAGE.read_text("utf-8").partition("## Unicode, case by case")[2].splitlines()
    if line.startswith("| ") and "`" in line
]
"""Rows of training text, input and recased text."""


@pytest.fixture(scope="module")
def recaser(tmp_path_factory: pytest.TempPathFactory) -> capfst.Recaser:
    folder = tmp_path_factory.mktemp("characters")
    (folder / "corpus.txt").write_text("".join(line + "\n" for line, _, _ in ROWS), "utf-8")
    capfst.train(folder / "corpus.txt", folder / "cap.fst", clean=False, context=False)
    return capfst.load(folder / "cap.fst", sentence_case=True)


def test_the_table_is_complete_and_not_normalized() -> None:
    assert len(ROWS) > 15
    decomposed = [line for line, _, _ in ROWS if unicodedata.normalize("NFC", line) != line]
    assert len(decomposed) == 1, "an editor has normalized the page"


@pytest.mark.parametrize(("trained", "text", "recased"), ROWS)
def test_each_row_is_recased_as_the_table_shows(recaser: capfst.Recaser, trained: str, text: str, recased: str) -> None:
    assert recaser(text) == recased
    assert recaser(recased) == recased
    assert "\u0307" in text or recased.lower() == text.lower()
