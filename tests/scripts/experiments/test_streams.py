"""scripts/experiments/streams.py: its texts, the words of a stream, and the command on a part of the data."""

import subprocess
import sys
from pathlib import Path

import pytest
import streams
from helpers.corpora import DATA

import capfst

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "streams.py"


def test_plain_lines_have_words_alone_in_intrinsic_case() -> None:
    lines = ["“ The mayor of New-York , said : ( no ) .", "The U.S. don't .", "- .", "IBM is."]
    assert streams.plain(lines) == ["the mayor of New-York said no", "the U.S don't", "IBM is"]


def test_lines_are_taken_until_there_are_enough_words() -> None:
    assert streams.first(iter(["a b", "c", "d"]), 3) == ["a b", "c"]
    assert streams.first(["a"], 3) == ["a"]


def test_a_stream_gives_all_words_and_takes_time() -> None:
    text = streams.Text("web", ["I live in New York", "IBM"], capfst.load())
    for look_ahead in 2, 9:
        seconds: list[float] = []
        assert streams.recased(text, look_ahead, seconds) == [["I", "live", "in", "New", "York"], ["IBM"]]
        assert len(seconds) == 6
    assert streams.f1(text, [["I", "live", "in", "New", "york"], ["IBM"]]) == "85.71"


def test_utterances_are_cut_inside_lines() -> None:
    text = streams.Text("calls", [" ".join(["in New York City"] * 10), "IBM"], capfst.load())
    by_five, *_, by_forty = streams.of_utterances(text)
    assert float(by_five) < float(by_forty) == 100


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick(tmp_path: Path) -> None:
    document = tmp_path / "figures.md"
    names = ("streams-agreement", "streams-f1", "streams-time", "streams-utterances")
    document.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in names))
    command = [sys.executable, str(SCRIPT), "--quick", "--document", str(document)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| calls, words alone | " in done.stdout
    assert document.read_text().count("| web, words alone | ") == 2
