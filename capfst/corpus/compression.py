"""Compressed files: gzip (also of several members) and zstd (also of several frames), told apart by their first bytes.

In: a file, plain or compressed. Out: its decompressed bytes as a stream, which never holds more than a small part of
them, however well they were compressed; or a function that compresses, as a file or as its name says.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from backports import zstd

from capfst.exceptions import CapfstError

OnRead = Callable[[bytes], object]
"""Is called with every byte of a file, piece by piece in their order, as the file is read, before decompression."""

GZIP = b"\x1f\x8b"
ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))  # RFC 8878 §3.1
_OTHERS = (".7z", ".bz2", ".lz4", ".lzma", ".rar", ".xz", ".zip")
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, zstd.ZstdError)
"""What reading damaged or truncated compressed data raises."""

_LONG_WINDOW = 31  # as written by `zstd --long=31`, which large corpora like to use
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3  # both programs' own


class _Source(io.RawIOBase):
    """A file whose first bytes are known; `on_read` is given what is read."""

    def __init__(self, file: BinaryIO, on_read: OnRead | None) -> None:
        self.head = self._unread = file.read(4)
        self._file, self._on_read = file, on_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._unread or self._file.read(len(buffer))
        self._unread = b""
        buffer[: len(data)] = data
        if data and self._on_read is not None:
            self._on_read(data)
        return len(data)


@contextmanager
def decompressed(path: Path, on_read: OnRead | None = None) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, as a stream. `on_read` is given every byte of the file itself, in order.

    Raises:
        CapfstError: a file that cannot be read, is damaged or cut off, also while it is being read.
    """
    try:
        with open(path, "rb") as file:
            source = _Source(file, on_read)
            stream: Any = io.BufferedReader(source, 1 << 17)
            if source.head.startswith(GZIP):
                stream = gzip.GzipFile(fileobj=stream)
            elif source.head.startswith(ZSTD):
                stream = zstd.ZstdFile(stream, options={zstd.DecompressionParameter.window_log_max: _LONG_WINDOW})
            yield stream
    except EOFError as error:
        raise CapfstError(f"{path}: the compressed data is cut off; fetch or compress the file again") from error
    except DAMAGED as error:
        raise CapfstError(f"{path}: damaged compressed data ({error}); fetch or compress it again") from error
    except OSError as error:
        raise CapfstError(f"{path}: {error.strerror or error}; name files that can be read") from error


def compression_of_name(path: Path) -> bytes:
    """How a file of this name is to be compressed: GZIP, ZSTD[0], or nothing for not at all.

    Raises:
        CapfstError: the name says that it is compressed in a way that is not written here.
    """
    suffix = path.suffix.lower()
    if suffix in _OTHERS:
        raise CapfstError(f"{path}: {suffix} files are not written: choose a name that ends with .gz or .zst")
    return {".gz": GZIP, ".zst": ZSTD[0]}.get(suffix, b"")


@contextmanager
def compressing(compression: bytes, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
    """A function that writes to `file`, one gzip member or zstd frame in all, or as it is, by the first bytes that the
    file is to have.

    The same text gives the same bytes, whenever and with however many threads.
    """
    if compression.startswith(GZIP):
        # zlib's own header: no name, no time
        compressor: Any = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    elif compression.startswith(ZSTD):
        # With a thread of its own, beside the one that writes; its output differs from that without any.
        parameter = zstd.CompressionParameter
        options: dict[int, int] = {
            parameter.compression_level: _ZSTD_LEVEL,
            parameter.nb_workers: 1,
            parameter.checksum_flag: 1,
        }
        compressor = zstd.ZstdCompressor(options=options)
    else:
        yield file.write
        return
    yield lambda data: file.write(compressor.compress(data))
    file.write(compressor.flush())


@contextmanager
def compressing_like(source: Path, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
    """As `compressing`, as the file `source` is compressed."""
    with open(source, "rb") as stream:
        head = stream.read(4)
    with compressing(head, file) as write:
        yield write
