"""scripts/data/words_alone.py: goldens of words, numbers and cases, and a model trained on both halves."""

import pytest
from click.testing import CliRunner
from words_alone import FILLERS, Cases, Word, main, said, split

import capfst


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("In 1999, the U.S. sold.", "In* nineteen ninety nine the U S sold"),
        ("AT&T's year-end and/or 5-year plan", "AT* and T's year end and or five year plan"),
        ('He said: "Hello, Anna" (again).', "He* said Hello* Anna again"),
        ("They did n't know Anna 's dog .", "They* didn't know Anna's dog"),
        ("`` Here '' -- we are", "Here* we are"),
        ("Inc. of 50%", "Inc* of fifty percent"),
        ("... ?", ""),
    ],
)
def test_words(text, words):
    """A star follows a word that may have the case of its position."""
    assert " ".join(word.text + "*" * word.first for word in split(text)) == words


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("0", "zero"),
        ("21", "twenty one"),
        ("1,200,345", "one million two hundred thousand three hundred forty five"),
        ("1900", "nineteen hundred"),
        ("1905", "nineteen oh five"),
        ("2005", "two thousand five"),
        ("2020", "twenty twenty"),
        ("3000", "three thousand"),
        ("1990s", "nineteen nineties"),
        ("20th", "twentieth"),
        ("42nd", "forty second"),
        ("11th", "eleventh"),
        ("3.05%", "three point zero five percent"),
        ("$1999", "one thousand nine hundred ninety nine dollars"),
        ("£2.5", "two point five pounds"),
        ("1234567890123", "1234567890123"),
        ("Q3", "Q3"),
    ],
)
def test_numbers(token, words):
    assert said(token) == words


@pytest.mark.parametrize(
    ("word", "intrinsic"),
    [
        ("Then", "then"),
        ("Rome", "Rome"),
        ("Hey", "hey"),  # lowercase between lowercase words; capitals in titles do not count
        ("Zork", "Zork"),  # no other occurrence: possibly a name
        ("I'm", "I'm"),
        ("IBM", "IBM"),
        ("iPhone", "iPhone"),
    ],
)
def test_case_of_first_words(word, intrinsic):
    text = [
        "We were in Rome then.",
        "He saw Rome and then left.",
        "We say hey to her.",
        "He heard Hey Jude, Hey Anna and Hey You.",
    ]
    assert Cases(map(split, text)).intrinsic(Word(word, first=True)) == intrinsic


def test_halves(tmp_path):
    lines = [f"The man number {n} saw the town of Rome." for n in range(100)]
    (tmp_path / "text.txt").write_text("\n".join([*lines, "no sentence"]))
    done = CliRunner().invoke(main, [str(tmp_path / "text.txt"), "-o", str(tmp_path / "mixed")])
    assert done.exit_code == 0, done.output
    rest, words = ((tmp_path / "mixed" / name).read_text() for name in ("text.txt", "text-words.txt"))
    assert rest.splitlines() == lines[::2]
    assert words.startswith("The man number one saw the town of Rome the man number three ")
    spoken = [word for word in words.lower().replace(".", "").split() if word not in FILLERS]
    assert " ".join(spoken) == " ".join(word.text for line in lines[1::2] for word in split(line)).lower()
    assert all(100 <= len(line.split()) < 120 for line in words.splitlines()[:-1])
    trained = capfst.train(tmp_path / "mixed", tmp_path / "cap.fst")
    assert trained.cleaning.kept == trained.cleaning.lines
    assert capfst.load(tmp_path / "cap.fst")("the man of rome") == "the man of Rome"
