"""scripts/experiments/named_entities.py and kinds_of_text.py, with their readers: labels, alignment, scores; and both
commands on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import kinds_of_text
import named_entities
import numpy as np
import pytest
from helpers import entity_corpora
from helpers.corpora import DATA
from helpers.earnings21 import REFERENCE, Call, Word, sentence_ends

SCRIPTS = Path(__file__).parents[3] / "scripts" / "experiments"


def words(text, speaker="1"):
    """Split a text into words, with the marks `,.?` after them."""
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
def test_entities(labels, expected):
    assert named_entities.entities(labels.split()) == expected


def test_sentences_end_at_marks_and_speakers_but_not_after_titles():
    text = words("Thank you, Mr. Smith. It is") + words("Now Q? A", "2")
    assert sentence_ends(text) == [4, 6, 8, 9]


def test_the_longer_of_two_spans_is_used():
    tags = [(), ("1",), ("1", "2"), ("3",)]
    text = [word._replace(tags=of_word) for word, of_word in zip(words("in the year soon"), tags, strict=True)]
    call = Call({REFERENCE: text}, {"1": "DATE", "2": "PERSON", "3": "CONTRACTION"})
    assert entity_corpora.entity_labels(call) == ["O", "B-TIMEX", "I-TIMEX", "O"]


def test_recognized_words_get_the_labels_of_the_aligned_words():
    reference = words("I am Bob van Dyke, of New York. Ask Ann now.")
    labels = ["O", "O", "B-PERSON", "I-PERSON", "I-PERSON", "O", "B-PLACE", "I-PLACE", "O", "B-PERSON", "O"]
    heard = words("i am bob uh van dike of york ask now")
    first, second = entity_corpora.projected(reference, labels, [8, 11], heard)
    assert first[0].words == ["i", "am", "bob", "uh", "van", "dike", "of", "york"]
    assert first[0].labels == ["O", "O", "B-PERSON", "I-PERSON", "I-PERSON", "I-PERSON", "O", "B-PLACE"]
    assert first[0].missed == ()
    assert first[1] == ["I", "am", "Bob", "uh", "van", "Dike", "of", "York"]
    assert (second[0].words, second[0].missed) == (["ask", "now"], ("PERSON",))


def test_punctuation_inside_an_entity_belongs_to_it():
    sentence = entity_corpora.marked(words("Washington, Dc, is"), ["B-PLACE", "I-PLACE", "O"])
    assert sentence.words == ["Washington", ",", "Dc", ",", "is"]
    assert sentence.labels == ["B-PLACE", "I-PLACE", "I-PLACE", "O", "O"]
    assert entity_corpora.without_marks(sentence).words == ["Washington", "Dc", "is"]


def test_shapes():
    shapes = list(map(named_entities.shape, ("O'Neill", "2.50", "IBM", "iPhone", "Ärzte")))
    assert shapes == ["X'Xx", "d.d", "X", "xXx", "Xx"]


def test_f1_counts_missed_entities_and_returns_percentages_of_true_case():
    sentences = [named_entities.Sentence(["Bob", "x"], ["B-A", "O"]), named_entities.Sentence(["y"], ["O"], ("B",))]
    texts = {"true case": ["Bob x", "y"], "lowercase": ["bob x", "y"]}
    labels = [{"Bob x": ["B-A", "O"], "bob x": ["O", "B-A"], "y": ["O"]}]
    counted = named_entities.counts(sentences, texts, labels, [0, 0], ["A", "B"])
    assert counted.sum(axis=0).tolist() == [[[1, 1, 1], [0, 1, 0]], [[1, 1, 0], [0, 1, 0]]]
    values, remaining = named_entities.f1(np.array([[1.0, 0.0], [1.0, 1.0]]), counted.sum(axis=0))
    assert values.round(1).tolist() == [[100.0, 66.7], [0.0, 0.0]]
    assert remaining.tolist() == [[100.0, 100.0], [0.0, 0.0]]
    assert (named_entities.f1(np.eye(2), np.zeros((2, 2, 3)))[1] == 100).all()


def test_conll_comments_and_both_separators(tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("# GUM_x\nAnn\tB-person\n#\tO\n\n\nBob I-animal\n", "utf-8")
    assert entity_corpora.read_conll(file, str.upper) == [
        entity_corpora.Sentence(["Ann", "#"], ["B-PERSON", "O"]),
        entity_corpora.Sentence(["Bob"], ["I-ANIMAL"]),
    ]


def test_headlines():
    lines = ["The US and an ally sign a pact.", "Too short.", "Is this a headline at all?"]
    assert kinds_of_text.headlines(lines) == ["The US and an ally sign a pact"]
    assert kinds_of_text.title_case("“the iPhone of an ally is in") == "“The iPhone of an Ally Is In"


def test_ambiguous_words():
    assert kinds_of_text.ambiguous(["It is us , the US", "And it is"]) == pytest.approx(100 * 2 / 6)


def test_blocks():
    assert kinds_of_text.blocks([*map(str, range(10))], 2, 3) == ["0", "1", "2", "5", "6", "7"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
@pytest.mark.parametrize("script", ["named_entities.py", "kinds_of_text.py"])
def test_quick(script):
    if script == "named_entities.py":
        pytest.importorskip("sklearn_crfsuite", reason="needs the extra experiments")
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), "--quick"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "LM + context" in done.stdout
