"""JSON lines: one or more fields of each object are texts; recasing changes no other byte.

A text is a string or null. It may be inside other objects and arrays (json_paths.py). Escapes in a string are kept; an
escaped character that changes its case is escaped again, in the same way.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, ClassVar

from capfst.io.json_paths import (
    InvalidJsonError,
    WrongTextError,
    after_space,
    find_texts,
    steps,
    text_paths,
    tree,
    value_at,
    values_at,
)
from capfst.io.lines import LineFormat, MalformedError
from capfst.io.protocol import TextOptions

_escapes = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.)"
).split  # the odd parts of the list are the escaped characters
_escaped_ascii = re.compile(r"\\u00[0-7]").search
_names = json.JSONDecoder()
_numbers_as_text = json.JSONDecoder(parse_int=str, parse_float=str)


class Jsonl(LineFormat):
    is_line: ClassVar[bool] = True
    """Whether a record is a line, of which the value is all."""

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        fields = self.selected("field", options.field or options.usual_field)
        self.paths = tree(fields)
        self.settings |= {"field": list(fields)}
        self._steps = [steps(field) for field in fields]
        # Names of the object itself, each with the regular expression for its first quote; none if a path is longer.
        self._keys = [
            (name, re.compile(re.escape(json.dumps(name, ensure_ascii=False)) + r'[ \t]*:[ \t]*"').finditer)
            for name in self.paths
            if name is not None and all(len(path) == 1 for path in self._steps)
        ]

    def names(self, data: str) -> list[str]:
        try:
            record = _names.raw_decode(data.removeprefix("\ufeff").lstrip())[0]
        except (ValueError, RecursionError):
            return []
        return text_paths(record)

    def begin_of(self, record: str, number: int) -> int | None:
        """Return the offset of the value of a record; None if it has none."""
        begin = int(number == 1 and record.startswith("\ufeff"))
        return after_space(record, begin) if record[begin:].strip() else None

    def _value(self, record: str, begin: int) -> Any:
        """Return the value of a record; MalformedError if it is not valid JSON."""
        try:
            value, end = value_at(record, begin)
            if self.is_line and end < len(record):
                raise InvalidJsonError("an object must be all of the line", end)
        except InvalidJsonError as error:
            raise MalformedError(f"invalid JSON, column {error.offset + 1}: {error}") from error
        return value

    def find(self, record: str, number: int) -> list[slice | None]:
        record = record.removesuffix("\n")
        if self.is_line and (positions := self._find_fast(record)):
            return positions
        begin = self.begin_of(record, number)
        if begin is None:
            return []
        self._value(record, begin)
        try:
            return find_texts(record, begin, self.paths)
        except WrongTextError as error:
            raise MalformedError(str(error)) from error

    def _find_fast(self, line: str) -> list[slice | None]:
        """Return the positions if the line contains each key only once, without escapes; else an empty list."""
        if not self._keys or ("\\u00" in line and _escaped_ascii(line)):
            return []
        positions: list[slice] = []
        try:
            for name, keys in self._keys:
                (key,) = keys(line)  # else ValueError
                start = key.end()
                text, end = scanstring(line, start)
                if not positions:
                    record = _numbers_as_text.decode(line)
                # The key may be that of an inner object.
                if not isinstance(record, dict) or record.get(name) != text:
                    return []
                positions.append(slice(start, end - 1))
        except (ValueError, RecursionError):
            return []
        if len(positions) > 1:
            positions.sort(key=lambda position: position.start)
        return positions  # type: ignore[return-value]

    def key(self, record: str, number: int) -> str | None:
        """Return the field's values, of any type, as JSON."""
        record = record.removesuffix("\n")
        begin = self.begin_of(record, number)
        if begin is None:
            return None
        whole = self._value(record, begin)
        values = [value for path in self._steps for value in values_at(whole, path)]
        if not values:
            raise MalformedError(f"the object has no field {', '.join(self.settings['field'])!r}")
        return None if values == [None] else json.dumps(values)

    def unescape(self, raw: str) -> str:
        return unescape(raw)

    def escape(self, old: str, recased: str) -> str:
        return escape(old, recased)


def unescape(raw: str) -> str:
    """Return the value of a string, given its characters without the quotes."""
    return scanstring(raw + '"', 0)[0] if "\\" in raw else raw


def escape(old: str, recased: str) -> str:
    """Return the characters of a recased string, with the escapes of the old one."""
    if "\\" not in old:
        return recased
    parts = _escapes(old)
    end = 0
    for i, part in enumerate(parts):
        start, end = end, end + (1 if i % 2 else len(part))
        new = recased[start:end]
        if i % 2 == 0:
            parts[i] = new
        elif scanstring(part + '"', 0)[0] != new:
            parts[i] = _escaped(new, part)
    raw = "".join(parts)
    try:
        aligned = end == len(recased) and scanstring(raw + '"', 0) == (recased, len(raw) + 1)
    except json.JSONDecodeError:
        aligned = False
    return (
        raw if aligned else json.dumps(recased, ensure_ascii=old.isascii())[1:-1]
    )  # recasing changed the number of characters


def _escaped(character: str, like: str) -> str:
    """Escape a character as `\\u....`, with hexadecimal digits in the case of the escape `like`."""
    digits = character.encode("utf-16-be", "surrogatepass").hex()
    if re.search("[A-F]", like):
        digits = digits.upper()
    return "".join(f"\\u{digits[i : i + 4]}" for i in range(0, len(digits), 4))
