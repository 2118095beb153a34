"""scripts/experiments/multilingual.py: the command on small parts of the data."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.corpora import DATA

SCRIPT = Path(__file__).parents[3] / "scripts" / "experiments" / "multilingual.py"


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the corpora are missing")
def test_quick(tmp_path):
    for language, words in ("de", "Wien\nwienerisch\n"), ("en", "Vienna\nViennese\n"):
        (tmp_path / f"{language}.txt").write_text(words)
    done = subprocess.run([sys.executable, SCRIPT, tmp_path, "--quick"], capture_output=True, text=True, check=True)
    measures, languages, sizes = (
        [line[2:-2].split(" | ") for line in of_table.splitlines()[2:]]
        for of_table in done.stdout.strip().split("\n\n")
    )
    assert [row[:2] for row in measures[1::3]] == [["", "F1"]] * 2
    for _, _, unigram, _, own, together, listed, with_dev in measures[1::3]:
        assert float(unigram) < float(own)
        assert float(together) < float(with_dev)
        assert float(listed) == pytest.approx(float(together), abs=1)
    for (_, wrong, found, named, *_), (_, _, *f1) in zip(languages, measures[1::3], strict=True):
        assert float(wrong.removesuffix(" %")) < 5
        assert abs(float(found) - float(named)) < 1
        assert found == f1[3]
    assert [row[0] for row in languages] == ["de", "en"]
    assert abs(float(languages[0][4]) - float(languages[0][5])) < 3
    assert float(sizes[0][0]) >= float(sizes[1][0]) > float(sizes[2][0]) > float(sizes[3][0])
    assert [row[2] for row in languages] == sizes[1][1:]
