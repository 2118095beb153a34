"""The table of formats. The suffix of a file's name (before `.gz` and the like), the option `format` or the content
selects the class that reads and writes a file.

Content is recognized by its beginning, such as `{"name":` or `[ti:…]`, with which no prose begins. Files with any other
suffix are plain text, one sentence per line, except unsupported formats (`.pdf`, …) and files whose content is
recognized. A `.json` or `.xml` file in a folder is often not text, so it is read only if its content is known, or its
field or format is named.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from capfst.exceptions import CapfstError, CorpusError
from capfst.forks import loading
from capfst.io.blocks import PIECE, raw_pieces
from capfst.io.encodings import UTF8, Transcoding
from capfst.io.files import NO_TEXT, failures_of, refuse_special, suffix_of
from capfst.io.protocol import BatchOptions, Format, Reader, TextOptions
from capfst.options import FORMATS as NAMES
from capfst.options import KEEP
from capfst.text.markup import AUTO, NONE, markup_of
from capfst.text.markup import SUFFIXES as MARKUPS

if TYPE_CHECKING:
    from capfst.io.text_file import TextFile

_HEAD = 1 << 16  # bytes of a text that show its format
JSON, TEXT, TRANSCRIPT = "json", "text", "transcript"
"""JSON without named fields; plain text, whatever it looks like; JSON of a recognizer."""

SUBTITLES = ("srt", "vtt", "ass", "ssa", "sbv", "ttml")  # formats with sounds and remarks
JSONS = (".json", ".json3", ".jsonl", ".ndjson")
FORMATS = {
    ".csv": "csv", ".json": "json", ".json3": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
    ".tsv": "tsv",
}  # fmt: skip
"""Formats of records, by the suffixes of files."""
_OPEN = (".json", ".xml")  # suffixes of files that may be anything
_CLASSES = {
    "text": "plain_text.PlainText", "csv": "tables.Csv", "tsv": "tables.Tsv", "parquet": "parquet.Parquet",
    "jsonl": "json_records.Jsonl", "json": "json_records.Json", "json stream": "json_records.JsonTexts",
    "wiki": "wiki.Wiki",
    "srt": "captions.Srt", "vtt": "captions.Vtt", "ass": "captions.Ass", "ssa": "captions.Ass", "sbv": "captions.Sbv",
    "ttml": "captions.Ttml", "lrc": "captions.Lrc", "textgrid": "timed_words.TextGrid", "po": "gettext.Po",
    "ctm": "timed_words.Ctm", "stm": "timed_words.Stm", "kaldi": "timed_words.KaldiText",
    **dict.fromkeys(NAMES[NAMES.index(TRANSCRIPT) :], "transcripts.Transcript"),
}  # fmt: skip
"""The module and class of each format; few of them are imported in a process, and some need optional packages."""
SUFFIXES = {f".{name}": name for name in (*SUBTITLES, "lrc", "textgrid", "po", "ctm", "stm")}
SUFFIXES |= {".dfxp": "ttml", ".pot": "po"}
"""Formats whose texts are parts of a file, by the suffixes of files."""
_LONG_HEAD = 1 << 20  # bytes of JSON to search for a recognizer's fields: its segments may follow the whole text
_NAMED = frozenset([".csv", ".tsv", ".parquet", *MARKUPS])  # whose content does not count

_importing = Lock()
"""If the import of a module fails in one thread, Python gives another thread an ImportError without the reason."""


def _opened(name: str, path: Path, options: TextOptions, *more: Any) -> Any:
    module, class_name = _CLASSES[name].split(".")
    with loading(), _importing:
        made = getattr(import_module(f"capfst.io.{module}"), class_name)
    return made(path, options, *more)


def _speech(name: str, path: Path, options: TextOptions) -> Any:
    """Return the object of a format whose texts are parts of a file; only a transcript's may be named."""
    return _opened(name, path, replace(options, format=name, field=options.field if name == TRANSCRIPT else ()))


def reader(name: str, format: str, fields: tuple[str, ...] = (), remarks: str = KEEP) -> TextFile:
    """Return the reader of a stream in one of options.FORMATS, except plain text.

    name: of the file, in errors; fields: the paths of its texts, if the format is JSON or a transcript; without them,
    those of a transcript are detected; remarks: as RecaseOptions has it, in SUBTITLES.
    """
    options, path = TextOptions(field=fields, remarks=remarks), Path(name)
    return _opened("json stream", path, options) if format == JSON else _speech(format, path, options)


def can_recase(path: Path, options: TextOptions, is_matched: bool = False) -> bool:
    """Return whether to recase a file that is in a folder or matches a pattern: by its name or, if that does not
    decide, by its content."""
    suffix = suffix_of(path.name)
    if suffix == ".json" and (is_matched or options.format or options.field):
        return True
    if suffix in _OPEN:
        if speech_format(path, replace(options, format=None)):
            return True
        if suffix not in JSONS:
            return False
        from capfst.io.json_records import has_texts  # noqa: PLC0415  (few files are JSON)

        return has_texts(_head(path, options).decode(errors="replace"))
    return suffix in FORMATS or suffix in MARKUPS or suffix not in NO_TEXT


def can_train(name: str, options: TextOptions) -> bool:
    """Return whether a file of this name in a folder is training text: plain text, or a format whose field or column
    was selected."""
    suffix = suffix_of(name)
    chosen = options.field if suffix in JSONS else options.column
    return suffix not in NO_TEXT or (suffix in FORMATS and bool(chosen))


def format_of(path: Path, options: BatchOptions) -> Format:
    """Return the format object of a file; CorpusError if it is a pipe, or files with its suffix cannot be recased."""
    refuse_special(path)
    return _file(path, options, [*FORMATS, *MARKUPS])


def reader_of(path: Path, options: TextOptions) -> Reader:
    """Return the reader of a file; CorpusError if files with its suffix cannot be read, OptionError if the options do
    not select the text of its records."""
    return _file(path, options, [*FORMATS, ".xml"])


def _file(path: Path, options: TextOptions, suffixes: Collection[str]) -> Any:
    """Return the object of a file. suffixes: those of formats other than plain text."""
    suffix = suffix_of(path.name)
    with failures_of(path):
        name = TEXT if options.format == TEXT else speech_format(path, options)
        if name == TEXT:
            return _opened(TEXT, path, options)
        if name not in (None, JSON):
            return _speech(name, path, options)
        if not name and suffix in NO_TEXT and suffix not in suffixes:
            raise CorpusError(f"{path}: cannot read {suffix} files. Convert it to text, {', '.join(suffixes)}.")
        name = FORMATS.get(suffix) or name or ("wiki" if suffix == ".xml" else TEXT)
        return _opened(name, path, options, *([markup_of(suffix, options.markup)] if name == TEXT else []))


_TIME = r"\d{1,3}:\d\d"
_SIGNS = {
    JSON: r'(?:\[\s*)*\{\s*(?:"(?:[^"\\\n]|\\.){0,200}"\s*:|\})',
    "vtt": rf"WEBVTT(?:[ \t]*(?:[-\r\n]|\Z)|(?!\w)(?s:.)*?[\r\n][ \t]*{_TIME}[:.]\d[^\n]*-->)",
    "srt": rf"(?:\d+\s+)?-?{_TIME}:\d\d[,.]\d+[ \t]*-->",
    "sbv": rf"{_TIME}:\d\d\.\d+,{_TIME}:\d\d\.\d+[ \t\r]*(?:\n|\Z)",
    "ass": r"\[(?:Script Info|Events)\]|Dialogue:[ \t]*\d+,\d+:\d\d:",
    "ttml": r"(?:<\?[^<>]*>\s*|<!--[^<>]*>\s*)*<(?:\w{1,20}:)?(?:tt|timedtext|transcript)(?=[\s>])"
            r"|<(?:\w{1,20}:)?p\s+begin=",
    "lrc": (
        r"\[(?:ti|ar|al|au|lr|by|re|ve|tool|la|id|offset|length|#)[ \t]*:[^\[\]\n]*\][ \t\r]*(?:\n|\Z)"
        rf"|\[{_TIME}(?:\.\d+\]|(?::\d\d)?\](?=\S))"
    ),
    "po": r'(?:#[^\n]*(?:\n|\Z)|\s)*(?:msgctxt|msgid|msgid_plural|msgstr(?:\[\d+\])?)[ \t]+"',
    "textgrid": (
        r'File type[ \t]*=[ \t]*"ooText|Object class[ \t]*=[ \t]*"|x(?:min|max)[ \t]*=[ \t]*-?[\d.]|tiers\?[ \t]*<'
        r'|(?:text|mark|class)[ \t]*=[ \t]*"|name[ \t]*=[ \t]*"[^"\n]*"\s*\Z'
        r"|(?:number|time|size)[ \t]*=[ \t]*[\d.]+\s*\Z"
        r"|(?:intervals|points|item)[ \t]*\[\d*\]:|(?:intervals|points):[ \t]*size[ \t]*="
    ),
}  # fmt: skip
_STARTS = tuple(
    b"{ [ < # WEBVTT Dialogue: msg File Object x tiers? text mark class name number time size intervals points item"
    b" 0 1 2 3 4 5 6 7 8 9".split()
)
"""The beginnings of texts that may have a sign. Most texts begin otherwise, and are not searched."""


def recognized(head: bytes) -> str | None:
    """Return the format of a text with this beginning (_HEAD bytes, or all of it); None if it is plain."""
    head = head[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head.startswith(_STARTS):
        return None
    found = _signs()(head.decode(errors="replace"))
    return found.lastgroup if found else None


@cache
def _signs():  # type: ignore[no-untyped-def]
    return re.compile("|".join(f"(?P<{name}>{sign})" for name, sign in _SIGNS.items()), re.ASCII).match


def format_of_text(head: bytes, fields: tuple[str, ...] = ()) -> str | None:
    """Return the format of a text with this beginning, by its content; None if it is plain. fields: the named ones."""
    found = recognized(head)
    if found != JSON or fields:
        return found
    from capfst.io.transcripts import is_transcript  # noqa: PLC0415  (few texts are JSON)

    for size in PIECE, _LONG_HEAD:
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
    return None if suffix in JSONS and found != TRANSCRIPT else found


def _head(path: Path, options: TextOptions) -> bytes:
    """Return the first bytes of a file, as UTF-8; nothing if it cannot be read, which its format reports later."""
    transcoding = Transcoding(options.encoding, "replace") if options.encoding != UTF8 else None
    try:
        refuse_special(path)
        head = b""
        for piece in raw_pieces(path, transcoding=transcoding):
            head += piece
            if len(head) >= _LONG_HEAD:
                break
        return head
    except (CapfstError, ValueError):
        return b""
