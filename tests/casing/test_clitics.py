"""Clitics in capitals agree with their words."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

import capfst

CLITICS = ["you're", "won't", "it's", "they’ve", "I'm", "she'll", "ceo's", "zorblax's", "we'd", "o'clock", "in"]
_disagrees = re.compile(r"[a-z]['’](RE|VE|LL)\b|[a-z](N['’]T|['’][TSDM])\b|[A-Z]{3}n?['’](t|re|ve|ll)\b").search


def _in_case(word: str, case: str) -> str:
    return {"upper": word.upper(), "title": word.title(), "lower": word, "stem": word.partition("'")[0] + "'RE"}[case]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(CLITICS), st.sampled_from(["upper", "title", "lower", "stem"])), min_size=1))
def test_they_agree_in_any_case(words: list[tuple[str, str]]) -> None:
    recaser = capfst.load("en")
    recased = recaser(" ".join(_in_case(*word) for word in words))
    assert not _disagrees(recased)


def test_turkish_suffixes_stay_small_after_acronyms() -> None:
    recaser = capfst.load("tr")
    for text in (
        "TBMM'NİN KARARI VE NATO’NUN SESİ",
        "tbmm'nin kararı ve nato’nun sesi",
        "TBMM'Nin Kararı Ve Nato’Nun Sesi",
    ):
        recased = recaser(text)
        assert recased.startswith("TBMM'nin ") and " NATO’nun " in recased
