"""Tables, pictures and pages of explanations."""

import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

import capfst
from capfst import CapfstError, Explanation
from capfst.explain import explanation as ex


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    return capfst.load().explain("<b> & they met apple founder steve jobs in may", 2)


@pytest.fixture(scope="module")
def needs_dot() -> None:
    graphviz = pytest.importorskip("graphviz", reason="pictures need the extra explain")
    try:
        graphviz.version()
    except graphviz.ExecutableNotFound:
        pytest.skip("Graphviz's program dot is not installed")


def test_the_table_has_the_words_in_doubt(explanation: Explanation) -> None:
    lines = explanation.table().splitlines()
    assert lines[0] == explanation.text
    assert re.fullmatch(r"-ln P [\d.]+ = LM [\d.]+ \+ context [\d.]+.*", lines[1])
    assert lines[2] == f"{explanation.casings[1].cost:.2f}  {explanation.casings[1].text}"
    head = lines.index(next(line for line in lines if line.startswith("word")))
    assert lines[head].split()[:6] == ["word", "casing", "costs", "more", "LM", "context"]
    first = [line.split()[0] for line in lines[head + 1 :] if line[:1].strip()]
    in_doubt = [
        word.given
        for word in explanation.words
        if any(0 < form.margin <= 10 for form in word.forms) or word.given != word.forms[0].text
    ]
    assert first[: len(in_doubt)] == in_doubt
    for word in explanation.words:
        if word.given in in_doubt:
            other = word.forms[1]
            row = next(line for line in lines[head:] if other.text in line.split() and f"{other.margin:+.2f}" in line)
            assert f"{other.differences['lm']:+.2f}" in row
            assert " ".join(other.ngram.words) in row
            following = lines[lines.index(row) + 1]
            assert following.strip().startswith(f"context: {other.reasons[0].text} {other.reasons[0].cost:+.1f}")
    assert re.match(r"\d tokens without a casing", lines[-1])


def test_a_note_tells_where_recasing_writes_something_else() -> None:
    explanation = capfst.load().explain("an it meeting")
    assert "recasing writes" not in explanation.table()
    assert "recasing writes: An" in replace(explanation, recased="An IT meeting").table()


def test_the_picture_has_the_best_path(explanation: Explanation, needs_dot: None) -> None:
    drawn = explanation.svg()
    assert "DTD" not in drawn
    assert not re.search(r"(?:href|src)=|url\(", drawn)
    tree = ET.fromstring(drawn)
    labels = ["".join(text.itertext()).strip() for text in tree.iter("{http://www.w3.org/2000/svg}text")]
    for arc in explanation.arcs:
        assert f"{arc.given}:{arc.text}{' </s>' if arc.ends else ''}/{arc.cost:.2f}" in labels
    edges = [group for group in tree.iter("{http://www.w3.org/2000/svg}g") if group.get("class") == "edge"]
    marked = [edge for edge in edges if f'stroke="{ex.BEST}"' in ET.tostring(edge, "unicode")]
    assert len(marked) == len(explanation.words)
    assert len(edges) == len(explanation.arcs)


@pytest.mark.parametrize(
    "text", ["", 'a\\N "b" <c> \x00 \x1b \x0b\x1c', "\ud800 \\", "漢字 É\xa0\u202e", "he left. she stayed"]
)
def test_any_text_can_be_drawn(text: str, needs_dot: None) -> None:
    explanation = capfst.load(sentence_case=True).explain(text)
    ET.fromstring(explanation.svg())
    page = explanation.html()
    assert page.encode().decode() == page
    assert "\x1b" not in page


def test_the_page_needs_no_other_file(explanation: Explanation, needs_dot: None) -> None:
    page = explanation.html()
    assert page.count("<svg") == page.count("</svg>") == 1
    assert not re.search(r"<script|<link|src=|href=|@import|url\(", page)
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    for casing in explanation.casings:
        assert f"<td>{casing.cost:.2f}</td>" in page


def test_notebooks_show_the_picture_and_print_the_table(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch, needs_dot: None
) -> None:
    assert explanation._repr_svg_() == explanation.svg()
    assert str(explanation) == explanation.table()
    assert explanation.text in repr(explanation) and len(repr(explanation)) < 2 * len(explanation.text) + 50
    monkeypatch.setenv("PATH", "/nonexistent")
    assert explanation._repr_svg_() is None


def test_without_graphviz_the_error_tells_what_to_install(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "graphviz", None)
        with pytest.raises(CapfstError, match=r"pip install 'capfst\[explain\]'"):
            explanation.svg()
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(CapfstError, match="program dot"):
        explanation.html()


def test_large_lattices_are_not_drawn(
    explanation: Explanation, monkeypatch: pytest.MonkeyPatch, needs_dot: None
) -> None:
    monkeypatch.setattr(ex, "_MOST_DRAWN", 3)
    with pytest.raises(CapfstError, match="shorter line"):
        explanation.svg()
