"""Text files in parts of whole lines, for tasks that work side by side.

In: files. Out: parts of about the same size, in order, each of which any process reads by itself. A compressed file is
one part, since it can only be read from its start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

from capfst.exceptions import CapfstError
from capfst.io.blocks import PIECE, UTF8_MARK, Errors, read_blocks, read_stream
from capfst.io.compression import HEAD, compression_of


class Part(NamedTuple):
    """The bytes start..end of a file; end is None: the whole file, which may be compressed."""

    file: Path
    start: int = 0
    end: int | None = None


def splits(files: Iterable[Path], size: int) -> list[Part]:
    """The parts of the files, of `size` bytes or as many as it takes to the end of a line."""
    return [part for file in files for part in _parts(file, size)]


def _parts(file: Path, size: int) -> list[Part]:
    bounds = [0]
    try:
        with open(file, "rb") as stream:
            file_size = stream.seek(0, 2)
            stream.seek(0)
            if file_size > size and not compression_of(stream.read(HEAD)):
                while bounds[-1] < file_size:
                    bounds.append(_line_end(stream, bounds[-1] + size, file_size))
    except OSError as error:
        raise CapfstError(f"{file}: {error.strerror or error}: name files that can be read") from error
    if len(bounds) <= 2:
        return [Part(file)]
    return [Part(file, start, end) for start, end in pairwise(bounds)]


def _line_end(stream: BinaryIO, offset: int, size: int) -> int:
    """The end of the line that holds the byte before an offset, in a file of this size."""
    offset = min(offset, size) - 1
    stream.seek(offset)
    while piece := stream.read(PIECE):
        newline = piece.find(b"\n")
        if newline >= 0:
            return offset + newline + 1
        offset += len(piece)
    return size


class _Range:
    """Bytes of a file as a stream of their own."""

    def __init__(self, stream: BinaryIO, part: Part) -> None:
        stream.seek(part.start)
        self.stream = stream
        self.left = (part.end or 0) - part.start

    def read(self, size: int) -> bytes:
        data = self.stream.read(min(size, self.left))
        self.left -= len(data)
        return data


def read_raw(part: Part, size: int) -> Iterator[bytes]:
    """The very bytes of a part that has an end, in blocks of whole lines, of `size` bytes or a line more."""
    try:
        with open(part.file, "rb") as stream:
            left = (part.end or 0) - stream.seek(part.start)
            while left > 0:
                block = stream.read(min(size, left))
                if block and len(block) < left and not block.endswith(b"\n"):
                    block += stream.readline()
                if not block:
                    raise CapfstError(f"{part.file}: it has become shorter: let it be while it is read")
                left -= len(block)
                yield block
    except OSError as error:
        raise CapfstError(f"{part.file}: {error.strerror or error}: name files that can be read") from error


def read(part: Part, errors: Errors) -> Iterator[bytes]:
    """The lines of a part, as `read_blocks` has them; of all parts in order, those of the files."""
    if part.end is None:
        yield from read_blocks([part.file], errors=errors)
        return
    try:
        with open(part.file, "rb") as stream:
            source: BinaryIO = _Range(stream, part)  # type: ignore[assignment]
            for number, block in enumerate(read_stream(source, str(part.file), errors=errors)):
                if number == 0 and part.start == 0:
                    block = block.removeprefix(UTF8_MARK)
                yield block if block.endswith(b"\n") or not block else block + b"\n"
    except OSError as error:
        raise CapfstError(f"{part.file}: {error.strerror or error}: name files that can be read") from error
