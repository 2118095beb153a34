"""Streams of JSON lines: a line in, a line out, in order.

In: pieces of a body. Out: the same lines, recased. A line is a string, or an object whose `text` is recased and whose
other values stay, byte by byte. Each line is on its own; one that is not valid has an error in its place.

Only the lines that have arrived and are not recased yet are in memory: the next ones are read when the client has taken
the answers to these. A stream may go on for ever, but one that waits for a line gives way to others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from capfst.exceptions import CapfstError
from capfst.serve.answers import RefusedError, error_bytes
from capfst.serve.body import Body, Budget
from capfst.serve.connection import Waiting

Recase = Callable[[list[str]], list[str]]
InThread = Callable[[Callable[[], bytes]], Awaitable[bytes]]

_decoder = msgspec.json.Decoder(str | dict[str, msgspec.Raw])
_decode_text = msgspec.json.Decoder(str).decode
_encoder = msgspec.json.Encoder()


def recase_block(block: bytes, recase: Recase) -> bytes:
    """Return a block of whole lines of JSON with their texts recased."""
    n_lines = block.count(b"\n")
    try:
        block.decode()  # other fields are not decoded
        records = _decoder.decode_lines(block) if n_lines != 1 else [_decoder.decode(block)]
        if len(records) != n_lines:  # it leaves out blank lines
            raise msgspec.DecodeError
        texts = [record if isinstance(record, str) else _decode_text(record["text"]) for record in records]
        recased = recase(texts)
        return _encoder.encode_lines(
            [
                text if isinstance(record, str) else record | {"text": text}
                for record, text in zip(records, recased, strict=True)
            ]
        )
    except (ValueError, KeyError, RecursionError, CapfstError) as error:
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
        return "the JSON is nested too deep. Send a string, or an object whose `text` is one."
    if isinstance(error, msgspec.DecodeError):
        return f"invalid line: {error}. Send a string, or an object whose `text` is one."
    return "the object has no text. Put the line into its field `text`."


class Streams:
    """What the streams of a service share.

    Args:
        most: streams that are open at once.
        longest: bytes of a line; a longer one ends the stream.
    """

    def __init__(self, most: int, longest: int) -> None:
        self.longest, self.waiting, self.open = longest, Waiting(), set[JSONLines]()
        self._most, self.is_stopping = most, False

    def add(self, stream: JSONLines) -> None:
        """Count a stream that begins; if there are too many, the one that has waited longest gives way."""
        self.open.add(stream)
        if len(self.open) > self._most:
            self.waiting.drop_oldest()
        if self.is_stopping:
            stream.stop()

    def stop(self) -> None:
        """End all streams after the lines that have arrived."""
        self.is_stopping = True
        for stream in self.open:
            stream.stop()


class JSONLines(Body):
    """The answer to a stream, which begins before the stream ends. It holds the rest of a line that is arriving.

    (A StreamingResponse of Starlette would take pieces of the body for itself.)

    Args:
        in_thread: makes a call in a thread; RefusedError if it takes too long.
        streams: all streams.
    """

    crowded = "too many streams. Send the other lines again."

    def __init__(self, request: Request, budget: Budget, in_thread: InThread, recase: Recase, streams: Streams) -> None:
        super().__init__(request, budget, streams.waiting)
        self._in_thread, self._recase, self._streams = in_thread, recase, streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        self._streams.add(self)
        try:
            async for block in self._blocks():
                await send({"type": "http.response.body", "body": block, "more_body": True})
        finally:
            self._streams.open.discard(self)
        await send({"type": "http.response.body", "body": b""})

    def stop(self) -> None:
        """End the stream, because the service stops."""
        self.refuse(503, "the service is stopping. Send the other lines again.")

    async def _recased(self, end: bytes) -> bytes:
        """Return the lines that have arrived, of which these are the last bytes, recased."""
        self.waiting.discard(self)
        block = bytes(self.held) + end
        self.release()
        return await self._in_thread(partial(recase_block, block, self._recase))

    async def _blocks(self) -> AsyncIterator[bytes]:
        """Yield recased lines as they arrive."""
        longest = self._streams.longest
        try:
            async for piece in self.pieces():
                end = piece.rfind(b"\n") + 1
                if end:
                    yield await self._recased(piece[:end])
                    self.waiting.add(self)
                if len(self.held) + len(piece) - end > longest:
                    raise RefusedError(413, f"a line has more than {longest:,} bytes. Split it.")
                self.hold(piece[end:])
            if self.held.strip():
                yield await self._recased(b"\n")
        except RefusedError as error:
            yield error_bytes(error.status, str(error)) + b"\n"
        finally:
            self.waiting.discard(self)
            self.release()
