"""Words and phrases that the user gives at recasing: goldens and invariants with both engines, weights, bad lists, and
the ways to give them."""

import json
import pickle
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.command_line import run
from support.models import FORMS, random_model
from support.translations import bitext, write
from support.untouched import parts

import capfst
from capfst.exceptions import CorpusError, OptionError
from capfst.options import LISTS
from capfst.text.facts import folder
from capfst.text.unicode import lower

ENGINES = ("fast", "openfst")
NAMES = """\
PyTorch
ChatGPT
GPT-4o
Lord of the Rings
van der Berg
iPhone
Coca-Cola
AT&T
McDonald's
C++
Wi-Fi
e-mail
.NET
Yahoo!
Deep-PyTorch Lab
The Deep
Deep Python String
README.md
#MeToo
St. Louis
ΟΔΟΣ
Zoë
"""
GOLDEN = {
    "we use pytorch and chatgpt": "we use PyTorch and ChatGPT",
    "PYTORCH Pytorch PyTorch": "PyTorch PyTorch PyTorch",
    "gpt-4o GPT-4O gpt-5o": "GPT-4o GPT-4o gpt-5o",
    "the lord of the rings, lord of the flies": "the Lord of the Rings, lord of the flies",
    "lord  of\tthe rings": "Lord  of\tthe Rings",
    "lord of the\nrings": "lord of the\nrings",
    "lord of the <b>rings</b>": "Lord of the <b>Rings</b>",
    "VAN DER BERG": "van der Berg",
    "an iphone's, iphones": "an iPhone's, iphones",
    "coca-cola coca - cola cocacola": "Coca-Cola Coca - Cola cocacola",
    "at&t at & t": "AT&T at & t",
    "mcdonald's mcdonald’s mcdonald 's": "McDonald's McDonald’s McDonald 's",
    "c++, c+ .net, readme.md": "C++, c+ .NET, README.md",
    "wi-fi e-MAIL": "Wi-Fi e-mail",
    "yahoo! yahoo?": "Yahoo! yahoo?",
    "deep-pytorch lab, deep-pytorch": "Deep-PyTorch Lab, deep-PyTorch",
    "the deep python string": "The Deep python string",
    "see deep python string": "see Deep Python String",
    "#metoo #METOO @metoo": "#MeToo #MeToo @metoo",
    "https://pytorch.org/pytorch": "https://pytorch.org/pytorch",
    "in st. louis": "in St. Louis",
    "οδος οδοσ": "ΟΔΟΣ οδοσ",  # only the first is its lowercase
    "zoë zoe\u0308": "Zoë zoe\u0308",  # composed and decomposed letters differ, as in the vocabulary
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names") / "names.txt"
    path.write_text(NAMES, "utf-8")
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> capfst.Recaser:
    """Return a Recaser of a random trigram model."""
    return capfst.Recaser(
        random_model(random.Random(1), 3, len(FORMS) + 1, 400).save(tmp_path_factory.mktemp("m") / "m")
    )


@pytest.fixture(scope="module")
def recaser(contextual_model: Path) -> capfst.Recaser:
    return capfst.load(contextual_model)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", [{}, {"context": False}, {"oov": "pass"}, {"document": True}, {"breaks": False}])
def test_golden(recaser: capfst.Recaser, names: Path, engine: str, options: dict) -> None:
    texts = list(GOLDEN)
    lists = recaser(texts, words=names, engine=engine, oov="pass", **{k: v for k, v in options.items() if k != "oov"})
    listed = [recaser(text, words=names, engine=engine, **options) for text in texts]
    assert {text: only_entries(out, text) for text, out in zip(texts, listed, strict=True)} == GOLDEN
    assert {text: only_entries(out, text) for text, out in zip(texts, lists, strict=True)} == GOLDEN


def only_entries(recased: str, text: str) -> str:
    """Return the recased text with the words in lower case that the golden has in lower case."""
    return "".join(a if wanted != lower(wanted) else lower(a) for a, wanted in zip(recased, GOLDEN[text], strict=True))


def test_a_listed_word_keeps_its_case_at_the_start_of_a_sentence(recaser: capfst.Recaser, names: Path) -> None:
    text = "iphone users.\ne-mail is it?\nvan der berg is.\n“pytorch is"
    expected = "iPhone users.\nE-mail is it?\nVan der Berg is.\n“PyTorch is"
    assert recaser(text, words=names, sentence_case=True) == expected


def test_entries_whose_lowercase_has_another_size(small: capfst.Recaser) -> None:
    words = {"İç-Hat İş": None, "Ⱥ Zig - Zag": None}
    for space in (" ", "  ", "\t"):
        assert small(f"i̇ç-hat{space}i̇ş", words=words) == f"İç-Hat{space}İş"
        assert small(f"ⱥ{space}ZIG-zag zig", words=words).startswith(f"Ⱥ{space}Zig-Zag zig")


def test_a_form_of_the_model_is_read_by_the_lm(small: capfst.Recaser) -> None:
    """A path with a listed form costs what it costs without the list."""
    for form in ("US", "us", "Us"):
        costs = {each.text: each.cost for each in small.nbest("us new", 50)}
        best = small.nbest("us new", 1, words={form: None, "X": None})[0]
        assert best.cost == pytest.approx(min(cost for text, cost in costs.items() if text.startswith(form + " ")))


# Invariants

WORDS = [*FORMS, *map(str.lower, FORMS), "oov", "ΟΔΟΣ's", "i̇", "İ", "don’t", "X@y.z", "#Tag", "New-York", "0xAb",
         "us.New", "PyTorch", "ẞ", "ŉ", "ǆungla", "<b>", "`It`", "new_York", "o'Neill", "2-It", "-", "É",
         "E\u0301"]  # fmt: skip
words = st.sampled_from(WORDS).flatmap(lambda word: st.sampled_from([word, word.upper(), word.title()]))
phrases = st.lists(words, min_size=1, max_size=3).map(" ".join)
weights = st.none() | st.sampled_from([-1.0, 0.5, 2.0, 9.0])
entries = st.lists(st.tuples(phrases, weights), min_size=1, max_size=5).map(dict)
texts = (
    st.lists(st.lists(words, max_size=6).map(" ".join), max_size=3).map("\n".join)
    | st.lists(words | st.sampled_from([" ", "\n", "-", "'", "’", ". "]), max_size=9).map("".join)
    | st.text(max_size=10)
)
OPTIONS = [{}, {"context": False}, {"sentence_case": True}, {"oov": "pass"}, {"document": True}]


def usable(given: dict[str, float | None]) -> dict[str, float | None]:
    """Return those entries that have case and do not contradict an earlier one, and one with a capital."""
    entries: dict[str, float | None] = {"Zzz": None}
    for phrase, weight in given.items():
        others = [entries[other] for other in entries if lower(other) == lower(phrase) and other != phrase]
        has_case = "<" not in phrase and phrase.lower() != phrase.upper()
        if has_case and (not others or (weight is not None and None not in others)):
            entries[phrase] = weight
    return entries


def check_invariants(recaser: capfst.Recaser, text: str, **options: object) -> None:
    out = recaser(text, **options)
    assert recaser(text, engine="openfst", **options) == out
    assert lower(out) == lower(text)
    transducer = recaser.pipeline.loaded.transducer
    if len(parts(lower(text), transducer)[0]) == len(parts(text, transducer)[0]):  # no CamelCase
        assert lower(recaser(lower(text), **options)) == lower(text)
        assert recaser(out, **options) == out
    if not options.get("document"):
        assert "\n".join(recaser(line, **options) for line in text.split("\n")) == out


@settings(max_examples=100)
@given(text=texts, entries=entries, options=st.sampled_from(OPTIONS[1:3]))
@example(text="ΟΔΟΣ's οδος", entries={"ΟΔΟΣ": None}, options={})
@example(text="i̇stanbul İSTANBUL istanbul", entries={"İstanbul": None}, options={})
def test_invariants_with_a_small_model(small: capfst.Recaser, text: str, entries: dict, options: dict) -> None:
    check_invariants(small, text, words=usable(entries), **options)


@settings(max_examples=60)
@given(text=texts, entries=entries, options=st.sampled_from(OPTIONS))
def test_invariants_with_a_context_model(recaser: capfst.Recaser, text: str, entries: dict, options: dict) -> None:
    check_invariants(recaser, text, words=usable(entries), input_case="ignore", **options)


@settings(max_examples=60)
@given(line=st.lists(words, max_size=5).map(" ".join), entries=entries)
def test_the_best_casing_is_the_first_of_the_n_best(small: capfst.Recaser, line: str, entries: dict) -> None:
    out = small(line, words=usable(entries))
    assert small.nbest(line, 3, words=usable(entries))[0].text == out
    text, changes = small.confidence(line, words=usable(entries))
    assert text == out
    assert all(change.log_odds >= 0 for change in changes)


# Weights


@pytest.mark.parametrize("engine", ENGINES)
def test_the_casing_changes_from_the_weight_on_that_makes_it_the_cheapest(small, engine):
    """The weight needed is the difference in cost to the best casing."""
    costs = {each.text: each.cost for each in small.nbest("us new", 100)}
    for entry in ("US", "us", "new", "NEW"):
        listed = [cost for text, cost in costs.items() if entry in text.split()]
        needed = min(listed) - min(costs.values())
        for more in (-0.01, 0.01):
            out = small("us new", words={entry: needed + more, "X": None}, engine=engine)
            assert (entry in out.split()) == (more > 0 or needed == 0), (entry, out)


def test_two_casings_of_a_word_compete(small):
    for one, other, expected in ((50.0, 0.0, "us"), (0.0, 50.0, "US"), (50.0, 90.0, "US")):
        assert small("xx us xx", words={"us": one, "US": other}).split()[1] == expected


def test_a_casing_that_the_model_lacks_needs_more_than_the_most_expensive_one(small):
    for weight, expected in ((-1, False), (30.0, True), (np.float32(30), True)):
        assert ("uS" in small("xx us xx", words={"uS": weight})) == expected


def test_the_word_of_an_entry_without_weight_is_not_in_a_weighted_phrase_of_other_case(small):
    assert small("us new", words={"US": None, "us New": 99.0}).startswith("US ")
    assert small("us new", words={"US": None, "US New": 99.0}) == "US New"


def test_a_weight_changes_no_word_written_in_capitals_elsewhere():
    """Such words are not pruned, nor when all costs are kept for the entries."""
    recaser = capfst.load()
    for text in ("Tom didn't know anyone IN the room, PyTorch.", "Why do I have to DO this by myself, PyTorch?"):
        assert recaser(text, words={"PyTorch": 0.5}) == recaser(text)


def test_the_weight_of_a_phrase_is_spread_over_its_words(small, recaser):
    """In proportion to what they need by their context: so it changes all of them, or none. Where only the LM has
    costs, each word gets the same."""
    for phrase in ("Qux Flurb", "nEw FLURB"):
        text = f"it is {phrase.lower()} here"
        casings = [recaser(text, words={phrase: float(weight)}) for weight in range(-2, 60)]
        assert set(casings) == {recaser(text), recaser(text, words={phrase: None})}
    for one, other in (("NEW", "US"), ("New", "uS")):
        by_words = small("xx new us yy", words={one: 4.0, other: 4.0})
        assert small("xx new us yy", words={f"{one} {other}": 8.0}) == by_words


# Lists


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"PyTorch\n\n2024\n", "names.txt, line 3: '2024'"),
        (b"A\n<br />\n", "names.txt, line 2: '<br />'"),
        (b"PyTorch\nFoo Bar\npytorch\n", "names.txt, line 3: 'pytorch'.*line 1: 'PyTorch'"),
        (b"Foo Bar\t1\nfoo bar\n", "names.txt, line 2: 'foo bar'.*line 1: 'Foo Bar'"),
        (b"O'Neill\nO\xe2\x80\x99NEILL\n", "names.txt, line 2: 'O.NEILL'.*line 1"),
        (b"pytorch\nfoo\n", "names.txt: no entry has a capital"),
        (b"Foo\nBl\xe4h\n", "names.txt, line 2: not UTF-8"),
        (b"Foo\tlots\n", "names.txt, line 1: the weight 'lots'"),
        (b"Foo\tinf\n", "names.txt, line 1: the weight 'inf'"),
        (b"Foo\tnan\n", "names.txt, line 1: the weight 'nan'"),
        (b"Foo\t1e308\n", "names.txt, line 1: the weight '1e308'"),
        (b"Foo\t-1001\n", "names.txt, line 1: the weight '-1001'"),
        (b"New\tYork\n", "names.txt, line 1: the weight 'York'"),
    ],
)
def test_bad_lists_are_refused_with_file_and_line(small, tmp_path, text, message):
    path = tmp_path / "names.txt"
    path.write_bytes(text)
    with pytest.raises(CorpusError, match=message):
        small("foo", words=path)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfFoo Bar\r\n\r\n  PyTorch  \r\n",
        b"Foo Bar\nFoo  Bar\nPyTorch\nPyTorch\n",
        b"PyTorch\nFoo Bar",
        b"PyTorch\t7.5\npytorch\t1\nFoo Bar\t99\n",
        b"PyTorch\nPyTorch\t-99\nFoo Bar\n",
        b"PyTorch\nFoo\nBar\nFoo Bar\n",
    ],
)
def test_good_lists(small, tmp_path, text):
    path = tmp_path / "names.txt"
    path.write_bytes(text)
    assert small("foo bar pytorch", words=path) == "Foo Bar PyTorch"


def test_an_empty_list_changes_nothing(small, tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes(b"\n")
    assert small("it new us", words=path) == small("it new us", words=()) == small("it new us")


@pytest.mark.parametrize(
    "words", [3, {"Foo": "high"}, {"Foo": float("nan")}, {"Foo": 1e308}, {"Foo": 10**5000}, {3: None}]
)
def test_wrong_values_are_refused(small, words):
    with pytest.raises(OptionError, match="`words`"):
        small("foo", words=words)


@pytest.mark.parametrize("word", ["PyTorch", "Tech", "a" * 300, "a\0b"])
def test_a_missing_list_names_what_else_can_be_given(small, word):
    with pytest.raises(CorpusError, match=r".*: no such word list.*medicine.*mapping"):
        small("pytorch", words=[word])


def test_the_casings_of_a_phrase_are_limited(small, tmp_path):
    casings = ["".join(map(str.upper, "new york"[:k])) + "new york"[k:] for k in (1, 2, 3, 5, 6, 7, 8)]
    casings += ["nEw york", "neW york", "new yOrk", "new yoRk"]
    small("new york", words=dict.fromkeys([*casings[:10], casings[0], "New  york"], 1.0))
    with pytest.raises(OptionError, match="entry 11: 'new yoRk'"):
        small("new york", words=dict.fromkeys(casings, 1.0))
    (tmp_path / "names.txt").write_text("".join(f"{casing}\t1\n" for casing in casings))
    with pytest.raises(OptionError, match=r"names.txt, line 11: 'new yoRk'"):
        small("new york", words=tmp_path / "names.txt")


def test_errors_of_entries_in_memory_name_their_number(small):
    with pytest.raises(CorpusError, match=r"entry 2: 'foo'.*entry 1: 'Foo'"):
        small("foo", words={"Foo": None, "foo": 1.0})


def test_entries_in_memory_may_all_be_in_lower_case(small):
    assert small("in Foo and FOO", words={"foo": None}).endswith("foo and foo")


def test_models_that_restore_no_case_refuse_words(tmp_path):
    (tmp_path / "text.txt").write_text("Un garçon à Paris.\nUn garçon est là.\n", "utf-8")
    for restored in ("diacritics", "both"):
        capfst.train(tmp_path / "text.txt", tmp_path / f"{restored}.fst", restore=restored, clean=False, context=False)
    with pytest.raises(OptionError, match=r"diacritics.*`words`"):
        capfst.load(tmp_path / "diacritics.fst", words={"Zoé": None})
    both = capfst.load(tmp_path / "both.fst", words={"Zoé": None})
    assert both("zoe est a paris") == "Zoé est à Paris"


# Ways to give them


def test_several_lists_and_one_call(small, tmp_path):
    for name in ("Foo", "BarBar"):
        (tmp_path / name).write_text(f"{name}\n")
    lists = [tmp_path / "Foo", str(tmp_path / "BarBar")]
    assert small("foo barbar", words=lists) == "Foo BarBar"
    assert small("foo barbar", words=lists[0]) == "Foo " + small("x barbar").split()[1]
    assert capfst.load(small.model.path, words=lists)("foo barbar") == "Foo BarBar"
    assert small("foo") == small("foo", words=())


def test_a_pickled_recaser_reads_the_list_again(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("names.txt").write_text("PyTorch\n")
    for words in ("names.txt", {"PyTorch": None}):
        data = pickle.dumps(capfst.load(small.model.path, words=words))
        monkeypatch.chdir("/")
        assert pickle.loads(data)("pytorch") == "PyTorch"
        monkeypatch.chdir(tmp_path)


def test_repr_does_not_show_all_entries(small):
    recaser = capfst.load(small.model.path, words={f"Name{k}": None for k in range(5000)})
    assert "5,000 entries" in repr(recaser)
    assert len(repr(recaser)) < 1000


def test_command_line(small, tmp_path):
    (tmp_path / "a.txt").write_text("PyTorch\n")
    (tmp_path / "b.txt").write_text("Foo Bar\n")
    lists = ["--words", tmp_path / "a.txt", "--words", tmp_path / "b.txt"]
    assert run("recase", "--lm", small.model.path, *lists, stdin="foo bar pytorch").stdout == b"Foo Bar PyTorch"
    refused = run("recase", "--lm", small.model.path, *lists, "-o", tmp_path / "b.txt", stdin="x", code=1).stderr
    assert str(tmp_path / "b.txt").encode() in refused
    (tmp_path / "b.txt").write_text("Foo\n\n1\n")
    assert b"b.txt, line 3" in run("recase", "--lm", small.model.path, *lists, stdin="x", code=1).stderr


def test_a_batch_is_done_again_if_a_list_has_changed(small, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("foo pytorch\n")
    (tmp_path / "names.txt").write_text("PyTorch\n")

    def batch(*options: object) -> tuple[str, int]:
        run("batch", tmp_path / "in", "-o", tmp_path / "out", "--lm", small.model.path, "--report", tmp_path / "r",
            *options)  # fmt: skip
        report = json.loads((tmp_path / "r").read_text())
        return (tmp_path / "out" / "a.txt").read_text().split()[1], report["files"][0]["status"]

    listed = ("--words", tmp_path / "names.txt")
    assert batch(*listed) == ("PyTorch", "done")
    assert batch(*listed) == ("PyTorch", "skipped")
    (tmp_path / "names.txt").write_text("PYTORCH\n")
    assert batch(*listed) == ("PYTORCH", "done")
    assert batch()[1] == "done"
    assert batch()[1] == "skipped"


def test_lists_of_the_package(tmp_path, monkeypatch):
    recaser = capfst.load("en", words=["medicine", "places", "tech", ("OZEMPIC", None)])
    assert recaser("we use pytorch, huggingface and ozempic") == "we use PyTorch, HuggingFace and OZEMPIC"
    assert pickle.loads(pickle.dumps(recaser))("ask huggingface") == "ask HuggingFace"
    assert run("recase", "--words", "tech", stdin="ask huggingface\n").stdout == b"ask HuggingFace\n"
    for name in LISTS:
        assert capfst.load("en")("a common word", words=name) == "a common word"
        assert (folder() / f"words_{name}.tsv").stat().st_size <= 300_000
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tech").write_text("HUGGINGFACE\n")  # a file is never taken for a name
    assert capfst.load("en", words="tech")("ask huggingface") == "ask HUGGINGFACE"
    (tmp_path / "places").mkdir()  # but a folder is no list
    assert capfst.load("en", words="places")("a common word") == "a common word"


def test_translations(tmp_path):
    from capfst.training.bilingual import train_bilingual  # noqa: PLC0415

    texts = write(tmp_path, bitext(300))
    capfst.train(texts[0], tmp_path / "cap.fst", clean=False)
    train_bilingual(*texts, tmp_path / "bilingual.fst", lm=tmp_path / "cap.fst")
    recaser = capfst.load(tmp_path / "bilingual.fst")
    source, target, align = "Open dBase in Calc", "ouvrez dbase dans calc", "0-0 1-1 2-2 3-3"
    for engine in ENGINES:
        plain = recaser.recase_aligned(target, source, align, engine=engine)
        assert plain.split()[1] == "dBase"
        listed = {"CALC": None, "Dans": 99.0, "oUvrez": 50.0}
        recased = recaser.recase_aligned(target, source, align, words=listed, engine=engine)
        assert recased == "oUvrez dBase Dans CALC"
