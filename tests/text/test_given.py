"""given.py: entities are read as characters, and inclusive forms as one word; what was given is written again."""

import html

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capfst.text import notations
from capfst.text.given import AS_BEFORE, AS_GIVEN, LOWER, Text, meant, read
from capfst.text.language import DEFAULT, languages
from capfst.text.unicode import lower

READ = {
    "don &apos;t &quot; &amp; &#39; &#x27; &#X2019;": "don 't \" & ' ' ’",
    "&#91; &#93; &#124;": "[ ] |",
    "a&nbsp;b&#160;b&#32;c&#10;d&Tab;e": "a\xa0b\xa0b\xa0c\xa0d\xa0e",
    "caf&eacute; &Eacute;cole &EACUTE;COLE &OElig;uvre": "café École ÉCOLE Œuvre",
    "&amp;quot; &amp;amp;#39; &#38;lt;": "\" ' <",
    "it&#146;s &#150; &#128;5": "it’s – €5",
    "&Dagger; &Prime; &lt; &LT; &mu;g &hellip; &middot;": "† ′ < < μg … ·",
    "&#128512;": "😀",
    "AT&T; S&Ls; &foo; &am p; & &; &#; &#x; &amp": "AT&T; S&Ls; &foo; &am p; & &; &#; &#x; &amp",
    "&#0; &#27; &#127; &#129; &#xD800; &#x110000; &#99999999999; &#65533;": (
        "&#0; &#27; &#127; &#129; &#xD800; &#x110000; &#99999999999; &#65533;"
    ),
    "&#65; &#57; &semi; &&num;39;": "&#65; &#57; &semi; &&num;39;",
    "les député·e·s et citoyen‧ne‧s, invité•e.": "les député et citoyen, invité.",
    "les invit&eacute;&middot;e&middot;s": "les invité",
    "Schüler:innen, KUND*INNEN, Lehrer_innen, Lehrer_in": "Schülerinnen, KUNDINNEN, Lehrerinnen, Lehrerin",
    "Schüler:innenrat Schüler:innen-Ausweis": "Schülerinnenrat Schülerinnen-Ausweis",
    "jede:r ein:e eine:n der Angestellte:n": "jede ein eine der Angestellte",
    "a:in kW·h N·m paral·lel log_in is_in_x foo:bar 10:30 x*y ami·s mode:e": (
        "a:in kW·h N·m paral·lel log_in is_in_x foo:bar 10:30 x*y ami·s mode:e"
    ),
    "un:in@example.org in:in= ff:in( ab·e·e·e·e·e": "un:in@example.org in:in= ff:in( ab",
    "·e :in": "·e :in",
}


def text_of(text: str, **options: bool) -> Text:
    return read(np.frombuffer(text.encode(), np.uint8), **options)


@pytest.mark.parametrize("text", READ)
def test_read(text):
    found = text_of(text)
    assert found.buf.tobytes().decode() == READ[text] == meant(text.encode()).decode()
    endings = np.full(len(found.starts), AS_GIVEN, np.uint8)
    assert bytes(found.written(found.buf, DEFAULT, endings)).decode() == text
    assert meant(found.buf.tobytes()) == found.buf.tobytes() or "·" in text


def test_all_names_of_html_4_are_known():
    known = {int(key).to_bytes(8, "little").rstrip(b"\0").decode() for key in notations.names().keys}
    short = {name for name in html.entities.name2codepoint if len(name) < 3} - {"ni", "or"}
    long = {name for name in html.entities.name2codepoint if len(name) > 2}
    assert {name.lower() for name in short | long} <= known


def test_a_text_that_is_as_it_was_meant_is_not_copied():
    buf = np.frombuffer("a * b: c_d, «e» – “f” 10:30".encode(), np.uint8)
    assert read(buf).buf is buf


def test_offsets():
    text = "&quot;ab&#39;s&quot; député·e·s, x"
    found = text_of(text)
    starts = np.array([0, 1, 3, 4, 5, 7])
    data = text.encode()
    assert found.buf.tobytes().decode() == '"ab\'s" député, x'
    pairs = list(zip(found.offsets(starts)[:-1], found.offsets(starts)[1:], strict=True))
    assert [data[a:b].decode() for a, b in pairs] == ["&quot;", "ab", "&#39;", "s", "&quot; "]
    word = found.offsets(np.array([7, found.buf.tobytes().index(b",")]))
    assert data[word[0] : word[1]].decode() == "député·e·s"


@pytest.mark.parametrize(
    ("text", "recased", "endings", "expected"),
    [
        ("DÉPUTÉ·E·S", "député", LOWER, "député·e·s"),
        ("DÉPUTÉ·E·S", "DÉPUTÉ", LOWER, "DÉPUTÉ·E·S"),
        ("JEDE:R", "Jede", LOWER, "Jede:r"),
        ("DÉPUTÉ·E·S", "DÉPUTÉ", AS_GIVEN, "DÉPUTÉ·E·S"),
        ("DÉPUTÉ·E·S", "député", AS_BEFORE, "député·e·s"),
        ("Député·E", "Député", AS_BEFORE, "Député·E"),
        ("&EACUTE;COLE", "école", LOWER, "&EACUTE;cole"),
        ("x ΑΣ&#8217;ς y", "x Ας’ς y", LOWER, "x Ας&#8217;ς y"),
        ("i&#775;x", "İx", LOWER, "i&#775;x"),  # not one character for another
        ("ΑΣ&#8217;Α", "ασ’α", LOWER, "ΑΣ&#8217;Α"),  # the lowercase of the sigma is another one before `&`
    ],
)
def test_written(text, recased, endings, expected):
    found = text_of(text)
    of_all = np.full(len(found.starts), endings, np.uint8)
    out = bytes(found.written(np.frombuffer(recased.encode(), np.uint8), DEFAULT, of_all)).decode()
    assert out == expected
    assert lower(out) == lower(text)


def test_entities_of_tokenized_text_stay_text():
    found = text_of("i &apos;m x·e", keeps_entities=True)
    assert found.buf.tobytes().decode() == "i &apos;m x·e"
    upper = np.frombuffer("I &APOS;M X·E".encode(), np.uint8)
    assert bytes(found.written(upper, DEFAULT, np.full(1, LOWER, np.uint8))).decode() == "I &apos;M X·E"


def test_white_space_of_aligned_text_stays_an_entity():
    assert text_of("a&nbsp;b &amp; c", keeps_spaces=True).buf.tobytes().decode() == "a&nbsp;b & c"


PIECES = [
    "&", ";", "amp;", "&amp;", "&apos;", "&#39;", "&#x3a3;", "&nbsp;", "&#775;", "&eacute;", "&Eacute;",
    "&#0;", "#", "39;",
    "a", "B", "é", "É", "i", "İ", "Σ", "σ", "ς", "ß", " ", "\n", "·e", "·s",
    ":in", "*innen", "_innen", ":r", "e", "ein:e",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=12)


@settings(deadline=None, max_examples=300)
@given(
    text=TEXTS, endings=st.sampled_from([AS_GIVEN, LOWER, AS_BEFORE]), case=st.sampled_from(["upper", "title", "lower"])
)
@example("&&#35;39;", LOWER, "upper")
@example("x" + 20 * ":in", LOWER, "upper")
@example("ein" + 20 * ":e", LOWER, "upper")
def test_only_case_changes(text, endings, case):
    found = text_of(text)
    meaning = found.buf.tobytes()
    # A text and its lowercase mean the same, except for a sigma before an entity or ending.
    of_lowercase = meant(lower(text).encode()).decode()
    assert lower(of_lowercase).replace("ς", "σ") == lower(meaning.decode()).replace("ς", "σ")
    for n_chars in (1, 3):  # also texts that are not the same in other case
        other = np.frombuffer(getattr(meaning.decode(), case)().encode() * n_chars, np.uint8)
        out = bytes(found.written(other, DEFAULT, np.full(len(found.starts), endings, np.uint8)))
        if lower(other.tobytes().decode()) == lower(meaning.decode()):
            assert lower(out.decode()) == lower(text)
    same = bytes(found.written(found.buf, languages("de,tr"), np.zeros(len(found.starts), np.uint8)))
    assert same.decode() == text


def test_long_chains_are_read_in_linear_time():
    for text in ("&amp;" * 50_000, "ab" + "·es" * 50_000 + "@", "ab:innen" * 20_000, "&#" * 50_000, "·e" * 50_000):
        assert text_of(text).buf.size <= len(text.encode())


def test_the_endings_have_letters():
    table = notations.endings()
    assert (np.diff(table.starts) > 0).all()
