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
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from pydoc_data.topics import topics
from typing import IO, Any, NamedTuple

import click

import capfst
from capfst.batch.report import DONE, FileReport
from capfst.batch.run import run_batch
from capfst.cli.exit_status import exit_status
from capfst.cli.live import recase_stream
from capfst.exceptions import CapfstError, CorpusError, OptionError
from capfst.io.outputs import plan
from capfst.io.protocol import BatchOptions, TextOptions
from capfst.io.speech import reader
from capfst.io.text_blocks import text_blocks
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

FILES = {  # the beginning of a file of each format, and what it repeats: {} is text, {id} must stay as it is
    "srt": ("", "7\n00:00:01,000 --> 00:00:02,000\n<i>{}</i>\n- {}\n\n"),
    "vtt": (
        "WEBVTT\n\nNOTE {id}\n\n",
        "00:01.000 --> 00:02.000 align:{id}\n<v {id}>{}\n{}<00:01.500><c.{id}> {}</c>\n\n",
    ),
    "ass": ("[Events]\n", "Dialogue: 0,0:00:01.00,0:00:02.00,{id},,0,0,0,,{{\\i1}}{}\\N{{\\p1}}m 0 0{{\\p0}}{}\n"),
    "sbv": ("", "0:00:01.000,0:00:02.000\n{}[br]{}\n\n"),
    "ttml": (
        '<?xml version="1.0"?>\n<tt xmlns="http://www.w3.org/ns/ttml"><head><title>{id}</title></head><body>\n',
        '<p begin="1s" end="2s" Region="{id}">{}<br/><span Style="{id}">{}</span> &amp; {}</p>\n',
    ),
    "lrc": ("[Re:{id}]\n[ar:{}]\n", "[00:12.00]{}\n[00:12.00]<00:12.10> {}<00:13.10> {}\n[La:{id}]\n"),
    "po": (
        'msgid ""\nmsgstr ""\n"X-{id}: {id}\\n"\n\n',
        '#: {id}\nmsgctxt "{id}"\nmsgid "{id}"\nmsgstr "{}"\n"{}\\n"\n\n',
    ),
    "textgrid": (
        'File type = "ooTextFile"\nObject class = "TextGrid"\n',
        'class = "IntervalTier"\nname = "{id}"\nxmin = 0\ntext = "{}"\ntext = "{}"\n',
    ),
    "ctm": (";; {id}\n", "call {id} 0.1 -0.2 {} 0.9\n"),
    "stm": ("", "call 1 {id} 0.1 0.2 <o,{id}> {} (%hm) {}\n"),
    "kaldi": ("", "{id} {}\n"),
    "json": ("", '{{"Id{id}":"{id}", "text" :"{}"}}\n'),
    "transcript": (
        "[",
        '{{"text": "{}", "words": [{{"word": "{}", "speaker": "{id}"}}, {{"word": "{}", "Id": "{id}"}}]}},\n',
    ),
    "youtube": ("[", '{{"events":[{{"Id":"{id}","segs":[{{"utf8":"{}"}},{{"utf8":" {}"}}]}}]}},\n'),
    "rev": (
        "[",
        '{{"monologues":[{{"speaker":"{id}","elements":[{{"value":"{}"}},{{"value":" "}},{{"value":"{}"}}]}}]}},\n',
    ),
}
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
    characters = list(text.encode(errors="replace").decode())
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
        text = "\n".join(mutated_line(rng).encode(errors="replace").decode() for _ in range(3))
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


class _Silent:
    """A listener that prints nothing of a batch."""

    def begin(self, files: int, size: int) -> None:
        """Ignore the start."""

    def advance(self, more: int) -> None:
        """Ignore what has been read."""

    def file(self, report: FileReport) -> None:
        """Ignore a file."""


def _recase_parquet(recaser: capfst.Recaser, rng: random.Random, seed: int) -> str:
    """Recase a damaged Parquet file in a batch beside a good file, and train on it; return what became of it."""
    import pyarrow as pa  # noqa: PLC0415  (optional)
    import pyarrow.parquet as pq  # noqa: PLC0415

    lines = [mutated_line(rng).encode(errors="replace").decode() for _ in range(20)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        table = pa.table({"text": lines, "nome": list(range(20))})
        pq.write_table(
            table, folder / "in" / "a.parquet", row_group_size=rng.choice([7, 20]), store_schema=rng.random() < 0.5
        )
        content = bytearray((folder / "in" / "a.parquet").read_bytes())
        size = int.from_bytes(content[-8:-4], "little")
        for _ in range(rng.choice([0, 1, 1, 4])):  # mostly in the metadata
            at = (
                rng.randrange(len(content) - size - 8, len(content))
                if rng.random() < 0.8
                else rng.randrange(len(content))
            )
            content[at] = rng.randrange(256)
        (folder / "in" / "a.parquet").write_bytes(content)
        (folder / "in" / "b.txt").write_text("a line\n")
        options = BatchOptions(errors=rng.choice(["strict", "replace"]), on_error=rng.choice(["fail", "pass", "drop"]))
        todo = plan([folder / "in"], folder / "out", folder / "no.fst", options)
        done = run_batch(todo, folder / "out", recaser, options, jobs=1, listener=_Silent())
        by_name = {Path(report.input).name: report for report in done.files}
        if by_name["b.txt"].status != DONE or len(by_name) != 2:
            raise FuzzingError(f"seed {seed}: a damaged Parquet file stopped the others: {done}")
        error = by_name["a.parquet"].error or ""
        if "report this as a bug" in error:
            raise FuzzingError(f"seed {seed}: {error}")
        try:
            for _ in text_blocks([folder / "in" / "a.parquet"], TextOptions(column=("text",))):
                pass
        except (CorpusError, OptionError) as refused:
            if "report this as a bug" in str(refused):
                raise FuzzingError(f"seed {seed}: {refused}") from refused
        return f"parquet {'refused' if error else 'recased'}"


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
STATUSES = {200, 400, 403, 404, 405, 408, 413, 415, 421, 429, 431, 503}
ORDINARY, ANSWER = {"text": "new york has new information"}, {"text": "New York has new information"}
LIMITS = {"timeout": GRACE, "max-requests": 64, "max-connections": 200, "max-body": 1 << 20, "max-file": 1 << 20}
ODD_VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 1e308, -1e308, 10**30, "", "x", "\0", "new york", "\u0130\u0307", [], [None], ["a", 1], {},
    {"a": {}}, "auto", "keep", "html", "markdown", "de", "<unk>", "a" * 3000, "\n" * 3000, [["a"]] * 9,
]  # fmt: skip
FIELDS = [
    "text", "lines", "model", "nbest", "confidence", "words", "document", "wrapped", "markup", "language", "oov",
    "line", "input_case", "sentence_case", "start_token", "breaks", "context", "abbreviations", "restore",
    "engine", "x",
]  # fmt: skip


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


def _no_number(name: str) -> None:
    raise FuzzingError(f"the answer has {name}")


def asked(
    path: str, body: bytes = b"", kind: str = "application/json", host: str = "localhost", method: str = "POST",
    **headers: object,
) -> bytes:  # fmt: skip
    """Return a request."""
    headers = {"content_type": kind, "content_length": len(body)} | headers
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value is not None]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def with_case(text: str, rng: random.Random) -> str:
    """Return a text in random case."""
    return "".join(rng.choice([str.upper, str.lower])(character) for character in text)


def odd_bodies(rng: random.Random, port: int) -> str:
    """Send an object with odd fields, in which some bytes may be changed."""
    fields = {name: rng.choice(ODD_VALUES) for name in rng.sample(FIELDS, rng.choice([0, 0, 1, 4]))}
    if rng.random() < 0.9:
        fields[rng.choice(["text", "text", "lines"])] = rng.choice(
            ["we met mr. brown", ["a", "in new york"], mutated_line(rng)]
        )
    body = bytearray(
        json.dumps(rng.choice([fields, fields, fields, list(fields.values()), rng.choice(ODD_VALUES)])).encode()
    )
    for _ in range(rng.choice([0, 0, 0, 1, 5])):
        at = rng.randint(0, len(body))
        body[at : at + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
    path = rng.choice(
        ["/recase", "/recase", "/explain", "/recase?document=true", "/recase?words=A&words=" + "b" * 300, "/%ff?\xff"]
    )
    kind = rng.choice(
        ["application/json"] * 4 + ["text/plain", "application/x-ndjson", "", "multipart/form-data", "\xff"]
    )
    client = Client(port)
    method = rng.choice(["POST"] * 9 + ["GET", "PUT", "HEAD", "OPTIONS"])
    client.send(asked(path, bytes(body), kind, method=method))
    return f"odd body: {client.answer(method)[0]}"


def wrong_lengths(rng: random.Random, port: int) -> str:
    """Send a body of another length than was said."""
    body = json.dumps(ORDINARY).encode()
    client = Client(port)
    length = rng.choice([0, 1, len(body) - 1, len(body) + 1, -1, 10**9, 10**30, "x", "", "1, 2", None])
    coding = rng.choice([None, None, "chunked", "gzip", "chunked, chunked", "x"])
    data = asked(rng.choice(["/recase", "/files?name=a.txt"]), body, content_length=length, transfer_encoding=coding)
    client.send(data + rng.choice([b"", b"\r\n\r\n", b"0\r\n\r\n", b"x" * 5000, b"ffffffffffffffffff\r\n"]))
    return f"wrong length: {client.answer()[0]}"


def stalls(rng: random.Random, port: int) -> str:
    """Send parts of requests over several connections, and keep these open for a while."""
    data = rng.choice(
        [
            asked("/recase", json.dumps(ORDINARY).encode()), asked("/recase", b"", content_length=9),
            asked("/files?name=a.srt", b"1\n", content_length=99),
            asked("/recase", b"a" * 5000, content_length=1 << 20),
            asked("/recase", b'"new york"\n"', "application/x-ndjson", content_length=1 << 20), b"",
        ]
    )  # fmt: skip
    clients = [Client(port) for _ in range(rng.choice([1, 10, 40]))]
    for client in clients:
        client.send(data[: rng.choice([len(data), len(data) - 1, rng.randint(0, len(data))])])
    end = time.monotonic() + rng.choice([0, 0.5, 2 * GRACE])
    while time.monotonic() < end:
        time.sleep(0.1)
        for client in clients:
            client.send(rng.choice([b"", b"", b" "]))
    statuses = set()
    for client in clients:
        client.socket.settimeout(0.01)
        with suppress(FuzzingError):  # nothing has been answered yet
            statuses.add(client.answer()[0])
        client.socket.close()
    return f"stalled: {min(statuses - {0}, default=0)}"


def long_heads(rng: random.Random, port: int) -> str:
    """Send a head, trailers or an extension of a chunk that are long."""
    size = rng.choice([60_000, 70_000, 120_000, 1 << 20])
    many = b"a: b\r\n" * (size // 6)
    chunked = asked("/recase", b"1\r\na\r\n", "text/plain", content_length=None, transfer_encoding="chunked")
    data = rng.choice(
        [
            b"GET / HTTP/1.1\r\na: " + b"b" * size + b"\r\n\r\n", b"GET /?" + b"b" * size + b" HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + many + b"\r\n", b"GET / HTTP/1.1\r\n" + many, chunked + b"0\r\n" + many + b"\r\n",
            chunked + b"1;" + b"a" * size + b"\r\na\r\n0\r\n\r\n", b"\r\n" * (size // 2), rng.randbytes(size),
        ]
    )  # fmt: skip
    client = Client(port)
    client.send(data)
    status, _ = client.answer()
    if status == 200 and size > 70_000:
        raise FuzzingError(f"a head of {size:,} bytes is accepted: {data[:40]!r}")
    return f"long head: {status}"


def many_words(rng: random.Random, port: int) -> str:
    """Recase a text with a list of words and phrases, with odd weights, in many casings."""
    phrases = [
        rng.choice(
            ["new york", "the us", "a", "o'neill is", "state-of-the-art", " ".join("ab" * 30), mutated_line(rng)[:200]]
        )
    ]
    phrases += rng.sample(["we met", "in new york", "york"], rng.randint(0, 2))
    weights: list[Any] = rng.choice([[None], [1.0], [1.0, -5, 0], [1000, -1000, 1e308, 3]])
    number = rng.choice([1, 5, 10, 11, 400, 999])
    words = {with_case(rng.choice(phrases), rng): rng.choice(weights) for _ in range(number)}
    text = rng.choice([" ", "\n"]).join(phrases * rng.choice([1, 50, 5000]))[:900_000]
    asks: dict[str, Any] = rng.choice(
        [
            {"text": text},
            {"lines": text.split("\n")[:9000]},
            {"text": text[:1900], "nbest": 100},
            {"text": text, "confidence": True},
        ]
    )
    body = asks | {"words": rng.choice([words, words, list(words)]), "document": rng.random() < 0.2}
    client = Client(port)
    client.send(asked(rng.choice(["/recase"] * 4 + ["/explain"]), json.dumps(body).encode()))
    if rng.random() < 0.3:
        client.socket.close()
        return "words: gone"
    return f"words: {client.answer()[0]}"


def foreign_pages(rng: random.Random, port: int) -> str:
    """Send what a browser sends for the pages of others."""
    host = rng.choice(["localhost", f"127.0.0.1:{port}", "[::1]", "example.org", "localhost.example.org", "\xe9", ""])
    origin = rng.choice([None, f"http://{host}", "https://example.org", "null", "http://localhost:1", "\xe9"])
    site = rng.choice([None, None, "same-origin", "cross-site", "none", "x"])
    client = Client(port)
    client.send(asked("/recase", json.dumps(ORDINARY).encode(), host=host, origin=origin, sec_fetch_site=site))
    status, _ = client.answer()
    is_own = origin == f"http://{host}" if site is None else site in ("same-origin", "none")
    is_accepted = host in ("localhost", f"127.0.0.1:{port}", "[::1]") and (is_own or (origin is None and site is None))
    if status not in (429, 503) and (status == 200) != is_accepted:
        raise FuzzingError(f"host {host!r}, origin {origin!r}, site {site!r}: status {status}")
    return f"page: {status}"


def streams(rng: random.Random, port: int) -> str:
    """Send a stream of lines, some of them odd; maybe go away in the middle."""
    lines = [
        rng.choice(
            [json.dumps(ORDINARY), json.dumps(mutated_line(rng)), "", "7", "{", '"' + "a" * 5000 + '"', '{"text": 1}']
        )
        for _ in range(rng.choice([1, 10, 1000]))
    ]
    data = "".join(f"{line}\n" for line in lines).encode()
    client = Client(port)
    head = asked("/recase", b"", "application/x-ndjson", content_length=len(data), connection="close")
    client.send(head + data[: rng.choice([len(data), len(data), rng.randint(0, len(data))])])
    fate = rng.choice(["answered", "answered", "gone", "reset"])
    if fate == "answered":
        status, body = client.answer()
        answers = [json.loads(line) for line in body.splitlines()]
        is_whole = status == 200 and len(answers) == len(lines) and answers[0] is not None
        return f"stream: {status}{', whole' if is_whole else ''}"
    if fate == "reset":
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.socket.close()
    return f"stream: {fate}"


def uploads(rng: random.Random, port: int) -> str:
    """Send a file, whose name or content may not be what it says."""
    kind = rng.choice(list(FILES))
    content = rng.choice(
        [made_file(rng, kind)[0].encode(errors="replace"), rng.randbytes(3000), b"", b"PK\x03\x04", b"\x1f\x8b" * 9]
    )
    boundary = "--x\r\ncontent-disposition: form-data; name=f; filename=a.txt\r\n\r\n"
    form = rng.choice(
        [None, None, "multipart/form-data; boundary=x", "multipart/form-data", "multipart/mixed; boundary=" + "x" * 999]
    )
    body = content if form is None else boundary.encode() + content + rng.choice([b"\r\n--x--\r\n", b"", b"\r\n--x"])
    suffix = "json" if kind == "transcript" else kind
    suffix = rng.choice(
        [
            suffix,
            suffix,
            suffix,
            "txt",
            "md",
            "html",
            "json",
            "jsonl",
            "csv",
            "exe",
            "srt.gz",
            "%00",
            "/../../etc/passwd",
            "%ff",
        ]
    )
    path = f"/files?name=a.{suffix}" + rng.choice(
        ["", "", "&field=x", "&nbest=2", "&document=true", "&name=b", "&language=xx"]
    )
    client = Client(port)
    client.send(asked(path, body, form or "application/octet-stream"))
    return f"file: {client.answer()[0]}"


def ahead(rng: random.Random, port: int) -> str:
    """Send several requests over one connection without waiting."""
    client = Client(port)
    requests = [
        asked("/recase", json.dumps(ORDINARY).encode()),
        asked("/healthz", method="GET"),
        asked("/explain", b'{"text": "us"}'),
    ]
    number = rng.choice([2, 5, 100])
    client.send(b"".join(rng.choice(requests) for _ in range(number)) + rng.choice([b"", b"x", b"\r\n\r\n"]))
    answered = 0
    while answered < number and client.answer()[0]:
        answered += 1
    return f"requests ahead: {'all' if answered == number else 'some'}"


ATTACKS = [odd_bodies, wrong_lengths, stalls, long_heads, many_words, foreign_pages, streams, uploads, ahead]


def ordinary(port: int) -> float:
    """Make ordinary requests. Return how many seconds the slowest takes; FuzzingError if one is not answered soon."""
    slowest = 0.0
    for method, path, body, expected in (
        ("GET", "/healthz", b"", None),
        ("POST", "/recase", json.dumps(ORDINARY).encode(), ANSWER),
    ):
        begin = time.monotonic()
        client = Client(port)
        client.send(asked(path, body, method=method))
        status, found = client.answer(method)
        client.socket.close()
        seconds = time.monotonic() - begin
        if status != 200 or (expected and json.loads(found) != expected):
            raise FuzzingError(f"others get status {status} from {path}: {found[:200]!r}")
        if seconds > SOON:
            raise FuzzingError(f"others wait {seconds:.1f} s for {path}")
        slowest = max(slowest, seconds)
    return slowest


# Command line


def in_order(function: Callable[[Any], Any], tasks: Iterable[Any], jobs: int) -> Iterator[Any]:
    """Yield the results of a function of this module."""
    module = importlib.import_module(Path(__file__).stem)  # not __main__, which worker processes lack
    return map_in_processes(getattr(module, function.__name__), tasks, jobs)


def trained(folder: Path, **options: Any) -> str:
    """Train a small model of Python's help; the network of its punctuation, if it has one, in a few steps."""
    punctuation.LEAST_STEPS = 50
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
    """Recase NUMBER files of subtitles, transcripts and the like, damaged Parquet files, and streams."""
    with tempfile.TemporaryDirectory() as folder:
        model = trained(Path(folder), restore="punctuation,case")
        counts = Counter(in_order(recase_files, ((model, seed + k) for k in range(number)), jobs))
    for kind, count in sorted(counts.items()):
        click.echo(f"{count:7,} {kind}")
    click.echo(
        f"{sum(counts.values()):,} files and streams: in none, more than the case of text, and marks, have changed"
    )


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


@cli.command()
@click.argument("seconds", type=float)
@click.option("--lm", default="en", help="Model.")
@click.option("--threads", default=4, show_default=True)
@seed_option
def service(seconds: float, lm: str, threads: int, seed: int) -> None:
    """Attack a service for SECONDS, while others use it."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    slowest = 0.0
    limits = [part for name, value in LIMITS.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "capfst", "serve", "--port", "0", "--lm", lm, *limits]
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            port = _port(process, log)
            end = time.monotonic() + seconds

            def work(k: int) -> None:
                for number in range(seed + k, sys.maxsize, threads):
                    if time.monotonic() > end or failures:
                        return
                    rng = random.Random(number)
                    attack = rng.choice(ATTACKS)
                    try:
                        counts[attack(rng, port)] += 1
                    except Exception as error:
                        failures.append(f"seed {number}, {attack.__name__}: {error!r}")

            running = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
            for thread in running:
                thread.start()
            while any(thread.is_alive() for thread in running):
                try:
                    slowest = max(slowest, ordinary(port))
                except (FuzzingError, OSError) as error:
                    failures.append(f"seeds from {seed}: {error}")
                    break
                counts["ordinary"] += 1
                time.sleep(0.05)
            for thread in running:
                thread.join()
            if failures or process.poll() is not None:
                log.seek(0)
                found = f"{'; '.join(failures)}, status {process.returncode}, log: {log.read()[-2000:]}"
                raise FuzzingError(found)
            rng = random.Random(seed)
            clients = [Client(port) for _ in range(9)]
            for client in clients:  # slow work, and half a request
                text, words = "we met in new york " * 40_000, {"we met": 1.0, "In New": 1.0, "in New": 1.0}
                body = json.dumps({"text": text, "words": words}).encode()
                client.send(rng.choice([asked("/recase", body), asked("/recase", body[:9], content_length=99)]))
            process.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            try:
                status = process.wait(GRACE + SOON)
            except subprocess.TimeoutExpired:
                status = None
            ended = time.monotonic() - begin
        finally:
            process.kill()
        log.seek(0)
        logged = log.read()
    if status != 0 or "Traceback" in logged or "not finished" in logged:
        raise FuzzingError(f"status {status} after SIGTERM, and the log: {logged[-2000:]}")
    for outcome, count in sorted(counts.items()):
        click.echo(f"{count:7,} {outcome}")
    click.echo(
        f"{seconds:g} s: {sum(counts.values()):,} attacks and ordinary requests, of which the slowest took"
        f" {slowest:.1f} s; ended {ended:.1f} s after SIGTERM"
    )


def _port(process: subprocess.Popen[bytes], log: IO[str]) -> int:
    """Return the port on which a service listens; wait until it does."""
    while process.poll() is None:
        log.seek(0)
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read()):
            return int(found[1])
        time.sleep(0.05)
    raise FuzzingError("the service does not start")


if __name__ == "__main__":
    with exit_status():
        cli(standalone_mode=False)
