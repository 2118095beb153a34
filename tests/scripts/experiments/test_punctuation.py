"""scripts/experiments/punctuation.py: its measures, and the command on parts of the data."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import punctuation as experiment
import pytest
from helpers.corpora import DATA
from helpers.earnings21 import REFERENCE, Word

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "punctuation.py"


def words(text: str) -> list[Word]:
    """Return words, of which some have a mark."""
    return [Word(token.rstrip(",.?!"), token[len(token.rstrip(",.?!")) :], "") for token in text.split()]


def test_marks_that_were_inserted() -> None:
    said, written = "a.m. so it's 'yes'", "A.M. so, it's? 'yes.'"
    assert experiment.inserted(said.split(), written).tolist() == [0, 1, 3, 2]


def test_precision_recall_and_f1() -> None:
    true, found = np.array([0, 1, 2, 3, 0, 1]), np.array([0, 1, 2, 0, 1, 0])
    row = ["50.0", "50.0", "50.0", "100.0", "100.0", "100.0", "0.0", "0.0", "0.0", "66.7", "50.0", "57.1"]
    assert experiment.cells(true, found) == row


def test_marks_of_recognized_words() -> None:
    """A mark stays with its word, or goes to the word before if that was not recognized."""
    said = "well, yes. we are here now! are you?"
    assert experiment.marks_of(words(said)).tolist() == [1, 2, 0, 0, 0, 2, 0, 3]
    for heard, expected in {
        "well yes we are here now are you": [1, 2, 0, 0, 0, 2, 0, 3],
        "well we are here are you": [2, 0, 0, 2, 0, 3],
        "well yes uh we are hear now are you": [1, 2, 0, 0, 0, 0, 2, 0, 3],
    }.items():
        call = {REFERENCE: words(said), "recognizer": words(heard)}
        assert experiment.aligned(call, "recognizer").tolist() == expected


def test_f1_of_case() -> None:
    assert experiment.f1_of_case(["A", "b", "C", "NASA"], ["A", "B", "c", "Nasa"]) == pytest.approx(200 / 6)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick(tmp_path: Path) -> None:
    document = tmp_path / "research.md"
    names = ("restored-marks", "restored-pauses", "pause-weights", "restored-case", "restored-speed")
    document.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in names))
    command = [sys.executable, str(SCRIPT), "--quick", "--document", str(document)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = {row[0]: row for row in (line.strip("| ").split(" | ") for line in document.read_text().splitlines())}
    whole = float(rows["TED talks (IWSLT 2011)"][-1])
    assert float(rows["IWSLT 2011 as a stream, 4 words ahead"][-1]) < whole
    assert 35 < whole < 90
    assert float(rows["intrinsic"][1]) - float(rows["intrinsic"][2]) < 4
