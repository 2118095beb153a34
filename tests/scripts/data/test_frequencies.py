"""scripts/data/frequencies.py: published lists of words as evidence."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import TIMEOUT

SCRIPT = Path(__file__).parents[3] / "scripts" / "data" / "frequencies.py"
ANDROID = """\
dictionary=main:de,locale=de,description=Deutsch,date=1393228134,version=45
 word=Jahr,f=164,flags=,originalFreq=164
  bigram=hundert,f=12
 word=kleine,f=20,flags=,originalFreq=20
"""


def rewritten(folder: Path, kind: str, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "list.txt").write_text(text)
    command = [sys.executable, SCRIPT, kind, folder / "list.txt", "-o", folder / "out.txt"]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("classes", ANDROID, "Jahr\t512\nkleine\t1\n"),
        ("classes", "Jahr\t164\nl'État\t36\n", "Jahr\t512\nl'État\t2\n"),
        ("logs", "the\t353\nwinda\t1782\n", "the\t1465246\nwinda\t1\n"),
        ("counts", "de\t100\nVant\t5\nRaro\t1\n", "de\t20\nVant\t1\nRaro\t1\n"),
        ("names", "New  York\n\n% Arabica\n", "New York\t1\n% Arabica\t1\n"),
    ],
)
def test_kinds(tmp_path: Path, kind: str, text: str, expected: str) -> None:
    assert rewritten(tmp_path, kind, text).returncode == 0
    assert (tmp_path / "out.txt").read_text() == expected


def test_a_line_without_a_number(tmp_path: Path) -> None:
    done = rewritten(tmp_path, "counts", "de\t100\nVant\n")
    assert done.returncode != 0
    assert "list.txt, line 2: no number" in done.stderr
    assert not (tmp_path / "out.txt").exists()
