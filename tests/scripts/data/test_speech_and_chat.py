"""scripts/data/speech_and_chat.py: goldens, and a model that learns spelled abbreviations from its output."""

from pathlib import Path

import pytest
import speech_and_chat
from click.testing import CliRunner

import capfst

PLAIN = "An oak is a tree, so is a fir."

CHAT = {
    "Are you there, Anna?": "R u there, Anna?",
    "We saw that you are late.": "We saw that u r late.",
    "“Thank you,” he said.": "“Thx,” he said.",
    "I don't know what I think of your plan.": "Idk what imo of ur plan.",
    "You've no thanks.": "You've no thx.",
    "Because of rain we went without the dog.": "B/c of rain we went w/o the dog.",
    "With the dog, because he barks.": "W/ the dog, cuz he barks.",
    "I'm gonna buy bread and butter.": "I'm gon na buy bread & butter.",
    PLAIN: PLAIN,
}
SPEECH = {
    "An FBI agent, he said, met us.": "An F B I agent he said met us.",
    "The U.S. and the NASA's CEOs": "The U S and the N A S A's C E Os.",
    "It was (in WW II) an e-mail: no XML-file.": "It was in W W II an e mail no X M L-file.",
    "Louis XIV was a king.": "Louis XIV was a king.",
    PLAIN: PLAIN,
}
SPOKEN = """\
The FBI said so.
An FBI agent came.
We saw the BBC and the NBC.
We saw an ABC of it.
Then NASA said so.
The CNN said so.
"""


@pytest.mark.parametrize("line", CHAT)
def test_chat(line):
    assert speech_and_chat.EDITED.search(line) or line == CHAT[line]
    written = speech_and_chat.chat(line)
    for word in speech_and_chat.INTERJECTIONS:  # if one is inserted, the rest is unchanged
        if written != CHAT[line]:
            written = written.replace(f" {word}", "", 1)
    assert written == CHAT[line]


@pytest.mark.parametrize("line", SPEECH)
def test_speech(line):
    assert speech_and_chat.speech(line) == SPEECH[line]


def test_interjections():
    lines = [f"The tree has {n} leaves." for n in range(400)]
    written = [speech_and_chat.chat(line) for line in lines]
    assert 60 < sum(line != before for line, before in zip(written, lines, strict=True)) < 140
    assert any(line.startswith("Omg the tree") for line in written)
    assert any(line.endswith("leaves lol.") for line in written)
    assert any(line.startswith("The um tree") for line in written)


def write(kind: str, source: Path, output: Path, *options: str) -> bytes:
    done = CliRunner().invoke(speech_and_chat.main, [kind, str(source), "-o", str(output), *options])
    assert done.exit_code == 0, done.output
    return output.read_bytes()


def test_only_changed_lines_are_kept(tmp_path):
    (tmp_path / "text").write_text(f"{PLAIN}\nAn FBI agent.\nA BBC man.\n")
    assert write("speech", tmp_path / "text", tmp_path / "out") == b"An F B I agent.\nA B B C man.\n"
    assert write("speech", tmp_path / "text", tmp_path / "out", "--one-in", "2") == b"A B B C man.\n"


def test_a_model_learns_spelled_letters(tmp_path):
    (tmp_path / "text").write_text(SPOKEN * 20)
    write("speech", tmp_path / "text", tmp_path / "speech")
    capfst.train([tmp_path / "text", tmp_path / "speech"], tmp_path / "both.fst")
    spelled = "They saw the F B I"
    assert capfst.load(tmp_path / "both.fst", sentence_case=True)(spelled.lower()) == spelled
