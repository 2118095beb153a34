"""The table of formats: which class reads and writes a file, by its name's suffix, that before `.gz` or `.zst`.

A name of any other suffix is text, a sentence a line, unless it says what we do not read (`.json`, `.pdf`, …).
(A file's compression is told by its first bytes.)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from capfst.batch.csv import Csv
from capfst.batch.jsonl import Jsonl
from capfst.batch.protocol import BatchOptions, Format
from capfst.batch.text import Text
from capfst.batch.tsv import Tsv
from capfst.corpus.files import NO_TEXT, suffix_of
from capfst.exceptions import CapfstError


def _parquet(path: Path, options: BatchOptions) -> Format:
    from capfst.batch.parquet import Parquet  # noqa: PLC0415  (pyarrow is optional, and slow to import)

    return Parquet(path, options)


FORMATS: dict[str, Callable[[Path, BatchOptions], Format]] = {
    ".csv": Csv,
    ".jsonl": Jsonl,
    ".ndjson": Jsonl,
    ".parquet": _parquet,
    ".tsv": Tsv,
}
DEFAULT = Text


def takes(name: str) -> bool:
    """Whether a file of this name in a folder is one to recase."""
    suffix = suffix_of(name)
    return suffix in FORMATS or suffix not in NO_TEXT


def format_of(path: Path, options: BatchOptions) -> Format:
    """The file in its format. CapfstError if its name says that it is of a kind that we do not read."""
    suffix = suffix_of(path.name)
    if suffix in NO_TEXT and suffix not in FORMATS:
        raise CapfstError(f"{path}: {suffix} files are not read: convert it to text, {', '.join(FORMATS)}")
    return FORMATS.get(suffix, DEFAULT)(path, options)
