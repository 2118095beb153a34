"""The body of a request, whose size is limited, as is that of all text that is in memory at once.

A body that stalls gives way to others: to one more than may arrive at once, and to text for which memory is needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from capfst.options import ServeOptions
from capfst.serve.answers import RefusedError
from capfst.serve.connection import Connection
from capfst.serve.waiting import Waiting


class Budget:
    """Bytes that all text of clients may have together.

    Args:
        waiting: those that wait for more text, and give theirs back to make way.
    """

    def __init__(self, most: int, *waiting: Waiting) -> None:
        self.left, self._waiting = most, waiting

    def take(self, size: int) -> None:
        """Use a part of the budget; RefusedError if it is used up."""
        while size > self.left:
            if not any(each.drop_oldest() for each in self._waiting):
                raise RefusedError(429, "too much text is waiting. Try again later.")
        self.left -= size


class Text:
    """Text that has arrived, and counts against the budget."""

    def __init__(self, budget: Budget) -> None:
        self.data, self._budget = bytearray(), budget

    def add(self, piece: bytes) -> None:
        """Append a piece; RefusedError if the budget is used up."""
        self._budget.take(len(piece))
        self.data += piece

    def clear(self) -> None:
        """Give all back to the budget."""
        self._budget.left += len(self.data)
        self.data = bytearray()


class Arriving:
    """A body that is arriving, in memory or in a file."""

    def __init__(self, connection: Connection, text: Text | None = None) -> None:
        self._connection, self._text = connection, text

    def give_way(self) -> None:
        """Refuse the request."""
        if self._text:
            self._text.clear()
        self._connection.refuse("crowded", 429, "too many requests are arriving. Send it at once, or later.")


def connection_of(request: Request) -> Connection:
    """Return the connection of a request."""
    connection: Connection = request.scope["state"]["connection"]
    return connection


async def pieces(
    request: Request, most: int, waiting: Waiting, most_waiting: int, text: Text | None = None
) -> AsyncIterator[bytes]:
    """Yield a body as it arrives; RefusedError if it has more than this number of bytes, or says that it will.

    Args:
        waiting: where the body waits, and at most `most_waiting` others.
        text: what has arrived of it, if that is in memory.
    """
    said = request.headers.get("content-length", "")
    size = int(said) if said.isdecimal() else 0
    if size <= most:
        connection, arriving = connection_of(request), None
        if not connection.has_body:
            arriving = Arriving(connection, text)
            waiting.add(arriving)
            if len(waiting) > most_waiting:
                waiting.drop_oldest()
        try:
            size = 0
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    break
                yield piece
        finally:
            if arriving:
                waiting.discard(arriving)
    if size > most:
        raise RefusedError(413, f"the body has more than {most:,} bytes. Send less at once, or a stream of JSON lines.")


@asynccontextmanager
async def read_body(request: Request, limits: ServeOptions, budget: Budget, waiting: Waiting) -> AsyncIterator[bytes]:
    """Read a body, whose bytes count against the budget in this context. waiting: as in `pieces`."""
    text = Text(budget)
    try:
        async for piece in pieces(request, limits.max_body, waiting, limits.max_requests, text):
            text.add(piece)
        yield bytes(text.data)
    finally:
        text.clear()
