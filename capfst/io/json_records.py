"""JSON: one or more fields of objects are texts; recasing changes no other byte.

A record is a line (`Jsonl`), or an item of a file that is an array of objects, one object, or several in sequence, on
one line or on many (`Json`): the file is read item by item, so that only an item must fit in memory.

A text is a string or null. It may be inside other objects and arrays (json_paths.py). Escapes in a string are kept; an
escaped character that changes its case is escaped again, in the same way.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import accumulate
from json.decoder import scanstring  # type: ignore[attr-defined]
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from capfst.exceptions import CapfstError, OptionError
from capfst.io.json_paths import after_space, find_texts, known_paths, steps, tree, value_at, values_at
from capfst.io.lines import LineFormat
from capfst.io.protocol import BatchOptions, TextOptions
from capfst.io.running_text import divided
from capfst.io.text_file import FormatError, TextFile

_SHOWN = 20  # characters of an error's place
_escapes = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.)"
).split  # the odd parts of the list are the escaped characters
_escaped_ascii = re.compile(r"\\u00[0-7]").search
_beginning = re.compile(r"\ufeff?[ \t\r\n]*(?:\[[ \t\r\n]*(?:\][ \t\r\n]*)?)?").match


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
    return raw if aligned else _escape_longer(old, recased)


def _escape_longer(old: str, recased: str) -> str:
    """Return the same for a string whose number of characters has changed, as by marks that were restored."""
    parts, is_ascii = _escapes(old), old.isascii() and "\\u" in old
    ends = accumulate([1 if i % 2 else len(part) for i, part in enumerate(parts)], initial=0)
    try:
        for i, new in enumerate(divided(unescape(old), recased, list(ends))):
            if i % 2 == 0:
                parts[i] = json.dumps(new)[1:-1] if is_ascii else new
            elif (value := unescape(parts[i])) != new:
                parts[i] = (parts[i] if value == new[:1] else _escaped(new[:1], parts[i])) + new[1:]
        raw = "".join(parts)
        if scanstring(raw + '"', 0) == (recased, len(raw) + 1):
            return raw
    except (CapfstError, json.JSONDecodeError):
        pass
    return json.dumps(recased, ensure_ascii=old.isascii())[1:-1]


def _escaped(character: str, like: str) -> str:
    """Escape a character as `\\u....`, with hexadecimal digits in the case of the escape `like`."""
    digits = character.encode("utf-16-be", "surrogatepass").hex()
    if re.search("[A-F]", like):
        digits = digits.upper()
    return "".join(f"\\u{digits[i : i + 4]}" for i in range(0, len(digits), 4))


class Jsonl(LineFormat):
    is_line: ClassVar[bool] = True  # whether a record is a line, of which the value is all
    unescape = staticmethod(unescape)
    escape = staticmethod(escape)

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
        return known_paths(data, self.begin_of(data, 1) or 0)

    def begin_of(self, record: str, number: int) -> int | None:
        """Return the offset of the value of a record; None if it has none."""
        begin = int(number == 1 and record.startswith("\ufeff"))
        if record.startswith("{", begin):  # nearly always
            return begin
        return after_space(record, begin) if record[begin:].strip() else None

    def _value(self, record: str, begin: int) -> Any:
        """Return the value of a record; FormatError if it is not valid JSON."""
        try:
            value, end = value_at(record, begin)
            if self.is_line and end < len(record):
                raise FormatError("an object must be all of the line", end)
        except FormatError as error:
            raise FormatError(f"invalid JSON, column {error.offset + 1}: {error}") from error
        return value

    def find(self, record: str, number: int) -> list[slice | None]:
        record = record.removesuffix("\n")
        begin = self.begin_of(record, number)
        if begin is None:
            return []
        return self._find_fast(record, self._value(record, begin)) or find_texts(record, begin, self.paths)

    def _find_fast(self, record: str, value: Any) -> list[slice | None]:
        """Return the positions if the record contains each key only once, without escapes; else an empty list."""
        positions: list[slice | None] = []
        if not self._keys or not isinstance(value, dict) or ("\\u00" in record and _escaped_ascii(record)):
            return []
        for name, keys in self._keys:
            found = list(keys(record))
            if len(found) != 1:
                return []
            start = found[0].end()
            text, end = scanstring(record, start)
            if value.get(name) != text:  # the key may be that of an inner object
                return []
            positions.append(slice(start, end - 1))
        return sorted(positions, key=attrgetter("start")) if len(positions) > 1 else positions

    def key(self, record: str, number: int) -> str | None:
        """Return the field's values, of any type, as JSON."""
        record = record.removesuffix("\n")
        begin = self.begin_of(record, number)
        if begin is None:
            return None
        whole = self._value(record, begin)
        values = [value for path in self._steps for value in values_at(whole, path)]
        if not values:
            raise FormatError(f"the object has no field {', '.join(self.settings['field'])!r}")
        return None if values == [None] else json.dumps(values)


class JsonItems(TextFile):
    """A file of JSON. What is before its first item counts as a record."""

    most = 256 << 20
    too_long = "an item has more than {} million characters. Write the array as JSON lines with `jq -c '.[]'`."
    is_array = False  # whether the records are the items of an array. Known when the first part has been cut.

    def record_ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        """Return the ends of items, each with the comma and the space after it. The last item is left out if it may be
        incomplete. FormatError: the file is not valid JSON."""
        ends: list[int] = []
        end, n = 0, len(data)
        if is_first:
            end = after_beginning(data)
            self.is_array = "[" in data[:end]
            if end == n and not is_last:
                return []
            ends += [end] if end else []
        begin = after_space(data, end)
        try:
            while begin < n:
                _, begin = value_at(data, begin)
                if self.is_array:
                    if not data.startswith((",", "]"), begin):
                        raise FormatError(", or ] expected", begin)
                    closes, begin = data[begin] == "]", after_space(data, begin + 1)
                    if closes and begin < n:
                        raise FormatError("the array is not all of the file", begin)
                if not is_last and begin == n and (self.is_array or not data.endswith("}\n")):
                    return ends
                ends.append(end := begin)
        except FormatError as error:
            if is_last:
                at = data[error.offset : error.offset + _SHOWN]  # the file may be one line
                raise FormatError(f"invalid JSON: {error}{at and f' at {at!r}'}. Fix it.", error.offset) from error
            return ends
        if is_last and self.is_array and data.rstrip()[-1:] != "]":
            raise FormatError("invalid JSON: ] expected. Fix it.", n)
        return [*ends, n] if is_last and end < n else ends


class Json(JsonItems, Jsonl):
    is_line = False
    splittable = False
    least_lines = 0

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        if self.on_error == "drop":
            raise OptionError(f"{path}: items of .json files cannot be dropped. Use --on-error pass.")

    def names(self, data: str) -> list[str]:
        return known_paths(data, after_beginning(data))

    def begin_of(self, record: str, number: int) -> int | None:
        return None if after_beginning(record) == len(record) else after_space(record, 0)


class JsonTexts(Json):
    """A stream of JSON, whose items are passed on as soon as they have arrived; empty texts are left out."""

    least = 1
    longest = sys.maxsize

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, TextOptions(field=options.field or BatchOptions.usual_field))
        self.remedy = ""

    def find(self, record: str, number: int) -> list[slice | None]:
        return [text for text in super().find(record, number) if text is not None and text.start < text.stop]


def has_texts(head: str) -> bool:
    """Return whether the first item of JSON that begins so has the usual field."""
    begin = after_beginning(head)
    try:
        value_at(head, begin)
        return bool(find_texts(head, begin, tree(BatchOptions.usual_field)))
    except FormatError:
        return False


def after_beginning(data: str) -> int:
    """Return the offset of the first item."""
    return _beginning(data).end()  # type: ignore[union-attr]
