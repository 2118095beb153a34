"""scripts/experiments/language_rules.py: the command on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.corpora import DATA

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "language_rules.py"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick():
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| tr")]
    f1 = {rules: float(figure) for _, rules, _, figure, _ in cells}
    assert set(f1) == {"Unicode", "tr"}  # a few lines do not show which is better
    assert min(f1.values()) > 50
