"""scripts/experiments/listed_names.py: entries and errors of a small call, and the command on a part of the data."""

import subprocess
import sys
from pathlib import Path

import listed_names
import pytest
from helpers.corpora import DATA
from helpers.earnings21 import REFERENCE, Call, Word

import capfst

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "listed_names.py"
WORDS = "Zorbex hired Ann Zyx . we at zorbex and zorbex met ann Zyx , of Zorbex , Inc".split()  # noqa: SIM905
TAGS = {0: "1", 2: "2", 3: "2", 6: "3", 8: "4", 10: "5", 11: "5", 13: "6", 14: "6"}
TYPES = {"1": "ORG", "2": "PERSON", "3": "ORG", "4": "DATE", "5": "PERSON", "6": "ORG"}


@pytest.fixture
def call() -> Call:
    words: list[Word] = []
    for word in WORDS:
        if word in (".", ","):
            words[-1] = words[-1]._replace(mark=word)
        else:
            tag = TAGS.get(len(words))
            words.append(Word(word, "", "1", (tag,) if tag else ()))
    return Call({REFERENCE: words}, TYPES)


def test_the_most_frequent_case_is_listed_and_first_words_count_less(call: Call) -> None:
    kind = listed_names.LISTS["names"]
    # Zorbex has a capital only as a first word; the two casings of Ann Zyx are as frequent.
    assert listed_names.listed(call, kind, False, capfst.load()) == {"Ann Zyx": None, "Zorbex Inc": None}
    assert listed_names.listed(call, kind, True, capfst.load()) == {"Ann Zyx": None, "Zorbex, Inc": None}
    assert listed_names.listed(call, listed_names.LISTS["no list"], True, capfst.load()) == {}


def test_errors_inside_sentences_are_counted(call: Call) -> None:
    for marked in (False, True):
        counted = listed_names.errors(call, capfst.load(), marked, listed_names.LISTS["names"])
        assert counted.words == len(call.texts[REFERENCE]) - 2  # without Zorbex and we
        assert counted.examples[("ann", "Ann")] == 1
        assert counted.all == counted.examples.total() >= counted.of_names >= 1


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--quick"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "names, weighted" in done.stdout
