"""JSON: an array of objects, one object, or several in sequence; recasing changes no byte except those of the texts.

The file is read item by item, on one line or on many, so that only an item must fit in memory.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from capfst.exceptions import OptionError
from capfst.io.json_paths import InvalidJsonError, WrongTextError, after_space, find_texts, tree, value_at
from capfst.io.jsonl import Jsonl
from capfst.io.protocol import BatchOptions, TextOptions
from capfst.io.text_file import FormatError, TextFile

_beginning = re.compile(r"\ufeff?[ \t\r\n]*(?:\[[ \t\r\n]*(?:\][ \t\r\n]*)?)?").match


class JsonItems(TextFile):
    """A file of JSON. What is before its first item counts as a record."""

    most = 256 << 20
    too_long = "an item has more than {} million characters. Write the array as JSON lines with `jq -c '.[]'`."
    is_array = False
    """Whether the records are the items of an array. Known when the first part has been cut."""

    def item_ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        """Return the ends of items, each with the comma and the space after it. The last item is left out if it may be
        incomplete.

        Raises:
            FormatError: the file is not valid JSON.
        """
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
                        raise InvalidJsonError(", or ] expected", begin)
                    closes, begin = data[begin] == "]", after_space(data, begin + 1)
                    if closes and begin < n:
                        raise InvalidJsonError("the array is not all of the file", begin)
                if not is_last and begin == n and (self.is_array or not data.endswith("}\n")):
                    return ends
                ends.append(end := begin)
        except InvalidJsonError as error:
            if is_last:
                raise FormatError(f"invalid JSON: {error}. Fix it.", error.offset) from error
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

    def record_ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        return self.item_ends(data, is_first, is_last)

    def names(self, data: str) -> list[str]:
        return super().names(data[after_beginning(data) :])

    def begin_of(self, record: str, number: int) -> int | None:
        return None if after_beginning(record) == len(record) else after_space(record, 0)


class JsonTexts(Json):
    """A stream of JSON, whose items are passed on as soon as they have arrived; empty texts are left out."""

    least = 1
    longest = sys.maxsize

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, _Fields(field=options.field or BatchOptions.usual_field))

    def find(self, record: str, number: int) -> list[slice | None]:
        return [text for text in super().find(record, number) if text is not None and text.start < text.stop]


class _Fields(TextOptions):
    remedy = ""


def has_texts(head: str) -> bool:
    """Return whether the first item of JSON that begins so has the usual field."""
    begin = after_beginning(head)
    try:
        value_at(head, begin)
        return bool(find_texts(head, begin, tree(BatchOptions.usual_field)))
    except (WrongTextError, InvalidJsonError):
        return False


def after_beginning(data: str) -> int:
    """Return the offset of the first item."""
    return _beginning(data).end()  # type: ignore[union-attr]
