"""Split a text file into ranges of whole lines, for parallel tasks.

Input: a file. Output: splits of about the same size, in order, each of which a process can read independently. A
compressed file is one split, because it can only be read from its start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from capfst.exceptions import CorpusError
from capfst.io.blocks import BLOCK, PIECE, ended_lines, read_blocks, valid, whole_lines
from capfst.io.compression import HEAD, compression_of
from capfst.io.files import failures_of
from capfst.options import Errors


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


def read(split: Split, errors: Errors) -> Iterator[bytes]:
    """Yield the lines of a split, as `read_blocks`: those of all splits in order are the lines of the files.

    Raises:
        CorpusError: as `read_blocks`.
    """
    if split.end is None:
        return read_blocks([split.file], errors=errors)
    name = str(split.file)
    blocks = valid(whole_lines(read_raw(split), BLOCK, name), name, errors)
    return ended_lines(blocks, begins_file=split.start == 0)
