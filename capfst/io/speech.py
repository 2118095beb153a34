"""Files whose texts are parts of them (subtitles, transcripts, lyrics, translations of programs, JSON): the names of
`--format`, how a file is recognized by its name and content, and the class that reads and writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from capfst.exceptions import CapfstError, OptionError
from capfst.io.blocks import PIECE, raw_pieces, read_stream
from capfst.io.captions import Ass, Sbv, Srt, Ttml, Vtt
from capfst.io.compression import OnRead, compressing_like
from capfst.io.documents import Head
from capfst.io.encodings import UTF8, Transcoding
from capfst.io.files import suffix_of
from capfst.io.gettext import Po
from capfst.io.json_texts import JsonTexts, has_texts
from capfst.io.lines import BLOCK
from capfst.io.lyrics import Lrc
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.running_text import RunningText
from capfst.io.signs import JSON as TEXTS
from capfst.io.signs import TEXT, recognized
from capfst.io.textgrid import TextGrid
from capfst.io.timed_words import Ctm, KaldiText, Stm
from capfst.io.transcripts import PRESETS, Transcript, is_transcript
from capfst.text.markup import AUTO, NONE
from capfst.text.markup import SUFFIXES as MARKUPS

TRANSCRIPT = "transcript"
WITH_FIELDS = (TEXTS, TRANSCRIPT)
"""Formats whose texts `field` may name."""
JSON = (".json", ".json3", ".jsonl", ".ndjson")
_LONG_HEAD = 1 << 20
"""Bytes that show that JSON is a recognizer's: its segments may follow the whole text."""
_NAMED = frozenset([".csv", ".tsv", ".parquet", *MARKUPS])  # whose content does not count


class SpeechReader(Protocol):
    """Reads a file of one format."""

    def read(self, blocks: Iterable[bytes]) -> Iterator[RunningText]:
        """Yield the parts of a file that is given in blocks of whole lines; CorpusError if it is not of the format."""


_READERS: dict[str, Callable[[str], SpeechReader]] = {
    "srt": Srt, "vtt": Vtt, "ass": Ass, "ssa": Ass, "sbv": Sbv, "ttml": Ttml, "lrc": Lrc, "textgrid": TextGrid,
    "po": Po, "ctm": Ctm, "stm": Stm, "kaldi": KaldiText,
    **{preset: partial(Transcript, preset=preset) for preset in PRESETS},
}  # fmt: skip
SUFFIXES = {f".{name}": name for name in _READERS if name not in ("kaldi", *PRESETS)}
SUFFIXES |= {".dfxp": "ttml", ".pot": "po"}


def reader(name: str, format: str, fields: tuple[str, ...] = ()) -> SpeechReader:
    """Return the reader of a file in one of options.FORMATS, except plain text.

    Args:
        name: the name of the file, in errors.
        fields: the paths of its texts, if the format is one of WITH_FIELDS; without them, those of a transcript are
            detected.
    """
    if format in WITH_FIELDS:
        return (Transcript if format == TRANSCRIPT else JsonTexts)(name, fields=fields)
    return _READERS[format](name)


def format_of_text(head: bytes, fields: tuple[str, ...] = ()) -> str | None:
    """Return the format of a text that begins so, by its content; None if it is plain. fields: those that are named."""
    found = recognized(head)
    for size in (PIECE, _LONG_HEAD) if found == TEXTS and not fields else ():
        with suppress(ValueError):  # not valid JSON, as its reader reports
            if is_transcript(head[:size].decode(errors="replace")):
                return TRANSCRIPT
    return found


def speech_format(path: Path, options: TextOptions) -> str | None:
    """Return the format of a file: the chosen one, that of its suffix, or that of its content; None if it is plain
    text, or one of the formats with fields or columns."""
    suffix = suffix_of(path.name)
    if options.format is not None or suffix in SUFFIXES:
        format = options.format or SUFFIXES[suffix]
        return None if format == TEXT else format
    if suffix in _NAMED or options.markup not in (AUTO, NONE):
        return None
    found = format_of_text(_head(path, options), options.field)
    return None if suffix in JSON and found != TRANSCRIPT else found


def has_known_texts(path: Path, options: TextOptions) -> bool:
    """Return whether a file whose suffix leaves open what it contains has texts that are known by its content."""
    found = speech_format(path, replace(options, format=None))
    head = _head(path, options).decode(errors="replace") if not found and suffix_of(path.name) in JSON else ""
    return found is not None or has_texts(head)


def _head(path: Path, options: TextOptions) -> bytes:
    """Return the first bytes of a file, as UTF-8; nothing if it cannot be read: its format says so."""
    transcoding = Transcoding(options.encoding, "replace") if options.encoding != UTF8 else None
    try:
        head = b""
        for piece in raw_pieces(path, transcoding=transcoding):
            head += piece
            if len(head) >= _LONG_HEAD:
                break
        return head
    except (CapfstError, ValueError):
        return b""


class _Piece(NamedTuple):
    """A part of a file."""

    text: RunningText
    is_first: bool
    line: int  # the number of its first line, from 0


class Speech:
    """A file whose texts are parts of it."""

    def __init__(self, path: Path, options: TextOptions, format: str) -> None:
        if options.source is not None:
            raise OptionError(f"{path}: speech has no field with its source. Leave the source out.")
        fields = options.field if format in WITH_FIELDS else ()
        self.path, self.errors = path, options.errors
        self.reader = reader(str(path), format, fields)
        self.settings: dict[str, Any] = options.settings() | {"format": format, "field": list(fields)}
        self.transcoding = Transcoding(options.encoding, options.errors) if options.encoding != UTF8 else None
        self._head = b""

    def pieces(self, on_read: OnRead) -> Iterator[_Piece]:
        blocks = read_stream(self.path, size=BLOCK, errors=self.errors, on_read=on_read, transcoding=self.transcoding)
        line = 0
        for number, text in enumerate(self.reader.read(blocks)):
            if number == 0:
                self._head = text.text[: Head().more(text.text)]
            yield _Piece(text, number == 0, line)
            line += text.data.count("\n")

    def texts(self, on_read: OnRead) -> Iterator[str]:
        for piece in self.pieces(on_read):
            yield piece.text.text.decode(errors="replace")

    def recased(self, piece: _Piece, recase: Recase) -> tuple[bytes, RecaseCounts]:
        recased, counts = recase(piece.text.spoken, head=b"" if piece.is_first else self._head)
        counts = counts.at(lambda line: piece.line + line) + RecaseCounts(records=piece.text.n_records)
        return piece.text.written(recased), counts

    @contextmanager
    def writing(self, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
        with compressing_like(self.path, file) as write:
            yield self.transcoding.writer(write, str(self.path)) if self.transcoding else write
