"""scripts/experiments/diacritics.py: accuracy, and the command on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import pytest
from diacritics import accuracy
from helpers.corpora import DATA

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "diacritics.py"


def test_accuracy():
    assert accuracy(["a b", "é"], ["a c", "é"]) == 2 / 3


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick():
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| fr")]
    assert [row[1] for row in rows] == ["diacritics", "both"]
    for _, _, *cells in rows:
        as_it_is, most_frequent, _, with_context = map(float, cells)
        assert as_it_is < most_frequent < with_context
