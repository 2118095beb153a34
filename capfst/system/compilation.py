"""What a run says while it compiles kernels, and how that is stopped. (compiling.py compiles; this needs no numba.)"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

_NOTICEABLE = 1.0  # seconds

KEPT = "compiling kernels, once: this takes a while, and later runs start at once"
NOT_KEPT = "compiling kernels: no folder to keep them in can be written (set NUMBA_CACHE_DIR to one that can)"


class Compilation:
    """The time that this process spends compiling: a context to compile in, by one thread at a time."""

    def __init__(self) -> None:
        self.say: Callable[[str], object] | None = None
        """Told once that kernels are compiled, when that has taken a second."""
        self.are_kept: Callable[[], bool] = lambda: True
        self._error: BaseException | None = None
        self._depth = 0
        self._thread = 0
        self._begin = self._spent = 0.0

    def __enter__(self) -> None:
        if not self._depth:
            self._begin = time.monotonic()
            self._thread = threading.get_ident()
        self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._depth -= 1
        if not self._depth:
            self._spent += time.monotonic() - self._begin
            self._thread = 0

    def stop(self, error: BaseException) -> bool:
        """Has the thread that compiles end that within a second, by this exception; is it the one that calls this?"""
        self._error = error
        return self._thread == threading.get_ident()

    def check(self) -> None:
        """Called several times a second while kernels are compiled. Raises what `stop` was given."""
        if self._error:
            raise self._error
        if self.say and self._spent + time.monotonic() - self._begin > _NOTICEABLE:
            say, self.say = self.say, None
            say(KEPT if self.are_kept() else NOT_KEPT)


compiling = Compilation()
