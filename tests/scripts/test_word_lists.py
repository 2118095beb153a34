"""scripts/word_lists.py: a list of a language's words and names, from packages."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "word_lists.py"


@pytest.mark.slow
def test_a_list(tmp_path):
    """Or, without its packages, what to install, in one line."""
    command = [sys.executable, SCRIPT, "it", "-o", tmp_path / "words", "--frequent", "20000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        assert done.stderr.startswith("word_lists.py: error: not installed: ")
        assert done.stderr.endswith("pip install -c constraints.txt '.[words]'\n")
        assert not (tmp_path / "words").exists()
        pytest.skip("the packages of the extra `words` are not installed")
    lines = (tmp_path / "words" / "it.txt").read_text("utf-8").splitlines()
    assert f"{len(lines):,} words and names" in done.stdout
    assert lines == sorted(set(lines))
    assert {"Germania", "gennaio", "lunedì", "La Spezia", "acqua", "Tokyo"} <= set(lines)
