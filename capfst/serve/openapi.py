"""The description of the service: OpenAPI 3.1, which the page `/docs` shows.

Routes are described by their docstrings (service.py), and fields of requests in requests.py, which has them from
capfst/options.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.routing import Route

from capfst.serve.requests import ExplainRequest, FileRequest, RecaseRequest
from capfst.version import __version__

_SCHEMA = "#/components/schemas/{name}"
_STRING, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_FILE = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_ERROR = {"required": ["status", "message"], "properties": {"status": {"type": "integer"}, "message": _STRING}}
_ANSWERS = {
    "Recased": {
        "text": _STRING,
        "lines": {"type": "array"},
        "words": {"type": "array", "items": {"type": "object", "required": ["start", "end", "word", "log_odds"]}},
        "nbest": {"type": "array", "items": {"type": "object", "required": ["cost", "text"]}},
    },
    "Error": {"error": {"type": "object"} | _ERROR},
}
_ERRORS = {
    "400": "The request is invalid, or an option does not fit the model.",
    "403": "The request is from a page of another origin.",
    "408": "The request took too long to arrive.",
    "413": "The body, a line or a list is too large.",
    "415": "The content type or the format of a file is not supported.",
    "421": "The host is not a name of the service.",
    "429": "Too many requests at once. Try again later.",
    "503": "The service is stopping, has too many connections, or took too long. Try again later.",
}


def describe(routes: Iterable[Route], models: list[str]) -> dict[str, Any]:
    """Return the description of a service with these routes and models, for JSON."""
    _, schemas = msgspec.json.schema_components((RecaseRequest, ExplainRequest, FileRequest), ref_template=_SCHEMA)
    for schema in schemas.values():
        schema["properties"]["model"] = {"enum": models, "default": models[0], "description": "Name of the model."}
    of_recase, of_file = _parameters(schemas["RecaseRequest"]), _parameters(schemas.pop("FileRequest"))
    schemas |= {name: {"type": "object", "properties": properties} for name, properties in _ANSWERS.items()}
    schemas["Error"]["required"] = ["error"]
    text, any_json = {"text/plain": {"schema": _STRING}}, {"application/json": {"schema": {"type": "object"}}}
    recase = {
        **_json({"oneOf": [_of("RecaseRequest"), _TEXTS]}, {"text": "new york is new", "sentence_case": True}),
        "application/x-ndjson": {"schema": _STRING, "example": '"new york"\n{"id": 7, "text": "an iphone"}\n'},
        "text/plain": {"schema": _STRING, "example": "new york has new information"},
    }
    recased = _json({"oneOf": [_of("Recased"), _TEXTS]}) | {"application/x-ndjson": {"schema": _STRING}} | text
    posts = {  # the body, the answer, and the query
        "/recase": (recase, recased, of_recase),
        "/explain": (_json(_of("ExplainRequest"), {"text": "an it meeting"}), any_json, []),
        "/files": (_FILE, _FILE, of_file),
    }
    errors = {status: {"description": text, "content": _json(_of("Error"))} for status, text in _ERRORS.items()}
    paths = {}
    for route in routes:
        summary, _, description = (inspect.getdoc(route.endpoint) or "").partition("\n\n")
        body, answer, query = posts.get(route.path, (None, text if route.path == "/metrics" else any_json, []))
        method: dict[str, Any] = {"summary": summary, "description": description}
        method["responses"] = {"200": {"description": "The answer.", "content": answer}} | (errors if body else {})
        if body:
            method |= {"parameters": query, "requestBody": {"required": True, "content": body}}
        paths[route.path] = {"post" if body else "get": method}
    info = {"title": "capfst", "version": __version__, "description": "Restores the case of text."}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _of(name: str) -> dict[str, str]:
    return {"$ref": _SCHEMA.format(name=name)}


def _json(schema: dict[str, Any], example: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"application/json": {"schema": schema} | ({"example": example} if example else {})}


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a request as those of a query, in which text cannot be."""
    return [
        {
            "name": name, "in": "query", "required": name in schema.get("required", ()),
            "description": field["description"], "schema": field,
        }
        for name, field in schema["properties"].items()
        if name not in ("text", "lines")
    ]  # fmt: skip
