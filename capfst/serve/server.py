"""Run the service until a signal stops it: the socket, uvicorn, and the end.

SIGTERM and Ctrl-C close the socket, finish the requests that have arrived, within the time limit, and end the process,
whatever its threads do then; a second signal does not wait for requests.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from types import FrameType

import uvicorn

from capfst.exceptions import CapfstError
from capfst.options import ServeOptions
from capfst.recaser import Recaser
from capfst.serve.app import application
from capfst.serve.connection import Connection, Waiting, watch
from capfst.serve.service import Service
from capfst.system.stopping import stop_all

try:
    import resource
except ModuleNotFoundError:  # Windows
    resource = None  # type: ignore[assignment]

logger = logging.getLogger("capfst.serve")

_IDLE = 65
"""Seconds after which an idle connection is closed: more than proxies keep theirs."""
_BACKLOG = 2048
_PATIENCE = 2
"""Seconds in which requests get an error, and threads end, when the time of a stopping service is over."""
_OTHER_FILES = 128
"""Files that are open besides connections: models, uploads."""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, announce: Callable[[], object]) -> None:
        super().__init__(config)
        self._service, self._announce = service, announce

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._watching = asyncio.ensure_future(watch(self.server_state.connections))
        self._announce()  # now that signals are handled

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.streams.stop()
        asyncio.get_running_loop().call_later(self._service.limits.timeout, stop_all)
        await super().shutdown(sockets)
        self._watching.cancel()


def serve(recasers: Mapping[str, Recaser], options: ServeOptions, announce: Callable[[str], object]) -> None:
    """Serve until a signal comes. announce: is called with the address.

    Raises:
        CapfstError: the address cannot be used.
    """
    options = replace(options, max_connections=_allowed(options.max_connections))
    with _listening(options) as listener:
        host, port = listener.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        service = Service(recasers, options)
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

        def on_close(reason: str) -> None:
            service.metrics.closed.labels(reason).inc()

        config = uvicorn.Config(
            application(service, ip_address(host).is_loopback),
            http=partial(Connection, limits=options, idle=Waiting(), on_close=on_close),  # type: ignore[arg-type]
            ws="none", lifespan="off", log_config=None, access_log=False, proxy_headers=False, server_header=False,
            timeout_keep_alive=_IDLE, timeout_graceful_shutdown=options.timeout + _PATIENCE,
            backlog=_BACKLOG,
        )  # fmt: skip
        server = _Server(config, service, lambda: announce(address))
        connections = server.server_state.connections
        service.metrics.watch("capfst_connections", "Open connections.", lambda: len(connections))
        try:
            server.run([listener])
        finally:
            if not service.close(_PATIENCE):
                logger.warning("the service ends although some requests are not finished.")
                sys.stderr.flush()
                os._exit(0)


def _allowed(connections: int) -> int:
    """Return how many connections can be open, of as many as are wanted: as many files as the system allows."""
    if resource is None:
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(connections, max(1, soft - _OTHER_FILES))


def _listening(options: ServeOptions) -> socket.socket:
    try:
        family = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((options.host, options.port), family=family, backlog=_BACKLOG)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else asyncio's answers take 40 ms
        return listener
    except (OSError, UnicodeError) as error:
        where = f"{options.host}:{options.port}"
        why = str(getattr(error, "strerror", "no host can have this name")).partition(" (while ")[0]
        raise CapfstError(f"cannot listen on {where}: {why}. Choose another `host` or `port`.") from error
