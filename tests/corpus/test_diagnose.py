"""Diagnosis: corpora that are not cased text are reported with the cause, and no others."""

import textwrap

import pytest
from support.corpora import corpus
from support.prose import POEM, PROSE, SENTENCES

from capfst.corpus import diagnose as module
from capfst.corpus.diagnose import beginnings, diagnose
from capfst.io.blocks import read_blocks
from capfst.io.wrapped import wrapped_at

JAPANESE = "ニューヨークは大きな都市です。IBMの本社もあります。\n" * 50


def lenient(file, size):
    return read_blocks([file], size, errors="replace")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([SENTENCES], ""),
        ([POEM], ""),
        ([SENTENCES.replace(".\n", "\n")], ""),  # as from a recognizer
        ([SENTENCES, SENTENCES.lower()], ""),
        (["It is new.\n"], ""),
        (["\n12 + 3\n"], ""),
        ([""], ""),
        ([], ""),
        ([SENTENCES.lower()], "hardly any capitals (0.0% of the letters)"),
        (["new york\n"], "hardly any capitals"),
        ([SENTENCES.upper()], "in capitals (100% of the letters)"),
        ([JAPANESE], "no case (88% of the letters)"),
        ([textwrap.fill(PROSE, 72)], ""),
    ],
)  # fmt: skip
def test_causes(texts, message):
    cause = diagnose(texts)
    assert message in cause
    assert bool(message) == bool(cause)


@pytest.mark.parametrize("name", ["en/wikipedia_abstracts", "en/state_union", "de/gesetze", "fr/common_voice"])
def test_real_corpora_look_well(name):
    texts = beginnings([corpus(name)], lenient)
    assert diagnose(texts) == ""
    assert not any(map(wrapped_at, texts))


def test_beginnings_of_some_files(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_FILES", 4)
    monkeypatch.setattr(module, "_BYTES", 10)
    monkeypatch.setattr("capfst.io.blocks.PIECE", 10)
    files = [tmp_path / str(k) for k in range(10)]
    for file in files:
        file.write_bytes(b"text %s\n" % file.name.encode() * 99 + b"\xff\n")
    assert beginnings(files, lenient) == [f"text {k}\n" * 2 for k in (0, 3, 6, 9)]
    assert beginnings(files[:1], lenient) == ["text 0\n" * 2]
