"""Written case: the shape in which a word is written, and `input_case="keep"`."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import capfst
from capfst.casing.shapes import Shape
from capfst.casing.written import HAS_SMALL, MAY_BEGIN, has_lost_contrast, line_ends, written_evidence, written_shapes
from capfst.exceptions import OptionError
from capfst.recaser import Recaser, load

LOWER, CAPITALIZED, UPPER, MIXED, CASELESS = Shape
SMALL, FIRST = HAS_SMALL, MAY_BEGIN


@pytest.fixture(scope="module")
def recaser(tmp_path_factory: pytest.TempPathFactory) -> Recaser:
    folder = tmp_path_factory.mktemp("written")
    corpus = "Then we saw New York .\nBut we saw the Times .\nYou and I use iPads .\nAll the pads are new .\n" * 3
    corpus += "The Anglo-Saxon O'Reilly and D'Arcy are Anti-Mac .\n" * 3
    folder.joinpath("text.txt").write_text(corpus)
    capfst.train(folder / "text.txt", folder / "cap.fst", clean=False, context=False)
    return load(folder / "cap.fst")


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("We saw", [CAPITALIZED | SMALL | FIRST, LOWER | SMALL]),
        ("I NEW yOrK", [CAPITALIZED | FIRST, UPPER, MIXED | SMALL]),
        ("1990 the", [CASELESS | FIRST, LOWER | SMALL]),
        ("“ÉTÉ été", [CASELESS, UPPER | FIRST, LOWER | SMALL]),
        ("漢 ①", [CASELESS | FIRST, CASELESS]),
        ("so . We", [LOWER | SMALL | FIRST, CASELESS, CAPITALIZED | SMALL | FIRST]),
        ("see HTTP://X.org", [LOWER | SMALL | FIRST, CASELESS]),
        ("a\nB", [LOWER | SMALL | FIRST, CASELESS, CAPITALIZED | FIRST]),
        ("ǅ", [CAPITALIZED | FIRST]),
        ("5th 1990s 1ª 2Go", [LOWER | FIRST, LOWER, LOWER, CAPITALIZED]),
        ("AN Nº nº", [UPPER | FIRST, CAPITALIZED, LOWER | SMALL]),
        ("Don't don’t new york", [CAPITALIZED | SMALL | FIRST, LOWER, LOWER | SMALL, LOWER, *2 * [LOWER | SMALL]]),
    ],
)
def test_written_shapes(recaser: Recaser, text: str, shapes: list[int]) -> None:
    buf = np.frombuffer(text.encode(), np.uint8)
    assert written_shapes(buf, recaser.pipeline.loaded.transducer.words(buf), False).tolist() == shapes


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("we THe", [LOWER | SMALL | FIRST, CASELESS | SMALL]),
        ("NEw YOrk SAw", [CASELESS | SMALL | FIRST, CASELESS | SMALL, CASELESS | SMALL]),
        ("see IPads", [LOWER | SMALL | FIRST, CASELESS | SMALL]),
        ("see anglo-Saxon o'Reilly", [LOWER | SMALL | FIRST, *[CASELESS | SMALL] * 2]),
        ("see anti-Mac d'Arcy", [LOWER | SMALL | FIRST, *[MIXED | SMALL] * 2]),
        ("see NEW nEw UNknown ALs THE", [LOWER | SMALL | FIRST, UPPER, *[MIXED | SMALL] * 3, UPPER]),
        ("YOU’RE SAW'S saw's", [CASELESS | FIRST, CASELESS, CASELESS, CASELESS, LOWER | SMALL, LOWER]),
        ("see AREN'T Aren'T", [LOWER | SMALL | FIRST, CASELESS, CASELESS, CAPITALIZED | SMALL, CASELESS]),
        ("FOO'S you'RE 'S N'T", [UPPER | FIRST, CASELESS, LOWER | SMALL, CASELESS, CAPITALIZED, UPPER]),
        ("“N'SAW\nN'SAW\n'S", [CASELESS, UPPER | FIRST, CASELESS, UPPER | FIRST, CASELESS, CAPITALIZED | FIRST]),
    ],
)
def test_slips_and_clitics_are_no_evidence(recaser: Recaser, text: str, shapes: list[int]) -> None:
    buf, transducer = np.frombuffer(text.encode(), np.uint8), recaser.pipeline.loaded.transducer
    assert written_evidence(buf, transducer.words(buf), transducer.symbols, False).tolist() == shapes


CLITICS = ["you're", "won't", "it's", "they’ve", "I'm", "she'll", "ceo's", "zorblax's", "we'd", "o'clock", "in"]
_disagrees = re.compile(r"[a-z]['’](RE|VE|LL)\b|[a-z](N['’]T|['’][TSDM])\b").search


def _in_case(word: str, case: str) -> str:
    return {"upper": word.upper(), "title": word.title(), "lower": word, "stem": word.partition("'")[0] + "'RE"}[case]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(CLITICS), st.sampled_from(["upper", "title", "lower", "stem"])), min_size=1))
def test_clitics_agree_with_small_words(words: list[tuple[str, str]]) -> None:
    assert not _disagrees(load("en")(" ".join(_in_case(*word) for word in words)))


def test_turkish_suffixes_stay_small_after_acronyms() -> None:
    recaser = load("tr")
    for text in (
        "TBMM'NİN KARARI VE NATO’NUN SESİ",
        "tbmm'nin kararı ve nato’nun sesi",
        "TBMM'Nin Kararı Ve Nato’Nun Sesi",
    ):
        recased = recaser(text)
        assert recased.startswith("TBMM'nin ") and " NATO’nun " in recased


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("we saw PyTorch in new YORK", "we saw PyTorch in New YORK"),
        ("You use Ipads and ipads", "You use Ipads and iPads"),
        ("WE SAW NEW YORK", "we saw New York"),
        ("We Saw The Pads", "we saw the pads"),  # Title Case
        ("We Didn't See The Pads", "we didn't see the pads"),
        ("WE'd SEEN NEW YORK IN THE 1990s", "we'd seen New York in the 1990s"),
        ("We Saw the Pads", "We Saw the Pads"),
        ("Don’T see UTF-8 in NEW york", "Don’T see UTF-8 in NEW York"),
        ("we saw Οδος and İx", "we saw Οδος and İx"),
        ("", ""),
        ("<B> We </B> saw new York", "<B> We </B> saw New York"),
    ],
)
@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_keep(recaser: Recaser, text: str, kept: str, engine: str) -> None:
    assert recaser(text, input_case="keep", engine=engine) == kept
    assert recaser(kept, input_case="keep", engine=engine) == kept
    assert recaser.nbest(text, 1, input_case="keep", engine=engine)[0].text == kept


def test_a_line_that_comes_to_be_in_title_case_is_not_kept(recaser: Recaser) -> None:
    assert recaser("We Saw New york", input_case="keep") == "we saw New York"


@pytest.mark.parametrize(
    ("text", "recased"),
    [
        ("IN THE 1990s THE US SENATE WAS IN NEW YORK", "in the 1990s the US Senate was in New York"),
        ("APPLE's NEW IPHONE IS HERE IN NEW YORK", "Apple's new iPhone is here in New York"),
        ("The Best Restaurants In New York You Can't Miss", "The best restaurants in New York you can't miss"),
        ("The World’s Most Expensive Cities", "The world’s most expensive cities"),
        ("U.S. Says Trade Talks With China To Resume", "U.S. says trade talks with China to resume"),
        ("They Use The IPhones. We Use The Phones.", "They use the iPhones. We use the phones."),
    ],
)
@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_capitals_and_title_case_are_no_evidence(text: str, recased: str, engine: str) -> None:
    assert load("en")(text, engine=engine) == recased
    assert load("en")([text], engine=engine) == [recased]


def test_ordinals_have_no_case() -> None:
    text = "EL SR. GARCÍA VIVE EN LA CALLE DE ALCALÁ, N.º 5"
    assert load("es")(text) == "el Sr. García vive en la calle de Alcalá, n.º 5"


def test_evidence_needs_a_model_that_has_learned_it(recaser: Recaser, contextual_model: Path) -> None:
    assert recaser.pipeline.input_case == "ignore"
    for options in {"input_case": "evidence"}, {"input_case": "evidence", "context": True}:
        with pytest.raises(OptionError, match="`input_case='evidence'` needs"):
            recaser("text", **options)
    with pytest.raises(OptionError, match="ignore, keep, evidence"):
        recaser("text", input_case="some")
    assert load(contextual_model).pipeline.input_case == "evidence"
    assert load(contextual_model, context=False).pipeline.input_case == "ignore"


@pytest.mark.parametrize(
    ("text", "recased", "has_capital", "lost"),
    [
        ("Ab\nab\nAB\n\nAb c", "ab\nab\nAB\n\nAB C", False, [0, 4]),
        ("Ab\nAb\n", "ab\nAB\n", True, [1]),
        ("Ab\nAb", "Ab\nAb", False, []),
        ("İb\nAb\n", "i\u0307b\nab\n", False, [0, 1]),  # a short line with a letter that is not ASCII
        (f"{20 * 'İb '}\nAb\n", f"{20 * 'İb '}\nab\n", False, [1]),  # only ASCII letters count
        ("sOME WORDS IN CAPITALS\nSome Words\n", "sOME WORDS IN CAPITALS\nSome Words\n", False, [0]),
        ("", "", False, []),
    ],
)
def test_lines_that_lose_their_contrast(
    recaser: Recaser, text: str, recased: str, has_capital: bool, lost: list[int]
) -> None:
    before, after = (np.frombuffer(each.encode(), np.uint8) for each in (text, recased))
    words = recaser.pipeline.loaded.transducer.words(before)
    ends, its_ends = line_ends(before, words, after)
    assert has_lost_contrast(before, ends, after, its_ends, has_capital).tolist() == lost
    assert ends.tolist() == [*np.flatnonzero(before == ord("\n")), len(before)]
    assert its_ends.tolist() == [*np.flatnonzero(after == ord("\n")), len(after)]
