"""JSON whose texts are each on their own: lines of objects, an array of objects, or one object.

In: blocks of a file or stream. Out: its running text (running_text.py), with a line break between the texts of the
named fields (json_paths.py). Names, order, spaces and escapes stay. An object on a line of its own is passed on as soon
as the line has arrived.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from capfst.exceptions import CorpusError
from capfst.io.json_array import Items, after_beginning
from capfst.io.json_paths import Paths, WrongTextError, find_texts, tree
from capfst.io.jsonl import escape, unescape
from capfst.io.running_text import RunningText, Span

USUAL = ("text",)
"""The field of the text, if none is named."""


class JsonTexts:
    """Reads JSON. fields: the paths of the texts."""

    def __init__(self, name: str, fields: tuple[str, ...] = ()) -> None:
        self.name = name
        self._paths = tree(fields or USUAL)

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the parts of a file, each of which is whole items.

        Raises:
            CorpusError: it is not JSON, or an item lacks the fields.
        """
        items, line = Items(self.name, least=1), 1
        for block in items.blocks(iter(blocks)):
            data = block.decode("utf-8", "surrogateescape")
            spans: list[Span] = []
            end = n_items = 0
            for item in items.split(data):
                try:
                    spans += _spans(item, end, self._paths, "\n" if spans else "")
                except WrongTextError as error:
                    number = line + data.count("\n", 0, end)
                    raise CorpusError(f"{self.name}, line {number}: {error}.") from error
                n_items += after_beginning(item) < len(item)
                end += len(item)
            yield RunningText(data, spans, (), escape, n_items)
            line += data.count("\n")


def _spans(item: str, start: int, paths: Paths, before: str) -> list[Span]:
    """Return the texts of an item that begins at this offset of a file."""
    if after_beginning(item) == len(item):
        return []
    spans = []
    for text in find_texts(item, 0, paths)[0]:
        if text is not None and text.start < text.stop:
            spans.append(Span(start + text.start, start + text.stop, unescape(item[text]), before))
            before = "\n"
    return spans


def has_texts(head: str) -> bool:
    """Return whether the first item of JSON that begins so has the usual field."""
    try:
        return bool(find_texts(head, after_beginning(head), tree(USUAL))[0])
    except (WrongTextError, json.JSONDecodeError, StopIteration, RecursionError):
        return False
