"""Test protected text: the examples of docs/recase.md pass through unchanged, and similar text does not."""

import re
from pathlib import Path

import pytest
from support.models import build

from capfst.recaser import Recaser

PAGE = (Path(__file__).parent.parent / "docs" / "recase.md").read_text("utf-8")
SECTION = PAGE.split("## What passes untouched\n")[1].split("\n## ")[0]
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
    "McDonald MacDonald DeVito LaTeX PhDs eBay": "mcdonald macdonald devito latex phds ebay",
    "R/W U/Oo N/Oov Oov/Oov": "r/w u/oo n/oov oov/oov",
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


@pytest.mark.parametrize("text", TEXT)
def test_text_that_looks_like_code_is_recased(recaser, text):
    assert recaser(text) == recaser(text.lower()) == TEXT[text]


def test_versions_pass_unchanged_whatever_numbers_the_model_has(tmp_path):
    """Models store every digit as 0."""
    made = build(["<unk>", "v0", "v0.0"], {(1,): 5.0, (2,): 1.0, (3,): 2.0}, {}, {(): 1.0})
    recaser = Recaser(made.save(tmp_path / "m.fst"))
    assert recaser("V2.0 V2") == "V2.0 v2"
