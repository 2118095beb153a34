"""surface.py: write the text in chosen surface forms. For any choice, only case changes."""

import random
import unicodedata

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.models import FORMS
from support.spelling import spelled
from support.transducers import transducer_of
from support.untouched import is_camel_case, parts, with_dots

from capfst.casing import surface
from capfst.casing.shapes import AS_FORM, Shape
from capfst.casing.surface import _put_cased, write
from capfst.casing.transducer import Transducer
from capfst.casing.types import CasingCosts, LabelPath
from capfst.recaser import load
from capfst.text.tokenizer import COMPOUND, MARKS, NEWLINE, PROTECTED, WORD
from capfst.text.unicode import INFO, IS_CASED, IS_IGNORABLE, lower

REVISED = "\u1734"  # as in test_unicode.py
VOCABULARY = [
    *FORMS, "İ", "İx", "I\u0307X", "Οδοσ", "Σ", "σ", "ς", "a.Σ.", "A.Σ.", "00:00", "F-00", "f-00", "Well-known",
    "don't", "DON'T", "O'Neill", "k", "ẞ", "ß", "ʰA", "Ⓐ", "<url>", "<URL>", "...", "'", '"', "ⅷ", "Ⅷ", "ﬃ", "Ⱥ", "ⱥ",
    "ɫ", "Ɫ",
]  # fmt: skip
TEXT_WORDS = [
    *VOCABULARY, "oov", "ŉ", "ı", "ſ", "x@Y.z", "#Tag", "http://A.b/C", "C:\\X", "ΣΑΣ", "F-16", "10:30", "DON’T", "🄰",
    "<B>", "</Σ>", "&Amp;", "`US ΑΣ`", "$Σ_i$", "\\Us{ΑΣ}", "Us.ΑΣ", "Σ_US", "US()", "0xAb",
]  # fmt: skip
BETWEEN = [*" \n\t,'’-:.…“”!\0\u00a0\u200b\u0301", "  ", "\r\n", "'S", "’s", " 'Σ", "--", "...", "``"]
casings = st.sampled_from([str, str.upper, str.title, str.swapcase, str.lower])
cased_words = st.builds(lambda word, case: case(word), st.sampled_from(TEXT_WORDS), casings)
pieces = st.lists(cased_words | st.sampled_from(BETWEEN) | st.characters(codec="utf-8"), max_size=10)
texts = pieces.map("".join) | pieces.map(" ".join) | st.text(max_size=20)


TRANSDUCERS = {plain: transducer_of(VOCABULARY, plain) for plain in (False, True)}
UNKNOWING = {plain: transducer_of(["<unk>"], plain) for plain in (False, True)}


def one_sentence(labels: npt.NDArray[np.uint32]) -> LabelPath:
    """Return the path with these labels, for lines of one sentence."""
    return LabelPath(labels, np.zeros(len(labels), np.bool_))


def written(t: Transducer, text: str, rng: random.Random, sentence_case: bool = False) -> str:
    """Return the text with each word in one of its forms, or lowercase."""
    buf = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    words = t.words(buf)
    ranges = zip(words.first_labels.tolist(), words.n_forms.tolist(), strict=True)
    labels = [rng.choice([0, *range(first, first + forms)]) for first, forms in ranges]
    out = write(
        buf, words, one_sentence(np.array(labels, np.uint32)), CasingCosts(), t.symbols, t.pretokenized, sentence_case
    )
    return bytes(out).decode("utf-8", "surrogatepass")


def reaches_cased(characters: str) -> bool:
    """Return whether a cased letter comes first, without characters that the final-sigma rule ignores."""
    flags = next((flags for c in characters if not (flags := INFO[ord(c)]) & IS_IGNORABLE), 0)
    return bool(flags & IS_CASED)


def is_known(text: str) -> bool:
    """Return whether the Unicode version of this Python's `str.lower` covers the text, as the tables do."""
    return REVISED not in text and all(unicodedata.category(c) != "Cn" for c in text)


@pytest.mark.slow
@settings(deadline=None, max_examples=1500)
@given(texts, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
@example("ΟΔΟΣ's a.ς.:b 'Σ' οδος.Σ a:Σ", False, True, random.Random(1))
@example("σ Σ 'σα “ς i̇x ⱥ ɫ ŉ ı ǆ ß", False, True, random.Random(1))
@example("σ\n'σα\n“ς\ni̇x\nⱥ\nɫ\nŉ\nı\nǆ\nß\nﬃ", False, True, random.Random(1))
@example("` ' [ { @ \0 \x07 é É", True, False, random.Random(1))
@example("Ⓐσ_us", True, True, random.Random(1))
@example("Ⓐσ_us", False, True, random.Random(1))
@example("“σ x\n'σα y\n-ς\n' σ\nf-16 'don’t", True, True, random.Random(1))
def test_only_case_changes(text, plain, sentence_case, rng):
    out = written(TRANSDUCERS[plain], text, rng, sentence_case)
    assert lower(out) == lower(text)
    if is_known(text + out):
        assert out.lower() == text.lower()
    assert parts(out, TRANSDUCERS[plain])[1] == parts(text, TRANSDUCERS[plain])[1]


def test_lone_surrogates():
    text = "\ud800us \udfff\nIphone\ud83d\ude00-\udead"
    assert written(UNKNOWING[False], text, random.Random(1)) == text.lower()


@pytest.mark.slow
@settings(deadline=None, max_examples=1000)
@given(texts, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
@example("ΣΑ's οδος's Σ.α σα-Σας", False, False, random.Random(1))
@example("us Us US uS abcdefgh ABCDEFGHI abcdefghI 'abcdefg 12345678a12345678b ", False, False, random.Random(1))
def test_only_case_changes_by_shapes(text, plain, sentence_case, rng):
    """Words in their first form, or without a form, are written in their shape; others as without shapes."""
    t = TRANSDUCERS[plain]
    buf = np.frombuffer(text.encode(), np.uint8)
    words = t.words(buf)
    choice = words.first_labels + np.array([forms > 1 and rng.random() < 0.3 for forms in words.n_forms], np.uint32)
    shapes = np.array(
        [
            rng.choice([Shape.LOWER, Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED, Shape.CASELESS, AS_FORM])
            for _ in choice
        ],
        np.uint8,
    )
    out = bytes(
        write(buf, words, one_sentence(choice), CasingCosts(shapes=shapes), t.symbols, plain, sentence_case)
    ).decode()
    assert lower(out) == lower(text)
    assert parts(out, t)[1] == parts(text, t)[1]

    if not sentence_case:
        low, formed = (
            lower(text).encode(),
            bytes(write(buf, words, one_sentence(choice), CasingCosts(), t.symbols, plain, False)),
        )
        tokens = [t.words(np.frombuffer(data, np.uint8)) for data in (low, formed)]
        expected, before = b"", 0
        for i, (s, e, kind) in enumerate(zip(*words[:3], strict=True)):
            small, form = (data[w.starts[i] : w.ends[i]] for data, w in zip((low, formed), tokens, strict=True))
            if kind not in (MARKS, PROTECTED, NEWLINE) and shapes[i] != AS_FORM and choice[i] == words.first_labels[i]:
                form = spelled(small.decode(), shapes[i]).encode()
                form = form.replace("I\u0307".encode(), "İ".encode())
                around = bytes(buf[:s]).decode()[::-1], bytes(buf[e:]).decode()
                if "Σ" in form.decode() and any(map(reaches_cased, around)):
                    form = small
            token = bytes(buf[s:e]).decode()
            if kind in (WORD, COMPOUND):
                form = with_dots(form.decode(), token).encode()
                if choice[i] == 0 and not plain and is_camel_case(token):
                    form = token.encode()
            expected += bytes(buf[before:s]) + form
            before = e
        assert out == (expected + bytes(buf[before:])).decode()


def every_word(buf, words, path, manner, small_forms, found):
    """Replace `_find_changing`: all words may change."""
    found[:] = np.arange(len(found))
    return len(found)


@settings(deadline=None, max_examples=400)
@given(texts, st.booleans(), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
@example("us don't f-16 'us\nus “abc x\n' us 10:30 us.", False, True, False, random.Random(1))
@example(20 * "' us\n", True, True, False, random.Random(1))
@example("us us us k k k don't don't don't us us us", False, False, True, random.Random(1))
def test_skipped_words_do_not_change(text, plain, sentence_case, by_shapes, rng):
    """For any forms, shapes and sentence boundaries, the text is the same as if every word were examined."""
    t = TRANSDUCERS[plain]
    # All words in the last eight bytes are examined.
    buf = np.frombuffer((text + 8 * " ").encode("utf-8", "surrogatepass"), np.uint8)
    words = t.words(buf)
    ranges = zip(words.first_labels.tolist(), words.n_forms.tolist(), strict=True)
    labels = np.array([rng.choice([0, *range(first, first + forms)]) for first, forms in ranges], np.uint32)
    path = LabelPath(labels, np.array([rng.random() < 0.2 for _ in labels], np.bool_))
    shapes = np.array([rng.choice([0, 0, 1, 2, 3, AS_FORM]) for _ in labels], np.uint8) if by_shapes else None
    options = buf, words, path, CasingCosts(shapes=shapes), t.symbols, plain, sentence_case
    with pytest.MonkeyPatch.context() as patch:
        passed_over = bytes(write(*options))
        patch.setattr(surface, "_find_changing", every_word)
        assert passed_over == bytes(write(*options))


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("US OOV i 1990S o’neill abcdefghij", Shape.LOWER, "us oov i 1990s o’neill abcdefghij"),
        ("us OOV I 1990s O’NEILL abcdefghij", Shape.CAPITALIZED, "Us Oov I 1990S O’neill Abcdefghij"),
        ("us Oov i 1990s o’neill abcdefghij", Shape.UPPER, "US OOV I 1990S O’NEILL ABCDEFGHIJ"),
        ("us mcx-Y mcdonald o’neill oovs", Shape.MIXED, "Us Mcx-Y McDonald O’Neill OOVs"),
        ("Us oOv OOV", Shape.CASELESS, "us oOv oov"),
        ("Us oOv Oov", AS_FORM, "US oOv oov"),
        ("http://X.org @Me ... B", Shape.UPPER, "http://X.org @Me ... B"),
        ("οδος σας's Σ", Shape.UPPER, "ΟΔΟΣ σας'S Σ"),
        ("12345678abc éABCDEFGH", Shape.CAPITALIZED, "12345678Abc Éabcdefgh"),
    ],
)
def test_shapes(text, shape, expected):
    t = transducer_of(["US", "us"], False)
    buf = np.frombuffer(text.encode(), np.uint8)
    for rest in (b"", b"\n" + b" " * 8):  # at the end of the text, and before it
        longer = np.concatenate([buf, np.frombuffer(rest, np.uint8)])
        found = t.words(longer)
        shapes = np.full(len(found.first_labels), shape, np.uint8)
        out = bytes(
            write(longer, found, one_sentence(found.first_labels), CasingCosts(shapes=shapes), t.symbols, False, False)
        )
        assert out.decode() == expected + rest.decode()


def test_another_form_than_the_first_is_not_written_in_a_shape():
    t = transducer_of(["US", "us"], False)
    buf = np.frombuffer(b"us Us US", np.uint8)
    words = t.words(buf)
    shapes = np.full(3, Shape.CAPITALIZED, np.uint8)
    assert (
        bytes(
            write(
                buf,
                words,
                one_sentence(words.first_labels + np.uint32(1)),
                CasingCosts(shapes=shapes),
                t.symbols,
                False,
                False,
            )
        )
        == b"us us us"
    )


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("us x\n“us", Shape.LOWER, "Us x\n“Us"),
        ("us x\n“us", Shape.UPPER, "US X\n“US"),
        ("mcdonald x", Shape.MIXED, "McDonald X"),
        ("Itunes X", Shape.LOWER, "Itunes x"),
    ],
)
def test_sentence_case_comes_after_shapes(text, shape, expected):
    buf = np.frombuffer(text.encode(), np.uint8)
    words = UNKNOWING[False].words(buf)
    shapes = np.full(len(words.first_labels), shape, np.uint8)
    assert (
        bytes(
            write(
                buf,
                words,
                one_sentence(words.first_labels),
                CasingCosts(shapes=shapes),
                UNKNOWING[False].symbols,
                False,
                True,
            )
        ).decode()
        == expected
    )


@pytest.mark.parametrize(
    ("text", "forms", "expected"),
    [
        ("10:30 f-16 IN THE 1990s", ["F-00", "0000S", "in"], "10:30 F-16 in the 1990S"),
        ("o’neill o'neill’s", ["O'Neill", "'S"], "O’Neill O'Neill’S"),
        ("o'1’2'3", ["O'0'0'0"], "o'1’2'3"),  # not one word, but five
        ("r’n'b1’x2", ["R'N'B0'X0"], "R’N'B1’X2"),
        ("well-known x-y", ["Well-Known", "X"], "Well-Known X-y"),
        ("HTTP://X.ORG @Me #Tag", ["<URL>"], "HTTP://X.ORG @Me #Tag"),
        ("a…B—c", ["...", "--", "C"], "a…b—C"),
        ("ISTANBUL İX i̇x", ["İx", "istanbul"], "istanbul İx İx"),
        ("ⱥ Ɫ", ["Ⱥ", "ɫ"], "Ⱥ ɫ"),
        ("ΟΔΟΣ. ΟΔΟΣ's", ["Οδος", "ΟΔΟΣ", "Οδοσ"], "Οδος. Οδοσ's"),
    ],
)
def test_golden(text, forms, expected):
    """All words are in their first form."""
    t = transducer_of(forms, False)
    buf = np.frombuffer(text.encode(), np.uint8)
    words = t.words(buf)
    assert (
        bytes(write(buf, words, one_sentence(words.first_labels), CasingCosts(), t.symbols, False, False)).decode()
        == expected
    )


def test_only_the_case_of_ascii_letters_is_copied_from_a_form():
    """Other bytes that differ only in the bit of case, such as a quote and a control character, are not copied."""
    rng = random.Random(1)
    for a in range(256):
        for b in {a, a ^ 0x20, a ^ 0x40, rng.randrange(256)}:
            size = rng.randrange(1, 20)
            at = rng.randrange(size)
            token = bytes(rng.choices(b"aZ'0\xc3", k=size))
            text = np.frombuffer(token[:at] + bytes([a]) + token[at + 1 :] + b"x" * 8, np.uint8)
            data = np.frombuffer(b".." + token[:at] + bytes([b]) + token[at + 1 :] + b"y" * 8, np.uint8)
            letters = a < 128 and chr(a).isalpha() and a ^ b in (0, 0x20)
            out = np.empty(size + 8, np.uint8)
            if a == b or letters:
                assert _put_cased(text, 0, size, data, 2, out, 0) == size
                assert out[:size].tobytes() == data[2 : 2 + size].tobytes()
            else:
                assert _put_cased(text, 0, size, data, 2, out, 0) == -1
            assert _put_cased(text[:-1], 0, size, data, 2, out, 0) == -1
            assert _put_cased(text, 0, size, data[:-1], 2, out, 0) == -1


WRITTEN = """
    Hello world ¦ "Hello world ¦ ``Hello world ¦ “Hello” world ¦ ‘Hello ¦ „Hello ¦ « Hello ¦ (Hello ¦ [ Hello ¦
    - Hello ¦ -- Hello ¦ — “Hello ¦ ‐ Hello ¦ ― Hello ¦ • Hello ¦ ¿Qué? ¦ 'Hello' ¦ 'Tis ¦ 's hello ¦ ... hello ¦
    … hello ¦ , hello ¦ ) hello ¦ 1 hello ¦ 1990s hello ¦ “1” hello ¦ @me hello ¦ http://x hello ¦ X-ray ¦ O'neill ¦
    Don't ¦ U.s. x ¦ ßx ¦ ŉx ¦ ǅx ǆ ¦ ıx ¦ Ix ¦ İx ¦ Σας ¦ ςας ¦ ſx ¦ ﬁx ¦ Éx ¦ Ɫx ¦ ამბავი ¦ 𐐀x ¦ 日x ¦ {0} hello ¦
    {name} hello ¦ [01:02:03] Hello ¦ [Laughs] Hello ¦ [Music playing]Hello ¦ - [Laughs] Hello ¦ [T]he cat ¦ (S)he ¦
    (No. yes) hello ¦ [One two ¦ [A a a a a a a a a a a a a a a a a a a a ] b ¦ [1] Hello ¦ 1) Hello ¦ 1. Hello ¦
    12.hello ¦ 12: Hello ¦ a) Hello ¦ (iv) Hello ¦ iv) Hello ¦ Xyz) hello ¦ A hello ¦ I hello ¦ # Hello ¦ ### Hello ¦
    - [ ] Hello ¦ - [x] Hello ¦ * Hello ¦ > Hello ¦ >> Hello ¦ ♪ Hello ♪ ¦ 😀 Hello ¦ | Hello | hello ¦ == Hello == ¦
    <i>Hello ¦ <i>- "Hello ¦ 00:01:02,000 Hello ¦ 12:30 hello ¦ John: Hello there ¦ >> John smith: "Hello there ¦
    John: Don't ¦ Email: x ¦ Email: x...@y.org ¦ One two three: hello there ¦ One:two three ¦ 50% hello ¦
    John: Ok! ¦ John: ok, x ¦ John: dr. x ¦ Re: Fwd: Hello there ¦ Dr. smith: Hello there ¦ John (12:41): Hello there ¦
    John smith [on phone]: Hello there ¦ X(y): hello there ¦ A: Hello there ¦ I: Hello there ¦ 5: Hello there ¦
    *Note:* Hello there ¦ :-) Hello ¦ :)) Hello ¦ ;p Hello ¦
    🙂❤️ Hello ¦ :xy hello ¦ :)hello
"""
"""Lines as they are written; they are read in lower case."""
SENTENCES = {lower(line): line for line in map(str.strip, WRITTEN.split("¦"))} | {
    "HELLO WORLD": "Hello world",
    "  \thello": "  \tHello",
    "a\nb\n\n“\nc": "A\nB\n\n“\nC",
    "e\u0301x": "E\u0301x",
    "\u0301ex": "\u0301ex",
    "{\\an8}hello": "{\\an8}Hello",
    "{\\i1} hello": "{\\i1} Hello",
    "(SOBBING) hello": "(Sobbing) Hello",
    "": "",
}  # fmt: skip


@pytest.mark.parametrize("text", SENTENCES)
def test_sentence_case(text):
    assert written(UNKNOWING[False], text, random.Random(1), sentence_case=True) == SENTENCES[text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello world", "Hello world"),
        ("`` hello", "`` Hello"),
        ("\" ' ( hello", "\" ' ( Hello"),
        ("\"hello world", "\"Hello world"),
        ("“-hello world", "“-Hello world"),
        ("... hello", "... hello"),
        ("-1 hello", "-1 hello"),
        ("-\nhello", "-\nHello"),
    ],
)  # fmt: skip
def test_sentence_case_of_pretokenized_text(text, expected):
    assert written(UNKNOWING[True], text, random.Random(1), sentence_case=True) == expected


def test_a_word_with_a_capital_keeps_it():
    t = transducer_of(["iPhone", "McDonald", "eBay's", "US"], False)
    text = "iphone\n“mcdonald\nebay's\nus\nunknown"
    buf = np.frombuffer(text.encode(), np.uint8)
    words = t.words(buf)
    out = bytes(write(buf, words, one_sentence(words.first_labels), CasingCosts(), t.symbols, False, True)).decode()
    assert out == "iPhone\n“McDonald\nEbay's\nUS\nUnknown"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("anti-American", "Anti-American"),
        ("pre-World-War", "Pre-World-War"),
        ("ⱥb-É-xyz", "Ⱥb-É-xyz"),  # the capital is shorter
        ("ɫb-É-xyz", "Ɫb-É-xyz"),  # and longer
        ("a-Moll", "a-Moll"),
        ("iPhone-App", "iPhone-App"),
    ],
)
def test_a_compound_with_a_capital_after_a_hyphen_gets_another(form: str, expected: str) -> None:
    t = transducer_of([form], False)
    buf = np.frombuffer(f"{form} x".lower().encode(), np.uint8)
    words = t.words(buf)
    out = bytes(write(buf, words, one_sentence(words.first_labels), CasingCosts(), t.symbols, False, True)).decode()
    assert out == f"{expected} x"


@pytest.mark.parametrize(
    "text", ["the İ letter", "İ", "İ. and İ", "they saw İZMİR", "İzmir", "i\u0307zmir", "I\u0307zmir"]
)
def test_a_capital_with_a_dot_is_one_character(text: str) -> None:
    for sentence_case in False, True:
        recased = load(sentence_case=sentence_case)(text)
        assert "I\u0307" not in recased
        assert "İ" in recased
