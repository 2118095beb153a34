"""What a request asks for: its JSON or its query, checked against the options of capfst/options.py.

In: the bytes of a body, or the parameters of a query. Out: a `RecaseRequest`, `ExplainRequest` or `FileRequest`, whose
`options()` are keywords of the Recaser's methods; or a RefusedError that names the field.

A request cannot name files: `words` are the words themselves, and options that are paths are not among its fields.
"""

from collections.abc import Callable
from dataclasses import Field, fields
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request

from capfst.exceptions import quantity
from capfst.options import RecaseOptions, ServeOptions, described
from capfst.serve.answers import RefusedError
from capfst.serve.body import FORMATS
from capfst.version import __version__

MAX_NBEST = 100
MAX_EXPLAINED, MAX_CONFIDENCE = 2_000, 50_000
"""Characters of a line that is explained, or whose best casings are found; and of one whose log-odds are. (Time and
memory of the first two grow faster than the line.)"""
MAX_WORD = 200  # characters of a word or phrase

_NOT_OF_REQUESTS = ("align_words", "engine")
"""An option about translations, and one that changes no answer."""
OPTIONS = [  # not those of another kind, which are paths
    each
    for each in fields(RecaseOptions)
    if each.name == "words" or (each.metadata["kind"] in (None, "pair") and each.name not in _NOT_OF_REQUESTS)
]
NAMES = [each.name for each in OPTIONS]


def _of(kind: Any, description: str, **limits: Any) -> Any:
    return Annotated[kind, Meta(description=description, **limits)]


def _annotation(option: Field[Any]) -> Any:
    choices, help = option.metadata["choices"], described(option)
    kind: Any = Literal[choices] if choices else bool if isinstance(option.default, bool) else str
    if option.name == "words":
        kind = list[str] | dict[str, float | None]
        help = "Words and phrases to write as they are listed, or an object of these and their weights in nats."
    return _of(kind, help) | UnsetType


def _options(request: Any) -> dict[str, Any]:
    given = {name: value for name in NAMES if (value := getattr(request, name)) is not UNSET}
    if isinstance(given.get("words"), list):
        given["words"] = dict.fromkeys(given["words"])
    return given


def _request(name: str, /, **fields: tuple[Any, ...]) -> Any:
    """Return the class of a request, of these fields, with their types, descriptions and defaults, and the options."""
    model = _of(str, "Name of a model; by default the first one.") | None
    options = [(each.name, _annotation(each), UNSET) for each in OPTIONS]
    own = [(field, *definition) for field, definition in fields.items()]
    return msgspec.defstruct(
        name, [*own, *options, ("model", model, None)], namespace={"options": _options},
        forbid_unknown_fields=True, kw_only=True,
    )  # fmt: skip


_Nbest = _of(int, "Also return this many best casings of each line.", ge=1, le=MAX_NBEST)

RecaseRequest = _request(
    "RecaseRequest",
    text=(_of(str, "A text, of one or more lines.") | UnsetType, UNSET),
    lines=(_of(list[str], "The lines of a text, instead of `text`.") | UnsetType, UNSET),
    nbest=(_Nbest | UnsetType, UNSET),
    confidence=(_of(bool, "Also return the changed words of each line with their log-odds."), False),
    before=(_of(str, "Text that `text` continues, as in dictation. It stays as it is, and is not returned."), ""),
)
ExplainRequest = _request(
    "ExplainRequest",
    text=(_of(str, f"A line of text, or a document, of at most {MAX_EXPLAINED:,} characters."),),
    nbest=(_Nbest, 1),
    line=(_of(int, "The line of a document that is explained.", ge=1), 1),
)
FileRequest = _request(
    "FileRequest",
    name=(_of(str, f"Name of the file, whose suffix is its format: {', '.join(FORMATS)}.", max_length=255),),
    field=(_of(str, "Field or column of the text, in JSON and tables. Default: text.") | UnsetType, UNSET),
)


def decoder(kind: Any) -> Callable[[bytes], Any]:
    """Return a function that decodes a body as this type, or as plain text; RefusedError if it is not valid."""
    decode = bytes.decode if kind is str else msgspec.json.Decoder(kind).decode

    def decoded(body: bytes) -> Any:
        try:
            return decode(body)
        except UnicodeDecodeError as error:
            start = body.find(error.object) + error.start  # it is of one string
            raise RefusedError(400, f"the body is not UTF-8 at byte {start}. Convert it.") from error
        except msgspec.DecodeError as error:
            raise RefusedError(400, f"invalid request: {error}. See /docs.") from error

    return decoded


def from_query(request: Request, kind: Any = RecaseRequest, **body: Any) -> Any:
    """Return a request whose options are in the query of its address, with the fields that are in its body."""
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in ("text", "lines"):
            raise RefusedError(400, f"invalid query: it has `{name}`. Send text in the body.")
        if name == "words":
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    try:
        return msgspec.convert(found | body, kind, strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"invalid query: {error}. See /docs.") from error


def from_body(request: Request, body: Any) -> Any:
    """Return a request, given its decoded body: an object, which has its options, or text, with those in the query."""
    if not isinstance(body, msgspec.Struct):
        return from_query(request, **{"text" if isinstance(body, str) else "lines": body})
    if request.scope["query_string"]:
        raise RefusedError(400, "options are in the query and in the body. Put all into the body.")
    return body


def check(asked: Any, limits: ServeOptions, is_plain: bool = False) -> None:
    """Raise RefusedError if a request asks for too much, or has fields that do not go together.

    is_plain: the answer is plain text or a stream, which cannot express details.
    """
    words = asked.words or ()
    if len(words) > limits.max_words:
        raise RefusedError(413, f"{quantity(len(words), 'word')} are too many. List at most {limits.max_words:,}.")
    if (longest := max(map(len, words), default=0)) > MAX_WORD:
        raise RefusedError(413, f"a word of {longest:,} characters is too long. The limit is {MAX_WORD}.")
    if isinstance(asked, ExplainRequest):
        _check_length("explain", [asked.text], MAX_EXPLAINED)
    if not isinstance(asked, RecaseRequest):
        return
    if (asked.text is UNSET) == (asked.lines is UNSET):
        raise RefusedError(400, "send either `text` or `lines`.")
    lines = [asked.text] if asked.lines is UNSET else asked.lines
    if len(lines) > limits.max_lines:
        raise RefusedError(
            413, f"{quantity(len(lines), 'line')} are too many. Send at most {limits.max_lines:,} at once, or a stream."
        )
    has_details = asked.nbest is not UNSET or asked.confidence
    if asked.before and (asked.text is UNSET or has_details):
        raise RefusedError(400, "`before` goes with `text` alone. Leave out the other fields.")
    if has_details and is_plain:
        raise RefusedError(400, "`nbest` and `confidence` need JSON. Send an object, or a list of texts.")
    if asked.confidence:
        _check_length("confidence", lines, MAX_CONFIDENCE)
    if asked.nbest is not UNSET:
        _check_length("nbest", lines, MAX_EXPLAINED)


def _check_length(name: str, lines: list[str], most: int) -> None:
    if (longest := max(map(len, lines), default=0)) > most:
        raise RefusedError(413, f"text of {longest:,} characters is too long for `{name}`. The limit is {most:,}.")


def describe(models: list[str]) -> dict[str, Any]:
    """Return the description of a service with these models, for the page `/docs`: OpenAPI 3.1. page/openapi.json
    describes the routes; the fields of requests are added."""
    described: dict[str, Any] = msgspec.json.decode((files("capfst.serve") / "page" / "openapi.json").read_bytes())
    kinds = (RecaseRequest, ExplainRequest, FileRequest)
    _, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
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
