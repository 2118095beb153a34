"""scripts/experiments/speech.py: words and their intrinsic case, and the command on small parts of the data."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import speech
from helpers.corpora import DATA
from helpers.intrinsic_case import inside_case
from helpers.text import is_spoken, spell, split, unspell

DOMAINS = "earnings calls", "dialogs"
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


def test_words_of_a_line():
    line = split("The U.S. team’s AT&T year-end, he said. Who? I.")
    assert line.words == ["The", "US", "team's", "AT&T", "year", "end", "he", "said", "Who", "I"]
    assert [word for word, first in zip(line.words, line.first, strict=True) if first] == ["The", "Who", "I"]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("we met him in York today", True),
        ("Then I met him in town", False),  # no capital except that of I and a positional one
        ("we met him in York", True),
        ("met in York", False),  # short
        ("we met him in York in 1999", False),
        ("we met him in Zürich today", False),
    ],
)
def test_spoken_sentences(text, spoken):
    line = split(text)
    assert is_spoken(line, inside_case([(line.words, line.first)])[0]) == spoken


def test_spelling_of_surface_forms():
    assert [spell(form) for form in ("new", "New", "iPhone", "AT&T")] == ["new", "_new", "i_phone", "_a_t&_t"]
    assert unspell("i_phone by _a_t&_t") == "iPhone by AT&T"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
@pytest.mark.skipif(not shutil.which("flite"), reason="flite is not installed")
@pytest.mark.skipif(not find_spec("pocketsphinx"), reason="pocketsphinx is not installed")
def test_quick():
    done = subprocess.run([sys.executable, SCRIPT, "--quick"], capture_output=True, text=True, check=True)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    google = next(row for row in rows if row[0] == "google")
    assert float(google[4].split()[0]) < float(google[2].split()[0])  # the CER of capfst's casing, and of Google's own
    spoken = {tuple(row[:2]): float(row[3].split()[0]) for row in rows if len(row) == 5 and row[0] in DOMAINS}
    for domain in DOMAINS:
        assert spoken[domain, "lowercase"] == 100


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
