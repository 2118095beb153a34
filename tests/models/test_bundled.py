"""The bundled model: it is found, it works, and its model card is true."""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from support.command_line import TIMEOUT, message, run

import capfst
from capfst import models
from capfst.casing.shapes import Shape, shapes
from capfst.exceptions import ModelError, OptionError
from capfst.fst.read import CapFst

SENTENCE = "us senator o'neill bought an iphone in new york"
CASED = "US Senator O'Neill bought an iPhone in New York"
ROOT = Path(__file__).parents[2]


def test_it_is_the_default(tmp_path, monkeypatch):
    monkeypatch.delenv("CAPFST_LM", raising=False)
    assert run("recase", stdin=SENTENCE).stdout.decode() == CASED
    assert run("recase", "--lm", "en", stdin=SENTENCE).stdout.decode() == CASED
    assert capfst.load()(SENTENCE) == capfst.load("en")(SENTENCE) == CASED


def test_a_line_of_two_thousand_words_is_recased_like_short_ones():
    """Speech recognizers may write neither punctuation nor line ends."""
    recaser = capfst.load()
    text = "he flew from new york to london and met john smith of the b b c on monday and then he took the train home"
    short, long = recaser(text), recaser(" ".join([text] * 100))
    assert "New York to London" in short
    words = short.split(" ")
    assert long.split(" ")[len(words) : -len(words)] == words * 98


def test_another_default_in_the_environment(tmp_path, monkeypatch):
    (tmp_path / "corpus").write_text("We saw the IPhone.\nThe IPhone is new.\n" * 3)
    capfst.train(tmp_path / "corpus", tmp_path / "other.fst")
    monkeypatch.setenv("CAPFST_LM", str(tmp_path / "other.fst"))
    assert run("recase", stdin="the iphone").stdout == b"the IPhone"
    assert capfst.load()("the iphone") == "the IPhone"
    assert run("recase", "--lm", "en", stdin="the iphone").stdout == b"the iPhone"
    assert str(tmp_path / "other.fst") in run("info").stdout.decode()
    monkeypatch.setenv("CAPFST_LM", "")
    assert run("recase", stdin="the iphone").stdout == b"the iPhone"


def test_a_missing_model(tmp_path, monkeypatch):
    monkeypatch.setenv("CAPFST_LM", str(tmp_path / "missing.fst"))
    error = message(run("recase", stdin="x", code=1))
    assert error.startswith("capfst: error: ") and f" {tmp_path}/missing.fst: " in error
    assert f"({', '.join(models.names())})" in error
    for name in "xx", "FR", "fr-CA":
        with pytest.raises(ModelError, match=rf"^{name}: .*\(en, multi\).*\(de, es, fr, it, nl, pt, tr\)"):
            capfst.load(name)
    with pytest.raises(ModelError, match="not a regular file"):
        capfst.load("")


def test_a_file_of_the_same_name_is_named_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(models.find("en"), "en")
    assert models.find("en").parent == models.FOLDER
    assert models.find("./en") == models.find(Path("en")) == Path("en")
    assert models.card("en") is None
    assert models.open("./en").path == "en"
    assert models.open("en").path == str(models.find("en"))


@pytest.mark.parametrize("language", models.languages())
def test_a_language_names_the_model_that_knows_it(language, monkeypatch):
    small = SENTENCES[language]
    recaser = capfst.load(language)
    assert (recaser.model.path, recaser.options.language) == (str(models.FOLDER / "multi.fst"), language)
    assert recaser(small) == capfst.load("multi", language=language)(small) != small
    assert capfst.load(language, language=language).options == recaser.options
    assert pickle.loads(pickle.dumps(recaser)).options == recaser.options
    monkeypatch.setenv("CAPFST_LM", language)
    assert capfst.load().options == recaser.options
    assert run("recase", stdin=small).stdout.decode() == recaser(small)


def test_a_language_and_another_one():
    with pytest.raises(OptionError, match=r"`language` is 'de', but .* 'fr'"):
        capfst.load("fr", language="de")
    for command in ["recase"], ["explain", "x"], ["batch", __file__, "-o", "out"]:
        assert "--language is 'de'" in message(run(*command, "--lm", "fr", "--language", "de", stdin="x", code=1))
    text = "der wind hat die rose"
    assert capfst.load("fr")(text, language="de") == capfst.load("de")(text) != text  # for one call
    with pytest.raises(OptionError, match="Use the model fr, or"):
        capfst.load("en", language="fr")
    with pytest.raises(OptionError, match="Use one of de, en, es, fr, it, nl, pt, tr"):
        capfst.load("multi", language="fi")


def test_a_language_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fr").mkdir()
    assert models.find("fr").parent == models.FOLDER
    assert run("info", "--lm", "fr").stdout == run("info", "--lm", "multi").stdout
    assert models.named(Path("fr")) == models.named("./fr") == (Path("fr"), None)


def test_a_batch_in_a_language(tmp_path):
    (tmp_path / "a.txt").write_text(SENTENCES["nl"])
    run("batch", "--lm", "nl", tmp_path / "a.txt", "-o", tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_text() == capfst.load("nl")(SENTENCES["nl"])
    assert b"1 done before" in run("batch", "--lm", "nl", tmp_path / "a.txt", "-o", tmp_path / "out").stderr
    assert b"1 done before" not in run("batch", "--lm", "de", tmp_path / "a.txt", "-o", tmp_path / "out").stderr


def test_its_structure_is_not_validated(tmp_path, monkeypatch):
    monkeypatch.setattr("capfst.system.verified.recall", lambda file: ())
    monkeypatch.setattr("capfst.fst.validate.check", lambda *_: pytest.fail("validated"))
    assert list(models.open("en").ngrams) == models.card(models.find("en"))["model"]["ngrams"]


def test_names_and_cards_need_no_numpy():
    program = "import sys; from capfst import models; models.card(models.find('en')); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=TIMEOUT)


@pytest.mark.parametrize("name", models.names())
def test_the_card_describes_this_model(name, tmp_path):
    path = models.find(name)
    card = models.card(path)
    assert card is not None
    content = path.read_bytes()
    shutil.copy(path, tmp_path / "copy.fst")
    model = CapFst.open(tmp_path / "copy.fst")  # validates its structure
    made = {"bytes": len(content), "sha256": sha256(content).hexdigest(), "ngrams": list(model.ngrams)}
    assert card["model"] == made
    assert models.open(name).ngrams == model.ngrams
    assert model.order == card["training"]["order"]
    in_context = any(each["kind"] == "names in context" for each in card["lists"])  # their words are always kept
    n_others = int((shapes(model.symbols) != Shape.MIXED).sum()) - 2  # names in mixed case are always kept, too
    assert n_others <= card["training"]["max_words"] * (1.02 if in_context else 1)
    assert sum(model.ngrams) <= card["training"]["max_ngrams"]
    for source in [*card["sources"], *card["lists"]]:
        assert len(source["sha256"]) == 64
        assert source["license"] and source["filter"] and source["bytes"]
        assert "NC" not in source["license"] and "ND" not in source["license"]
    assert all(source["use"] and source["words"] for source in card["sources"])
    assert {"text", "accuracy", "f1", "cer"} == set(card["figures"][0])


@pytest.mark.parametrize(("name", "most"), [("en", 28e6), ("multi", 64e6)])
def test_their_sizes(name, most):
    assert models.find(name).stat().st_size <= most


def test_a_card_without_its_model(tmp_path, monkeypatch):
    (tmp_path / "multi.json").write_text("{}")
    monkeypatch.setattr(models, "FOLDER", tmp_path)
    with pytest.raises(ModelError, match=r"make model NAME=multi SOURCES="):
        models.find("multi")


SENTENCES = {
    "de": "der bundestag hat am montag in berlin über das gesetz abgestimmt.",
    "en": "we met a man from new york and a woman from boston.",
    "es": "los niños viajaron a madrid y a barcelona con sus padres.",
    "fr": "la reine est arrivée à paris avec le président de la russie.",
    "it": "la nave è arrivata a napoli con il presidente della francia.",
    "nl": "de koningin woont in amsterdam en spreekt nederlands.",
    "pt": "os meninos viajaram para lisboa com os pais.",
    "tr": "dün istanbul ve izmir için ankara'ya gitti.",
}


def test_info_prints_the_card():
    text = run("info", "--lm", "en").stdout.decode()
    for part in "CC BY-SA", "scores", "limits", "Wikipedia":
        assert part in text
    assert json.loads(run("info", "--lm", "en", "--json").stdout)["card"] == models.card(models.find("en"))


def test_models_lists_it():
    text = run("models").stdout.decode()
    assert re.search(rf"^en +\S+ MB  English: .*\n +{re.escape(str(models.find('en')))}$", text, re.MULTILINE)


def test_one_note_about_a_model_without_context(tmp_path):
    (tmp_path / "corpus").write_text("We saw IPhone.\nHe has the IPhone here.\n" * 3)
    capfst.train(tmp_path / "corpus", tmp_path / "cap.fst", context=False)
    for options, number in ([], 1), (["--quiet"], 0), (["--no-context"], 0):
        done = run("recase", "--lm", tmp_path / "cap.fst", *options, stdin="the iphone\n" * 9)
        assert done.stderr.decode().count("no context model") == number
        assert done.stdout.decode() == "the IPhone\n" * 9


@pytest.mark.slow
def test_it_is_built_only_from_the_texts_of_its_card(tmp_path):
    command = [sys.executable, ROOT / "scripts" / "maintain" / "ready_model.py", "make", "en", tmp_path]
    sources = [source["file"] for source in models.card(models.find("en"))["sources"]]
    for content in None, b"x":
        for source in sources if content else ():
            (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / source).write_bytes(content)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
        assert done.returncode == 1
        assert any(source in done.stderr for source in sources)
