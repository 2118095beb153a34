"""Test the paired bootstrap: its draws against plain Python, and properties of its intervals and p-values."""

import json

import numpy as np
import pytest

from capfst.evaluate import bootstrap
from capfst.evaluate.bootstrap import resample
from capfst.evaluate.compare import COLUMNS
from capfst.evaluate.score import MEASURES, measures, score_files
from capfst.exceptions import OptionError

LINES = [f"The Cat number {k} sat in New York with an iPhone of NASA" for k in range(200)]


@pytest.fixture
def files(tmp_path):
    """Return the files of the references, and of bad, much better and hardly better hypotheses."""
    bad = [line if k % 2 else line.lower() for k, line in enumerate(LINES)]
    better = [line if k % 10 else line.lower() for k, line in enumerate(LINES)]
    hardly = [LINES[0], *bad[1:]]
    paths = []
    for name, lines in {"ref": LINES, "bad": bad, "better": better, "hardly": hardly}.items():
        path = tmp_path / name
        path.write_text("\n".join(lines), encoding="utf-8")
        paths.append(path)
    return paths


def compare_hypotheses(references, hypotheses, **options):
    return bootstrap.compare_hypotheses(references=references, hypotheses=hypotheses, **options)


def test_draws_equal_plain_python():
    random = np.random.default_rng(7)
    lines = [random.integers(0, 9, (6, COLUMNS)) for _ in range(2)]
    drawn = resample(np.stack(lines, axis=1, dtype=np.float64), 5, seed=3)
    random = np.random.default_rng(3)
    for sums in drawn:
        chosen = random.integers(0, 6, 6)
        for counts, got in zip(lines, sums, strict=True):
            assert got.tolist() == [sum(int(counts[line, column]) for line in chosen) for column in range(COLUMNS)]


def test_comparison(files):
    reference, *hypotheses = files
    comparison = compare_hypotheses(reference, hypotheses, resamples=300)
    assert comparison.scores == [score_files(references=reference, hypotheses=path) for path in hypotheses]
    values = np.array([list(scores.measures.values()) for scores in comparison.scores])
    assert ((comparison.low <= values) & (values <= comparison.high)).all()
    changing = [list(MEASURES).index(name) for name in ("accuracy", "recall", "f1", "capitalization_error_rate")]
    assert (comparison.p[0] == 1).all()
    assert (comparison.p[1, changing] < 0.01).all()
    assert (comparison.p[2, changing] > 0.05).all()
    assert comparison.signature == comparison.scores[0].signature + "|bs:300|seed:12345"


def test_accuracy_interval_is_near_the_normal_approximation(files):
    reference, bad, *_ = files
    comparison = compare_hypotheses(reference, [bad], resamples=2000)
    right = np.array([line == line.lower() or k % 2 for k, line in enumerate(LINES)])
    wrong = 6 / 13 * 100  # percentage of the tokens of a line in lower case
    error = 1.96 * wrong * right.std() / len(LINES) ** 0.5
    assert comparison.high[0, 0] - comparison.low[0, 0] == pytest.approx(2 * error, rel=0.1)


def test_seed(files):
    reference, *hypotheses = files
    one, same, other = (compare_hypotheses(reference, hypotheses, resamples=50, seed=seed) for seed in (1, 1, 2))
    assert (one.low == same.low).all()
    assert (one.p == same.p).all()
    assert (one.low != other.low).any()


def test_renderings(files):
    reference, *hypotheses = files
    comparison = compare_hypotheses(reference, hypotheses, resamples=50)
    lines = comparison.table().splitlines()
    assert lines[0].split() == ["measure", "hypothesis", "score", "95", "%", "interval", "difference", "p"]
    assert len(lines) == 1 + 3 * len(MEASURES) + 2
    assert lines[-1] == comparison.signature
    assert str(comparison) == comparison.table()
    assert repr(comparison) == f"<Comparison {', '.join(map(str, hypotheses))}; {comparison.signature}>"
    record = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert [entry["hypothesis"] for entry in record["hypotheses"]] == [str(path) for path in hypotheses]
    assert "p" not in record["hypotheses"][0]
    assert record["hypotheses"][1]["p"]["f1"] == comparison.p[1, 3]
    assert record["hypotheses"][1]["p"]["capitalization_error_rate"] == comparison.p[1, 4]
    assert record["hypotheses"][1]["intervals"]["cer"] == [comparison.low[1, 4], comparison.high[1, 4]]
    assert record["hypotheses"][1]["intervals"]["capitalization_error_rate"] == [
        comparison.low[1, 4], comparison.high[1, 4],
    ]  # fmt: skip


def test_unsupported_arguments_are_refused(files):
    reference, *hypotheses = files
    for wrong in str(hypotheses[0]), hypotheses[0], []:
        with pytest.raises(OptionError, match="`hypotheses` is "):
            compare_hypotheses(reference, wrong)
    with pytest.raises(OptionError, match="`resamples` is 0"):
        compare_hypotheses(reference, hypotheses, resamples=0)


def test_nothing_to_measure(tmp_path):
    for name in ("ref", "hyp"):
        (tmp_path / name).write_bytes(b"")
    comparison = compare_hypotheses(tmp_path / "ref", [tmp_path / "hyp"] * 2, resamples=10)
    assert np.isnan(comparison.low).all()
    json.dumps(comparison.to_dict(), allow_nan=False)
    assert "–" in comparison.table()


def test_measures_of_many_rows_are_those_of_each():
    counts = np.random.default_rng(5).integers(0, 99, (2, 3, COLUMNS))
    assert measures(counts)[1, 2].tolist() == measures(counts[1, 2]).tolist()
