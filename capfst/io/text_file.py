"""Files of text: cut into parts, each of which is recased and written on its own.

In: the bytes of a file or stream as they arrive. Out: a `Part` after the other, each of whole records or cues, of about
BLOCK characters; or their running text (running_text.py). A format defines where its records end (`ends`), and which
text is in a part.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

from capfst.exceptions import CorpusError, OptionError
from capfst.io.blocks import read_stream
from capfst.io.compression import HEAD, OnRead, compressing, compression_of
from capfst.io.documents import Head
from capfst.io.encodings import UTF8, Transcoding
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.running_text import RunningText

BLOCK = 1 << 20  # characters of a part, which is recased at once


class FormatError(Exception):
    """A text or a record violates its format, from an offset on. The message has the problem; that of a whole text,
    also the remedy."""

    def __init__(self, problem: str, offset: int = 0) -> None:
        super().__init__(problem)
        self.offset = offset


class Part(NamedTuple):
    """A part of a file. A byte that is not UTF-8 is a lone surrogate, unless it was replaced."""

    data: str
    line: int  # the number of its first line, from 1
    ends: list[int]  # of its records


class TextFile:
    """A file of text in any format."""

    least: ClassVar[int] = 0
    """Characters of a part, if the file has more; 0: BLOCK. 1: a part ends as soon as a record does."""
    most: ClassVar[int] = 512 << 20  # characters of a record, which is held in memory as a whole
    too_long: ClassVar[str] = "a line has more than {} MiB. Split it, if this is text."

    def __init__(self, path: Path, options: TextOptions) -> None:
        self.path = path
        self.errors = options.errors
        self.settings: dict[str, Any] = options.settings()
        self.transcoding = Transcoding(options.encoding, options.errors) if options.encoding != UTF8 else None

    def ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        """Return the ends of the whole records at the beginning of data, which begins with a record.

        is_first, is_last: whether the file begins and ends with data.

        Raises:
            FormatError: it is not of the format.
        """
        raise NotImplementedError

    def cut(self, pieces: Iterable[bytes], line: int = 1) -> Iterator[Part]:
        """Yield the parts of a text that is given in pieces. line: the number of its first line in the file.

        Raises:
            CorpusError: it is not of the format, or a record is too long.
        """
        errors = "surrogateescape" if self.errors == "strict" else "replace"
        decode = codecs.getincrementaldecoder("utf-8")(errors).decode
        least = wanted = self.least or BLOCK
        held, n_held, is_first = [""], 0, line == 1
        for piece in chain(filter(None, pieces), [b""]):
            held.append(decode(piece, not piece))
            n_held += len(held[-1])
            while n_held >= wanted or not piece:
                data = "".join(held)
                given = data if self.least else data[:wanted]  # the parts do not depend on the pieces
                is_last = not piece and len(given) == n_held
                try:
                    ends = self.ends(given, is_first, is_last)
                except FormatError as error:
                    raise self._located(error, data, line) from error
                end = ends[-1] if ends else 0
                held, n_held = [data[end:]], n_held - end
                wanted = least if end else 2 * len(given)
                if end:
                    yield Part(data[:end], line, ends)
                    line += data.count("\n", 0, end)
                    is_first = False
                if n_held > self.most:
                    raise CorpusError(f"{self.path}, line {line}: {self.too_long.format(self.most >> 20)}")
                if is_last or self.least:
                    break

    def _located(self, error: FormatError, data: str, line: int) -> CorpusError:
        """Return the error with its place. data, line: as in `Part`."""
        return CorpusError(f"{self.path}, line {line + data.count(chr(10), 0, error.offset)}: {error}")

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the running text of a file that is given in blocks of whole lines; CorpusError if it is not of the
        format."""
        raise NotImplementedError

    @contextmanager
    def writing(self, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
        """Open a function that writes UTF-8 with the compression and in the encoding of the file."""
        with open(self.path, "rb") as source:
            compression = compression_of(source.read(HEAD))
        with compressing(compression, file) as write:
            yield self.transcoding.writer(write, str(self.path)) if self.transcoding else write


class SpeechFile(TextFile):
    """A file whose texts are parts of it: subtitles, transcripts, lyrics, translations of programs. A subclass defines
    `running`; and `whole`, if a part cannot end after any line."""

    def __init__(self, path: Path, options: TextOptions) -> None:
        super().__init__(path, options)
        if options.source is not None:
            raise OptionError(f"{path}: files of this format cannot have a source. Leave the source out.")
        self.settings |= {"format": options.format, "field": list(options.field)}

    def whole(self, data: str) -> int:
        """Return the length of the whole records at the beginning of data, which is whole lines."""
        return len(data)

    def ends(self, data: str, is_first: bool, is_last: bool) -> list[int]:
        end = len(data) if is_last else self.whole(data[: data.rfind("\n") + 1])
        return [end] if end else []

    def running(self, part: Part) -> RunningText:
        """Return the running text of a part. Called with all parts in order."""
        raise NotImplementedError

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        for part in self.cut(blocks):
            try:
                running = self.running(part)
            except FormatError as error:
                raise self._located(error, part.data, part.line) from error
            yield running

    def pieces(self, on_read: OnRead) -> Iterator[tuple[RunningText, int, bytes]]:
        """Yield the parts of the file, each with the number of its first line, from 0, and the first lines of the
        running text, or none if it has them."""
        blocks = read_stream(self.path, size=BLOCK, errors=self.errors, on_read=on_read, transcoding=self.transcoding)
        head, line = None, 0
        for part in self.read(blocks):
            yield part, line, head or b""
            line += part.data.count("\n")
            if head is None:
                head = part.text[: Head().more(part.text)]

    def texts(self, on_read: OnRead) -> Iterator[str]:
        for part, *_ in self.pieces(on_read):
            yield part.text.decode(errors="replace")

    def recased(self, piece: tuple[RunningText, int, bytes], recase: Recase) -> tuple[bytes, RecaseCounts]:
        part, line, head = piece
        return part.recased(recase, line, head)
