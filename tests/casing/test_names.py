"""names.py: the kernels agree with the grammar."""

import pydoc_data.topics

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("pynini")

from support.spelling import spelled

from capfst.casing import names
from capfst.casing.shapes import Shape
from capfst.text.facts import rows
from capfst.text.language import DEFAULT
from capfst.text.tokenizer import COMPOUND, WORD, tokenize
from capfst.text.unicode import lower
from grammars.names import mixed, mixing, naming, patterns
from grammars.names import pattern as pattern_of

NAMES = ("NONE", "ROMAN", "MAC", "APOSTROPHE", "HYPHENATED", "PRODUCT", "PLURAL", "CODE", "ACRONYM")
name_like = st.lists(st.sampled_from([*"aceimsxd0é'’-σς漢", "mc", "mac", "us", "anti", "é-"]), max_size=8).map("".join)


def kernel_pattern(word: str) -> str:
    data = np.frombuffer(f"m{word}s".encode(), np.uint8)
    return NAMES[names.pattern(data, 1, len(data) - 1)]


def test_numbers_of_patterns() -> None:
    assert [getattr(names, name) for name in NAMES] == list(range(len(NAMES)))
    assert tuple(patterns()) == NAMES[1:]


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [
        ("ROMAN", "ii iv vi ix xi xiv xix xxi xl xc xcix cd cm mcm mcmxcix mmmcmxcix mmxxvi mix di"),
        ("MAC", "mcdonald mcgee mcéé mcde"),
        ("APOSTROPHE", "o'neill o’neill d'angelo l'oreal qu'il é'éé"),
        ("HYPHENATED", "jean-paul x-ray f-16 1-2 editor-in-chief a-b-c o'neill-x é-é"),
        ("PRODUCT", "iphone ipad ipod ebay ebook iwork ihop"),
        ("PLURAL", "dvds cds pcs tvs mps nfls"),
        ("CODE", "mp3 f16 3d 1990s 1st 0th é1 a1b2"),
        ("ACRONYM", "bbc nfl cbss rss dr tv css hmm htm"),
        ("NONE", "i a x the iiii ic vix mc' 'mc o'n one'two 'tis o'' --- - a- -a a--b 1990 into east sos bbcbbc cdxyz"),
        ("NONE", "McDonald ' ’ é u.s. at&t dvd's q&a ihé 漢字"),
    ],
)
def test_pattern(pattern: str, fitting: str) -> None:
    for word in fitting.split():
        assert (word, kernel_pattern(word), pattern_of(word)) == (word, pattern, pattern)


@pytest.mark.parametrize(
    "form",
    [
        "McDonald", "McÉé", "O'Neill", "O’Neill", "d'Ivoire", "L'Oréal", "Jean-Paul", "T-Shirt", "Iphone", "Ebay",
        "DVDs", "APIs", "NGOs", "MacArthur", "Editor-in-Chief", "anti-American", "non-English", "al-Qaeda",
        "US-Soviet", "Iran-Us", "McDonnell-O'Brien", "Pas-de-Calais", "Nuclear-Test-Ban", "Editors-Apis", "Mig",
        "Οδος-Σας", "ΑΒs",
    ],
)  # fmt: skip
def test_mixed(form: str) -> None:
    assert spelled(lower(form), Shape.MIXED) == mixed(lower(form)) == form


@pytest.mark.parametrize(
    "word", ["", "-", "--", "a-", "-a", "us-", "ςα", "οσ-α", "ο'σ", "σςs", "ßs", "'", "mc", "mac-mc"]
)
def test_kernel_and_grammar_on_the_edge(word: str) -> None:
    assert (spelled(word, Shape.MIXED), kernel_pattern(word)) == (mixed(word), pattern_of(word))


@settings(deadline=None, max_examples=500)
@given(name_like)
@example("mcmxcixmc")
@example("us-é-é'éé")
def test_kernel_and_grammar_on_made_words(word: str) -> None:
    assert (spelled(word, Shape.MIXED), kernel_pattern(word)) == (mixed(word), pattern_of(word))


def test_kernel_and_grammar_on_the_words_of_the_python_documentation() -> None:
    text = lower("\n".join(pydoc_data.topics.topics.values())).encode()
    tokens = zip(*tokenize(text), strict=True)
    words = {text[start:end].decode() for start, end, kind in tokens if kind in (WORD, COMPOUND)}
    assert len(words) > 3000
    for word in sorted(words):
        assert (spelled(word, Shape.MIXED), kernel_pattern(word)) == (mixed(word), pattern_of(word)), word


def test_the_grammars_are_functions_in_order() -> None:
    assert naming().verify()
    assert mixing().verify()
    for word in ("mcmxcix", "dvds", "eds", "macs", "jean-paul-us-s"):
        assert lower(mixed(word)) == word


def test_first_parts_fit_into_integers() -> None:
    listed = rows("names.tsv")
    assert all(len(part.encode()) <= 8 and how in ("SMALL", "UPPER") for part, how in listed)
    assert len(dict(listed)) == len(listed) == len(names.spelling_of(DEFAULT).parts)
