"""The body of a request, whose size is limited, as is that of all text that is in memory at once.

A body that stalls gives way to others: to one more than may arrive at once, and to text for which memory is needed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

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


class Body(Text):
    """The body of a request, which is arriving in memory, or piece by piece."""

    def __init__(self, request: Request, budget: Budget) -> None:
        super().__init__(budget)
        self.request = request

    def give_way(self) -> None:
        """Refuse the request."""
        self.clear()
        connection_of(self.request).refuse("crowded", 429, "too many requests are arriving. Send it at once, or later.")

    async def pieces(self, most: int, waiting: Waiting, most_waiting: int) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; RefusedError if it has more than this number of bytes, or says that it will.

        Args:
            waiting: where the body waits, and at most `most_waiting` others.
        """
        said = self.request.headers.get("content-length", "")
        size = int(said) if said.isdecimal() else 0
        if size <= most:
            if not connection_of(self.request).has_body:
                waiting.add(self)
                if len(waiting) > most_waiting:
                    waiting.drop_oldest()
            try:
                size = 0
                async for piece in self.request.stream():
                    size += len(piece)
                    if size > most:
                        break
                    yield piece
            finally:
                waiting.discard(self)
        if size > most:
            raise RefusedError(
                413, f"the body has more than {most:,} bytes. Send less at once, or a stream of JSON lines."
            )


def connection_of(request: Request) -> Connection:
    """Return the connection of a request."""
    connection: Connection = request.scope["state"]["connection"]
    return connection


@asynccontextmanager
async def read_body(
    request: Request, budget: Budget, most: int, waiting: Waiting, most_waiting: int
) -> AsyncIterator[bytes]:
    """Read a body, whose bytes count against the budget in this context. The other arguments are those of `pieces`."""
    body = Body(request, budget)
    try:
        async for piece in body.pieces(most, waiting, most_waiting):
            body.add(piece)
        yield bytes(body.data)
    finally:
        body.clear()
