"""Runs capfst as users do: `run` in this process; `run_process` and `start` where the process is what is tested."""

import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from unittest.mock import patch

from capfst.cli import main

CAPFST = [sys.executable, "-m", "capfst"]
TIMEOUT = 120
"""Seconds after which a process that is tested has hung, be it on a busy machine."""
CORPUS = """\
In New York, the mayor met Mr. O'Neill and an IBM engineer.
The mayor of New York said that China's iPhone was made in China.
We don't think they're in Paris, France.
The president of the U.S. met the president of France.
"""


def run(*arguments, stdin: bytes | str = b"", code: int = 0) -> subprocess.CompletedProcess:
    """What `main` prints and returns, in this process: NumPy and the models are not loaded anew."""
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
    return _checked(subprocess.CompletedProcess(command, status, out.buffer.getvalue(), err.buffer.getvalue()), code)


@contextmanager
def _delivered(stdin: bytes | str) -> Iterator[None]:
    """File descriptor 0, which commands read, delivers `stdin`."""
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


def run_process(*arguments, stdin: bytes | str = b"", code: int = 0, **options) -> subprocess.CompletedProcess:
    """The same in a process of its own, which takes the options of `subprocess.run`."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": TIMEOUT} | options
    return _checked(subprocess.run([*CAPFST, *map(str, arguments)], input=stdin, check=False, **options), code)


def _checked(done: subprocess.CompletedProcess, code: int) -> subprocess.CompletedProcess:
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


@contextmanager
def start(*arguments, **options) -> Iterator[subprocess.Popen]:
    """A process of capfst, which outlives no test. It takes the options of `subprocess.Popen`. SIGHUP ends it, even if
    the tests run under nohup."""
    options = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)} | options
    with subprocess.Popen([*CAPFST, *map(str, arguments)], **options) as process:
        try:
            yield process
        finally:
            process.kill()


def message(done: subprocess.CompletedProcess) -> str:
    """The one line of an error."""
    assert done.stdout == b""
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("capfst: error: ")
    return lines[0]
