"""Streams of JSON lines: a line in, a line out, in order.

In: pieces of a body. Out: the same lines, recased. A line is a string, or an object whose `text` is recased and whose
other fields stay. Each line is on its own; one that is not valid has an error in its place.

Only the lines that have arrived and are not recased yet are in memory: the next ones are read when the client has taken
the answers to these.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from capfst.exceptions import CapfstError
from capfst.serve.answers import RefusedError, error_bytes, json_bytes

Recase = Callable[[list[str]], list[str]]
InThread = Callable[..., Awaitable[bytes]]

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


class JSONLines:
    """The answer to a stream, which begins before the stream ends.

    (A StreamingResponse of Starlette would take pieces of the body for itself.)

    Args:
        in_thread: makes a call in a thread.
        longest: bytes of a line; a longer one ends the stream.
        stopping: is set when the service stops, which ends the stream after the lines that have arrived.
    """

    def __init__(
        self, request: Request, in_thread: InThread, recase: Recase, longest: int, stopping: asyncio.Event
    ) -> None:
        self._request, self._in_thread, self._recase = request, in_thread, recase
        self._longest, self._stopping = longest, stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for block in self._blocks():
            await send({"type": "http.response.body", "body": block, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _blocks(self) -> AsyncIterator[bytes]:
        """Yield recased lines as they arrive."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        rest = bytearray()
        try:
            async for piece in _until(stopping, self._request.stream()):
                end = piece.rfind(b"\n") + 1
                if end:
                    yield await self._in_thread(recase_block, bytes(rest) + piece[:end], self._recase)
                    rest.clear()
                rest += piece[end:]
                if len(rest) > self._longest:
                    yield error_bytes(413, f"a line has more than {self._longest:,} bytes. Split it.") + b"\n"
                    return
            if stopping.done():
                yield error_bytes(503, "the service is stopping. Send the other lines again.") + b"\n"
            elif rest.strip():
                yield await self._in_thread(recase_block, bytes(rest) + b"\n", self._recase)
        finally:
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
