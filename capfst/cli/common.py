"""What the commands share: options, types of values, text in and out, and how errors become exit statuses."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from capfst import models
from capfst.exceptions import CapfstError, one_line
from capfst.system.compilation import compiling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from capfst.corpus.compression import OnRead

_SOON = 0.05  # seconds


class Bytes(click.ParamType):
    """An amount of memory, in bytes: 500M, 2G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        match = re.fullmatch(r"(\d{1,99}(?:\.\d+)?)([kmgt]?)b?", str(value).lower())
        if not match:
            self.fail(f"{value!r} is not an amount of memory: write 500M or 2G", param, context)
        return int(float(match[1]) * 1024 ** " kmgt".index(match[2] or " "))


class Cutoffs(click.ParamType):
    """A count for each order of n-grams, from 1: 0,0,1."""

    name = "n,n,…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[int, ...]:
        try:
            numbers = tuple(map(int, str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers: write 0,0,1", param, context)
        if numbers[0] != 0 or list(numbers) != sorted(numbers):
            self.fail(f"{value}: the first number must be 0, and none less than the one before: 0,0,1", param, context)
        if numbers[-1] >= 1 << 63:
            self.fail(f"{value}: no n-gram is counted so often", param, context)
        return numbers


class Weights(click.ParamType):
    """A weight for each model: 0.7,0.3."""

    name = "w,w,…"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> tuple[float, ...]:
        try:
            return tuple(map(float, str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers: write 0.7,0.3", param, context)


class Model(click.ParamType):
    """A model: its file, or the name of a ready model."""

    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Path:
        return value if isinstance(value, Path) else models.find(value)


FILE, MODEL = click.Path(path_type=Path), Model()

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

lm_option = click.option(
    "--lm",
    type=MODEL,
    default=models.DEFAULT,
    show_default=True,
    envvar=models.VARIABLE,
    show_envvar=True,
    help="Model: a file, as `capfst train` writes it, or the name of a ready model.",
)
model_output_option = click.option("-o", "--output", required=True, type=FILE, help="Model file to write.")
jobs_option = click.option("--jobs", type=click.IntRange(1), help="Number of threads.  [default: one for each core]")
errors_option = click.option(
    "--errors",
    type=click.Choice(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="Bytes that are not UTF-8 are an error, or are replaced by U+FFFD.",
)
align_words_option = click.option(
    "--align-words",
    is_flag=True,
    help="Alignments count the words that `capfst tokenize` gives, not what white space separates.",
)


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator, in the order of `--help`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


casing_options = together(
    click.option(
        "--start-token",
        default="and",
        show_default=True,
        help="Word that stands before each line while it is recased, so that the line's first word gets no capital for"
        " its position.",
    ),
    click.option(
        "--sentence-case",
        is_flag=True,
        help="Take each line for a sentence, or several, and capitalize their first words too.",
    ),
    click.option(
        "--no-breaks",
        "breaks",
        flag_value=False,
        default=True,
        help="Take each line for one sentence: do not look for sentences that begin behind . ? ! or … inside it.",
    ),
    click.option(
        "--oov",
        type=click.Choice(["guess", "pass"]),
        default="guess",
        show_default=True,
        help="Words that the model has never seen: guess their case from their context, or leave them in lower case.",
    ),
    click.option(
        "--restore",
        type=click.Choice(["case", "diacritics", "both"]),
        help="Use the model only if this is what it restores.  [default: whatever it does]",
    ),
    click.option(
        "--no-context",
        "context",
        flag_value=False,
        default=True,
        help="Use the n-gram model alone, without its context model.",
    ),
    click.option(
        "--language",
        help="Language of the text, such as de, if the model knows several.  [default: found sentence by sentence]",
    ),
)
"""The options of `capfst.load` that say what casing is wanted."""

runner_options = together(
    click.option(
        "--runner",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="Run on this machine or on Spark.",
    ),
    click.option(
        "--master",
        help="Spark master, such as local[2] or spark://host:7077; only with --runner spark.  [default: as Spark is"
        " configured]",
    ),
)


def spark_session(runner: str, master: str | None) -> AbstractContextManager[SparkSession | None]:
    """A Spark session for one command; None if it runs on this machine."""
    if runner == "local":
        if master:
            raise click.UsageError("--master is for --runner spark.")
        return nullcontext()
    from capfst.spark.session import session

    return session(master)


def note(text: str, quiet: bool = False) -> None:
    """Prints a line on stderr: something to know that is no error."""
    if not quiet:
        click.echo(f"capfst: {text}", err=True)


def read_text(files: tuple[Path, ...], errors: str, on_read: OnRead | None = None) -> Iterator[bytes]:
    """The text of all files, or of stdin, in blocks of whole lines, of about a PIECE; a file's last line is ended if
    another file follows. `on_read` is given what is read, before decompression."""
    from capfst.corpus.documents import PIECE
    from capfst.corpus.read import read_stream

    for k, file in enumerate(files or (Path("-"),), 1):
        block = b"\n"
        # The raw stream: no lock of Python's is held while a thread waits for input and another one ends the program.
        source = open(0, "rb", 0, closefd=False) if str(file) == "-" else file  # noqa: SIM115
        for block in read_stream(source, size=PIECE, errors=errors, on_read=on_read):  # type: ignore[arg-type]
            yield block
        if k < len(files) and not block.endswith(b"\n"):
            yield b"\n"


class _ReaderGoneError(Exception):
    """Nobody reads stdout any more. (Click would answer a BrokenPipeError itself.)"""


def write_text(blocks: Iterable[bytes | memoryview], out: BinaryIO) -> None:
    """Writes each block as soon as it is there."""
    try:
        for block in blocks:
            out.write(block)
            out.flush()
    except BrokenPipeError as error:
        raise _ReaderGoneError from error
    except OSError as error:
        raise CapfstError(f"cannot write to stdout: {error.strerror}: check where it leads") from error


def show(text: str) -> None:
    """Prints a result, and a line end."""
    write_text([f"{text}\n".encode("utf-8", "surrogateescape")], sys.stdout.buffer)


def _discard_stdout() -> None:
    """Drops what stdout has not taken: Python would complain once more when it closes stdout."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace_closed_streams() -> None:
    """Gives standard streams that are closed (`>&-`) a descriptor that refuses to be read from or written to, or, for
    stderr, forgets: the next file that is opened would get theirs."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if name == "stdout" else os.O_WRONLY)  # gets the lowest free number
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _stop(number: int, frame: object) -> None:
    """Ends the program. A thread that compiles ends itself: numba would drop an exception at some places."""
    error = KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)
    if not compiling.stop(error):
        raise error


def _signal_again(dropped: Any) -> None:
    """C code that calls Python, as numba does when it loads a kernel, drops an exception that comes meanwhile: has the
    signal come once more."""
    if isinstance(dropped.exc_value, (SystemExit, KeyboardInterrupt)):
        status = getattr(dropped.exc_value, "code", 128 + signal.SIGINT)
        threading.Timer(_SOON, os.kill, (os.getpid(), status - 128)).start()
    else:
        sys.__unraisablehook__(dropped)


_MODEL_LOST = (
    b"capfst: error: a file was cut off or overwritten while it was mapped, a model probably: write models beside, and"
    b" move them to their place\n"
)


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def _bus_error(number: int) -> None:
    """A handler of C's: one of Python's would wait for the end of the kernel that cannot read on."""
    os.write(2, _MODEL_LOST)
    os._exit(1)


def announcing(command: click.Command) -> click.Command:
    """The command, which says on stderr when it spends noticeable time on compiling, unless it is `--quiet`."""
    run = command.callback

    @wraps(run)  # type: ignore[arg-type]
    def announced(*args: Any, **options: Any) -> Any:
        compiling.say = None if options.get("quiet") else note
        return run(*args, **options)  # type: ignore[misc]

    command.callback = announced
    return command


@contextmanager
def exit_status() -> Iterator[None]:
    """Runs a command, and ends the program with the command's exit status if it fails or is stopped."""
    _replace_closed_streams()
    ctypes.CDLL(None).signal(signal.SIGBUS, _bus_error)
    sys.unraisablehook = _signal_again
    for number in signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    try:
        yield
        sys.stdout.flush()
    except CapfstError as error:
        click.echo(f"capfst: error: {error}", err=True)
        _discard_stdout()
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        reason = error.strerror or error
        what = f"cannot write to stdout: {reason}: check where it leads"  # `--help` says no more
        if error.filename is not None:
            what = one_line(f"{error.filename}: {reason}: check its name, and what you may do with it")
        click.echo(f"capfst: error: {what}", err=True)
        _discard_stdout()
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        click.echo("capfst: stopped", err=True)
        sys.exit(128 + signal.SIGINT)
    except _ReaderGoneError:
        _discard_stdout()
        sys.exit(128 + signal.SIGPIPE)
    except MemoryError:
        click.echo("capfst: error: out of memory: give it more memory, or use fewer threads (--jobs 1)", err=True)
        sys.exit(1)
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        advice = "give it more memory, more threads (ulimit -u), or less stack for each (ulimit -s)"
        click.echo(f"capfst: error: cannot start a thread: {advice}", err=True)
        sys.exit(1)
