"""Attack capfst with random input: mutated lines, damaged models, signals, and models that are replaced while in use.

    \b
    python scripts/maintain/fuzz.py lines 1000000     lines × sets of options: only case may change
    python scripts/maintain/fuzz.py files 20000       subtitles, transcripts and streams: only case may change
    python scripts/maintain/fuzz.py models 5000       damaged models: refused, or only case changes
    python scripts/maintain/fuzz.py signals 200       commands that get a signal: nothing half-written
    python scripts/maintain/fuzz.py soak 600          seconds of threads that load and recase
    python scripts/maintain/fuzz.py growth 2000       repeated fragments: four times the text takes four times the time

Each prints its figures, or ends with status 1 and what to repeat the failure with. All but the signals run in worker
processes, so that a crash is a failure, too.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import math
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any, NamedTuple

import click

import capfst
from capfst.cli.exit_status import exit_status
from capfst.cli.live import recase_stream
from capfst.exceptions import CapfstError
from capfst.io.speech import reader
from capfst.punctuation import train as punctuation
from capfst.system.budget import resident
from capfst.system.workers import map_in_processes
from capfst.text.unicode import lower

LINES = [line.strip() for text in topics.values() for line in text.split("\n") if line.strip()]
TRICKY = r"""
    New York's iPhone McDonald O'NEILL u.s. e.g. Mr. state-of-the-art AT&T İstanbul i̇stanbul ΟΔΟΣ οδος Straße STRASSE ǅ
    ﬁn 😀 $5 3.5% 10AM &amp; <b>Bold</b> `Code` [x](URL) ${HOME} %s \n http://A.B/C me@X.org ... ?! “Quoted” 'tis n't --
    1st A.B.C. X ÉA éa ß ẞ ŉ ﬃ Ⱥ
""".split()  # noqa: SIM905
TRICKY += "\u212a \u0345 E\u0301a A\u200dB \u200b \ufeff \ufffd \0 \x1b \x85 \u2028 \u202e".split(" ")  # noqa: SIM905
OPTIONS: list[dict[str, Any]] = [
    {}, {"sentence_case": True}, {"breaks": False}, {"context": False}, {"oov": "pass"}, {"start_token": "<unk>"},
    {"document": True}, {"wrapped": True}, {"markup": "markdown"}, {"markup": "html"}, {"input_case": "ignore"},
    {"input_case": "keep"}, {"words": {"new york": None, "IPhone": 3.0, "o'neill": -1.0}},
    {"sentence_case": True, "input_case": "evidence", "document": True},
    {"context": False, "oov": "pass", "breaks": False},
]  # fmt: skip
BLOCK = 500  # lines
ODD = [0, 1, 127, 128, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1]


class FuzzingError(CapfstError):
    """What must not happen has happened."""


# Lines


def mutated_line(rng: random.Random) -> str:
    """Return a line with words, characters and case changed at random."""
    words = rng.choice(LINES).split(" ")[: rng.randint(0, 30)]
    for _ in range(rng.randint(0, 6)):
        words.insert(rng.randint(0, len(words)), rng.choice(TRICKY))
    characters = list(rng.choice([" ", " ", " ", "", "\t", "\u00a0", "-"]).join(words))
    for _ in range(rng.choice([0, 0, 1, 3, 10])):
        at = rng.randint(0, len(characters))
        plane = rng.choice([0x80, 0x250, 0x2000, 0xD7FF, 0x10FFFF])
        code = rng.randint(1, plane)
        characters[at : at + rng.randint(0, 2)] = chr(code) if not 0xD800 <= code < 0xE000 else "\ud800"
    text = "".join(characters).replace("\n", " ")
    return rng.choice([text, text, text.lower(), text.upper(), text.title()])


def problem(lines: list[str], recased: list[str]) -> str | None:
    """Return what is wrong with recased lines; None if only case has changed."""
    if len(lines) != len(recased):
        return f"{len(lines)} lines became {len(recased)}"
    for line, other in zip(lines, recased, strict=True):
        if _lower(line) != _lower(other):
            return f"{line!r} became {other!r}"
    return None


def _lower(text: str) -> str:
    """Return the text in lower case; whether Σ becomes ς depends on what follows, which may be hidden markup."""
    return lower(text.encode("utf-8", "replace").decode()).replace("ς", "σ")


def recase_lines(task: tuple[str, int]) -> int:
    """Recase a block of lines under all sets of options. Return the number of lines × sets."""
    model, seed = task
    rng = random.Random(seed)
    lines = [mutated_line(rng) for _ in range(BLOCK)]
    recaser = _recaser(model)
    for options in OPTIONS:
        recased = recaser("\n".join(lines), **options).split("\n")
        if why := problem(lines, recased):
            raise FuzzingError(f"seed {seed}, {options}: {why}")
    some = lines[:3]
    fast, literal = (recaser(some, engine=engine) for engine in ("fast", "openfst"))
    if fast != literal:
        raise FuzzingError(f"seed {seed}: the engines differ in one of {some!r}")
    return len(lines) * len(OPTIONS)


_recasers: dict[str, capfst.Recaser] = {}


def _recaser(model: str) -> capfst.Recaser:
    if model not in _recasers:
        _recasers[model] = capfst.load(model)
    return _recasers[model]


# Subtitles, transcripts and streams

FILES = {  # the beginning of a file of each format, and what it repeats
    "srt": ("", "7\n00:00:01,000 --> 00:00:02,000\n<i>{}</i>\n- {}\n\n"),
    "vtt": ("WEBVTT\n\nNOTE {}\n\n", "00:01.000 --> 00:02.000 align:start\n<v {}>{}\n{}<00:01.500><c> {}</c>\n\n"),
    "ass": ("[Events]\n", "Dialogue: 0,0:00:01.00,0:00:02.00,{},,0,0,0,,{{\\i1}}{}\\N{{\\p1}}m 0 0{{\\p0}}{}\n"),
    "sbv": ("", "0:00:01.000,0:00:02.000\n{}[br]{}\n\n"),
    "ctm": (";; {}\n", "call {} 0.1 0.2 {} 0.9\n"),
    "stm": ("", "call 1 {} 0.1 0.2 <o> {} (%hm) {}\n"),
    "kaldi": ("", "a-1 {}\n"),
    "transcript": ("[", '{{"text": "{}", "words": [{{"word": "{}", "speaker": {{}}}}, {{"word": "{}"}}]}},\n'),
}


def made_file(rng: random.Random, kind: str) -> str:
    """Return a file of a format, in which some characters may be changed."""
    head, part = FILES[kind]
    text = head + "".join(part for _ in range(rng.randint(1, 8)))
    text = text.removesuffix(",\n") + "]" if kind == "transcript" else text
    lines = [mutated_line(rng)[: rng.choice([3, 20, 200])] for _ in range(text.count("{}"))]
    if kind in ("ctm", "stm"):
        lines = [re.sub(r"\s", "_", line) or "x" for line in lines]
    if kind == "transcript":
        lines = [json.dumps(line, ensure_ascii=rng.random() < 0.5)[1:-1] for line in lines]
    characters = list(text.format(*lines).encode(errors="replace").decode())
    for _ in range(rng.choice([0, 0, 1, 5])):
        at, size = rng.randint(0, len(characters)), rng.choice([1, 1, 40])
        characters[at : at + size] = rng.choice(
            ["", "\n", "<", "{", '"', "-->", "\r\n", characters[at : at + 2 * size]]
        )
    return "".join(characters)


def _unescaped(text: str) -> str:
    """Return the text with the characters for which the escapes of JSON stand."""
    escapes = re.compile(r"\\\\|\\u([0-9a-fA-F]{4})")
    text = escapes.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else escape[0], text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def recase_files(task: tuple[str, int]) -> str:
    """Recase a file, or a stream of text; return its kind and what became of it."""
    model, seed = task
    rng = random.Random(seed)
    recaser = _recaser(model)
    kind = rng.choice([*FILES, "stream"])
    if kind == "stream":
        text = "\n".join(mutated_line(rng).encode(errors="replace").decode() for _ in range(3))
        source = io.BytesIO(text.encode())
        out = b"".join(recase_stream(recaser.stream(rng.choice([0, 1, 4])), source)).decode()
    else:
        text = made_file(rng, kind)
        try:
            parts = list(reader("file", kind).read([text.encode()]))
        except CapfstError:
            return f"{kind} refused"
        out = b"".join(part.written(recaser.pipeline.recase_text(part.text)) for part in parts).decode()
    if _lower(_unescaped(out)) != _lower(_unescaped(text)):
        raise FuzzingError(f"seed {seed}: more than the case of {text!r} has changed: {out!r}")
    return f"{kind} recased"


# Models


def damaged(content: bytes, rng: random.Random) -> tuple[bytes, str]:
    """Return a model's file with some bytes changed, and the kind of change."""
    kind = rng.choice(["bytes", "bits", "numbers", "cut", "longer", "moved", "zeros", "header"])
    changed = bytearray(content)
    end = 400 if kind == "header" else len(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(end)
        if kind in ("bytes", "header"):
            changed[at] = rng.randrange(256)
        elif kind == "bits":
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == "numbers":
            changed[at // 4 * 4 : at // 4 * 4 + 4] = (rng.choice(ODD) % 2**32).to_bytes(4, "little")
        elif kind == "moved":
            to, size = rng.randrange(end), rng.randint(1, 64)
            changed[to : to + size] = changed[at : at + size]
        elif kind == "zeros":
            changed[at : at + rng.randint(1, 256)] = b""
        elif kind == "cut":
            del changed[at:]
            break
        elif kind == "longer":
            changed += rng.randbytes(rng.randint(1, 99))
    if rng.randint(0, 1):
        changed[-4:] = struct.pack("<I", zlib.crc32(changed[:-4]))
        kind += ", checksum repaired"
    return bytes(changed), kind


def recase_damaged(task: tuple[str, int]) -> str:
    """Recase with a damaged model. Return what happened."""
    model, seed = task
    rng = random.Random(seed)
    content, kind = damaged(Path(model).read_bytes(), rng)
    lines = [mutated_line(rng) for _ in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "damaged.fst")
        path.write_bytes(content)
        try:
            recaser = capfst.load(path)
            outputs = [recaser("\n".join(lines)), recaser("\n".join(lines), sentence_case=True, context=False)]
        except CapfstError as error:
            if len(str(error)) > 1000 + len(folder):
                raise FuzzingError(f"seed {seed}: a message of {len(str(error))} characters") from error
            return f"{kind}: refused"
    for output in outputs:
        if why := problem(lines, output.split("\n")):
            raise FuzzingError(f"seed {seed}, {kind}: {why}")
    return f"{kind}: recased"


# Signals


class Command(NamedTuple):
    arguments: list[str]
    output: str


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


def send(command: Command, expected: dict[str, bytes], folder: Path, rng: random.Random, longest: float) -> str:
    """Run a command, which gets a signal at a random moment. Return the signal and the exit status."""
    number = rng.choice(SIGNALS)
    out = folder / command.output
    with subprocess.Popen(
        [sys.executable, "-m", "capfst", *command.arguments], cwd=folder, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        time.sleep(rng.uniform(0, longest))
        process.send_signal(number)
        begin = time.monotonic()
        error = process.communicate(timeout=60)[1].decode(errors="replace")
    if time.monotonic() - begin > 5:
        raise FuzzingError(f"{command}: ended only {time.monotonic() - begin:.1f} s after {number.name}")
    is_told = "Traceback" not in error or process.returncode == -number  # Python's own, before the command starts
    if process.returncode not in (0, 128 + number, -number) or not is_told:
        raise FuzzingError(f"{command} after {number.name}: status {process.returncode}, {error[-300:]}")
    found = written(out)
    if any(expected[name] != content for name, content in found.items() if name in expected or ".tmp" not in name):
        raise FuzzingError(f"{command} after {number.name}: half-written: {list(found)}")
    if number != signal.SIGKILL and any(name.endswith(".tmp") for name in found):
        raise FuzzingError(f"{command} after {number.name}: left {list(found)}")
    for path in out.parent.rglob(".capfst-*.tmp"):  # of SIGKILL
        path.unlink()
    return f"{command.arguments[0]}: {'done' if process.returncode == 0 else 'stopped'}"


def written(out: Path) -> dict[str, bytes]:
    """Return what is in an output folder, or next to an output file, by name."""
    names = [path for path in (out.rglob("*") if out.is_dir() else out.parent.glob(".capfst-*")) if path.is_file()]
    names += [out] if out.is_file() else []
    return {path.name: path.read_bytes() for path in names if path.name != ".capfst-batch.jsonl"}


# Growth

REPEATED = r"""
    a A x1 I'm O' don't n't 's 'tis l' d' qu' McD iPhone JOHN: MR. u.s. e.g. i.e. St. A. A.B the New York new-york
    state-of-the-art CamelCase . .. ... ! ? , ; : - -- – — / \ | _ # @ * ** + = ~ ^ % $ $$ & && ' " ` `` ``` “ ” ‘ ’ «
    » ( ) [ ] { } < > () [] {} <> ]( ][ [^ [a]: (a) [a] {a} <a> </a> <a <a b=' <a b=" <!-- --> <? ?> <![CDATA[ ]]> <!D
    <code> </code> <kbd> <pre> <script> <div> <br> <v A> <i> <00:01.000> &amp; &#1; &# &amp &gt;&gt; >> >>> -> ♪ ♪♪ \N
    \h {\p1} {\i1} [br] %s %d %( ${ {{ }} {% {0} __init__ a_b aB --flag -f a.b a/b ./a ../ C:\ /usr/ http:// www.
    http://a.b a@b @a #a 1 0 10 1.5 1,000 1st 10am 5% 1) 1. 00: 00:00:01,000 é İ ß ẞ ǅ ﬁ Σ ς Α и 你 （ 【 😀
""".split()  # noqa: SIM905
REPEATED += "e\u0301 \u0301 \u0307 i\u0307 \u200d A\u200dB \u200b \ufeff \xad \u2028 \xa0 \0 \x1a \x7f".split(" ")  # noqa: SIM905
GAPS = ["", "", "", " ", " ", "\n", "\n\n", "\n> ", "\n- ", "\n    ", "\r\n", "\t", ". "]
GROWTH_OPTIONS: list[dict[str, Any]] = [
    *OPTIONS, {"restore": "punctuation"}, {"restore": "punctuation,case", "sentence_case": True, "keep_marks": False},
    {"document": True, "wrapped": True, "input_case": "evidence"},
    {"words": {"A": None, "A.B": None, "A A": 1.0, "a a a": 2.0, "New York New York": None, "I'M": -1.0}},
]  # fmt: skip
SHORT, LONG = 25_000, 100_000  # characters
GROWTH = 2.2  # of the time, divided by that of the text: clearly more than linear
LEAST = 0.1  # seconds of the longer text, so that the difference is not noise
TRIES = 4


def repeated(rng: random.Random) -> str:
    """Return a short text that is to be repeated."""
    parts = [rng.choice(REPEATED) + rng.choice(GAPS) for _ in range(rng.choice([1, 1, 2, 3]))]
    text = "".join(parts)
    return rng.choice([text, text, text.upper()])


def filled(kind: str, fragment: str, size: int, is_long: bool) -> str:
    """Return a file of a format with a number of characters of a fragment: in a few long texts, or in many short."""
    head, part = FILES[kind]
    if kind in ("ctm", "stm", "kaldi"):
        fragment = re.sub(r"\s", "_" if kind == "ctm" else " ", fragment)
    escaped = json.dumps(fragment)[1:-1] if kind == "transcript" else fragment
    n = size // len(fragment)
    times = n // part.count("{}") if is_long else 3
    slots = [escaped * times] * part.count("{}")
    text = head.replace("{}", "") + part.format(*slots) * (1 if is_long else n // len(slots) // 3)
    return text.removesuffix(",\n") + "]" if kind == "transcript" else text


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return how long a call computes."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def measure_growth(task: tuple[str, int]) -> str:
    """Recase a fragment, repeated, as a text or a file, and four times as much of it. Return what was recased."""
    model, seed = task
    rng = random.Random(seed)
    fragment, options, is_long = repeated(rng), rng.choice(GROWTH_OPTIONS), rng.randint(0, 1) == 0
    kind = rng.choice(["text", "text", "stream", *FILES])
    short_size, long_size = (SHORT // 10, LONG // 10) if kind == "stream" else (SHORT, LONG)
    recaser = _recaser(model)
    pipeline = recaser.pipeline_with(options, "recaser")

    def recase(size: int) -> None:
        if kind == "text":
            recaser(fragment * (size // len(fragment)), **options)
        elif kind == "stream":
            for _ in recase_stream(recaser.stream(4), io.BytesIO((fragment * (size // len(fragment))).encode())):
                pass
        else:
            with contextlib.suppress(CapfstError):
                for part in reader("file", kind).read([filled(kind, fragment, size, is_long).encode()]):
                    part.written(pipeline.recase_text(part.spoken))

    short = long = math.inf
    for _ in range(TRIES):
        short = min(short, cpu_seconds(lambda: recase(short_size)))
        long = min(long, cpu_seconds(lambda: recase(long_size)))
        if long < LEAST or long < GROWTH * short * LONG / SHORT:
            return kind
    raise FuzzingError(
        f"seed {seed}: {fragment!r} {'at length' if is_long else 'in pieces'} as {kind} with {options}:"
        f" {short_size:,} characters take {short:.2f} s, {long_size:,} take {long:.2f} s"
    )


# Command line


def in_order(function: Callable[[Any], Any], tasks: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Yield the results of a function of this module."""
    module = importlib.import_module(Path(__file__).stem)  # not __main__, which worker processes lack
    return map_in_processes(getattr(module, function.__name__), tasks, jobs)


def trained(folder: Path, **options: Any) -> str:
    """Train a small model of Python's help."""
    (folder / "corpus.txt").write_text("\n".join([*LINES, *(" ".join(TRICKY) for _ in range(3))]), "utf-8", "replace")
    capfst.train(folder / "corpus.txt", folder / "cap.fst", clean=False, **options)
    return str(folder / "cap.fst")


seed_option = click.option("--seed", default=0, help="The first seed.")
jobs_option = click.option("--jobs", default=os.cpu_count(), help="Number of worker processes.")


@click.group()
def cli() -> None:
    """Attack capfst with random input."""


@cli.command()
@click.argument("number", type=int)
@click.option("--lm", default="en", help="Model.")
@seed_option
@jobs_option
def lines(number: int, lm: str, seed: int, jobs: int) -> None:
    """Recase mutated lines under all sets of options, at least NUMBER lines × sets."""
    blocks = -(-number // (BLOCK * len(OPTIONS)))
    done = sum(in_order(recase_lines, ((lm, seed + k) for k in range(blocks)), jobs))
    click.echo(f"{done:,} lines × sets of options: in none more than case has changed")


@cli.command()
@click.argument("number", type=int)
@seed_option
@jobs_option
def files(number: int, seed: int, jobs: int) -> None:
    """Recase NUMBER files of subtitles and transcripts, and streams."""
    with tempfile.TemporaryDirectory() as folder:
        model = trained(Path(folder))
        counts = Counter(in_order(recase_files, ((model, seed + k) for k in range(number)), jobs))
    for kind, count in sorted(counts.items()):
        click.echo(f"{count:7,} {kind}")
    click.echo(f"{sum(counts.values()):,} files and streams: in none, more than case has changed")


@cli.command()
@click.argument("number", type=int)
@seed_option
@jobs_option
def models(number: int, seed: int, jobs: int) -> None:
    """Recase with NUMBER damaged models."""
    with tempfile.TemporaryDirectory() as folder:
        small = trained(Path(folder), max_words=300, max_ngrams=2000)
        counts = Counter(in_order(recase_damaged, ((small, seed + k) for k in range(number)), jobs))
    for kind, count in sorted(counts.items()):
        click.echo(f"{count:7,} {kind}")
    click.echo(f"{sum(counts.values()):,} damaged models: no crash, and in no output more than case has changed")


@cli.command()
@click.argument("number", type=int)
@seed_option
@jobs_option
def growth(number: int, seed: int, jobs: int) -> None:
    """Recase NUMBER repeated fragments, as texts and in files, at two sizes."""
    with tempfile.TemporaryDirectory() as folder:
        punctuation.LEAST_STEPS = 20  # what it restores does not matter
        model = trained(Path(folder), restore="punctuation,case")
        counts = Counter(in_order(measure_growth, ((model, seed + k) for k in range(number)), jobs))
    for kind, count in sorted(counts.items()):
        click.echo(f"{count:7,} {kind}")
    click.echo(f"{sum(counts.values()):,} repeated fragments: the time grows with the size")


@cli.command()
@click.argument("number", type=int)
@seed_option
def signals(number: int, seed: int) -> None:
    """Send NUMBER signals to commands."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trained(folder)
        (folder / "in").mkdir()
        for k in range(4):
            (folder / "in" / f"{k}.txt").write_text("\n".join(LINES * 10))
        (folder / "text.txt").write_text("\n".join(LINES * 30))
        commands = [
            Command(["recase", "-q", "--lm", "cap.fst", "text.txt", "-o", "recased/out.txt"], "recased/out.txt"),
            Command(["train", "-q", "--no-clean", "corpus.txt", "-o", "trained/out.fst"], "trained/out.fst"),
            Command(["export", "--lm", "cap.fst", "-o", "exported/out.arpa"], "exported/out.arpa"),
            Command(["batch", "-q", "--lm", "cap.fst", "in", "-o", "batch"], "batch"),
        ]
        expected, seconds = {}, {}
        for command in commands:
            (folder / command.output).parent.mkdir(exist_ok=True)
            begin = time.monotonic()
            subprocess.run([sys.executable, "-m", "capfst", *command.arguments], cwd=folder, check=True)
            seconds[command.output] = time.monotonic() - begin
            expected[command.output] = written(folder / command.output)
        for k in range(number):
            command = commands[k % len(commands)]
            outcome = send(command, expected[command.output], folder, rng, 1.1 * seconds[command.output])
            counts[outcome] += 1
            if k % 8 == 7:  # batch resumes in between
                for path in (folder / "batch").glob("*"):
                    path.unlink()
        subprocess.run([sys.executable, "-m", "capfst", *commands[-1].arguments], cwd=folder, check=True)
        if written(folder / "batch") != expected["batch"]:
            raise FuzzingError("the resumed batch differs from one without signals")
    for outcome, count in sorted(counts.items()):
        click.echo(f"{count:5,} {outcome}")
    click.echo(f"{number:,} signals: nothing half-written, and the resumed batch is the same")


@cli.command()
@click.argument("seconds", type=float)
@click.option("--threads", default=4, show_default=True)
def soak(seconds: float, threads: int) -> None:
    """Load and recase in threads for SECONDS, while the model is replaced."""
    text = "\n".join(LINES[:300])
    counts: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, other = Path(trained(folder)), folder / "other.fst"
        capfst.train(folder / "corpus.txt", other, clean=False, order=2)
        contents = [path.read_bytes() for path in (one, other)]
        answers = {capfst.load(path)(text) for path in (one, other)}
        end = time.monotonic() + seconds

        def work(k: int) -> None:
            shared = capfst.load(one)
            while time.monotonic() < end and not failures:
                try:
                    recaser = capfst.load(one) if k % 2 else shared
                    if recaser(text) not in answers:
                        failures.append("a text was recased otherwise than by either model")
                except CapfstError as error:
                    failures.append(str(error))
                counts["loads" if k % 2 else "texts by a shared recaser"] += 1

        def replace() -> None:
            while time.monotonic() < end and not failures:
                new = folder / "new.fst"
                new.write_bytes(contents[counts["replaced"] % 2])
                new.replace(one)
                counts["replaced"] += 1
                time.sleep(0.05)

        running = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
        running.append(threading.Thread(target=replace))
        for thread in running:
            thread.start()
        time.sleep(min(seconds / 4, 60))
        before = resident()
        for thread in running:
            thread.join()
        if failures:
            raise FuzzingError(failures[0])
        described = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
        click.echo(f"{seconds:g} s: {described}; resident memory {before >> 20} → {resident() >> 20} MiB")


if __name__ == "__main__":
    with exit_status():
        cli(standalone_mode=False)
