"""The end of work whose clients do not wait any longer: the time is over, or they have gone away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from capfst.serve.answers import RefusedError
from capfst.system.stopping import StoppedError, check, stoppable

Result = TypeVar("Result")


def in_time(call: Callable[[], Result], seconds: float, is_gone: Callable[[], bool]) -> Callable[[], Result]:
    """Return a call, to be made in a thread, that ends with RefusedError when its time, which begins now, is over, or
    when all its clients have gone away."""
    end = time.monotonic() + seconds

    def is_over() -> bool:
        return time.monotonic() > end or is_gone()

    def made() -> Result:
        try:
            with stoppable(is_over):
                check()
                return call()
        except StoppedError as error:
            why = f"this takes more than {seconds:g} s. Send less at once."
            raise RefusedError(503, why if is_over() else "the service is stopping.") from error

    return made
