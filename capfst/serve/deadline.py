"""The end of work whose clients do not wait any longer: the time is over, or they have gone away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from capfst.serve.answers import RefusedError
from capfst.system.stopping import StoppedError, check, stoppable

Result = TypeVar("Result")


class Deadline:
    """The end of the time for some work, which begins now.

    Args:
        is_gone: whether all clients have gone away.
    """

    def __init__(self, seconds: float, is_gone: Callable[[], bool]) -> None:
        self._seconds, self._end, self._is_gone = seconds, time.monotonic() + seconds, is_gone

    def is_over(self) -> bool:
        """Return whether nobody waits for the work."""
        return time.monotonic() > self._end or self._is_gone()

    def keep(self, call: Callable[[], Result]) -> Result:
        """Make a call in this thread, unless or until the time is over; then raise RefusedError."""
        try:
            with stoppable(self.is_over):
                check()
                return call()
        except StoppedError as error:
            why = f"this takes more than {self._seconds:g} s. Send less at once."
            raise RefusedError(503, why if self.is_over() else "the service is stopping.") from error
