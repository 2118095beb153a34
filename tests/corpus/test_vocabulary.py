"""Interners and vocabularies: goldens, and any text with any number of interners and any division into blocks."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capfst.corpus.intern import Interner, WordTable, _find_slot
from capfst.corpus.labels import relabeled
from capfst.corpus.vocabulary import (
    RESERVED,
    IdStreams,
    build_vocabulary,
    restricted,
)
from capfst.exceptions import CorpusError
from capfst.fst.symbols import check
from capfst.system.buckets import Store
from capfst.text.strings import Strings
from capfst.text.unicode import lower, lower_bytes

UNKNOWN = b"<unk>"


Learned = tuple[list[bytes], list[int], list[int]]
"""A vocabulary, the counts of its forms, and the text in labels."""


def learn(blocks: list[bytes], interners: int, pretokenized: bool, *cuts: Any) -> Learned:
    """Learn a vocabulary; block i goes to interner 7i mod `interners`."""
    learners = [Interner() for _ in range(interners)]
    streams = IdStreams(Store(None))
    for i, block in enumerate(blocks):
        number = i * 7 % interners
        streams.append(number, learners[number].block(block, pretokenized))
    vocabulary, (labels, _) = build_vocabulary(learners, streams)
    assert not learners
    starts = check(vocabulary.symbols)
    if cuts:
        full = vocabulary
        vocabulary, new_labels, old_labels = restricted(full, starts, *cuts)
        labels = relabeled(labels, new_labels, np.zeros(0, np.uint32), Store(None))
        check(vocabulary.symbols)
        assert [full.symbols[label] for label in old_labels] == list(vocabulary.symbols)
    forms = [vocabulary.symbols.utf8(label) for label in range(1, len(vocabulary.symbols))]
    assert forms[vocabulary.unknown - 1] == UNKNOWN
    assert vocabulary.counts[0] == np.count_nonzero(labels == 0)
    return forms, vocabulary.counts[1:].tolist(), labels.tolist()


WORDS = [
    *["the", "The", "THE", "US", "us", "U.S.", "don't", "it's", "1990", "1991", ",", "...", "x@y", "#a", "é", "É"],
    *[".", ".", "?", "…", '"', "(", "X.", "Mr.", "the.", "US.", "us!", "known.\"", "-", "Well-known."],
    *["ΟΔ", "ΟΔΟΣ", "οδος", "well-known", "Well-Known", "a-b", "A-b", "F-16", "f-15", "-", "<unk>", "\0", "İx", "iOS"],
]  # fmt: skip
OTHERS = st.text(max_size=3).filter(lambda text: text not in RESERVED)
LINES = st.lists(st.sampled_from(WORDS) | OTHERS, max_size=9).map(" ".join)


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(
    lines=st.lists(LINES, max_size=8),
    interners=st.integers(1, 3),
    size=st.integers(1, 4),
    plain=st.booleans(),
    min_count=st.integers(1, 3),
    max_words=st.none() | st.integers(0, 9),
)
def test_the_vocabulary_of_any_interners_and_blocks(lines, interners, size, plain, min_count, max_words):
    lines = [f"{part}\n".encode() for line in lines for part in line.split("\n")]
    blocks = [b"".join(lines[i : i + size]) for i in range(0, len(lines), size)]
    found = forms, counts, labels = learn(blocks, interners, plain, min_count, max_words)
    assert found == learn([b"".join(lines)], 1, plain, min_count, max_words)
    assert counts == [labels.count(label) for label in range(1, len(forms) + 1)]
    order = [(lower_bytes(form), -count) for form, count in zip(forms, counts, strict=True)]
    assert order == sorted(order)
    assert all(count >= min_count for form, count in zip(forms, counts, strict=True) if form != UNKNOWN)
    whole, _, text = learn([b"".join(lines)], 1, plain)
    known = {form: label for label, form in enumerate(forms, 1)}
    assert labels == [label and known.get(whole[label - 1], known[UNKNOWN]) for label in text]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a well-known man", []),
        ("a well-known Well-Known man", ["well-known", "Well-Known"]),
        ("well-known\n\nWELL-KNOWN", ["well-known", "WELL-KNOWN"]),
        ("F-16 F-35", ["F-00"]),
        ("well-known-to x well-known", []),
        ("x-x-x x-x", []),
        ("a-x b-x a-x", ["a-x"]),
    ],
)
def test_compounds_are_words_from_their_second_occurrence(text, kept):
    forms, counts, labels = learn([text.encode()], 1, False)
    assert sorted(form.decode() for form in forms if b"-" in form[1:]) == sorted(kept)
    assert sum(counts) == sum(label > 0 for label in labels)


def sentences(*lines: str, interners: int = 1, pretokenized: bool = False) -> list[str]:
    """Return the sentences into which training splits lines, as words separated by spaces."""
    forms, _, labels = learn([f"{line}\n".encode() for line in lines], interners, pretokenized)
    words = ["\n" if label == 0 else forms[label - 1].decode() for label in labels]
    return " ".join(words).removesuffix(" \n").split(" \n ")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("It is. Is it? Never! Perhaps… Oh.", ["It is .", "Is it ?", "Never !", "Perhaps ...", "Oh ."]),
        ("It is. is it? 3 men! x… Oh.", ["It is . is it ? 0 men ! x ...", "Oh ."]),
        ('He said "Listen." They (all of them!) left. "Why now?" (It was.)', [
            'He said " Listen . "', "They ( all of them ! ) left .", '" Why now ? "', "( It was . )"]),
        ('Do stop . " They left . ( Ann did . ) Not Bob .', [
            "Do stop .", '" They left .', "( Ann did . )", "Not Bob ."]),
        ("Mr. Bob left. He ran to Prof. Ann.", ["Mr . Bob left .", "He ran to Prof . Ann ."]),
        ("J. Doe of the U.S. Army saw https://x.org/A. She left.", [
            "J. Doe of the U.S. Army saw <url> .", "She left ."]),
        ("Of a well-known. Well-known man.", ["Of a well-known .", "Well-known man ."]),
        (". A. B", [". A. B"]),
        ("Une Étude. Élan rare. ßo. Ǆo.", ["Une Étude .", "Élan rare . ßo .", "Ǆo ."]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("interners", [1, 2])
def test_a_line_of_several_sentences_is_split(line: str, expected: list[str], interners: int) -> None:
    assert [*map(lower, sentences(line, interners=interners))] == [*map(lower, expected)]


def test_pretokenized_lines_are_not_split() -> None:
    assert sentences("It is . Is it ?", pretokenized=True) == ["it is . Is it ?"]


def test_words_that_end_no_lines_are_abbreviations() -> None:
    """A word is an abbreviation if it ends less than a fifth of the usual fraction of lines, with one line added."""
    text = ["We met Messrs. Doe. He left."] * 20 + ["They met Doe."] * 5 + ["They left Foo Inc. Nobody met Foo Inc."]
    split = sentences(*text)
    assert split.count("we met Messrs . Doe .") == split.count("he left .") == 20
    assert "they left Foo Inc ." in split
    assert "We met Messrs ." in sentences(*text[19:])
    assert "We met Mr . Doe ." in sentences(text[0].replace("Messrs", "Mr"), *text[20:])


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("The man saw the cat", "the"),  # as it is inside
        ("John left. He saw John", "John"),
        ("Hello you. Hello. Hello Ann", "Hello"),  # it is nowhere else, and half of the others are names
        ("Hello you", "hello"),
        ('Cat, Ann "cat"', "Cat"),  # after a mark, its case says nothing
        ("New York is a new York is in New York, new new", "New"),  # before a name
        ("New things are in New York, new new", "new"),
        ("In York he was in it in it in it in it in it in", "in"),
        ("Iphones of iphones", "iphones"),
        ("IPhones of iphones", "IPhones"),
        ("I do, i do", "i"),
        ("2 Dogs, dogs", "0"),
        ("Étude, étude", "étude"),
    ],
)
def test_first_words_have_the_case_that_they_have_elsewhere(text: str, first: str) -> None:
    assert sentences(text.replace(" is in", ", is in"))[0].split()[0] == first


def test_a_first_word_follows_marks_that_end_sentences() -> None:
    assert sentences("... Of it, of it") == ["... of it , of it"]
    assert sentences('" Of it, of it') == ['" Of it , of it']


def test_words_that_only_begin_sentences_are_in_lower_case_if_there_are_names() -> None:
    text = ["We like Ann"] * 20
    assert "hello you" in sentences(*text, *["Hello you"] * 3)
    assert "Hello" in sentences(*text, *["Hello"] * 2)
    assert "hello" in sentences(*text, *["Hello"] * 3)
    assert "I do" in sentences(*text, *["I do"] * 3)


def test_a_word_that_begins_many_more_sentences_than_names_do_is_none() -> None:
    text = ["We like Ann"] * 40 + ["Ann left"] * 4 + ["Hello you"] * 9 + ["We sang Hello and hello"] * 2 + ["Hello 2"]
    assert {sentence.split()[0] for sentence in sentences(*text)} == {"we", "Ann", "hello"}
    assert "Hello you" in sentences(*text[:-3], "We sang Hello", *["Ann left"] * 99)


@pytest.mark.slow
def test_tables_grow():
    """The text has more words, of more bytes, than the initial tables, and one word larger than the tables."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdE", k=rng.randint(1, 24))) for _ in range(90_000)]
    words[50_000] = "x" * 1_000_000
    lines = [f"{' '.join(words[i : i + 9])}\n".encode() for i in range(0, len(words), 9)]
    forms, counts, labels = expected = learn([b"".join(lines)], 1, True)
    assert len(forms) > 1 << 16
    assert counts == np.bincount(labels, minlength=len(forms) + 1).tolist()[1:]
    assert [lower_bytes(forms[label - 1]) for label in labels if label] == [
        lower_bytes(word.encode()) for word in words
    ]
    assert learn([b"".join(lines[i : i + 500]) for i in range(0, len(lines), 500)], 3, True) == expected


def test_equal_hashes():
    """Words with the same hash bits have different slots."""
    words = [np.frombuffer(word, np.uint8) for word in (b"abc", b"xyz")]
    slots = np.zeros(4, np.uint64)
    table = WordTable(slots, Strings(np.concatenate(words), np.array([0, 3, 6])))
    first, _ = _find_slot(table, words[0], 3)
    _, tag = _find_slot(table, words[1], 3)
    slots[:] = int(tag) << 32 | 1  # all slots have the first word with the second one's hash
    slots[first] = 0
    assert _find_slot(table, words[1], 3)[0] == first


def test_order_of_forms():
    """Forms are sorted by lowercase form as UTF-8, then by count; ties: lower case, then Title, then UPPER."""
    forms, counts, _ = learn(["b B B é É a A A a Z z Z zz k K ω Ω ÿ Ÿ US us Us <UNK>".encode()], 1, True)
    assert b" ".join(forms).decode() == "<UNK> <unk> a A B b k K us Us US Z z zz é É ÿ Ÿ ω Ω"
    assert counts == [1, 0, 2, 2, 2, 1, 1, 1, 1, 1, 1, 2, *[1] * 8]


def test_max_words_of_equal_counts():
    """The forms that stay do not depend on their order in the text."""
    for text in ["b B a A", "a A B b"]:
        assert [learn([text.encode()], 1, True, 1, n)[0] for n in (1, 2, 3)] == [
            [UNKNOWN, b"a"],
            [UNKNOWN, b"a", b"A"],
            [UNKNOWN, b"a", b"A", b"b"],
        ]


def test_unknown():
    """`<unk>` in a tokenized corpus is the LM's `<unk>`; in raw text it is a tag, not a word, or three words."""
    assert learn([b"a <unk> <unk>\n"], 1, True) == ([b"<unk>", b"a"], [2, 1], [2, 1, 1, 0])
    assert learn([b"<unk>\n"], 1, False) == ([UNKNOWN], [0], [0])
    assert learn([b"<unk >\n"], 1, False) == ([b"<", UNKNOWN, b">", b"unk"], [1, 0, 1, 1], [1, 4, 3, 0])
    assert learn([], 1, False) == ([UNKNOWN], [0], [])


@pytest.mark.parametrize("word", RESERVED)
def test_reserved(word):
    with pytest.raises(CorpusError, match=f"'{word}'"):
        learn([f"a {word} b\n".encode()], 1, True)
    learn([f"a {word} b {word.upper()}\n".encode()], 1, False)
    learn([f"a x{word} b {word.upper()}\n".encode()], 1, True)
