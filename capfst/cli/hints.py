"""Notes on stderr about input that another command or option suits better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from capfst.cli.streams import note
from capfst.exceptions import CapfstError, CorpusError
from capfst.options import PUNCTUATION

if TYPE_CHECKING:
    from capfst.io.protocol import TextOptions
    from capfst.recaser import Recaser

_HEAD, _HEAD_LINES = 1 << 16, 11
"""Bytes and lines of a text that are searched for fields."""
_MIN_ROWS = 3
_FILES = 8  # of a batch, whose beginnings show its language


def note_lack_of_context(recaser: Recaser, quiet: bool) -> None:
    """Print a note if the LM alone decides on case although a context model was wanted."""
    pipeline, options = recaser.pipeline, recaser.options
    restores_case = options.restore != PUNCTUATION[0]
    if restores_case and options.context and pipeline.context is None and pipeline.spellings is None:
        note(f"{recaser.model.path}: no context model, so only the LM decides", quiet)


def hint_at_language(blocks: Iterable[bytes], recaser: Recaser) -> Iterator[bytes]:
    """Yield the blocks; print a note if their beginning is in a language that the model does not know: before the first
    block, which may be a line that was typed, or once there is enough text."""
    from capfst.models.foreign import ENOUGH

    beginning, is_open = b"", True
    for block in blocks:
        if is_open:
            is_first = not beginning
            beginning += block[: ENOUGH - len(beginning)]
            is_open = len(beginning) < ENOUGH
            if is_first or not is_open:
                is_open &= not note_foreign_language(beginning, recaser)
        yield block
    if is_open and beginning:
        note_foreign_language(beginning, recaser)


def note_foreign_language(text: bytes, recaser: Recaser) -> bool:
    """Print a note if the text is in a language that the model does not know; return whether it is."""
    from capfst.models.foreign import advice, foreign_language

    language = foreign_language(text, recaser.pipeline.loaded.lm)
    if language:
        note(advice(recaser.model.path, language))
    return language is not None


def beginning_of(files: Iterable[Path], options: TextOptions) -> bytes:
    """Return the first texts of the first few files that can be read."""
    from capfst.io.text_blocks import text_blocks
    from capfst.models.foreign import ENOUGH

    text = b""
    for file in islice((file for file in files if file.is_file()), _FILES):
        with suppress(CapfstError):
            text += next(text_blocks([file], replace(options, errors="replace"), ENOUGH // _FILES), b"")
    return text


def hint_at_batch(files: tuple[Path, ...], quiet: bool) -> bool:
    """Print a note if a file name ends like that of a file with columns; return whether one does."""
    from capfst.io.files import suffix_of

    for file in files:
        if file.is_dir():
            raise CorpusError(f"{file}: a folder, not a file. Recase the files of a folder with `capfst batch`.")
        suffix = suffix_of(file.name)
        if suffix == ".parquet":
            raise CorpusError(f"{file}: Parquet is not text. Recase a column of it with `capfst batch --column NAME`.")
        if suffix in (".csv", ".tsv"):
            note(f"{file}: recasing whole lines. To recase one column of {suffix} files, use `capfst batch`.", quiet)
            return True
    return False


def hint_at_layout(blocks: Iterator[bytes], fields: bool, wrapping: bool) -> Iterator[bytes]:
    """Yield the blocks; print a note if the first looks like JSON lines, TSV or CSV (`fields`), or has lines that are
    wrapped at a width (`wrapping`)."""
    for k, block in enumerate(blocks):
        if k == 0 and fields and (found := _fields(block[:_HEAD].split(b"\n")[:_HEAD_LINES])):
            part, suffix = found
            note(
                f"the text looks like {suffix}; recasing whole lines. To recase one {part} of {suffix} files, use"
                " `capfst batch`."
            )
        if k == 0 and wrapping and block.count(b"\n", 0, _HEAD) > _HEAD_LINES:
            from capfst.io.wrapped import wrapped_at

            if width := wrapped_at(block[: block.rfind(b"\n", 0, _HEAD)].decode()):
                note(f"the lines are wrapped at {width} characters. To recase paragraphs as one text, use --wrapped.")
        yield block


def _fields(lines: list[bytes]) -> tuple[str, str] | None:
    """Return (field or column, the suffix of such files) if the lines look so: a JSON array first, or at least three
    lines with the same number of tabs, or of commas without a space after them."""
    if lines[0].startswith(b'["'):
        return "field", ".jsonl"
    whole = lines[:-1]  # the last one may be cut off
    for delimiter, least, suffix in ((b"\t", 1, ".tsv"), (b",", 2, ".csv")):
        counts = {line.count(delimiter) for line in whole}
        spaced = any(delimiter + b" " in line for line in whole)
        if len(whole) >= _MIN_ROWS and len(counts) == 1 and min(counts) >= least and not spaced:
            return "column", suffix
    return None
