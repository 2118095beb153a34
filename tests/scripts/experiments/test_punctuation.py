"""scripts/experiments/punctuation.py: words and marks, the models, measures, and the command on parts of the data."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import punctuation
import pytest
from helpers import gap_model, hidden_marks, marked_words
from helpers.corpora import DATA
from helpers.marked_words import Reader, Vocabulary, tokens

import capfst
from capfst.lm.query import token_costs

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "punctuation.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He didn't say: “Mr. Smith left.”", "he did n't say : mr smith left ."),
        ("It's 10,000 -- or 2.5% -- of the U.S. debt", "it 's 10,000 : or 2.5 percent : of the us debt ."),
        ("Why? They’ve said no!\nthe 'well-known' John's", "why ? they've said no ! the well-known john 's ."),
        ("I, um, agree;\n\n(Uh) so", "i , , agree ; so ."),
    ],
)
def test_words_and_marks_of_text(text: str, expected: str) -> None:
    assert " ".join(tokens(text)) == expected


def test_texts_are_read_and_numbered_by_frequency(tmp_path: Path) -> None:
    text, table = tmp_path / "text.txt", tmp_path / "table.tsv"
    text.write_text("It is so, is it?\n" * 5 + "Walking! Jumping\n")
    table.write_text("it\tO\nwalking\tCOMMA\n\t\n7\tPERIOD\nis\tQUESTION\n")
    reader = Reader()
    read, given = reader.text(text, 1_000), reader.table(table)
    assert read.marks.tolist() == [0, 0, 1, 0, 3] * 5 + [2, 2]
    assert given.marks.tolist() == [0, 1, 2, 3]
    assert len(reader.text(text, 4).words) == 4
    vocabulary = Vocabulary(reader.numbers, [read])
    assert [vocabulary.words[k] for k in vocabulary(given).words] == ["it", "<ing>", "<digits>", "is"]
    assert vocabulary.words[:4] == ["", "it", "is", "so"]
    endings = dict(zip(vocabulary.words, vocabulary.endings(), strict=True))
    assert endings["is"] == endings["<s>"] != endings["it"] == endings["<other>"] != endings[""]


def test_the_gap_model_learns_what_decides() -> None:
    generator = np.random.default_rng(1)
    words = generator.integers(1, 5, 4_000).astype(np.int32)
    marks = np.append(np.where(words[:-1] == words[1:], 3, words[:-1] == 2), 0).astype(np.uint8)
    templates, table = gap_model.compiled(["", "w0", "w0 w1"], "w"), gap_model.empty(12)
    p = np.empty((len(words), gap_model.N_MARKS), np.float32)
    hashes = np.empty(len(templates.starts), np.uint64)
    gap_model.run(gap_model.padded([words]), templates, marks, table, 0.3, hashes, p)
    assert np.allclose(p.sum(1), 1, atol=1e-5)
    assert np.allclose(p[0], 0.25)  # a gap is scored before it is learned from
    assert (p[1_000:-1].argmax(1) == marks[1_000:-1]).all()


def test_hidden_marks_have_the_probabilities_of_all_texts(tmp_path: Path) -> None:
    corpus, model = tmp_path / "corpus.txt", tmp_path / "lm.fst"
    corpus.write_text("a b , a b . b a ? a\nb a a , b\na . b ? a b\n")
    capfst.train(corpus, model, clean=False, pretokenized=True, context=False)
    fst = capfst.load(model, context=False).model
    label = {form: k for k, form in enumerate(fst.symbols)}
    symbols = np.array([0, label[","], label["."], label["?"]], np.uint32)
    words = np.array([label["a"], label["b"], label["a"]], np.uint32)
    p = hidden_marks.hidden_marks(fst.states, fst.arcs, fst.start, words, symbols)
    expected = np.zeros((2, 4))
    for one in range(4):
        for other in range(4):
            text = [words[0], *symbols[one : one + 1], words[1], *symbols[other : other + 1], words[2]]
            labels = np.array([k for k in text if k], np.uint32)
            cost = token_costs(fst.states, fst.arcs, fst.start, labels).sum()
            expected[0, one] += np.exp(-cost)
            expected[1, other] += np.exp(-cost)
    assert np.allclose(p[:2], expected / expected.sum(1, keepdims=True), rtol=1e-4)
    assert p[2].tolist() == [0, 0, 1, 0]


def test_neighbors() -> None:
    ends = np.array([False, True, False, False, True, False])
    first, end = punctuation.neighbors(ends)
    assert first.tolist() == [0, 0, 2, 2, 2, 5]
    assert end.tolist() == [1, 4, 4, 4, 5, 5]


def test_measures_and_thresholds() -> None:
    true = np.array([0, 1, 2, 3, 0, 1], np.uint8)
    found = marked_words.measures(true, np.array([0, 1, 2, 0, 1, 0]))
    assert [round(value, 1) for row in found for value in row] == [50, 50, 50, 100, 100, 100, 0, 0, 0, 66.7, 50, 57.1]
    p = np.full((6, 4), 0.1, np.float32)
    p[:, 0] = 0.5
    p[[1, 5], 1] = 0.4
    assert punctuation.decided(p, np.zeros(4)).sum() == 0
    bias = punctuation.best_bias(p, true)
    assert punctuation.decided(p, bias).tolist() == [0, 1, 0, 0, 0, 1]


@pytest.mark.timeout(1500)  # it trains networks
@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick(tmp_path: Path) -> None:
    document = tmp_path / "research.md"
    names = ("punctuation-systems", "punctuation-parts")
    document.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in names))
    command = [sys.executable, str(SCRIPT), "--quick", "--document", str(document)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = {row[0]: row for row in (line.strip("| ").split(" | ") for line in document.read_text().splitlines())}
    assert float(rows["n-gram LM"][-2]) < float(rows["log-linear"][-2])
    assert float(rows["words"][-1]) < float(rows["classes of words"][-1])
