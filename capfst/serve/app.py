"""The application: routes, the page, and what all routes share: errors as JSON, the number of requests, their measures.

In: requests as ASGI has them. Out: answers.
"""

from __future__ import annotations

import asyncio
import logging
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
from capfst.serve.answers import JSONAnswer, RefusedError, error_answer
from capfst.serve.metrics import Metrics
from capfst.serve.requests import describe
from capfst.serve.senders import Senders
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


def application(service: Service, senders: Senders) -> ASGIApp:
    """Return the service as an ASGI application."""
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
        return error_answer(500, "the service has failed. Its log has the reason.")

    handlers = dict.fromkeys((RefusedError, CapfstError, HTTPException, Exception), failed)
    inner = Starlette(routes=routes, exception_handlers=handlers)
    app = _Front(inner, service.metrics, senders, {route.path for route in routes})
    if not service.limits.cors:
        return app
    return CORSMiddleware(app, allow_origins=service.limits.cors, allow_methods=["*"], allow_headers=["*"])


class _Front:
    """Measures requests, refuses those that pages of others send, and ends those that fail."""

    def __init__(self, app: ASGIApp, metrics: Metrics, senders: Senders, routes: set[str]) -> None:
        self._app, self._routes = app, routes
        self._metrics, self._senders, self._n = metrics, senders, 0
        self._metrics.watch("capfst_requests_in_progress", "Requests that are being handled.", lambda: self._n)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin, connection, status = time.perf_counter(), scope["state"]["connection"], 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start" and not connection.is_gone():
                status = message["status"]
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
