"""How a command ends: errors and signals, as exit statuses and a line on stderr."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import click

from capfst.cli.streams import ReaderGoneError, discard_stdout, replace_closed_streams
from capfst.exceptions import CapfstError, one_line

_SOON = 0.05  # seconds

# Windows lacks some.
_STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_SIGPIPE = getattr(signal, "SIGPIPE", 13)


def _stop(number: int, frame: object) -> None:
    """End the program."""
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


def _signal_again(dropped: Any) -> None:
    """Send the signal once more: C code that calls Python, such as a destructor, drops an exception that comes
    meanwhile."""
    if isinstance(dropped.exc_value, (SystemExit, KeyboardInterrupt)):
        status = getattr(dropped.exc_value, "code", 128 + signal.SIGINT)
        # os.kill ends the program on Windows.
        again = signal.raise_signal if sys.platform == "win32" else partial(os.kill, os.getpid())
        threading.Timer(_SOON, again, (status - 128,)).start()
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


@contextmanager
def exit_status() -> Iterator[None]:
    """Runs a command, and ends the program with the command's exit status if it fails or is stopped."""
    replace_closed_streams()
    if hasattr(signal, "SIGBUS"):
        ctypes.CDLL(None).signal(signal.SIGBUS, _bus_error)
    sys.unraisablehook = _signal_again
    for number in _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    try:
        yield
        sys.stdout.flush()
    except CapfstError as error:
        click.echo(f"capfst: error: {error}", err=True)
        discard_stdout()
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
        discard_stdout()
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        click.echo("capfst: stopped", err=True)
        sys.exit(128 + signal.SIGINT)
    except ReaderGoneError:
        discard_stdout()
        sys.exit(128 + _SIGPIPE)
    except MemoryError:
        click.echo("capfst: error: out of memory: give it more memory, or use fewer threads (--jobs 1)", err=True)
        sys.exit(1)
    except RuntimeError as error:
        if str(error) != "can't start new thread":
            raise
        advice = "give it more memory, more threads (ulimit -u), or less stack for each (ulimit -s)"
        click.echo(f"capfst: error: cannot start a thread: {advice}", err=True)
        sys.exit(1)
