"""The application: routes, the page, and what all routes share: who may send requests, errors as JSON, measures.

In: requests as ASGI has them. Out: answers.
"""

import asyncio
import errno
import logging
import re
import time
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from capfst.exceptions import CapfstError
from capfst.options import ServeOptions
from capfst.serve.answers import JSONAnswer, RefusedError, error_answer
from capfst.serve.requests import describe
from capfst.serve.service import Service

logger = logging.getLogger("capfst.serve")

PAGE = {
    "/": ("index.html", "text/html"),
    "/style.css": ("style.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/docs": ("docs.html", "text/html"),
    "/docs.js": ("docs.js", "text/javascript"),
}
"""The files of the page, by route."""

HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Of pages: a browser runs and loads only what the service has sent."""


_LOCAL = re.compile(rb"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d*)?")
_PORT = re.compile(rb":\d*$")


def application(service: Service, is_local: bool) -> ASGIApp:
    """Return the service as an ASGI application. is_local: as for `Senders`."""
    folder = files("capfst.serve") / "page"
    described = JSONAnswer(describe(list(service.recasers)), headers=HEADERS)
    routes = [
        Route("/recase", service.recase, methods=["POST"]),
        Route("/explain", service.explain, methods=["POST"]),
        Route("/files", service.files, methods=["POST"]),
        Route("/models", service.models),
        Route("/healthz", service.health),
        Route("/metrics", service.measures),
        Route("/openapi.json", described, methods=["GET"]),
    ]
    for path, (name, kind) in PAGE.items():
        page = Response((folder / name).read_bytes(), headers=HEADERS, media_type=kind)
        routes.append(Route(path, page, methods=["GET"]))

    def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, RefusedError):
            return error_answer(error.status, str(error))
        if isinstance(error, CapfstError):
            return error_answer(400, service.message(error))
        if isinstance(error, HTTPException):
            problem = f"does not take {request.method}" if error.status_code == 405 else "is not a route"
            return error_answer(error.status_code, f"{request.url.path} {problem}. See /docs.", error.headers)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return error_answer(507, "the service has no room for the file. Try again later, or send a smaller one.")
        return error_answer(500, "the service has failed. Its log has the reason.")

    handlers = dict.fromkeys((RefusedError, CapfstError, HTTPException, Exception), failed)
    inner = Starlette(routes=routes, exception_handlers=handlers)
    inner.router.redirect_slashes = False  # behind a proxy with TLS, clients would send the text again without it
    app = _Front(inner, service, Senders(service.limits, is_local), {route.path for route in routes})
    if not service.limits.cors:
        return app
    return CORSMiddleware(app, allow_origins=service.limits.cors, allow_methods=["*"], allow_headers=["*"])


class Senders:
    """Who may send requests: programs, and pages of the service itself or of origins that the option `cors` names.

    A browser sends requests for any page that its user visits, also to a service on the same machine. It says so in two
    headers. `Host` is the name in the address: if it is not a name of this machine, the name of a page has been made to
    lead here (DNS rebinding), so that the page could read answers. `Origin`, or `Sec-Fetch-Site`, is where it is from.

    is_local: whether the service listens on an address that only this machine has: then it has only local names."""

    def __init__(self, options: ServeOptions, is_local: bool) -> None:
        self._is_any, self._is_local = "*" in options.cors, is_local
        self._origins = {origin.encode() for origin in options.cors}
        names = [options.host, *(origin.rpartition("://")[2] for origin in options.cors)]
        self._names = {_PORT.sub(b"", name.lower().encode()) for name in names}

    def refusal(self, scope: Scope) -> RefusedError | None:
        """Return why a request is refused, or None."""
        found: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            found[name] = value.lower()
            if name == b"host" and self._is_local and not self._is_any and not self._has(found[name]):
                named = found[name].decode("latin-1")
                return RefusedError(
                    421, f"{named!r} is not a name of this service. Use localhost, or list its origin in `--cors`."
                )
        origin, site = found.get(b"origin"), found.get(b"sec-fetch-site")
        is_safe = scope["method"] in ("GET", "HEAD", "OPTIONS") or self._is_any or origin in self._origins
        is_own = site in (b"same-origin", b"none") if site else origin == b"http://" + found.get(b"host", b"")
        if is_safe or is_own or (origin is None and site is None):  # programs send neither header
            return None
        named = (origin or b"null").decode("latin-1")
        return RefusedError(403, f"the page is from {named!r}, another origin. List that in `--cors` to accept it.")

    def _has(self, host: bytes) -> bool:
        return _LOCAL.fullmatch(host) is not None or _PORT.sub(b"", host) in self._names


class _Front:
    """Measures requests, refuses those that pages of others send, and ends those that fail."""

    def __init__(self, app: ASGIApp, service: Service, senders: Senders, routes: set[str]) -> None:
        self._app, self._metrics, self._senders, self._routes, self._n = app, service.metrics, senders, routes, 0
        self._metrics.watch("capfst_requests_in_progress", "Requests that are being handled.", lambda: self._n)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin, connection, status = time.perf_counter(), scope["state"]["connection"], 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start" and not connection.is_gone():
                status = message["status"]
            if message["type"] == "http.response.body" and not message.get("more_body"):
                connection.end_answer()
            await send(message)

        self._n += 1
        try:
            if refused := self._senders.refusal(scope):
                await error_answer(refused.status, str(refused))(scope, receive, sending)
            else:
                await self._app(scope, receive, sending)
        except ClientDisconnect:
            pass
        except asyncio.CancelledError:  # the time of a stopping service is over
            connection.refuse("late", 503, "the service is stopping.")
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
        finally:
            self._n -= 1
            route = scope["path"] if scope["path"] in self._routes else "other"
            self._metrics.answered(route, status or connection.status, time.perf_counter() - begin)
