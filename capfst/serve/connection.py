"""A connection with limits of time and size, which uvicorn's lacks: it would wait forever for the rest of a request,
and for a client that does not read.

In: bytes. Out: requests, as uvicorn's protocol passes them to the application. `Connection.look` ends connections that
make no progress: with 408 if a request does not arrive, with 503 if its answer takes too long, and without an answer if
the client does not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from capfst.options import ServeOptions
from capfst.serve.answers import error_bytes

LARGEST_HEAD = 1 << 16
"""Bytes of a request before its body."""
MOST_WAITING = 32
"""Requests that a connection may send ahead."""


class Connection(HttpToolsProtocol):
    """A connection. The class that `connection_class` returns has the limits."""

    limits: ServeOptions
    on_close: Callable[[str], object]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waits_since: float | None = self.loop.time()  # for a request; None: its head has arrived
        self._heard = self._asked = 0.0  # when bytes and when the head of a request have arrived
        self._head = 0  # bytes of the head that is arriving
        self._unread = (0, 0.0)  # bytes that the client has not taken, and since when it has taken none of these
        if len(self.connections) > self.limits.max_connections:
            self.refuse("connections", 503, "too many connections. Try again later.")

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        super().data_received(data)
        if self._waits_since is not None and not self._has_refused:
            self._head += len(data)
            if self._head > LARGEST_HEAD:
                self.refuse("head", 431, f"the head of the request has more than {LARGEST_HEAD:,} bytes. Shorten it.")

    @property
    def _has_refused(self) -> bool:
        """Whether the rest of a body is arriving that has been refused. It is read, so that the client reads why."""
        return self.cycle is not None and self.cycle.response_complete and self.cycle.more_body

    def send_400_response(self, msg: str) -> None:
        self.refuse("invalid", 400, "this is not a request of HTTP/1.1. See /docs.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._waits_since, self._head = self._heard, 0

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= MOST_WAITING:
            raise ValueError("too many requests without waiting for their answers")
        super().on_headers_complete()
        self._waits_since, self._asked = None, self._heard

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._has_refused:
            self._waits_since = self.loop.time()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self._has_refused:
            self._waits_since, self.cycle.more_body = None, False

    def look(self, now: float) -> None:
        """Close the connection if it has made no progress for too long."""
        long_ago = now - self.limits.timeout
        n_unread = self.transport.get_write_buffer_size()
        if not n_unread or n_unread != self._unread[0]:
            self._unread = n_unread, now
        cycle = self.cycle
        if self._unread[1] < long_ago:
            self.drop("unread")
        elif self._waits_since is not None:
            if self._waits_since < long_ago and self._has_refused:
                self.drop("slow")
            elif self._waits_since < long_ago:
                self.refuse("slow", 408, f"the request took more than {self.limits.timeout} s. Send it faster.")
        elif cycle is None or cycle.response_complete:
            pass  # uvicorn closes idle connections
        elif cycle.response_started:  # a stream
            if cycle.more_body and not self.flow.read_paused and self._heard < long_ago:
                self.drop("slow")
        elif self._asked < long_ago:
            if cycle.more_body:
                self.refuse("slow", 408, f"the body took more than {self.limits.timeout} s. Send it faster.")
            else:
                self.refuse("late", 503, f"the answer took more than {self.limits.timeout} s. Send less at once.")

    def refuse(self, reason: str, status: int, message: str) -> None:
        """Answer with an error, unless another answer has begun, and close the connection."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            body = error_bytes(status, message)
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
            self.transport.write(STATUS_LINE[status] + head + body)
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.on_close(reason)
        self.transport.close()

    def drop(self, reason: str) -> None:
        """Close the connection at once; what the client has not read is lost."""
        self.on_close(reason)
        self.transport.abort()


def connection_class(limits: ServeOptions, on_close: Callable[[str], object]) -> type[Connection]:
    """Return the protocol for uvicorn. `on_close` is called with the reason for which a connection is closed."""
    return type("LimitedConnection", (Connection,), {"limits": limits, "on_close": staticmethod(on_close)})


async def watch(connections: set[Any]) -> None:
    """Look at all connections each second."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(1)
        for connection in list(connections):
            connection.look(loop.time())
