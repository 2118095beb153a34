"""glued.py: sentences and titles without white space after the period."""

from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capfst
from capfst.casing import transducer
from capfst.casing.glued import (
    ABBREVIATION,
    BEGINS,
    DOMAIN,
    NAME,
    OFTEN,
    SMALL,
    FirstWords,
    glue,
)
from capfst.casing.word_index import build_index
from capfst.fst.symbols import Symbols, check
from capfst.recaser import Recaser, load
from capfst.text.unicode import lower

CORPUS = """\
He left.
She stayed at home.
We met Mr. Jones in town.
Then we left.
They say that she left.
We left!
He stayed!
Who is Mr. Jones?
They have a foo and an x there.
I left.
Don't go.
We go.
We met 2 of them.
"""


@pytest.fixture(scope="module")
def recaser(tmp_path_factory: pytest.TempPathFactory) -> Recaser:
    folder = tmp_path_factory.mktemp("glued")
    (folder / "corpus.txt").write_text(CORPUS * 40, "utf-8")
    capfst.train(folder / "corpus.txt", folder / "cap.fst")
    return load(folder / "cap.fst", sentence_case=True)


def test_other_engine_and_lines(recaser: Recaser) -> None:
    text = "he left.she stayed.\n\nwe met mr.jones!he left.then left.foo\nx"
    expected = "He left.She stayed.\n\nWe met Mr.Jones!He left.Then left.foo\nX"
    assert recaser(text) == recaser(text, engine="openfst") == expected
    assert recaser.sentences("he left.she stayed. we left!he stayed") == [
        "He left.", "She stayed. ", "We left!", "He stayed",
    ]  # fmt: skip
    assert recaser(text, breaks=False) == "He left.she stayed.\n\nWe met Mr.Jones!he left.then left.foo\nX"


@pytest.mark.parametrize(
    "words",
    ["go|.|i", "2|.|she", "left|.|DO|N'T", "go|!|he|.|she|?|left|.|he", "“|go|.|she|”", "2.i"],  # the last is a label
)
def test_words(recaser: Recaser, words: str) -> None:
    text = words.replace("|", "").encode()
    found = recaser.pipeline.loaded.transducer.words(np.frombuffer(text, np.uint8))
    assert [text[i:j].decode() for i, j in zip(found.starts, found.ends, strict=True)] == words.split("|")


def test_threads(recaser: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another thread finds out about words while a text is read does not change its words."""
    found = load(recaser.pipeline.loaded.model.path).pipeline.loaded.transducer
    text, match = np.frombuffer(b"he left.she stayed" + 40 * b" go", np.uint8), transducer._match

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(transducer, "_match", match)
        matched = match(*arguments)
        other = Thread(target=found.words, args=(text,))
        other.start()
        other.join()
        return matched

    monkeypatch.setattr(transducer, "_match", interrupted)
    first, second = found.words(text), found.words(text)
    assert first.starts.tolist() == second.starts.tolist()
    assert first.starts[:5].tolist() == [0, 3, 7, 8, 12]


WORDS = st.sampled_from(
    ["left", "she", "mr", "jones", "foo", "it", "in", "com", "2010", "2", "a", "é", "node", "js", "I'd", "don't"]
)
MARKS = st.sampled_from([".", "!", "?", " ", ". ", "\n", "..", ",", "(", '"', "/"])


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(WORDS, MARKS), max_size=8), st.randoms(use_true_random=False))
def test_words_do_not_depend_on_case(recaser: Recaser, parts, rng) -> None:
    """A text and any casing of it have the same words, in order and apart; and nothing but case changes."""
    text = "".join(word + mark for word, mark in parts)
    casing = "".join(rng.choice([str.upper, str.lower])(character) for character in text)
    tokens = [recaser.pipeline.loaded.transducer.words(np.frombuffer(t.encode(), np.uint8)) for t in (text, casing)]
    for one, other in zip(*tokens, strict=True):
        assert one.tolist() == other.tolist()
    starts, ends = tokens[0].starts.tolist(), tokens[0].ends.tolist()
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert lower(recaser(casing)) == lower(casing)


def test_bits() -> None:
    words = ["left", "she", "mr", "Mr", "Jones", "in", "it"]
    symbols = Symbols.from_words(sorted(words, key=lambda word: (word.lower(), word)))
    starts = check(symbols)
    label = {word: k for k, word in enumerate(symbols)}
    first = {"she": 9.5, "in": 7, "it": 5, "left": 7.9}
    order = sorted(first, key=label.__getitem__)
    arcs = FirstWords(
        np.array([label[word] for word in order], np.int32), np.array([first[word] for word in order], np.float32)
    )
    bits = glue(symbols, starts, build_index(symbols, starts), arcs, ["mr", "none", "unheard-of"])
    expected = {
        "left": SMALL | BEGINS, "she": SMALL, "Mr": NAME | ABBREVIATION, "Jones": NAME,
        "in": SMALL | DOMAIN | BEGINS, "it": SMALL | DOMAIN | BEGINS | OFTEN,
    }  # fmt: skip
    assert {word: bits[label[word]] for word in expected} == expected
    assert bits[0] == 0
