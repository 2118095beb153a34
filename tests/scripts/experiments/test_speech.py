"""scripts/experiments/speech.py: words and their intrinsic case, and the command on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import pytest
import speech
from helpers.corpora import DATA
from helpers.intrinsic_case import inside_case

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "speech.py"


@pytest.mark.parametrize(
    ("text", "intrinsic"),
    [
        ("We said that we are here", "we said that we are here"),
        ("Apple sold what Apple made", "Apple sold what Apple made"),
        ("I think that I am", "I think that I am"),
        ("Additionally this", "additionally this"),  # no other occurrence: not a name
        ("IBM said so", "IBM said so"),
    ],
)
def test_case_inside_sentences(text, intrinsic):
    words = text.split()
    assert inside_case([(words, [True] + [False] * (len(words) - 1))]) == [intrinsic.split()]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick():
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    google = next(row for row in rows if row[0] == "google")
    assert float(google[4].split()[0]) < float(google[2].split()[0])  # the CER of capfst's casing, and of Google's own


def test_the_model_of_calls_is_trained_on_the_texts_of_the_card(tmp_path, monkeypatch):
    """Also on those that are rewritten as chat and speech."""
    data, work = tmp_path / "data", tmp_path / "work"
    for name in speech.QUICK_SOURCES:
        file = data / "train" / "en" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("We met you and the FBI in York.\nAre you there, Ann?\n" * 30, "utf-8")
    monkeypatch.setattr(speech, "WORK", work)
    written = []
    run = speech.run
    monkeypatch.setattr(speech, "run", lambda *words: written.append(words) or run(*words))
    model, texts = speech.model(data, quick=True)
    assert model.exists()
    assert sorted(text.name for text in texts) == sorted(speech.QUICK_SOURCES)
    rewritten = {words[1]: [Path(word).name for word in words[2:-4]] for words in written[1:]}
    assert rewritten == {"chat": ["common_voice.txt"], "speech": ["usgov_web.txt", "wikinews.txt"]}
