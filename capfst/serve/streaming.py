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
from capfst.serve.answers import RefusedError, error_bytes, json_bytes
from capfst.serve.body import Budget, Text
from capfst.serve.waiting import Waiting

Recase = Callable[[list[str]], list[str]]
InThread = Callable[[Callable[[], bytes]], Awaitable[bytes]]

_decoder = msgspec.json.Decoder(str | dict[str, Any])
_encoder = msgspec.json.Encoder()


def recase_block(block: bytes, recase: Recase) -> bytes:
    """Return a block of whole lines of JSON with their texts recased."""
    try:
        records = _decoder.decode_lines(block)
        if len(records) != block.count(b"\n"):  # it leaves out blank lines
            raise ValueError
        texts = [record if isinstance(record, str) else record["text"] for record in records]
        recased = recase(texts)
        return _encoder.encode_lines(
            [
                text if isinstance(record, str) else record | {"text": text}
                for record, text in zip(records, recased, strict=True)
            ]
        )
    except (ValueError, TypeError, KeyError, RecursionError, CapfstError):  # which line is it?
        return b"".join(_line(line, recase) + b"\n" for line in block.split(b"\n")[:-1])


def _line(line: bytes, recase: Recase) -> bytes:
    try:
        record = _decoder.decode(line)
        text = record if isinstance(record, str) else record.get("text")
        if not isinstance(text, str):
            raise RefusedError(400, "the object has no text. Put the line into its field `text`.")
        (recased,) = recase([text])
        return json_bytes(recased if isinstance(record, str) else record | {"text": recased})
    except UnicodeDecodeError as error:
        return error_bytes(400, f"not UTF-8 at byte {error.start}. Convert it.")
    except RecursionError:
        return error_bytes(400, "the JSON is nested too deep. Send a string, or an object with a text.")
    except msgspec.DecodeError as error:
        return error_bytes(400, f"invalid line: {error}. Send a string, or an object with a text.")
    except RefusedError as error:
        return error_bytes(error.status, str(error))
    except CapfstError as error:
        return error_bytes(400, str(error))


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


class JSONLines:
    """The answer to a stream, which begins before the stream ends.

    (A StreamingResponse of Starlette would take pieces of the body for itself.)

    Args:
        in_thread: makes a call in a thread; RefusedError if it takes too long.
        streams: all streams.
    """

    def __init__(self, request: Request, in_thread: InThread, recase: Recase, streams: Streams) -> None:
        self._request, self._in_thread, self._recase, self._streams = request, in_thread, recase, streams
        self._rest = Text(streams.budget)  # of a line that is arriving
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
        self._rest.clear()
        self._end(429, "too many streams. Send the other lines again.")

    def _end(self, status: int, message: str) -> None:
        if not self._ended.done():
            self._ended.set_result(error_bytes(status, message) + b"\n")

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
                    waiting.discard(self)
                    block = bytes(self._rest.data) + piece[:end]
                    self._rest.clear()
                    yield await self._in_thread(partial(recase_block, block, self._recase))
                    waiting.add(self)
                if len(self._rest.data) + len(piece) - end > self._streams.longest:
                    raise RefusedError(413, f"a line has more than {self._streams.longest:,} bytes. Split it.")
                self._rest.add(piece[end:])
            if self._ended.done():
                yield self._ended.result()
            elif self._rest.data.strip():
                waiting.discard(self)
                yield await self._in_thread(partial(recase_block, bytes(self._rest.data) + b"\n", self._recase))
        except RefusedError as error:
            yield error_bytes(error.status, str(error)) + b"\n"
        finally:
            waiting.discard(self)
            self._rest.clear()
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
