"""Test aligned texts: goldens by hand, the alignment against the full matrix, and the scores of equal words."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.capitals import capitalization_errors
from support.line_pairs import line_pairs
from support.scoring import score
from support.steps import n_calls

from capfst.evaluate import compare
from capfst.evaluate.bootstrap import compare_hypotheses
from capfst.evaluate.compare import words_in_common
from capfst.evaluate.edit_distance import STRETCH
from capfst.evaluate.score import MEASURES, Scores, score_files
from capfst.exceptions import CorpusError


def by_matrix(reference, hypothesis):
    """Return (fewest edits of words, substitutions among them), computed with the textbook's full matrix."""
    cost = [[(i + j, 0) for j in range(len(hypothesis) + 1)] for i in range(len(reference) + 1)]
    for i, ref in enumerate(reference):
        for j, hyp in enumerate(hypothesis):
            wrong = ref.lower() != hyp.lower()
            cost[i + 1][j + 1] = min(
                (cost[i][j][0] + wrong, cost[i][j][1] + wrong),
                (cost[i][j + 1][0] + 1, cost[i][j + 1][1]),
                (cost[i + 1][j][0] + 1, cost[i + 1][j][1]),
            )
    return cost[-1][-1]


def word_errors(scores):
    words = scores.to_dict()["words"]
    return words["reference"], words["deletions"], words["insertions"], words["substitutions"]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "errors", "common", "accuracy", "capital_errors", "wer"),
    [
        ("Hi Bob", "high top", (2, 0, 0, 2), 0, None, 100, 100),  # Beaufays & Strope (2013), §5.1
        ("Hi Bob", "High top", (2, 0, 0, 2), 0, None, 50, 100),
        ("", "", (0, 0, 0, 0), 0, None, None, None),
        ("", "a B", (0, 0, 2, 0), 0, None, None, None),
        ("A b", "", (2, 2, 0, 0), 0, None, 100, 100),
        ("We met in New York", "we met in York", (5, 1, 0, 0), 4, 75, 200 / 3, 20),
        ("We met Ms. O'Neill", "we met Ms. O'Neill", (4, 0, 0, 0), 4, 75, 25, 0),
        ("the U.N. said", "the you and said", (3, 0, 1, 1), 2, 100, 100, 200 / 3),
        ("a B c", "B c A", (3, 1, 1, 0), 2, 100, 100, 200 / 3),  # not three substitutions
        ("a b c d", "x c y", (4, 1, 0, 2), 1, 100, None, 75),
        ("x a b", "a B x", (3, 1, 1, 0), 2, 50, None, 200 / 3),
        ("İzmir and ΣΑΣ", "i̇zmir und σας", (3, 0, 0, 1), 2, 0, 100, 100 / 3),
    ],
)
def test_golden(reference, hypothesis, errors, common, accuracy, capital_errors, wer):
    scores = score([reference], [hypothesis], align=True)
    assert word_errors(scores) == errors
    assert scores.groups["all"][0] == common
    rates = {"accuracy": accuracy, "capitalization_error_rate": capital_errors, "wer": wer}
    assert {name: scores.measures[name] for name in rates} == {
        name: rate if rate is None else pytest.approx(rate) for name, rate in rates.items()
    }
    assert scores.wer == scores.measures["wer"]


def test_pairs():
    assert words_in_common(["the", "U.N.", "said", "no"], ["The", "you", "and", "SAID"]).tolist() == [
        [0, 0],
        [2, 3],
    ]
    assert words_in_common([], ["a"]).tolist() == []


words = st.lists(st.sampled_from("aAbBcde"), max_size=30)


@given(words, words)
def test_alignment_is_the_best_of_the_full_matrix(reference, hypothesis):
    scores = score([" ".join(reference)], [" ".join(hypothesis)], align=True)
    n, deletions, insertions, substitutions = word_errors(scores)
    assert (deletions + insertions + substitutions, substitutions) == by_matrix(reference, hypothesis)
    assert deletions - insertions == len(reference) - len(hypothesis)
    pairs = words_in_common(reference, hypothesis)
    assert len(pairs) == scores.groups["all"][0] == n - deletions - substitutions
    assert (np.diff(pairs, axis=0) > 0).all()
    for i, j in pairs:
        assert reference[i].lower() == hypothesis[j].lower()


@given(words, words)
def test_capitalization_errors_are_counted_in_the_whole_line(reference, hypothesis):
    lines = " ".join(reference), " ".join(hypothesis)
    counts = score(*([line] for line in lines), align=True).to_dict()["uppercase_characters"]
    assert tuple(counts.values()) == capitalization_errors(*lines)


@given(st.lists(line_pairs(), max_size=4), st.booleans(), st.booleans())
def test_equal_words_score_as_they_do_unaligned(pairs, skip_first, vocabulary):
    lines = [ref for ref, _ in pairs], [hyp for _, hyp in pairs]
    predicate = (lambda token: len(token) < 3) if vocabulary else None
    aligned = score(*lines, skip_first=skip_first, in_vocabulary=predicate, align=True)
    plain = score(*lines, skip_first=skip_first, in_vocabulary=predicate)
    assert word_errors(aligned)[1:] == (0, 0, 0)
    same = (*MEASURES, "cer", "lines", "tokens", "capitalized_tokens", "uppercase_characters")
    assert {name: aligned.to_dict()[name] for name in same} == {name: plain.to_dict()[name] for name in same}


def test_long_lines_with_more_capitals_than_are_aligned_at_once():
    reference = "NASA " * STRETCH
    hypothesis = "Nasa NASA " * (STRETCH // 2)
    aligned, plain = score([reference], [hypothesis], align=True), score([reference], [hypothesis])
    assert aligned.to_dict()["uppercase_characters"] == plain.to_dict()["uppercase_characters"]


@pytest.mark.slow
def test_a_line_of_ten_thousand_words():
    drawn = random.Random(3)
    reference = [drawn.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(10_000)]
    hypothesis = [word.upper() for word in reference if drawn.random() < 0.9]
    scores = score([" ".join(reference)], [" ".join(hypothesis)], align=True)
    assert word_errors(scores) == (10_000, 10_000 - len(hypothesis), 0, 0)
    shuffled = drawn.sample(hypothesis, len(hypothesis))
    assert sum(word_errors(score([" ".join(reference)], [" ".join(shuffled)], align=True))[1:]) > 5_000


def test_skip_first_leaves_the_first_word_of_either_line_out():
    scores = score(['" Then New York'], ["THAN new York"], skip_first=True, align=True)
    assert word_errors(scores) == (3, 1, 0, 0)
    assert scores.to_dict()["uppercase_characters"]["reference"] == 2
    assert scores.accuracy == 50


def test_parts_add_up_to_the_whole():
    lines = ["We met", "in New York", ""], ["we meet", "in york", "New"]
    parts = [score([ref], [hyp], align=True) for ref, hyp in zip(*lines, strict=True)]
    assert sum(parts, Scores(align=True)) == score(*lines, align=True)
    with pytest.raises(ValueError, match="align:words"):
        Scores() + parts[0]


def test_renderings():
    scores = score(["The UN met in New York", "Yes"], ["the un met Bob in York", "yes"], align=True)
    assert (
        scores.table().rpartition("\n\n")[0]
        == """\
words in common  tokens  correct  accuracy
all                   6        3     50.00
lower                 2        2    100.00
Capitalized           3        1     33.33
UPPER                 1        0      0.00
mixed                 0        0         –
none                  0        0         –

tokens with a capital  proposed  reference  correct  precision  recall     F1
                              1          4        1     100.00   25.00  40.00

upper-case characters  reference  deletions  insertions  substitutions  capitalization error rate
                               6          4           0              1                      83.33
words                  reference  deletions  insertions  substitutions                        WER
                               7          1           1              0                      28.57"""
    )
    record = json.loads(json.dumps(scores.to_dict()))
    assert record["wer"] == pytest.approx(200 / 7)
    assert record["signature"].endswith("|vocabulary:no|align:words")
    assert "wer" not in score([], []).to_dict()
    assert score([], []).wer is None


def test_files_and_bootstrap(tmp_path):
    (tmp_path / "ref").write_text("In New York\n" * 50)
    (tmp_path / "hyp").write_text("in new York\n" * 25 + "in York\n" * 25)
    aligned = score_files(references=tmp_path / "ref", hypotheses=tmp_path / "hyp", align=True)
    assert aligned.wer == pytest.approx(100 / 6)
    comparison = compare_hypotheses(
        references=tmp_path / "ref", hypotheses=[tmp_path / "hyp", tmp_path / "ref"], align=True, resamples=50
    )
    assert comparison.scores[0] == aligned
    assert comparison.low.shape == (2, 6)
    assert comparison.low[0, 5] < aligned.wer < comparison.high[0, 5]
    assert "WER" in comparison.table()
    assert comparison.to_dict()["hypotheses"][1]["p"]["wer"] == comparison.p[1, 5]


def test_errors(monkeypatch):
    with pytest.raises(CorpusError, match=r"^hypotheses: .*\(1\).* references"):
        score(["a", "b"], ["x"], align=True)
    with pytest.raises(TypeError, match=r"^references, line 2: .* NoneType"):
        score(["a", None], ["x", "y"], align=True)
    monkeypatch.setattr(compare, "MOST_WORDS", 3)
    with pytest.raises(CorpusError, match=r"^hypotheses, line 2: 4 words, .* 3 "):
        score(["a", "a b"], ["x", "x y z w"], align=True)
    with pytest.raises(CorpusError, match="`score` with `align=True`"):
        score(["a"], ["b"])


def test_aligning_takes_no_step_of_python_per_line():
    def calls(n):
        ref, hyp = (compare.tokenized((line,) * n) for line in ("we met in new york", "we met york"))
        compare._in_common(ref, hyp, 1, compare.NAMES)
        return n_calls(lambda: compare._in_common(ref, hyp, 1, compare.NAMES))

    assert calls(10) == calls(1000)
