"""Test the marks that a model inserts: in Python, on the command line, in streams and in files."""

import json
import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import run
from support.plain_punctuation import sentences

import capfst
from capfst.context.channel import Style
from capfst.exceptions import CorpusError, ModelError, OptionError
from capfst.fst.trailer import Part
from capfst.models.convert import mix_models
from capfst.punctuation import train
from capfst.punctuation.marks import PART, Punctuation
from capfst.recaser import Recaser

HEARD = "does anna sleep when ben waits the old car waits"


@pytest.fixture(scope="module")
def recaser(model: Path) -> Recaser:
    return capfst.load(model, restore="punctuation,case")


def heard(text: str) -> str:
    """Return text as a recognizer writes it."""
    return re.sub(r"[,.?]", "", text).lower()


def test_marks_and_case_come_back(recaser: Recaser) -> None:
    for n in (1, 3):
        lines = list(islice(sentences(2), 300))
        texts = [" ".join(lines[k : k + n]) for k in range(0, len(lines), n)]
        assert sum(map(str.__eq__, recaser(list(map(heard, texts))), texts)) > 0.95 * len(texts)


def test_marks_alone(recaser: Recaser) -> None:
    text = heard("does anna sleeps?")
    assert recaser(text, restore="punctuation") == "does anna sleeps?"
    assert recaser("DOES ANNA sleeps", restore="punctuation") == "DOES ANNA sleeps?"


def test_a_long_line_of_speech(recaser: Recaser) -> None:
    said = list(islice(sentences(3), 1500))
    text = " ".join(said)
    assert len(text.split()) > 7_500
    found = recaser(heard(text)).split()
    assert len(found) == len(text.split())
    assert sum(map(str.__eq__, found, text.split())) > 0.97 * len(found)


pieces = st.sampled_from([
    *("anna", "Ben", "does", "if", "the", "NASA", "sleeps", "waits", "it's", "don't", "well-known", "東京", "i̇"),
    *(",", ".", "?", "!", "...", "…", "-", "–", '"', "(", ")", "“", "”", "5%", "$3", "http://a.org/b", "@me"),
    *("<b>", "a.m."),
    *(" ", " ", " ", " ", "\n", "\t", "\u00a0"),
])  # fmt: skip


@settings(max_examples=300)
@given(st.lists(pieces, max_size=30).map("".join))
def test_only_marks_and_case_change(recaser: Recaser, text: str) -> None:
    found = recaser(text)
    marks = re.compile("[,.?]").sub
    assert marks("", found).lower() == marks("", text).lower()
    assert re.sub(r"[^\n]", "", found) == re.sub(r"[^\n]", "", text)
    kept = iter(found)
    assert all(character in kept for character in marks("", text) if character.isascii() and not character.isalpha())
    assert all(found.count(mark) >= text.count(mark) for mark in ",.?")
    assert recaser(text, engine="openfst") == found
    assert (
        recaser(text, restore="punctuation")
        == recaser.pipeline.punctuated(np.frombuffer(text.encode(), np.uint8)).tobytes().decode()
    )


@given(st.lists(pieces, max_size=20).map("".join))
def test_lines_are_punctuated_alone(recaser: Recaser, text: str) -> None:
    lines = text.split("\n")
    alone = [recaser(line, restore="punctuation") for line in lines]
    assert recaser(text, restore="punctuation") == "\n".join(alone)


def test_the_style_of_a_text_is_that_with_its_marks() -> None:
    """So that a batch, which learns it from the first lines, writes the others as `recase` does."""
    pipeline, style = capfst.load(restore="punctuation,case").pipeline, Style()
    text = b"we met in may and he Said that he had been in new York for a year who knows then i left\n" * 9
    pipeline.recase_utf8(text, style)
    assert pipeline.style_after(text).counts.tolist() == style.frozen().counts.tolist()


def test_marks_of_the_input(recaser: Recaser) -> None:
    text = "anna sleeps! does Ben waits, if a dog waits; the teacher works..."
    kept = recaser(text, restore="punctuation")
    assert kept.replace("waits; the", "waits, the") == text.replace("waits; the", "waits, the")
    again = recaser(text, restore="punctuation", keep_marks=False)
    assert again == "anna sleeps. does Ben waits? if a dog waits, the teacher works..."


@pytest.mark.parametrize("look_ahead", [0, 2, 8])
def test_streams(recaser: Recaser, look_ahead: int) -> None:
    stream = recaser.stream(look_ahead)
    said = " ".join(islice(sentences(4), 40))
    words = heard(said).split()
    given_out = [stream.add(word) for word in words]
    text = "".join(given_out) + stream.end()
    assert heard(text) == " ".join(words)
    right = sum(map(str.__eq__, text.split(), said.split())) / len(words)
    assert right > (0.7 if look_ahead < 8 else 0.95)
    assert not [text for text in given_out[:look_ahead] if text]
    for text in ("will", "will the old car", "will the old car works in the park"):
        hypothesis = "".join(stream.revise(text))
        assert heard(hypothesis) == text
        assert hypothesis[-1] not in ",.?"  # the utterance goes on
    if look_ahead:
        assert stream.end()[-1] == "?"


def test_the_command_line(model: Path, tmp_path: Path) -> None:
    options = ("--lm", model, "--restore", "punctuation,case")
    assert run("recase", *options, stdin=heard("Does Anna sleeps?")).stdout == b"Does Anna sleeps?"
    assert (
        run("recase", *options, "--stream", "--look-ahead", 8, stdin="will ben waits\n").stdout == b"Will Ben waits?\n"
    )
    assert run("recase", "--lm", model, stdin="anna sleeps").stdout == b"Anna sleeps"
    text = tmp_path / "talk.txt"
    text.write_text("".join(f"{heard(line)}\n" for line in islice(sentences(5), 200)))
    expected = "".join(f"{line}\n" for line in islice(sentences(5), 200))
    run("batch", *options, "--jobs", 2, text, "-o", tmp_path / "out")
    found = (tmp_path / "out" / "talk.txt").read_text()
    assert found == run("recase", *options, text).stdout.decode()
    assert sum(map(str.__eq__, found.splitlines(), expected.splitlines())) > 190
    assert "punctuation" in run("info", "--lm", model).stdout.decode()


def test_subtitles_and_transcripts(model: Path, tmp_path: Path) -> None:
    options = ("--lm", model, "--restore", "punctuation,case")
    cue = "{}\n00:00:0{},000 --> 00:00:0{},500\n{}\n\n"
    texts = ["does anna", "sleeps if ben", "waits the old", "car sleeps"]
    subtitles = tmp_path / "a.srt"
    subtitles.write_text("".join(cue.format(k, k, k, text) for k, text in enumerate(texts, 1)))
    expected = ["Does Anna", "sleeps? If Ben", "waits, the old", "car sleeps."]
    found = run("recase", *options, subtitles).stdout.decode()
    assert found == "".join(cue.format(k, k, k, text) for k, text in enumerate(expected, 1))
    words = [{"word": word, "start": k} for k, word in enumerate(" ".join(texts).split())]
    transcript = tmp_path / "a.json"
    transcript.write_text(
        json.dumps({"text": " ".join(texts), "segments": [{"text": " ".join(texts), "words": words}]})
    )
    recased = json.loads(run("recase", *options, "--format", "whisper", transcript).stdout)
    assert recased["text"] == " ".join(expected)
    assert [word["word"] for word in recased["segments"][0]["words"]] == " ".join(expected).split()


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--nbest", 2], "--restore punctuation cannot be used with --nbest"),
        (["--confidence"], "--restore punctuation cannot be used with --confidence"),
        (["--stream", "--no-keep-marks"], "--no-keep-marks cannot be used with --stream"),
    ],
)
def test_options_that_exclude_marks(model: Path, flags: list[object], reason: str) -> None:
    done = run("recase", "--lm", model, "--restore", "punctuation", *flags, stdin="anna sleeps", code=2)
    assert reason in done.stderr.decode()


def test_markup(recaser: Recaser) -> None:
    page = "<p>does <b>anna</b> sleeps</p>\n<pre>if x</pre>\n<p>will <i>Ben</i> waits"
    marked = "<p>Does <b>Anna</b> sleeps?</p>\n<pre>if x</pre>\n<p>Will <i>Ben</i> waits?"
    assert recaser(page, markup="html") == marked
    assert recaser("does anna [sleep](b.md)", markup="markdown") == "Does Anna [Sleep.](b.md)"


def test_sentence_case_without_case(model: Path) -> None:
    with pytest.raises(OptionError, match="sentence_case"):
        capfst.load(model, restore="punctuation", sentence_case=True)


def test_a_model_without_punctuation(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("In Paris it rains.\n" * 5)
    capfst.train(text, tmp_path / "cap.fst", clean=False)
    with pytest.raises(ModelError, match="restores no punctuation"):
        capfst.load(tmp_path / "cap.fst", restore="punctuation")
    with pytest.raises(CorpusError, match=r"text\.txt: it has only 5 punctuation marks"):
        capfst.train(text, tmp_path / "cap.fst", clean=False, restore="punctuation,case")
    with pytest.raises(ModelError, match="restores no punctuation"):
        capfst.train(text, tmp_path / "new.fst", base=tmp_path / "cap.fst", restore="punctuation,case")


@pytest.mark.parametrize("name", ["labels", "words", "endings", "weights", "reals"])
def test_damaged_parts(recaser: Recaser, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part = recaser.model.parts[PART]
    for array in (part.arrays[name][:-64], np.full_like(part.arrays[name], 0x7F)):
        if name in ("words", "endings", "weights") and array.size == part.arrays[name].size:
            continue  # any byte is a weight
        monkeypatch.setitem(recaser.model.parts, PART, Part(part.settings, part.arrays | {name: array}))
        with pytest.raises(ModelError, match="its part 'punctuation' cannot be used"):
            Punctuation.of(recaser.model)
    monkeypatch.setitem(recaser.model.parts, PART, Part({"format": 0}, part.arrays))
    with pytest.raises(ModelError, match="another version of capfst"):
        Punctuation.of(recaser.model)


def test_threads_do_not_matter(corpus: Path, few_steps: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "LEAST_STEPS", 20)
    for jobs in 1, 2:
        capfst.train(corpus, tmp_path / f"{jobs}.fst", restore="punctuation,case", clean=False, jobs=jobs)
    assert (tmp_path / "1.fst").read_bytes() == (tmp_path / "2.fst").read_bytes()


def test_rare_words(corpus: Path, recaser: Recaser, tmp_path: Path) -> None:
    capfst.train(corpus, tmp_path / "few.fst", restore="punctuation,case", clean=False, max_words=40)
    few = capfst.load(tmp_path / "few.fst", restore="punctuation")
    assert few.model.parts[PART].arrays["labels"].size < recaser.model.parts[PART].arrays["labels"].size
    assert few("does the teacher sleeps") == "does the teacher sleeps?"


def test_adapted_and_mixed_models_keep_punctuation(corpus: Path, model: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("A zebra met Zoe in Zurich.\n" * 20)
    capfst.train(more, tmp_path / "adapted.fst", base=model, clean=False)
    capfst.train(more, tmp_path / "more.fst", clean=False)
    mix_models([model, tmp_path / "more.fst"], tmp_path / "mixed.fst", weights=[0.6, 0.4])
    for name in ("adapted.fst", "mixed.fst"):
        recaser = capfst.load(tmp_path / name, restore="punctuation,case")
        assert (
            recaser("does zoe sleeps if ben waits my sister waits") == "Does Zoe sleeps? If Ben waits, my sister waits."
        )
