"""Compare models of capfst of several sizes, and KenLM: tokens per second from text to text, seconds until the first
line, peak memory (total, and without mapped files), bytes per n-gram, accuracy and F1.

    \b
    make bench CORPUS='corpus/*.zst' TEXT=held-out.txt KENLM=folder/with/query [BENCH_OPTIONS='--repeat 20 …']

Trains models of several sizes on CORPUS and recases TEXT, lowercased and repeated, with each engine. KenLM's `query`
only scores the cased text, with the same LM. Each figure is the median of several runs of a whole process; the
contenders alternate. Tokens are separated by white space in TEXT. Rates exclude the time of the same command for one
line; `first line` is the time from the command's start to its first line of output. On a machine with other load, use
--cpu-time. Without --kenlm, KenLM is left out. scripts/bench/leaderboard.py compares capfst with other truecasers.

Writes the results as JSON, from which scripts/bench/tables.py makes the table and the chart of
docs/research/figures.md, and prints the table.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import click
from tables import FILE, FOLDER, NEW_FILE, NEW_FOLDER, bench_table, save

sys.path.append(str(Path(__file__).parents[1] / "experiments"))  # for helpers
from helpers.corpora import heads

import capfst
from capfst.cli.exit_status import exit_status
from capfst.evaluate.score import score_files
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.io.blocks import read_blocks
from capfst.io.files import find_files
from capfst.recaser import load

SIZES = {"1 M": 1_000_000, "5 M": 5_000_000, "20 M": 20_000_000}
CALLS = """
import sys, capfst
recaser = capfst.load("en", sentence_case=True)
for line in sys.stdin:
    sys.stdout.write(recaser(line))
"""


QUICK = 1_000
"""Number of lines taken from each file and text with --quick."""


@dataclass
class Contender:
    """A command that reads text on stdin and writes text to stdout."""

    name: str
    command: list[str]
    jobs: int = 1
    lowercased: bool = True  # False: it only scores the cased text, as the yardstick of models of its size
    scale: float = 1.0  # fraction of the text that it reads
    model: Path | None = None  # its n-gram model
    size: str = "20 M"  # of SIZES: the yardstick that it is compared with
    rates: list[float] = field(default_factory=list)  # tokens per second
    starts: list[float] = field(default_factory=list)  # seconds until the first line
    memory: tuple[int, int] = 0, 0  # peak in bytes: total, anonymous
    output: Path = Path()  # its output for the text


def start(contender: Contender, source: BinaryIO, sink: BinaryIO | int) -> subprocess.Popen[bytes]:
    """Start the command, on as many cores as it has jobs."""
    cores = sorted(os.sched_getaffinity(0))[: contender.jobs]
    return subprocess.Popen(
        contender.command,
        stdin=source,
        stdout=sink,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509
    )


def run(contender: Contender, text: Path, output: Path | None, by_cpu: bool = False) -> tuple[float, tuple[int, int]]:
    """Return the seconds of one run (elapsed, or user and system time), and its memory.

    Memory is measured while the process runs, because the system's figure for a terminated process includes this one,
    from which it was forked.
    """
    with text.open("rb") as source, (output or Path(os.devnull)).open("wb") as sink, ThreadPoolExecutor(1) as pool:
        begin = time.monotonic()
        process = start(contender, source, sink)
        ended = threading.Event()
        watching = pool.submit(watch, process.pid, ended)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = usage.ru_utime + usage.ru_stime if by_cpu else time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
    if status:
        raise CapfstError(f"{' '.join(contender.command)}: failed with status {process.returncode}")
    return seconds, watching.result()


def watch(process: int, ended: threading.Event) -> tuple[int, int]:
    """Return the peak memory of a process until it ends, in bytes: total, and anonymous (not mapped from a file)."""
    memory = 0, 0
    while not ended.wait(0.02):
        memory = larger(memory, resident(process))
    return memory


def resident(process: int) -> tuple[int, int]:
    """Return the memory of a running process in bytes: its peak, and the current anonymous part; 0 if unknown."""
    sizes = {}
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in ("VmHWM", "RssAnon"):
                sizes[name] = 1024 * int(value.split()[0])
    return sizes.get("VmHWM", 0), sizes.get("RssAnon", 0)


def larger(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return max(one[0], other[0]), max(one[1], other[1])


def first_line(contender: Contender, text: Path) -> float:
    """Return the seconds from the command's start to its first line of output."""
    with text.open("rb") as source:
        begin = time.monotonic()
        with start(contender, source, subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            seconds = time.monotonic() - begin
            process.stdout.read()
    return seconds


def contenders(folder: Path, kenlm: Path | None) -> list[Contender]:
    """Return all contenders; models and KenLM's binaries are in the folder."""
    python = sys.executable
    recase = [python, "-m", "capfst", "recase", "--sentence-case"]
    everyone = [
        Contender("capfst, the ready model", [*recase, "--jobs", "1", "--lm", "en"]),
        Contender("capfst, the ready model, a call of Python for each line", [python, "-c", CALLS], scale=0.2),
        Contender("capfst, dictionary only (order 1)", [*recase, "--jobs", "1", "--lm", str(folder / "order1.fst")]),
    ]
    for size in SIZES:
        model = folder / f"{size}.fst"
        for jobs in (1, 2) if size == "20 M" else (1,):
            command = [*recase, "--jobs", str(jobs), "--lm", str(model)]
            name = f"capfst, {size} n-grams"
            lm_alone = [*command, "--no-context"]
            everyone.append(Contender(f"{name}, LM alone", lm_alone, jobs, model=model, size=size))
            everyone.append(Contender(f"{name}, and context", command, jobs, model=model, size=size))
        if kenlm:
            binary = folder / f"{size}.bin"
            command = [str(kenlm / "query"), "-v", "summary", str(binary)]
            name = f"KenLM query, {size} n-grams (scores)"
            everyone.append(Contender(name, command, lowercased=False, model=binary, size=size))
    openfst = [*recase, "--engine", "openfst", "--jobs", "1", "--no-context", "--lm", str(folder / "1 M.fst")]
    everyone.append(Contender("capfst, engine openfst, 1 M n-grams, LM alone", openfst, scale=0.01, size="1 M"))
    return everyone


def measure(
    everyone: list[Contender], text: Path, cased: Path, folder: Path, repeat: int, runs: int, by_cpu: bool
) -> None:
    """Measure all contenders, and set their rates, starts, memory and output."""
    lines = text.read_bytes().splitlines(keepends=True)
    for k, contender in enumerate(everyone):
        contender.output = folder / f"output{k}"
        run(contender, text if contender.lowercased else cased, contender.output)
    for _ in range(runs):
        for contender in everyone:
            source = (text if contender.lowercased else cased).read_bytes().splitlines(keepends=True)
            copies = max(1, round(repeat * contender.scale))
            part = source if repeat * contender.scale >= 1 else source[: int(len(lines) * repeat * contender.scale)]
            large, small = folder / "large", folder / "small"
            large.write_bytes(b"".join(part) * copies)
            small.write_bytes(source[0])
            contender.starts.append(first_line(contender, small))
            overhead, _ = run(contender, small, None, by_cpu)
            seconds, memory = run(contender, large, None, by_cpu)
            # The tokenized text that KenLM reads has a few more.
            tokens = sum(len(line.split()) for line in lines[: len(part)]) * copies
            contender.rates.append(tokens / max(seconds - overhead, 1e-9))
            contender.memory = larger(contender.memory, memory)


def as_json(contender: Contender, cased: Path) -> dict[str, Any]:
    """Return the results of a contender: rates in tokens per second, starts in seconds, memory in bytes."""
    scores = score_files(references=cased, hypotheses=contender.output) if contender.lowercased else None
    per_ngram = None
    if contender.model:
        ngrams = sum(CapFst.open(contender.model.with_suffix(".fst")).ngrams)
        per_ngram = contender.model.stat().st_size / ngrams
    return {
        "name": contender.name,
        "cores": contender.jobs,
        "size": contender.size,
        "is_yardstick": not contender.lowercased,
        "rates": contender.rates,
        "starts": contender.starts,
        "memory": contender.memory,
        "bytes_per_ngram": per_ngram,
        "accuracy": scores and scores.accuracy,
        "f1": scores and scores.f1,
    }


def machine() -> str:
    """Describe the machine and the versions of the packages."""
    names = ["capfst", "numpy", "sacremoses", "truecase", "python-crfsuite", "torch"]
    installed = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    processor = next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.machine())
    versions = ", ".join(f"{name} {installed[name]}" for name in names if name in installed)
    return f"{processor}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}."


@click.command(help=__doc__)
@click.argument("corpus")
@click.argument("text", type=FILE)
@click.option("--kenlm", type=FOLDER, help="Folder with KenLM's programs `query` and `build_binary`.")
@click.option("--repeat", default=20, show_default=True, help="Number of copies of the text per run.")
@click.option(
    "--cpu-time",
    is_flag=True,
    help="Compute rates from user and system time, for a machine with other load; one core only.",
)
@click.option("--runs", default=3, show_default=True, help="Number of runs per contender.")
@click.option(
    "--json", "output", default="build/bench.json", show_default=True, type=NEW_FILE, help="File of the results."
)
@click.option(
    "--work", type=NEW_FOLDER, help="Folder of the models; existing ones are used.  [default: a temporary folder]"
)
@click.option("--quick", is_flag=True, help="Run each command once on small parts of the data, which shows nothing.")
def main(
    corpus: str,
    text: Path,
    kenlm: Path | None,
    repeat: int,
    runs: int,
    output: Path,
    work: Path | None,
    cpu_time: bool,
    quick: bool,
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = work or Path(temporary)
        files = find_files([corpus])
        if quick:
            (text,), files = heads([text], QUICK, folder), heads(files, QUICK, folder)
            repeat = runs = 1
        output.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True)
        cased, lowered = folder / "cased.txt", folder / "lowered.txt"
        cased.write_bytes(b"".join(read_blocks([text])))
        lowered.write_text(cased.read_text("utf-8").lower(), "utf-8")
        models = {"order1": {"order": 1, "context": False}, **{size: {"max_ngrams": n} for size, n in SIZES.items()}}
        for name, options in models.items():
            if not (folder / f"{name}.fst").exists():
                print(f"training {name} …", file=sys.stderr)
                capfst.train(files, folder / f"{name}.fst", **options)  # type: ignore[arg-type]
            if kenlm and name in SIZES and not (folder / f"{name}.bin").exists():
                arpa, binary = folder / f"{name}.arpa", folder / f"{name}.bin"
                lm = folder / f"{name}.fst"
                subprocess.run([sys.executable, "-m", "capfst", "export", "--lm", lm, "-o", arpa], check=True)
                subprocess.run([kenlm / "build_binary", "probing", arpa, binary], check=True, capture_output=True)
                arpa.unlink()
        tokens = folder / "tokens.txt"
        tokens.write_bytes(load(folder / "20 M.fst").pipeline.loaded.spaced(cased.read_bytes()))
        everyone = [c for c in contenders(folder, kenlm) if c.jobs == 1 or not cpu_time]
        measure(everyone, lowered, tokens, folder, repeat, runs, cpu_time)
        figures = [as_json(contender, cased) for contender in everyone]
    results = {"table": "bench", "machine": machine(), "contenders": figures}
    save(results, output)
    print(bench_table(results))


if __name__ == "__main__":
    with exit_status():
        main(standalone_mode=False)
