"""scripts/experiments/repair.py: damaged texts, and the command on parts of the data."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import repair as experiment
from helpers.corpora import DATA

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "repair.py"


def test_damaged_words() -> None:
    words = ["Anna", "sleeps,", "“Ben”", "waits."] * 500
    found, lost = experiment.damaged(words, 30, np.random.default_rng(1))
    assert lost.sum() % 30 == 0
    assert 30 <= lost.sum() < 250
    for word, old, is_lost in zip(found, words, lost, strict=True):
        assert word.lower() == (old.strip(",.“”").lower() if is_lost else old.lower())
        assert (word in (word.lower(), word.upper())) if is_lost else (word == old)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick(tmp_path: Path) -> None:
    document = tmp_path / "research.md"
    document.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in ("repair-lengths", "repair-texts")))
    command = [sys.executable, str(SCRIPT), "--quick", "--document", str(document)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = {row[0]: row for row in (line.strip("| ").split(" | ") for line in document.read_text().splitlines())}
    assert float(rows["all"][1]) > 95
    assert float(rows["all"][2]) < 0.2
