"""Compressed files: gzip, zstd, bzip2 and xz, also of several members, frames or streams.

Reading: `decompressed` opens a file, whose first bytes identify its compression, as a stream of decompressed bytes;
only a small part of them is in memory at a time, whatever the compression ratio. Writing: `compressing` opens a
function that compresses as the suffix of the output's name (`compression_of_name`) or the first bytes of another file
(`compression_of`) require.

xopen and smart_open read bzip2 and xz with the standard library's readers, which do not report every damaged stream
(`_Streams`), and do not pass on the compressed bytes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from capfst.exceptions import CorpusError, OptionError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

OnRead = Callable[[bytes], object]
"""A function that is called with all bytes of a file, piece by piece, as the file is read, before decompression."""

_LONG_WINDOW = 31  # that of `zstd --long=31`, which is common for large corpora
_LEVELS = {"gzip": 6, "zstd": 3, "bzip2": 9, "xz": 6}  # the programs' defaults
_PIECE = 1 << 17  # bytes read at once
HEAD = 10  # bytes that identify a file's compression


class DamagedFileError(Exception):
    """Compressed data that violates its format."""


DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError, DamagedFileError)
"""The exceptions that reading damaged or truncated compressed data raises."""


class _Streams(io.RawIOBase):
    """The decompressed bytes of one or more concatenated streams. (The readers of `bz2` and `lzma` mistake a damaged
    stream after the first one for the end of the file.)"""

    def __init__(self, file: BinaryIO, decompressor: Callable[[], Any]) -> None:
        self._file, self._new = file, decompressor
        self._decompressor = decompressor()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            more = b""
            if self._decompressor.eof:
                more = self._decompressor.unused_data.lstrip(b"\0")  # padding
                while not more and (piece := self._file.read(_PIECE)):
                    more = piece.lstrip(b"\0")
                if not more:
                    return 0
                self._decompressor = self._new()
            elif self._decompressor.needs_input and not (more := self._file.read(_PIECE)):
                raise EOFError
            try:
                data = self._decompressor.decompress(more, len(buffer))
            except (OSError, lzma.LZMAError) as error:
                raise DamagedFileError(str(error)) from error
        buffer[: len(data)] = data
        return len(data)


def _gzip_compressor() -> Any:
    return zlib.compressobj(_LEVELS["gzip"], zlib.DEFLATED, zlib.MAX_WBITS | 16)  # zlib's header, without name and time


def _zstd_compressor() -> Any:
    # One worker thread, apart from the one that writes; its output differs from that without workers.
    parameter = zstd.CompressionParameter
    options: dict[int, int] = {
        parameter.compression_level: _LEVELS["zstd"],
        parameter.nb_workers: 1,
        parameter.checksum_flag: 1,
    }
    return zstd.ZstdCompressor(options=options)


class Compression(NamedTuple):
    """A way to compress files."""

    program: str  # decompresses the files
    suffix: str  # of the files' names
    starts: tuple[bytes, ...]  # first bytes of the files
    decompressing: Callable[[Any], Any]  # file → stream of its decompressed bytes
    compressor: Callable[[], Any]  # returns an object with `compress` and `flush`


COMPRESSIONS = (
    Compression("gzip", ".gz", (b"\x1f\x8b",), lambda file: gzip.GzipFile(fileobj=file), _gzip_compressor),
    Compression(
        "zstd",
        ".zst",
        (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))),  # RFC 8878 §3.1
        lambda file: zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _LONG_WINDOW}),
        _zstd_compressor,
    ),
    Compression(
        "bzip2",
        ".bz2",
        # Level, and the mark of a block, or of the end if there are no blocks.
        tuple(b"BZh%d%s" % (level, mark) for level in range(1, 10) for mark in (b"1AY&SY", b"\x17rE8P\x90")),
        lambda file: io.BufferedReader(_Streams(file, bz2.BZ2Decompressor), _PIECE),
        lambda: bz2.BZ2Compressor(_LEVELS["bzip2"]),
    ),
    Compression(
        "xz",
        ".xz",
        (b"\xfd7zXZ\0",),
        lambda file: io.BufferedReader(_Streams(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)), _PIECE),
        lambda: lzma.LZMACompressor(lzma.FORMAT_XZ, preset=_LEVELS["xz"]),
    ),
)
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
    try:
        with open(path, "rb") as file:
            source = _Source(file, on_read)
            stream: Any = io.BufferedReader(source, _PIECE)
            compression = compression_of(source.head)
            try:
                yield stream if compression is None else compression.decompressing(stream)
            finally:
                size = source.size
    except EOFError as error:
        raise CorpusError(
            f"{path}: compressed data ends early, at byte {size}. Download or compress the file again."
        ) from error
    except DAMAGED as error:
        raise CorpusError(
            f"{path}: damaged compressed data before byte {size} ({error}). Download or compress the file again."
        ) from error
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot read: {error.strerror or error}. Check the path and its permissions."
        ) from error


@contextmanager
def compressing(compression: Compression | None, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
    """Open a function that writes to `file`, compressed as a single gzip member, zstd frame or stream, or uncompressed.

    The same text always becomes the same bytes, whatever the pieces and the number of threads.
    """
    if compression is None:
        yield file.write
        return
    compressor = compression.compressor()
    yield lambda data: file.write(compressor.compress(data))
    file.write(compressor.flush())
