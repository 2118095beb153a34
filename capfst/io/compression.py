"""Compressed files: gzip, zstd, bzip2 and xz, also of several members, frames or streams, told apart by their first
bytes.

In: a file, plain or compressed. Out: its decompressed bytes as a stream, which never holds more than a small part of
them, however well they were compressed; or a function that compresses, as a file or as its name says.
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

from capfst.exceptions import CapfstError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

OnRead = Callable[[bytes], object]
"""Is called with every byte of a file, piece by piece in their order, as the file is read, before decompression."""

_LONG_WINDOW = 31  # as written by `zstd --long=31`, which large corpora like to use
_LEVELS = {"gzip": 6, "zstd": 3, "bzip2": 9, "xz": 6}  # the programs' own
_PIECE = 1 << 17  # bytes read at once
HEAD = 10  # bytes that tell a file's compression


class DamagedError(Exception):
    """Compressed data that is not as its format has it."""


DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError, DamagedError)
"""What reading damaged or truncated compressed data raises."""


class _Streams(io.RawIOBase):
    """The decompressed bytes of one or more streams, each behind the other. (The readers of `bz2` and `lzma` take a
    damaged stream behind the first one for the end of the file.)"""

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
                raise DamagedError(str(error)) from error
        buffer[: len(data)] = data
        return len(data)


def _gzip_compressor() -> Any:
    return zlib.compressobj(_LEVELS["gzip"], zlib.DEFLATED, zlib.MAX_WBITS | 16)  # zlib's own header: no name, no time


def _zstd_compressor() -> Any:
    # With a thread of its own, beside the one that writes; its output differs from that without any.
    parameter = zstd.CompressionParameter
    options: dict[int, int] = {
        parameter.compression_level: _LEVELS["zstd"],
        parameter.nb_workers: 1,
        parameter.checksum_flag: 1,
    }
    return zstd.ZstdCompressor(options=options)


class Compression(NamedTuple):
    """A way to compress files."""

    program: str  # that decompresses them
    suffix: str  # of their names
    starts: tuple[bytes, ...]  # their first bytes
    decompressing: Callable[[Any], Any]  # a file → the stream of its decompressed bytes
    compressor: Callable[[], Any]  # makes an object with `compress` and `flush`


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
        # Level, and the mark of a block, or of the end if there is none.
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
_OTHERS = (".7z", ".lz4", ".lzma", ".rar", ".zip")


def compression_of(head: bytes) -> Compression | None:
    """How a file is compressed that begins with these bytes, `HEAD` of them or more; None: not at all."""
    return next((compression for compression in COMPRESSIONS if head.startswith(compression.starts)), None)


def compression_of_name(path: Path) -> Compression | None:
    """How a file of this name is to be compressed; None: not at all.

    Raises:
        CapfstError: the name says that it is compressed in a way that is not written here.
    """
    suffix = path.suffix.lower()
    if suffix in _OTHERS:
        raise CapfstError(
            f"{path}: {suffix} files are not written: choose a name that ends with {', '.join(SUFFIXES[:-1])} or"
            f" {SUFFIXES[-1]}"
        )
    return next((compression for compression in COMPRESSIONS if compression.suffix == suffix), None)


class _Source(io.RawIOBase):
    """A file whose first bytes are known; `on_read` is given what is read."""

    def __init__(self, file: BinaryIO, on_read: OnRead | None) -> None:
        self.head = self._unread = file.read(HEAD)
        self.size = 0  # bytes that have been read from it
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
    """The decompressed bytes of a file, as a stream. `on_read` is given every byte of the file itself, in order.

    Raises:
        CapfstError: a file that cannot be read, is damaged or cut off, also while it is being read.
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
        raise CapfstError(
            f"{path}: the compressed data is cut off behind byte {size}; fetch or compress the file again"
        ) from error
    except DAMAGED as error:
        raise CapfstError(
            f"{path}: damaged compressed data before byte {size} ({error}); fetch or compress it again"
        ) from error
    except OSError as error:
        raise CapfstError(f"{path}: {error.strerror or error}; name files that can be read") from error


@contextmanager
def compressing(compression: Compression | None, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
    """A function that writes to `file`, compressed as one gzip member, zstd frame or stream in all, or as it is.

    The same text gives the same bytes, whenever and with however many threads.
    """
    if compression is None:
        yield file.write
        return
    compressor = compression.compressor()
    yield lambda data: file.write(compressor.compress(data))
    file.write(compressor.flush())


@contextmanager
def compressing_like(source: Path, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
    """As `compressing`, as the file `source` is compressed."""
    with open(source, "rb") as stream:
        head = stream.read(HEAD)
    with compressing(compression_of(head), file) as write:
        yield write
