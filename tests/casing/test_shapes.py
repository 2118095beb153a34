"""shapes.py: the shape of any word, any word in any shape. Reference implementations use the methods of `str`."""

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.spelling import spelled

from capfst.casing.shapes import AS_FORM, Shape, is_camel_case, shape_of, shapes
from capfst.fst.symbols import Symbols
from capfst.text.unicode import INFO, IS_CASED, lower

REVISED = "\u1734"  # as in test_unicode.py
characters = st.characters(codec="utf-8", exclude_categories=["Cs", "Cn"], exclude_characters=REVISED)
CASED = "abİIıßẞΣσςάΐᾳᾼꭰᎠ𐐀𐐨ԱևﬁǄǅǆაᲐŉK\u212aⅧⓐʰªº"
words = st.text(st.sampled_from(CASED + "'’-0.\u0301\u00ad漢") | characters, max_size=12)
every_shape = st.sampled_from([Shape.LOWER, Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED, Shape.CASELESS, AS_FORM])


def shape(word: str) -> int:
    data = np.frombuffer(f"Xx{word}X".encode(), np.uint8)
    return int(shape_of(data, 2, len(data) - 1, INFO))


def is_cased(c: str) -> bool:
    return (c + "Σ").lower().endswith("ς")


def shape_twin(word: str) -> int:
    capitals = [c.lower() != c for c in word if is_cased(c)]
    if not capitals:
        return Shape.CASELESS
    if sum(capitals) == 0:
        return Shape.LOWER
    if capitals[0] and sum(capitals) == 1:
        return Shape.CAPITALIZED
    return Shape.UPPER if all(capitals) else Shape.MIXED


def title(c: str) -> str:
    return t if (t := c.title()).lower() == c and len(t) == 1 else c


def upper(c: str) -> str:
    if c == "ς":
        return "Σ"
    return u if (u := c.upper()).lower() == c and len(u) == 1 else title(c)


def spell_twin(word: str, in_shape: int) -> str:
    form = word
    if in_shape == Shape.UPPER:
        form = "".join(map(upper, word))
    if in_shape == Shape.CAPITALIZED:
        first = next((i for i, c in enumerate(word) if is_cased(c)), 0)
        form = word[:first] + title(word[first : first + 1]) + word[first + 1 :]
    return form if form.lower() == word else word


@pytest.mark.parametrize(
    ("expected", "fitting"),
    [
        (Shape.CASELESS, " 1990 漢字' ʰ1"),
        (Shape.LOWER, "the 3d ß"),
        (Shape.CAPITALIZED, "I 3D 'Tis İx ǅx Ⅷ F-16s 𐐀𐐨"),
        (Shape.UPPER, "US F-16S U.S. ǄǅX ᎠᎠ"),
        (Shape.MIXED, "iPhone McX xY STRAßE"),
    ],
)
def test_shape(expected: int, fitting: str) -> None:
    for word in fitting.split(" "):
        assert shape(word) == shape_twin(word) == expected


@settings(deadline=None)
@given(words | st.text(characters))
def test_shape_of_any_word(word: str) -> None:
    assert shape(word) == shape_twin(word)


def test_shapes_of_labels() -> None:
    forms = ["...", "Us", "US", "iPhone", "us", "Ǆ", "漢"]
    assert shapes(Symbols.from_words(forms)).tolist() == [Shape.CASELESS, *map(shape_twin, forms)]
    assert shapes(Symbols.from_words([])).tolist() == [Shape.CASELESS]


@pytest.mark.parametrize(
    ("word", "capitalized", "capitals"),
    [
        ("", "", ""),
        ("the", "The", "THE"),
        ("'tis", "'Tis", "'TIS"),
        ("3d-x", "3D-x", "3D-X"),
        ("i\u0307stanbul", "I\u0307stanbul", "I\u0307STANBUL"),
        ("ısı", "ısı", "ıSı"),
        ("straße", "Straße", "STRAßE"),
        ("ßa", "ßa", "ßA"),
        ("ŉa", "ŉa", "ŉA"),
        ("ﬁa", "ﬁa", "ﬁA"),
        ("և", "և", "և"),
        ("արև", "Արև", "ԱՐև"),
        ("ǆǆ", "ǅǆ", "ǄǄ"),
        ("აბ", "აბ", "ᲐᲑ"),
        ("ꭰꭰ", "Ꭰꭰ", "ᎠᎠ"),
        ("𐐨𐐨", "𐐀𐐨", "𐐀𐐀"),
        ("ᾳα", "ᾼα", "ᾼΑ"),
        ("ΐα", "ΐα", "ΐΑ"),
        ("σας", "Σας", "ΣΑΣ"),
        ("οδος", "Οδος", "ΟΔΟΣ"),
        ("οδοσ", "Οδοσ", "οδοσ"),
        ("ςα", "ςα", "ςα"),
        ("σ", "Σ", "Σ"),
        ("ɫɐ", "Ɫɐ", "ⱢⱯ"),
        ("ⱥ", "Ⱥ", "Ⱥ"),
    ],
)
def test_golden(word: str, capitalized: str, capitals: str) -> None:
    assert spelled(word, Shape.CAPITALIZED) == spell_twin(word, Shape.CAPITALIZED) == capitalized
    assert spelled(word, Shape.UPPER) == spell_twin(word, Shape.UPPER) == capitals
    assert [spelled(word, same) for same in (Shape.LOWER, Shape.CASELESS, AS_FORM)] == [word] * 3


@pytest.mark.slow
@settings(deadline=None, max_examples=1000)
@given(words | st.text(characters), every_shape)
@example("οσ'σ", Shape.MIXED)
@example("ο'σα", Shape.MIXED)
@example("σς", Shape.UPPER)
def test_any_word_in_any_shape(text: str, in_shape: int) -> None:
    word = lower(text)
    form = spelled(word, in_shape)
    assert lower(form) == form.lower() == word
    if in_shape != Shape.MIXED:
        assert form == spell_twin(word, in_shape)


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8")), every_shape)
def test_nothing_but_case_changes_in_any_string(text: str, in_shape: int) -> None:
    assert lower(spelled(lower(text), in_shape)) == lower(text)


def test_every_letter_and_its_capital() -> None:
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000 or unicodedata.category(chr(code)) == "Cn":
            continue
        small = chr(code).lower()
        if INFO[code] & IS_CASED and len(small) == 1 and small == chr(code):
            assert spelled(small, Shape.UPPER) == spell_twin(small, Shape.UPPER), hex(code)
            assert spelled(small, Shape.CAPITALIZED) == spell_twin(small, Shape.CAPITALIZED), hex(code)


def test_a_word_that_stays_leaves_the_text_after_it() -> None:
    """In capitals the word would be longer, but its inner ς would become σ."""
    assert spelled("οδοςɫ", Shape.UPPER) == "οδοςɫ"


CAMEL_CASE = """
    getElementById innerHTML HttpClient FooBar2 MacBookPro XMLHttpRequest toJSON VsCode PyTorch iPhone eBay McFoo LaTeX
    PhDs LLMs HTTPServer FooB FoO gRPC kNN Gpt4All ÉcoleDuNord fooÉtude iİ
"""
NO_CAMEL_CASE = "foo Foo FOO É F f 1St hELLO gALTERS O'Neill foo-Bar Foo_B 日本 İzmir ABC4"


@pytest.mark.parametrize("word", CAMEL_CASE.split() + NO_CAMEL_CASE.split())
def test_camel_case_is_recognized_by_its_capitals(word):
    for cased in (word, lower(word), word.upper()):
        buf = np.frombuffer(cased.encode(), np.uint8)
        assert is_camel_case(buf, 0, buf.size, INFO) == (cased == word and word in CAMEL_CASE.split())
