"""scripts/data/dictionary_words.py: the words of a spelling dictionary as evidence."""

import re
from pathlib import Path

import pytest
from support.word_packages import run_script

SCRIPT = Path(__file__).parents[3] / "scripts" / "data" / "dictionary_words.py"


@pytest.mark.slow
def test_a_list(tmp_path: Path) -> None:
    done = run_script(SCRIPT, "tr", output=tmp_path / "tr.txt")
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
    done = run_script(SCRIPT, language, output=tmp_path / "list.txt")
    assert done.returncode == 1
    assert re.fullmatch(
        rf"capfst: error: .*'{re.escape(language)}'\. Use the code of another language\.\n", done.stderr
    )
    assert not list(tmp_path.iterdir())
