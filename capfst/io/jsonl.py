"""JSON lines: one field of each object is the text; recasing changes no other byte.

The field is a string or null. Escapes in the string are kept; an escaped character that changes its case is escaped
again, in the same way.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path

from capfst.io.lines import LineFormat, MalformedError
from capfst.io.protocol import TextOptions

_space = re.compile(r"[ \t\r\n]*").match
_escapes = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.)"
).split  # the odd parts of the list are the escaped characters
_escaped_ascii = re.compile(r"\\u00[0-7]").search
_json = json.JSONDecoder(parse_int=str, parse_float=str)
_value = _json.scan_once  # type: ignore[attr-defined]


class Jsonl(LineFormat):
    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        self.field = self.selected("field", options.field)
        self.settings |= {"field": self.field}
        self._keys = re.compile(re.escape(json.dumps(self.field, ensure_ascii=False)) + r'[ \t]*:[ \t]*"').finditer

    def names(self, data: bytes) -> list[str]:
        try:
            record = _json.decode(data.decode("utf-8-sig").lstrip().split("\n", 1)[0])
        except (ValueError, RecursionError):
            record = None
        return list(record) if isinstance(record, dict) else []

    def find(self, line: str, number: int) -> slice | None:
        line = line.removesuffix("\n")
        if position := self._find_fast(line):
            return position
        start = 1 if number == 1 and line.startswith("\ufeff") else 0
        if not line[start:].strip():
            return None
        try:
            return _find_field(line, start, self.field)
        except StopIteration as error:
            raise MalformedError(f"invalid JSON, column {error.value + 1}: a value is missing") from error
        except json.JSONDecodeError as error:
            raise MalformedError(f"invalid JSON, column {error.colno}: {error.msg}") from error
        except RecursionError as error:
            raise MalformedError("the JSON is nested too deeply") from error

    def _find_fast(self, line: str) -> slice | None:
        """Return the result of `_find_field` if the line contains the key only once, without escapes; else None."""
        keys = list(self._keys(line))
        if len(keys) != 1 or ("\\u00" in line and _escaped_ascii(line)):
            return None
        try:
            record = _json.decode(line)
            text, end = scanstring(line, keys[0].end())
        except (ValueError, RecursionError):
            return None
        # The key may be that of an inner object.
        return slice(keys[0].end(), end - 1) if isinstance(record, dict) and record.get(self.field) == text else None

    def key(self, line: str, number: int) -> str | None:
        """Return the field's value, of any type, as JSON."""
        if not line.strip():
            return None
        try:
            record = _json.decode(line.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise MalformedError(f"invalid JSON: {error}") from error
        if not isinstance(record, dict) or self.field not in record:
            raise MalformedError(f"the object has no field {self.field!r}")
        value = record[self.field]
        return None if value is None else json.dumps(value)

    def unescape(self, raw: str) -> str:
        return scanstring(raw + '"', 0)[0] if "\\" in raw else raw

    def escape(self, old: str, recased: str) -> str:
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
        return raw if aligned else json.dumps(recased)[1:-1]  # recasing changed the number of characters


def _escaped(character: str, like: str) -> str:
    """Escape a character as `\\u....`, with hexadecimal digits in the case of the escape `like`."""
    digits = character.encode("utf-16-be", "surrogatepass").hex()
    if re.search("[A-F]", like):
        digits = digits.upper()
    return "".join(f"\\u{digits[i : i + 4]}" for i in range(0, len(digits), 4))


def _find_field(line: str, start: int, field: str) -> slice | None:
    """Return the position of the string in the field `field`, without its quotes; None for null. Of several fields of
    this name, the last one counts. The object begins at `start`.

    Raises:
        MalformedError: there is no such field, or it is not a string.
        json.JSONDecodeError, StopIteration, RecursionError: the line is not a JSON object.
    """

    def after_space(i: int) -> int:
        return _space(line, i).end()  # type: ignore[union-attr]

    def expect(character: str, i: int) -> int:
        if not line.startswith(character, i):
            raise json.JSONDecodeError(f"{character} expected", line, i)
        return after_space(i + 1)

    member: tuple[object, int, int] | None = None  # value, start and end in the line
    names: list[str] = []
    i = expect("{", after_space(start))
    more = not line.startswith("}", i)
    while more:
        if not line.startswith('"', i):
            raise json.JSONDecodeError('" expected', line, i)
        name, i = scanstring(line, i + 1)
        names.append(name)
        value_start = expect(":", after_space(i))
        value, value_end = _value(line, value_start)
        if name == field:
            member = value, value_start, value_end
        i = after_space(value_end)
        more = line.startswith(",", i)
        if more:
            i = after_space(i + 1)
    if expect("}", i) != len(line):
        raise json.JSONDecodeError("an object must be all of the line", line, i)
    if member is None:
        raise MalformedError(f"the object has no field {field!r} (it has {', '.join(names)[:200] or 'none'})")
    value, start, end = member
    if value is not None and line[start] != '"':
        raise MalformedError(f"the field {field!r} is not a string")
    return slice(start + 1, end - 1) if value is not None else None
