"""scripts/maintain/run_documented.py: the commands of the documents, as they are run, and their outcome."""

import re
from pathlib import Path

import pytest
import run_documented
from click.testing import CliRunner

ROOT = Path(__file__).parents[3]
SCRIPTS = [
    path.relative_to(ROOT).as_posix()
    for folder in ("experiments", "bench")
    for path in sorted((ROOT / "scripts" / folder).glob("*.py"))
    if path.name not in ("peer.py", "against.py")  # which leaderboard.py runs, and which needs another revision
]
COMMANDS = [command for section in run_documented.by_section(ROOT) for command in section]
PAGE = """\
# Page

## One

```sh
pip install '.[experiments]'
python scripts/write.py TEXT… -o a.txt       # a comment
python scripts/read.py a.txt
```

`python scripts/write.py TEXT… -o a.txt` is the first command.

## Two

    python scripts/read.py missing.txt

## Three

`python scripts/needs.py` or `python scripts/needs.py more`
"""
WRITE = """
import sys
assert sys.argv[1:] == ["valid.txt.gz", "dev.txt.gz", "-o", "a.txt", "--quick"]
open("a.txt", "w").write(open("cased.txt").read())
"""
READ = "import sys; assert 'IT works' in open(sys.argv[1]).read()"
NEEDS = "import sys; sys.exit('error: not installed: eflomal. Run: pip install x' if len(sys.argv) > 1 else 0)"


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_script_is_documented_and_has_a_quick_way(script):
    assert any(command.split()[1] == script for command in COMMANDS)
    if script != "scripts/bench/tables.py":  # which takes no time
        command = next(command for command in COMMANDS if command.split()[1] == script)
        assert run_documented.runnable(command, Path("data")).count(" --quick") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_all_words_are_replaced_by_files(command):
    assert not re.search(r"…|\b(?!CORPORA)[A-Z]{4,}\b", run_documented.runnable(command, Path("data")))


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """Make a checkout with a page and three scripts, and a folder of corpora; return that."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(PAGE, "utf-8")
    (tmp_path / "scripts").mkdir()
    for name, text in ("write", WRITE), ("read", READ), ("needs", NEEDS):
        (tmp_path / "scripts" / f"{name}.py").write_text(text, "utf-8")
    data = tmp_path / "data"
    data.mkdir()
    for name in "valid.txt.gz", "dev.txt.gz":
        (data / name).write_text("IT works.\n" * 3, "utf-8")
    monkeypatch.setattr(run_documented, "ROOT", tmp_path)
    monkeypatch.setattr(run_documented, "PAGES", ("docs/page.md",))
    for name in "TEXTS", "CORPORA":
        monkeypatch.setattr(run_documented, name, ("valid.txt.gz", "dev.txt.gz"))
    return data


def outcomes(*arguments):
    done = CliRunner().invoke(run_documented.main, [*map(str, arguments)])
    found = re.findall(r"^ +\d+ s  python scripts/(.*): (done|FAILED|[\w ]+: [\w ]+)$", done.output, re.MULTILINE)
    return dict(found), done


def test_outcomes(pages):
    found, done = outcomes("--data", pages)
    assert found == {
        "write.py TEXT… -o a.txt": "done",
        "read.py a.txt": "done",
        "read.py missing.txt": "FAILED",
        "needs.py": "done",
        "needs.py more": "not installed: eflomal",
    }
    assert "missing.txt" in done.output
    assert "FileNotFoundError" in done.output
    assert "1 documented command failed" in str(done.exception)
    assert not (pages.parent / "a.txt").exists()


def test_a_choice_of_commands(pages, monkeypatch):
    monkeypatch.setattr(run_documented, "BRIEF_WITHOUT", "missing")
    found, done = outcomes("--data", pages, "--brief", "--only", "read.py missing")
    assert found == {"read.py missing.txt": "left out: a test runs it"}
    assert done.exit_code == 0


def test_no_corpora(tmp_path):
    assert "make experiments DATA=folder" in str(outcomes("--data", tmp_path / "none")[1].exception)
