"""Cleaning filters: lines that each one rejects, in blocks of any lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.corpora import corpus

from capfst.corpus.filters import FILTERS, Report, clean, select
from capfst.exceptions import OptionError
from capfst.io.blocks import read_blocks

NAMES = ("kept", *(filter.name for filter in FILTERS))


def verdict(line: str, *skip: str) -> str:
    _, counts = clean(line.encode() + b"\n", select(skip))
    return NAMES[int(counts.argmax())]


GOLDENS = [
    ("kept", "The cat sat on the mat."),
    ("kept", "Is it?\r"),
    ("kept", "Yes."),
    ("kept", "  Élan vital!  "),
    ("kept", "“Oh, Sir Pitt!”"),
    ("kept", "'\" ( I said so . ) ''"),
    ("kept", "`` It 's late , '' she said ."),
    ("kept", "– Da ist er!« "),
    ("kept", "¿Qué tal?"),
    ("kept", "İstanbul güzel."),
    ("kept", "Ⅳ is a number in capitals."),
    ("kept", "And then…"),
    ("kept", "Նա եկավ Փարիզից։"),
    ("kept", "And then ... ."),
    ("kept", "John Smith met Mary Jones in New York City."),
    ("kept", "Die Katze des Nachbarn saß im Garten vor dem Haus auf der Mauer."),
    ("kept", "The IAEA, UNESCO and UNICEF of the UN agreed."),
    ("kept", "NATO."),
    ("kept", "No, no, no, no!"),
    ("kept", "He thought. . . . then he spoke."),
    ("kept", "The population was 8,565 at the 2000 census ."),
    ("blank", ""),
    ("blank", " \t\r"),
    ("blank", "\u3000\xa0"),
    ("long", "The " + "very " * 2000 + "long sentence."),
    ("control", "The cat\0 sat."),
    ("control", "The c\x02at sat."),
    ("control", "The c\x92at sat."),
    ("control", "Sch\ufffdn."),
    ("control", "The \ue000 cat."),
    ("start", "the cat sat."),
    ("start", "4. The cat sat."),
    ("kept", "“...and then he went."),
    ("kept", "… and then he went."),
    ("start", "* The cat sat."),
    ("start", "\u4e2d\u6587."),
    ("start", "(\"'"),
    ("end", "The cat sat"),
    ("end", "The cat sat:"),
    ("end", "The cat sat. 12"),
    ("end", "The cat sat. ("),
    ("punctuation", "Druin, A., Foss, E., Hutchinson, H., Golub, E., & Hatley, L. (2010)."),
    ("punctuation", "Contents -- - -- - -- - -- 1."),
    ("capitals", "Prizes, Contracts & Grants: What Should I Do?"),
    ("capitals", "TWO CATS SAT ON THE MAT AND SLEPT."),
    ("shouting", "LADIES AND GENTLEMEN!"),
    ("shouting", "Hear me say THE SAME THING OVER AGAIN."),
    ("repetition", "No, no, no, no, no!"),
    ("repetition", "Never! never - NEVER never, never."),
    ("repetition", "Please go now, please go now, please go now, please go now."),
    ("repetition", "And so ....."),
    ("repetition", "And so . . . . ."),
]


@pytest.mark.parametrize(("expected", "line"), GOLDENS)
def test_goldens(expected, line):
    assert verdict(line) == expected


def test_every_filter_has_a_golden_and_a_switch():
    for name in NAMES[1:]:
        lines = [line for expected, line in GOLDENS if expected == name]
        assert lines
        assert all(verdict(line, name) != name for line in lines)
    assert all(verdict(line, *NAMES[1:]) == "kept" for _, line in GOLDENS)


def test_unknown_filter():
    with pytest.raises(OptionError, match=r"`skip_filters` .*'strat'.* blank, long, .*start"):
        select(["end", "strat"])


ALPHABET = "aabcABÉéσΣİß1 2   \t\r..,!?…\"'“”()-–—\u0301\0\ufffd\u4e2d\U0001d400😀"
PHRASES = ["A", "a", "no", "No", "NATO", "the cat", "The Cat", "Paris", "III", "über", "...", ". . .", ",", "--", "''"]
SENTENCES = st.lists(st.sampled_from(PHRASES), max_size=30).map(lambda words: "And " + " ".join(words) + " .")


@given(st.lists(st.one_of(st.text(), st.text(ALPHABET), SENTENCES), max_size=12), st.sets(st.sampled_from(NAMES[1:])))
def test_blocks(lines, skip):
    """Kept lines are copied in order, and every line is counted once."""
    lines = [line.replace("\n", " ") for line in lines]
    kept, counts = clean("".join(line + "\n" for line in lines).encode(), select(skip))
    verdicts = [verdict(line, *skip) for line in lines]
    assert kept.decode() == "".join(line + "\n" for line, v in zip(lines, verdicts, strict=True) if v == "kept")
    assert [int(count) for count in counts] == [verdicts.count(name) for name in NAMES]
    assert not skip & set(verdicts)


def test_block_without_a_last_newline():
    with pytest.raises(ValueError, match="newline"):
        clean(b"The cat sat.")


def test_report():
    report = Report(select(["long"]))
    for block in (b"The cat sat.\nthe cat sat.\n", b"The cat sat\nThe cat.\n\n"):
        report.counts += clean(block, report.on)[1]
    assert (report.lines, report.kept) == (5, 2)
    assert report.rejected() == {name: int(name in ("blank", "start", "end")) for name in NAMES[1:] if name != "long"}
    text = str(report)
    assert text.startswith("kept 2 of 5 lines (40.0 %)\n")
    assert [line.split()[:2] for line in text.splitlines()[1:4]] == [
        ["blank", "1"],
        ["long", "off"],
        ["control", "0"],
    ]
    assert "0.0 %" in str(Report())


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("wikipedia_truecase", 0.99, 1.0),  # tokenized
        ("wikipedia_wikisplit", 0.99, 1.0),
        ("openstax", 0.98, 1.0),
        ("taskmaster_dialogs", 0.85, 0.92),  # many lines without capitals and periods
    ],
)
def test_most_lines_of_real_corpora_are_kept(name, least, most):
    report = Report()
    for block in read_blocks([corpus(f"en/{name}")]):
        report.counts += clean(block)[1]
    assert least < report.kept / report.lines < most


def test_advice_if_few_lines_are_kept():
    def advice(text: str, on: int = -1) -> str:
        report = Report(on)
        report.counts += clean(text.encode(), on)[1]
        return report.advice()

    assert advice("It is new.\n" * 2 + "\n" * 99 + "no capital, no end\n" * 8) == ""
    assert advice("") == ""
    text = advice("It is new.\n" * 3 + "no capital, no end\n" * 12 + "No end\n" * 2 + "A\x01.\n")
    assert text.startswith("only 16.7 % of the lines were kept: start rejected 66.7 % (no upper-case letter")
    assert "; end rejected 11.1 % (no . ?" in text
    assert "control" not in text
    assert text.endswith("`skip_filters`: start, end.")
