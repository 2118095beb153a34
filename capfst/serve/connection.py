"""A connection with limits of time and size. Uvicorn's would wait forever for the rest of a request, and for a client
that does not read.

In: bytes. Out: requests, as uvicorn's protocol passes them to the application, with their connection in their state.
`Connection.look` ends connections that make no progress: with 408 if a request does not arrive, with 503 if its answer
takes too long, and without an answer if the client does not read. If there are too many connections, the one that has
waited longest for a request gives way.
"""

import asyncio
import math
from collections.abc import Callable
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade
from starlette.requests import Request
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from capfst.options import ServeOptions
from capfst.serve.answers import AGAIN, error_bytes

LARGEST_HEAD = 1 << 16
"""Bytes of a request before its body, and of the extensions and trailers of chunks in a body."""
_PIECE = 1 << 12
"""Bytes that are parsed at once, so that a head that is too long is detected soon."""
MOST_WAITING = 32
"""Requests that a connection may send ahead."""
_TOO_MANY = "too many connections. Try again later."
_TOO_LONG = {
    "head": ("slow", 408, "the request took more than {} s. Send it faster."),
    "body": ("slow", 408, "the body took more than {} s. Send it faster."),
    "answer": ("late", 503, "the answer took more than {} s. Send less at once."),
}
"""The phases of a request: what it waits for, and how it is refused if that takes too long. Then comes "idle", or first
"rest": the rest of a body that has been refused is read, so that the client reads why."""


class Waiting(dict[Any, None]):
    """Those that wait for their clients, in the order in which they began to: connections without a request, bodies
    that are arriving, streams between lines.

    A client that stalls costs nothing but its place. So where places are limited, the one that has waited longest gives
    way to one that comes.
    """

    def __init__(self, most: float = math.inf) -> None:
        super().__init__()
        self._most = most

    def add(self, guest: Any) -> None:
        """Note that a guest begins to wait; if there are too many, let one give way."""
        self[guest] = None
        if len(self) > self._most:
            self.drop_oldest()

    def drop_oldest(self) -> bool:
        """Let the guest give way that has waited longest. Return whether there was one."""
        guest = next(iter(self), None)
        if guest is None:
            return False
        del self[guest]
        guest.give_way()
        return True


class Connection(HttpToolsProtocol):
    """A connection, which is `idle` while it waits for a request. on_close: is called with the reason for which the
    service closes it."""

    status = 499  # of a request that is not answered: as nginx has it, the client is gone

    def __init__(
        self, *uvicorns: Any, limits: ServeOptions, idle: Waiting, on_close: Callable[[str], object], **named: Any
    ) -> None:
        super().__init__(*uvicorns, **named)
        self.limits, self.idle, self.on_close = limits, idle, on_close

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._enter("head")
        self._heard = self._since  # when bytes have arrived
        self._running: Any = None  # the cycle of the request that is handled; `cycle` is that of the last one
        self._is_last = False  # whether the connection is closed after the rest of the body
        self._textless = 0  # bytes since a request began, or text of its body came
        self._unread = (0, 0.0)  # bytes that the client has not taken, and since when it has taken none of these
        if len(self.connections) > self.limits.max_connections and not self.idle.drop_oldest():
            self.refuse("connections", 503, _TOO_MANY)
        else:
            self.idle.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.idle.pop(self, None)
        self._disconnect()
        super().connection_lost(error)

    def _enter(self, phase: str) -> None:
        self._phase, self._since = phase, self.loop.time()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _disconnect(self) -> None:
        """Tell the request that is handled that its client is gone."""
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self.wake()

    def wake(self) -> None:
        """Let the request that is handled stop waiting for more of its body."""
        self._running.message_event.set()

    def is_gone(self) -> bool:
        """Whether nobody waits for an answer. Any thread may ask."""
        return self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        self._unset_keepalive_if_required()
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            piece = data[start : start + _PIECE]
            if self._textless + len(piece) > LARGEST_HEAD:
                self.refuse("head", 431, f"the head of the request has more than {LARGEST_HEAD:,} bytes. Shorten it.")
                return
            self._parse(piece)
            self._textless += len(piece)

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as offer:
            head = b"%s %s HTTP/%s\r\n" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
            kept = [b"%s: %s\r\n" % each for each in self.headers if each[0] != b"upgrade"]
            self._parse(b"".join([head, *kept, b"\r\n", data[offer.args[0] :]]))
        except HttpParserError:
            self.refuse("invalid", 400, "this is not a valid HTTP/1.1 request. See /docs.")

    def _offers_upgrade(self) -> bool:
        """Return whether the request offers another protocol, such as HTTP/2 (the default of Java's client). The parser
        would take its body for that protocol, so `_parse` reads the request again, without the offer."""
        return self.parser.should_upgrade() and any(name == b"upgrade" for name, _ in self.headers)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"]["connection"] = self
        self._textless = 0
        self._enter("head")

    def on_headers_complete(self) -> None:
        if self._offers_upgrade():
            return
        if len(self.pipeline) >= MOST_WAITING:
            raise ValueError("too many requests without waiting for their answers")
        super().on_headers_complete()
        self._enter("body")
        self._textless = 0
        self.idle.pop(self, None)

    def on_body(self, body: bytes) -> None:
        self._textless = 0
        super().on_body(body)

    def end_answer(self) -> None:
        """Prepare the end of an answer: if the client is still sending, the rest is read before the connection is
        closed. Uvicorn would close it at once, which loses the answer."""
        cycle = self._running
        self._is_last = cycle.more_body and not cycle.keep_alive
        cycle.keep_alive |= self._is_last

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self.idle.add(self)
            self._enter("rest" if self.cycle.more_body else "idle")

    def on_message_complete(self) -> None:
        if self._offers_upgrade():
            return
        self._textless = 0
        super().on_message_complete()
        self._enter("idle" if self._phase == "rest" else "answer")
        if self._is_last:
            self.transport.close()
        if not self.pipeline:
            self.flow.resume_reading()  # to learn whether the client goes away

    def look(self, now: float) -> None:
        """Close the connection if it has made no progress for too long."""
        long_ago = now - self.limits.timeout
        n_unread = self.transport.get_write_buffer_size()
        if not n_unread or n_unread != self._unread[0]:
            self._unread = n_unread, now
        phase, since = self._phase, self._since
        is_stream = phase in ("body", "answer") and self.cycle.response_started
        if is_stream:
            since = now if phase == "answer" or self.flow.read_paused else self._heard
        if self._unread[1] < long_ago:
            self.drop("unread")
        elif phase == "idle" or since >= long_ago:
            pass  # uvicorn closes idle connections
        elif phase == "rest" or is_stream:
            self.drop("slow")
        else:
            reason, status, message = _TOO_LONG[phase]
            self.refuse(reason, status, message.format(self.limits.timeout))

    def refuse(self, reason: str, status: int, message: str) -> None:
        """Answer with an error, unless another answer has begun, and close the connection."""
        if self.transport.is_closing():
            return
        cycle = self._running
        if cycle is None or cycle.response_complete or not cycle.response_started:
            body = error_bytes(status, message)
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n" % len(body)
            again = b"retry-after: %s\r\n" % AGAIN[status].encode() if status in AGAIN else b""
            self.transport.write(STATUS_LINE[status] + head + again + b"\r\n" + body)
            self.status = status
        self._disconnect()
        self.on_close(reason)
        self.transport.close()

    def give_way(self) -> None:
        """Close the connection, which waits for a request, because another one comes."""
        if self.scope is not None and self._phase == "head":
            self.refuse("connections", 503, _TOO_MANY)
        else:
            self.drop("connections")

    def drop(self, reason: str) -> None:
        """Close the connection at once; what the client has not read is lost."""
        self.on_close(reason)
        self.transport.abort()


def connection_of(request: Request) -> Connection:
    connection: Connection = request.scope["state"]["connection"]
    return connection


async def watch(connections: set[Any]) -> None:
    """Look at all connections each second."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(1)
        for connection in list(connections):
            connection.look(loop.time())
