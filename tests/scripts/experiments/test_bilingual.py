"""scripts/experiments/bilingual.py: tags, predictions by the source, and the command on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import bilingual as experiment
import pytest
from helpers.corpora import DATA

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "bilingual.py"


@pytest.mark.parametrize(
    "word, expected",
    [
        ("Paris", "IU"),
        ("I", "IU"),
        ("NATO", "AU"),
        ("the", "AL"),
        ("iPhone", "MX"),
        ("McX", "MX"),
        ("12", "AN"),
        ("X-ray", "IU"),
    ],
)
def test_tags(word, expected):
    assert experiment.tag(word) == expected


def test_predictions_by_the_source():
    pairs = [("La maison .", "The House ."), ("Le PIB", "the GDP now")]
    held_out = experiment.Aligned(pairs, [[(0, 0), (1, 1), (2, 2)], [(0, 0), (1, 1)]])
    # Linked words with case: 4, of which The and GDP have the source's tag; House is IU from AL, the is AL from IU
    predicted = experiment.predicted_by_source(held_out, ["The house .", "The GDP now"])
    assert predicted == ["50.0", "100.0", "50.0", "20.0", "50.0"]


def test_moved_first_words():
    references, lines = ["The house is Big", "A ball"], ["here the House is big", "A Ball"]
    assert experiment.moved_first_words(references, lines) == 25  # the; not House, big, Ball
    assert experiment.moved_first_words(references, references) == 0


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick():
    for package in ("eflomal", "sacrebleu"):
        pytest.importorskip(package)
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith(("| en →", "| fr →"))]
    precision = {(row[0], row[1]): float(row[2].split()[0]) for row in rows if row[1] in ("trigram", "bilingual")}
    for name in ("en → fr", "fr → en"):
        assert precision[name, "trigram"] < precision[name, "bilingual"]
