"""What a format is: the protocol between the files and those who read their text or recase it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Any, BinaryIO, ClassVar, Literal, Protocol

from capfst.io.blocks import Errors
from capfst.io.compression import OnRead

OnError = Literal["fail", "pass", "drop"]


class Recase(Protocol):
    """Valid UTF-8 of whole lines → the same in its best casing; lines, tokens, changed and oov are counted."""

    def __call__(
        self, text: bytes, source: bytes | None = None, align: bytes | None = None, /
    ) -> tuple[memoryview, RecaseCounts]:
        """source, align: if the text is a translation, as many lines of its source, and of alignments."""


@dataclass(frozen=True)
class TextOptions:
    """Where in a record its text is, and what becomes of malformed records."""

    field: str | None = None  # of JSON objects
    column: str | None = None  # of TSV, CSV and Parquet: a name, or a number from 1
    errors: Errors = "strict"  # text that is not UTF-8 makes a record malformed; "replace": gets U+FFFD
    on_error: OnError = "fail"  # malformed records fail their file, pass unchanged, or are dropped
    jobs: int = 1  # processes that parse a Wikimedia dump
    remedy: ClassVar[str] = "fix it"  # what to do about a malformed record


@dataclass(frozen=True)
class BatchOptions(TextOptions):
    """The same for texts that are to be recased."""

    field: str | None = "text"
    column: str | None = "text"
    source: str | None = None  # field or column of the source, if the texts are translations
    align: str | None = None  # field or column of the alignments
    document: str | None = None
    """If the lines of a document are evidence for each other: the field or column that is the same in the successive
    records of a document; or "": each record is a document, and blank lines part those of text."""
    remedy = "fix it, or use --on-error pass or drop"


@dataclass(frozen=True)
class RecaseCounts:
    """What recasing did, in a block, a file or all files."""

    records: int = 0  # lines of a file, objects, rows
    malformed: int = 0  # of the records: passed on as they are, or dropped
    lines: int = 0  # that were recased; a record's text may have several
    tokens: int = 0  # words, marks and protected text
    changed: int = 0  # of the tokens: those whose case is not the input's
    oov: int = 0  # of the tokens: words that the model does not know

    def __add__(self, other: RecaseCounts) -> RecaseCounts:
        return RecaseCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(RecaseCounts)))

    def __str__(self) -> str:
        bad = f", {self.malformed:,} of {self.records:,} records malformed" if self.malformed else ""
        return f"{self.lines:,} lines, {self.tokens:,} tokens, {self.changed:,} changed, {self.oov:,} unknown{bad}"


class Reader(Protocol):
    """One file whose text can be read. Made of the file's path and the options."""

    def texts(self, on_read: OnRead) -> Iterator[str]:
        """The texts of its records, each of any number of lines. `on_read` is given the bytes of the file, as they are
        read.

        Raises:
            CapfstError: the file cannot be read, or a record is malformed; its line or row is named.
        """


class Format(Reader, Protocol):
    """One file whose text can also be recased: pieces are read one after the other, recased in any threads, written in
    order."""

    settings: dict[str, Any]
    """The options on which its output depends."""

    def pieces(self, on_read: OnRead) -> Iterator[Any]:
        """The file in pieces that need not be together in memory."""

    def recased(self, piece: Any, recase: Recase) -> tuple[Any, RecaseCounts]: ...

    def writing(self, file: BinaryIO) -> AbstractContextManager[Callable[[Any], object]]:
        """Gives the function that takes the recased pieces; the file is complete when the context ends."""
