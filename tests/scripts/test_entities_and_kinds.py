"""scripts/ner_experiment.py and kinds_of_text.py, with what they read: labels, alignment, scores; and both on small
parts of the corpora, where these are there."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
DATA = SCRIPTS.parents[1] / "shared" / "data"


@pytest.fixture(scope="module", autouse=True)
def scripts_path():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield


@pytest.fixture
def ner(scripts_path):
    import ner_experiment  # noqa: PLC0415

    return ner_experiment


@pytest.fixture
def corpora(scripts_path):
    import entity_corpora  # noqa: PLC0415

    return entity_corpora


@pytest.fixture
def kinds(scripts_path):
    import kinds_of_text  # noqa: PLC0415

    return kinds_of_text


def words(text, speaker="1"):
    """The words of a text in which `,.?` are their marks."""
    from earnings21 import Word  # noqa: PLC0415

    return [Word(w.rstrip(",.?"), w[len(w.rstrip(",.?")) :], speaker, ()) for w in text.split()]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O B-A I-A O", {("A", 1, 3)}),
        ("B-A B-A I-A", {("A", 0, 1), ("A", 1, 3)}),
        ("I-A I-A I-B O I-B", {("A", 0, 2), ("B", 2, 3), ("B", 4, 5)}),
        ("B-A I-B I-B", {("A", 0, 1), ("B", 1, 3)}),
        ("O O", set()),
    ],
)
def test_entities(ner, labels, expected):
    assert ner.entities(labels.split()) == expected


def test_sentences_end_at_marks_and_speakers_but_not_behind_titles():
    from earnings21 import sentence_ends  # noqa: PLC0415

    text = words("Thank you, Mr. Smith. It is") + words("Now Q? A", "2")
    assert sentence_ends(text) == [4, 6, 8, 9]


def test_the_longer_of_two_spans_is_taken(corpora):
    from earnings21 import REFERENCE, Call  # noqa: PLC0415

    tags = [(), ("1",), ("1", "2"), ("3",)]
    text = [word._replace(tags=of_word) for word, of_word in zip(words("in the year soon"), tags, strict=True)]
    call = Call({REFERENCE: text}, {"1": "DATE", "2": "PERSON", "3": "CONTRACTION"})
    assert corpora.entity_labels(call) == ["O", "B-TIMEX", "I-TIMEX", "O"]


def test_recognized_words_take_the_labels_of_those_that_they_stand_for(corpora):
    reference = words("I am Bob van Dyke, of New York. Ask Ann now.")
    labels = ["O", "O", "B-PERSON", "I-PERSON", "I-PERSON", "O", "B-PLACE", "I-PLACE", "O", "B-PERSON", "O"]
    heard = words("i am bob uh van dike of york ask now")
    first, second = corpora.projected(reference, labels, [8, 11], heard)
    assert first[0].words == ["i", "am", "bob", "uh", "van", "dike", "of", "york"]
    assert first[0].labels == ["O", "O", "B-PERSON", "I-PERSON", "I-PERSON", "I-PERSON", "O", "B-PLACE"]
    assert first[0].missed == ()
    assert first[1] == ["I", "am", "Bob", "uh", "van", "Dike", "of", "York"]
    assert (second[0].words, second[0].missed) == (["ask", "now"], ("PERSON",))


def test_punctuation_inside_an_entity_belongs_to_it(corpora):
    sentence = corpora.marked(words("Washington, Dc, is"), ["B-PLACE", "I-PLACE", "O"])
    assert sentence.words == ["Washington", ",", "Dc", ",", "is"]
    assert sentence.labels == ["B-PLACE", "I-PLACE", "I-PLACE", "O", "O"]
    assert corpora.without_marks(sentence).words == ["Washington", "Dc", "is"]


def test_shapes(ner):
    assert [ner.shape(word) for word in ("O'Neill", "2.50", "IBM", "iPhone", "Ärzte")] == [
        "X'Xx",
        "d.d",
        "X",
        "xXx",
        "Xx",
    ]


def test_f1_counts_missed_entities_and_gives_what_remains_of_true_case(ner):
    sentences = [ner.Sentence(["Bob", "x"], ["B-A", "O"]), ner.Sentence(["y"], ["O"], ("B",))]
    texts = {"true case": ["Bob x", "y"], "lowercase": ["bob x", "y"]}
    labels = [{"Bob x": ["B-A", "O"], "bob x": ["O", "B-A"], "y": ["O"]}]
    counted = ner.counts(sentences, texts, labels, [0, 0], ["A", "B"])
    assert counted.sum(axis=0).tolist() == [[[1, 1, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]]]
    values, remaining = ner.f1(np.array([[1.0, 0.0], [1.0, 1.0]]), counted.sum(axis=0))
    assert values.round(1).tolist() == [[100.0, 66.7], [0.0, 0.0]]
    assert remaining.tolist() == [[100.0, 100.0], [0.0, 0.0]]
    assert (ner.f1(np.eye(2), np.zeros((2, 2, 3)))[1] == 100).all()


def test_conll_comments_and_both_separators(corpora, tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("# GUM_x\nAnn\tB-person\n#\tO\n\n\nBob I-animal\n", "utf-8")
    assert corpora.read_conll(file, str.upper) == [
        corpora.Sentence(["Ann", "#"], ["B-PERSON", "O"]),
        corpora.Sentence(["Bob"], ["I-ANIMAL"]),
    ]


def test_headlines(kinds):
    lines = ["The US and an ally sign a pact.", "Too short.", "Is this a headline at all?"]
    assert kinds.headlines(lines) == ["The US and an ally sign a pact"]
    assert kinds.title_case("“the iPhone of an ally is in") == "“The iPhone of an Ally Is In"


def test_ambiguous_words(kinds):
    assert kinds.ambiguous(["It is us , the US", "And it is"]) == pytest.approx(100 * 2 / 6)


def test_blocks(kinds):
    assert kinds.blocks([*map(str, range(10))], 2, 3) == ["0", "1", "2", "5", "6", "7"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are not beside the repository")
@pytest.mark.parametrize("script", ["ner_experiment.py", "kinds_of_text.py"])
def test_quick(script):
    if script == "ner_experiment.py":
        pytest.importorskip("sklearn_crfsuite", reason="needs the extra experiments")
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), "--quick"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "LM + context" in done.stdout
