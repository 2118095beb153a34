"""Texts that wait at the same time are recased by one call.

A call for sixteen short texts takes 1.5 times as long as for one. So texts with the same options go into a queue, which
is emptied by one call after the other: those that arrive during a call are the next one. When the service is idle, a
text does not wait at all.

Each text of a call is on its own, as in a list that a Recaser is given: what it is recased with does not depend on the
others.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

from capfst.serve.answers import RefusedError
from capfst.serve.deadline import Deadline

Recase = Callable[[list[str]], list[str]]

BATCH = 1 << 16  # characters of a call


def _results(recase: Recase, texts: list[str], deadline: Deadline) -> list[Any]:
    """Return the recased texts; for those that cannot be recased, which do not harm the others, their errors."""
    try:
        return deadline.keep(partial(recase, texts))
    except RefusedError as error:  # the time is over
        return [error] * len(texts)
    except Exception as error:  # the text's client gets it
        if len(texts) == 1:
            return [error]
        return [result for text in texts for result in _results(recase, [text], deadline)]


def _waits() -> bool:
    return False


class _Text(NamedTuple):
    """A text that waits."""

    text: str
    future: asyncio.Future[str]
    is_gone: Callable[[], bool]  # whether its client has gone away


class _Queue:
    """Texts with the same options."""

    def __init__(self) -> None:
        self.waiting: list[_Text] = []
        self.is_running = False


class Batches:
    """Recases texts in threads, together with others that have the same key.

    Args:
        pool: the threads.
        on_batch: is called with the number of texts of each call.
        seconds: that a call may take.
    """

    def __init__(self, pool: Executor, on_batch: Callable[[int], object], seconds: float = math.inf) -> None:
        self._pool, self._on_batch, self._seconds = pool, on_batch, seconds
        self._queues: dict[object, _Queue] = {}

    def add(self, key: object, recase: Recase, text: str, is_gone: Callable[[], bool] = _waits) -> Awaitable[str]:
        """Return the recased text when it is known. key: distinguishes models and options. is_gone: whether its client
        has gone away."""
        loop = asyncio.get_running_loop()
        queue = self._queues.setdefault(key, _Queue())
        future = loop.create_future()
        queue.waiting.append(_Text(text, future, is_gone))
        if not queue.is_running:
            queue.is_running = True
            loop.call_soon(self._run, loop, key, queue, recase)  # after the other requests that have just arrived
        return future

    def _run(self, loop: asyncio.AbstractEventLoop, key: object, queue: _Queue, recase: Recase) -> None:
        """Recase the next texts of a queue."""
        size = n = 0
        while n < len(queue.waiting) and size < BATCH:
            size += len(queue.waiting[n].text)
            n += 1
        batch, queue.waiting = queue.waiting[:n], queue.waiting[n:]
        if not batch:
            del self._queues[key]
            return
        self._on_batch(n)
        deadline = Deadline(self._seconds, lambda: all(each.is_gone() for each in batch))
        texts = [each.text for each in batch]
        call = loop.run_in_executor(self._pool, _results, recase, texts, deadline)

        def finish(done: asyncio.Future[list[Any]]) -> None:
            for each, result in zip(batch, done.result(), strict=True):
                if each.future.done():
                    continue
                if isinstance(result, Exception):
                    each.future.set_exception(result)
                else:
                    each.future.set_result(result)
            self._run(loop, key, queue, recase)

        call.add_done_callback(finish)
