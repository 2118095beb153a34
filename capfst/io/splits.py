"""Split a text file into ranges of whole lines, for parallel tasks.

Input: a file. Output: splits of about the same size, in order, each of which a process can read independently. A
compressed file is one split, because it can only be read from its start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from capfst.exceptions import CorpusError
from capfst.io.blocks import PIECE, ended_lines, read_blocks, valid
from capfst.io.compression import HEAD, compression_of
from capfst.io.files import failure_of
from capfst.options import Errors


class Split(NamedTuple):
    """The bytes start..end of a file."""

    file: Path
    start: int = 0
    end: int | None = None  # None: the whole file, which may be compressed


@contextmanager
def _failures(file: Path) -> Iterator[None]:
    """Report operating system errors as errors of the file."""
    try:
        yield
    except OSError as error:
        raise failure_of(file, error) from error


def splits(file: Path, size: int) -> list[Split]:
    """Return the splits of a file, each of `size` bytes and the rest of the last line."""
    bounds = [0]
    with _failures(file), open(file, "rb") as stream:
        file_size = os.fstat(stream.fileno()).st_size
        if file_size > size and not compression_of(stream.read(HEAD)):
            while bounds[-1] < file_size:
                stream.seek(min(bounds[-1] + size, file_size) - 1)
                while (piece := stream.readline(PIECE)) and not piece.endswith(b"\n"):
                    pass  # the rest of a line
                bounds.append(stream.tell())
    return [Split(file, *each) for each in pairwise(bounds)] if len(bounds) > 2 else [Split(file)]


def read_raw(split: Split, size: int) -> Iterator[bytes]:
    """Yield the bytes of a split that has an end, in blocks of whole lines of at least `size` bytes, except the last.

    Raises:
        CorpusError: the file cannot be read, or has been truncated.
    """
    with _failures(split.file), open(split.file, "rb") as stream:
        left = (split.end or 0) - stream.seek(split.start)
        while left > 0:
            block = stream.read(min(size, left))
            if block and len(block) < left and not block.endswith(b"\n"):
                block += stream.readline()
            if not block:
                raise CorpusError(f"{split.file} was truncated while being read. Do not modify inputs during a run.")
            left -= len(block)
            yield block


def read(split: Split, errors: Errors) -> Iterator[bytes]:
    """Yield the lines of a split, as `read_blocks`: those of all splits in order are the lines of the files.

    Raises:
        CorpusError: as `read_blocks`.
    """
    if split.end is None:
        yield from read_blocks([split.file], errors=errors)
        return
    blocks = valid(read_raw(split, PIECE), str(split.file), errors)
    yield from ended_lines(blocks, begins_file=split.start == 0)
