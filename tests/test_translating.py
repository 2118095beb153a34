"""Test translation of text in capitals, Title Case and lower case: what the translator gets, and what is returned."""

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

import capfst
from capfst.exceptions import CapfstError

GERMAN = {
    "Warning: Do not open.": "Warnung: Nicht öffnen.",
    "Call Mr. Smith.": "Rufen Sie Herrn Smith an.",
    "Chapter One": "Kapitel eins",
    "It is a great street.": "Es ist eine große Straße.",
    "The old man and the sea": "Der alte Mann und das Meer",
    "Hello, I live in New York.": "Hallo, ich lebe in New York.",
}


class Translator:
    """Translates by a dictionary, and other text not at all; keeps what it was given."""

    def __init__(self, dictionary: dict[str, str]) -> None:
        self.dictionary = dictionary
        self.calls: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[str]:
        self.calls.append(texts)
        return [self.dictionary.get(text, text) for text in texts]

    @property
    def given(self) -> list[str]:
        return [text for call in self.calls for text in call]


def unchanged(texts: list[str]) -> list[str]:
    return texts


def always(translation: str) -> Translator:
    return lambda texts: [translation] * len(texts)


@pytest.mark.parametrize(
    ("text", "given", "translation"),
    [
        (
            "WARNING: DO NOT OPEN. Call Mr. Smith.",
            ["Warning: Do not open.", "Call Mr. Smith."],
            "WARNUNG: NICHT ÖFFNEN. Rufen Sie Herrn Smith an.",
        ),
        (
            "CHAPTER ONE\r\n\r\n  Call Mr. Smith.  IT IS A GREAT STREET.\n",
            ["Chapter One", "Call Mr. Smith.", "It is a great street."],
            "KAPITEL EINS\r\n\r\n  Rufen Sie Herrn Smith an.  ES IST EINE GROSSE STRASSE.\n",
        ),
        ("The Old Man and the Sea", ["The old man and the sea"], "Der Alte Mann und das Meer"),
        ("hello, i live in new york.", ["Hello, I live in New York."], "Hallo, ich lebe in New York."),
        ("NATO", ["NATO"], "NATO"),
        ("OK", ["OK"], "OK"),
        ("WARNING", ["Warning"], "WARNING"),
        ("NATO WAS THERE! OK.", ["NATO was there!", "OK."], "NATO WAS THERE! OK."),
        ("OK. Call Mr. Smith.", ["OK.", "Call Mr. Smith."], "OK. Rufen Sie Herrn Smith an."),
        ("She works for NATO and IBM in Paris.", ["She works for NATO and IBM in Paris."], None),
        ("Angela Merkel and Emmanuel Macron", ["Angela Merkel and Emmanuel Macron"], None),
        ("漢字", ["漢字"], None),
        ("", [], None),
        (" \n\t\r\n* * *\n", [], None),
    ],
)
def test_the_translator_gets_sentence_case_and_the_pattern_is_restored(text, given, translation):
    translate = Translator(GERMAN)
    assert capfst.translate_cased(translate, text, target="de") == (text if translation is None else translation)
    assert translate.given == given


@pytest.mark.parametrize(
    ("target", "translation", "in_capitals", "as_title"),
    [
        ("tr", "istanbul'da ışık ve değişiklik", "İSTANBUL'DA IŞIK VE DEĞİŞİKLİK", "İstanbul'da Işık ve Değişiklik"),
        ("de-AT", "die große Straße", "DIE GROSSE STRASSE", "Die Große Straße"),
        ("el", "ο Μάιος ή ρόιδι και Ταΐζω", "Ο ΜΑΪΟΣ Ή ΡΟΪΔΙ ΚΑΙ ΤΑΪΖΩ", "Ο Μάιος Ή Ρόιδι Και Ταΐζω"),
        ("fr", "l'été à Paris", "L'ÉTÉ À PARIS", "L'Été à Paris"),
        ("en", "the iPhone: a user's guide to well-known apps, don't panic of", None, None),
    ],
)
def test_patterns_follow_the_language_of_the_translation(target, translation, in_capitals, as_title):
    if in_capitals is None:
        in_capitals, as_title = translation.upper(), "The iPhone: A User's Guide to Well-Known Apps, Don't Panic Of"
    texts = ["DO NOT OPEN", "How to Open All the Doors"]
    assert capfst.translate_cased(always(translation), texts, target=target) == [in_capitals, as_title]
    assert capfst.translate_cased(always(translation), texts, target=target, titles=False)[1] == translation


def test_small_words_of_a_title_are_as_in_the_source():
    texts = [
        "The Old Man And The Sea",
        "The Old Man and the Sea",
        "What I Do Every Day",
        "Hello See Our Page for {name}.",
    ]
    assert capfst.translate_cased(list, texts) == texts


def test_urls_placeholders_tags_and_entities_stay():
    kept = "https://example.com/a name@example.com {name} %s <b class='x'> </b> &nbsp; ${HOME}"
    translated = capfst.translate_cased(always(f"siehe {kept} dort"), ["LOOK AT THIS PAGE", "Look at All of This"])
    assert translated == [f"SIEHE {kept} DORT", f"Siehe {kept} Dort"]


SENTENCES = [
    "It is cold in New York.", "Call Mr. Smith, who works for NATO.", "Don't panic!", "\tWhere is the iPhone?",
    "U.S. law", "See https://example.com/a for {name}.", "Over 5 km & more", "Hello", "", "– Yes.",
]  # fmt: skip
ENDS = ["\n", "\r\n\r\n", " \n"]  # which sentences of a line belong together is a matter of the model


@given(st.lists(st.tuples(st.sampled_from(SENTENCES), st.booleans(), st.sampled_from(ENDS))))
def test_without_a_translation_texts_come_back_as_they_were(recaser, sentences):
    text = "".join([(text.upper() if upper else text) + end for text, upper, end in sentences])
    assert capfst.translate_cased(unchanged, text, recaser) == text


@pytest.fixture(scope="module")
def recaser() -> capfst.Recaser:
    return capfst.load()


def test_lists_are_translated_in_batches(recaser):
    translate = Translator(GERMAN)
    texts = ["Call Mr. Smith.\nCHAPTER ONE\n", "", "CALL MR. SMITH."]
    translated = capfst.translate_cased(translate, texts, recaser, batch_size=2)
    assert translated == ["Rufen Sie Herrn Smith an.\nKAPITEL EINS\n", "", "RUFEN SIE HERRN SMITH AN."]
    assert list(map(len, translate.calls)) == [2, 1]
    assert capfst.translate_cased(translate, [], recaser) == []


def test_streams_are_translated_as_they_come(recaser):
    taken = []

    def endless() -> Iterator[str]:
        for number in count():
            taken.append(number)
            yield "CALL MR. SMITH."

    translated = capfst.translate_cased(Translator(GERMAN), endless(), recaser, batch_size=4)
    assert [next(translated) for _ in range(10)] == ["RUFEN SIE HERRN SMITH AN."] * 10
    assert len(taken) <= 10 + 2 * 4
    translated.close()


def test_words_of_the_recaser_count():
    translate = Translator(GERMAN)
    capfst.translate_cased(
        translate, ["hello, i live in new york."], capfst.load(words={"NEW York": None}, only="starts")
    )
    assert translate.given == ["Hello, I live in NEW York."]


@pytest.mark.parametrize(
    ("translate", "error", "message"),
    [
        (lambda texts: texts[0], TypeError, "returned str"),
        (lambda texts: None, TypeError, "returned NoneType"),
        (lambda texts: [None for _ in texts], TypeError, "returned NoneType"),
        (lambda texts: texts[1:], CapfstError, "returned 1 str for 2"),
    ],
)
def test_bad_translators(translate, error, message):
    with pytest.raises(error, match=message):
        capfst.translate_cased(translate, ["Hello.", "HELLO THERE."])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"texts": ["Hello.", None]}, TypeError, "NoneType"),
        ({"texts": b"Hello."}, TypeError, "bytes"),
        ({"texts": 5}, TypeError, "int"),
        ({"texts": "", "target": "german"}, CapfstError, "'german'"),
        ({"texts": "", "target": 5}, CapfstError, "`target` is 5"),
        ({"texts": iter(()), "recaser": "de"}, TypeError, "'de'"),
        ({"texts": "", "batch_size": 0}, CapfstError, "`batch_size` is 0"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        capfst.translate_cased(unchanged, **arguments)
