"""Compression as the input has it: the same bytes for the same text, whenever and with however many threads."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from capfst.corpus import GZIP, ZSTD

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3  # both programs' own


@contextmanager
def compressing_like(source: Path, file: BinaryIO) -> Iterator[Callable[[bytes | memoryview], object]]:
    """A function that writes to `file`, one gzip member or zstd frame in all if `source` is such a file."""
    with open(source, "rb") as stream:
        head = stream.read(4)
    if head.startswith(GZIP):
        # zlib's own header: no name, no time
        compressor: Any = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    elif head.startswith(ZSTD):
        # With a thread of its own, beside the one that writes; its output differs from that without any.
        compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, threads=1, write_checksum=True).compressobj()
    else:
        yield file.write
        return
    yield lambda data: file.write(compressor.compress(data))
    file.write(compressor.flush())
