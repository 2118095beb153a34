"""scripts/experiments/translation.py: joined pairs, and the command on small parts of the data."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.corpora import DATA
from translation import pivot

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "translation.py"


def test_pivot():
    assert pivot([("one", "uno"), ("two", "dos")], [("three", "trois"), ("two", "deux")]) == [("deux", "dos")]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
@pytest.mark.skipif(not find_spec("sacrebleu"), reason="sacrebleu is not installed")
@pytest.mark.skipif(not shutil.which("apertium"), reason="Apertium is not installed")
def test_quick():
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    bleu = {tuple(row.split(" | ")[:2]): float(row.split(" | ")[2].split()[0]) for row in rows(done.stdout)}
    for name in ("es → en", "en → es", "fr → es"):
        none, recased, perfect = (bleu[name, casing] for casing in ("none", "LM + context", "perfect"))
        assert none < recased < perfect


def rows(text: str) -> list[str]:
    return [line.strip("| ") for line in text.splitlines() if line.startswith("| ") and " → " in line]
