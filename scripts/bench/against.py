"""Compare the processor time of this checkout with that of another revision, in pairs.

    \b
    make bench-against REV=v0.2.0 TEXT=held-out.txt [BENCH_OPTIONS='--runs 9 --marks marks.fst']
    python scripts/bench/against.py REV TEXT

Both are installed, because a checkout starts later: REV in a virtual environment that later runs use again. TEXT is
cased; about 20 MB of it are best. Each task is run by both in turn, on one core, after a run of each that does not
count; the times are those of whole processes, user and system. A task that REV cannot do is left out.

Each side uses its own bundled models, so that what users get is compared; with --lm, both use one model.

Prints for each task the seconds of both (medians), and the median, least and largest ratio of a pair.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # for helpers
from bench import Contender, run
from helpers.markdown import table
from tables import FILE, NEW_FOLDER

from capfst.cli.exit_status import exit_status
from capfst.exceptions import CapfstError
from capfst.io.blocks import read_blocks

ROOT = Path(__file__).resolve().parents[2]
QUICK = 200
"""Lines of the text with --quick."""


def installed(revision: str, folder: Path) -> Path:
    """Install a revision in a folder, unless that was done before; return its command `capfst`."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", "--short=12", f"{revision}^{{commit}}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode:
        raise CapfstError(f"{revision}: git knows no such revision. Use a commit, tag or branch of this repository.")
    place = folder / found.stdout.strip()
    programs = place / "venv" / "bin"
    if (place / "complete").exists():
        return programs / "capfst"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", found.stdout.strip()], cwd=ROOT, capture_output=True, check=True)
    source = place / "source"
    source.mkdir()
    subprocess.run(["tar", "-x"], cwd=source, input=archive.stdout, check=True)
    install(revision, source, place)
    shutil.rmtree(source)
    (place / "complete").touch()
    return programs / "capfst"


def install(name: str, source: Path, place: Path) -> Path:
    """Install capfst from a folder in place/venv; return its command `capfst`."""
    print(f"installing {name} …", file=sys.stderr)
    programs = place / "venv" / "bin"
    if not programs.exists():
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", "constraints.txt", "."]
    subprocess.run([programs / "python", *pip], cwd=source, check=True)
    return programs / "capfst"


def tasks(folder: Path, lm: Path | None, marks: Path | None) -> dict[str, tuple[list[str], Path]]:
    """Return the arguments of each task, and the text that it reads."""
    lowered, cased, line = folder / "lowered.txt", folder / "cased.txt", folder / "line.txt"
    recase = ["recase", "--jobs", "1", "--lm", str(lm or "en")]
    found = {
        "recase, lower case": (recase, lowered),
        "recase, the LM alone": ([*recase, "--no-context"], lowered),
        "recase, cased text": (recase, cased),
        "recase, several languages": (["recase", "--jobs", "1", "--lm", "multi"], lowered),
        "recase, one line": (recase, line),
        "train": (["train", str(cased), "--jobs", "1", "-o", str(folder / "trained.fst")], line),
    }
    if marks:
        restore = ["recase", "--jobs", "1", "--lm", str(marks), "--restore", "punctuation"]
        found["restore punctuation"] = restore, lowered
    return found


def row(name: str, pairs: list[list[float]]) -> list[str]:
    """Return a row of the table, given the seconds of REV and of this checkout in each pair."""
    ratios = [now / before for before, now in pairs]
    medians = (f"{statistics.median(side):.3f}" for side in zip(*pairs, strict=True))
    return [name, *medians, *(f"{ratio:.3f}" for ratio in (statistics.median(ratios), min(ratios), max(ratios)))]


@click.command(help=__doc__)
@click.argument("revision")
@click.argument("text", type=FILE)
@click.option("--runs", default=5, show_default=True, help="Number of pairs per task.")
@click.option("--task", "only", multiple=True, help="A task, by a part of its name; others are left out (repeatable).")
@click.option("--lm", type=FILE, help="Model that both use.  [default: the bundled en of each]")
@click.option("--marks", type=FILE, help="Model with punctuation that both use.")
@click.option("--work", default=ROOT / "build" / "against", type=NEW_FOLDER, help="Folder of the revisions.")
@click.option("--quick", is_flag=True, help="One pair on a few lines, of the checkout as it is, which shows nothing.")
def main(
    revision: str, text: Path, runs: int, only: tuple[str, ...], lm: Path | None, marks: Path | None, work: Path,
    quick: bool,
) -> None:  # fmt: skip
    before, rows = installed(revision, work), []
    now = Path(sys.executable).with_name("capfst") if quick else install("this checkout", ROOT, work / "checkout")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        lines = b"".join(read_blocks([text])).splitlines(keepends=True)[: QUICK if quick else None]
        cased = b"".join(lines)
        (folder / "cased.txt").write_bytes(cased)
        (folder / "lowered.txt").write_bytes(cased.decode().lower().encode())
        (folder / "line.txt").write_bytes(lines[0].decode().lower().encode())
        for name, (arguments, source) in tasks(folder, lm and lm.resolve(), marks and marks.resolve()).items():
            if only and not any(part in name for part in only):
                continue
            sides = [Contender(name, [str(program), *arguments]) for program in (before, now)]
            try:
                run(sides[0], source, None)
            except CapfstError:
                print(f"{name}: {revision} cannot do this", file=sys.stderr)
                continue
            run(sides[1], source, None)
            times = [[run(side, source, None, by_cpu=True)[0] for side in sides] for _ in range(1 if quick else runs)]
            rows.append(row(name, times))
    print(table(["seconds of processor time", revision, "now", "ratio", "least", "largest"], rows))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
