"""Attack capfst with random input: mutated lines, damaged models, signals, models that are replaced while in use, and
requests to the service.

    \b
    python scripts/maintain/fuzz.py lines 1000000     lines × sets of options: only case may change
    python scripts/maintain/fuzz.py files 20000       subtitles, JSON, Parquet, streams …: only the case of text
    python scripts/maintain/fuzz.py models 5000       damaged models: refused, or only case changes
    python scripts/maintain/fuzz.py signals 200       commands that get a signal: nothing half-written
    python scripts/maintain/fuzz.py soak 600          seconds of threads that load and recase
    python scripts/maintain/fuzz.py growth 2000       repeated fragments: four times the text takes four times the time
    python scripts/maintain/fuzz.py service 120       seconds of clients that stall, lie, and ask for too much

Each prints its figures, or ends with status 1 and what to repeat the failure with. Lines, files and models run in
worker processes, so that a crash is a failure, too.
"""

from __future__ import annotations

import contextlib
import http.client
import importlib
import io
import json
import math
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics
from typing import IO, Any

import click

import capfst
from capfst.batch.report import DONE, Display
from capfst.batch.run import run_batch
from capfst.cli.exit_status import exit_status
from capfst.cli.live import recase_stream
from capfst.cli.options import together
from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.io.formats import reader
from capfst.io.outputs import plan
from capfst.io.protocol import BatchOptions, TextOptions
from capfst.io.text_blocks import text_blocks
from capfst.models.convert import export_arpa
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


def encodable(text: str) -> str:
    """Return the text with ? for half pairs of surrogates."""
    return text.encode(errors="replace").decode()


def _lower(text: str) -> str:
    """Return the text in lower case; whether Σ becomes ς depends on what follows, which may be hidden markup."""
    return lower(encodable(text)).replace("ς", "σ")


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
    some = lines[:10]
    fast, literal = (recaser(some, engine=engine) for engine in ("fast", "openfst"))
    if fast != literal:
        raise FuzzingError(f"seed {seed}: the engines differ in one of {some!r}")
    return len(lines) * len(OPTIONS)


_recaser = cache(capfst.load)


# Subtitles, transcripts and streams

_ROWS = Path(__file__).with_name("formats.tsv").read_text("utf-8").splitlines()[1:]
FILES = {
    kind: (head, part) for kind, head, part in (row.encode().decode("unicode_escape").split("\t") for row in _ROWS)
}
"""The beginning of a file of each format, and what it repeats: {} is text, {id} must stay as it is."""
ESCAPES = {
    "po": lambda text: text.replace("\\", r"\\").replace('"', r"\""),
    "textgrid": lambda text: text.replace('"', '""'),
    "ttml": lambda text: text.replace("&", "&amp;").replace("<", "&lt;"),
    "lrc": lambda text: re.sub(r"[\[\]<>]", "", text),
}
"""How text is written in a format; that of others is written as it is."""
ONE_WORD = ("ctm", "stm", "kaldi")
KEPT = re.compile("QxZ[A-Za-z]+QxZ")
"""The names of speakers, tags and the like in a file, which nothing else in it resembles."""


def made_file(rng: random.Random, kind: str) -> tuple[str, bool]:
    """Return a file of a format, and whether it is one: some of its characters may be changed."""
    head, part = FILES[kind]
    text = head + "".join(part for _ in range(rng.randint(1, 8)))
    text = text.removesuffix(",\n") + "]" if head == "[" else text
    lines = [mutated_line(rng)[: rng.choice([3, 20, 200])] for _ in range(text.count("{}"))]
    if kind in ONE_WORD:
        lines = [re.sub(r"\s", "_", line) or "x" for line in lines]
    if '"}' in part:
        lines = [json.dumps(line, ensure_ascii=rng.random() < 0.5)[1:-1] for line in lines]
    write = ESCAPES.get(kind, str)
    left = iter(map(write, lines))
    text = re.sub(r"\{\}", lambda _: next(left).replace("{", "{{").replace("}", "}}"), text)
    parts = text.split("{id}")
    name = rng.choice(["Anna", "NEWYORK", "usa", "iPhone"])
    text = f"QxZ{name}QxZ".join(parts).replace("{{", "{").replace("}}", "}")
    characters = list(encodable(text))
    n_changes = rng.choice([0, 0, 1, 5])
    for _ in range(n_changes):
        at, size = rng.randint(0, len(characters)), rng.choice([1, 1, 40])
        characters[at : at + size] = rng.choice(
            ["", "\n", "<", "{", '"', "-->", "\r\n", characters[at : at + 2 * size]]
        )
    return "".join(characters), not n_changes


def _unescaped(text: str) -> str:
    """Return the text with the characters for which the escapes of JSON stand."""
    escapes = re.compile(r"\\\\|\\u([0-9a-fA-F]{4})")
    text = escapes.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else escape[0], text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _without_marks(text: str) -> str:
    return re.sub("[,.?]", "", text)


def recase_files(task: tuple[str, int]) -> str:
    """Recase a file, or a stream of text; return its kind and what became of it."""
    model, seed = task
    rng = random.Random(seed)
    recaser = _recaser(model)
    kind = rng.choice([*FILES, "stream", "parquet"])
    restores = rng.random() < 0.3
    options: dict[str, Any] = {"restore": "punctuation,case", "sentence_case": True} if restores else {}
    if kind == "parquet":
        return _recase_parquet(recaser, rng, seed)
    if kind == "stream":
        text = "\n".join(encodable(mutated_line(rng)) for _ in range(3))
        source = io.BytesIO(text.encode())
        out = b"".join(recase_stream(recaser.stream(rng.choice([0, 1, 4]), **options), source)).decode()
    else:
        text, is_intact = made_file(rng, kind)
        pipeline = recaser.pipeline_with(options, "recase")
        try:
            parts = list(reader("file", kind).read([text.encode()]))
            out = b"".join(part.written(pipeline.recase_text(part.text)) for part in parts).decode()
        except CorpusError:
            return f"{kind} refused"
        except Exception as error:
            raise FuzzingError(f"seed {seed}, {options}: {type(error).__name__}: {error}, of {text!r}") from error
        if is_intact and KEPT.findall(out) != KEPT.findall(text):
            raise FuzzingError(f"seed {seed}: a name, tag or key of {text!r} has changed: {out!r}")
    kept = _without_marks if restores else str
    if kept(_lower(_unescaped(out))) != kept(_lower(_unescaped(text))):
        raise FuzzingError(f"seed {seed}, {options}: more than the case of {text!r} has changed: {out!r}")
    return f"{kind} {'punctuated' if restores else 'recased'}"


def _recase_parquet(recaser: capfst.Recaser, rng: random.Random, seed: int) -> str:
    """Recase a damaged Parquet file in a batch beside a good file, and train on it; return what became of it."""
    import pyarrow as pa  # noqa: PLC0415  (optional)
    import pyarrow.parquet as pq  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        folder, damaged_file = Path(name), Path(name, "in", "a.parquet")
        damaged_file.parent.mkdir()
        table = pa.table({"text": [encodable(mutated_line(rng)) for _ in range(20)], "nome": list(range(20))})
        pq.write_table(table, damaged_file, row_group_size=rng.choice([7, 20]), store_schema=rng.random() < 0.5)
        content = bytearray(damaged_file.read_bytes())
        metadata = len(content) - int.from_bytes(content[-8:-4], "little") - 8
        for _ in range(rng.choice([0, 1, 1, 4])):
            content[rng.randrange(metadata if rng.random() < 0.8 else 0, len(content))] = rng.randrange(256)
        damaged_file.write_bytes(content)
        damaged_file.with_name("b.txt").write_text("a line\n")
        options = BatchOptions(errors=rng.choice(["strict", "replace"]), on_error=rng.choice(["fail", "pass", "drop"]))
        todo = plan([folder / "in"], folder / "out", folder / "no.fst", options)
        done = run_batch(todo, folder / "out", recaser, options, jobs=1, display=Display(quiet=True))
        reports = {Path(report.file.input).name: report for report in done.files}
        if reports["b.txt"].status != DONE or len(reports) != 2:
            raise FuzzingError(f"seed {seed}: a damaged Parquet file stopped the others: {done}")
        errors = [reports["a.parquet"].error or ""]
        try:
            for _ in text_blocks([damaged_file], TextOptions(column=("text",))):
                pass
        except (CorpusError, OptionError) as refused:
            errors.append(str(refused))
        if any("report this as a bug" in error for error in errors):
            raise FuzzingError(f"seed {seed}: {errors}")
        return f"parquet {'refused' if errors[0] else 'recased'}"


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

COMMANDS = {  # the output of each command, and its arguments
    "recased/out.txt": "recase -q --lm cap.fst text.txt -o recased/out.txt",
    "trained/out.fst": "train -q --no-clean corpus.txt -o trained/out.fst",
    "exported/out.arpa": "export --lm cap.fst -o exported/out.arpa",
    "imported/out.fst": "import -q model.arpa -o imported/out.fst",
    "mixed/out.fst": "mix cap.fst cap.fst --weights 0.5,0.5 -o mixed/out.fst",
    "batch": "batch -q --lm cap.fst in -o batch",
}
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


def started(output: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start the command with this output."""
    command = [sys.executable, "-m", "capfst", *COMMANDS[output].split()]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, start_new_session=True)


def send(output: str, expected: dict[str, bytes], folder: Path, rng: random.Random, longest: float) -> str:
    """Run a command, which gets a signal at a random moment. Return the command and its outcome."""
    number, out, command = rng.choice(SIGNALS), folder / output, COMMANDS[output]
    with started(output, folder) as process:
        time.sleep(rng.uniform(0, longest))
        process.send_signal(number)
        begin = time.monotonic()
        error = process.communicate(timeout=60)[1].decode(errors="replace")
    if time.monotonic() - begin > 30:
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
    return f"{command.split()[0]}: {'done' if process.returncode == 0 else 'stopped'}"


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
    head, part = (text.replace("{id}", "x") for text in FILES[kind])
    if kind in ONE_WORD:
        fragment = re.sub(r"\s", "_" if kind == "ctm" else " ", fragment)
    escaped = json.dumps(fragment)[1:-1] if '"}' in part else ESCAPES.get(kind, str)(fragment)
    n = size // len(fragment)
    times = n // part.count("{}") if is_long else 3
    slots = [escaped * times] * part.count("{}")
    text = head.replace("{}", "") + part.format(*slots) * (1 if is_long else n // len(slots) // 3)
    return text.removesuffix(",\n") + "]" if head == "[" else text


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
                    part.written(pipeline.recase_text(part.text))

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


# Service

SOON = 10.0  # seconds within which others are served
GRACE = 2  # --timeout of the service
LIMITS = {"timeout": GRACE, "max-requests": 64, "max-connections": 200, "max-body": 1 << 20, "max-file": 1 << 20}
STATUSES = {200, 400, 403, 404, 405, 408, 413, 415, 421, 429, 431, 503}
ORDINARY, ANSWER = {"text": "new york has new information"}, {"text": "New York has new information"}
ODD_VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 1e308, -1e308, 10**30, "", "x", "\0", "new york", "\u0130\u0307", [], [None], ["a", 1], {},
    {"a": {}}, "auto", "keep", "html", "markdown", "de", "<unk>", "a" * 3000, "\n" * 3000, [["a"]] * 9,
]  # fmt: skip
FIELDS = """
    text lines model nbest confidence words document wrapped markup language oov line input_case sentence_case
    start_token breaks context abbreviations restore engine x
""".split()  # noqa: SIM905
ODD_LENGTHS = [0, 1, -1, 9, 10**9, 10**30, "x", "", "1, 2", None]
SUFFIXES = "txt md html json jsonl csv exe srt.gz %00 /../../etc/passwd %ff".split()  # noqa: SIM905
QUERIES = ["", "", "&field=x", "&nbest=2", "&document=true", "&name=b", "&language=xx", "&words=A&words=" + "b" * 300]
HEAD = 70_000  # bytes, of a head that is refused


@dataclass
class Request:
    """A request, as it is sent: bytes that may not be what they say."""

    kind: str
    path: str
    type: str
    body: bytes
    method: str = "POST"
    headers: dict[str, object] = field(default_factory=dict)
    tail: bytes = b""
    copies: int = 1  # that are sent ahead

    def __bytes__(self) -> bytes:
        headers = {"host": "localhost", "content-type": self.type, "content-length": len(self.body)} | self.headers
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items() if v is not None)]
        head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
        return (head + self.body) * self.copies + self.tail


def made_request(rng: random.Random) -> Request:
    """Return a request of a random kind, with odd values."""
    kind = rng.choice(["json", "json", "words", "stream", "file", "text"])
    path, of_type = rng.choice(["/recase"] * 4 + ["/explain"]), "application/json"
    if kind == "json":
        value = {name: rng.choice(ODD_VALUES) for name in rng.sample(FIELDS, rng.choice([0, 0, 1, 4]))}
        value[rng.choice(["text", "lines"])] = rng.choice(["we met mr. brown", ["a", "in new york"], mutated_line(rng)])
        body = json.dumps(rng.choice([value, value, value, list(value.values()), rng.choice(ODD_VALUES)]))
    elif kind == "words":
        body = json.dumps(with_words(rng))
    elif kind == "stream":
        odd = [json.dumps(ORDINARY), json.dumps(mutated_line(rng)), "", "7", "{", f'"{"a" * 5000}"', '{"text": 1}']
        body = "".join(f"{rng.choice(odd)}\n" for _ in range(rng.choice([1, 10, 1000])))
        of_type = "application/x-ndjson"
    elif kind == "text":
        body, of_type = mutated_line(rng), "text/plain"
    else:
        name = rng.choice(list(FILES))
        body, of_type = made_file(rng, name)[0], "application/octet-stream"
        path = f"/files?name=a.{rng.choice([name, name, *SUFFIXES])}{rng.choice(QUERIES)}"
        if rng.random() < 0.3:
            body = f"--x\r\ncontent-disposition: form-data; name=f; filename=a.txt\r\n\r\n{body}\r\n--x--\r\n"
            of_type = rng.choice(["multipart/form-data; boundary=x", "multipart/form-data", "multipart/mixed"])
    return Request(kind, path, of_type, encodable(body).encode())


def with_words(rng: random.Random) -> dict[str, Any]:
    """Return a text with a list of words and phrases, with odd weights, in many casings."""
    odd = ["new york", "the us", "a", "o'neill is", "state-of-the-art", " ".join("ab" * 30), mutated_line(rng)[:200]]
    phrases = [rng.choice(odd), *rng.sample(["we met", "in new york", "york"], rng.randint(0, 2))]
    weights: list[Any] = rng.choice([[None], [1.0], [1.0, -5, 0], [1000, -1000, 1e308, 3]])
    chosen = (rng.choice(phrases) for _ in range(rng.choice([1, 5, 10, 11, 400, 999])))
    words = {"".join(rng.choice([c.upper(), c.lower()]) for c in each): rng.choice(weights) for each in chosen}
    text = rng.choice([" ", "\n"]).join(phrases * rng.choice([1, 50, 5000]))[:900_000]
    asks: list[dict[str, Any]] = [
        {"text": text}, {"lines": text.split("\n")[:9000]}, {"text": text[:1900], "nbest": 100},
        {"text": text, "confidence": True},
    ]  # fmt: skip
    return rng.choice(asks) | {"words": rng.choice([words, list(words)]), "document": rng.random() < 0.2}


def change(request: Request, rng: random.Random) -> None:
    """Change a request at random."""
    match rng.choice(["bytes", "length", "coding", "type", "method", "path", "page", "long head", "tail", "ahead"]):
        case "bytes":
            body = bytearray(request.body)
            for _ in range(rng.choice([1, 5])):
                at = rng.randint(0, len(body))
                body[at : at + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
            request.body = bytes(rng.choice([body, body, rng.randbytes(3000), b"PK\x03\x04", b"\x1f\x8b" * 9]))
        case "length":
            size = len(request.body)
            request.headers["content-length"] = rng.choice([size + 1, size - 1, *ODD_LENGTHS])
        case "coding":
            request.headers["transfer-encoding"] = rng.choice(["chunked", "gzip", "chunked, chunked", "x"])
        case "type":
            request.type = rng.choice(["application/json", "text/plain", "", "multipart/form-data", "\xff"])
        case "method":
            request.method = rng.choice(["GET", "PUT", "HEAD", "OPTIONS"])
        case "path":
            request.path = rng.choice(["/recase?document=true", "/%ff?\xff", "/healthz", "/" + "a" * 2 * HEAD])
        case "page":
            odd = ["example.org", "http://localhost", "null", "cross-site", "\xe9", ""]
            request.headers |= {name: rng.choice(odd) for name in ("host", "origin", "sec-fetch-site")}
        case "long head":
            size = rng.choice([HEAD - 10_000, HEAD + 1, 1 << 20])
            many = {f"a{k}": "b" for k in range(size // 8)}
            request.headers |= rng.choice([{"a": "b" * size}, many])
        case "tail":
            request.tail = rng.choice([b"x", b"\r\n\r\n", b"0\r\n\r\n", b"x" * 5000, b"ffffffffffffffffff\r\n"])
        case "ahead":
            request.copies = rng.choice([2, 5, 100])


class Answers(io.BufferedReader):
    """What comes from a socket; http.client closes it after each answer, which must not lose the next one."""

    def makefile(self, mode: str) -> Answers:
        return self

    def close(self) -> None:
        pass


class Client:
    """Sends bytes over a connection of its own, and reads answers."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 6 * SOON)
        self.answers = Answers(socket.SocketIO(self.socket, "r"))

    def send(self, data: bytes) -> None:
        """Send as much as the service takes."""
        with suppress(OSError):
            self.socket.sendall(data)

    def answer(self, method: str = "POST") -> tuple[int, bytes]:
        """Return the status of the next answer and its body; (0, b"") if the connection is closed before.

        Raises:
            FuzzingError: no answer, or one that is not as documented.
        """
        answer = http.client.HTTPResponse(self.answers, method=method)  # type: ignore[arg-type]
        try:
            answer.begin()
            body = answer.read()
        except TimeoutError as error:
            raise FuzzingError("no answer") from error
        except (OSError, http.client.HTTPException):  # the service may close a connection after an error
            return 0, b""
        if answer.status not in STATUSES:
            raise FuzzingError(f"status {answer.status}: {body[:300]!r}")
        if method == "HEAD":
            return answer.status, b""
        if answer.status != 200:
            told = json.loads(body)["error"]
            if set(told) != {"status", "message"} or told["status"] != answer.status or "\n" in told["message"]:
                raise FuzzingError(f"status {answer.status} with the error {told}")
        elif answer.headers.get_content_type() == "application/json":
            json.loads(body, parse_constant=_no_number)
            if b'"cost":null' in body:
                raise FuzzingError(f"a cost is not finite: {body[:300]!r}")
        return answer.status, body

    def end(self, fate: str) -> None:
        """Close the connection; or reset it, so that the service cannot answer."""
        if fate == "reset":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def _no_number(name: str) -> None:
    raise FuzzingError(f"the answer has {name}")


def attack(rng: random.Random, port: int) -> str:
    """Send a request, with some changes, whole or in part. Return its kind, what happened to it, and the status."""
    request = made_request(rng)
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        change(request, rng)
    data, fate = bytes(request), rng.choice(["whole"] * 6 + ["stalls", "gone", "reset"])
    if fate != "whole":
        cut = data[: rng.choice([len(data), len(data) - 1, rng.randint(0, len(data))])]
        return f"{request.kind}, {fate}: {partly(cut, request.method, fate, rng, port)}"
    client = Client(port)
    client.send(data)
    status, _ = client.answer(request.method)
    n_answers = 1
    while n_answers < request.copies and client.answer(request.method)[0]:
        n_answers += 1
    client.socket.close()
    if status == 200 and request.copies == 1 and len(data) - len(request.body) > HEAD + len(request.tail):
        raise FuzzingError(f"a head of {len(data) - len(request.body):,} bytes is accepted")
    return f"{request.kind}: {status}"


def partly(data: bytes, method: str, fate: str, rng: random.Random, port: int) -> int:
    """Send a part of a request over one or more connections, which may stall. Return the largest status."""
    clients = [Client(port) for _ in range(rng.choice([1, 10, 40]) if fate == "stalls" else 1)]
    for client in clients:
        client.send(data)
    end = time.monotonic() + (rng.choice([0, 0.5, 2 * GRACE]) if fate == "stalls" else 0)
    while time.monotonic() < end:
        time.sleep(0.1)
        for client in clients:
            client.send(rng.choice([b"", b"", b" "]))
    statuses = {0}
    for client in clients:
        client.socket.settimeout(0.01)
        if fate == "stalls":
            with suppress(FuzzingError):  # nothing has been answered yet
                statuses.add(client.answer(method)[0])
        client.end(fate)
    return max(statuses)


def ordinary(port: int) -> float:
    """Make ordinary requests. Return how many seconds the slowest takes; FuzzingError if one is not answered soon."""
    slowest = 0.0
    body = json.dumps(ORDINARY).encode()
    for request in Request("", "/healthz", "", b"", "GET"), Request("", "/recase", "application/json", body):
        begin = time.monotonic()
        client = Client(port)
        client.send(bytes(request))
        status, found = client.answer(request.method)
        client.socket.close()
        seconds = time.monotonic() - begin
        if status != 200 or (request.body and json.loads(found) != ANSWER):
            raise FuzzingError(f"others get status {status} from {request.path}: {found[:200]!r}")
        if seconds > SOON:
            raise FuzzingError(f"others wait {seconds:.1f} s for {request.path}")
        slowest = max(slowest, seconds)
    return slowest


def stopped(process: subprocess.Popen[bytes], port: int, rng: random.Random) -> tuple[int | None, float]:
    """Send SIGTERM to a service that has slow work and half requests. Return its status, and the seconds it takes."""
    text, words = "we met in new york " * 40_000, {"we met": 1.0, "In New": 1.0, "in New": 1.0}
    slow = Request("", "/recase", "application/json", json.dumps({"text": text, "words": words}).encode())
    clients = [Client(port) for _ in range(9)]
    for client in clients:
        client.send(rng.choice([bytes(slow), bytes(slow)[:200]]))
    process.send_signal(signal.SIGTERM)
    begin = time.monotonic()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE + SOON)
    return process.returncode, time.monotonic() - begin


def _port(process: subprocess.Popen[bytes], log: IO[str]) -> int:
    """Return the port on which a service listens; wait until it does."""
    while process.poll() is None:
        log.seek(0)
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read()):
            return int(found[1])
        time.sleep(0.05)
    raise FuzzingError("the service does not start")


# Command line


def in_order(function: Callable[[Any], Any], model: str, number: int, seed: int, jobs: int) -> Iterator[Any]:
    """Yield the results of a function of this module for a number of seeds."""
    module = importlib.import_module(Path(__file__).stem)  # not __main__, which worker processes lack
    return map_in_processes(getattr(module, function.__name__), ((model, seed + k) for k in range(number)), jobs)


def trained(folder: Path, lines: Sequence[str] = LINES, **options: Any) -> str:
    """Train a small model of Python's help; the network of its punctuation, if it has one, in a few steps."""
    punctuation.LEAST_STEPS = 20
    (folder / "corpus.txt").write_text("\n".join([*lines, *(" ".join(TRICKY) for _ in range(3))]), "utf-8", "replace")
    capfst.train(folder / "corpus.txt", folder / "cap.fst", clean=False, **options)
    return str(folder / "cap.fst")


def show(counts: Counter[str], result: str) -> None:
    for kind, count in sorted(counts.items()):
        click.echo(f"{count:7,} {kind}")
    click.echo(f"{sum(counts.values()):,} {result}")


number_argument = click.argument("number", type=int)
seconds_argument = click.argument("seconds", type=float)
seed_option = click.option("--seed", default=0, help="The first seed.")
jobs_option = click.option("--jobs", default=os.cpu_count(), help="Number of worker processes.")
in_processes = together(number_argument, seed_option, jobs_option)
threads_option = click.option("--threads", default=4, show_default=True)
lm_option = click.option("--lm", default="en", help="Model.")


@click.group()
def cli() -> None:
    """Attack capfst with random input."""


@cli.command()
@in_processes
@lm_option
def lines(number: int, lm: str, seed: int, jobs: int) -> None:
    """Recase mutated lines under all sets of options, at least NUMBER lines × sets."""
    done = sum(in_order(recase_lines, lm, -(-number // (BLOCK * len(OPTIONS))), seed, jobs))
    click.echo(f"{done:,} lines × sets of options: in none more than case has changed")


@cli.command()
@in_processes
def files(number: int, seed: int, jobs: int) -> None:
    """Recase NUMBER files of subtitles, transcripts and the like, damaged Parquet files, and streams."""
    with tempfile.TemporaryDirectory() as folder:
        model = trained(Path(folder), LINES[::4], restore="punctuation,case")
        counts = Counter(in_order(recase_files, model, number, seed, jobs))
    show(counts, "files and streams: in none, more than the case of text, and marks, have changed")


@cli.command()
@in_processes
def models(number: int, seed: int, jobs: int) -> None:
    """Recase with NUMBER damaged models."""
    with tempfile.TemporaryDirectory() as folder:
        small = trained(Path(folder), max_words=300, max_ngrams=2000)
        counts = Counter(in_order(recase_damaged, small, number, seed, jobs))
    show(counts, "damaged models: no crash, and in no output more than case has changed")


@cli.command()
@in_processes
def growth(number: int, seed: int, jobs: int) -> None:
    """Recase NUMBER repeated fragments, as texts and in files, at two sizes."""
    with tempfile.TemporaryDirectory() as folder:
        model = trained(Path(folder), LINES[::4], restore="punctuation,case")
        counts = Counter(in_order(measure_growth, model, number, seed, jobs))
    show(counts, "repeated fragments: the time grows with the size")


@cli.command()
@number_argument
@seed_option
def signals(number: int, seed: int) -> None:
    """Send NUMBER signals to commands."""
    rng, counts = random.Random(seed), Counter[str]()
    expected, seconds = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trained(folder)
        (folder / "in").mkdir()
        for k in range(4):
            (folder / "in" / f"{k}.txt").write_text("\n".join(LINES * 10))
        (folder / "text.txt").write_text("\n".join(LINES * 30))
        export_arpa(folder / "cap.fst", folder / "model.arpa")
        for output in COMMANDS:
            (folder / output).parent.mkdir(exist_ok=True)
            begin = time.monotonic()
            with started(output, folder) as process:
                process.communicate()
            seconds[output] = time.monotonic() - begin
            expected[output] = written(folder / output)
        for k in range(number):
            output = [*COMMANDS][k % len(COMMANDS)]
            counts[send(output, expected[output], folder, rng, 1.1 * seconds[output])] += 1
            if k % 8 == 7:  # batch resumes in between
                for path in (folder / "batch").glob("*"):
                    path.unlink()
        with started("batch", folder) as process:
            process.communicate()
        if written(folder / "batch") != expected["batch"]:
            raise FuzzingError("the resumed batch differs from one without signals")
    show(counts, "signals: nothing half-written, and the resumed batch is the same")


@cli.command()
@seconds_argument
@threads_option
def soak(seconds: float, threads: int) -> None:
    """Load and recase in threads for SECONDS, while the model is replaced."""
    text, counts = "\n".join(LINES[:300]), Counter[str]()
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
        before = resident(sys.maxsize)
        for thread in running:
            thread.join()
        if failures:
            raise FuzzingError(failures[0])
        described = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
        click.echo(f"{seconds:g} s: {described}; resident memory {before >> 20} → {resident(sys.maxsize) >> 20} MiB")


@cli.command()
@seconds_argument
@lm_option
@threads_option
@seed_option
def service(seconds: float, lm: str, threads: int, seed: int) -> None:
    """Attack a service for SECONDS, while others use it."""
    counts, slowest = Counter[str](), 0.0
    failures: list[str] = []
    limits = [part for name, value in LIMITS.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "capfst", "serve", "--port", "0", "--lm", lm, *limits]
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            port, end = _port(process, log), time.monotonic() + seconds

            def work(k: int) -> None:
                for number in range(seed + k, sys.maxsize, threads):
                    if time.monotonic() > end or failures:
                        return
                    try:
                        counts[attack(random.Random(number), port)] += 1
                    except Exception as error:
                        failures.append(f"seed {number}: {error!r}")

            running = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
            for thread in running:
                thread.start()
            while any(thread.is_alive() for thread in running) and not failures:
                try:
                    slowest = max(slowest, ordinary(port))
                except (FuzzingError, OSError) as error:
                    failures.append(f"seeds from {seed}: {error}")
                counts["ordinary"] += 1
                time.sleep(0.05)
            for thread in running:
                thread.join()
            status, ended = (None, 0.0) if failures else stopped(process, port, random.Random(seed))
        finally:
            process.kill()
        log.seek(0)
        logged = log.read()
    if failures or status != 0 or "Traceback" in logged or "not finished" in logged:
        raise FuzzingError(f"{'; '.join(failures)}, status {status} after SIGTERM, and the log: {logged[-2000:]}")
    show(
        counts,
        f"attacks and ordinary requests, of which the slowest took {slowest:.1f} s; ended {ended:.1f} s after SIGTERM",
    )


if __name__ == "__main__":
    with exit_status():
        cli(standalone_mode=False)
