"""scripts/bench/phases.py: a table with a row per phase, and their sum."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tables import phases_table

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_phases_make_a_table(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The President of the US met Mr. O'Neill in New York.\n" * 50)
    command = [
        sys.executable,
        ROOT / "scripts" / "bench" / "phases.py",
        "--quick",
        text,
        "en",
        "--json",
        tmp_path / "r.json",
    ]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed]
    assert rows[0] == ["ns per word", "en, and context", "en, LM alone"]
    assert [len(row) for row in rows] == [3] * 7
    figures = [[float(figure) for figure in row[1:]] for row in rows[2:]]
    for column in zip(*figures, strict=True):
        assert all(figure >= 0 for figure in column)
        assert sum(column[:-1]) == pytest.approx(column[-1], abs=3)
    assert phases_table(json.loads((tmp_path / "r.json").read_text("utf-8"))) == "\n".join(printed)
