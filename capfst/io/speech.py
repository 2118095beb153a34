"""Files whose texts are parts of them (subtitles, transcripts, lyrics, translations of programs, JSON): the names of
`--format`, how a file is recognized by its name and content, and the class that reads and writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from capfst.exceptions import CapfstError, OptionError
from capfst.io.blocks import PIECE, raw_pieces, read_stream
from capfst.io.captions import Ass, Captions, Sbv, Srt, Ttml, Vtt
from capfst.io.compression import OnRead
from capfst.io.documents import Head
from capfst.io.encodings import UTF8, Transcoding
from capfst.io.files import suffix_of
from capfst.io.gettext import Po
from capfst.io.json_array import JsonTexts, has_texts
from capfst.io.lines import BLOCK, TextFile
from capfst.io.lyrics import Lrc
from capfst.io.protocol import Recase, RecaseCounts, TextOptions
from capfst.io.running_text import RunningText
from capfst.io.signs import JSON as TEXTS
from capfst.io.signs import TEXT, recognized
from capfst.io.textgrid import TextGrid
from capfst.io.timed_words import Ctm, KaldiText, Stm
from capfst.io.transcripts import PRESETS, Transcript, is_transcript
from capfst.options import KEEP
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


SUBTITLES: dict[str, type[Captions]] = {
    "srt": Srt, "vtt": Vtt, "ass": Ass, "ssa": Ass, "sbv": Sbv, "ttml": Ttml,
}  # fmt: skip
"""Formats with sounds and remarks."""
_READERS: dict[str, Callable[[str], SpeechReader]] = {
    **SUBTITLES, "lrc": Lrc, "textgrid": TextGrid, "po": Po, "ctm": Ctm, "stm": Stm, "kaldi": KaldiText,
    **{preset: partial(Transcript, preset=preset) for preset in PRESETS},
}  # fmt: skip
SUFFIXES = {f".{name}": name for name in _READERS if name not in ("kaldi", *PRESETS)}
SUFFIXES |= {".dfxp": "ttml", ".pot": "po"}


def reader(name: str, format: str, fields: tuple[str, ...] = (), remarks: str = KEEP) -> SpeechReader:
    """Return the reader of a file in one of options.FORMATS, except plain text.

    Args:
        name: the name of the file, in errors.
        fields: the paths of its texts, if the format is one of WITH_FIELDS; without them, those of a transcript are
            detected.
        remarks: as RecaseOptions has it; in formats other than SUBTITLES, remarks are text or stay.
    """
    if format in WITH_FIELDS:
        return (Transcript if format == TRANSCRIPT else JsonTexts)(name, fields=fields)
    return SUBTITLES[format](name, remarks) if format in SUBTITLES else _READERS[format](name)


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


class Speech(TextFile):
    """A file whose texts are parts of it."""

    def __init__(self, path: Path, options: TextOptions, format: str) -> None:
        if options.source is not None:
            raise OptionError(f"{path}: speech has no field with its source. Leave the source out.")
        fields = options.field if format in WITH_FIELDS else ()
        super().__init__(path, options)
        self.reader = reader(str(path), format, fields, options.remarks)
        self.settings |= {"format": format, "field": list(fields)}

    def pieces(self, on_read: OnRead) -> Iterator[tuple[RunningText, int, bytes]]:
        """Yield the parts of the file, each with the number of its first line, from 0, and the first lines of the
        running text, or none if it has them."""
        blocks = read_stream(self.path, size=BLOCK, errors=self.errors, on_read=on_read, transcoding=self.transcoding)
        head, line = None, 0
        for part in self.reader.read(blocks):
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
