"""Pauses between words: which gaps they are in, and that they change the marks of transcripts, and nothing else."""

import json
import math
import random
import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run
from support.plain_punctuation import sentences

import capfst
from capfst.io.running_text import Pauses, RunningText, Span, SpokenText
from capfst.punctuation.marks import biases, lengths_of
from capfst.recaser import Recaser


@pytest.fixture(scope="module")
def marks(model: Path) -> Recaser:
    return capfst.load(model, restore="punctuation")


def spoken(words: list[str], silences: list[float]) -> SpokenText:
    """Return words of a second each, with pauses after them."""
    spans = [Span(k, k, word, " " if k else "") for k, word in enumerate(words)]
    begins = np.arange(len(words)) + np.cumsum([0.0, *silences])[:-1]
    return RunningText("", spans, times=lambda: {k: (begin, begin + 1) for k, begin in enumerate(begins)}).text


def test_lengths() -> None:
    """A pause belongs to the last word before it; two in one gap (around a dash) count as the longer one."""
    pauses = Pauses(np.array([1, 2, 6, 8, 11]), np.array([9, 0.0, 0.1, 0.05, 2.0]))
    found = lengths_of(np.array([2, 5, 9, 14]), pauses)
    assert found.tolist() == pytest.approx(
        [math.log(0.3 / 0.45), math.log(0.4 / 0.45), math.log(2.3 / 0.45), 0], abs=1e-6
    )
    added = biases(found)
    assert added.shape == (4, 4)
    assert not added[:, 0].any()
    assert not added[3].any()
    assert added[2, 2] == added[2, 3] > added[2, 1] > 0 > added[0, 1] > added[0, 2]


def test_a_part_of_a_text() -> None:
    part = Pauses(np.array([3, 8, 12, 20]), np.array([0.1, 0.2, 0.3, 0.4])).between(8, 20)
    assert part.ends.tolist() == [0, 4]
    assert part.seconds.tolist() == [0.2, 0.3]


def test_pauses_change_marks(marks: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["does", "anna", "sleeps", "when", "ben", "waits", "the", "old", "car", "waits"]
    silences = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    text = spoken(words, silences)
    monkeypatch.setattr("capfst.punctuation.marks.biases", lambda lengths: 99 * np.outer(lengths > 0, [0, 0, 1, 0]))
    with_pause = bytes(marks.pipeline.recase_text(text)).decode()
    assert "when. ben" in with_pause
    assert "when. ben" not in bytes(marks.pipeline.recase_text(bytes(text))).decode()
    long = spoken(words * 20_000, silences * 20_000)  # more than one piece
    assert bytes(marks.pipeline.recase_text(long)).count(b"when. ben") == 20_000


@given(st.lists(st.tuples(st.sampled_from(["anna", "sleeps", "does", "ben", "—"]), st.sampled_from([0.0, 0.4, 2.0]))))
def test_marks_that_are_removed(marks: Recaser, said: list[tuple[str, float]]) -> None:
    words, silences = [word for word, _ in said], [silence for _, silence in said]
    marked = [word if word == "—" else f"{word}," for word in words]
    without = marks.pipeline.recase_text(spoken(words, silences))
    again = capfst.Recaser(marks.model, restore="punctuation", keep_marks=False)
    assert again.pipeline.recase_text(spoken(marked, silences)) == without
    assert re.sub("[,.?]", "", bytes(without).decode()) == bytes(spoken(words, silences)).decode()


def test_files(model: Path, tmp_path: Path) -> None:
    """Marks in CTM and JSON depend on the pauses; the words and the times stay; `batch` writes the same."""
    options = ("--lm", model, "--restore", "punctuation,case")
    words = re.sub("[,.?]", "", " ".join(islice(sentences(6), 40))).lower().split()
    random.Random(1).shuffle(words)  # so that no rule decides
    times = [(k + 20 * (k // 10), 1) for k in range(len(words))]  # a pause after every tenth word
    found = {}
    for kind in ("*", "times"):
        lines, timed = [], []
        for word, (start, length) in zip(words, times, strict=True):
            lines.append(f"a 1 {start if kind == 'times' else '*'} {length} {word}\n")
            timed.append({"word": word, "end": start + length} | ({"start": start} if kind == "times" else {}))
        ctm, transcript = tmp_path / "a.ctm", tmp_path / "a.json"
        ctm.write_text("".join(lines))
        transcript.write_text(json.dumps({"text": " ".join(words), "result": timed}))
        run("batch", *options, ctm, "-o", tmp_path / "out", "--force")
        recased = run("recase", *options, ctm).stdout.decode()
        assert (tmp_path / "out" / "a.ctm").read_text() == recased
        assert re.sub("[,?]|[.]$", "", recased, flags=re.MULTILINE).lower() == "".join(lines)
        found[kind] = [line.split()[-1] for line in recased.splitlines()]
        of_json = json.loads(run("recase", *options, "--format", "vosk", transcript).stdout)
        assert of_json["text"].split() == [item["word"] for item in of_json["result"]] == found[kind]
    with_mark = {kind: [word[-1] in ",.?" for word in marked[9:-1:10]] for kind, marked in found.items()}
    assert sum(with_mark["times"]) > sum(with_mark["*"])
