"""The description of the service: OpenAPI 3.1, which the page `/docs` shows.

page/openapi.json describes the routes. The fields of requests, which are the options of capfst/options.py, are added.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import msgspec

from capfst.serve.requests import ExplainRequest, FileRequest, RecaseRequest
from capfst.version import __version__


def describe(models: list[str]) -> dict[str, Any]:
    """Return the description of a service with these models, for JSON."""
    described: dict[str, Any] = msgspec.json.decode((files("capfst.serve") / "page" / "openapi.json").read_bytes())
    requests = (RecaseRequest, ExplainRequest, FileRequest)
    _, schemas = msgspec.json.schema_components(requests, ref_template="#/components/schemas/{name}")
    for schema in schemas.values():
        schema["properties"]["model"] = {"enum": models, "default": models[0], "description": "Name of the model."}
    components, posts = described["components"], {path: each.get("post") for path, each in described["paths"].items()}
    for method in filter(None, posts.values()):
        method["responses"] |= {
            status: {"$ref": f"#/components/responses/{status}"} for status in components["responses"]
        }
    posts["/recase"]["parameters"] = _parameters(schemas["RecaseRequest"])
    posts["/files"]["parameters"] = _parameters(schemas.pop("FileRequest"))
    components["schemas"] |= schemas
    described["info"]["version"] = __version__
    return described


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
