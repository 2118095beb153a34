"""--repair: stretches that have lost case and marks are restored, and nothing else changes."""

import json
import re
from itertools import islice
from operator import itemgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.command_line import run
from support.plain_punctuation import sentences

import capfst
from capfst import repair
from capfst.batch.tally import counting
from capfst.casing.stretches import CASELESS, KEPT, LOST_MARKS, Observed
from capfst.exceptions import OptionError
from capfst.io.protocol import RecaseCounts, Stretch
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


def clock(seconds: int) -> str:
    return f"00:{seconds // 60:02d}:{seconds % 60:02d}"


def test_a_batch_reports_what_was_repaired(model: Path, tmp_path: Path) -> None:
    """The place of a stretch is a line, or a time if the file has times; jobs do not change the report."""
    lines = damaged(list(islice(sentences(11), 60)), 20, 40)
    given, texts = tmp_path / "given", [{"text": line} for line in lines]
    given.mkdir()
    times = [(f"{clock(3 * k)},000", f"{clock(3 * k + 2)},500") for k in range(60)]
    cues = [
        f"{k}\n{' --> '.join(both)}\n{line}\n\n" for k, (both, line) in enumerate(zip(times, lines, strict=True), 1)
    ]
    segments = [{"start": 3 * k, "end": 3 * k + 2.5, "text": f" {line}"} for k, line in enumerate(lines)]
    (given / "a.txt").write_text("\n".join(lines) + "\n")
    (given / "b.jsonl").write_text("".join(json.dumps(text) + "\n" for text in [{}, *texts]))
    (given / "c.csv").write_text("id,text\n" + "".join(f'"{k}\n","{line}"\n' for k, line in enumerate(lines)))
    (given / "d.srt").write_text("".join(cues))
    (given / "e.json").write_text(json.dumps({"text": "", "segments": segments}))
    pq.write_table(pa.table({"text": [None, *lines]}), given / "f.parquet")
    reports = []
    command = ["batch", "--repair", "--lm", model, given, "--on-error", "pass", "--report", tmp_path / "report"]
    for jobs in ("1", "3"):
        done = run(*command, "-o", tmp_path / jobs, "--jobs", jobs)
        report = json.loads((tmp_path / "report").read_text())
        files = sorted(report["files"], key=itemgetter("input"))
        reports.append([{key: file[key] for key in file.keys() - {"output", "seconds"}} for file in files])
    assert reports[0] == reports[1]
    places = {Path(file["input"]).name: file["places"] for file in reports[0]}
    assert [len(found) for found in places.values()] == [1] * 6
    first = {name: found[0]["line"] for name, found in places.items()}
    line = first["a.txt"]
    assert line in (20, 21, 22)
    assert (first["b.jsonl"], first["c.csv"], first["f.parquet"]) == (line + 1, 2 * line + 1, line + 1)
    assert (first["d.srt"], first["e.json"]) == (4 * line - 1, 1)
    assert places["d.srt"][0]["seconds"] == places["e.json"][0]["seconds"] == 3 * (line - 1)
    assert places["a.txt"][0]["seconds"] is None
    for file in reports[0]:
        assert (file["stretches"], file["repaired"]) == (1, file["places"][0]["words"])
        assert 15 < file["changed"] <= file["repaired"]
    assert (report["stretches"], report["repaired"]) == (6, sum(file["repaired"] for file in reports[0]))
    notes = done.stderr.decode()
    assert notes.count(f' in 1 stretch: 0:01:{3 * (line - 1) - 60:02d} ("') == 2
    assert f' in 1 stretch: line {line} ("' in notes
    again = run(*command, "-o", tmp_path / "3")
    assert b"6 done before" in again.stderr
    same = [file["places"] for file in json.loads((tmp_path / "report").read_text())["files"]]
    assert sorted(map(str, same)) == sorted(str(file["places"]) for file in reports[1])


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, max_size=40).map("".join))
@example("İ İ. Anna sleeps, İ and ben")
def test_a_batch_counts_what_changed(recaser: Recaser, text: str) -> None:
    written, counts = counting(recaser)(text.encode())
    assert bytes(written).decode() == recaser(text)
    assert 0 <= counts.changed <= counts.tokens
    assert (counts.changed > 0) <= (counts.stretches > 0)


def test_few_places_are_listed() -> None:
    stretches = [Stretch(k, 30, "a b") for k in range(RecaseCounts.LISTED + 5)]
    counts = RecaseCounts.of_repair(stretches[:15]) + RecaseCounts.of_repair(stretches[15:])
    assert (counts.stretches, counts.repaired) == (len(stretches), 30 * len(stretches))
    assert counts.places == tuple(stretches[: RecaseCounts.LISTED])
    assert counts.repair.startswith('repaired 750 words in 25 stretches: line 1 ("a b …"), line 2 ')
    assert counts.repair.endswith('line 20 ("a b …"), …')


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


def test_stretches_are_those_of_the_same_call(recaser: Recaser) -> None:
    lines = list(islice(sentences(12), 60))
    text = "\n".join([*lines[:20], "<pre>", *damaged(lines[20:40], 0, 20), "</pre>", *lines[40:]])
    assert recaser(text, markup="html") == text
    assert recaser.stretches(text, markup="html") == []
    assert recaser.stretches(text) != []


def test_a_text_may_arrive_line_by_line(recaser: Recaser) -> None:
    lines = [f"{line}\n" for line in damaged(list(islice(sentences(7), 120)), 50, 80)]
    found: list[Stretch] = []
    recased = recaser.pipeline.recase_blocks(map(str.encode, lines), 2, found.extend)
    assert b"".join(recased).decode() == recaser("".join(lines))
    assert found == recaser.stretches("".join(lines))


def test_a_text_without_words_stays(recaser: Recaser) -> None:
    assert recaser("&lt;b&gt;") == "&lt;b&gt;"


def test_numbers_alone_are_no_stretch(recaser: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between lines that cannot be compared, only numbers may be left of a stretch."""
    text = np.frombuffer(b"Anna sleeps.\n1990 2000\nBen waits.\n", np.uint8)

    def find(observed: Observed) -> npt.NDArray[np.uint8]:
        return np.where(observed.written == CASELESS, LOST_MARKS[0], KEPT).astype(np.uint8)

    monkeypatch.setattr(repair, "find", find)
    found = repair.repaired(recaser.pipeline.writer, text)
    assert (found.text.tobytes(), found.stretches) == (text.tobytes(), [])


def test_options_that_exclude_repair(recaser: Recaser, model: Path) -> None:
    with pytest.raises(OptionError, match="`repair` cannot be used with `restore`"):
        recaser("a", restore="punctuation,case")
    with pytest.raises(OptionError, match="`repair` cannot be used with nbest"):
        recaser.nbest("a", 2)
    with pytest.raises(OptionError, match="`repair` cannot be used with recase_lines"):
        recaser.recase_lines(["a"])
    refused = run("recase", "--repair", "--stream", "--lm", model, code=2).stderr.decode()
    assert "--repair cannot be used with --stream" in refused
