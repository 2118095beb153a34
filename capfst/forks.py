"""Fork safely: `loading`, blocks for which a fork of this process waits, and `cached`, a property without a lock.

A child process inherits the locks that other threads hold, such as those of modules that are being imported, and waits
for them forever. gunicorn, Celery and PyTorch's DataLoader fork.

The handlers of a fork are called in reverse order of registration. Two imported modules of the standard library take
locks in theirs, which loading needs: they must have registered them before this module does.
"""

import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

_changed = threading.Condition()
_loading = 0  # number of `loading` blocks that threads are in
_own = threading.local()  # those of this thread, as its attribute `loading`


@contextmanager
def loading() -> Iterator[None]:
    """Keep other threads from forking this process within the block."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _loading  # noqa: PLW0603
    with _changed:
        _loading += more
        _own.loading = _of_this_thread() + more
        _changed.notify_all()


def _of_this_thread() -> int:
    return getattr(_own, "loading", 0)


def _wait() -> None:
    _changed.acquire()
    _changed.wait_for(lambda: _loading == _of_this_thread())


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_wait, after_in_parent=_changed.release, after_in_child=_changed.release)


class cached(Generic[Value]):  # noqa: N801  (a decorator)
    """A property that is computed once, at first use, like `functools.cached_property` from Python 3.12 on: without a
    lock, which a child process would inherit. Several threads may compute it at once."""

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        if instance is None:
            return self  # type: ignore[return-value]
        value = instance.__dict__[self._name] = self._function(instance)
        return value
