"""scripts/data/word_lists.py: a list of a language's words and names, from packages."""

import re
from pathlib import Path

import pytest
from support.word_packages import run_script

SCRIPT = Path(__file__).parents[3] / "scripts" / "data" / "word_lists.py"


@pytest.mark.slow
def test_a_list(tmp_path):
    done = run_script(SCRIPT, "it", "--frequent", "20000", output=tmp_path / "words")
    lines = (tmp_path / "words" / "it.txt").read_text("utf-8").splitlines()
    assert f"{len(set(lines)):,} words and names" in done.stdout
    assert lines == sorted(lines)
    assert {"Germania", "gennaio", "lunedì", "La Spezia", "acqua", "Tokyo"} <= set(lines)
    assert {"2 gennaio 1905", "500 km", "la Seconda guerra mondiale", "dell'Unione Sovietica"} <= set(lines)
    assert lines.count("acqua") > lines.count("acquario") > lines.count("La Spezia") == 1
    assert not any("{" in line for line in lines)


def test_names_in_context_alone(tmp_path):
    run_script(SCRIPT, "it", "--in-context", output=tmp_path / "words")
    lines = (tmp_path / "words" / "it.txt").read_text("utf-8").splitlines()
    assert {"2 gennaio 1905", "la Seconda guerra mondiale"} <= set(lines)
    assert not {"acqua", "Tokyo"} & set(lines)
    refused = run_script(SCRIPT, "it", "--in-context", "--frequent", "9", output=tmp_path / "words")
    assert refused.returncode == 1
    assert "Omit one of them" in refused.stderr


def test_titles():
    """Each row has a cell per language, and only blanks that the script fills."""
    rows = SCRIPT.with_name("titles.tsv").read_text("utf-8").splitlines()
    header, before, *titles = (row.split("\t") for row in rows if not row.startswith("#"))
    assert header == sorted(header)
    assert all(before)
    for row in titles:
        assert len(row) == len(header)
        assert any(row)
        assert all(set(re.findall(r"\{\w*\}", cell)) <= {"{city}", "{country}"} for cell in row)
        assert all(cell == " ".join(cell.split()) for cell in row)
