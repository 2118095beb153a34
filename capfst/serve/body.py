"""The body of a request, whose size is limited, as is that of all text that is in memory at once.

A body that stalls gives way to others: to one more than may arrive at once, and to text for which memory is needed.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import ClientDisconnect, Request

from capfst.serve.answers import RefusedError
from capfst.serve.connection import Waiting, connection_of


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


class Body:
    """The body of a request that is arriving. What is held of it counts against the budget.

    Args:
        waiting: where it waits for its client.
    """

    crowded = "too many requests are arriving. Send it at once, or later."
    """Why it gives way."""

    def __init__(self, request: Request, budget: Budget, waiting: Waiting) -> None:
        self.request, self.waiting, self.held = request, waiting, bytearray()
        self._budget = budget
        self._refusal: RefusedError | None = None

    def hold(self, piece: bytes) -> None:
        """Append a piece to what is held; RefusedError if the budget is used up."""
        self._budget.take(len(piece))
        self.held += piece

    def release(self) -> None:
        """Give all that is held back to the budget."""
        self._budget.left += len(self.held)
        self.held = bytearray()

    def give_way(self) -> None:
        """Refuse the rest, because others come."""
        self.release()
        self.refuse(429, self.crowded)

    def refuse(self, status: int, message: str) -> None:
        """End `pieces`, which may be waiting, with a RefusedError."""
        self._refusal = RefusedError(status, message)
        connection_of(self.request).wake()

    async def pieces(self, most: float = math.inf) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; RefusedError if it has more than this number of bytes, or says that it will, or
        if its text is inside something else."""
        headers = self.request.headers
        if headers.get("content-encoding", "").lower() not in ("", "identity"):
            raise RefusedError(415, "the body is compressed. Send it as it was before.")
        if headers.get("content-type", "").lower().startswith("multipart/"):
            raise RefusedError(415, "the body is a form. Send the text or the file itself.")
        said = headers.get("content-length", "")
        size, more = int(said) if said.isdecimal() else 0, True
        if size <= most:
            size = 0
            if not connection_of(self.request).has_body:
                self.waiting.add(self)
        try:
            while more and size <= most:
                message = await self.request.receive()
                if self._refusal:
                    raise self._refusal
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                piece, more = message.get("body", b""), message.get("more_body", False)
                size += len(piece)
                if piece and size <= most:
                    yield piece
        finally:
            self.waiting.discard(self)
        if size > most:
            raise RefusedError(
                413, f"the body has more than {most:,} bytes. Send less at once, or a stream of JSON lines."
            )

    @asynccontextmanager
    async def read(self, most: int) -> AsyncIterator[bytes]:
        """Read the body, which is held in this context; RefusedError as `pieces`."""
        try:
            async for piece in self.pieces(most):
                self.hold(piece)
            yield bytes(self.held)
        finally:
            self.release()
