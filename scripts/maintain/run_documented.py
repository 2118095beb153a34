"""Run the commands of Experiments, Figures and Research on small parts of the corpora, to find those that fail.

    \b
    python scripts/maintain/run_documented.py                       # or: make experiments
    python scripts/maintain/run_documented.py --brief               # without those that take long, as CI does
    python scripts/maintain/run_documented.py --only speech.py

The commands are those in code on PAGES: scripts, and on some pages capfst. They run with `--quick`, if they have it, in
a copy of scripts/ and docs/, so that documents, pictures and build/ of the checkout stay as they are. Words such as
TEXT… stand for parts of corpora. A command whose packages or programs are not installed is left out. The exit status is
1 if others fail.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from capfst import models
from capfst.cli.exit_status import exit_status
from capfst.exceptions import CapfstError, quantity
from capfst.io.blocks import read_blocks
from capfst.io.compression import compressing, compression_of_name
from capfst.text.unicode import lower_bytes

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
OF_CAPFST = tuple(f"docs/research/{page}.md" for page in ("experiments", "figures", "punctuation"))
PAGES = (*OF_CAPFST, "docs/research/leaderboard.md")
"""The pages; of the first ones, commands of capfst are run, too."""
INSTEAD = {r"make bench .*": "python scripts/bench/bench.py CORPUS TEXT"}
"""What make runs, without the installation of packages."""
TEXTS = ("test/en/wikipedia_wikitext2_test.txt.zst", "dev/en/web_ewt_dev.txt.zst")
CORPORA = ("train/en/wikipedia_wikisplit.txt.zst", "train/en/wikipedia_truecase.txt.zst")
LINES = 500, 3000
"""Numbers of lines taken from each text, and from each corpus."""
MODELS = ("cap.fst", "unpruned.fst")
BRIEF_WITHOUT = r"bilingual\.py|punctuation\.py|speech\.py"
"""Commands that `--brief` leaves out, because they take long and tests run them."""
SECONDS = 1200  # that a command may take

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SCRIPT = re.compile(r"python (scripts/[\w/]+\.py)\b")
_WORD = re.compile(r"(?<![\w.-])(TEXT|CORPUS)\b(…?)")
_COMMENT = re.compile(r"\s+#.*")
_MISSING = re.compile(r"error: (not installed: .*?)\. Run:")


def commands(text: str, of_capfst: bool) -> list[str]:
    """Return the commands in a document, as they are written, in their order."""
    blocks = [line for kind, block in _FENCED.findall(text) if kind == "sh" for line in block.splitlines()]
    text = _FENCED.sub("", text)
    indented, spans = re.findall(r"^    (.*)$", text, re.MULTILINE), re.findall(r"`([^`\n]+)`", text)
    found = [line for line in blocks if of_capfst and line.startswith("capfst ")]
    for line in (*blocks, *indented, *spans):
        command = next((instead for pattern, instead in INSTEAD.items() if re.match(pattern, line)), line)
        if _SCRIPT.match(command):
            found.append(command)
    return [_COMMENT.sub("", line) for line in found]


def by_section(root: Path) -> Iterator[list[str]]:
    """Yield the commands of each section of the pages, each once."""
    done: set[str] = set()
    for page in PAGES:
        for section in re.split(r"^## ", (root / page).read_text("utf-8"), flags=re.MULTILINE):
            new = [each for each in dict.fromkeys(commands(section, page in OF_CAPFST)) if each not in done]
            done.update(new)
            yield new


def prepare(folder: Path, data: Path, section: list[str]) -> None:
    """Write the files that commands name into a folder: scripts and documents, parts of corpora, models and lists."""
    for name in ("scripts", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for files, n in zip((TEXTS, CORPORA), LINES, strict=True):
        for file in files:
            part = b"".join(first_lines(data / file, n))
            with (
                (folder / Path(file).name).open("wb") as out,
                compressing(compression_of_name(Path(file)), out) as write,
            ):
                write(part)
    cased = b"".join(first_lines(data / TEXTS[0], LINES[0]))
    for name, text in (("cased", cased), ("recased", cased), ("lowercased", lower_bytes(cased)), ("train", part)):
        (folder / f"{name}.txt").write_bytes(text)
    for name in [model for model in MODELS if any(model in command for command in section)]:
        shutil.copyfile(models.find(models.DEFAULT), folder / name)
    (folder / "build").mkdir()


def first_lines(file: Path, n: int) -> list[bytes]:
    return next(iter(read_blocks([file]))).splitlines(keepends=True)[:n]


def runnable(command: str, data: Path) -> str:
    """Return a command as it is run: with files for its words, the folder of corpora, and `--quick`."""

    def files(found: re.Match[str]) -> str:
        names = [Path(file).name for file in (TEXTS if found[1] == "TEXT" else CORPORA)]
        return " ".join(names if found[2] else names[:1])

    if script := _SCRIPT.match(command):
        text = (ROOT / script[1]).read_text("utf-8")
        added = " --quick" if re.search('"--quick"|quick_option|texts_options', text) else ""
        added += f" --data {shlex.quote(str(data))}" if "data_option" in text else ""
        command += added
    return _WORD.sub(files, command)


class Result(NamedTuple):
    command: str
    seconds: float
    left_out: str  # why, or ""
    error: str  # what it printed if it failed, or ""

    def __str__(self) -> str:
        outcome = self.left_out or ("FAILED" if self.error else "done")
        return f"{self.seconds:5.0f} s  {self.command}: {outcome}{self.error and chr(10)}{self.error}"


def run(command: str, folder: Path, data: Path) -> Result:
    """Run a command in a prepared folder."""
    begin = time.monotonic()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    try:
        done = subprocess.run(
            ["sh", "-c", runnable(command, data)],
            cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Result(command, SECONDS, "", f"It took more than {SECONDS} s.")
    missing = _MISSING.search(done.stderr)
    error = f"{done.stdout}{done.stderr}"[-4000:] or f"exit status {done.returncode}"
    is_failed = done.returncode != 0 and not missing
    return Result(command, time.monotonic() - begin, missing[1] if missing else "", error if is_failed else "")


def results(section: list[str], data: Path, leave_out: str) -> Iterator[Result]:
    """Run the commands of a section in a folder of its own, in their order."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        prepare(folder, data, section)
        for command in section:
            is_left_out = leave_out and re.search(leave_out, command)
            yield Result(command, 0, "left out: a test runs it", "") if is_left_out else run(command, folder, data)


@click.command(help=__doc__)
@click.option(
    "--data",
    default=DATA,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the corpora.  [default: ../shared/data, next to the repository]",
)
@click.option("--brief", is_flag=True, help="Leave out the commands that take long.")
@click.option("--only", default="", help="Run only commands that match this pattern.")
def main(data: Path, brief: bool, only: str) -> None:
    if not data.is_dir():
        raise CapfstError(f"{data}: no such folder. Name that of the corpora: make experiments DATA=folder.")
    sections = [[each for each in section if re.search(only, each)] for section in by_section(ROOT)]

    def run_section(section: list[str]) -> int:
        n_failed = 0
        for result in results(section, data, BRIEF_WITHOUT if brief else ""):
            click.echo(str(result))
            n_failed += bool(result.error)
        return n_failed

    with ThreadPoolExecutor(2) as pool:
        failed = sum(pool.map(run_section, filter(None, sections)))
    if failed:
        raise CapfstError(f"{quantity(failed, 'documented command')} failed.")


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
