"""JSON: an array of objects, one object, or several in sequence; recasing changes no byte except those of the texts.

The file is read item by item (`Items`), on one line or on many, so that only an item must fit in memory.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from capfst.exceptions import CorpusError, OptionError
from capfst.io.blocks import raw_pieces, refuse_foreign
from capfst.io.compression import OnRead
from capfst.io.json_paths import JSON, WrongTextError, find_texts, tree
from capfst.io.jsonl import Jsonl
from capfst.io.lines import BLOCK, LineBlock
from capfst.io.protocol import BatchOptions, TextOptions
from capfst.io.running_text import RunningText

LONGEST = 256 << 20  # characters of an item

_value = JSON.scan_once  # type: ignore[attr-defined]
_space = re.compile(r"[ \t\r\n]*").match
_beginning = re.compile(r"\ufeff?[ \t\r\n]*(?:\[[ \t\r\n]*(?:\][ \t\r\n]*)?)?").match


class Items:
    """The items of a file, which is read once.

    Args:
        name: the name of the file, in errors.
        least: bytes of a block, if there are more items (None: BLOCK); 1: a block ends as soon as an item does.
    """

    is_array = False
    """Whether the records are the items of an array. Known when the first block has been read."""

    def __init__(self, name: str, least: int | None = None) -> None:
        self.name, self._least = name, least or BLOCK

    def blocks(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield all that is before the first item as one block, then blocks of whole items, each with the comma and the
        space after it.

        Raises:
            CorpusError: the file is not valid JSON, or an item is too long.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        parts: list[str] = []  # not yielded
        line, held, least = 1, 0, self._least
        begun = False
        last = ""  # character that is not space
        while True:
            piece = next(pieces, b"")
            parts.append(decoder.decode(piece, final=not piece))
            held += len(parts[-1])
            if piece and held < least:
                continue
            text = "".join(parts)
            if not begun and text:
                refuse_foreign(text[:BLOCK].encode("utf-8", "surrogateescape"), self.name)
                end = _beginning(text).end()  # type: ignore[union-attr]
                if piece and end == len(text):  # blanks only
                    least = 2 * held
                    continue
                begun = True
                self.is_array = "[" in text[:end]
                if end:
                    yield text[:end].encode()
                    last = text[:end].rstrip()[-1:]
                    line += text.count("\n", 0, end)
                    text = text[end:]
            ends, problem = self.ends(text, is_last=not piece)
            if not piece and problem:
                number = line + text.count("\n", 0, problem.pos)
                raise CorpusError(f"{self.name}, line {number}: invalid JSON: {problem.msg}. Fix it.")
            if ends:
                yield text[: ends[-1]].encode("utf-8", "surrogateescape")
                last = text[: ends[-1]].rstrip()[-1:] or last
                line += text.count("\n", 0, ends[-1])
                text = text[ends[-1] :]
            if not piece:
                if self.is_array and last != "]":
                    raise CorpusError(f"{self.name}, line {line}: invalid JSON: ] expected. Fix it.")
                return
            parts, held = [text], len(text)
            least = self._least if ends else 2 * held
            if held > LONGEST:
                raise CorpusError(
                    f"{self.name}, line {line}: an item has more than {LONGEST >> 20} million characters. Write the"
                    " array as JSON lines with `jq -c '.[]'`."
                )

    def ends(self, text: str, is_last: bool) -> tuple[list[int], json.JSONDecodeError | None]:
        """Return the ends of the items of a text that begins with one, or with space, each with the comma and the space
        after it; and the error that made the search end before the text.

        is_last: whether the text ends the file. Otherwise its last item is left out if it may be incomplete.
        """
        ends: list[int] = []
        end = _space(text, 0).end()  # type: ignore[union-attr]
        if end == len(text):
            return [end] if is_last and text else [], None
        try:
            while end < len(text):
                _, end = _value(text, end)
                end = after = _space(text, end).end()  # type: ignore[union-attr]
                if self.is_array:
                    if not text.startswith((",", "]"), end):
                        raise json.JSONDecodeError(", or ] expected", text, end)
                    after = _space(text, end + 1).end()  # type: ignore[union-attr]
                    if text[end] == "]" and after < len(text):
                        raise json.JSONDecodeError("the array is not all of the file", text, after)
                if not is_last and after == len(text) and (self.is_array or not text.endswith("}\n")):
                    break
                ends.append(after)
                end = after
        except StopIteration as error:
            return ends, json.JSONDecodeError("a value is missing", text, error.value)
        except json.JSONDecodeError as error:
            return ends, error
        except RecursionError:
            return ends, json.JSONDecodeError("it is nested too deeply", text, end)
        return ends, None

    def split(self, text: str) -> list[str]:
        """Return the items of a block, each with the comma and the space after it."""
        if _is_beginning(text):
            return [text]
        ends, _ = self.ends(text, is_last=True)
        return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


class Json(Jsonl):
    splittable = False
    least_lines = 0

    def __init__(self, path: Path, options: TextOptions) -> None:
        self.items = Items(str(path))
        super().__init__(path, options)
        if self.on_error == "drop":
            raise OptionError(f"{path}: items of .json files cannot be dropped. Use --on-error pass.")

    def head(self) -> bytes:
        blocks = self.blocks(lambda piece: None)
        beginning = next(blocks, b"")  # without an item
        return next(blocks, beginning)

    def blocks(self, on_read: OnRead) -> Iterator[bytes]:
        return self.items.blocks(raw_pieces(self.path, on_read, self.transcoding))

    def records(self, text: str, number: int) -> list[str]:
        return self.items.split(text)

    def find(self, line: str, number: int) -> list[slice | None]:
        return [] if _is_beginning(line) else self.texts_of(line, 0, whole=False)

    def record(self, line: str) -> Any:
        return None if _is_beginning(line) else JSON.raw_decode(line)[0]


class JsonTexts(Json):
    """A stream of JSON, whose items are passed on as soon as they have arrived; empty texts are left out.

    Args:
        name: the name of the file, in errors.
        fields: the paths of the texts; none: the usual field.
    """

    longest = sys.maxsize

    def __init__(self, name: str, fields: tuple[str, ...] = ()) -> None:
        super().__init__(Path(name), _Fields(field=fields or BatchOptions.usual_field))
        self.items = Items(name, least=1)

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the parts of a file, each of which is whole items.

        Raises:
            CorpusError: it is not JSON, or an item lacks the fields.
        """
        line = 1
        for block in self.items.blocks(iter(blocks)):
            yield from self.running(LineBlock(block, line))
            line += block.count(b"\n")

    def find(self, line: str, number: int) -> list[slice | None]:
        return [text for text in super().find(line, number) if text is not None and text.start < text.stop]


class _Fields(TextOptions):
    remedy = ""


def has_texts(head: str) -> bool:
    """Return whether the first item of JSON that begins so has the usual field."""
    try:
        return bool(find_texts(head, _beginning(head).end(), tree(BatchOptions.usual_field))[0])  # type: ignore[union-attr]
    except (WrongTextError, json.JSONDecodeError, StopIteration, RecursionError):
        return False


def _is_beginning(text: str) -> bool:
    """Return whether a block or record has no item."""
    return _beginning(text).end() == len(text)  # type: ignore[union-attr]
