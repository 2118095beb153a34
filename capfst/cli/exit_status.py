"""The end of a command: errors and signals become exit statuses and a line on stderr."""

import atexit
import ctypes
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NoReturn

import click

from capfst.cli.streams import ReaderGoneError, discard_stdout, replace_closed_streams
from capfst.exceptions import CapfstError, one_line, with_remedy
from capfst.options import with_flags
from capfst.system.stopping import StoppedError, stop_all

_SOON, _PATIENCE = 0.05, 1.5  # seconds
_has_told: list[bool] = []  # whether the user has been told that the command was stopped
_stopped_by: list[int] = []  # signals

# Windows lacks some.
_STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SIGPIPE = getattr(signal, "SIGPIPE", 13)


def _stop(number: int, frame: object) -> None:
    """End the program and its threads; those that do not end soon are not waited for."""
    _stopped_by.append(number)
    stop_all()
    end = threading.Timer(_PATIENCE, _end, (number,))
    end.daemon = True
    with suppress(RuntimeError):  # no thread can be started
        end.start()
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def _end(number: int) -> None:
    if number == signal.SIGINT and not _has_told:
        os.write(2, b"capfst: stopped\n")
    atexit._run_exitfuncs()  # which remove temporary files and folders
    os._exit(128 + number)


def _signal_again(dropped: Any) -> None:
    """Send the signal again: C code that calls Python, such as a destructor, drops an exception raised meanwhile."""
    if isinstance(dropped.exc_value, (SystemExit, KeyboardInterrupt)):
        status = getattr(dropped.exc_value, "code", 128 + signal.SIGINT)
        # os.kill ends the program on Windows.
        again = signal.raise_signal if sys.platform == "win32" else partial(os.kill, os.getpid())
        threading.Timer(_SOON, again, (status - 128,)).start()
    else:
        sys.__unraisablehook__(dropped)


_MODEL_LOST = (
    b"capfst: error: a memory-mapped file, probably a model, was truncated or overwritten. Write the new model to a"
    b" temporary file and rename it.\n"
)
_MEMORY_FAULTS = [signal.SIGBUS, signal.SIGSEGV] if hasattr(signal, "SIGBUS") else []  # not on Windows
"""A kernel gets SIGBUS where a mapped file was truncated; one that was overwritten leads it outside of its arrays."""


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def _memory_fault(number: int) -> None:
    """Handle the signal in C: a Python handler would wait for the kernel that cannot read on."""
    os.write(2, _MODEL_LOST)
    os._exit(1)


@contextmanager
def _unwrapped() -> Iterator[None]:
    """Raise what ends the program as itself: before 3.12, Python wraps it if the signal comes while a class is made."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error.__cause__, (SystemExit, KeyboardInterrupt)):
            raise error.__cause__ from None
        raise


@contextmanager
def exit_status() -> Iterator[None]:
    """Run a command; end the program with its exit status if it fails or is stopped."""
    replace_closed_streams()
    if not faulthandler.is_enabled():
        for number in _MEMORY_FAULTS:
            ctypes.CDLL(None).signal(number, _memory_fault)
    sys.unraisablehook = _signal_again
    for number in _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    try:
        with _unwrapped():
            yield
        sys.stdout.flush()
    except CapfstError as error:
        _fail(with_flags(str(error)))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OSError as error:
        reason = error.strerror or error
        what = f"cannot write to stdout: {reason}. Check the pipe or redirection."  # of --help
        if error.filename is not None:
            what = one_line(f"{error.filename}: {with_remedy(error)}")
        _fail(what)
    except (click.Abort, KeyboardInterrupt, StoppedError) as error:
        if isinstance(error, StoppedError) and signal.SIGINT not in _stopped_by:  # the exception of `_stop` was dropped
            sys.exit(128 + _stopped_by[0])
        _has_told.append(True)
        click.echo("capfst: stopped", err=True)
        sys.exit(128 + signal.SIGINT)
    except ReaderGoneError:
        discard_stdout()
        sys.exit(128 + _SIGPIPE)
    except MemoryError:
        _fail("out of memory. Provide more memory, or use fewer threads (--jobs 1).")
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        advice = "Provide more memory, more threads (ulimit -u) or smaller stacks (ulimit -s)."
        _fail(f"cannot start a thread. {advice}")


def _fail(problem: str) -> NoReturn:
    click.echo(f"capfst: error: {problem}", err=True)
    discard_stdout()
    sys.exit(1)
