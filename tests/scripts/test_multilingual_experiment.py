"""scripts/multilingual_experiment.py: its command on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import pytest
from experiments import DATA

SCRIPT = Path(__file__).parents[2] / "scripts" / "multilingual_experiment.py"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are not here")
def test_quick():
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith(("| de", "| en"))]
    assert [row[0] for row in rows] == ["de", "en"]
    for _, *cells in rows:
        unigram, _, own, together, named, wrong = (float(cell.removesuffix(" %")) for cell in cells)
        assert unigram < own
        assert abs(together - named) < 1
        assert wrong < 5
