"""Test protected text: the examples of docs/protected-text.md pass through unchanged, and similar text does not."""

import re
from pathlib import Path

import pytest
from support.models import build

from capfst.recaser import Recaser

PAGE = (Path(__file__).parent.parent / "docs" / "protected-text.md").read_text("utf-8")
SECTION = PAGE.split("## Protected spans\n")[1].split("\n## ")[0]
ROW = re.compile(r"^\| (?!what |---)[^|]+ \| (.*) \|$", re.MULTILINE)
EXAMPLES = [example for row in ROW.findall(SECTION) for example in re.findall("`([^`]+)`", row)]
FRAMES = [
    ("{}", "{}"),
    ("Oov {} IT", "oov {} it"),
    ("IT, ({}), Oov.", "it, ({}), oov."),
    ('<I>"{}"</I>, us', '<I>"{}"</I>, US'),
]
TEXT = {  # text that is recased although it looks like code
    "AND/OR": "and/or",
    "HIS/HER": "his/her",
    "AC/DC": "ac/dc",
    "U.S.-LED": "u.s.-led",
    "A.M./P.M.": "a.m./p.m.",
    "Ph.D": "ph.d",
    "$5 IN $6": "$5 in $6",
    "US$ 5 or A$ 6": "US$ 5 or a$ 6",
    "$US": "$US",
    "$5 (Oov$)": "$5 (oov$)",
    "5 < Oov and Oov > 4": "5 < oov and oov > 4",
    "if a <Oov and Oov> it": "if a <oov and oov> it",
    "`Oov' and ``Oov'' and": "`oov' and ``oov'' and",
    "S&Ls; Q&As;": "s&ls; q&as;",
    "Oov\\Oov": "oov\\oov",
    "_Oov_": "_oov_",
    "F-16 MP3 H1N1": "f-16 mp3 h1n1",
    "1000BCE": "1000bce",
    "Yahoo.com": "yahoo.com",
    "Yahoo.com-Owned": "yahoo.com-owned",
    "gALTERS OOVS Oov O'Oov Oov-It": "galters oovs oov o'oov oov-it",
    "R/W U/Oo N/Oov Oov/Oov": "r/w u/oo n/oov oov/oov",
    "5%-10%, 100%Oov and 50 % D": "5%-10%, 100%oov and 50 % d",
    "{Oov Oov} { Oov }": "{oov oov} { oov }",
    "(PLAN B) HE (I) AND (OOV)": "(plan b) he (i) and (oov)",
    "IT [I] OOV[A]": "it [i] oov[a]",
    "--Oov OOV. --Oov": "--oov oov. --oov",
    "-I OOV -Oov": "-i oov -oov",
    "5 W/M² 5 W/ AND/OR": "5 w/m² 5 w/ and/or",
    "10.5/Oov": "10.5/oov",
    "2024-01-31 2024-01-Oov": "2024-01-31 2024-01-oov",
}


@pytest.fixture(scope="module", params=["fast", "openfst"])
def recaser(request, tmp_path_factory) -> Recaser:
    """Return a recaser with three words in its vocabulary, which lowercases all others."""
    made = build(["<unk>", "it", "US"], {(1,): 5.0, (2,): 1.0, (3,): 2.0}, {}, {(): 1.0})
    return Recaser(made.save(tmp_path_factory.mktemp("untouched") / "m.fst"), engine=request.param)


def test_the_page_has_examples():
    assert len(EXAMPLES) > 40


@pytest.mark.parametrize("example", EXAMPLES)
def test_protected_text_passes_unchanged(recaser, example):
    for text, expected in FRAMES:
        assert recaser(text.replace("{}", example)) == expected.replace("{}", example)


BEFORE_WORDS = [
    r"\n",
    r"\N",
    r"\t",
    r"\R",
    r"\X41",
    r"\u201C",
    r"\U0001F600",
    r"\033",
    r"{\An8}",
    r"\n\T",
    "<%= X %>",
]


@pytest.mark.parametrize("escape", BEFORE_WORDS)
def test_escapes_directly_before_words(recaser, escape):
    for word, expected in (("IT", "it"), ("Oov", "oov"), ("US", "US"), ("us", "US")):
        assert recaser(f"{escape}{word}") == f"{escape}{expected}"
        assert recaser(f"OOV\\{escape}{word}") == f"oov\\{escape}{expected}" or escape[0] != "\\"
        assert recaser(f"OOV{escape}{word} IT.{escape}{word}") == f"oov{escape}{expected} it.{escape}{expected}"
    assert recaser(f"IT {escape}", sentence_case=True) == f"It {escape}"
    assert recaser(f"{escape}it", sentence_case=True) == f"{escape}It"


COMMANDS = r"\Nabla \Times \Rho \Nu \Text{It} \Node{It} \New \Rm C:\New\Table"


@pytest.mark.parametrize("command", COMMANDS.split())
def test_commands_that_begin_like_escapes(recaser, command):
    assert recaser(f"{command} IT {command}") == f"{command} it {command}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A) IT B) OOV 1) C) IT", "A) it B) oov 1) C) it"),
        ("(I) IT; (IV) OOV AND (B) IT", "(I) it; (IV) oov and (B) it"),
        ("\t- [X] IT\n* [x] OOV\n[X] IT", "\t- [X] it\n* [x] oov\n[X] it"),
        ("• (A) IT", "• (A) it"),
        ("OOV(S) OOV(ES) IT (S)", "oov(S) oov(ES) it (s)"),
        ("W/ IT W/O", "W/ it W/O"),
        ("OOV --It -X -A, IT --Us=Us", "oov --It -X -A, it --Us=Us"),
        ("--Dry-Run OOV: --It", "--Dry-Run oov: --It"),
        ("OOV%S%D IT%DPX", "oov%S%D it%DPX"),
        ("{He}IT ${It}/Bin/X %It%\\Us {X}\\nIT", "{He}it ${It}/Bin/X %It%\\Us {X}\\nit"),
        ("IT\\u2019S IT\\X27s", "it\\u2019S it\\X27s"),
        ("IT CAF\\u00C9S IT \\U00E9T\\xC9 IT-US\\xe9 \\x{c9}T", "it CAF\\u00C9S it \\U00E9T\\xC9 it-US\\xe9 \\x{c9}T"),
        ("<!-- A > B --> IT <?php It->Us ?> IT", "<!-- A > B --> it <?php It->Us ?> it"),
    ],
)
def test_labels_and_the_like(recaser, text, expected):
    assert recaser(text) == expected


@pytest.mark.parametrize("text", TEXT)
def test_text_that_looks_like_code_is_recased(recaser, text):
    assert recaser(text) == recaser(text.lower()) == TEXT[text]


def test_versions_pass_unchanged_whatever_numbers_the_model_has(tmp_path):
    """Models store every digit as 0."""
    made = build(["<unk>", "v0", "v0.0"], {(1,): 5.0, (2,): 1.0, (3,): 2.0}, {}, {(): 1.0})
    recaser = Recaser(made.save(tmp_path / "m.fst"))
    assert recaser("V2.0 V2") == "V2.0 v2"


def test_a_dot_above_i_does_not_appear(recaser):
    assert recaser("İSTANBUL İZMİR Oİ i̇ İ") == "İstanbul İzmİr oİ i̇ İ".replace("Oİ", "oİ")
    assert recaser("İ i̇stanbul", sentence_case=True) == "İ i̇stanbul"
