"""Streams of JSON lines: a line in, a line out, in order.

In: pieces of a body. Out: the same lines, recased. A line is a string, or an object whose `text` is recased and whose
other fields stay. Each line is on its own; one that is not valid has an error in its place.

Only the lines that have arrived and are not recased yet are in memory: the next ones are read when the client has taken
the answers to these. A stream may go on for ever, but one that waits for a line gives way to others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from capfst.exceptions import CapfstError
from capfst.serve.answers import RefusedError, error_bytes
from capfst.serve.body import Budget, Text
from capfst.serve.waiting import Waiting

Recase = Callable[[list[str]], list[str]]
InThread = Callable[[Callable[[], bytes]], Awaitable[bytes]]

_decoder = msgspec.json.Decoder(str | dict[str, Any])
_encoder = msgspec.json.Encoder()


def recase_block(block: bytes, recase: Recase) -> bytes:
    """Return a block of whole lines of JSON with their texts recased."""
    n_lines = block.count(b"\n")
    try:
        records = _decoder.decode_lines(block) if n_lines != 1 else [_decoder.decode(block)]
        if len(records) != n_lines:  # it leaves out blank lines
            raise msgspec.DecodeError
        texts = [record if isinstance(record, str) else record["text"] for record in records]
        recased = recase(texts)
        return _encoder.encode_lines(
            [
                text if isinstance(record, str) else record | {"text": text}
                for record, text in zip(records, recased, strict=True)
            ]
        )
    except (ValueError, TypeError, KeyError, RecursionError, CapfstError) as error:
        if n_lines > 1:  # which line is it?
            return b"".join(recase_block(line + b"\n", recase) for line in block.split(b"\n")[:-1])
        return error_bytes(400, _problem(error)) + b"\n"


def _problem(error: Exception) -> str:
    """Return why a line cannot be recased."""
    if isinstance(error, CapfstError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}. Convert it."
    if isinstance(error, RecursionError):
        return "the JSON is nested too deep. Send a string, or an object with a text."
    if isinstance(error, msgspec.DecodeError):
        return f"invalid line: {error}. Send a string, or an object with a text."
    return "the object has no text. Put the line into its field `text`."


class Streams:
    """What the streams of a service share.

    Args:
        most: streams that are open at once.
        longest: bytes of a line; a longer one ends the stream.
        budget: of the lines that are arriving.
        waiting: where streams wait for lines.
        stopping: is set when the service stops, which ends streams after the lines that have arrived.
    """

    def __init__(self, most: int, longest: int, budget: Budget, waiting: Waiting, stopping: asyncio.Event) -> None:
        self.longest, self.budget, self.waiting, self.stopping = longest, budget, waiting, stopping
        self._most, self.number = most, 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """Count a stream while it is open; if there are too many, the one that has waited longest gives way."""
        self.number += 1
        if self.number > self._most:
            self.waiting.drop_oldest()
        try:
            yield
        finally:
            self.number -= 1


class JSONLines(Text):
    """The answer to a stream, which begins before the stream ends; as a text, the rest of a line that is arriving.

    (A StreamingResponse of Starlette would take pieces of the body for itself.)

    Args:
        in_thread: makes a call in a thread; RefusedError if it takes too long.
        streams: all streams.
    """

    def __init__(self, request: Request, in_thread: InThread, recase: Recase, streams: Streams) -> None:
        super().__init__(streams.budget)
        self._request, self._in_thread, self._recase, self._streams = request, in_thread, recase, streams
        self._ended: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()  # by an error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        with self._streams.open():
            async for block in self._blocks():
                await send({"type": "http.response.body", "body": block, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def give_way(self) -> None:
        """End the stream, which waits for a line, because others come."""
        self.clear()
        self._end(429, "too many streams. Send the other lines again.")

    def _end(self, status: int, message: str) -> None:
        if not self._ended.done():
            self._ended.set_result(error_bytes(status, message) + b"\n")

    async def _recased(self, end: bytes) -> bytes:
        """Return the lines that have arrived, of which these are the last bytes, recased."""
        self._streams.waiting.discard(self)
        block = bytes(self.data) + end
        self.clear()
        return await self._in_thread(partial(recase_block, block, self._recase))

    async def _blocks(self) -> AsyncIterator[bytes]:
        """Yield recased lines as they arrive."""
        waiting = self._streams.waiting
        stopping = asyncio.ensure_future(self._streams.stopping.wait())
        stopping.add_done_callback(lambda _: self._end(503, "the service is stopping. Send the other lines again."))
        try:
            waiting.add(self)
            async for piece in _until(self._ended, self._request.stream()):
                end = piece.rfind(b"\n") + 1
                if end:
                    yield await self._recased(piece[:end])
                    waiting.add(self)
                if len(self.data) + len(piece) - end > self._streams.longest:
                    raise RefusedError(413, f"a line has more than {self._streams.longest:,} bytes. Split it.")
                self.add(piece[end:])
            if self._ended.done():
                yield self._ended.result()
            elif self.data.strip():
                yield await self._recased(b"\n")
        except RefusedError as error:
            yield error_bytes(error.status, str(error)) + b"\n"
        finally:
            waiting.discard(self)
            self.clear()
            stopping.cancel()


async def _until(stopped: asyncio.Future[Any], pieces: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """Yield pieces until the end or `stopped`."""
    while not stopped.done():
        piece = asyncio.ensure_future(anext(pieces, None))
        await asyncio.wait((piece, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not piece.done():
            piece.cancel()
            return
        found = piece.result()
        if found is None:
            return
        yield found
