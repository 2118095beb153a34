"""What a format is: the protocol between a run and the files that it recases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, Protocol

from capfst.batch.report import RecaseCounts
from capfst.corpus.compression import OnRead
from capfst.corpus.read import Errors

OnError = Literal["fail", "pass", "drop"]

Recase = Callable[[bytes], tuple[memoryview, RecaseCounts]]
"""Valid UTF-8 of whole lines → the same in its best casing; lines, tokens, changed and oov are counted."""


@dataclass(frozen=True)
class BatchOptions:
    """What of a record is recased, and what becomes of malformed records."""

    field: str = "text"  # of JSON objects
    column: str = "text"  # of TSV, CSV and Parquet: a name, or a number from 1
    errors: Errors = "strict"  # text that is not UTF-8 makes a record malformed; "replace": gets U+FFFD
    on_error: OnError = "fail"  # malformed records fail their file, pass unchanged, or are dropped


class Format(Protocol):
    """One file to be recased: pieces are read one after the other, recased in any threads, written in order.

    Made of the file's path and the options.
    """

    settings: dict[str, str]
    """The options on which its output depends."""

    def pieces(self, on_read: OnRead) -> Iterator[Any]:
        """The file in pieces that need not be together in memory."""

    def recased(self, piece: Any, recase: Recase) -> tuple[Any, RecaseCounts]: ...

    def writing(self, file: BinaryIO) -> AbstractContextManager[Callable[[Any], object]]:
        """Gives the function that takes the recased pieces; the file is complete when the context ends."""
