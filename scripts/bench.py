"""Speed, size and accuracy beside peers, as a table: tokens per second from text to text, seconds until the first line,
memory (at its peak in all; and the part of it that is no mapped file), bytes per n-gram, accuracy and F1.

    make bench CORPUS='corpus/*.zst' TEXT=held-out.txt KENLM=folder/with/query [BENCH_OPTIONS='--repeat 20 …']

Trains models of several sizes on CORPUS and recases TEXT, lowercased and repeated, with each engine; KenLM's `query`
only scores the cased text, with the same LM. Each figure is the median of several runs of a whole process, and the
contenders take turns. Tokens are what white space separates in TEXT. Rates leave out the time that the same command
takes for one line; `first line` is the time from the command's start to its first line of output, by the clock. A
machine that has other work, too, gives fair ratios with --cpu-time. Peers that are not installed are left out:
sacremoses and truecase (in the extra `bench`), KenLM (--kenlm).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import click
from document import fill

import capfst
from capfst.evaluate.score import score_files
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
TRUECASE = """
import sys, truecase
case = truecase.get_truecaser().get_true_case_from_tokens
for line in sys.stdin:
    print(*(case(line.split()) if line.strip() else []))
"""


@dataclass
class Contender:
    """A command that reads text on stdin and writes text to stdout."""

    name: str
    command: list[str]
    jobs: int = 1
    lowercased: bool = True
    scale: float = 1.0  # share of the text that it is given
    model: Path | None = None  # its n-gram model
    rates: list[float] = field(default_factory=list)  # tokens per second
    starts: list[float] = field(default_factory=list)  # seconds until the first line
    memory: tuple[int, int] = 0, 0  # bytes at the peak: in all, anonymous
    output: Path | None = None  # what it makes of the text


def start(contender: Contender, source: BinaryIO, sink: BinaryIO | int) -> subprocess.Popen[bytes]:
    """Starts the command, on as many cores as it has jobs."""
    cores = sorted(os.sched_getaffinity(0))[: contender.jobs]
    return subprocess.Popen(
        contender.command,
        stdin=source,
        stdout=sink,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),  # noqa: PLW1509
    )


def run(contender: Contender, text: Path, output: Path | None, by_cpu: bool = False) -> tuple[float, tuple[int, int]]:
    """Seconds of one run, by the clock or of user and system time, and its memory. That is measured while the process
    runs: the system's figure for an ended process includes this one, from which it was forked."""
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
        raise SystemExit(f"{' '.join(contender.command)} failed")
    return seconds, watching.result()


def watch(process: int, ended: threading.Event) -> tuple[int, int]:
    """The peak memory of a process until it ends, in bytes: in all; and what is anonymous, not mapped from a file."""
    memory = 0, 0
    while not ended.wait(0.02):
        memory = larger(memory, resident(process))
    return memory


def resident(process: int) -> tuple[int, int]:
    """The memory of a running process in bytes: at its peak by now, and the anonymous part of what it has now. 0 if the
    system does not say."""
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
    """Seconds from the command to its first line of output."""
    with text.open("rb") as source:
        begin = time.monotonic()
        with start(contender, source, subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.readline()
            seconds = time.monotonic() - begin
            process.stdout.read()
    return seconds


def contenders(folder: Path, kenlm: Path | None, corpus: str) -> list[Contender]:
    """All contenders that are installed; models and KenLM's binaries are in the folder."""
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
            everyone.append(
                Contender(f"capfst, {size} n-grams, LM alone", [*command, "--no-context"], jobs, model=model)
            )
            everyone.append(Contender(f"capfst, {size} n-grams, and context", command, jobs, model=model))
        if kenlm:
            binary = folder / f"{size}.bin"
            command = [str(kenlm / "query"), "-v", "summary", str(binary)]
            everyone.append(Contender(f"KenLM query, {size} n-grams (scores)", command, lowercased=False, model=binary))
    openfst = [*recase, "--engine", "openfst", "--jobs", "1", "--no-context", "--lm", str(folder / "1 M.fst")]
    everyone.append(Contender("capfst, engine openfst, 1 M n-grams, LM alone", openfst, scale=0.01))
    moses = shutil.which("sacremoses") or shutil.which(Path(python).with_name("sacremoses"))
    if moses:
        table = str(folder / "moses.tc")
        lines = sample(corpus, folder / "sample.txt", load(folder / "20 M.fst"))
        with (folder / "sample.txt").open("rb") as source:
            command = [moses, "-l", "en", "train-truecase", "-m", table]
            subprocess.run(command, stdin=source, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        name = f"sacremoses truecase, trained on {lines:,} lines"
        everyone.append(Contender(name, [moses, "-l", "en", "truecase", "-a", "-m", table], scale=0.05))
    if importlib.util.find_spec("truecase"):
        everyone.append(Contender("truecase (own model)", [python, "-c", TRUECASE], scale=0.02))
    return everyone


def sample(corpus: str, path: Path, recaser: capfst.Recaser) -> int:
    """Writes about 100,000 lines of the corpus, tokenized, to `path`, to train slow peers; their number."""
    files = find_files([corpus])
    every = max(1, sum(block.count(b"\n") for block in read_blocks(files)) // 100_000)
    number = 0
    with path.open("wb") as sink:
        for block in read_blocks(files):
            lines = block.splitlines(keepends=True)[::every]
            number += len(lines)
            sink.write(recaser.pipeline.loaded.spaced(b"".join(lines)))
    return number


def measure(
    everyone: list[Contender], text: Path, cased: Path, folder: Path, repeat: int, runs: int, by_cpu: bool
) -> None:
    """Measures all contenders, and sets their rates, starts, memory and output."""
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
            tokens = sum(len(line.split()) for line in lines[: len(part)]) * copies  # what KenLM reads has a few more
            contender.rates.append(tokens / max(seconds - overhead, 1e-9))
            contender.memory = larger(contender.memory, memory)


def table(everyone: list[Contender], cased: Path) -> str:
    """The results as Markdown."""
    heads = [
        *("", "cores", "tokens/s", "× KenLM", "first line, s", "peak MB", "anonymous MB", "bytes per n-gram"),
        *("accuracy", "F1"),
    ]
    rows = [f"| {' | '.join(heads)} |".replace("|  |", "| |"), "|---|" + "--:|" * (len(heads) - 1)]
    yardstick = {
        c.name.split(", ")[1].split(" n-")[0]: statistics.median(c.rates) for c in everyone if "KenLM" in c.name
    }
    for contender in everyone:
        rate = statistics.median(contender.rates)
        size = next((size for size in SIZES if f" {size} n-grams" in contender.name), "20 M")
        ratio = f"{rate / yardstick[size]:.3g}" if size in yardstick else ""
        accuracy = f1 = ""
        if contender.lowercased and contender.output:
            scores = score_files(references=cased, hypotheses=contender.output)
            accuracy, f1 = f"{scores.accuracy:.2f}", f"{scores.f1:.2f}"
        size = ""
        if contender.model:
            ngrams = sum(CapFst.open(contender.model.with_suffix(".fst")).ngrams)
            size = f"{contender.model.stat().st_size / ngrams:.1f}"
        first, memory = f"{statistics.median(contender.starts):.2f}", [f"{m / 1e6:,.0f}" for m in contender.memory]
        cells = [contender.name, str(contender.jobs), f"{rate:,.0f}", ratio, first, *memory, size, accuracy, f1]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def plot(everyone: list[Contender], path: Path) -> None:
    """Bars of the rates, on a logarithmic axis."""
    from matplotlib import pyplot  # noqa: PLC0415

    figure, axes = pyplot.subplots(figsize=(8, 0.4 * len(everyone) + 1))
    names = [f"{c.name}, {c.jobs} cores" if c.jobs > 1 else c.name for c in everyone]
    colours = ["tab:blue" if c.name.startswith("capfst") else "tab:gray" for c in everyone]
    bars = axes.barh(names, [statistics.median(c.rates) for c in everyone], color=colours)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=8)
    axes.set(xscale="log", xlabel="tokens per second, text to text")
    axes.margins(x=0.2)
    axes.invert_yaxis()
    figure.tight_layout()
    figure.savefig(path)


def machine() -> str:
    names = ["capfst", "numpy", "sacremoses", "truecase"]
    installed = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    processor = next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.machine())
    versions = ", ".join(f"{name} {installed[name]}" for name in names if name in installed)
    return f"{processor}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}."


@click.command(help=__doc__)
@click.argument("corpus")
@click.argument("text", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--kenlm",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with KenLM's programs `query` and `build_binary`.",
)
@click.option("--repeat", default=20, show_default=True, help="Number of copies of the text that are recased in a run.")
@click.option(
    "--cpu-time",
    is_flag=True,
    help="Rates by user and system time, not by the clock, on a machine that has other work, too; of one core only.",
)
@click.option("--runs", default=3, show_default=True, help="Number of runs of each contender.")
@click.option(
    "--document",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Write the table between `<!-- bench -->` and `<!-- /bench -->` of this document.",
)
@click.option(
    "--plot", "figure", type=click.Path(path_type=Path), help="Image file for a chart of the rates (needs matplotlib)."
)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    help="Folder to keep the models in; models that are there are used.  [default: a temporary one]",
)
def main(
    corpus: str,
    text: Path,
    kenlm: Path | None,
    repeat: int,
    runs: int,
    document: Path | None,
    figure: Path | None,
    work: Path | None,
    cpu_time: bool,
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = work or Path(temporary)
        folder.mkdir(exist_ok=True)
        cased, lowered = folder / "cased.txt", folder / "lowered.txt"
        cased.write_bytes(b"".join(read_blocks([text])))
        lowered.write_text(cased.read_text("utf-8").lower(), "utf-8")
        models = {"order1": {"order": 1, "context": False}, **{size: {"max_ngrams": n} for size, n in SIZES.items()}}
        for name, options in models.items():
            if not (folder / f"{name}.fst").exists():
                print(f"training {name} …", file=sys.stderr)
                capfst.train(corpus, folder / f"{name}.fst", **options)  # type: ignore[arg-type]
            if kenlm and name in SIZES and not (folder / f"{name}.bin").exists():
                arpa, binary = folder / f"{name}.arpa", folder / f"{name}.bin"
                lm = folder / f"{name}.fst"
                subprocess.run([sys.executable, "-m", "capfst", "export", "--lm", lm, "-o", arpa], check=True)
                subprocess.run([kenlm / "build_binary", "probing", arpa, binary], check=True, capture_output=True)
                arpa.unlink()
        tokens = folder / "tokens.txt"
        tokens.write_bytes(load(folder / "20 M.fst").pipeline.loaded.spaced(cased.read_bytes()))
        everyone = [c for c in contenders(folder, kenlm, corpus) if c.jobs == 1 or not cpu_time]
        measure(everyone, lowered, tokens, folder, repeat, runs, cpu_time)
        result = f"{table(everyone, cased)}\n\n{machine()}"
    print(result)
    if figure:
        plot(everyone, figure)
    if document:
        fill(document, "bench", result)


if __name__ == "__main__":
    main()
