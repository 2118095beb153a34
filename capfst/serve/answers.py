"""The answers of the service: JSON, and one shape for all errors.

An error is `{"error": {"status": 413, "message": "Problem: detail. Remedy."}}`. Answers end with a line break, as a
terminal likes them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from capfst.exceptions import one_line, shortened

json_bytes = msgspec.json.Encoder().encode

AGAIN = {429: "1", 503: "1"}
"""Seconds after which a client may try again, by status."""


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def error_bytes(status: int, message: str) -> bytes:
    return json_bytes({"error": {"status": status, "message": shortened(one_line(message))}})


class JSONAnswer(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json_bytes(content) + b"\n"


def error_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    headers = {"retry-after": AGAIN[status]} if status in AGAIN else headers
    return Response(error_bytes(status, message) + b"\n", status, headers, "application/json")
