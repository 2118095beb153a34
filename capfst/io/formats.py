"""The table of formats: the suffix of a file's name, before `.gz` and the like, or its content, selects the class that
reads and writes the file.

Files with any other suffix are plain text, one sentence per line, except those of unsupported formats (`.pdf`, …), and
those whose content is recognized (speech.py). A `.json` or `.xml` file in a folder is often not text, so it is read
only if its content is known, or its field or format is named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from threading import Lock

from capfst.exceptions import CorpusError
from capfst.forks import loading
from capfst.io.csv import Csv
from capfst.io.files import NO_TEXT, failures_of, suffix_of
from capfst.io.json_array import Json
from capfst.io.jsonl import Jsonl
from capfst.io.marked_text import MarkedText
from capfst.io.plain_text import PlainText
from capfst.io.protocol import BatchOptions, Format, Reader, TextOptions
from capfst.io.signs import JSON as TEXTS
from capfst.io.signs import TEXT
from capfst.io.speech import JSON, Speech, has_known_texts, speech_format
from capfst.io.tsv import Tsv
from capfst.text.markup import NONE, markup_of
from capfst.text.markup import SUFFIXES as MARKUPS

_importing = Lock()
"""If the import of a module fails in one thread, Python gives another thread an ImportError without the reason."""


def _parquet(path: Path, options: TextOptions) -> Format:
    with loading(), _importing:
        from capfst.io.parquet import Parquet  # noqa: PLC0415  (pyarrow is optional, and slow to import)

    return Parquet(path, options)


def _wiki(path: Path, options: TextOptions) -> Reader:
    with loading(), _importing:
        from capfst.io.wiki import Wiki  # noqa: PLC0415  (mwxml and mwparserfromhell are optional)

    return Wiki(path, options)


FORMATS: dict[str, Callable[[Path, TextOptions], Format]] = {
    ".csv": Csv,
    ".json": Json,
    ".json3": Json,
    ".jsonl": Jsonl,
    ".ndjson": Jsonl,
    ".parquet": _parquet,
    ".tsv": Tsv,
}
_READERS: dict[str, Callable[[Path, TextOptions], Reader]] = {**FORMATS, ".xml": _wiki}


_OPEN = (".json", ".xml")
"""Suffixes of files that may be anything."""


def can_recase(path: Path, options: TextOptions, is_matched: bool = False) -> bool:
    """Return whether a file in a folder, or one that a pattern matches, is to be recased: by its name or, if that
    leaves it open, by its content."""
    suffix = suffix_of(path.name)
    if suffix == ".json" and (is_matched or options.format or options.field):
        return True
    if suffix in _OPEN:
        return has_known_texts(path, options)
    return suffix in FORMATS or suffix in MARKUPS or suffix not in NO_TEXT


def can_train(name: str, options: TextOptions) -> bool:
    """Return whether a file of this name in a folder is training text: plain text, or a format whose field or column
    was selected."""
    suffix = suffix_of(name)
    chosen = options.field if suffix in JSON else options.column
    return suffix not in NO_TEXT or (suffix in FORMATS and bool(chosen))


def format_of(path: Path, options: BatchOptions) -> Format:
    """Return the format object of a file; CorpusError if files with its suffix cannot be recased."""
    with failures_of(path):
        if found := _by_content(path, options):
            return found
        suffix = _suffix(path, {**FORMATS, **MARKUPS})
        markup = markup_of(suffix, options.markup)
        if suffix not in FORMATS and markup != NONE:
            return MarkedText(path, options, markup)
        return FORMATS.get(suffix, PlainText)(path, options)


def reader_of(path: Path, options: TextOptions) -> Reader:
    """Return the reader of a file; CorpusError if files with its suffix cannot be read, OptionError if the options do
    not select the text of its records."""
    with failures_of(path):
        return _by_content(path, options) or _READERS.get(_suffix(path, _READERS), PlainText)(path, options)


def _by_content(path: Path, options: TextOptions) -> Format | None:
    """Return the format object of a file whose format is chosen, or recognized by its content."""
    if options.format == TEXT:
        return PlainText(path, options)
    if (found := speech_format(path, options)) == TEXTS:
        return FORMATS.get(suffix_of(path.name), Json)(path, options)
    return Speech(path, options, found) if found else None


def _suffix(path: Path, formats: Collection[str]) -> str:
    suffix = suffix_of(path.name)
    if suffix in NO_TEXT and suffix not in formats:
        raise CorpusError(f"{path}: cannot read {suffix} files. Convert it to text, {', '.join(formats)}.")
    return suffix
