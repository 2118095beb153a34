"""Test the error analysis: goldens by hand, sums against `score` and plain Python, bounded counting, page, command."""

import json
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.command_line import message, run
from support.line_pairs import line_pairs

import capfst
from capfst.casing.shapes import Shape
from capfst.evaluate.compare import SHAPE_NAMES
from capfst.evaluate.error_analysis import CASED_SHAPES, ELSEWHERE, EXCERPTS, KINDS, analyze_errors, analyze_files
from capfst.evaluate.lossy_counting import LossyCounter, WrongWord
from capfst.evaluate.score import score
from capfst.exceptions import CorpusError

CORPUS = """\
In May we met in Paris, and the IBM X-ray was there.
We may meet in May near www.paris.example or in paris.
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "corpus").write_text(CORPUS, "utf-8")
    capfst.train(folder / "corpus", folder / "cap.fst", clean=False)
    return folder / "cap.fst"


@pytest.fixture(scope="module")
def recaser(model):
    return capfst.load(model)


def errors(references, hypotheses, recaser=None):
    return analyze_errors(references=references, hypotheses=hypotheses, recaser=recaser)


def confusion(analysis):
    """Return the cells of the confusion matrix that are not 0, by name."""
    rows = enumerate(analysis.confusion.tolist())
    return {(CASED_SHAPES[r], CASED_SHAPES[h]): count for r, row in rows for h, count in enumerate(row) if count}


def counted(analysis):
    """Return (kind, reference → hypothesis) → count."""
    return {
        (analysis.kinds[pair.kind], f"{pair[1]} → {pair[2]}"): e.count
        for pair, e in analysis.wrong_words.entries.items()
    }


def test_golden():
    analysis = errors(["The Cat met NASA's iPhone .", "", "the end"], ["the Cat MET nasa's Iphone .", "", "the END"])
    assert confusion(analysis) == {
        ("Capitalized", "lower"): 1,
        ("Capitalized", "Capitalized"): 1,
        ("lower", "UPPER"): 2,
        ("lower", "lower"): 1,
        ("mixed", "lower"): 1,
        ("mixed", "Capitalized"): 1,
    }
    assert analysis.wrong_shapes.tolist() == [2, 1, 0, 2]
    assert analysis.groups == {KINDS[0]: (2, 1), ELSEWHERE: (5, 4), "all": (7, 5)}
    assert counted(analysis) == {
        (KINDS[0], "The → the"): 1,
        (ELSEWHERE, "met → MET"): 1,
        (ELSEWHERE, "NASA → nasa"): 1,
        (ELSEWHERE, "iPhone → Iphone"): 1,
        (ELSEWHERE, "end → END"): 1,
    }


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        ("Xyzzy", "out of vocabulary"),
        ("May-Xyzzy", "out of vocabulary"),
        ("ibm", "unseen casing"),
        ("WE'RE", "out of vocabulary"),
        ("IBM/ibm", "unseen casing"),
        ("May", "ambiguous"),
        ("(Paris),", "ambiguous"),
        ("may/IBM", "ambiguous"),
        ("IBM", "unambiguous"),
        ("IBM™", "unambiguous"),  # characters without case cannot be wrong
        ("X-ray", "unambiguous"),
        ("X-Ray", "unseen casing"),
        ("www.Elsewhere.example", "unambiguous"),
    ],
)
def test_kind(recaser, token, kind):
    other = token.swapcase()
    analysis = errors([f"— A {token} b"], [f"— A {other} b"], recaser)
    assert {name: wrong for name, (_, wrong) in analysis.groups.items() if wrong} == {kind: 1, "all": 1}
    assert analysis.groups[KINDS[0]] == (1, 0)  # A
    assert errors([f"— {token} a"], [f"— {other} a"], recaser).groups[KINDS[0]] == (1, 1)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "words"),
    [
        ("York,", "york,", ["York → york"]),
        ("“O'Neill's”", "“o'neill's”", ["O'Neill → o'neill"]),
        ("U.S.", "u.s.", ["U.S. → u.s."]),
        ("Vice-President.", "vice-President.", ["Vice-President → vice-President"]),
        ("DON'T", "don't", ["DO → do", "N'T → n't"]),
        ("New/old/York", "new/old/york", ["New → new", "York → york"]),
        ("İzmir!", "i̇zmir!", ["İzmir → i̇zmir"]),
        ("http://A.example/B", "http://a.example/b", ["http://A.example/B → http://a.example/b"]),
    ],
)
def test_the_words_of_a_token_that_are_wrong(reference, hypothesis, words):
    assert [pair for _, pair in counted(errors([reference], [hypothesis]))] == words


def plain(lines):
    """Return the confusion matrix and the counts by kind, computed with loops and `score`'s shapes of single tokens."""

    def one(token):
        return score(references=[token], hypotheses=[token])

    def shape(token):
        return next(k for k, name in enumerate(SHAPE_NAMES) if one(token).groups[name] == (1, 1))

    cells, words, errors = Counter(), Counter(), Counter()
    for reference, hypothesis in lines:
        initial = True
        for ref, hyp in zip(reference.split(), hypothesis.split(), strict=True):
            kind = ELSEWHERE
            if initial and any(c.isalpha() or c.lower() != c.upper() for c in ref):
                initial, kind = False, KINDS[0]
            if shape(ref) != Shape.CASELESS:
                cells[CASED_SHAPES[shape(ref)], CASED_SHAPES[shape(hyp)]] += 1
                words[kind] += 1
                errors[kind] += ref != hyp
    return cells, {kind: (words[kind], errors[kind]) for kind in (KINDS[0], ELSEWHERE)}


@given(st.lists(line_pairs(), max_size=4))
def test_sums_are_those_of_score_and_of_plain_python(lines):
    references, hypotheses = [ref for ref, _ in lines], [hyp for _, hyp in lines]
    analysis = errors(references, hypotheses)
    scores = score(references=references, hypotheses=hypotheses)
    tokens, correct = scores.groups["all"]
    assert analysis.lines == len(lines)
    assert analysis.errors.total() == analysis.wrong_shapes.sum() == tokens - correct
    assert dict(zip(CASED_SHAPES, analysis.confusion.sum(1).tolist(), strict=True)) == {
        name: scores.groups[name][0] for name in CASED_SHAPES
    }
    cells, groups = plain(lines)
    assert confusion(analysis) == cells
    assert {kind: analysis.groups[kind] for kind in groups} == groups
    for pair, entry in analysis.wrong_words.entries.items():
        assert pair.reference != pair.hypothesis
        for excerpt in entry.excerpts:
            assert excerpt.word == pair.reference
            assert any("".join(excerpt) == " ".join(line.split()) for line in references)


@given(st.lists(st.text("aAbB-. ", max_size=9), max_size=6), st.integers(1, 20))
def test_batches_do_not_matter(lines, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capfst.evaluate.compare.BATCH", size)
        small = errors(lines, map(str.swapcase, lines))
    assert small.to_dict(99) == errors(lines, map(str.swapcase, lines)).to_dict(99)


def test_contexts_are_few_different_and_short():
    lines = ["x Paris y", "x Paris y", "a Paris", "b Paris", "c Paris"]
    lines.append(f"{'é ' * 99}(London) {'ö' * 99}")
    analysis = errors(lines, map(str.lower, lines))
    entries = {pair.reference: entry for pair, entry in analysis.wrong_words.entries.items()}
    assert entries["Paris"].count == 5
    assert entries["Paris"].excerpts == [("x ", "Paris", " y"), ("a ", "Paris", ""), ("b ", "Paris", "")]
    assert EXCERPTS == 3
    assert entries["London"].excerpts == [("…" + ("é " * 99)[-59:] + "(", "London", ") " + "ö" * 58 + "…")]


@settings(max_examples=200)
@given(st.lists(st.integers(0, 12), max_size=200), st.integers(1, 14))
def test_frequent_words_in_bounded_memory(numbers, capacity):
    frequent = LossyCounter(capacity)
    for number in numbers:
        frequent.add(WrongWord(0, str(number), ""))
        assert len(frequent.entries) <= capacity
    true = Counter(WrongWord(0, str(number), "") for number in numbers)
    if len(true) <= capacity:
        assert frequent.missed == 0
        assert {pair: entry.count for pair, entry in frequent.entries.items()} == true
    for pair, count in true.items():
        entry = frequent.entries.get(pair)
        if entry is None:
            assert count <= frequent.missed
        else:
            assert entry.count <= count <= entry.count + entry.missed
            assert entry.missed <= frequent.missed
    counts = [entry.count for _, entry in frequent.top(5)]
    assert counts == sorted((entry.count for entry in frequent.entries.values()), reverse=True)[:5]


def test_the_bound_of_missed_words_is_printed():
    analysis = errors([], [])
    analysis.wrong_words = LossyCounter(1)
    analysis.wrong_words.add(WrongWord(0, "A", "a"))
    analysis.wrong_words.add(WrongWord(0, "B", "b"))
    assert "too low by up to 1" in analysis.text(9)
    assert "too low by up to 1" in analysis.html(("r", "h"), 9)


class Page(HTMLParser):
    """Parser of a page that checks that all elements end, and collects text and names of elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], set(), set(), ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_page_escapes_and_needs_nothing_else():
    evil = "<Script>Alert('&amp;')</Script>"
    lines = [f"a {evil} Paris & <b>", f"b {evil} Paris"]
    analysis = errors(lines, map(str.lower, lines))
    page = Page(analysis.html(("<ref>", '"hyp"&'), 9))
    assert page.tags == {*"html head meta title style body h1 h2 table tr th td mark br footer".split()}  # noqa: SIM905
    assert page.attributes == {"lang", "charset", "name", "content", "class"}
    assert 'Case errors in "hyp"&, compared with <ref>' in page.text
    assert "a <Script>Alert('&amp;')</Script> Paris & <b>" in page.text
    assert analysis.signature in page.text


def test_command(model, tmp_path):
    reference, hypothesis, html = tmp_path / "ref", tmp_path / "hyp", tmp_path / "page.html"
    reference.write_text("We met in May at <IBM> with Xyzzy\n", "utf-8")
    hypothesis.write_text("we met in may at <ibm> with xyzzy\n", "utf-8")
    text = run("errors", reference, hypothesis, "--lm", model, "--html", html).stdout.decode()
    for line in ("1  May → may  (ambiguous)", "We met in «May» at <IBM> with Xyzzy", "vocabulary:yes"):
        assert line in text
    assert "We met in May at <IBM> with Xyzzy" in Page(html.read_text("utf-8")).text
    record = json.loads(run("errors", "--json", "--top", 1, reference, hypothesis, "--lm", model).stdout)
    assert record == analyze_files(references=reference, hypotheses=hypothesis, recaser=capfst.load(model)).to_dict(1)
    assert record["kinds"]["unambiguous"] == {"tokens": 3, "wrong": 1}  # we, met, IBM
    assert record["confusion"]["Capitalized"] == {"lower": 3, "Capitalized": 0, "UPPER": 0, "mixed": 0}
    assert [word["reference"] for word in record["wrong_words"]] == ["We"]
    assert "vocabulary:no" in run("errors", "--top", 0, reference, hypothesis).stdout.decode()


def test_bad_input(tmp_path):
    for name, content in {"ref": b"a\nThe cat\n", "other": b"a\nThe dog\n", "latin": b"a\nThe \xe9\n"}.items():
        (tmp_path / name).write_bytes(content)
    assert "other, line 2: " in message(run("errors", tmp_path / "ref", tmp_path / "other", code=1))
    assert "not UTF-8" in message(run("errors", tmp_path / "ref", tmp_path / "latin", code=1))
    assert "nowhere" in message(run("errors", tmp_path / "ref", tmp_path / "nowhere", code=1))
    page = tmp_path / "no" / "page.html"
    assert "folder" in message(run("errors", tmp_path / "ref", tmp_path / "ref", "--html", page, code=1))
    with pytest.raises(CorpusError, match=r"^hypotheses: .*\(1\).* references"):
        errors(["a", "b"], ["a"])


def test_str_and_repr():
    analysis = errors(["The Cat met NASA ."], ["the Cat met Nasa ."])
    assert str(analysis) == analysis.text(30)
    assert "NASA → Nasa" in str(analysis)
    assert "2 of 4 cased tokens wrong; 1 line; capfst-errors|" in repr(analysis)


def test_lone_surrogates_are_characters(recaser):
    analysis = errors(["— A Cat\ud800 a"], ["— A cat\ud800 a"], recaser)
    assert analysis.groups["all"][1] == 1


def test_lines_may_be_bytes():
    assert errors(["A Cat"], [b"A cat"]).groups["all"] == (2, 1)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "said"),
    [
        ("Hi", ["hi"], "^references .* one str"),
        (["Hi"], "hi", "^hypotheses .* one str"),
        ([None], ["hi"], "^references, line 1: .* not NoneType"),
    ],
)
def test_values_other_than_lines_are_a_type_error(reference, hypothesis, said):
    with pytest.raises(TypeError, match=said):
        errors(reference, hypothesis)
