"""Restoring more than case: lowering, models, and the conditions on a user's grammar."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import message, run
from support.models import in_one_folder
from support.slow_context import with_pruned

import capfst
from capfst.casing.transducer import Transducer
from capfst.casing.types import CasingCosts
from capfst.context.casing_costs import casing_costs
from capfst.context.context_model import Context
from capfst.exceptions import CapfstError, CorpusError, ModelError, OptionError
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols
from capfst.models.convert import export_arpa, import_model, mix_models
from capfst.text.facts import rows
from capfst.text.restoring import BOTH, CASE, DIACRITICS, RESTORED, diacritics, of_name, restoring
from capfst.text.tokenizer import tokenize
from capfst.text.unicode import lower
from capfst.training.bilingual import train_bilingual

# Language; what is restored; text; its lowering.
LOWERED = """
default|case|Où est l'Œuvre|où est l'œuvre
default|both|Où est le garçon de Saint-Étienne|ou est le garcon de saint-etienne
default|diacritics|Où est le garçon de Saint-Étienne|Ou est le garcon de Saint-Etienne
default|both|E\u0301tienne a\u0300 Łódź|etienne a lodz
default|diacritics|E\u0301tienne a\u0300 Łódź|Etienne a Lodz
default|both|Œuvre, ŒUVRE, Ægir, Straße, STRAẞE|oeuvre, oeuvre, aegir, strasse, strasse
default|diacritics|Œuvre, ŒUVRE, Ægir, Straße, STRAẞE|Oeuvre, OeUVRE, Aegir, Strasse, STRASSE
default|both|Ǣ ǿ Ǿ|ae o o
default|both|ΟΔΟΣ Ὀδυσσεύς|οδος οδυσσευς
default|diacritics|ΟΔΟΣ Ὀδυσσεύς|ΟΔΟΣ Οδυσσευς
default|both|İstanbul|istanbul
tr|both|İstanbul, ISPARTA, ığdır|istanbul, isparta, igdir
tr|diacritics|İstanbul, ISPARTA, ığdır|Istanbul, ISPARTA, igdir
az|both|İçərişəhər|iceriseher
default|both|Ёлка и йод|елка и иод
ru|both|Ёлка и йод|елка и йод
uk|diacritics|Їжак і йод|Їжак і йод
lt|both|J\u0303, Į\u0301|j, i
vi|both|Đường phố Hà Nội|duong pho ha noi
default|both|≠ ½ 7\u0301 \u0301.|≠ ½ 7 .
default|both|मुंबई が 한국 שָׁלוֹם|मुंबई が 한국 שָׁלוֹם
"""

TEXT = (
    """Où est le garçon de Saint Étienne ?
Le garçon est à Saint Étienne, où il a été élu.
Il a été à la côte ou à la mer.
Elle ira là où la forêt est belle.
Et à Paris, l'élève a vu la forêt de L'Île.
Le chef-d'œuvre de 1905 est à côté.
"""
    * 3
)

LETTERS = [*"aàâAÀeéèÉoôœŒnñIİıßẞcçΣσςάйё\u0301\u0307'’- 0", "où", "à", "a", "forêt", "Étienne", "œuvre", "été"]
made_texts = st.lists(st.sampled_from(LETTERS), max_size=12).map("".join)


def table(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.strip("\n").split("\n")]


@pytest.mark.parametrize(("language", "restore", "text", "lowered"), table(LOWERED))
def test_lowered(language: str, restore: str, text: str, lowered: str) -> None:
    assert lower(text, restoring(language, restore).lowering) == lowered


@settings(deadline=None)
@given(st.sampled_from(["default", "tr", "lt", "ru", "de+fr"]), st.sampled_from(RESTORED), made_texts)
def test_lowering_is_idempotent_and_by_characters(language: str, restore: str, text: str) -> None:
    lowering = restoring(language, restore).lowering
    assert lower(lower(text, lowering), lowering) == lower(text, lowering)
    if restore == DIACRITICS:
        left = diacritics(language)
        stripped = "".join(left.get(character, character) for character in text)
        assert lower(text, lowering) == (stripped or text)


@pytest.mark.parametrize("restore", RESTORED)
@pytest.mark.parametrize("language", ["default", "tr", "ru"])
def test_a_language_by_its_name(language: str, restore: str) -> None:
    rules = restoring(language, restore)
    assert of_name(rules.name) is rules
    assert rules.restored == restore
    assert (rules.restores_case, rules.restores_spelling) == (restore != DIACRITICS, restore != CASE)


def test_case_alone_is_the_language_itself() -> None:
    for language in "default", "tr", "de+fr":
        assert restoring(language).name == language


@pytest.mark.slow
@pytest.mark.parametrize("language", ["default", "tr", "uk"])
def test_the_grammar_agrees(language: str) -> None:
    pynini = pytest.importorskip("pynini")
    from capfst.text import character_map  # noqa: PLC0415
    from grammars.diacritics import strip, stripping  # noqa: PLC0415

    assert character_map.of(stripping(language)) == diacritics(language)
    characters = "".join(diacritics(language))
    assert strip(characters, language) == lower(characters, restoring(language, DIACRITICS).lowering)

    @settings(deadline=None, max_examples=50)
    @given(made_texts)
    def check(text: str) -> None:
        stripped = list(pynini.compose(pynini.escape(text), stripping(language)).paths().ostrings())
        assert [of or text for of in stripped] == [lower(text, restoring(language, DIACRITICS).lowering)]

    check()


def test_facts() -> None:
    listed = [(language, letter) for language, letter, _ in rows("diacritics.tsv")]
    assert len(set(listed)) == len(listed)
    assert {language for language, _ in listed} <= {row[0] for row in rows("languages.tsv")} | {"default"}


# ---- Models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("restoring")
    (folder / "fr.txt").write_text(TEXT, "utf-8")
    for restore in BOTH, DIACRITICS:
        capfst.train(folder / "fr.txt", folder / f"{restore}.fst", language="fr", restore=restore, clean=False)
    return folder


GOLDEN = [
    (BOTH, True, "ou est le garcon de saint etienne", "Où est le garçon de Saint Étienne"),
    (BOTH, True, "OU EST\tLA FORET ", "Où est\tla forêt "),
    (BOTH, False, "il est a saint etienne,  ou il a ete elu", "il est à Saint Étienne,  où il a été élu"),
    (BOTH, True, "le chef-d'oeuvre de 2024", "Le chef-d'œuvre de 2024"),
    (BOTH, False, "l’eleve", "l’élève"),
    (BOTH, False, "dvořák", "dvořák"),
    (DIACRITICS, False, "Ou est le garcon de Saint Etienne", "Où est le garçon de Saint Étienne"),
    (DIACRITICS, False, "Il a ete a la mer", "Il a été à la mer"),
    (DIACRITICS, False, "Et a Paris, ETIENNE Dvořák", "Et à Paris, ETIENNE Dvořák"),
]


@pytest.mark.parametrize("engine", ["fast", "openfst"])
@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize(("restore", "sentence_case", "text", "restored"), GOLDEN)
def test_restored(
    folder: Path, restore: str, sentence_case: bool, text: str, restored: str, context: bool, engine: str
) -> None:
    recaser = capfst.load(
        folder / f"{restore}.fst", sentence_case=sentence_case, context=context, engine=engine, oov="pass"
    )
    assert recaser(text) == restored


@in_one_folder
@given(made_texts, st.sampled_from([BOTH, DIACRITICS]), st.booleans())
def test_only_what_the_lowering_removes_changes(folder: Path, text: str, restore: str, context: bool) -> None:
    recaser = capfst.load(folder / f"{restore}.fst", context=context)
    lowering = restoring("fr", restore).lowering
    restored = recaser(text)
    assert lower(restored, lowering) == lower(text, lowering)
    assert restored.count(" ") == text.count(" ")
    slow = capfst.load(folder / f"{restore}.fst", context=context, engine="openfst")
    assert slow(text) == restored


@pytest.mark.parametrize("restore", [BOTH, DIACRITICS])
def test_round_trip(folder: Path, restore: str) -> None:
    recaser = capfst.load(folder / f"{restore}.fst", sentence_case=restore == BOTH)
    text = TEXT[: len(TEXT) // 3]
    stripped = lower(text, restoring("fr", restore).lowering)
    assert stripped != text
    assert recaser(stripped) == text


def test_unseen_casings_have_the_most_frequent_spelling(folder: Path) -> None:
    recaser = capfst.load(folder / "both.fst", sentence_case=True)
    assert recaser("foret") == "Forêt"
    assert recaser("boeuf") == "Boeuf"


def test_confidence_and_nbest(folder: Path) -> None:
    for restore in BOTH, DIACRITICS:
        recaser = capfst.load(folder / f"{restore}.fst")
        text, changed = recaser.confidence("la foret ou il a ete")
        assert text == "la forêt où il a été"
        assert [text[change.start : change.end] for change in changed] == ["forêt", "où", "été"]
        assert [change.word for change in changed] == ["forêt", "où", "été"]
        best = recaser.nbest("la foret ou il a ete", 3)
        assert best[0][1] == text
        assert len({casing for _, casing in best}) == 3


def test_models_keep_what_they_restore(folder: Path, tmp_path: Path) -> None:
    text = "la foret ou il a ete"
    model = folder / "both.fst"
    assert CapFst.open(model).signature.lowercasing == "fr/both"
    mix_models([model, model], tmp_path / "m.fst", weights=[0.5, 0.5])
    assert capfst.load(tmp_path / "m.fst")(text) == capfst.load(model)(text)
    with pytest.raises(CapfstError, match=r"\(fr/both, fr/diacritics\)"):
        mix_models([model, folder / "diacritics.fst"], tmp_path / "n.fst", weights=[0.5, 0.5])
    export_arpa(model, tmp_path / "m.arpa")
    import_model(tmp_path / "m.arpa", tmp_path / "i.fst", language="fr", restore=BOTH)
    assert capfst.load(tmp_path / "i.fst")(text) == capfst.load(model, context=False)(text)
    capfst.train(folder / "fr.txt", tmp_path / "r.fst", language="fr", restore=BOTH, clean=False, min_count=4)
    assert capfst.load(tmp_path / "r.fst")("ou il est a la mer") == "où il est à la mer"
    capfst.train(
        folder / "fr.txt", tmp_path / "s.fst", language="fr", restore=BOTH, clean=False, jobs=2, memory=1 << 34
    )
    assert (tmp_path / "s.fst").read_bytes() == model.read_bytes()


def test_spellings_are_learned(folder: Path) -> None:
    """A unigram LM always takes the most frequent spelling."""
    seen = ("a", "mangé"), ("a", "mangé"), ("à", "Paris")
    lines = [f"Il {word} {then} x{k} ." for k in range(100) for word, then in seen]
    (folder / "a.txt").write_text("".join(line + "\n" for line in lines), "utf-8")
    capfst.train(folder / "a.txt", folder / "a.fst", order=1, restore=DIACRITICS, clean=False)
    spoken = ["Il a mange x3 .", "Il a Paris x3 ."]
    assert capfst.load(folder / "a.fst")(spoken) == ["Il a mangé x3 .", "Il à Paris x3 ."]
    assert capfst.load(folder / "a.fst", context=False)(spoken) == ["Il a mangé x3 .", "Il a Paris x3 ."]


def test_the_costs_of_spellings_are_added_to_those_of_casings(folder: Path) -> None:
    recaser = capfst.load(folder / "both.fst")
    shapes, spellings = recaser.pipeline.context, recaser.pipeline.spellings
    assert shapes is not None and spellings is not None
    told_apart = ["shape_evidence", "unseen_penalty", "scores"]
    known = [name for name in shapes.words.dtype.names if name not in told_apart]
    assert (shapes.words[known] == spellings.words[known]).all()
    buf = np.frombuffer(TEXT.lower().encode() + b"ou xyz foret, 12 etienne\n\na", np.uint8)
    words = recaser.pipeline.loaded.transducer.words(buf)

    def costs(context: Context | None, spellings: Context | None, every: bool = True) -> CasingCosts:
        return casing_costs(context, buf, words, recaser.pipeline.loaded.transducer, True, every, spellings=spellings)

    of_shapes, of_spellings, of_both = costs(shapes, None), costs(None, spellings), costs(shapes, spellings)
    assert of_spellings.arc_costs is not None and of_spellings.arc_costs.any()
    assert of_spellings.shapes is None and of_spellings.options is None
    np.testing.assert_allclose(of_both.arc_costs, of_shapes.arc_costs + of_spellings.arc_costs, rtol=1e-5)
    first = (np.cumsum(words.n_forms) - words.n_forms)[words.n_forms > 0].astype(np.int64)
    of_shapes.options[words.n_forms > 0] += of_spellings.arc_costs[first, None]
    np.testing.assert_allclose(of_both.options, of_shapes.options, rtol=1e-5)
    assert (of_both.shapes == of_shapes.shapes).all()
    usual = costs(shapes, spellings, every=False).arc_costs
    assert usual.tolist() == with_pruned(words, of_both.arc_costs)
    each = np.split(of_spellings.arc_costs, np.cumsum(words.n_forms)[:-1])
    has_several = np.repeat([costs.any() for costs in each], words.n_forms)
    assert np.isinf(usual[has_several]).any()


# ---- The command line


def test_commands(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "cap.fst"
    run("train", "-q", "--no-clean", "--language", "fr", "--restore", "both", folder / "fr.txt", "-o", model)
    assert model.read_bytes() == (folder / "both.fst").read_bytes()
    text = "ou est le garcon de saint etienne"
    for options in [], ["--restore", "both"]:
        done = run("recase", "-q", "--lm", model, "--sentence-case", *options, stdin=text)
        assert done.stdout.decode() == "Où est le garçon de Saint Étienne"
    assert "fr/both" in run("info", "--lm", model).stdout.decode()
    assert "spelling model " in run("info", "--lm", model).stdout.decode()


def test_a_model_that_does_not_restore_it(folder: Path) -> None:
    diacritics = folder / "diacritics.fst"
    refused = run("recase", "--lm", diacritics, "--restore", "both", stdin="x", code=1)
    assert f"capfst: error: --restore is 'both', but the model {diacritics} restores diacritics" in message(refused)
    refused = run("recase", "--lm", diacritics, "--sentence-case", stdin="x", code=1)
    assert "--sentence-case cannot be used with a model that does not restore case" in message(refused)


def test_translations_need_a_model_that_restores_case(folder: Path) -> None:
    with pytest.raises(CapfstError, match=r"`restore` is 'case'.*both\.fst restores both"):
        train_bilingual("a", "b", "c", "d.fst", lm=folder / "both.fst")


# ---- A user's grammar

APOSTROPHES = """
import pynini
from pynini.lib import utf8

apostrophe = pynini.union("'", "’")
others = pynini.difference(utf8.VALID_UTF8_CHAR, apostrophe)
LOWERING = pynini.closure(pynini.union(pynini.cross(apostrophe, ""), others)).optimize()
"""

ENGLISH = (
    """I don't know what they're doing.
We're sure that it isn't John's.
They don't say "we don't".
It's a well known fact, but I'll go, and he won't.
The boys' dog isn't theirs.
"""
    * 3
)


def grammar(folder: Path, text: str, name: str = "my.py") -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder / name


@pytest.mark.parametrize("context", [False, True])
@pytest.mark.parametrize("suffix", ["py", "far"])
def test_apostrophes(tmp_path: Path, suffix: str, context: bool) -> None:
    pynini = pytest.importorskip("pynini")
    file = grammar(tmp_path, APOSTROPHES)
    if suffix == "far":
        made: dict[str, pynini.Fst] = {}
        exec(APOSTROPHES, made)
        with pynini.Far(tmp_path / "my.far", mode="w") as far:
            far["apostrophes"] = made["LOWERING"]
        file = tmp_path / "my.far"
    (tmp_path / "en.txt").write_text(ENGLISH, "utf-8")
    capfst.train(tmp_path / "en.txt", tmp_path / "cap.fst", grammar=file, clean=False, context=context)
    file.unlink()  # recasing needs only the model
    for engine in "fast", "openfst":
        recaser = capfst.load(tmp_path / "cap.fst", sentence_case=True, engine=engine, input_case="ignore")
        assert recaser("i dont know, but ill say it isnt johns") == "I don't know, but I'll say it isn't John's"
        assert recaser("I don’t KNOW 'isnt'") == "I don’t know 'isn't'"
        assert recaser("theyre doing 'that'") == "They're doing 'that'"
    capfst.train(
        tmp_path / "en.txt", tmp_path / "d.fst", grammar=grammar(tmp_path, APOSTROPHES), restore=DIACRITICS, clean=False
    )
    assert capfst.load(tmp_path / "d.fst")("They dont say it, JOHNS") == "They don't say it, JOHNS"
    mix_models([tmp_path / "cap.fst"] * 2, tmp_path / "m.fst", weights=[0.5, 0.5])
    assert capfst.load(tmp_path / "m.fst")("i dont") == "I don't"


@in_one_folder
@given(st.lists(st.sampled_from(["don't", "dont", "'", "’", "n't", " ", "'s", "we're", "John's", "0", "-", "x"])))
def test_what_a_grammar_removes(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    pytest.importorskip("pynini")
    model = _apostrophes(tmp_path_factory)
    text = "".join(parts)
    lowering = CapFst.open(model).symbols.language.lowering
    assert "'" not in lower("a'b", lowering)
    restored = capfst.load(model)(text)
    assert lower(f"a{restored}", lowering) == lower(f"a{text}", lowering)
    assert capfst.load(model, engine="openfst")(text) == restored


_MODELS: list[Path] = []


def _apostrophes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not _MODELS:
        folder = tmp_path_factory.mktemp("apostrophes")
        (folder / "en.txt").write_text(ENGLISH, "utf-8")
        capfst.train(folder / "en.txt", folder / "cap.fst", grammar=grammar(folder, APOSTROPHES), clean=False)
        _MODELS.append(folder / "cap.fst")
    return _MODELS[0]


@pytest.mark.parametrize("text", ["don't", "we're", "John's", "rock'n'roll", "l'été", "O’Neill"])
def test_a_word_is_one_token_with_and_without_the_removed_marks(text: str) -> None:
    rules = restoring("fr", BOTH, {"'": "", "’": ""})
    for word in text, lower(text, rules.lowering):
        assert tokenize(word.encode(), language=rules).starts.tolist() == [0]


def test_digits_and_several_marks_come_back() -> None:
    rules = restoring("default", BOTH, {"'": "", "’": "", "-": ""})
    assert lower("Rock'n'Roll '90s co-op", rules.lowering) == "rocknroll 90s coop"
    assert lower("- '", rules.lowering) == " "
    assert lower("-", rules.lowering) == "-"  # would be deleted completely


def test_a_grammar_of_characters_after_the_last_cased_one() -> None:
    """A table ends with the last character that a language or a grammar changes."""
    left = {"😀": "", "𠀀": "a"}
    both, stripping = (restoring("default", restore, left).lowering for restore in (BOTH, DIACRITICS))
    for text, lowered, stripped in ("A😀B", "ab", "AB"), ("𠀀É", "aé", "aÉ"), ("😁𝐀𞤀", "😁𝐀𞤢", "😁𝐀𞤀"):
        assert lower(text, both) == lowered
        assert lower(text, stripping) == stripped


MAPS = [
    ({"a": "a"}, "changes nothing"),
    ({"0": ""}, "lowers '0' to ''. Digits and white space"),
    ({"a": " "}, "lowers 'a' to ' '. Digits and white space"),
    ({"a": "b", "b": "c"}, "lowers 'a' to 'b', but 'b' to 'c'"),
    ({"'": ""}, "lowers ' and ’ differently"),
    ({"a": "bcdef"}, "lowers 'a' to 'bcdef'. One character may become at most 4 characters and 3 times"),
    ({"a": "-"}, "lowers 'a' to '-'. Only letters"),
]


@pytest.mark.parametrize(("left", "error"), MAPS)
def test_maps_that_models_cannot_use(left: dict[str, str], error: str) -> None:
    with pytest.raises(CorpusError) as refused:
        restoring("default", BOTH, left)
    assert f"the grammar {error}" in str(refused.value)


def test_options_without_effect() -> None:
    with pytest.raises(OptionError, match=r"`grammar` .* `restore='case'`"):
        restoring("default", CASE, {"ä": "a"})
    with pytest.raises(OptionError, match=r"`restore` is 'all'.* case, diacritics, both"):
        restoring("default", "all")
    with pytest.raises(ModelError, match="default/both/12345678"):
        of_name("default/both/12345678", [("ä", "a")])


_HEAD = "import pynini\nfrom pynini.lib import utf8\nC = utf8.VALID_UTF8_CHAR\nE = pynini.closure(C).optimize()\n"
BAD = [
    ("no.py", None, "no such file"),
    ("my.txt", "x", "not a grammar"),
    ("my.far", "x", "not an archive of FSTs"),
    ("my.py", "x = (", "cannot run the grammar: SyntaxError: '(' was never closed"),
    ("my.py", "LOWERING = 1", "no FST is assigned to LOWERING"),
    (
        "my.py",
        _HEAD + "LOWERING = pynini.cross(C, '').closure()",
        "the grammar deletes all letters",
    ),
    (
        "my.py",
        _HEAD + "LOWERING = pynini.cdrewrite(pynini.cross('é', 'e'), '', '', E, mode='opt')",
        "the grammar lowers one text both to 'é' and to 'e'",
    ),
    (
        "my.py",
        _HEAD + "LOWERING = pynini.cdrewrite(pynini.cross('sch', 'x'), '', '', E)",
        "the grammar lowers some text to 'x', but its characters one by one to 'sch'",
    ),
    (
        "my.py",
        _HEAD + "LOWERING = pynini.closure(pynini.union(*'abc'))",
        "the grammar does not accept the character '\\x01'",
    ),
    ("my.py", _HEAD + "LOWERING = C", "the grammar accepts every character, but not every text"),
    ("my.py", _HEAD + "LOWERING = E", "the grammar changes nothing"),
]


@pytest.mark.parametrize(("name", "text", "error"), BAD)
def test_bad_grammars(folder: Path, tmp_path: Path, name: str, text: str | None, error: str) -> None:
    pytest.importorskip("pynini")
    file = tmp_path / name if text is None else grammar(tmp_path, text, name)
    refused = run("train", "-q", folder / "fr.txt", "--grammar", file, "-o", tmp_path / "cap.fst", code=1)
    assert message(refused).startswith(f"capfst: error: {file}: {error}")
    assert not (tmp_path / "cap.fst").exists()


def test_without_pynini(folder: Path, tmp_path: Path) -> None:
    grammar(tmp_path, APOSTROPHES)
    program = (
        "import sys; sys.modules['pynini'] = None\nimport capfst\n"
        f"capfst.train({str(folder / 'fr.txt')!r}, 'x.fst', grammar='my.py')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert "`grammar` needs pynini" in done.stderr


@pytest.mark.slow
def test_functions_by_squaring() -> None:
    pynini = pytest.importorskip("pynini")
    from capfst.text import character_map  # noqa: PLC0415

    every = pynini.closure(pynini.union(*"abc")).optimize()
    for one, other in product("abc", repeat=2):
        rule = pynini.cdrewrite(pynini.cross(one, other), "", "", every)
        others = pynini.difference(pynini.lib.utf8.VALID_UTF8_CHAR, pynini.union(*"abc"))
        whole = pynini.closure(pynini.union(rule, others)).optimize()
        expected = {} if one == other else {one: other}
        assert character_map.of(whole) == expected


def test_long_words_that_grow(tmp_path: Path) -> None:
    """A compound is looked up as a whole and in parts, each three times as long in lowercase."""
    text = f"{'x' * 32_500}-{'x' * 32_500}"
    rules = restoring("default", BOTH, {"x": "yyy"})
    transducer = Transducer(Symbols.from_words(["a"], rules), np.array([1, 2], np.int32), False)
    words = transducer.words(np.frombuffer(text.encode(), np.uint8))
    assert (words.starts.tolist(), words.n_forms.tolist()) == ([0, 32_500, 32_501], [0, 0, 0])


def test_stray_combining_marks_are_recased_once(tmp_path: Path) -> None:
    sentences = (
        "L'état est grand.", "L'été à Évian était très beau.", "Le garçon a mangé une pêche près du café.",
        "Où est-il allé hier soir?", "Élise et André étaient à l'hôtel de l'Opéra.", "Il est là.",
    )  # fmt: skip
    (tmp_path / "fr.txt").write_text("\n".join(sentences[k * k % 6] for k in range(4000)))
    capfst.train(tmp_path / "fr.txt", tmp_path / "fr.fst", restore="both")
    recaser = capfst.load(tmp_path / "fr.fst")
    assert recaser.pipeline.input_case == "evidence"
    words = ["L'", "E\u0301TAT", "ER\u200dAT", "ete", "E\u0301", "\u0301", "a\u0301", "l\u0301'", "a\u0301L", "café"]
    text = "\n".join(" ".join(line) for line in product(words, words, words))
    recased = recaser(text)
    assert recased != text
    assert recaser(recased) == recased
