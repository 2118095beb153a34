"""The body of a request, whose size is limited, as is that of all text that is in memory at once: as a whole, as a
stream of JSON lines, or as a file.

A body that stalls gives way to others: to one more than may arrive at once, and to text for which memory is needed.

A line of a stream is a string, or an object whose `text` is recased and whose other values stay, byte by byte. Each is
on its own; one that is not valid has an error in its place. Only the lines that have arrived and are not recased yet
are in memory: the next ones are read when the client has taken the answers to these.

The suffix of a file's name decides how it is read, and the name nothing else: the file is written to a temporary folder
of its own, and so is the answer, so that neither is in memory.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from capfst.context.channel import Style
from capfst.exceptions import CapfstError
from capfst.io.compression import COMPRESSIONS
from capfst.io.files import suffix_of
from capfst.io.formats import JSONS, SUFFIXES, format_of
from capfst.io.protocol import BatchOptions, RecaseCounts, TextOptions
from capfst.recaser import Recaser
from capfst.serve.answers import RefusedError, error_bytes
from capfst.serve.connection import Waiting, connection_of
from capfst.system.stopping import check
from capfst.text.markup import SUFFIXES as MARKUPS

Recase = Callable[[list[str]], list[str]]
InThread = Callable[[Callable[[], bytes]], Awaitable[bytes]]

_decoder = msgspec.json.Decoder(str | dict[str, msgspec.Raw])
_decode_text = msgspec.json.Decoder(str).decode
_encoder = msgspec.json.Encoder()

FORMATS = (".txt", ".csv", ".tsv", *JSONS, *SUFFIXES, *MARKUPS)
"""The suffixes of files."""
_COMPRESSED = tuple(start for compression in COMPRESSIONS for start in compression.starts)


class Budget:
    """Bytes that all text of clients may have together. Those `waiting` for more text give theirs back to make way."""

    def __init__(self, most: int, *waiting: Waiting) -> None:
        self.left, self._waiting = most, waiting

    def take(self, size: int) -> None:
        """Use a part of the budget; RefusedError if it is used up."""
        while size > self.left:
            if not any(each.drop_oldest() for each in self._waiting):
                raise RefusedError(429, "too much text is waiting. Try again later.")
        self.left -= size


class Body:
    """The body of a request, which waits for its client. What is held of it counts against the budget."""

    crowded = "too many requests are arriving. Send it at once, or later."  # why it gives way

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
            raise RefusedError(415, "the body is compressed. Send it uncompressed.")
        if headers.get("content-type", "").lower().startswith("multipart/"):
            raise RefusedError(415, "the body is a form. Send the text or the file itself.")
        said = headers.get("content-length", "")
        size, more = int(said) if said.isdecimal() else 0, True
        if size <= most:
            size = 0
            if connection_of(self.request).cycle.more_body:
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
            self.waiting.pop(self, None)
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


def recase_block(block: bytes, recase: Recase) -> bytes:
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
    """The open streams of a service, at most `most`; a line of more than `longest` bytes ends one."""

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

    (A StreamingResponse of Starlette would take pieces of the body for itself.)"""

    crowded = "too many streams. Send the other lines again."

    def __init__(self, request: Request, budget: Budget, in_thread: InThread, recase: Recase, streams: Streams) -> None:
        super().__init__(request, budget, streams.waiting)
        self._in_thread, self._recase, self._streams = in_thread, recase, streams

    def stop(self) -> None:
        """End the stream, because the service stops."""
        self.refuse(503, "the service is stopping. Send the other lines again.")

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

    async def _recased(self, end: bytes) -> bytes:
        self.waiting.pop(self, None)
        block = bytes(self.held) + end
        self.release()
        return await self._in_thread(partial(recase_block, block, self._recase))

    async def _blocks(self) -> AsyncIterator[bytes]:
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
            self.waiting.pop(self, None)
            self.release()


class _Options(BatchOptions):
    remedy = TextOptions.remedy  # a request has no option for malformed records


class Upload(FileResponse):
    """The file in the body of a request, in a folder that is removed when the answer is sent, or cannot be."""

    def __init__(self, asked: Any) -> None:
        self._asked, suffix = asked, suffix_of(asked.name)
        if suffix not in FORMATS:
            raise RefusedError(415, f"{asked.name!r}: the format is not supported. Send one of {', '.join(FORMATS)}.")
        self._folder = Path(mkdtemp(prefix="capfst-"))
        self.given = self._folder / f"given{suffix}"
        headers = {"content-disposition": f"attachment; filename*=utf-8''{quote(asked.name, safe='')}"}
        super().__init__(self._folder / "recased", headers=headers, media_type="application/octet-stream")

    def remove(self) -> None:
        shutil.rmtree(self._folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.remove()

    def recase(self, recaser: Recaser) -> None:
        """Recase the file; RefusedError, with the name that the client gave, if it cannot be read."""
        asked = self._asked
        with self.given.open("rb") as begin:
            if begin.read(16).startswith(_COMPRESSED):
                raise RefusedError(415, f"{asked.name!r}: the file is compressed. Send it uncompressed.")
        pipeline = recaser.pipeline_with(asked.options(), "recase")
        document = "" if pipeline.options.document else None
        casing = {name: getattr(pipeline.options, name) for name in ("markup", "remarks")}
        selected: Any = dict.fromkeys(() if asked.field is msgspec.UNSET else ("field", "column"), (asked.field,))
        options = _Options(**selected, document=document, **casing)

        def recased(text: bytes, *others: Any, head: bytes | None = None) -> tuple[memoryview, RecaseCounts]:
            style = pipeline.style_after(head) if head else None if head is None else Style()
            return pipeline.recase_utf8(text, style), RecaseCounts()

        try:
            format = format_of(self.given, options)
            with Path(self.path).open("wb") as file, format.writing(file) as write:
                for piece in format.pieces(lambda data: check()):
                    write(format.recased(piece, recased)[0])
        except CapfstError as error:
            raise RefusedError(400, str(error).replace(str(self.given), asked.name)) from error
