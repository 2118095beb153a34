"""The table of formats: the suffix of a file's name, before `.gz` and the like, selects the class that reads and writes
the file.

Files with any other suffix are plain text, one sentence per line, except those of unsupported formats (`.html`, `.pdf`,
…). A `.json` file in a folder is often not text, so it is read only if its field or format is named.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from threading import Lock

from capfst.exceptions import CorpusError
from capfst.forks import loading
from capfst.io.csv import Csv
from capfst.io.files import NO_TEXT, suffix_of
from capfst.io.json_array import Json
from capfst.io.jsonl import Jsonl
from capfst.io.marked_text import MarkedText
from capfst.io.plain_text import PlainText
from capfst.io.protocol import BatchOptions, Format, Reader, TextOptions
from capfst.io.speech import JSON, Speech, speech_format
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
    ".jsonl": Jsonl,
    ".ndjson": Jsonl,
    ".parquet": _parquet,
    ".tsv": Tsv,
}
_READERS: dict[str, Callable[[Path, TextOptions], Reader]] = {**FORMATS, ".xml": _wiki}


def can_recase(name: str, with_json: bool = False) -> bool:
    """Return whether a file of this name in a folder is to be recased. with_json: whether `.json` files are."""
    suffix = suffix_of(name)
    return (suffix in FORMATS and (with_json or suffix != ".json")) or suffix in MARKUPS or suffix not in NO_TEXT


def can_train(name: str, options: TextOptions) -> bool:
    """Return whether a file of this name in a folder is training text: plain text, or a format whose field or column
    was selected."""
    suffix = suffix_of(name)
    chosen = options.field if suffix in JSON else options.column
    return suffix not in NO_TEXT or (suffix in FORMATS and bool(chosen))


def format_of(path: Path, options: BatchOptions) -> Format:
    """Return the format object of a file; CorpusError if files with its suffix cannot be recased."""
    if speech := speech_format(path, options):
        return Speech(path, options, speech)
    suffix = _suffix(path, {**FORMATS, **MARKUPS})
    markup = markup_of(suffix, options.markup)
    if suffix not in FORMATS and markup != NONE:
        return MarkedText(path, options, markup)
    return FORMATS.get(suffix, PlainText)(path, options)


def reader_of(path: Path, options: TextOptions) -> Reader:
    """Return the reader of a file; CorpusError if files with its suffix cannot be read, OptionError if the options do
    not select the text of its records."""
    if speech := speech_format(path, options):
        return Speech(path, options, speech)
    return _READERS.get(_suffix(path, _READERS), PlainText)(path, options)


def _suffix(path: Path, formats: Collection[str]) -> str:
    suffix = suffix_of(path.name)
    if suffix in NO_TEXT and suffix not in formats:
        raise CorpusError(f"{path}: cannot read {suffix} files. Convert it to text, {', '.join(formats)}.")
    return suffix
