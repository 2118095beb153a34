"""Subtitles and transcripts as formats: the names of `--format`, and the class that reads and writes such files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from capfst.exceptions import CapfstError, OptionError
from capfst.io.blocks import raw_pieces, read_stream
from capfst.io.captions import Ass, Sbv, Srt, Vtt
from capfst.io.compression import OnRead, compressing_like
from capfst.io.documents import Head
from capfst.io.encodings import UTF8, Transcoding
from capfst.io.files import suffix_of
from capfst.io.lines import BLOCK
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.running_text import RunningText
from capfst.io.timed_words import Ctm, KaldiText, Stm
from capfst.io.transcripts import PRESETS, Transcript, is_transcript

TRANSCRIPT = "transcript"
JSON = (".json", ".jsonl", ".ndjson")


class SpeechReader(Protocol):
    """Reads a file of one format."""

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the parts of a file that is given in blocks of whole lines; CorpusError if it is not of the format."""


_READERS: dict[str, Callable[[str], SpeechReader]] = {
    "srt": Srt, "vtt": Vtt, "ass": Ass, "ssa": Ass, "sbv": Sbv, "ctm": Ctm, "stm": Stm, "kaldi": KaldiText,
    **{preset: partial(Transcript, preset=preset) for preset in PRESETS},
}  # fmt: skip
SUFFIXES = {f".{name}": name for name in ("srt", "vtt", "ass", "ssa", "sbv", "ctm", "stm")}


def reader(name: str, format: str, fields: tuple[str, ...] = ()) -> SpeechReader:
    """Return the reader of a file in one of options.FORMATS.

    Args:
        name: the name of the file, in errors.
        fields: the paths of its texts, if the format is TRANSCRIPT; without them, it is detected.
    """
    return Transcript(name, fields=fields) if format == TRANSCRIPT else _READERS[format](name)


def speech_format(path: Path, options: TextOptions) -> str | None:
    """Return the format of a file: the chosen one, that of its suffix, or, of JSON without chosen fields, TRANSCRIPT if
    it is one; None if its text is not speech."""
    suffix = suffix_of(path.name)
    if options.format is not None or suffix in SUFFIXES:
        return options.format or SUFFIXES[suffix]
    return TRANSCRIPT if suffix in JSON and not options.field and _is_transcript(path) else None


def _is_transcript(path: Path) -> bool:
    try:
        return is_transcript(next(raw_pieces(path), b"").decode(errors="replace"))
    except (CapfstError, ValueError):  # a file that cannot be read, or is not JSON: its format says so
        return False


class _Piece(NamedTuple):
    """A part of a file."""

    text: RunningText
    is_first: bool


class Speech:
    """A file of subtitles or of a transcript."""

    def __init__(self, path: Path, options: TextOptions, format: str) -> None:
        if options.source is not None:
            raise OptionError(f"{path}: speech has no field with its source. Leave the source out.")
        fields = options.field if format == TRANSCRIPT else ()
        self.path, self.errors = path, options.errors
        self.reader = reader(str(path), format, fields)
        self.settings: dict[str, Any] = options.settings() | {"format": format, "field": list(fields)}
        self.transcoding = Transcoding(options.encoding, options.errors) if options.encoding != UTF8 else None
        self._head = b""

    def pieces(self, on_read: OnRead) -> Iterator[_Piece]:
        blocks = read_stream(self.path, size=BLOCK, errors=self.errors, on_read=on_read, transcoding=self.transcoding)
        for number, text in enumerate(self.reader.read(blocks)):
            if number == 0:
                self._head = text.text[: Head().more(text.text)]
            yield _Piece(text, number == 0)

    def texts(self, on_read: OnRead) -> Iterator[str]:
        for piece in self.pieces(on_read):
            yield piece.text.text.decode(errors="replace")

    def recased(self, piece: _Piece, recase: Recase) -> tuple[bytes, RecaseCounts]:
        recased, counts = recase(piece.text.spoken, head=b"" if piece.is_first else self._head)
        return piece.text.written(recased), counts + RecaseCounts(records=piece.text.n_records)

    @contextmanager
    def writing(self, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
        with compressing_like(self.path, file) as write:
            yield self.transcoding.writer(write, str(self.path)) if self.transcoding else write
