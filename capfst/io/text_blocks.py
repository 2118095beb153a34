"""Read the texts of files of any format in blocks of whole lines, as blocks.py reads plain text.

A record's text may have several lines. Text whose lines are wrapped at a fixed width is joined to paragraphs
(wrapped.py), one per line. Parallel tasks read splits of a file: ranges of whole lines of about the same size. A
compressed file is one split, because it can only be read from its start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from capfst.exceptions import CorpusError
from capfst.io.blocks import BLOCK, PIECE, Hash, ended_lines, joined, read_blocks, read_stream, valid, whole_lines
from capfst.io.compression import HEAD, OnRead, compression_of
from capfst.io.files import failures_of
from capfst.io.formats import reader_of
from capfst.io.plain_text import PlainText
from capfst.io.protocol import TextOptions
from capfst.io.wrapped import paragraphs, wrapped_at
from capfst.options import Errors

OnWrapped = Callable[[Path, int], object]
"""A function that is called with each file that contains wrapped text, and the width."""

_BEGINNING = 1 << 17  # bytes that decide whether text is wrapped


def text_blocks(
    files: Iterable[Path],
    options: TextOptions,
    size: int = BLOCK,
    hash: Hash | None = None,
    progress: Callable[[int], object] | None = None,
    on_wrapped: OnWrapped | None = None,
) -> Iterator[bytes]:
    """Yield the texts of `files` as `blocks.read_blocks` yields those of plain files.

    Raises:
        CapfstError: a file that cannot be read, is not in the format of its suffix, or has a malformed record.
    """
    on_wrapped = on_wrapped or (lambda file, width: None)
    on_read = (lambda data: None) if progress is None else lambda data: progress(len(data))

    def blocks() -> Iterator[bytes]:
        for file in files:
            with failures_of(file):
                yield from _file_blocks(file, options, size, on_read, on_wrapped)

    return joined(blocks(), size, hash)


def _file_blocks(
    file: Path, options: TextOptions, size: int, on_read: OnRead, on_wrapped: OnWrapped
) -> Iterator[bytes]:
    reader = reader_of(file, options)
    if not isinstance(reader, PlainText):
        return map(_encoded, _lines(reader.texts(on_read), file, on_wrapped))
    stream = read_stream(file, size=size, errors=options.errors, on_read=on_read, transcoding=reader.transcoding)
    blocks = ended_lines(stream)
    first = next(blocks, b"")
    width = wrapped_at(_beginning(first))
    blocks = chain([first], blocks)
    if not width:
        return blocks
    on_wrapped(file, width)
    lines = (line for block in blocks for line in block.decode().removesuffix("\n").split("\n"))
    return map(_encoded, paragraphs(lines, width))


def lines_stand_alone(file: Path, options: TextOptions) -> bool:
    """Return whether a file can be split between any lines: it is plain text that is not wrapped."""
    reader = reader_of(file, options)
    return (
        isinstance(reader, PlainText)
        and not reader.transcoding
        and not wrapped_at(_beginning(next(read_blocks([file], _BEGINNING, "replace"), b"")))
    )


def _beginning(block: bytes) -> str:
    return block[: block.rfind(b"\n", 0, _BEGINNING) + 1].decode()


def _lines(texts: Iterable[str], file: Path, on_wrapped: OnWrapped) -> Iterator[str]:
    """Yield the lines of texts, each of which may be wrapped or not."""
    for text in texts:
        lines = text.splitlines()
        if width := wrapped_at(text[:_BEGINNING]):
            on_wrapped(file, width)
            yield from paragraphs(lines, width)
        else:
            yield from lines


def _encoded(line: str) -> bytes:
    """Return a line in UTF-8, with its end; lone surrogates become U+FFFD."""
    try:
        return f"{line}\n".encode()
    except UnicodeEncodeError:
        return f"{line}\n".encode("utf-8", "surrogatepass").decode(errors="replace").encode()


class Split(NamedTuple):
    """The bytes start..end of a file."""

    file: Path
    start: int = 0
    end: int | None = None  # None: the whole file, which may be compressed


def splits(file: Path, size: int) -> list[Split]:
    """Return the splits of a file, each of `size` bytes and the rest of the last line."""
    bounds = [0]
    with failures_of(file), open(file, "rb") as stream:
        file_size = os.fstat(stream.fileno()).st_size
        if file_size > size and not compression_of(stream.read(HEAD)):
            while bounds[-1] < file_size:
                stream.seek(min(bounds[-1] + size, file_size) - 1)
                while (piece := stream.readline(PIECE)) and not piece.endswith(b"\n"):
                    pass  # the rest of a line
                bounds.append(stream.tell())
    return [Split(file, *each) for each in pairwise(bounds)] if len(bounds) > 2 else [Split(file)]


def read_raw(split: Split) -> Iterator[bytes]:
    """Yield the bytes of a split that has an end, piece by piece.

    Raises:
        CorpusError: the file cannot be read, or has been truncated.
    """
    with failures_of(split.file), open(split.file, "rb") as stream:
        left = (split.end or 0) - stream.seek(split.start)
        while left > 0:
            if not (piece := stream.read(min(PIECE, left))):
                raise CorpusError(f"{split.file} was truncated while being read. Do not modify inputs during a run.")
            left -= len(piece)
            yield piece


def read_split(split: Split, errors: Errors) -> Iterator[bytes]:
    """Yield the lines of a split as `read_blocks` does: those of all splits in order are the lines of the files."""
    if split.end is None:
        return read_blocks([split.file], errors=errors)
    name = str(split.file)
    blocks = valid(whole_lines(read_raw(split), BLOCK, name), name, errors)
    return ended_lines(blocks, begins_file=split.start == 0)
