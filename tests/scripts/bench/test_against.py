"""scripts/bench/against.py: pairs of times of a revision and of this checkout."""

import subprocess
import sys
from pathlib import Path

import pytest
from against import row

ROOT = Path(__file__).parents[3]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "bench" / "against.py", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_ratios_are_of_pairs() -> None:
    assert row("train", [[1.0, 2.0], [2.0, 2.0], [4.0, 2.0]]) == ["train", "2.000", "2.000", "1.000", "0.500", "2.000"]


def test_an_unknown_revision(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The US.\n")
    failed = run("no-such-revision", tmp_path / "text.txt", "--work", tmp_path)
    assert failed.returncode == 1
    assert failed.stderr.startswith("capfst: error: no-such-revision: git knows no such revision")


@pytest.mark.slow
def test_an_installed_revision_is_compared(tmp_path: Path) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if head.returncode:
        pytest.skip("not a repository of git")
    installed = tmp_path / head.stdout.strip()
    (installed / "venv" / "bin").mkdir(parents=True)
    program = installed / "venv" / "bin" / "capfst"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m capfst "$@"\n')
    program.chmod(0o755)
    (installed / "complete").touch()
    text = tmp_path / "text.txt"
    text.write_text("The President of the US met Mr. O'Neill in New York.\n" * 50)
    done = run("HEAD", text, "--work", tmp_path, "--quick", "--task", "lower case", "--task", "one line")
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    assert rows[0] == ["seconds of processor time", "HEAD", "now", "ratio", "least", "largest"]
    assert [each[0] for each in rows[2:]] == ["recase, lower case", "recase, one line"]
    for each in rows[2:]:
        before, now, ratio = map(float, each[1:4])
        assert min(before, now) > 0
        assert ratio == pytest.approx(now / before, rel=0.02)
