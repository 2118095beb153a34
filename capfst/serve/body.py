"""The body of a request, whose size is limited, as is that of all bodies that are in memory at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from capfst.serve.answers import RefusedError


class Budget:
    """Bytes that all bodies may have together."""

    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, size: int) -> None:
        """Use a part of the budget; RefusedError if it is used up."""
        if size > self.left:
            raise RefusedError(429, "too much text is waiting. Try again later.")
        self.left -= size


async def pieces(request: Request, most: int) -> AsyncIterator[bytes]:
    """Yield a body as it arrives; RefusedError if it has more than this number of bytes, or says that it will."""
    said = request.headers.get("content-length", "")
    size = int(said) if said.isdecimal() else 0
    if size <= most:
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                break
            yield piece
    if size > most:
        raise RefusedError(413, f"the body has more than {most:,} bytes. Send less at once, or a stream of JSON lines.")


@asynccontextmanager
async def read_body(request: Request, most: int, budget: Budget) -> AsyncIterator[bytes]:
    """Read a body of at most this number of bytes, which count against the budget in this context."""
    body = bytearray()
    try:
        async for piece in pieces(request, most):
            budget.take(len(piece))
            body += piece
        yield bytes(body)
    finally:
        budget.left += len(body)
