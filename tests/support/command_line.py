"""Run capfst as users do: `run` in this process; `run_process` and `start` in a process of its own, to test that."""

import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest.mock import patch

from capfst.cli import main

CAPFST = [sys.executable, "-m", "capfst"]
TIMEOUT = 120
"""Seconds after which a process under test counts as hung, even on a busy machine."""
CORPUS = """\
In New York, the mayor met Mr. O'Neill and an IBM engineer.
The mayor of New York said that China's iPhone was made in China.
We don't think they're in Paris, France.
The president of the U.S. met the president of France.
"""


def run(*arguments, stdin: bytes | str = b"", code: int = 0) -> CompletedProcess:
    """Run `main` in this process, so that NumPy and the models are loaded once. Return its output; check that its exit
    status is `code`."""
    command = ["capfst", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    status = 0
    with (
        _delivered(stdin),
        _signals_kept(),
        patch.object(sys, "argv", command),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    for stream in out, err:
        stream.flush()
    return _checked(CompletedProcess(command, status, out.buffer.getvalue(), err.buffer.getvalue()), code)


@contextmanager
def _delivered(stdin: bytes | str) -> Iterator[None]:
    """Let file descriptor 0, which commands read, deliver `stdin`."""
    before = os.dup(0)
    with tempfile.TemporaryFile() as source:
        source.write(stdin.encode() if isinstance(stdin, str) else stdin)
        source.seek(0)
        os.dup2(source.fileno(), 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)


@contextmanager
def _signals_kept() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    hook = sys.unraisablehook
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


def run_process(*arguments, stdin: bytes | str = b"", code: int = 0, **options) -> CompletedProcess:
    """Run capfst in a process of its own, with the options of `subprocess.run`."""
    return _run([*CAPFST, *map(str, arguments)], stdin, code, **options)


def run_python(program: str, *arguments, stdin: bytes | str = b"", code: int = 0, **options) -> CompletedProcess:
    """Run a program in Python in a process of its own, with the options of `subprocess.run`."""
    return _run([sys.executable, "-c", program, *map(str, arguments)], stdin, code, **options)


def _run(command: list[str], stdin: bytes | str, code: int, **options) -> CompletedProcess:
    if isinstance(stdin, str):
        stdin = stdin.encode()
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": TIMEOUT} | options
    return _checked(subprocess.run(command, input=stdin, check=False, **options), code)


def _checked(done: CompletedProcess, code: int) -> CompletedProcess:
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


@contextmanager
def start(*arguments, program: str = "", **options) -> Iterator[subprocess.Popen]:
    """Start a process of capfst, or of a program in Python, with the options of `subprocess.Popen`, and kill it in the
    end. SIGHUP ends it, even if the tests run under nohup."""
    command = [sys.executable, "-c", program] if program else CAPFST
    options = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)} | options
    with subprocess.Popen([*command, *map(str, arguments)], **options) as process:
        try:
            yield process
        finally:
            process.kill()


def message(done: CompletedProcess) -> str:
    """Return the error message; check that it is one line on stderr, and that stdout is empty."""
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("capfst: error: ")
    return lines[0]
