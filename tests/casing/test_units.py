"""Units after numbers are written in their case, by both engines, and only after numbers."""

import pytest
from support.models import Model, build

import capfst
from capfst.recaser import Recaser
from capfst.text.facts import rows
from capfst.text.unicode import lower, lower_bytes

FORMS = {"a": 1.0, "MCG": 1.0, "KW": 2.0, "kW": 3.0, "0": 1.0, "0H": 1.0, "Ma": 1.0, "GB": 1.0, "<unk>": 3.0}


@pytest.fixture(scope="module", params=["fast", "openfst"])
def recaser(request, tmp_path_factory) -> Recaser:
    words = sorted(FORMS, key=lambda form: (lower(form).encode(), FORMS[form]))
    arcs = {(i,): FORMS[form] for i, form in enumerate(words, 1)}
    made: Model = build(words, arcs, {}, {(): 1.0})
    path = tmp_path_factory.mktemp("units") / "m.fst"
    return Recaser(made.save(path), engine=request.param)


EXAMPLES = {
    "a 200 mcg": "a 200 mcg",  # the model has only MCG
    "a 200mcg 3h": "a 200mcg 3h",
    "A 200 MCG 3H": "a 200 mcg 3h",
    "1,000.5 kw 10 kWh, 5-10 mah": "1,000.5 kW 10 kWh, 5-10 mAh",
    "500-mah 16gb": "500-mAh 16GB",
    "A 20KW/H, 5 mcg/KW/h a/mcg": "a 20kW/h, 5 mcg/kW/h a/MCG",
    "5&nbsp;kw 5 &mu;g 5 kω": "5&nbsp;kW 5 &mu;g 5 kΩ",
    "mcg a kw": "MCG a KW",  # no number
    "b5 mcg": "b5 MCG",
    "5\nmcg": "5\nMCG",
    "5. mcg": "5. MCG",
    "20 ma": "20 mA",
    "5 Gb": "5 GB",
    "a :d\n;-D :d) a:d = d": "a :D\n;-D :d) a:d = d",
    "A 10:30 A. M. A 5 P. M.": "a 10:30 a. m. a 5 p. m.",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_units(recaser, text):
    assert recaser(text) == EXAMPLES[text]
    assert recaser(EXAMPLES[text]) == EXAMPLES[text]
    assert recaser.confidence(text.split("\n")[0]).text == EXAMPLES[text].split("\n")[0]


def test_abbreviations_keep_capitals_that_they_have() -> None:
    en = capfst.load("en", input_case="keep")
    assert en("the APPROX. of Approx. and approx.") == "the APPROX. of Approx. and approx."


def test_case_of_abbreviations() -> None:
    de = "Art. 6 lit. a i.V.m. § 5, vgl. 2. Aufl., Rdnr. 5, u.a. m.E."
    assert capfst.load("de")(de.lower()) == de
    assert capfst.load("fr")("le 12 juil. 2024 à paris") == "le 12 juil. 2024 à Paris"
    assert capfst.load("nl")("op 3 jan. 2025 in utrecht") == "op 3 jan. 2025 in Utrecht"


def test_paragraphs_stay_small() -> None:
    en = capfst.load("en")
    assert en("6(1)(f) gdpr and 5(a)(ii). 17(A)(II) and 401(K)") == "6(1)(f) GDPR and 5(a)(ii). 17(A)(II) and 401(K)"
    assert en("SECTION 6(1)(F)", input_case="ignore") == "section 6(1)(f)"


def test_written_case(recaser):
    assert recaser("a 5 Gb, 5 gb, 200 MCG", input_case="keep") == "a 5 Gb, 5 GB, 200 MCG"


def test_words_of_the_user_come_first(recaser):
    assert recaser("a 200 mcg 5 kw", words=[("MCG", None), ("KW", -9.0)]) == "a 200 MCG 5 kW"


def test_explained(recaser):
    explanation = recaser.explain("a 5 mcg kw")
    assert explanation.text == "a 5 mcg KW"
    assert [form.text for form in explanation.words[2].forms] == ["mcg"]
    assert [form.text for form in explanation.words[3].forms] == ["KW", "kW"]


def test_symbols():
    symbols = [row[0] for row in rows("units.tsv")]
    keys = [lower_bytes(symbol.encode()) for symbol in symbols]
    assert len({*keys}) == len(keys)
    assert max(map(len, keys)) < 8
