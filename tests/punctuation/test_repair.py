"""--repair: stretches that have lost case and marks are restored, and nothing else changes."""

import json
import re
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.command_line import run
from support.plain_punctuation import sentences

import capfst
from capfst import repair
from capfst.casing.stretches import CASELESS, KEPT, LOST_MARKS, Observed
from capfst.exceptions import OptionError
from capfst.recaser import Recaser


@pytest.fixture(scope="module")
def recaser(model: Path) -> Recaser:
    return capfst.load(model, repair=True)


def damaged(lines: list[str], first: int, last: int, shouted: bool = False) -> list[str]:
    """Return lines of which some have lost their marks and their case."""
    bare = (re.sub(r"[,.?]", "", line) for line in lines[first:last])
    return [*lines[:first], *(line.upper() if shouted else line.lower() for line in bare), *lines[last:]]


@pytest.mark.parametrize("joins", ["\n", " "])
@pytest.mark.parametrize("shouted", [False, True])
def test_a_stretch_is_repaired(recaser: Recaser, joins: str, shouted: bool) -> None:
    lines = list(islice(sentences(7), 120))
    given = joins.join(damaged(lines, 50, 80, shouted))
    found = recaser(given).split()
    before, after = sum(len(line.split()) for line in lines[:50]), sum(len(line.split()) for line in lines[:80])
    words = joins.join(lines).split()
    assert found[:before] == words[:before]
    assert found[after:] == words[after:]
    assert sum(map(str.__eq__, found[before:after], words[before:after])) > 0.95 * (after - before)


def test_capitals_alone_are_repaired(recaser: Recaser) -> None:
    lines = list(islice(sentences(8), 60))
    assert recaser("\n".join([*lines[:20], *map(str.upper, lines[20:40]), *lines[40:]])) == "\n".join(lines)


def test_a_text_without_case_is_repaired_as_a_whole(recaser: Recaser) -> None:
    lines = list(islice(sentences(9), 60))
    found, words = recaser("\n".join(damaged(lines, 0, 60))).split(), " ".join(lines).split()
    assert sum(map(str.__eq__, found, words)) > 0.95 * len(words)


pieces = st.sampled_from([
    *("Anna", "anna", "BEN", "does", "if", "the", "NASA", "sleeps", "it's", "東京", "i̇", "İ", "ß", "ΟΔΟΣ", "a.m."),
    *(",", ".", "?", "!", "…", "-", '"', "(", "http://a.org/B", "<b>", " ", " ", " ", "\n", "\t", "\0"),
])  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, max_size=40).map("".join))
@example("ΟΔΟΣ,ΟΔΟΣ")
def test_only_marks_and_case_change(recaser: Recaser, text: str) -> None:
    marks = re.compile("[,.?]").sub
    assert marks("", recaser(text).lower()) == marks("", text.lower())  # a final sigma depends on what follows


@settings(max_examples=20, deadline=None)
@given(st.integers(10, 10_000))
def test_whole_text_stays(recaser: Recaser, seed: int) -> None:
    text = " ".join(islice(sentences(seed), 40))
    assert recaser(text) == text


def test_files(model: Path, tmp_path: Path) -> None:
    lines = list(islice(sentences(11), 60))
    (tmp_path / "text.txt").write_text("\n".join(damaged(lines, 20, 40)) + "\n")
    done = run("recase", "--repair", "--lm", model, tmp_path / "text.txt")
    assert done.stdout.decode().splitlines()[:20] == lines[:20]
    assert done.stdout.decode().splitlines()[40:] == lines[40:]
    note = r'capfst: repaired 1?\d\d words in 1 stretch: line (20|21|22) \("\w+ \w+ \w+ \w+ …"\)\n'
    assert re.fullmatch(note, done.stderr.decode())
    segments = [{"id": n, "text": f" {line}"} for n, line in enumerate(damaged(lines, 20, 40))]
    (tmp_path / "talk.json").write_text(json.dumps({"text": "", "segments": segments}, indent=1))
    done = run("recase", "--repair", "--lm", model, tmp_path / "talk.json")
    found = [segment["text"].strip() for segment in json.loads(done.stdout)["segments"]]
    assert (found[:20], found[40:]) == (lines[:20], lines[40:])
    assert sum(map(str.__eq__, found[20:40], lines[20:40])) >= 18


def test_stretches_are_listed(recaser: Recaser) -> None:
    lines = list(islice(sentences(12), 90))
    text = "\n".join(damaged(damaged(lines, 10, 30), 60, 80))
    first, second = recaser.stretches(text)
    assert abs(first.line - 10) <= 1
    assert abs(second.line - 60) <= 1
    for found, begin in ((first, 10), (second, 60)):
        n_words = sum(len(line.split()) for line in lines[begin : begin + 20])
        assert found.words == pytest.approx(n_words, abs=8)
    assert recaser.stretches("\n".join(lines)) == []


def test_numbers_alone_are_no_stretch(recaser: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between lines that cannot be compared, only numbers may be left of a stretch."""
    text = np.frombuffer(b"Anna sleeps.\n1990 2000\nBen waits.\n", np.uint8)

    def find(observed: Observed) -> npt.NDArray[np.uint8]:
        return np.where(observed.written == CASELESS, LOST_MARKS[0], KEPT).astype(np.uint8)

    monkeypatch.setattr(repair, "find", find)
    found, stretches = repair.repaired(recaser.pipeline.writer, text)
    assert (found.tobytes(), stretches) == (text.tobytes(), [])


def test_options_that_exclude_repair(recaser: Recaser, model: Path) -> None:
    with pytest.raises(OptionError, match="`repair` cannot be used with `restore`"):
        recaser("a", restore="punctuation,case")
    with pytest.raises(OptionError, match="`repair` cannot be used with nbest"):
        recaser.nbest("a", 2)
    refused = run("recase", "--repair", "--stream", "--lm", model, code=2).stderr.decode()
    assert "--repair cannot be used with --stream" in refused
