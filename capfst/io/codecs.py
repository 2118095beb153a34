"""The libraries that decompress and compress (compression.py), which a start need not wait for.

In: the name of a program, as in `Compression`. Out: what reads and writes its files.

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
from collections.abc import Callable
from typing import Any, BinaryIO

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LONG_WINDOW = 31  # that of `zstd --long=31`, which is common for large corpora
_LEVELS = {"gzip": 6, "zstd": 3, "bzip2": 9, "xz": 6}  # the programs' defaults
_PIECE = 1 << 17  # bytes read at once


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


def _zstd_compressor() -> Any:
    # One worker thread, apart from the one that writes; its output differs from that without workers.
    parameter = zstd.CompressionParameter
    options: dict[int, int] = {
        parameter.compression_level: _LEVELS["zstd"],
        parameter.nb_workers: 1,
        parameter.checksum_flag: 1,
    }
    return zstd.ZstdCompressor(options=options)


DECOMPRESSING: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "zstd": lambda file: zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _LONG_WINDOW}),
    "bzip2": lambda file: io.BufferedReader(_Streams(file, bz2.BZ2Decompressor), _PIECE),
    "xz": lambda file: io.BufferedReader(_Streams(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ)), _PIECE),
}
"""By program: file → stream of its decompressed bytes."""
COMPRESSORS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.compressobj(_LEVELS["gzip"], zlib.DEFLATED, zlib.MAX_WBITS | 16),  # without name and time
    "zstd": _zstd_compressor,
    "bzip2": lambda: bz2.BZ2Compressor(_LEVELS["bzip2"]),
    "xz": lambda: lzma.LZMACompressor(lzma.FORMAT_XZ, preset=_LEVELS["xz"]),
}
"""By program: returns an object with `compress` and `flush`."""
