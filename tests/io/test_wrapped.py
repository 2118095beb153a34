"""Wrapped text is distinguished from other text, and its paragraphs are restored."""

import textwrap
from pydoc_data.topics import topics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.prose import POEM, PROSE, SENTENCES

from capfst.io.wrapped import paragraphs, wrapped_at


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        (SENTENCES, range(1)),
        (POEM, range(1)),
        (SENTENCES.replace(".\n", "\n"), range(1)),  # as from a recognizer
        ("It is new.\n", range(1)),
        ("", range(1)),
        ("\n" * 99, range(1)),
        (textwrap.fill(PROSE, 72), range(70, 73)),
        ("\n\n".join(textwrap.fill(line, 60) for line in SENTENCES.split("\n")), range(58, 61)),
        (textwrap.fill(PROSE, 100).replace("\n", "\r\n"), range(98, 101)),
        (textwrap.indent(textwrap.fill(PROSE, 190), " " * 8), range(196, 199)),
        (textwrap.fill(PROSE, 220), range(1)),
        ("\n".join(topics.values()), range(70, 80)),
    ],
)  # fmt: skip
def test_the_width(text, widths):
    assert wrapped_at(text) in widths


@pytest.mark.parametrize("width", [40, 72, 130])
def test_some_words_may_be_longer_than_the_width(width):
    words = PROSE.split()
    words[1000] = "x" * 300
    lines = textwrap.wrap(" ".join(words), width, break_long_words=False, break_on_hyphens=False)
    assert width - 3 <= wrapped_at("\n".join(lines)) <= width


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["He met the", "old man."], ["He met the old man."]),
        (["He met our", "Ms. O'Neill-", "Brown."], ["He met our Ms. O'Neill- Brown."]),
        (["He met a well-", "known man \r", "", "\t", "In Paris."], ["He met a well-known man", "In Paris."]),
        (["   It was new -", "very new."], ["It was new - very new."]),
        (["A Title", "He met the", "old man."], ["A Title", "He met the old man."]),
        (["He met her.", "It was new."], ["He met her. It was new."]),  # a full line may end a sentence
        (["* one", "* two"], ["* one", "* two"]),
        (["", ""], []),
        ([], []),
    ],
)  # fmt: skip
def test_paragraphs(lines, joined):
    assert list(paragraphs(lines, 12)) == joined


WORD = st.text("abcxyzABC,;é", min_size=1, max_size=9)


@given(texts=st.lists(st.lists(WORD, min_size=1, max_size=60).map(" ".join)), width=st.integers(30, 90))
def test_paragraphs_are_restored(texts, width):
    wrapped = "\n\n".join(textwrap.fill(text, width, break_long_words=False) for text in texts)
    assert list(paragraphs(wrapped.split("\n"), width)) == texts


def test_paragraphs_without_blank_lines_are_cut_after_sentences():
    lines = textwrap.wrap(PROSE, 72, break_on_hyphens=False)
    joined = list(paragraphs(lines, 72))
    assert " ".join(joined) == PROSE
    assert len(joined) > 1
    assert all(len(text) < 9_000 and text.endswith((".", ".)", ":", '"')) for text in joined)
    data = ["QUJD" * 19] * 40_000
    assert max(map(len, paragraphs(data, 76))) < 1 << 21
