"""JSON lines: one field of each object is recased; every other byte of the line stays.

The field is a string, or null. Of its escapes those stay that stand for what has no case; what is escaped and changes
its case stays escaped.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path

from capfst.batch.lines import MalformedError, Text
from capfst.batch.protocol import Options

_space = re.compile(r"[ \t\r\n]*").match
_escapes = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.)"
).split  # a character each; every other part of the list
_escaped_ascii = re.compile(r"\\u00[0-7]").search
_json = json.JSONDecoder(parse_int=str, parse_float=str)
_value = _json.scan_once  # type: ignore[attr-defined]


class Jsonl(Text):
    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path, options)
        self.field = options.field
        self.settings |= {"field": options.field}
        self._keys = re.compile(re.escape(json.dumps(self.field, ensure_ascii=False)) + r'[ \t]*:[ \t]*"').finditer

    def find(self, line: str, number: int) -> slice | None:
        line = line.removesuffix("\n")
        if place := self._only(line):
            return place
        at = 1 if number == 1 and line.startswith("\ufeff") else 0
        if not line[at:].strip():
            return None
        try:
            return _field(line, at, self.field)
        except StopIteration as error:
            raise MalformedError(f"broken JSON, column {error.value + 1}: a value is missing") from error
        except json.JSONDecodeError as error:
            raise MalformedError(f"broken JSON, column {error.colno}: {error.msg}") from error
        except RecursionError as error:
            raise MalformedError("JSON that is nested too deeply") from error

    def _only(self, line: str) -> slice | None:
        """The place of the field's string, found fast, if the key stands in the line but once, as it is."""
        keys = list(self._keys(line))
        if len(keys) != 1 or ("\\u00" in line and _escaped_ascii(line)):
            return None
        try:
            record = _json.decode(line)
            text, end = scanstring(line, keys[0].end())
        except (ValueError, RecursionError):
            return None
        # The only key of this name is an inner object's if the outermost one has none.
        return slice(keys[0].end(), end - 1) if isinstance(record, dict) and record.get(self.field) == text else None

    def text(self, raw: str) -> str:
        return scanstring(raw + '"', 0)[0] if "\\" in raw else raw

    def raw(self, old: str, recased: str) -> str:
        if "\\" not in old:
            return recased
        parts = _escapes(old)
        at = 0
        for i, part in enumerate(parts):
            size = 1 if i % 2 else len(part)
            new = recased[at : at + size]
            at += size
            if i % 2 == 0:
                parts[i] = new
            elif scanstring(part + '"', 0)[0] != new:
                parts[i] = json.dumps(new)[1:-1]
        raw = "".join(parts)
        try:
            aligned = at == len(recased) and scanstring(raw + '"', 0) == (recased, len(raw) + 1)
        except json.JSONDecodeError:
            aligned = False
        return raw if aligned else json.dumps(recased)[1:-1]  # the recased text has more characters, or fewer


def _field(line: str, at: int, field: str) -> slice | None:
    """Where the string in the object's field `field` is, without its quotes; the last one of several. None: null."""

    def after_space(at: int) -> int:
        return _space(line, at).end()  # type: ignore[union-attr]

    def expect(character: str, at: int) -> int:
        if not line.startswith(character, at):
            raise json.JSONDecodeError(f"{character} expected", line, at)
        return after_space(at + 1)

    found: tuple[object, int, int] | None = None
    at = expect("{", after_space(at))
    more = not line.startswith("}", at)
    while more:
        if not line.startswith('"', at):
            raise json.JSONDecodeError('" expected', line, at)
        name, at = scanstring(line, at + 1)
        start = expect(":", after_space(at))
        value, end = _value(line, start)
        if name == field:
            found = value, start, end
        at = after_space(end)
        more = line.startswith(",", at)
        if more:
            at = after_space(at + 1)
    if expect("}", at) != len(line):
        raise json.JSONDecodeError("an object must be all of the line", line, at)
    if found is None:
        raise MalformedError(f"the object has no field {field!r}")
    value, start, end = found
    if value is not None and line[start] != '"':
        raise MalformedError(f"the field {field!r} is no string")
    return slice(start + 1, end - 1) if value is not None else None
