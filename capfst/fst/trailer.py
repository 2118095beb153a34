"""What stands behind the arcs of cap.fst: the parts of a model that OpenFst does not know, and the file's checksum.

In: parts, each with a name, settings (anything that JSON holds) and arrays. Out: bytes behind an FST, which OpenFst
does not read; and the parts again, mapped where they lie. Order in the file, all integers little-endian:

    arrays       of all parts, each from the next multiple of 64 on (of 16 in older files): of a line of the cache
    contents     JSON: {part: {"settings": …, "arrays": {name: [offset, bytes]}}}
    footer       FOOTER: magic number, offset of the contents, their bytes, CRC-32 of all bytes of the file before it

Who reads a part must check its settings and the sizes of its arrays: only that they lie in the file is certain here.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.fst.symbols import DamagedError

FOOTER = struct.Struct("<8sQII")
MAGIC = b"capfst\0\1"
ALIGNMENT, _LINE = 16, 64
_CRC = 4  # bytes, the last of the file


class Part(NamedTuple):
    """A part of a model behind its arcs."""

    settings: dict[str, Any]
    arrays: dict[str, npt.NDArray[np.uint8]]  # each [bytes]


class Trailer(NamedTuple):
    """All that stands behind the arcs."""

    parts: dict[str, Part]
    checksum: int  # CRC-32 of the file but for its last four bytes


def padding(offset: int) -> int:
    """The bytes between an offset and the next multiple of 16."""
    return -offset % ALIGNMENT


def append(file: BinaryIO, parts: Mapping[str, Part]) -> None:
    """Writes parts behind what is in the file, and the checksum of it all."""
    offset = file.seek(0, 2)
    contents: dict[str, Any] = {}
    for name, part in parts.items():
        places = {}
        for array_name, array in part.arrays.items():
            offset += file.write(bytes(-offset % _LINE))
            places[array_name] = [offset, len(array)]
            offset += file.write(array.data)
        contents[name] = {"settings": part.settings, "arrays": places}
    text = json.dumps(contents).encode()
    file.write(text + FOOTER.pack(MAGIC, offset, len(text), 0)[:-_CRC])
    file.flush()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        checksum = zlib.crc32(mapped)
    file.write(struct.pack("<I", checksum))


def read(mapped: mmap.mmap, end: int) -> Trailer | None:
    """The trailer of a file whose arcs end at `end`; None if nothing stands behind them.

    DamagedError if something else stands there. The checksum is not verified, see `verify`.
    """
    size = len(mapped)
    if size == end:
        return None
    if size < end + FOOTER.size:
        raise DamagedError(f"it has {size} bytes, but its header tells of {end} and a trailer")
    magic, offset, length, checksum = FOOTER.unpack_from(mapped, size - FOOTER.size)
    if magic != MAGIC or offset < end or offset + length != size - FOOTER.size:
        raise DamagedError("what stands behind its arcs is no trailer of a model")
    try:
        contents = json.loads(mapped[offset : offset + length])
        parts = {name: _part(mapped, entry, end, offset) for name, entry in contents.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedError("the contents of its trailer cannot be read") from error
    return Trailer(parts, checksum)


def _part(mapped: mmap.mmap, entry: dict[str, Any], begin: int, end: int) -> Part:
    arrays = {}
    for name, (offset, length) in entry["arrays"].items():
        if not (type(offset) is type(length) is int and begin <= offset <= offset + length <= end) or padding(offset):
            raise ValueError(f"the array {name} does not lie in the trailer")
        arrays[name] = np.frombuffer(mapped, np.uint8, length, offset)
    return Part(dict(entry["settings"]), arrays)


def verify(mapped: mmap.mmap, trailer: Trailer | None) -> None:
    """DamagedError if the file has a trailer, and a byte of the file has changed since it was written."""
    if trailer and zlib.crc32(memoryview(mapped)[:-_CRC]) != trailer.checksum:
        raise DamagedError("its checksum is not that of its bytes")
