"""Wrapped text is distinguished from other text, and its paragraphs are restored."""

import textwrap
from pydoc_data.topics import topics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.prose import POEM, PROSE, SENTENCES

from capfst.io.documents import whole_documents
from capfst.io.wrapped import paragraphs, rewrap, unwrap, wrapped_at
from capfst.text.unicode import lower


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


LINE = "the first line has thirty-eight letters"


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("", ""),
        ("\n\n", "\n\n"),
        ("x\ny\n", "x\ny\n"),  # a list of short lines
        (f"{LINE}\nand\n", f"{LINE}|and\n"),
        (f"{LINE}\nand", f"{LINE}|and"),
        (f"a title\n{LINE}\r\n  and", f"a title\n{LINE}\r|  and"),
        (f"{LINE}\n \t\nand", f"{LINE}\n \t\nand"),
        (f"{LINE}\n- and", f"{LINE}\n- and"),
        (f"{LINE}\n12. and", f"{LINE}\n12. and"),
        (f"ééééééééééééééé\n{LINE}", f"ééééééééééééééé\n{LINE}"),
        (f"> {LINE}\n> and\n>\n> or", f"> {LINE}|| and\n>\n> or"),
        (f"> > {LINE}\n> > - and\n> or\nand", f"> > {LINE}\n> > - and\n> or\nand"),
        (f">> {LINE}\nand", f">> {LINE}|and"),  # as in captions
    ],
)  # fmt: skip
def test_lines_of_paragraphs(text, joined):
    assert unwrap(text.encode()).decode().replace("\v", "|") == joined


WORDS = st.sampled_from(
    ["a", "fairly", "long", "line", "of", "words", "İİİİ", "é", "-", "1.", "\t", "\v", "\r", "x" * 30]
)


@given(st.lists(st.lists(WORDS, max_size=9).map(" ".join), max_size=9), st.booleans())
def test_rewrapping_undoes_unwrapping(lines, is_ended):
    text = "\n".join(lines) + "\n" * is_ended
    data = text.encode()
    joined = unwrap(data)
    assert joined.replace(b"\v", b"\n") == data.replace(b"\v", b"\n")
    assert bytes(rewrap(joined, joined)) == data
    small = unwrap(lower(text).encode())
    assert joined.count(b"\v") == small.count(b"\v")  # no rule depends on case
    # Each paragraph is joined as if it were alone, so blocks may end after any of them.
    assert b"".join(unwrap(part) for part in whole_documents([data])) == joined


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        (' "amer-\nica.\n', ' "america.||\n'),
        (" amer-\r\n>  ica's, and", " america's,|||||| and"),
        (" a well-\nknown", " a well-|known"),  # not a word
        (" new-amer-\nica", " new-amer-|ica"),
        (" x-amer-\nica", " x-amer-|ica"),
        (" inter-\namer-\nica", " inter-|amer-\nica"),  # a short line
    ],
)  # fmt: skip
def test_divided_words(text, joined):
    data, is_word = f"> {LINE}{text}".encode(), {b"america"}.__contains__
    found = unwrap(data, is_word)
    assert found.decode().replace("\v", "|") == f"> {LINE}{joined}"
    assert bytes(rewrap(found, found)) == data


PARTS = st.sampled_from(["a-\n", "(é- \n", "İ-\r\n> ", "b,", "\v", "\x1a", "\0", ".", "-", "x y", " > ", "\n"])


@given(st.lists(PARTS, max_size=20).map("".join))
def test_words_are_divided_again(text):
    data = f"{'x' * 30}\n{text}".encode()
    found, other = unwrap(data, bool), unwrap(lower(data.decode()).encode(), bool)
    assert len(found) == len(data)
    assert bytes(rewrap(found, found)) == data
    assert bytes(rewrap(found, found.replace(b"b,", b"b,,"))) == data.replace(b"b,", b"b,,")
    assert bytes(rewrap(found, other)).decode() == lower(data.decode())


@pytest.mark.slow
def test_paragraphs_end_as_long_documents_do():
    line = "the lines of this paragraph have forty letters\n"
    quoted = f"> {line}" * 150 + ">\n" + f"> {line}" * 249
    for data in ((line * 450).encode(), ("x" * 999 + "\n").encode() * 399, quoted.encode()):
        joined = unwrap(data)
        assert 2 <= joined.count(b"\n") <= 4
        assert b"".join(unwrap(part) for part in whole_documents([data])) == joined
