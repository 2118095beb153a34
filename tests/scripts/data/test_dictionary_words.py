"""scripts/data/dictionary_words.py: the words of a spelling dictionary as evidence."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import TIMEOUT

SCRIPT = Path(__file__).parents[3] / "scripts" / "data" / "dictionary_words.py"


def written(path: Path, language: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, language, "-o", path]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=TIMEOUT)
    if "not installed" in done.stderr:
        assert re.fullmatch(r"capfst: error: .*: \w.*constraints\.txt '\.\[words\]'\n", done.stderr)
        assert not path.exists()
        pytest.skip("the packages of the extra `words` are not installed")
    return done


@pytest.mark.slow
def test_a_list(tmp_path: Path) -> None:
    done = written(tmp_path / "tr.txt", "tr")
    lines = (tmp_path / "tr.txt").read_text("utf-8").splitlines()
    assert lines == sorted(lines)
    assert done.stdout == f"{tmp_path / 'tr.txt'}: {len(lines):,} words\n"
    counts = {word: int(count) for word, count in (line.split("\t") for line in lines)}
    assert len(counts) == len(lines)
    assert {"ve", "tuğla", "İstanbul", "Ankara"} <= set(counts)
    assert not {"Ve", "istanbul", "Istanbul", "ankara"} & set(counts)
    assert counts["ve"] > counts["Ankara"] >= 1


@pytest.mark.parametrize("language", ["xx", "../nl"])
def test_an_unknown_language(tmp_path: Path, language: str) -> None:
    done = written(tmp_path / "list.txt", language)
    assert done.returncode == 1
    assert re.fullmatch(
        rf"capfst: error: .*'{re.escape(language)}'\. Use the code of another language\.\n", done.stderr
    )
    assert not list(tmp_path.iterdir())
