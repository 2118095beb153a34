"""Test the lowering grammar: golden outputs, agreement with `str.lower` and the model's `lower`, and FST properties."""

import string
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("pynini")

import pynini

from capfst.exceptions import CapfstError
from capfst.text.unicode import lower as model_lower
from grammars.lower import lower, lowering, raising

# Where the grammar and `str.lower` may differ, and why. İ, ß, ẞ, ſ and σ/ς are not exceptions: they agree.
EXCEPTIONS = [
    (range(1), "NUL has no label: 0 is ε"),
    (range(0xD800, 0xE000), "a lone surrogate has no UTF-8"),
    ([0x1734], "IGNORABLE before Unicode 14 (Python 3.10), which changes a sigma next to it"),
    (
        [code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cn"],
        "not in this Python's Unicode, so it has no lowercase",
    ),
]

words = st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\0\u1734"), max_size=12)
sigma_words = st.text(st.sampled_from("ΣσςΑαaİǅⅧ0'.·[]\\\u00ad\u0301\u0345ʰ😀"), max_size=12)


SURFACES = """
    Istanbul İSTANBUL ısı STRASSE Straße STRAẞE ΟΔΟΣ ΟΔΟΣ. Σ ΣΑΣ ΑΣ'Α ΑΣ-Α Α'Σ 'Σ ΣΣ οδοσ Ǆ ǅ Å Ⅷ Ⓐ ﬁﬂ ŉ ſ Ⱥ ԱՐԵՎ Ა 𐐀
    O'NEILL O’Neill U.S. [BOS] 👍🏽🇬🇧 𝐀𝔸ℝ ٣½²7 漢字かな
""".split()  # noqa: SIM905
SURFACES += ["", "\u0391\u03a3\u0301", "\u212b", "\u212a", "ALL CAPS", "\\[EOS]", "a\tB\n"]


@pytest.mark.parametrize("surface", SURFACES)
def test_golden_outputs(surface: str) -> None:
    assert lower(surface) == surface.lower()


@pytest.mark.slow
def test_agrees_with_str_lower_on_every_code_point() -> None:
    excepted = {code for codes, _ in EXCEPTIONS for code in codes}
    known = [code for code in range(0x110000) if code not in excepted]
    # For the final-sigma rule a line feed separates words, so a few strings can hold all code points.
    for first in range(0, len(known), 1_000):
        codes = known[first : first + 1_000]
        text = "\n".join(map(chr, codes))
        if lower(text) != text.lower():
            pytest.fail(str([hex(code) for code in codes if lower(chr(code)) != chr(code).lower()]))


@settings(deadline=None)
@given(words | sigma_words)
def test_agrees_with_str_lower_and_with_the_model(word: str) -> None:
    assert lower(word) == word.lower() == model_lower(word)


@settings(deadline=None)
@given(words | sigma_words)
def test_each_word_has_one_lowercase_form(word: str) -> None:
    paths = pynini.compose(pynini.escape(word), lowering()).paths()
    assert list(paths.ostrings()) == [word.lower()]


@settings(deadline=None)
@given(words | sigma_words)
def test_lowering_is_idempotent(word: str) -> None:
    assert lower(lower(word)) == lower(word)


@settings(deadline=None)
@given(words | sigma_words)
def test_raising_includes_every_surface_form(word: str) -> None:
    related = pynini.escape(word.lower()) @ raising() @ pynini.escape(word)
    assert related.num_states() > 0


@pytest.mark.parametrize(
    ("lowercase", "surfaces"),
    [
        ("us", ["US", "Us", "uS", "us"]),
        ("k9", ["K9", "k9", "\u212a9"]),
        ("i\u0307", ["I\u0307", "i\u0307", "İ"]),
        ("ǆ", ["Ǆ", "ǅ", "ǆ"]),
        ("aς", ["AΣ", "Aς", "aΣ", "aς"]),
        ("aσ", ["Aσ", "aσ"]),
        ("ß", ["ß", "ẞ"]),
        ("7", ["7"]),
        ("US", []),
    ],
)
def test_raising_lists_all_surface_forms(lowercase: str, surfaces: list[str]) -> None:
    raised = pynini.compose(pynini.escape(lowercase), raising()).paths().ostrings()
    assert sorted(raised) == surfaces


def test_nul_is_refused() -> None:
    with pytest.raises(CapfstError, match=r"'A\\x00B'"):
        lower("A\0B")


def test_the_fst_is_valid_unweighted_and_small() -> None:
    fst = lowering()
    assert fst.verify()
    assert fst.properties(pynini.UNWEIGHTED, True) == pynini.UNWEIGHTED
    assert fst.num_states() < 2000
    letters = pynini.union(*string.ascii_letters).closure().optimize()
    small = pynini.union(*string.ascii_lowercase).closure().optimize()
    assert pynini.equivalent(pynini.project(letters @ fst, "output").rmepsilon().optimize(), small)
