"""Test models of several languages, which are named in training and detected per sentence or given as an option."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.command_line import run

import capfst
from capfst.context.context_model import Context
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst

WORDS = {
    "de": (["der", "die", "sieht", "hat", "nicht", "und", "mit", "auf"], ["Hund", "Rose", "Mast", "Stadt", "Wind"]),
    "en": (["the", "sees", "has", "not", "and", "with", "upon", "a"], ["dog", "rose", "mast", "city", "wind"]),
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file per language."""
    folder = tmp_path_factory.mktemp("languages")
    rng = np.random.default_rng(7)
    for language, (words, nouns) in WORDS.items():
        lines = []
        for _ in range(1500):
            line = [word for pair in zip(rng.choice(words, 4), rng.choice(nouns, 4), strict=True) for word in pair]
            lines.append(f"{line[0].capitalize()} {' '.join(line[1:])}.\n")
        (folder / language).mkdir()
        (folder / language / "text.txt").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def model(texts: Path) -> Path:
    run("train", "-q", f"de={texts}/de", f"en={texts}/en/text.txt", "-o", str(texts / "cap.fst"))
    return texts / "cap.fst"


LINES = ["der wind hat die rose und mast", "the wind has the rose and mast"]


def test_the_language_of_a_line_is_detected(model: Path) -> None:
    assert capfst.load(model)(LINES) == ["der Wind hat die Rose und Mast", LINES[1]]
    assert CapFst.open(model).signature.lowercasing == "de+en"


def test_languages_are_detected_per_sentence(model: Path) -> None:
    german, english = LINES
    joined = f"{german}. {english}. {german}.\n{english}. {german}."
    recased = joined.replace(german, "der Wind hat die Rose und Mast")
    for engine in "fast", "openfst":
        assert capfst.load(model, engine=engine)(joined) == recased


def test_a_given_language_applies_to_all_text(model: Path) -> None:
    ambiguous = "rose wind mast rose"
    nouns = capfst.load(model, language="de")(ambiguous)
    assert nouns.split()[1:] == ["Wind", "Mast", "Rose"]
    assert capfst.load(model, language="en")(ambiguous) == ambiguous
    assert run("recase", "-q", "--language", "de", "--lm", model, stdin=ambiguous).stdout.decode() == nouns


def test_engines_agree(model: Path) -> None:
    for language in (None, "de", "en"):
        fast, slow = (capfst.load(model, engine=engine, language=language) for engine in ("fast", "openfst"))
        assert fast(LINES) == slow(LINES)


def test_oov_words_get_the_shapes_that_they_have_without_diacritics(model: Path) -> None:
    lines = ["der hünd sieht die stâdt und nïcht der wînd", "the dög sees the cïty and nòt the wînd"]
    for engine in "fast", "openfst":
        recaser = capfst.load(model, engine=engine)
        assert not any(map(recaser.knows, ("hünd", "stâdt", "nïcht", "cïty", "wînd")))
        assert recaser(lines) == ["der Hünd sieht die Stâdt und nïcht der Wînd", lines[1]]
        assert capfst.load(model, engine=engine, oov="pass")(lines) == lines


def test_folders_name_languages(texts: Path, model: Path, tmp_path: Path) -> None:
    for language in WORDS:
        (tmp_path / "all" / language).mkdir(parents=True)
        (tmp_path / "all" / language / "text.txt").write_bytes((texts / language / "text.txt").read_bytes())
    trained = capfst.train(tmp_path / "all", tmp_path / "cap.fst")
    assert trained.domains == 2
    assert (tmp_path / "cap.fst").read_bytes() == model.read_bytes()


def test_the_context_model_stores_the_number_of_languages(model: Path, texts: Path, tmp_path: Path) -> None:
    context = Context.of(CapFst.open(model))
    assert context is not None and context.n_languages == context.n_domains == 2
    assert not context.words["domain_log_odds"].any()
    capfst.train(texts / "de", tmp_path / "one.fst", language="de")
    one = Context.of(CapFst.open(tmp_path / "one.fst"))
    assert one is not None and one.n_languages == 0


def test_unsupported_languages_are_refused(model: Path, texts: Path, tmp_path: Path) -> None:
    with pytest.raises(CapfstError, match=r"`language` is 'fi'.* Use one of de, en, or"):
        capfst.load(model, language="fi")
    with pytest.raises(CapfstError, match=r"`language` is 'de'.*en\.fst.* Use the model de, or"):
        capfst.load("en", language="de")
    with pytest.raises(CapfstError, match=r"`language` is '?de\b"):
        capfst.train(f"de={texts}/de", tmp_path / "cap.fst", language="de")


TURKISH = "bugün", "için", "ve", "yeni", "bir", "ile", "çok", "ılık"
PLACES = "İzmir", "Adana", "İznik", "Isparta", "Bursa"


@pytest.fixture(scope="module")
def with_turkish(texts: Path) -> Path:
    rng = np.random.default_rng(8)
    (texts / "tr.txt").write_text(
        "".join(
            f"{words[0].replace('i', 'İ', words[0][0] == 'i').capitalize()} {' '.join(words[1:])} {place}.\n"
            for words in (rng.choice(TURKISH, 5) for _ in range(1500))
            for place in rng.choice(PLACES, 1)
        )
    )
    capfst.train([f"en={texts}/en", f"tr={texts}/tr.txt"], texts / "turkish.fst")
    return texts / "turkish.fst"


@pytest.mark.parametrize("engine", ["fast", "openfst"])
@pytest.mark.parametrize(
    ("text", "recased"),
    [
        ("bugün izmir ve iznik.", "Bugün İzmir ve İznik."),
        ("ile bugün bir iznik.", "İle bugün bir İznik."),
        ("ılık bir izmir.", "Ilık bir İzmir."),
        ("bugün i̇zmir ve yeni.", "Bugün İzmir ve yeni."),
        ("the dog sees izmir upon the rose.", "The dog sees Izmir upon the rose."),
        ("The dog sees Izmir and İzmir upon the rose.", "The dog sees Izmir and İzmir upon the rose."),
        ("is the dog upon the city.", "Is the dog upon the city."),
    ],
)
def test_turkish_among_other_languages(with_turkish: Path, text: str, recased: str, engine: str) -> None:
    """A Turkish sentence has Turkish capitals; others have İ only where the input has it."""
    assert capfst.load(with_turkish, sentence_case=True, engine=engine)(text) == recased


def test_frequent_words_of_each_language_are_kept(texts: Path) -> None:
    """With max_words, a language with little text keeps more words than by their number."""
    (texts / "few.txt").write_text("Der Hund sieht die Rose nicht.\n" * 40)
    capfst.train([f"de={texts}/few.txt", f"en={texts}/en"], texts / "few.fst", max_words=20)
    recaser = capfst.load(texts / "few.fst")
    assert recaser.knows("sieht")
    assert "Upon" not in recaser.model.symbols


@pytest.mark.parametrize(
    "text",
    [
        "'s morgens werkt hij thuis. 's avonds leest hij.",
        "&apos;n appel per dag is gezond.",
        '"\'k heb het niet gedaan", zei hij',
        "'S AVONDS LEEST HIJ.",
        "‘s avonds leest hij.",
        "`s avonds leest hij.",
        "'K Weet het niet. Hij leest.",
        "'N Mooie dag.",
    ],
)
def test_the_word_after_a_dutch_clitic_has_the_capital(text: str) -> None:
    multi = capfst.load("nl", sentence_case=True)
    recased = multi(text)
    assert re.match(r"\W*(?:&apos;)?[nks] [A-Z]", recased)
    assert multi.confidence(text).text == multi.nbest(text, 1)[0].text == recased


def test_a_dutch_clitic_is_small_without_such_a_form_in_the_model() -> None:
    """The model has ns only as NS; and 'T, with a capital that may come from its position, does not keep it."""
    multi = capfst.load("nl", sentence_case=True)
    assert multi("'ns kijken.") == "'ns Kijken."
    assert multi("'S Avonds gaan we. 'T is laat.") == "'s Avonds gaan we. 't Is laat."
    candidates = multi.nbest("'ns kijken.", 3)
    assert all(candidate.text.startswith("'ns ") for candidate in candidates)
    assert multi.explain("'ns kijken.").words


def test_roman_numbers_in_title_case_have_no_dots() -> None:
    title = "Kenan Şehri, Thutmose Iii Tarafından Yok Edildi"
    assert capfst.load("tr")(title) == "Kenan şehri, Thutmose III tarafından yok edildi"


def test_turkish_suffixes_in_capitals() -> None:
    turkish = capfst.load("tr", sentence_case=True)
    text = "Almanya'nın başkenti Berlin'dir.\nAnkara’NIN nüfusu. Isparta'LI ve IBM'İN."
    recased = "Almanya'nın başkenti Berlin'dir.\nAnkara’nın nüfusu. Isparta'lı ve IBM'in."
    assert turkish(text) == turkish("ALMANYA'NIN BAŞKENTİ BERLİN'DİR.\n" + text.split("\n")[1]) == recased


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_words_are_written_as_they_are_listed_in_turkish(tmp_path: Path, engine: str) -> None:
    words = tmp_path / "words.txt"
    words.write_text("IBM\nMIKROS\niyi\nIğdır\nXIntel\n")
    turkish = capfst.load("tr", words=words, sentence_case=True, engine=engine)
    text = "Bugün IBM ve MIKROS ve Iğdır ve XIntel çok güzel, ve istanbul iyi. İyi akşamlar."
    assert turkish(text.lower().replace("i̇", "i")) == text.replace("istanbul", "İstanbul")


@pytest.mark.parametrize(
    ("text", "recased"),
    [
        ("die künstlerinnen und künstler", "die Künstlerinnen und Künstler"),
        ("Die Expertinnen und Experten", "Die Expertinnen und Experten"),
        ("Die KünstlerInnen und die Expertinnen", "Die KünstlerInnen und die Expertinnen"),
        ("die student*innen und student:innen", "die Student*innen und Student:innen"),
    ],
)
@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_a_capital_names_all_genders_only_if_it_is_written(text: str, recased: str, engine: str) -> None:
    german = capfst.load("de", engine=engine)
    assert german(text) == recased
    assert german.nbest(text, 1)[0].text == recased


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("les député·e·s et les citoyen·ne·s de lyon", ["député·e·s", "citoyen·ne·s"]),
        ("LES DÉPUTÉ·E·S DE LYON", ["DÉPUTÉ·E·S"]),
        ("les invit&eacute;&middot;e&middot;s de lyon", ["invit&eacute;&middot;e&middot;s"]),
        ("wir grüßen alle kund:innen und nutzer*innen", ["kund:innen", "nutzer*innen"]),
        ("die freund_innen der schüler:innen-zeitung", ["freund_innen", "schüler:innen"]),
    ],
)
def test_inclusive_forms_are_one_word(text: str, words: list[str]) -> None:
    multi = capfst.load("multi")
    explained = multi.explain(text)
    given = [word.given for word in explained.words]
    assert set(words) <= set(given)
    assert given == [text[word.start : word.end] for word in explained.words]
    assert explained.text == multi.confidence(text).text == multi(text)


@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_a_sharp_s_in_capitals_is_no_small_letter(engine: str) -> None:
    german = capfst.load("de", sentence_case=True, engine=engine)
    lines = ["FUßBALL", "GROßE STRAßE", "GROßER FUßBALLSPAß", "DAS iPhone"]
    assert german(lines) == ["Fußball", "Große Straße", "Großer Fußballspaß", "Das iPhone"]
    assert german("\n".join(lines[:3])) == "Fußball\nGroße Straße\nGroßer Fußballspaß"


def test_a_few_words_in_a_line_of_another_language_get_no_turkish_capitals() -> None:
    multi = capfst.load("multi", sentence_case=True)
    assert multi("KKKK, QUE ENGRAÇADO! ADOREI.").endswith("Adorei.")
    assert multi("merhaba. nasılsın? iyi.") == "Merhaba. Nasılsın? İyi."


def test_spaced_abbreviations_of_spanish() -> None:
    spanish = capfst.load("es", sentence_case=True)
    text = "Llegaron a las 10 a. m. EE. UU. no firmó. Los EE. UU. firmaron el acuerdo a las 5 p. m. en Madrid."
    assert spanish(text.lower()) == text.replace("UU. no", "UU. No")
