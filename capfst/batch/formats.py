"""A file's format, by its name; its compression, by its first bytes.

`.jsonl` and `.ndjson`: an object a line, of which one field is recased; `.tsv`: one column; `.parquet`: one column.
Each but the last may be compressed (`.gz`, `.zst`). Any other name is text, a sentence a line, but for names that say
what we do not read (`.csv`, `.json`, `.pdf`, …).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, Protocol

from capfst.batch.report import Counts
from capfst.corpus import NO_TEXT, Errors, Seen
from capfst.errors import CapfstError

OnError = Literal["fail", "pass", "drop"]

Recase = Callable[[bytes], tuple[memoryview, Counts]]
"""Valid UTF-8 of whole lines → the same in its best casing; lines, tokens, changed and oov are counted."""

_READ = frozenset((".jsonl", ".ndjson", ".tsv", ".parquet"))


@dataclass(frozen=True)
class Options:
    """What of a record is recased, and what becomes of records that cannot be."""

    field: str = "text"  # of JSON objects
    column: str = "text"  # of TSV and Parquet: a name, or a number from 1
    errors: Errors = "strict"  # text that is not UTF-8 makes a record malformed; "replace": gets U+FFFD
    on_error: OnError = "fail"  # malformed records: the file fails, they pass as they are, they are dropped


class Format(Protocol):
    """One file to be recased: pieces are read one after the other, recased in any threads, written in order."""

    settings: dict[str, str]
    """What, beside the casing, its output depends on."""

    def pieces(self, seen: Seen) -> Iterator[Any]:
        """The file in pieces that need not be together in memory; `seen` is shown every byte of it, in order."""

    def recased(self, piece: Any, recase: Recase) -> tuple[Any, Counts]: ...

    def writing(self, file: BinaryIO) -> AbstractContextManager[Callable[[Any], object]]:
        """Gives the function that takes the recased pieces; the file is complete when the context ends."""


def takes(name: str) -> bool:
    """Whether a file of this name in a folder is one to recase."""
    suffix = _suffix(name)
    return suffix in _READ or suffix not in NO_TEXT


def format_of(path: Path, options: Options) -> Format:
    """CapfstError if its name says that it is nothing that we read."""
    from capfst.batch.jsonl import Jsonl  # noqa: PLC0415  (they are made of what is above)
    from capfst.batch.lines import Text  # noqa: PLC0415
    from capfst.batch.tsv import Tsv  # noqa: PLC0415

    suffix = _suffix(path.name)
    if suffix == ".parquet":
        from capfst.batch.parquet import Parquet  # noqa: PLC0415  (pyarrow takes its time)

        return Parquet(path, options)
    if suffix in (".jsonl", ".ndjson"):
        return Jsonl(path, options)
    if suffix == ".tsv":
        return Tsv(path, options)
    if suffix in NO_TEXT:
        raise CapfstError(f"{path}: {suffix} files are not read: convert it to text, .jsonl, .tsv or .parquet")
    return Text(path, options)


def _suffix(name: str) -> str:
    path = PurePath(name.lower())
    return PurePath(path.stem).suffix if path.suffix in (".gz", ".zst") else path.suffix
