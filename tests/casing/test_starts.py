"""`only="starts"`: capitals at the starts of sentences and of the word I; what must not change."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run
from support.models import FORMS, random_model

import capfst
from capfst.exceptions import OptionError
from capfst.recaser import Recaser


@pytest.fixture(scope="module")
def trigrams(tmp_path_factory: pytest.TempPathFactory) -> Recaser:
    made = random_model(random.Random(5), order=3, forms=len(FORMS) + 1, ngrams=300)
    return Recaser(made.save(tmp_path_factory.mktemp("starts") / "m.fst"), only="starts")


@given(st.lists(st.sampled_from([*FORMS, "oov", "Oov", ".", "?", "\n"]), max_size=20).map(" ".join))
def test_all_else_stays(trigrams: Recaser, text: str) -> None:
    recased = trigrams(text)
    assert recased == trigrams(text, engine="openfst") == trigrams(recased)
    assert recased.split("\n") == ["".join(trigrams.sentences(line)) for line in text.split("\n")]
    changed = [(a, b) for a, b in zip(text, recased, strict=True) if a != b]
    assert all(a == b.lower() for a, b in changed)
    starts = text.count("\n") + text.count(".") + text.count("?") + 1
    assert len(changed) <= starts + sum(word[:1] == "i" for word in text.split())


def test_command_line(tmp_path: Path) -> None:
    assert run("recase", "--only", "starts", stdin="so i met mary. we left\n").stdout == b"So I met mary. We left\n"
    assert b"'starts'" in run("recase", "--only", "names", stdin="x", code=2).stderr
    refused = run("recase", "--only", "starts", "--words", "tech", stdin="x", code=2).stderr
    assert b"--words cannot be used with --only" in refused


def test_what_it_excludes(tmp_path: Path) -> None:
    for options in {"repair": True}, {"restore": "punctuation"}:
        with pytest.raises(OptionError, match="`only`"):
            capfst.load("en", only="starts", **options)
    with pytest.raises(OptionError, match="explain"):
        capfst.load("en", only="starts").explain("new york")
    (tmp_path / "a.txt").write_text("Où est le garçon ? Il est là, près de l'école.\n" * 20)
    capfst.train(tmp_path / "a.txt", tmp_path / "both.fst", restore="both", clean=False)
    with pytest.raises(OptionError, match="restores"):
        capfst.load(tmp_path / "both.fst", only="starts")
