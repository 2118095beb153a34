"""Work that nobody waits for any longer ends soon.

Loops whose steps take milliseconds call `check` in each step. It raises `StoppedError` once `stop_all` has been called,
or in a thread that works inside `stoppable` once that condition holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, local

_all_stopped = Event()
_thread = local()


class StoppedError(BaseException):
    """The work was stopped. Not an Exception: it is no failure of the text that was being recased."""


def stop_all() -> None:
    """Stop the work of all threads, because the program ends."""
    _all_stopped.set()


def check() -> None:
    """Raise StoppedError if this thread's work is to stop."""
    is_stopped = getattr(_thread, "is_stopped", None)
    if _all_stopped.is_set() or (is_stopped is not None and is_stopped()):
        raise StoppedError


@contextmanager
def stoppable(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Let `check` raise StoppedError in this thread once `is_stopped` returns True."""
    _thread.is_stopped = is_stopped
    try:
        yield
    finally:
        _thread.is_stopped = None
