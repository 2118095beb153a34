"""Compressed files: gzip, zstd, bzip2 and xz, also of several members, frames or streams.

Reading: `decompressed` opens a file, whose first bytes identify its compression, as a stream of decompressed bytes;
only a small part of them is in memory at a time, whatever the compression ratio. Writing: `compressing` opens a
function that compresses as the suffix of the output's name (`compression_of_name`) or the first bytes of another file
(`compression_of`) require.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from capfst.exceptions import CorpusError, OptionError, with_remedy
from capfst.forks import loading

OnRead = Callable[[bytes], object]
"""A function that is called with all bytes of a file, piece by piece, as the file is read, before decompression."""

_PIECE = 1 << 17  # bytes read at once
HEAD = 10  # bytes that identify a file's compression


class Compression(NamedTuple):
    """A way to compress files."""

    program: str  # decompresses the files
    suffix: str  # of the files' names
    starts: tuple[bytes, ...]  # first bytes of the files


def _codecs() -> Any:
    """Import the libraries of compression, which few files need."""
    with loading():
        from capfst.io import codecs  # noqa: PLC0415
    return codecs


COMPRESSIONS = (
    Compression("gzip", ".gz", (b"\x1f\x8b",)),
    Compression(  # RFC 8878 §3.1
        "zstd", ".zst", (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))
    ),
    # Level, and the mark of a block, or of the end if there are no blocks.
    Compression(
        "bzip2", ".bz2",
        tuple(b"BZh%d%s" % (level, mark) for level in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90")),
    ),
    Compression("xz", ".xz", (b"\xfd7zXZ\0",)),
)  # fmt: skip
SUFFIXES = tuple(compression.suffix for compression in COMPRESSIONS)
_UNSUPPORTED = (".7z", ".lz4", ".lzma", ".rar", ".zip")


def compression_of(head: bytes) -> Compression | None:
    """Return the compression of a file with these first bytes, at least `HEAD` of them; None if it is not
    compressed."""
    return next((compression for compression in COMPRESSIONS if head.startswith(compression.starts)), None)


def compression_of_name(path: Path) -> Compression | None:
    """Return the compression for a file of this name; None if it is written uncompressed.

    Raises:
        OptionError: the suffix is that of an unsupported compression.
    """
    suffix = path.suffix.lower()
    if suffix in _UNSUPPORTED:
        raise OptionError(
            f"{path}: cannot write {suffix} files. Choose a name that ends in {', '.join(SUFFIXES[:-1])} or"
            f" {SUFFIXES[-1]}."
        )
    return next((compression for compression in COMPRESSIONS if compression.suffix == suffix), None)


class _Source(io.RawIOBase):
    """A file whose first bytes have been read; `on_read` is called with the bytes that are read."""

    def __init__(self, file: BinaryIO, on_read: OnRead | None) -> None:
        self.head = self._unread = file.read(HEAD)
        self.size = 0  # bytes read
        self._file, self._on_read = file, on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._unread or self._file.read(len(buffer))
        self._unread = b""
        buffer[: len(data)] = data
        self.size += len(data)
        if data and self._on_read is not None:
            self._on_read(data)
        return len(data)


@contextmanager
def decompressed(path: Path, on_read: OnRead | None = None) -> Iterator[BinaryIO]:
    """Open a file as a stream of its decompressed bytes. `on_read` is called with all bytes of the file itself, in
    order.

    Raises:
        CorpusError: the file cannot be read, is damaged or truncated; also while it is being read.
    """
    size = 0
    damaged: tuple[type[Exception], ...] = ()
    try:
        with open(path, "rb") as file:
            source = _Source(file, on_read)
            stream: Any = io.BufferedReader(source, _PIECE)
            try:
                if compression := compression_of(source.head):
                    codecs = _codecs()
                    stream, damaged = codecs.DECOMPRESSING[compression.program](stream), codecs.DAMAGED
                yield stream
            finally:
                size = source.size
    except EOFError as error:
        raise CorpusError(
            f"{path}: compressed data ends early, at byte {size}. Download or compress the file again."
        ) from error
    except damaged as error:
        raise CorpusError(
            f"{path}: damaged compressed data before byte {size} ({error}). Download or compress the file again."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path}: cannot read: {with_remedy(error)}") from error


@contextmanager
def compressing(compression: Compression | None, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
    """Open a function that writes to `file`, compressed as a single gzip member, zstd frame or stream, or uncompressed.

    The same text always becomes the same bytes, whatever the pieces and the number of threads.
    """
    if compression is None:
        yield file.write
        return
    compressor = _codecs().COMPRESSORS[compression.program]()
    yield lambda data: file.write(compressor.compress(data))
    file.write(compressor.flush())
