"""context/lexicon.py: hashes and shape evidence, against a reference implementation; counts of shapes in a corpus."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import plain_context as reference

from capfst.casing.shapes import N_SHAPES, Shape, shapes
from capfst.context.lexicon import (
    BEGIN,
    END,
    FRAME,
    MAX_AFFIX,
    N_HASHES,
    NO_CASE,
    OUTLINE,
    PREFIX,
    SUFFIX,
    TRIGRAMS,
    UNSEEN,
    WHOLE,
    add_shape_counts,
    evidence_in_12,
    evidence_in_25,
    hash_word,
    hash_words,
    shape_evidence,
)  # fmt: skip
from capfst.fst.symbols import Symbols, check
from capfst.kernels import kernel
from capfst.kernels.types import I64Array, i64
from capfst.system.hashing import hash_pair
from capfst.text.unicode import INFO, lower

words = st.text(st.sampled_from("abeéßσς漢𐐨0'’-.") | st.characters(codec="utf-8"), min_size=1, max_size=9).map(lower)
counts = st.lists(st.sampled_from([0, 0, 1, 2, 3, 5, 6, 20, 21, 98, 99, 100, 101, 5000]), min_size=4, max_size=4)


@kernel
def evidence_of(counts: I64Array) -> i64:
    return shape_evidence(counts)


EVIDENCE = [UNSEEN, *range(1, 121), BEGIN, END, NO_CASE]


def hashes_of(word: str) -> list[int]:
    """Return the kernel's hashes of a word between other bytes, which it must not read."""
    data = np.frombuffer(f"é{word}é".encode(), np.uint8)
    hashes = np.full(N_HASHES, 7, np.uint32)
    hash_word(data, 2, len(data) - 2, INFO, hashes)
    return hashes.tolist()


@settings(deadline=None)
@given(a=st.integers(0, 2**64 - 1), b=st.integers(0, 2**64 - 1))
def test_hash_pair_matches_the_reference(a: int, b: int) -> None:
    assert int(hash_pair(np.uint64(a), np.uint64(b))) == reference.hash_pair(a, b)


def test_low_bits_of_a_hash_depend_on_all_of_two_numbers_of_32_bits() -> None:
    """Numbers that differ in any eight of their bits map to many rows of a table."""
    for shift in range(0, 32, 8):
        rows = {reference.hash_pair(3, n << shift) % 1024 for n in range(256)}
        rows_of_first = {reference.hash_pair(n << shift, 3) % 1024 for n in range(256)}
        assert min(len(rows), len(rows_of_first)) > 64


@settings(deadline=None)
@given(word=words)
@example("ĳ")
@example("o’neill")
@example("abcdefghijk")
def test_hashes_of_a_word_match_the_reference(word: str) -> None:
    assert hashes_of(word) == reference.hash_word(word)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("walked", "talked", {*range(SUFFIX, SUFFIX + MAX_AFFIX), OUTLINE, FRAME, *range(TRIGRAMS + 1, TRIGRAMS + 4)}),
        ("talking", "talked", {*range(PREFIX, PREFIX + 4), OUTLINE, TRIGRAMS, TRIGRAMS + 1}),
        ("mp3", "kq7", {FRAME}),  # other digits are other characters of the outline
        ("mp3", "kq3", {SUFFIX, OUTLINE, FRAME}),
        ("dvd", "kgb", {OUTLINE, FRAME}),
        ("dvd", "kga", set()),  # a vowel
        ("éa", "êb", {OUTLINE}),
        ("mcdonald", "mcgregor", {PREFIX, PREFIX + 1, OUTLINE, FRAME}),
        (  # 8 letters and more
            "abcdefgh",
            "abcdefghi",
            {*range(PREFIX, PREFIX + 5), OUTLINE, FRAME, *range(TRIGRAMS, TRIGRAMS + 6)},
        ),
        ("xaaaxbcd", "yabcxaaa", {OUTLINE, FRAME}),  # trigrams at other positions
    ],
)
def test_what_words_have_in_common(one: str, other: str, same: set[int]) -> None:
    a, b = hashes_of(one), hashes_of(other)
    assert {k for k in range(N_HASHES) if a[k] == b[k] != 0} == same


def test_affixes_of_different_length_differ() -> None:
    """A prefix differs from a suffix, and a word from an affix: `a` in `a`."""
    found = [h for h in hashes_of("a") if h]
    assert len(found) == len(set(found)) == 5
    assert hashes_of("aaaaa")[WHOLE] not in hashes_of("aaaaa")[1:]


@settings(deadline=None)
@given(n=counts)
def test_evidence_matches_the_reference(n: list[int]) -> None:
    e = evidence_of(np.array(n))
    assert e == reference.shape_evidence(n)
    assert (evidence_in_25(e), evidence_in_12(e)) == (reference.evidence_in_25(e), reference.evidence_in_12(e))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1, 0, 0, 0], [2, 0, 0, 0], "12"),  # a single occurrence
        ([0, 2, 0, 0], [0, 5, 0, 0], "25 12"),
        ([0, 3, 0, 0], [0, 5, 0, 0], "all 25 12"),
        ([0, 101, 0, 0], [0, 9999, 0, 0], "all 25 12"),
        ([0, 99, 1, 0], [0, 100, 0, 0], "25 12"),
        ([0, 99, 1, 0], [0, 98, 2, 0], ""),  # no longer pure
        ([7, 3, 0, 0], [6, 3, 1, 0], "all 25 12"),
        ([7, 3, 0, 0], [3, 7, 0, 0], ""),
        ([1, 1, 0, 0], [2, 0, 0, 2], "25 12"),  # a tie goes to lower case
        ([0, 0, 9, 0], [0, 0, 0, 9], ""),
    ],
)
def test_evidence_distinguishes_counts(one: list[int], other: list[int], same: str) -> None:
    a, b = evidence_of(np.array(one)), evidence_of(np.array(other))
    found = {"all": a == b, "25": evidence_in_25(a) == evidence_in_25(b), "12": evidence_in_12(a) == evidence_in_12(b)}
    assert " ".join(name for name, equal in found.items() if equal) == same


def test_all_evidence() -> None:
    assert evidence_of(np.zeros(4, np.int64)) == UNSEEN
    assert [evidence_in_25(e) for e in EVIDENCE] == [reference.evidence_in_25(e) for e in EVIDENCE]
    assert [evidence_in_12(e) for e in EVIDENCE] == [reference.evidence_in_12(e) for e in EVIDENCE]
    assert {evidence_in_25(e) for e in EVIDENCE} == set(range(25))
    assert {evidence_in_12(e) for e in EVIDENCE} == set(range(12))


def test_words_of_a_model_are_hashed_in_lowercase() -> None:
    symbols = Symbols.from_words(["<unk>", "iPhone", "IPHONE", "x", "ΟΔΟΣ"])
    found = hash_words(symbols, check(symbols))
    assert found.tolist() == [reference.hash_word(word) for word in ("<unk>", "iphone", "x", "οδος")]


FORMS = ["<unk>", ",", "it", "It", "IT", "new", "New"]


@settings(deadline=None)
@given(corpus=st.lists(st.lists(st.sampled_from(FORMS), max_size=6), max_size=8))
def test_shapes_are_counted(corpus: list[list[str]]) -> None:
    symbols = Symbols.from_words(FORMS)
    word_of = np.array([0, 0, 1, 2, 2, 2, 3, 3])
    shape_of = shapes(symbols)
    shape_of[1] = Shape.CASELESS  # <unk>
    labels = np.array([n for line in corpus for n in (*(FORMS.index(word) + 1 for word in line), 0)], np.uint32)
    seen: Counter[str] = Counter()
    for line in corpus:
        seen.update([form for form in line if form.lower() != form.upper() and form != "<unk>"])
    expected = np.zeros((4, N_SHAPES), int)
    for form, count in seen.items():
        label = FORMS.index(form) + 1
        expected[word_of[label], shape_of[label]] = count
    counts = np.zeros((4, N_SHAPES), np.int64)
    add_shape_counts(labels, word_of, shape_of, 1, counts)
    assert counts.tolist() == expected.tolist()
