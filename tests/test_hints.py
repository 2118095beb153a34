"""Text in a language that a model does not know gets a note; English of any kind gets none from an English model."""

from pathlib import Path

import pytest
from support.command_line import run

import capfst
from capfst import models
from capfst.cli.hints import _languages, foreign_language, model_of
from capfst.text.facts import rows

ENGLISH = {
    "news": "The president said on Monday that the two countries have agreed to talk about trade and that the tariffs"
    " will be lifted when the talks are over, but officials in Paris and Berlin were not so sure.",
    "speech": "um so i was like you know what i mean and he goes no no no i don't think so and then we all went home",
    "scots": "Wee, sleekit, cow'rin, tim'rous beastie, O, what a panic's in thy breastie! Thou need na start awa sae"
    " hasty, wi' bickering brattle! I wad be laith to rin an' chase thee, wi' murd'ring pattle!",
    "Middle English": "Whan that Aprille with his shoures soote the droghte of March hath perced to the roote, and"
    " bathed every veyne in swich licour of which vertu engendred is the flour",
    "Old English": "Hwæt! We Gardena in geardagum, þeodcyninga, þrym gefrunon, hu ða æþelingas ellen fremedon. Oft"
    " Scyld Scefing sceaþena þreatum, monegum mægþum, meodosetla ofteah, egsode eorlas",
    "names": "Maria de la Cruz, Ludwig van Beethoven, Otto von Bismarck, Leonardo da Vinci, Charles de Gaulle, José de"
    " San Martín, Ursula von der Leyen, Vincent van Gogh, Saint-Denis-sur-Mer, Rio de Janeiro, Las Vegas, Los Angeles",
    "code": "for (int i = 0; i < n; i++) { if (a[i] != NULL) return -1; else continue; } def main(self): print('x') #"
    " import os, sys; while True: pass; const e = document.getElementById('on'); SELECT * FROM t WHERE a IS NOT NULL",
    "quotations": "He wrote that l'état, c'est moi, and je ne sais quoi, are said by all; others say das ist gut and"
    " che sarà sarà, which is what we have come to expect of him when he is in his cups",
    "numbers": "12 345 678,90 2024-01-01 10:20:30 1e-5 0x1f",
    "": "",
}
FOREIGN = {
    "de": "Die Regierung hat am Montag beschlossen, dass die Steuern nicht erhöht werden, und das ist auch gut so.",
    "fr": "Il ne faut pas oublier que les enfants sont dans une école qui est loin du centre, mais elle est belle.",
    "es": "No se puede decir que los niños están en una escuela porque es muy tarde y su madre los espera en la casa.",
    "ru": "Он сказал, что это не так, но она думала, как и все, что мы были правы, потому что так было.",
    "tr": "Bu çok güzel bir gün oldu ve daha sonra ne olduğu için çok mutlu olan bir adam geldi ama gitti.",
    "pl": "Nie wiem, czy jest to prawda, ale powiedział, że się boi i że już nie jest na wsi, bo jego dom był mały.",
}


@pytest.fixture(scope="module")
def lm():
    return capfst.load("en").pipeline.loaded.lm


@pytest.mark.parametrize("kind", ENGLISH)
def test_english_is_never_foreign(lm, kind):
    assert foreign_language(ENGLISH[kind].encode(), lm) is None
    assert foreign_language(ENGLISH[kind].upper().encode() * 99, lm) is None


@pytest.mark.parametrize("code", FOREIGN)
@pytest.mark.parametrize("change", [str, str.upper, str.lower])
def test_other_languages_are(lm, code, change):
    found = foreign_language(change(FOREIGN[code]).encode(), lm)
    assert found is not None
    assert found.code == code


def test_text_cut_inside_a_character(lm):
    text = FOREIGN["ru"].encode() * 999
    assert foreign_language(text[:-1], lm) is not None
    assert foreign_language(b" " + text, lm) is not None


LINES = {
    "de": "wo ist der bahnhof von berlin",
    "es": "yo no sé dónde está madrid",
    "fr": "je ne sais pas où il est",
    "it": "non lo so dove sono i ragazzi",
    "nl": "ik weet niet waar hij is",
    "pt": "eu não sei onde ela está agora",
    "tr": "bunu neden yaptığını bilmiyorum ama güzel",
}


@pytest.mark.parametrize("code", LINES)
def test_one_line_suffices(lm, code):
    found = foreign_language(LINES[code].encode(), lm)
    assert found is not None
    assert found.code == code
    assert foreign_language(" ".join(LINES[code].split()[:4]).encode(), lm) is None


@pytest.mark.parametrize(
    "line",
    [
        "we flew from los angeles to san josé and then to rio de janeiro",
        "leonardo da vinci, ludwig van beethoven and charles de gaulle",
        "the film la vie est belle was shown at the cinema in cannes",
        "he said que sera sera and went home to his wife",
        "otto von bismarck und sons ltd of london and new york",
    ],
)
def test_a_line_of_english_with_foreign_words_is_english(lm, line):
    assert foreign_language(line.encode(), lm) is None


@pytest.fixture(scope="module")
def polish(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("polish")
    (folder / "pl.txt").write_text(f"{FOREIGN['pl']}\n" * 9, "utf-8")
    capfst.train(folder / "pl.txt", folder / "pl.fst", clean=False, context=False)
    return folder / "pl.fst"


def test_a_model_knows_its_language(polish):
    lm = capfst.load(polish).pipeline.loaded.lm
    assert foreign_language(FOREIGN["pl"].encode(), lm) is None
    assert foreign_language(ENGLISH["news"].encode(), lm).code == "en"  # type: ignore[union-attr]


def test_the_model_that_knows_a_language(polish, monkeypatch):
    languages = {each.code: each for each in _languages()}
    monkeypatch.delenv(models.VARIABLE, raising=False)
    assert model_of(languages["en"]) == "en"
    assert model_of(languages["de"]) == "de"
    assert model_of(languages["pl"]) is None
    monkeypatch.setenv(models.VARIABLE, str(polish))
    assert model_of(languages["pl"]) == str(polish)
    monkeypatch.setenv(models.VARIABLE, str(polish.with_name("no.fst")))
    assert model_of(languages["pl"]) is None


@pytest.mark.parametrize("code", FOREIGN)
def test_a_model_knows_the_languages_that_were_named(code):
    lm = capfst.load("multi").pipeline.loaded.lm
    found = foreign_language(FOREIGN[code].encode(), lm)
    assert (found and found.code) == (code if code in ("pl", "ru") else None)


def test_the_table():
    table = rows("function_words.tsv")
    assert len({code for code, _, _ in table}) == len(table)
    for code, _, words in table:
        listed = words.split(" ")
        assert len(set(listed)) == len(listed) >= 20, code
        assert words == words.lower(), code
        assert all(word.isalpha() for word in listed), code


@pytest.mark.cli
@pytest.mark.parametrize(("code", "name"), [("pl", "Polish"), ("fr", "French"), ("ru", "Russian")])
def test_recase_and_batch_print_the_note_once(tmp_path, polish, monkeypatch, code, name):
    monkeypatch.setenv(models.VARIABLE, str(polish))
    remedy = {"pl": f"--lm {polish}", "fr": "--lm fr", "ru": "capfst train"}[code]
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"{FOREIGN[code]}\n" * 9, "utf-8")
    files = sorted(tmp_path.glob("*.txt"))
    for command in ["recase", *files], ["batch", *files, "-o", tmp_path / "out"]:
        done = run(*command, "--lm", "en").stderr.decode()
        assert done.count(f"the text looks {name}, which the model en does not know") == 1
        assert remedy in done
        assert "looks" not in run(*command, "--lm", "en", "--quiet").stderr.decode()
        (tmp_path / "e.txt").write_text(ENGLISH["news"])
    assert "looks" not in run("recase", tmp_path / "e.txt", "--lm", "en").stderr.decode()
    run("batch", tmp_path / "e.txt", tmp_path / "missing", "-o", tmp_path / "out", "--lm", "en", code=1)


@pytest.mark.cli
def test_a_line_on_stdin_gets_the_note_before_it_is_recased_and_only_once(monkeypatch):
    monkeypatch.delenv(models.VARIABLE, raising=False)
    for n in 1, 20_000:
        done = run("recase", stdin=f"{LINES['fr']}\n" * n)
        assert done.stderr.decode().count("the text looks French") == done.stderr.count(b"Use --lm fr.") == 1
    assert run("recase", "--quiet", stdin=LINES["fr"]).stderr == b""
    assert run("recase", "--lm", "fr", stdin=LINES["fr"]).stderr == b""
