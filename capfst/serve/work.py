"""Work in threads: it ends when nobody waits for it, and texts that wait at the same time are recased by one call.

A call for sixteen short texts takes 1.5 times as long as for one. So texts with the same options go into a queue, which
is emptied by one call after the other: those that arrive during a call are the next one. When the service is idle, a
text does not wait at all.

Each text of a call is on its own, as in a list that a Recaser is given: what it is recased with does not depend on the
others.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple, TypeVar

from capfst.serve.answers import RefusedError
from capfst.system.stopping import StoppedError, check, stoppable

Result = TypeVar("Result")
Recase = Callable[[list[str]], list[str]]

BATCH = 1 << 16  # characters of a call


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


def _results(recase: Recase, texts: list[str]) -> list[Any]:
    """Return the recased texts; for those that cannot be recased, which do not harm the others, their errors."""
    try:
        return recase(texts)
    except Exception as error:  # the text's client gets it
        if len(texts) == 1:
            return [error]
        return [result for text in texts for result in _results(recase, [text])]


class _Text(NamedTuple):
    text: str
    future: asyncio.Future[str]
    is_gone: Callable[[], bool]  # whether its client has gone away


class Batches:
    """Recases texts in the threads of a pool, together with others that have the same key; a call may take `seconds`.
    on_batch: is called with the number of texts of each call."""

    def __init__(self, pool: Executor, on_batch: Callable[[int], object], seconds: float = math.inf) -> None:
        self._pool, self._on_batch, self._seconds = pool, on_batch, seconds
        self._waiting: dict[object, list[_Text]] = {}

    def add(
        self, key: object, recase: Recase, text: str, is_gone: Callable[[], bool] = lambda: False
    ) -> Awaitable[str]:
        """Return the recased text when it is known. key: distinguishes models and options. is_gone: whether its client
        has gone away."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if key not in self._waiting:
            self._waiting[key] = []
            loop.call_soon(self._run, key, recase)  # after the other requests that have just arrived
        self._waiting[key].append(_Text(text, future, is_gone))
        return future

    def _run(self, key: object, recase: Recase) -> None:
        """Recase the next texts with this key, and then those that have arrived meanwhile."""
        waiting = self._waiting[key]
        size = n = 0
        while n < len(waiting) and size < BATCH:
            size += len(waiting[n].text)
            n += 1
        if not n:
            del self._waiting[key]
            return
        batch, self._waiting[key] = waiting[:n], waiting[n:]
        self._on_batch(n)
        call = in_time(
            partial(_results, recase, [each.text for each in batch]),
            self._seconds,
            lambda: all(each.is_gone() for each in batch),
        )

        def finish(done: asyncio.Future[list[Any]]) -> None:
            error = done.exception()  # for all: the time is over
            for each, result in zip(batch, [error] * n if error else done.result(), strict=True):
                if each.future.done():
                    continue
                if isinstance(result, Exception):
                    each.future.set_exception(result)
                else:
                    each.future.set_result(result)
            self._run(key, recase)

        asyncio.get_running_loop().run_in_executor(self._pool, call).add_done_callback(finish)
