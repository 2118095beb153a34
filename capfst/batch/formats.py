"""A file's format, by its name; its compression, by its first bytes.

`.jsonl` and `.ndjson`: an object a line, of which one field is recased; `.tsv`: one column; `.parquet`: one column.
Each but the last may be compressed (`.gz`, `.zst`). Any other name is text, a sentence a line, but for names that say
what we do not read (`.csv`, `.json`, `.pdf`, …).
"""

from __future__ import annotations

from pathlib import Path

from capfst.batch.jsonl import Jsonl
from capfst.batch.lines import Text
from capfst.batch.protocol import Format, Options
from capfst.batch.tsv import Tsv
from capfst.corpus.files import NO_TEXT, suffix_of
from capfst.errors import CapfstError

_READ = frozenset((".jsonl", ".ndjson", ".tsv", ".parquet"))


def takes(name: str) -> bool:
    """Whether a file of this name in a folder is one to recase."""
    suffix = suffix_of(name)
    return suffix in _READ or suffix not in NO_TEXT


def format_of(path: Path, options: Options) -> Format:
    """CapfstError if its name says that it is nothing that we read."""

    suffix = suffix_of(path.name)
    if suffix == ".parquet":
        from capfst.batch.parquet import Parquet  # noqa: PLC0415  (pyarrow takes its time)

        return Parquet(path, options)
    if suffix in (".jsonl", ".ndjson"):
        return Jsonl(path, options)
    if suffix == ".tsv":
        return Tsv(path, options)
    if suffix in NO_TEXT:
        raise CapfstError(f"{path}: {suffix} files are not read: convert it to text, .jsonl, .tsv or .parquet")
    return Text(path, options)
