"""A short attack of each kind: scripts/maintain/fuzz.py."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import TIMEOUT

FUZZ = Path(__file__).parents[2] / "scripts" / "maintain" / "fuzz.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (("lines", "7500", "--jobs", "1"), "7,500 lines × sets of options: in none"),
        (("files", "300", "--jobs", "1", "--seed", "5812850"), "300 files and streams: in none"),
        (("models", "100", "--jobs", "2"), "100 damaged models: no crash"),
        (("growth", "20", "--jobs", "1"), "20 repeated fragments: the time grows"),
        (("signals", "18"), "18 signals: nothing half-written"),
        (("soak", "3"), "3 s: "),
        (("service", "5", "--threads", "2"), "after SIGTERM"),
    ],
    ids=["lines", "files", "models", "growth", "signals", "soak", "service"],
)
def test_a_short_attack(arguments: tuple[str, ...], result: str) -> None:
    done = subprocess.run([sys.executable, FUZZ, *arguments], capture_output=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert result in done.stdout.decode()
