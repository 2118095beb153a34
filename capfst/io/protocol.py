"""The protocol that a file format implements, and the options and counts that all formats share.

A `Reader` yields the texts of a file's records; a `Format` also writes the file again with these texts recased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple, Protocol

from capfst.exceptions import OptionError, quantity
from capfst.io.compression import OnRead
from capfst.io.encodings import UTF8, checked
from capfst.options import KEEP, Errors
from capfst.system.progress import clock

OnError = Literal["fail", "pass", "drop"]

_DELIMITERS = frozenset(map(chr, range(1, 127))) - frozenset('"\r\n')


class Recase(Protocol):
    """Recase valid UTF-8 of whole lines; count lines, tokens, changed and oov."""

    def __call__(
        self, text: bytes, source: bytes | None = None, align: bytes | None = None, /, *, head: bytes | None = None
    ) -> tuple[memoryview, RecaseCounts]:
        """source, align: for a translation, as many lines of its source and of alignments. head: if the lines are part
        of a text, its first lines, empty if these are they; None: each line is on its own."""


@dataclass(frozen=True)
class TextOptions:
    """Where the text of a record is, and what happens to malformed records."""

    field: tuple[str, ...] = ()  # of JSON objects: the names of the texts, or paths (`io/json_paths.py`)
    column: tuple[str, ...] = ()  # of TSV, CSV and Parquet: the names of the texts, or their numbers from 1
    errors: Errors = "strict"  # bytes that are not UTF-8: their record is malformed, or they become U+FFFD
    on_error: OnError = "fail"  # malformed records: fail the file, pass unchanged, or are dropped
    jobs: int = 1  # number of processes that parse a Wikimedia dump
    source: str | None = None  # field or column of the source, if the texts are translations
    align: str | None = None  # field or column of the word alignments
    document: str | None = None
    """Field or column whose value the successive records of a document share, if the lines of a document are evidence
    for each other; or "": each record is a document, and plain text is split at blank lines."""
    delimiter: str | None = None  # of CSV and TSV; None: a comma, or a tab
    encoding: str = UTF8  # of text files
    format: str | None = None  # of speech (io/formats.py), whatever the names of the files; None: by the name
    markup: str = "none"  # of the texts, or "auto", for files of text: that of their suffix (text/markup.py)
    remarks: str = KEEP  # sounds and remarks in subtitles: as RecaseOptions has it
    usual_field: ClassVar[tuple[str, ...]] = ()  # without `field`
    remedy: ClassVar[str] = "Fix it."  # for a malformed record

    def __post_init__(self) -> None:
        """Accept one field or column; check the other options.

        Raises:
            OptionError: an unknown encoding, an unsupported delimiter, or several texts with a source.
        """
        for name in "field", "column":
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value or ()))
        object.__setattr__(self, "encoding", checked(self.encoding))
        object.__setattr__(self, "delimiter", "\t" if self.delimiter == "\\t" else self.delimiter)
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter not in _DELIMITERS):
            raise OptionError(f"`delimiter` is {self.delimiter!r}. Use one character, such as ; or | or \\t.")
        if self.source is not None and max(len(self.field), len(self.column)) > 1:
            raise OptionError("a source belongs to one text: use one `field` or `column`.")

    def selecting(self, name: str) -> TextOptions:
        """Return the options with which this field or column is the text, with neither source nor document."""
        chosen = (name,)
        return replace(self, field=chosen, column=chosen, source=None, align=None, document=None, markup="none")

    def settings(self) -> dict[str, str]:
        """Return the options on which the output of every format depends."""
        named = {"source": self.source, "align": self.align, "document": self.document, "delimiter": self.delimiter}
        chosen = {key: name for key, name in named.items() if name is not None}
        if self.encoding != UTF8:
            chosen["encoding"] = self.encoding
        return {"errors": self.errors, "on_error": self.on_error, **chosen}


@dataclass(frozen=True)
class BatchOptions(TextOptions):
    """The same for texts to recase, whose field or column has a default."""

    column: tuple[str, ...] = ("text",)
    usual_field = ("text",)
    remedy = "Fix it, or use --on-error pass or drop."


class Stretch(NamedTuple):
    """A stretch of a text that was repaired."""

    line: int
    """The line in which it begins, from 0."""
    words: int
    """The number of its words."""
    begins: str
    """Its first words, as they were."""
    seconds: float | None = None
    """The time of its first word or cue, if the file has times."""

    def __str__(self) -> str:
        place = f"line {self.line + 1:,}" if self.seconds is None else clock(self.seconds)
        return f'{place} ("{self.begins} …")'


@dataclass(frozen=True)
class RecaseCounts:
    """Counts of the text recased in a block, a file or all files."""

    records: int = 0  # lines of a file, objects or rows
    malformed: int = 0  # records that were passed unchanged or dropped
    lines: int = 0  # recased lines; a record's text may have several
    tokens: int = 0  # words, marks and protected text
    changed: int = 0  # tokens whose case differs from the input's
    oov: int = 0  # words that the model lacks
    stretches: int = 0  # that were repaired
    repaired: int = 0  # words in these stretches
    places: tuple[Stretch, ...] = ()  # the first of these stretches, with their lines in the file

    LISTED: ClassVar[int] = 20
    """The largest number of `places`."""

    @classmethod
    def of_repair(cls, stretches: Sequence[Stretch]) -> RecaseCounts:
        """Return the counts of stretches that were repaired."""
        words = sum(stretch.words for stretch in stretches)
        return cls(stretches=len(stretches), repaired=words, places=tuple(stretches[: cls.LISTED]))

    def at(self, line_of: Callable[[int], int]) -> RecaseCounts:
        """Return the same counts with other lines of the places, given what each line becomes."""
        if not self.places:
            return self
        return replace(self, places=tuple([place._replace(line=line_of(place.line)) for place in self.places]))

    def __add__(self, other: RecaseCounts) -> RecaseCounts:
        total = RecaseCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(RecaseCounts)))
        return total if len(total.places) <= self.LISTED else replace(total, places=total.places[: self.LISTED])

    @property
    def repair(self) -> str:
        """How much was repaired, and where."""
        more = ["…"] if self.stretches > len(self.places) else []
        where = f": {', '.join([*map(str, self.places), *more])}" if self.places else ""
        stretches = quantity(self.stretches, "stretch", "stretches")
        return f"repaired {quantity(self.repaired, 'word')} in {stretches}{where}"

    def __str__(self) -> str:
        bad = f", {self.malformed:,} of {quantity(self.records, 'record')} malformed" if self.malformed else ""
        size = f"{quantity(self.lines, 'line')}, {quantity(self.tokens, 'token')}"
        repair = f", {self.repair}" if self.stretches else ""
        return f"{size}, {self.changed:,} changed, {self.oov:,} unknown{bad}{repair}"


class Reader(Protocol):
    """A file whose texts can be read. Constructed from its path and the options."""

    def texts(self, on_read: OnRead) -> Iterator[str]:
        """Yield the texts of the records, each of any number of lines. `on_read` is called with the bytes of the file
        as they are read.

        Raises:
            CapfstError: the file cannot be read, or a record is malformed; the error has its line or row.
        """


class Format(Reader, Protocol):
    """A file whose texts can also be recased. Its pieces are read in order, recased in any threads, and written in
    order."""

    settings: dict[str, Any]
    """The options on which the output depends."""

    def pieces(self, on_read: OnRead) -> Iterator[Any]:
        """Yield the file in pieces, each of which can be recased without the others."""

    def recased(self, piece: Any, recase: Recase) -> tuple[Any, RecaseCounts]: ...

    def writing(self, file: BinaryIO) -> AbstractContextManager[Callable[[Any], object]]:
        """Open a context with the function that writes recased pieces; the file is complete when the context ends."""
