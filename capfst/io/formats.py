"""The table of formats: which class reads a file, and writes it, by its name's suffix, that before `.gz` and the like.

A name of any other suffix is text, a sentence a line, unless it says what we do not read (`.json`, `.pdf`, …).
(A file's compression is told by its first bytes.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from capfst.exceptions import CapfstError
from capfst.io.csv import Csv
from capfst.io.files import NO_TEXT, suffix_of
from capfst.io.jsonl import Jsonl
from capfst.io.plain_text import Text
from capfst.io.protocol import BatchOptions, Format, Reader, TextOptions
from capfst.io.tsv import Tsv


def _parquet(path: Path, options: TextOptions) -> Format:
    from capfst.io.parquet import Parquet  # noqa: PLC0415  (pyarrow is optional, and slow to import)

    return Parquet(path, options)


def _wiki(path: Path, options: TextOptions) -> Reader:
    from capfst.io.wiki import Wiki  # noqa: PLC0415  (mwxml and mwparserfromhell are optional)

    return Wiki(path, options)


FORMATS: dict[str, Callable[[Path, TextOptions], Format]] = {
    ".csv": Csv,
    ".jsonl": Jsonl,
    ".ndjson": Jsonl,
    ".parquet": _parquet,
    ".tsv": Tsv,
}
_READERS: dict[str, Callable[[Path, TextOptions], Reader]] = {**FORMATS, ".xml": _wiki}


def takes(name: str) -> bool:
    """Whether a file of this name in a folder is one to recase."""
    suffix = suffix_of(name)
    return suffix in FORMATS or suffix not in NO_TEXT


def teaches(name: str, options: TextOptions) -> bool:
    """Whether a file of this name in a folder is one to learn from: text, or of a format whose text was chosen."""
    suffix = suffix_of(name)
    chosen = options.field if FORMATS.get(suffix) is Jsonl else options.column
    return suffix not in NO_TEXT or (suffix in FORMATS and chosen is not None)


def format_of(path: Path, options: BatchOptions) -> Format:
    """The file in its format. CapfstError if its name says that it is of a kind that is not recased."""
    return FORMATS.get(_suffix(path, FORMATS), Text)(path, options)


def reader_of(path: Path, options: TextOptions) -> Reader:
    """What reads the file's text. CapfstError if its name says that it is of a kind that is not read, or if it was not
    said where in its records the text is."""
    return _READERS.get(_suffix(path, _READERS), Text)(path, options)


def _suffix(path: Path, formats: Collection[str]) -> str:
    suffix = suffix_of(path.name)
    if suffix in NO_TEXT and suffix not in formats:
        raise CapfstError(f"{path}: {suffix} files are not read: convert it to text, {', '.join(formats)}")
    return suffix
