"""Test scores: goldens by hand, the kernel against plain Python, sums, files and errors."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.capitals import capitalization_errors
from support.line_pairs import line_pairs
from support.packing import gzipped
from support.scoring import score

from capfst.evaluate import compare
from capfst.evaluate.edit_distance import STRETCH
from capfst.evaluate.score import Scores, score_files
from capfst.exceptions import CapfstError, CorpusError
from capfst.io.codecs import zstd
from capfst.text.unicode import lower


def plain(reference, hypothesis, skip_first=False, in_vocabulary=None):
    """Return the groups and character counts of one line, computed only with methods of str."""
    groups = {name: [0, 0] for name in ("all", *compare.SHAPE_NAMES, "in vocabulary", "out of vocabulary")}
    proposed = gold = hits = 0
    kept = []
    for ref, hyp in zip(reference.split(), hypothesis.split(), strict=True):
        if skip_first and any(c.isalpha() or c.lower() != c.upper() for c in ref):
            skip_first = False
            continue
        kept.append((ref, hyp))
        cased = [c for c in ref if c.isupper() or c.islower() or c.istitle()]
        upper = [c.lower() != c for c in cased]
        if not cased:
            kind = "none"
        elif not any(upper):
            kind = "lower"
        elif upper[0] and not any(upper[1:]):
            kind = "Capitalized"
        else:
            kind = "UPPER" if all(upper) else "mixed"
        vocabulary = "out of vocabulary" if in_vocabulary and not in_vocabulary(ref) else "in vocabulary"
        for group in ("all", kind, vocabulary):
            groups[group][0] += 1
            groups[group][1] += ref == hyp
        proposed += any(c.lower() != c for c in hyp)
        gold += any(upper)
        hits += any(upper) and ref == hyp
    if not in_vocabulary:
        del groups["in vocabulary"], groups["out of vocabulary"]
    errors = capitalization_errors(*map(" ".join, zip(*kept, strict=True))) if kept else (0, 0, 0, 0)
    return {name: tuple(pair) for name, pair in groups.items()}, (proposed, gold, hits), tuple(errors)


def counts_of(scores):
    record = scores.to_dict()
    return (
        scores.groups,
        tuple(record["capitalized_tokens"].values()),
        tuple(record["uppercase_characters"].values()),
    )


@pytest.mark.parametrize(
    ("reference", "hypothesis", "accuracy", "precision", "recall", "f1", "capital_errors"),
    [
        ("the cat", "the cat", 100, None, None, None, None),
        ("", "", None, None, None, None, None),
        ("New York is big", "New york is Big", 50, 50, 50, 50, 50),  # NB for NY
        ("I am in NASA now", "I am in Nasa now", 80, 50, 50, 50, 60),
        ("I am", "i am", 50, None, 0, 0, 100),
        ("i am", "I am", 50, 0, None, 0, None),
        ("My iPhone and my McDonald X-ray", "My iphone and my Mcdonald X-Ray", 50, 100 / 3, 25, 200 / 7, 60),
        ("U.S. 42 % .", "u.s. 42 % .", 75, None, 0, 0, 100),
        ("İzmir ISPARTA", "i̇zmir Isparta", 0, 0, 0, 0, 87.5),
        ("İzmir ISPARTA Iğdır", "izmir ısparta Iğdır", 100 / 3, 100, 100 / 3, 50, 800 / 9),
        ("ΟΔΟΣ Σας", "οδος σας", 0, None, 0, 0, 100),
        ("ὈΔΥΣΣΕΎΣ", "ὈΔΥΣΣΕΎΣ", 100, 100, 100, 100, 0),
    ],
)
def test_golden(reference, hypothesis, accuracy, precision, recall, f1, capital_errors):
    scores = score([reference], [hypothesis])
    expected = {"accuracy": accuracy, "precision": precision, "recall": recall, "f1": f1}
    expected["capitalization_error_rate"] = capital_errors
    assert scores.measures == {
        name: value if value is None else pytest.approx(value) for name, value in expected.items()
    }
    assert {name: getattr(scores, name) for name in expected} == scores.measures


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        *((token, "lower") for token in ("a", "o'neill", "3rd", "ß", "straße", "ª")),
        *((token, "Capitalized") for token in ("I", "Paris", "X-ray", "'Tis", "(Yes", "10M", "ǅ", "İ")),
        *((token, "UPPER") for token in ("NASA", "U.S.", "AT&T", "R2D2", "ΣΑΣ", "ⒶⒷ")),
        *((token, "mixed") for token in ("iPhone", "McDonald", "O'Neill", "NASA's", "New-York", "eX")),
        *((token, "none") for token in ("42", "…", "中文", "א", "😀")),
    ],
)
def test_shape(token, kind):
    assert score([token], [token]).groups[kind] == (1, 1)


@pytest.mark.parametrize(
    ("line", "skipped"),
    [
        ("The Cat", "The"),
        ("“ The Cat", "The"),
        ("42 Cats", "Cats"),
        ("( 1 ) A Cat", "A"),
        ("中 Cat", "中"),
        ("42 .", None),
        ("", None),
    ],
)
def test_skip_first(line, skipped):
    scores = score([line], [lower(line)], skip_first=True)
    left = line.split()
    if skipped:
        left.remove(skipped)
    assert scores.groups["all"][0] == len(left)
    assert scores.to_dict()["uppercase_characters"]["reference"] == sum(c.isupper() for token in left for c in token)
    assert "skip-first:yes" in scores.signature


@given(line_pairs(), st.booleans(), st.booleans())
@example(("İ i̇İ", "i̇ İi̇"), False, False)
def test_kernel_equals_plain_python(pair, skip_first, vocabulary):
    predicate = (lambda token: len(token) < 3) if vocabulary else None
    assert counts_of(score(*([line] for line in pair), skip_first=skip_first, in_vocabulary=predicate)) == plain(
        *pair, skip_first, predicate
    )


@given(st.lists(line_pairs(), max_size=6), st.integers(0, 6), st.booleans())
def test_parts_add_up_to_the_whole(pairs, cut, skip_first):
    def scores(part):
        return score(
            [ref for ref, _ in part], [hyp for _, hyp in part], skip_first=skip_first, in_vocabulary=str.isalpha
        )

    assert scores(pairs[:cut]) + scores(pairs[cut:]) == scores(pairs)
    assert scores(pairs).lines == len(pairs)


@given(st.lists(line_pairs(), min_size=1, max_size=4))
def test_swapping_swaps_precision_and_recall(pairs):
    references, hypotheses = zip(*pairs, strict=True)
    there, back = score(references, hypotheses), score(hypotheses, references)
    assert (there.accuracy, there.precision, there.recall, there.f1) == (
        back.accuracy,
        back.recall,
        back.precision,
        back.f1,
    )


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=5))
def test_any_text_is_perfect_against_itself(lines):
    scores = score(lines, lines)
    assert scores.accuracy in (100, None)
    assert scores.f1 in (100, None)
    assert scores.capitalization_error_rate in (0, None)
    assert score(lines, map(lower, lines)).precision is None  # nothing proposed, and no error


def test_batches_make_no_difference(monkeypatch):
    reference = [f"Line {k} of the New York Times" for k in range(50)]
    hypothesis = [line.title() if k % 3 else line for k, line in enumerate(reference)]
    whole = score(reference, hypothesis, in_vocabulary=str.islower)
    monkeypatch.setattr(compare, "BATCH", 100)
    monkeypatch.setattr(compare, "_REMEMBERED", 3)
    assert score(reference, hypothesis, in_vocabulary=str.islower) == whole


def test_lines_with_more_capitals_than_are_aligned_at_once():
    reference = "NASA " * STRETCH
    hypothesis = "Nasa NASA " * (STRETCH // 2)
    scores = score([reference, "Hi"], [hypothesis, "hi"])
    assert counts_of(scores)[2] == (4 * STRETCH + 1, 3 * STRETCH // 2 + 1, 0, 0)


@pytest.mark.parametrize(("hypothesis", "wrong"), [("AB", 0), ("ab", 2 * STRETCH)])
def test_a_word_with_more_capitals_than_are_aligned_at_once(hypothesis, wrong):
    scores = score([f"One Two {'AB' * STRETCH} It"], [f"One two {hypothesis * STRETCH} it"])
    assert counts_of(scores)[2] == (2 * STRETCH + 3, wrong + 2, 0, 0)


def test_scores_with_different_settings_cannot_be_added():
    with pytest.raises(ValueError, match="skip-first:yes"):
        Scores() + Scores(skip_first=True)


def test_renderings():
    scores = score(
        ["The UN met in New York ."] * 200,
        ["The un met in New york ."] * 200,
        in_vocabulary=lambda t: t != "UN",
    )
    assert (
        scores.table().rpartition("\n\n")[0]
        == """\
                   tokens  correct  accuracy
all                 1,400    1,000     71.43
lower                 400      400    100.00
Capitalized           600      400     66.67
UPPER                 200        0      0.00
mixed                   0        0         –
none                  200      200    100.00
in vocabulary       1,200    1,000     83.33
out of vocabulary     200        0      0.00

tokens with a capital  proposed  reference  correct  precision  recall     F1
                            400        800      400     100.00   50.00  66.67

upper-case characters  reference  deletions  insertions  substitutions  capitalization error rate
                           1,000        600           0              0                      60.00"""
    )
    record = json.loads(json.dumps(scores.to_dict()))
    assert record["tokens"]["UPPER"] == {"tokens": 200, "correct": 0, "accuracy": 0}
    assert record["capitalization_error_rate"] == record["cer"] == 60
    assert record["signature"] == scores.signature == scores.table().splitlines()[-1]
    assert scores.signature.startswith("capfst-score|v:")
    assert scores.signature.endswith("|tok:space|skip-first:no|vocabulary:yes")
    assert "vocabulary" not in Scores().table().rpartition("\n")[0]


REFERENCE = "The Cat\n\nsat on Mr. Smith’s mat\n"
HYPOTHESIS = "The cat\n\nsat on mr. Smith’s mat\n"


@pytest.mark.parametrize(
    ("reference", "hypothesis"),
    [
        (REFERENCE.encode(), HYPOTHESIS.encode()),
        (REFERENCE.encode(), HYPOTHESIS.strip().encode()),  # no newline at the end
        (REFERENCE.replace("\n", "\r\n").encode(), HYPOTHESIS.encode()),
        (b"\xef\xbb\xbf" + REFERENCE.encode(), HYPOTHESIS.encode()),
        (REFERENCE.encode(), HYPOTHESIS.replace(" ", "  ").encode()),
        (gzipped(REFERENCE.encode()), zstd.compress(HYPOTHESIS.encode())),
    ],
)
def test_files(tmp_path, reference, hypothesis):
    (tmp_path / "ref").write_bytes(reference)
    (tmp_path / "hyp").write_bytes(hypothesis)
    expected = score(REFERENCE.splitlines(), (line.encode() for line in HYPOTHESIS.splitlines()))
    assert score_files(references=tmp_path / "ref", hypotheses=str(tmp_path / "hyp")) == expected
    assert (expected.lines, expected.groups["all"]) == (3, (7, 5))


def test_empty_files(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert score_files(references=tmp_path / "empty", hypotheses=tmp_path / "empty") == Scores()


@pytest.mark.parametrize(
    ("reference", "hypothesis", "message"),
    [
        ("a\nThe Brown fox\n", "A\nthe red fox\n", r"hyp, line 2: .*ref .*word 2 .*'Brown' .*'red'"),
        ("a b\n", "a\n", r"hyp, line 1: .*word 2 .*'b' .*''"),
        ("a\n", "a b\n", r"hyp, line 1: .*word 2 .*'' .*'b'"),
        ("to day\n", "today\n", r"hyp, line 1: .*word 1 .*'to' .*'today'"),
        ("İi\n", "iy\n", r"hyp, line 1: .*word 1 "),
        ("a\nKIZ ISI x\n", "A\nkız ısı y\n", r"hyp, line 2: .*word 3 "),
        (f"{'é' * 99}\n", "e\n", r"'é{40}' "),
        ("a\nb\nc\n", "a\nc\n", r"hyp, line 2: .*'b' .*'c'"),
        ("a\nb\n", "A\n", r"hyp: .*\(1\).*ref"),
        ("a\n", "A\n\n", r"ref: .*\(1\).*hyp"),
        ("", "A\n", r"ref: .*\(0\).*hyp"),
        ("a\n", b"\xff\n", r"hyp, line 1: not UTF-8 at byte 0"),
    ],
)
def test_errors(tmp_path, reference, hypothesis, message):
    (tmp_path / "ref").write_text(reference, encoding="utf-8")
    (tmp_path / "hyp").write_bytes(hypothesis if isinstance(hypothesis, bytes) else hypothesis.encode())
    with pytest.raises(CapfstError, match=message):
        score_files(references=tmp_path / "ref", hypotheses=tmp_path / "hyp")


def test_lines_that_are_not_utf8():
    with pytest.raises(CorpusError, match=r"^hypotheses, line 2: not UTF-8 at byte 1 "):
        score(["a", "b"], [b"A", b"b\xe9"])


def test_missing_file(tmp_path):
    with pytest.raises(CapfstError, match="nowhere"):
        score_files(references=tmp_path / "nowhere", hypotheses=tmp_path / "nowhere")


def test_str_and_repr():
    scores = score(["It is an IT meeting.", "Yes"], ["It is an it meeting.", "Yes"])
    assert str(scores) == scores.table()
    rates = "accuracy=83.33, precision=100.00, recall=66.67, f1=80.00, capitalization_error_rate=50.00"
    assert f"{rates}; 2 lines, 6 tokens" in repr(scores)
    assert scores.signature in repr(scores)
    assert "capitalization_error_rate=–" in repr(score([], []))


@pytest.mark.parametrize(
    ("reference", "hypothesis", "said"),
    [
        ("Hi", ["hi"], "^references .* one str"),
        (["Hi"], b"hi", "^hypotheses .* one bytes"),
        (["Hi", None], ["hi", "x"], "^references, line 2: .* not NoneType"),
        (["Hi"], [1], "^hypotheses, line 1: .* not int"),
        (["Hi"], None, "iterate|iterable"),
    ],
)
def test_values_other_than_lines_are_a_type_error(reference, hypothesis, said):
    with pytest.raises(TypeError, match=said):
        score(reference, hypothesis)


def test_turkish_and_other_lines_in_one_text():
    turkish, other = (["KIZ ISI"], ["kız ısı"]), (["I am in İzmir"], ["i am in izmir"])
    for one, two in (turkish, other), (other, turkish):
        both = one[0] + two[0], one[1] + two[1]
        for known in None, {"I", "ISI"}.__contains__:
            expected = score(*one, in_vocabulary=known) + score(*two, in_vocabulary=known)
            assert score(*both, in_vocabulary=known) == expected


def test_an_error_shows_where_long_words_differ() -> None:
    with pytest.raises(CorpusError, match=r"word 2 is 'x{18}abc' in the reference and 'x{18}abd' in the hypothesis"):
        score(references=["A " + "x" * 52 + "abc"], hypotheses=["a " + "x" * 52 + "abd"])
