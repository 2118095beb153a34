"""What a request asks for: its JSON or its query, checked against the options of capfst/options.py.

In: the bytes of a body, or the parameters of a query. Out: a `RecaseRequest` or an `ExplainRequest`, whose `options()`
are keywords of the Recaser's methods; or a RefusedError that names the field.

A request cannot name files: `words` are the words themselves, and options that are paths are not among its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from capfst.exceptions import quantity
from capfst.options import RecaseOptions, ServeOptions, described
from capfst.serve.answers import RefusedError

MAX_NBEST = 100
MAX_EXPLAINED, MAX_CONFIDENCE = 2_000, 50_000
"""Characters of a line that is explained, or whose best casings are found; and of one whose log-odds are. (Time and
memory of the first two grow faster than the line.)"""
MAX_WORD = 200  # characters of a word or phrase

_NOT_OF_REQUESTS = ("align_words", "engine", "restore")
"""Options about translations, and those that change no answer."""
OPTIONS = [
    each
    for each in fields(RecaseOptions)
    if each.name == "words" or (each.metadata["kind"] is None and each.name not in _NOT_OF_REQUESTS)  # a kind of paths
]


def _annotation(option: Field[Any]) -> Any:
    """Return the type of an option in requests, with its description."""
    choices, help = option.metadata["choices"], described(option)
    kind: Any = Literal[choices] if choices else bool if isinstance(option.default, bool) else str
    if option.name == "words":
        kind = list[str] | dict[str, float | None]
        help = "Words and phrases to write as they are listed, or an object of these and their weights in nats."
    return Annotated[kind, Meta(description=help)] | UnsetType


class _Base(msgspec.Struct):
    model: Annotated[str, Meta(description="Name of a model; by default the first one.")] | None = None

    def options(self) -> dict[str, Any]:
        """Return the options of recasing that the request has."""
        given = {name: value for name in NAMES if (value := getattr(self, name)) is not UNSET}
        words = given.get("words")
        if isinstance(words, list):
            given["words"] = dict.fromkeys(words)
        return given


NAMES = [each.name for each in OPTIONS]
_FIELDS = [(each.name, _annotation(each), UNSET) for each in OPTIONS]
_Optional = Annotated[str, Meta(description="A text, of one or more lines.")] | UnsetType
_Lines = Annotated[list[str], Meta(description="The lines of a text, instead of `text`.")] | UnsetType
_Nbest = Annotated[int, Meta(ge=1, le=MAX_NBEST, description="Also return this many best casings of each line.")]

RecaseRequest = msgspec.defstruct(
    "RecaseRequest",
    [
        ("text", _Optional, UNSET),
        ("lines", _Lines, UNSET),
        ("nbest", _Nbest | UnsetType, UNSET),
        (
            "confidence",
            Annotated[bool, Meta(description="Also return the changed words of each line with their log-odds.")],
            False,
        ),
        *_FIELDS,
    ],
    bases=(_Base,),
    forbid_unknown_fields=True,
    kw_only=True,
)
ExplainRequest = msgspec.defstruct(
    "ExplainRequest",
    [
        ("text", Annotated[str, Meta(max_length=MAX_EXPLAINED, description="A line of text, or a document.")]),
        ("nbest", _Nbest, 1),
        ("line", Annotated[int, Meta(ge=1, description="The line of a document that is explained.")], 1),
        *_FIELDS,
    ],
    bases=(_Base,),
    forbid_unknown_fields=True,
    kw_only=True,
)
FileRequest = msgspec.defstruct(
    "FileRequest",
    [
        ("name", Annotated[str, Meta(max_length=255, description="Name of the file, whose suffix is its format.")]),
        (
            "field",
            Annotated[str, Meta(description="Field or column of the text, in JSON and tables. Default: text.")]
            | UnsetType,
            UNSET,
        ),
        *_FIELDS,
    ],
    bases=(_Base,),
    forbid_unknown_fields=True,
    kw_only=True,
)


decode_recase = msgspec.json.Decoder(RecaseRequest | list[str]).decode
decode_explain = msgspec.json.Decoder(ExplainRequest).decode


def decoded(decode: Callable[[bytes], Any], body: bytes) -> Any:
    """Return a decoded body; RefusedError if it is not valid."""
    try:
        return decode(body)
    except UnicodeDecodeError as error:
        start = body.find(error.object) + error.start  # it is of one string
        raise RefusedError(400, f"the body is not UTF-8 at byte {start}. Convert it.") from error
    except msgspec.DecodeError as error:
        raise RefusedError(400, f"invalid request: {error}. See /docs.") from error


def from_query(pairs: Iterable[tuple[str, str]], kind: Any) -> Any:
    """Return a request whose options are in the query of its address."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in ("text", "lines"):
            raise RefusedError(400, f"invalid query: it has `{name}`. Send text in the body.")
        if name == "words":
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"invalid query: {error}. See /docs.") from error


def check_plain(request: Any) -> None:
    """Raise RefusedError if a request for plain text or a stream asks for what only JSON can express."""
    if request.nbest is not UNSET or request.confidence:
        raise RefusedError(400, "`nbest` and `confidence` need JSON. Send an object, or a list of texts.")


def check_details(request: Any, lines: list[str]) -> None:
    """Raise RefusedError if a line is too long for `nbest` or `confidence`."""
    name, most = ("confidence", MAX_CONFIDENCE) if request.nbest is UNSET else ("nbest", MAX_EXPLAINED)
    if (longest := max(map(len, lines), default=0)) > most:
        raise RefusedError(413, f"a line of {longest:,} characters is too long for `{name}`. The limit is {most:,}.")


def check(request: Any, limits: ServeOptions) -> None:
    """Raise RefusedError if a request has too many lines or words."""
    lines, words = getattr(request, "lines", UNSET), request.words
    if lines is not UNSET and len(lines) > limits.max_lines:
        raise RefusedError(
            413, f"{quantity(len(lines), 'line')} are too many. Send at most {limits.max_lines:,} at once, or a stream."
        )
    if words is not UNSET and len(words) > limits.max_words:
        raise RefusedError(413, f"{quantity(len(words), 'word')} are too many. List at most {limits.max_words:,}.")
    if words is not UNSET and (longest := max(map(len, words), default=0)) > MAX_WORD:
        raise RefusedError(413, f"a word of {longest:,} characters is too long. The limit is {MAX_WORD}.")
