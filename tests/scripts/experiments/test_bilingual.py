"""scripts/experiments/bilingual.py on small parts of the data: the source helps."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.corpora import DATA

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "bilingual.py"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick():
    pytest.importorskip("eflomal")
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith(("| en →", "| fr →"))]
    precision = {(row[0], row[1]): float(row[2].split()[0]) for row in rows if row[1] in ("trigram", "bilingual")}
    for name in ("en → fr", "fr → en"):
        assert precision[name, "trigram"] < precision[name, "bilingual"]
