"""JSON lines: one or more fields of each object are texts; recasing changes no other byte.

A text is a string or null. It may be inside other objects and arrays (json_paths.py). Escapes in a string are kept; an
escaped character that changes its case is escaped again, in the same way.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from capfst.io.json_paths import JSON, WrongTextError, find_texts, steps, text_paths, tree, values_at
from capfst.io.lines import LineFormat, MalformedError
from capfst.io.protocol import TextOptions

_escapes = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.)"
).split  # the odd parts of the list are the escaped characters
_escaped_ascii = re.compile(r"\\u00[0-7]").search
_names = json.JSONDecoder()


class Jsonl(LineFormat):
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

    def names(self, data: bytes) -> list[str]:
        try:
            record = _names.raw_decode(data.decode("utf-8-sig", "replace").lstrip())[0]
        except (ValueError, RecursionError):
            return []
        return text_paths(record)

    def find(self, line: str, number: int) -> list[slice | None]:
        line = line.removesuffix("\n")
        if positions := self._find_fast(line):
            return positions
        start = 1 if number == 1 and line.startswith("\ufeff") else 0
        if not line[start:].strip():
            return []
        return self.texts_of(line, start, whole=True)

    def texts_of(self, line: str, start: int, whole: bool) -> list[slice | None]:
        """Return the positions of the texts in the value that begins at `start`; `whole`: to the end of the line.

        Raises:
            MalformedError: it is not valid JSON, or has no such texts.
        """
        try:
            positions, end = find_texts(line, start, self.paths)
            if whole and end != len(line):
                raise json.JSONDecodeError("an object must be all of the line", line, end)
        except WrongTextError as error:
            raise MalformedError(str(error)) from error
        except StopIteration as error:
            raise MalformedError(f"invalid JSON, column {error.value + 1}: a value is missing") from error
        except json.JSONDecodeError as error:
            raise MalformedError(f"invalid JSON, column {error.colno}: {error.msg}") from error
        except RecursionError as error:
            raise MalformedError("the JSON is nested too deeply") from error
        return positions

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
                    record = JSON.decode(line)
                # The key may be that of an inner object.
                if not isinstance(record, dict) or record.get(name) != text:
                    return []
                positions.append(slice(start, end - 1))
        except (ValueError, RecursionError):
            return []
        if len(positions) > 1:
            positions.sort(key=lambda position: position.start)
        return positions  # type: ignore[return-value]

    def record(self, line: str) -> Any:
        """Return the value of a record; ValueError or RecursionError if it is not valid JSON."""
        return JSON.decode(line.removeprefix("\ufeff"))

    def key(self, line: str, number: int) -> str | None:
        """Return the field's values, of any type, as JSON."""
        if not line.strip():
            return None
        try:
            record = self.record(line)
        except (ValueError, RecursionError) as error:
            raise MalformedError(f"invalid JSON: {error}") from error
        values = [value for path in self._steps for value in values_at(record, path)]
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
