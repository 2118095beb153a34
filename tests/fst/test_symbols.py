"""The symbol table: packing, and the check of order, distinctness and UTF-8."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.models import FORMS

from capfst.exceptions import ModelError
from capfst.fst.symbols import Symbols, check, pack, unpack
from capfst.text.restoring import restoring
from capfst.text.unicode import lower


def test_symbols() -> None:
    symbols = Symbols.from_words(["é", "<unk>"])
    assert (len(symbols), list(symbols), symbols.utf8(1)) == (3, ["<epsilon>", "é", "<unk>"], b"\xc3\xa9")
    for label in (-1, 3):
        with pytest.raises(IndexError):
            symbols[label]


@settings(deadline=None)
@given(st.lists(st.text(min_size=1)))
def test_pack_and_unpack(words: list[str]) -> None:
    symbols = Symbols.from_words(["x", *words])
    plain = b"".join(
        struct.pack(f"<i{len(utf8)}sq", len(utf8), utf8, label)
        for label, utf8 in enumerate(symbol.encode() for symbol in symbols)
    )
    assert pack(symbols).tobytes() == plain
    again, after = unpack(np.frombuffer(b"before" + plain + b"after", np.uint8), 6, len(symbols))
    assert (list(again), after) == (list(symbols), 6 + len(plain))


@settings(deadline=None)
@given(st.lists(st.text(min_size=1) | st.text("aZ9\0~@É", min_size=1), min_size=1))
def test_small_forms(words: list[str]) -> None:
    """Marked forms have no capitals; forms of small ASCII letters and digits are marked, except at the very end."""
    symbols = Symbols.from_words([*words, "the last word"])
    marked = np.unpackbits(symbols.small_forms, bitorder="little")[: len(symbols)].tolist()
    assert marked[0] == 1
    for word, is_small in zip(words, marked[1:], strict=False):
        if not word.isascii() or word != word.lower():
            assert not is_small
        elif word.isalnum():
            assert is_small


WORDS = st.sampled_from([*FORMS, *"ab", "AB", "aB", "<epsilon>"]) | st.text(min_size=1) | st.text("aBz\0é", min_size=1)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1))
def test_check_of_symbols(words: list[str]) -> None:
    keys = [lower(word).encode() for word in words]
    if sorted(keys) == keys and len(set(words)) == len(words) and "<epsilon>" not in words:
        starts = check(Symbols.from_words(words))
        firsts = [label for label in range(1, len(words) + 1) if label == 1 or keys[label - 1] != keys[label - 2]]
        assert starts.tolist() == [*firsts, len(words) + 1]
    else:
        with pytest.raises(ModelError):
            check(Symbols.from_words(words))
    words = sorted(set(words) - {"<epsilon>"}, key=lambda word: lower(word).encode())
    if words:
        assert len(check(Symbols.from_words(words))) == len({lower(word) for word in words}) + 1


def casings(number: int) -> list[str]:
    """Return this many forms of one word."""
    return ["".join("aA"[i >> k & 1] for k in range(9)) for i in range(number)]


def test_words_with_very_many_forms() -> None:
    assert check(Symbols.from_words(casings(500))).tolist() == [1, 501]
    for repeated in (0, 200, 499):
        with pytest.raises(ModelError, match="word 'aaaaaaaaa'" if repeated < 400 else r"symbol 501 \("):
            check(Symbols.from_words([*casings(500), casings(500)[repeated]]))


@pytest.mark.parametrize("utf8", [b"w\xff", b"\xc3(", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"])
def test_symbols_that_are_not_utf8(utf8: bytes) -> None:
    offsets = np.cumsum([0, 9, 1, len(utf8), 1])
    symbols = Symbols(np.frombuffer(b"<epsilon>a" + utf8 + b"z", np.uint8), offsets)
    with pytest.raises(ModelError, match="symbol 2 is not UTF-8"):
        check(symbols)


def test_a_character_torn_between_symbols() -> None:
    symbols = Symbols(np.frombuffer("<epsilon>aé".encode(), np.uint8), np.array([0, 9, 11, 12]))
    with pytest.raises(ModelError, match="symbol 2 is not UTF-8"):
        check(symbols)


def test_epsilon_is_no_word_with_a_grammar_that_changes_its_letters() -> None:
    words = [b"<epsilon>", b"<epsilon>", b"<unk>", b"cat"]
    offsets = np.cumsum([0, *map(len, words)])
    symbols = Symbols(np.frombuffer(b"".join(words), np.uint8), offsets, restoring("default", "both", {"o": "a"}))
    with pytest.raises(ModelError, match="among its words"):
        check(symbols)
