"""Texts that wait at the same time are recased by one call.

A call of the kernels takes about as long for one line as for twenty. So texts with the same options go into a queue,
which is emptied by one call after the other: those that arrive during a call are the next one. When the service is
idle, a text does not wait at all.

Each text of a call is on its own, as in a list that a Recaser is given: what it is recased with does not depend on the
others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any

Recase = Callable[[list[str]], list[str]]

BATCH = 1 << 16  # characters of a call


def _results(recase: Recase, texts: list[str]) -> list[Any]:
    """Return the recased texts; for those that cannot be recased, which do not harm the others, their errors."""
    try:
        return recase(texts)
    except Exception as error:  # the text's client gets it
        if len(texts) == 1:
            return [error]
        return [result for text in texts for result in _results(recase, [text])]


class _Queue:
    """Texts with the same options."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, asyncio.Future[str]]] = []
        self.is_running = False


class Batches:
    """Recases texts in threads, together with others that have the same key.

    Args:
        pool: the threads.
        on_batch: is called with the number of texts of each call.
    """

    def __init__(self, pool: Executor, on_batch: Callable[[int], object]) -> None:
        self._pool, self._on_batch = pool, on_batch
        self._queues: dict[object, _Queue] = {}

    def add(self, key: object, recase: Recase, text: str) -> Awaitable[str]:
        """Return the recased text when it is known. key: distinguishes models and options."""
        loop = asyncio.get_running_loop()
        queue = self._queues.setdefault(key, _Queue())
        future = loop.create_future()
        queue.waiting.append((text, future))
        if not queue.is_running:
            queue.is_running = True
            loop.call_soon(self._run, loop, key, queue, recase)  # after the other requests that have just arrived
        return future

    def _run(self, loop: asyncio.AbstractEventLoop, key: object, queue: _Queue, recase: Recase) -> None:
        """Recase the next texts of a queue."""
        size = n = 0
        while n < len(queue.waiting) and size < BATCH:
            size += len(queue.waiting[n][0])
            n += 1
        batch, queue.waiting = queue.waiting[:n], queue.waiting[n:]
        if not batch:
            del self._queues[key]
            return
        self._on_batch(n)
        call = loop.run_in_executor(self._pool, _results, recase, [text for text, _ in batch])

        def finish(done: asyncio.Future[list[Any]]) -> None:
            for (_, future), result in zip(batch, done.result(), strict=True):
                if future.done():  # its client is gone
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)
            self._run(loop, key, queue, recase)

        call.add_done_callback(finish)
