"""Text that continues other text, as in dictation: `recaser(text, before=…)` and `stream(before=…)`."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import FORMS, random_model

import capfst
from capfst.exceptions import OptionError
from capfst.recaser import Recaser


def test_names_of_the_text_before_are_evidence() -> None:
    recaser = capfst.load("en")
    text = "and a velters left"
    assert recaser(text) == recaser(text, before="Then they all sat down and") == text
    for before in "The painter Velters lived in Rome, and", "The painter Velters lived in Rome.\n\nThen":
        assert recaser(text, before=before) == "and a Velters left"
    assert recaser("pytorch", before="We met", words={"PyTorch": None}) == "PyTorch"


def test_marks_continue() -> None:
    recaser = capfst.load("en", restore="punctuation,case", sentence_case=True)
    assert recaser("and what did you say i said yes", before="So we met in New York").startswith(
        "and what did you say?"
    )
    assert recaser("", before="So we met") == ""
    again = recaser("and what, did you say.", before="So, we met. In New York,", keep_marks=False)
    assert again == "and what did you say?"


@pytest.fixture(scope="module")
def trigrams(tmp_path_factory: pytest.TempPathFactory) -> Recaser:
    made = random_model(random.Random(3), order=3, forms=len(FORMS) + 1, ngrams=400)
    return Recaser(made.save(tmp_path_factory.mktemp("before") / "m.fst"))


texts = st.lists(st.sampled_from([*FORMS, "oov", "Oov", "\n", "us.", "`it"]), max_size=12).map(" ".join)


@given(before=texts, text=texts)
def test_only_the_text_is_returned(trigrams: Recaser, before: str, text: str) -> None:
    recased = trigrams(text, before=before)
    assert recased.casefold() == text.casefold()
    assert recased == trigrams(text, before=before, engine="openfst")
    if not before.strip():
        assert recased == trigrams(text)


def test_a_long_text_before_costs_no_more() -> None:
    recaser = capfst.load("en")
    assert recaser("york", before="word " * 500_000 + "in New") == "York"
    for before in "x" * 500_000, "x" + "東" * 500_000, "x" + "é" * 500_000:
        assert recaser("york", before=before) == "York"
    long = "new york " * 200_000
    assert recaser(long, before="We saw") == recaser(long)


def test_a_stream_continues_a_text() -> None:
    recaser = capfst.load("en", sentence_case=True)
    stream = recaser.stream(2, before="The painter Velters lived in New")
    assert (
        "".join([*map(stream.add, ["york", ".", "some", "velters", "left"]), stream.end()])
        == "York . Some Velters left"
    )
    assert stream.add("we left") + stream.end() == "We left"
    stream = recaser.stream(1, before="I met Mary and")
    assert stream.revise("she said") == ("she", " said")
    assert stream.revise("he said no") == ("he said", " no")
    stream = recaser.stream(1, before="So I said that", restore="punctuation,case")
    assert (stream.add("we met in new york what did you say") + stream.end()).startswith("we met in New York")


def test_a_stream_that_restores_marks_alone_keeps_case() -> None:
    stream = capfst.load("en").stream(1, before="So I said that", restore="punctuation")
    text = stream.add("new york is in texas") + stream.end()
    assert text.rstrip(".") == "new york is in texas"


def test_what_cannot_continue() -> None:
    recaser = capfst.load("en")
    for options in {"document": True}, {"wrapped": True}, {"repair": True}, {"markup": "html"}:
        with pytest.raises(OptionError, match="cannot be used with `before`"):
            recaser("new york", before="We saw", **options)
    with pytest.raises(TypeError, match="with `before`, the text must be a str"):
        recaser(["new york"], before="We saw")
    with pytest.raises(TypeError):
        recaser("new york", before=b"We saw")
    with pytest.raises(TypeError, match="stream takes a str"):
        recaser.stream(before=5)
