"""Paths to texts inside JSON values: `title`, `a.b`, `messages[].content`, `[].text`.

A path has the names of fields, with a period between them; `[]` stands for each item of an array. A backslash before a
period, a bracket or a backslash makes it part of a name. `find_texts` returns the positions of the texts, so that all
other characters can be kept; `values_at` the values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from capfst.exceptions import OptionError
from capfst.io.text_file import FormatError

Step = str | None  # the name of a field; None: each item of an array
Paths = dict[Step, Any]
"""Paths as a tree: by their next steps, the tree of their other steps, or the whole path where it ends."""

_value = json.JSONDecoder(parse_int=str, parse_float=str).scan_once  # type: ignore[attr-defined]
_listing = json.JSONDecoder(parse_int=lambda digits: 0)
_space = re.compile(r"[ \t\r\n]*").match
_steps = re.compile(r"\.?\[\]|\.((?:\\.|\[(?!\])|[^.\[])*)", re.DOTALL).finditer
_escaped = re.compile(r"\\(.)", re.DOTALL).sub
_KINDS = {"{": "an object", "[": "an array", '"': "a string"}
_MOST_LISTED = 20


def value_at(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value that begins at `start`, with its numbers as they are written, and its end, with the space
    after it; FormatError if there is none."""
    try:
        value, end = _value(text, start)
    except StopIteration as error:
        raise FormatError("a value is missing", error.value) from error
    except json.JSONDecodeError as error:
        raise FormatError(error.msg.removesuffix(" at").removesuffix(" starting"), error.pos) from error
    except RecursionError as error:
        raise FormatError("it is nested too deeply", start) from error
    return value, after_space(text, end)


def steps(path: str) -> list[Step]:
    """Return the steps of a path; OptionError if it is not one."""
    whole = path if path.startswith("[]") else f".{path}"
    found = list(_steps(whole))
    if sum(len(step[0]) for step in found) < len(whole):
        raise OptionError(f"`field` is {path!r}. Put a period after [].")
    return [None if step[1] is None else _escaped(r"\1", step[1]) for step in found]


def as_path(name: str) -> str:
    """Return the path of a field of this name."""
    return re.sub(r"([.\\]|\[(?=\]))", r"\\\1", name)


def as_text(path: Iterable[Step]) -> str:
    """Return the path that has these steps."""
    text = "".join("[]" if step is None else f".{as_path(step)}" for step in path)
    return text.removeprefix(".")


def tree(paths: tuple[str, ...]) -> Paths:
    """Return the tree of paths; OptionError if one begins with another."""
    root: Paths = {}
    for path in paths:
        node = root
        *first, last = steps(path)
        for step in first:
            node = node.setdefault(step, {})
            if isinstance(node, str):
                raise OptionError(f"`field` {node!r} is a text, so it cannot contain {path!r}. Use one of them.")
        if node.setdefault(last, path) != path:
            raise OptionError(f"`field` {path!r} is a text, so it cannot contain others. Use one of them.")
    return root


def find_texts(line: str, start: int, paths: Paths) -> list[slice | None]:
    """Return the positions of the strings, without their quotes, to which paths lead in the valid JSON value that
    begins at `start`, in order, with None for null.

    Of several fields of one name in an object, the last one counts. An item of an array may lack a field.

    Raises:
        FormatError: a path leads nowhere, although no array on it is empty, or to something else.
    """
    found: set[str] = set()
    try:
        texts, _ = _texts(line, start, paths, found)
        absent = [path for path in _ends(paths) if path not in found]
        if absent:
            raise FormatError(f"the object has no field {absent[0]!r}")
    except FormatError as error:
        known = ", ".join(known_paths(line, start))[:200]
        remedy = f"Use `field` with one of its texts: {known}" if known else "None of its fields is a text"
        raise FormatError(f"{error}. {remedy}") from None
    return texts


def after_space(line: str, i: int) -> int:
    return _space(line, i).end()  # type: ignore[union-attr]


def _after_comma(line: str, i: int) -> int:
    """Return where the next item begins, or the end of the object or array is, given the end of an item."""
    i = after_space(line, i)
    return after_space(line, i + 1) if line[i] == "," else i


def _ends(node: Paths | str) -> Iterator[str]:
    """Yield the whole paths of a tree."""
    if isinstance(node, str):
        yield node
    else:
        for each in node.values():
            yield from _ends(each)


def _texts(line: str, i: int, node: Paths | str, found: set[str]) -> tuple[list[slice | None], int]:
    """Return as `find_texts` for a valid value; add the paths that lead to a text, to null or to an empty array to
    `found`."""
    kind = line[i]
    if kind == "{" and isinstance(node, dict) and node.keys() - {None}:
        members: dict[str, list[slice | None]] = {}
        i = after_space(line, i + 1)
        while line[i] != "}":
            name, i = scanstring(line, i + 1)
            i = after_space(line, after_space(line, i) + 1)
            if name in node:
                members.pop(name, None)  # so that texts stay in order
                members[name], i = _texts(line, i, node[name], found)
            else:
                i = _value(line, i)[1]
            i = _after_comma(line, i)
        return [text for texts in members.values() for text in texts], i + 1
    if kind == "[" and isinstance(node, dict) and None in node:
        items: list[slice | None] = []
        i = after_space(line, i + 1)
        if line[i] == "]":
            found.update(_ends(node[None]))
        while line[i] != "]":
            texts, i = _texts(line, i, node[None], found)
            items += texts
            i = _after_comma(line, i)
        return items, i + 1
    value, end = _value(line, i)
    if value is None or (isinstance(node, str) and kind == '"'):
        found.update(_ends(node))
        return ([slice(i + 1, end - 1) if value is not None else None] if isinstance(node, str) else []), end
    path, kind = next(_ends(node)), _KINDS.get(kind, "a number or truth value")
    if isinstance(node, str):
        raise FormatError(f"the field {path!r} is not a string, but {kind}")
    wanted = "an array" if None in node else "an object"
    raise FormatError(f"there is no field {path!r}, but {kind} where {wanted} should be")


def values_at(value: Any, path: list[Step]) -> Iterator[Any]:
    """Yield the values to which a path leads in a parsed JSON value."""
    if not path:
        yield value
    elif path[0] is None:
        for item in value if isinstance(value, list) else ():
            yield from values_at(item, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from values_at(value[path[0]], path[1:])


def known_paths(text: str, start: int) -> list[str]:
    """Return the paths of the texts in the JSON value that begins there, of which only the first item of an array is
    searched; nothing if it is not valid."""
    with suppress(ValueError, RecursionError):
        return list(islice(_paths(_listing.raw_decode(text, start)[0], ()), _MOST_LISTED))
    return []


def _paths(value: Any, path: tuple[Step, ...]) -> Iterator[str]:
    """Yield the paths of the texts in a parsed value that has this path."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _paths(each, (*path, name))
    elif isinstance(value, list):
        for each in value[:1]:
            yield from _paths(each, (*path, None))
    elif isinstance(value, str) and path:
        yield as_text(path)
