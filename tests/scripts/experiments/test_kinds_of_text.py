"""scripts/experiments/kinds_of_text.py: how texts are made, and the command on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import kinds_of_text
import pytest
from helpers.corpora import DATA

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "kinds_of_text.py"


def test_headlines():
    lines = ["The US and an ally sign a pact.", "Too short.", "Is this a headline at all?"]
    assert kinds_of_text.headlines(lines) == ["The US and an ally sign a pact"]
    assert kinds_of_text.title_case("“the iPhone of an ally is in") == "“The iPhone of an Ally Is In"


def test_ambiguous_words():
    assert kinds_of_text.ambiguous(["It is us , the US", "And it is"]) == pytest.approx(100 * 2 / 6)


def test_blocks():
    assert kinds_of_text.blocks([*map(str, range(10))], 2, 3) == ["0", "1", "2", "5", "6", "7"]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick():
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "LM + context" in done.stdout
