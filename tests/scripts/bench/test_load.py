"""scripts/bench/load.py: requests, stalled connections, streams and memory of a service."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
from tables import load_table

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.skipif(
    (os.cpu_count() or 1) < 2 or not shutil.which("taskset") or not shutil.which("curl"),
    reason="it needs two cores, taskset and curl",
)
def test_load_makes_a_table(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The President of the US met Mr. O'Neill in New York.\n" * 50)
    script, output = ROOT / "scripts" / "bench" / "load.py", tmp_path / "load.json"
    command = [sys.executable, script, text, "--quick", "--json", output]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if line[0:1] == "|"]
    assert [row[0] for row in rows[2:]] == ["1", "8", "64"]
    assert all(len(row) == len(rows[0]) == 7 for row in rows)
    assert all(float(cell.replace(",", "")) > 0 for row in rows[2:] for cell in row)
    assert f"{load_table(json.loads(output.read_text('utf-8')))}\n" == printed
