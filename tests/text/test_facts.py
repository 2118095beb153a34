"""facts.py: rows and cells of tables, and where the tables are."""

from pathlib import Path

import pytest

from capfst.exceptions import CapfstError
from capfst.text import facts


def test_rows_without_comments() -> None:
    assert facts.rows("lower.tsv")[0] == ["0041", "0061", "TITLE"]
    assert ["0130", "0069 0307"] in facts.rows("lower.tsv")


def test_cells() -> None:
    assert facts.code_points("I") == [ord("I")]
    assert facts.code_points("i 0307 ̀") == [0x69, 0x307, 0x300]


def test_the_tables_of_an_installation_of_a_checkout_and_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "capfst"
    monkeypatch.setattr(facts, "__file__", str(package / "text" / "facts.py"))
    with pytest.raises(CapfstError) as damaged:
        facts.rows("names.tsv")
    assert str(package / "grammars") in str(damaged.value)
    for folder in tmp_path / "grammars", package / "grammars":  # the latter is preferred
        folder.mkdir(parents=True)
        (folder / "names.tsv").write_text(f"# a comment\n{folder.parent.name}\tSMALL\n", "utf-8")
        assert facts.rows("names.tsv") == [[folder.parent.name, "SMALL"]]
