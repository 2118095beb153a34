"""Explanations are exact: their parts add up to the costs of `nbest`, and their margins to the log-odds of
`confidence`, whatever the options."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import contextual
from support.command_line import CORPUS
from support.models import FORMS, backoff_models
from support.scoring import path_costs
from support.translations import bitext, write

import capfst
from capfst import CapfstError, Explanation, Recaser
from capfst.explain import arcs
from capfst.training.bilingual import train_bilingual

WORDS = [*sorted({form.lower() for form in FORMS}), "oov", "<unk>", "!", "p.m.", '"']
LINES = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
REAL = st.sampled_from([*contextual.LINES, *contextual.UNHEARD, *contextual.OTHERS])
CASES = st.sampled_from([str, str.lower, str.upper, str.title])
OPTIONS: list[dict] = [
    {},
    {"sentence_case": True},
    {"context": False},
    {"oov": "pass"},
    {"breaks": False},
    {"input_case": "ignore"},
    {"input_case": "keep"},
    {"input_case": "keep", "context": False, "sentence_case": True},
    {"document": True},
    {"start_token": "<unk>"},
    {"engine": "openfst"},
    {"engine": "openfst", "sentence_case": True, "input_case": "evidence"},
]


def check(recaser: Recaser, text: str, n: int = 1, **given) -> Explanation:
    """Explain a line; check the explanation against the other methods, and its sums."""
    explanation = recaser.explain(text, n, **given)
    close = {"rel": 1e-6, "abs": 1e-5}
    best = recaser.nbest(text, n, given.get("source"), given.get("alignment"), **options_of(given))
    assert [casing.text for casing in explanation.casings] == [casing.text for casing in best]
    for casing, expected in zip(explanation.casings, best, strict=True):
        assert casing.cost == expected.cost
        assert sum(casing.parts.values()) == pytest.approx(expected.cost, **close)
    assert (explanation.text, explanation.cost) == (best[0].text, best[0].cost)
    assert explanation.recased == line_of(recaser, text, **given)
    check_words(explanation, recaser.pipeline_with(options_of(given), "explain").temperature)
    check_arcs(explanation)
    recased, changes = recaser.confidence(text, given.get("source"), given.get("alignment"), **options_of(given))
    if recased == explanation.text:
        log_odds = {(word.start, word.end): word.log_odds for word in explanation.words}
        assert [log_odds[change.start, change.end] for change in changes] == pytest.approx(
            [change.log_odds for change in changes], **close
        )
    return explanation


def options_of(given: dict) -> dict:
    return {name: value for name, value in given.items() if name not in ("source", "alignment")}


def line_of(recaser: Recaser, text: str, **given) -> str:
    if "source" in given:
        return recaser.recase_aligned([text], [given["source"]], **options_of(given) | aligned(given))[0]
    return recaser([text], **given)[0]


def aligned(given: dict) -> dict:
    return {"alignment": [given["alignment"]]} if given.get("alignment") else {}


def check_words(explanation: Explanation, temperature: float) -> None:
    """Check the sums of the words' parts, and their log-odds."""
    close = {"rel": 1e-6, "abs": 1e-4}
    of_words = math.fsum(sum(word.forms[0].parts.values()) for word in explanation.words)
    assert explanation.start + of_words + explanation.end == pytest.approx(explanation.cost, **close)
    ends = [after.begins for after in explanation.words[1:]]
    for word, is_end in zip(explanation.words, [*ends, False], strict=False):
        if not is_end:
            assert word.forms[0].parts["lm"] == pytest.approx(word.forms[0].ngram.cost)
        assert explanation.text[word.start : word.end] == word.forms[0].text
        assert word.forms[0].margin == 0
        assert word.forms[0].line == explanation.text
        margins = [form.margin for form in word.forms]
        assert margins == sorted(margins)
        assert len({form.text for form in word.forms}) == len(word.forms)
        assert word.log_odds == (margins[1] / temperature if len(margins) > 1 else math.inf)
        for k, form in enumerate(word.forms):
            assert sum(form.differences.values()) == pytest.approx(form.margin, **close)
            assert form.line[word.start :].startswith(form.text) or len(form.line) != len(explanation.text)
            if form.reasons:
                other = word.forms[0 if k else 1]
                difference = form.parts["context"] - other.parts["context"]
                assert sum(reason.cost for reason in form.reasons) == pytest.approx(difference, abs=1e-3)


def check_arcs(explanation: Explanation) -> None:
    """Check that the arcs marked best are a path of the best cost, and the others' margins are not negative."""
    best = [arc for arc in explanation.arcs if arc.is_best]
    assert [arc.target for arc in best[:-1]] == [arc.source for arc in best[1:]]
    assert [arc.text for arc in best] == [word.forms[0].text for word in explanation.words]
    assert explanation.start + explanation.end + sum(arc.cost for arc in best) == pytest.approx(explanation.cost)
    assert all(arc.margin >= 0 and arc.source < arc.target for arc in explanation.arcs)
    assert all(arc.margin == pytest.approx(0, abs=1e-6) for arc in best)
    assert {state for arc in explanation.arcs for state in (arc.source, arc.target)} == {
        *range(len(explanation.states))
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@settings(deadline=None, max_examples=60)
@given(model=backoff_models(), line=LINES, case=CASES, n=st.integers(1, 5), sentence=st.booleans())
def test_any_model(folder: Path, model, line: str, case, n: int, sentence: bool) -> None:
    recaser = Recaser(model.save(folder / "m.fst"), sentence_case=sentence)
    line = case(line)
    every = recaser.nbest(line, 10**4)
    if every[0].cost == math.inf:
        with pytest.raises(CapfstError, match="excludes all casings"):
            recaser.explain(line)
        return
    explanation = check(recaser, line, n)
    least: dict[tuple[int, str], float] = {}  # of all casings of the line, by the casing of each word
    for cost, text in every:
        for k, word in enumerate(words_of(recaser, text)):
            least.setdefault((k, word), cost)
    found = {(k, form.text): form for k, word in enumerate(explanation.words) for form in word.forms}
    finite = {key: cost for key, cost in least.items() if cost < math.inf}
    assert {key: explanation.cost + form.margin for key, form in found.items()} == pytest.approx(finite, rel=1e-6)
    costs = {text: cost for cost, text in every}
    assert all(costs[form.line] == pytest.approx(least[key]) for key, form in found.items())


def words_of(recaser: Recaser, text: str) -> list[str]:
    data = text.encode()
    words = recaser.pipeline.loaded.transducer.words(np.frombuffer(data, np.uint8))
    return [data[start:end].decode() for start, end in zip(words.starts, words.ends, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_model_with_context(contextual_model: Path, options: dict) -> None:
    recaser = capfst.load(contextual_model, **options)

    @settings(deadline=None, max_examples=12)
    # A label may begin a sentence; the mark before it may not.
    @example(line='all by the loop.  Hint: the built-in type "range()" represents', case=str.title, n=1)
    # In a remark, only the first word may get the capital of a sentence.
    @example(line='["=" (starred_expression | yield_expression)]', case=str, n=1)
    @given(line=REAL, case=CASES, n=st.integers(1, 4))
    def run(line: str, case, n: int) -> None:
        check(recaser, case(line), n)

    run()


@pytest.mark.parametrize("engine", ["fast", "openfst"])
@pytest.mark.parametrize("context", [True, False])
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_word_lists(contextual_model: Path, engine: str, context: bool, data: st.DataObject) -> None:
    line = data.draw(REAL.filter(lambda line: len(line.split()) > 2)).lower()
    tokens = line.split()
    entries: dict[str, float | None] = {"Zanzibar": None}
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(tokens) - 1))
        entry = " ".join(tokens[begin : begin + data.draw(st.integers(1, 2))])
        if any(c.isalpha() for c in entry) and entry.lower() == entry:
            case = data.draw(st.sampled_from([str.title, str.upper, str.capitalize, str.swapcase]))
            entries[case(entry)] = data.draw(st.sampled_from([None, 2.5, -1.0, 20.0]))
    recaser = capfst.load(contextual_model, engine=engine, context=context)
    try:
        recaser(line, words=entries)
    except CapfstError:  # contradictions
        return
    check(recaser, line, 3, words=entries)


def test_the_parts_are_those_of_the_options() -> None:
    recaser = capfst.load()
    line = "anna zelners met Mr. SMITH of apple in new york"
    parts = recaser.explain(line, words={"Zelners": 3.0}).casings[0].parts
    assert {"lm", "context", "words"} <= {*parts} <= {"lm", "gap", "context", "input", "words"}
    assert {*recaser.explain(line, context=False).casings[0].parts} == {"lm"}
    kept = recaser.explain("we saw IT there", input_case="keep").words[2].forms
    assert [form.text for form in kept] == ["IT"]
    assert kept[0].parts["context"] + kept[0].parts["input"] == pytest.approx(0)
    assert kept[0].parts["input"] < -1


def test_a_listed_word_costs_what_its_weight_says() -> None:
    recaser = capfst.load()
    before, after = (
        {form.text: form for form in recaser.explain("a visa card", words=words).words[1].forms}
        for words in ({}, {"Visa": 5.0})
    )
    assert after["Visa"].parts["words"] == pytest.approx(-5, abs=1e-5)
    assert after["visa"].parts.get("words", 0) == 0
    assert after["Visa"].parts["context"] == pytest.approx(before["Visa"].parts["context"], abs=1e-5)


def test_a_line_of_a_document_is_explained_with_the_others() -> None:
    recaser = capfst.load(document=True)
    text = "the painter zelners lived in rome.\nsome zelners left.\n\nanother zelners left\n"
    costs = path_costs(recaser, text[:54].encode())
    for number in (1, 2):
        explanation = recaser.explain(text, line=number)
        assert explanation.text == recaser(text).split("\n")[number - 1]
        assert sum(explanation.casings[0].parts.values()) == pytest.approx(costs[number - 1])
        check_words(explanation, recaser.pipeline.temperature)
        check_arcs(explanation)
    second = recaser.explain(text, line=2).words[1].forms
    assert second[0].text == "Zelners"
    assert second[1].differences["document"] > 1
    assert recaser.explain(text, line=4) == recaser.explain("another zelners left")  # of another document


def test_documents_have_lines() -> None:
    recaser = capfst.load(document=True)
    assert recaser.explain("").text == ""
    assert recaser.explain("a\n").text == "a"
    for text, line in (("a\nb\n", 3), ("a", 2), ("", 2), ("a", 0)):
        with pytest.raises(capfst.OptionError, match=rf"`line` is {line}"):
            recaser.explain(text, line=line)


@pytest.fixture(scope="module")
def bilingual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bilingual")
    target, *others = write(folder, bitext(300))
    capfst.train(target, folder / "cap.fst", clean=False)
    train_bilingual(target, *others, folder / "bilingual.fst", lm=folder / "cap.fst")
    return folder / "bilingual.fst"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["fast", "openfst"])
def test_translations(bilingual: Path, engine: str) -> None:
    recaser = capfst.load(bilingual, engine=engine)
    parts = set()
    for target, source, alignment in zip(*bitext(12, seed=1), strict=True):
        parts |= {*check(recaser, target.lower(), 3, source=source, alignment=alignment).casings[0].parts}
    assert "source" in parts
    listed = {"Xenon": 2.0, target.split()[0].upper(): 1.5}
    check(recaser, target.lower(), 2, source=source, words=listed)
    check(recaser, target.lower(), 2, source=source.lower())  # which tells nothing


@pytest.mark.slow
def test_a_model_that_restores_diacritics(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("Où est le garçon de Saint Étienne ?\nIl a été à la côte ou à la mer.\n" * 40, "utf-8")
    for restore in ("both", "diacritics"):
        capfst.train(corpus, tmp_path / "cap.fst", restore=restore, clean=False)
        recaser = capfst.load(tmp_path / "cap.fst")
        explanation = check(recaser, "ou est le garcon a la mer", 3)
        assert "spelling" in explanation.casings[0].parts


@pytest.mark.slow
def test_a_pretokenized_model(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text('The mayor of New York is here .\n" It is an IBM , " he said .\n' * 40, "utf-8")
    capfst.train(corpus, tmp_path / "cap.fst", pretokenized=True, clean=False)
    for options in ({}, {"sentence_case": True}, {"context": False}):
        check(capfst.load(tmp_path / "cap.fst", **options), '" the mayor of ibm , he said . it is new york', 3)


def test_ngrams(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(CORPUS * 3, "utf-8")
    capfst.train(tmp_path / "corpus.txt", tmp_path / "cap.fst", context=False)
    recaser = capfst.load(tmp_path / "cap.fst", sentence_case=True)
    explanation = check(recaser, "in new york. the mayor of xyzzyq was made in france")
    assert [str(word.forms[0].ngram) for word in explanation.words] == [
        "<s> in", "<s> in New", "in New York", "., 2 backoffs", "the, 1 backoff", "the mayor", "the mayor of",
        "<unk>, 2 backoffs", "was", "was made", "was made in", "France, 2 backoffs",
    ]  # fmt: skip


def test_the_parts_of_a_word_with_a_sentence_end_include_it() -> None:
    explanation = check(capfst.load(sentence_case=True), 'she left. "it is late!" he said')
    ends = [k for k, word in enumerate(explanation.words) if word.begins]
    assert ends
    for k in ends:
        before = explanation.words[k - 1].forms[0]
        assert before.parts["lm"] > before.ngram.cost


@pytest.mark.parametrize(
    "text", ["", " ", "\t!\r", "http://x.y/Z", "漢字 かな", "a\x00b \x1b[31mq", "\ud800 x", "ß ŉ ΟΔΟΣ"]
)
def test_odd_lines(text: str) -> None:
    explanation = check(capfst.load(), text, 2)
    assert explanation.table()
    assert "\x1b" not in explanation.table()


def test_the_table_has_words_that_changed_to_their_only_casing() -> None:
    rows = capfst.load().explain("we train pytorch", words={"PyTorch": None}).table().splitlines()
    assert [row.split()[:2] for row in rows if row.startswith("pytorch")] == [["pytorch", "PyTorch"]]


def test_json_has_no_infinity() -> None:
    explanation = capfst.load().explain("it is 5 o'clock .")
    words = explanation.to_dict()["words"]
    assert {word["log_odds"] for word in words if len(word["forms"]) == 1} == {None}
    assert words[0]["log_odds"] == explanation.words[0].log_odds < math.inf


def test_what_cannot_be_explained_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    recaser = capfst.load()
    with pytest.raises(capfst.CorpusError, match="single line"):
        recaser.explain("two\nlines")
    with pytest.raises(capfst.OptionError, match="`n` is 0"):
        recaser.explain("a", 0)
    with pytest.raises(capfst.OptionError, match="`line` is 2"):
        recaser.explain("a", line=2)
    with pytest.raises(capfst.OptionError, match="`wrapped`"):
        recaser.explain("a", wrapped=True)
    with pytest.raises(capfst.OptionError, match="markup"):
        recaser.explain("a", markup="html")
    with pytest.raises(capfst.OptionError, match="markup"):
        recaser.explain("a", markup="html", document=True)
    with pytest.raises(TypeError, match="explain"):
        recaser.explain("a", colour=True)
    with pytest.raises(TypeError, match="str"):
        recaser.explain(b"a")
    with pytest.raises(capfst.ModelError, match="translations"):
        recaser.explain("a", source="A")
    monkeypatch.setattr(arcs, "MOST_ARCS", 10)
    with pytest.raises(capfst.CorpusError, match="too many casings"):
        recaser.explain("this line is too long to be explained")


def test_explaining_changes_nothing(contextual_model: Path) -> None:
    recaser = capfst.load(contextual_model, words={"Class Object": 3.0, "API": None})
    line = "the api of a class object. it is a string"
    before = recaser(line), recaser.nbest(line, 3), recaser.confidence(line)
    first = recaser.explain(line, 3)
    assert recaser.explain(line, 3) == first
    assert (recaser(line), recaser.nbest(line, 3), recaser.confidence(line)) == before
    assert np.isfinite(first.cost)
