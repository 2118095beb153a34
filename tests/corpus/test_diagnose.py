"""Diagnosis: what is no text of cased sentences is told with its cause, and nothing else is."""

import os
import textwrap
from pathlib import Path
from pydoc_data.topics import topics
from threading import Thread

import pytest

from capfst.corpus import diagnose as module
from capfst.corpus.diagnose import beginnings, diagnose, wrapped_at

PROSE = " ".join(" ".join(topics[name].split()) for name in ("objects", "assignment", "class", "import"))
SENTENCES = PROSE.replace(". ", ".\n")
JAPANESE = "ニューヨークは大きな都市です。IBMの本社もあります。\n" * 50
POEM = "Season of mists and mellow fruitfulness,\nClose bosom-friend\nof the maturing sun;\n" * 50


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([SENTENCES], ""),
        ([POEM], ""),
        ([SENTENCES.replace(".\n", "\n")], ""),  # of a recognizer
        ([SENTENCES, SENTENCES.lower()], ""),
        (["It is new.\n"], ""),
        (["\n12 + 3\n"], ""),
        ([""], ""),
        ([], ""),
        ([SENTENCES.lower()], "hardly any capitals (0.0% of the letters): train"),
        (["new york\n"], "hardly any capitals"),
        ([SENTENCES.upper()], "in capitals (100% of the letters): train"),
        ([JAPANESE], "no case (88% of the letters)"),
        ([textwrap.fill(PROSE, 72)], "wrapped at about 72 characters: put each sentence"),
        (["\n\n".join(textwrap.fill(line, 60) for line in SENTENCES.split("\n"))], "wrapped at about 60"),
        ([textwrap.fill(PROSE, 100).replace("\n", "\r\n"), textwrap.fill(PROSE, 60), SENTENCES], "wrapped at about 80"),
        ([textwrap.fill(PROSE, 100), SENTENCES], ""),
        (["\n".join(topics.values())], "wrapped at about 7"),
    ],
)  # fmt: skip
def test_causes(texts, said):
    found = diagnose(texts)
    assert said in found
    assert bool(said) == bool(found)


@pytest.mark.parametrize("width", [40, 72, 130])
def test_the_width_is_found_although_some_words_are_longer(width):
    words = PROSE.split()
    words[1000] = "x" * 300
    lines = textwrap.wrap(" ".join(words), width, break_long_words=False, break_on_hyphens=False)
    assert width - 3 <= wrapped_at("\n".join(lines)) <= width


@pytest.mark.parametrize("name", ["en/wikipedia_abstracts", "en/frus", "de/gesetze", "fr/common_voice"])
def test_real_corpora_look_well(name):
    file = Path(__file__).parents[2] / "shared/data/train" / f"{name}.txt.zst"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    assert diagnose(beginnings([file])) == ""


def test_beginnings_of_some_files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_FILES", 4)
    monkeypatch.setattr(module, "_BYTES", 10)
    monkeypatch.setattr("capfst.corpus.read.PIECE", 10)
    files = [tmp_path / str(k) for k in range(10)]
    for file in files:
        file.write_bytes(b"text %s\n" % file.name.encode() * 99 + b"\xff\n")
    assert beginnings(files) == [f"text {k}\n" * 2 for k in (0, 3, 6, 9)]
    assert beginnings(files[:1]) == ["text 0\n" * 2]


def test_a_pipe_is_left_as_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: Path(pipe).write_bytes(b"It is new.\n"))
    writer.start()
    assert beginnings([pipe]) == []
    assert pipe.read_bytes() == b"It is new.\n"
    writer.join()
