"""The description of the service: OpenAPI 3.1, and the page `/docs` made from it.

Fields of requests come from requests.py, and so from capfst/options.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

import msgspec

from capfst.serve.requests import ExplainRequest, FileRequest, RecaseRequest
from capfst.serve.uploads import FORMATS
from capfst.version import __version__

_SCHEMA = "#/components/schemas/{name}"
_RECASE = """Restores the case of text. `text` is one text, of any number of lines; `lines` are the lines of one text; a
list is of texts that are each on their own. The answer has the same form. With `confidence` or `nbest`, a text is one
line, and each line becomes an object, with the changed `words` and their log-odds (null: there is no other casing), and
the casings and their costs. Text, lists and streams take their options from the query:
`/recase?sentence_case=true&model=en`."""
_STREAM = """A stream of JSON lines is answered line by line, while it arrives. A line is a string, or an object whose
field `text` is recased; other fields stay. Each line is on its own. An invalid line has an `error` in its place."""
_EXPLAIN = """Returns why a line is cased as it is: for each word the forms that competed, their costs, and the parts of
these. With `document`, `text` may have several lines, of which `line` is explained."""
_FILES = f"""Recases a file, the body of the request; all but its text stays. The suffix of `name` is its format:
{", ".join(FORMATS)}."""
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


def describe(models: list[str]) -> dict[str, Any]:
    """Return the description of a service with these models, for JSON."""
    kinds = (RecaseRequest, ExplainRequest, FileRequest)
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_SCHEMA)
    for schema in schemas.values():
        schema["properties"]["model"] = {"enum": models, "default": models[0], "description": "Name of the model."}
    query = _parameters(schemas["RecaseRequest"], leave_out=("text", "lines"))
    of_file = _parameters(schemas.pop("FileRequest"))
    schemas["Recased"] = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "lines": {"type": "array"},
            "words": {"type": "array", "items": {"type": "object", "required": ["start", "end", "word", "log_odds"]}},
            "nbest": {"type": "array", "items": {"type": "object", "required": ["cost", "text"]}},
        },
    }
    schemas["Error"] = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["status", "message"],
                "properties": {"status": {"type": "integer"}, "message": {"type": "string"}},
            }
        },
    }
    texts = {"type": "array", "items": {"type": "string"}}
    lines = {"schema": {"type": "string"}, "example": '"new york"\n{"id": 7, "text": "an iphone"}\n'}
    recase = {
        "application/json": {
            "schema": {"oneOf": [_reference("RecaseRequest"), texts]},
            "example": {"text": "new york has new information", "sentence_case": True},
        },
        "application/x-ndjson": lines,
        "text/plain": {"schema": {"type": "string"}, "example": "new york has new information"},
    }
    recased = {
        "application/json": {"schema": {"oneOf": [_reference("Recased"), texts]}},
        "application/x-ndjson": {"schema": {"type": "string"}},
        "text/plain": {"schema": {"type": "string"}},
    }
    explain = {"application/json": {"schema": _reference("ExplainRequest"), "example": {"text": "an it meeting"}}}
    file = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    any_json = {"application/json": {"schema": {"type": "object"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "capfst", "version": __version__, "description": "Restores the case of text."},
        "paths": {
            "/recase": _post("Recase text", f"{_RECASE}\n\n{_STREAM}", recase, recased, query),
            "/explain": _post("Explain a line", _EXPLAIN, explain, any_json),
            "/files": _post("Recase a file", _FILES, file, file, of_file),
            "/models": _get("List the models", "Returns name, languages and signature of each model.", any_json),
            "/healthz": _get("Health", "Returns 200, or 503 when the service is stopping.", any_json),
            "/metrics": _get("Metrics", "Returns counts and times for Prometheus.", {"text/plain": {}}),
            "/openapi.json": _get("This description", "Returns OpenAPI 3.1.", any_json),
        },
        "components": {"schemas": schemas},
    }


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": _SCHEMA.format(name=name)}


def _parameters(schema: dict[str, Any], leave_out: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": field.pop("description", ""),
            "schema": field,
        }
        for name, field in ((name, dict(field)) for name, field in schema["properties"].items())
        if name not in leave_out
    ]


def _post(
    summary: str,
    description: str,
    body: dict[str, Any],
    answer: dict[str, Any],
    query: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    errors = {
        status: {"description": text, "content": {"application/json": {"schema": _reference("Error")}}}
        for status, text in _ERRORS.items()
    }
    answers = {"200": {"description": "The answer.", "content": answer}, **errors}
    asked = {"required": True, "content": body}
    method = {"summary": summary, "description": description, "requestBody": asked, "responses": answers}
    return {"post": method | ({"parameters": query} if query else {})}


def _get(summary: str, description: str, answer: dict[str, Any]) -> dict[str, Any]:
    answers = {"200": {"description": "The answer.", "content": answer}}
    return {"get": {"summary": summary, "description": description, "responses": answers}}


def page(description: dict[str, Any]) -> str:
    """Return the description as a page of HTML, which needs the style of the page `/` only."""
    routes = "\n".join(_routes(description))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>capfst: requests</title>
<link rel="stylesheet" href="style.css">
</head>
<body class="reference">
<header><h1><a href="./">capfst</a></h1><nav><a href="openapi.json">OpenAPI</a></nav></header>
<main>
<p>Errors of all routes are JSON: <code>{{"error": {{"status": 413, "message": "…"}}}}</code>.</p>
<table>{"".join(_row(status, escape(text)) for status, text in _ERRORS.items())}</table>
{routes}
</main>
</body>
</html>
"""


def _row(head: str, text: str) -> str:
    return f"<tr><th><code>{head}</code></th><td>{text}</td></tr>"


def _routes(description: dict[str, Any]) -> Iterator[str]:
    for route, methods in description["paths"].items():
        for name, method in methods.items():
            yield f"<section><h2><code>{name.upper()} {route}</code> {escape(method['summary'])}</h2>"
            yield from (f"<p>{_prose(part)}</p>" for part in method["description"].split("\n\n"))
            for kind, content in method.get("requestBody", {}).get("content", {}).items():
                example = content.get("example", "")
                text = example if isinstance(example, str) else json.dumps(example)
                yield f"<p>Body: <code>{kind}</code></p>" + (f"<pre>{escape(text)}</pre>" if text else "")
                name = content["schema"].get("oneOf", [content["schema"]])[0].get("$ref", "").rpartition("/")[2]
                if name:
                    yield _fields(description["components"]["schemas"][name])
            if parameters := method.get("parameters"):
                names = ", ".join(f"<code>{each['name']}</code>" for each in parameters)
                yield f"<p>Query: {names}</p>"
            yield "</section>"


def _fields(schema: dict[str, Any]) -> str:
    rows = (_row(name, _prose(field.get("description", ""))) for name, field in schema["properties"].items())
    return f"<table>{''.join(rows)}</table>"


def _prose(text: str) -> str:
    """Return text with its code, which is in backticks, as HTML."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if k % 2 else part for k, part in enumerate(parts))
