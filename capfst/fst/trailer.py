"""The trailer after the arcs of cap.fst: parts of the model that OpenFst does not read, and the file's checksum.

In: parts, each with a name, settings (a JSON object) and arrays. Out: bytes after the FST; and, from a mapped file, the
parts with their arrays as views. Order in the file, all integers little-endian:

    arrays       of all parts, each at the next multiple of 64, a cache line (in older files of 16)
    contents     JSON: {part: {"settings": …, "arrays": {name: [offset, bytes]}}}
    footer       FOOTER: magic number, offset of the contents, their bytes, CRC-32 of all bytes of the file before it

The reader of a part must check its settings and the sizes of its arrays: here only their range is checked.
"""

from __future__ import annotations

import json
import mmap
import struct
import zlib
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from capfst.exceptions import quantity
from capfst.fst.symbols import DamagedModelError
from capfst.kernels.types import U8Array

FOOTER = struct.Struct("<8sQII")
MAGIC = b"capfst\0\1"
ALIGNMENT, _LINE = 16, 64
_CRC = 4  # bytes, at the end of the file


class Part(NamedTuple):
    """A part of a model: an entry of the trailer."""

    settings: dict[str, Any]
    arrays: dict[str, U8Array]  # each [bytes]


class Trailer(NamedTuple):
    """Everything after the arcs."""

    parts: dict[str, Part]
    checksum: int  # CRC-32 of the file except its last four bytes


def padding(offset: int) -> int:
    """Return the number of bytes from an offset to the next multiple of 16."""
    return -offset % ALIGNMENT


def append(file: BinaryIO, parts: Mapping[str, Part]) -> None:
    """Append parts to the file, and the checksum of the whole file."""
    offset = file.seek(0, 2)
    contents: dict[str, Any] = {}
    for name, part in parts.items():
        positions = {}
        for array_name, array in part.arrays.items():
            offset += file.write(bytes(-offset % _LINE))
            positions[array_name] = [offset, len(array)]
            offset += file.write(array.data)
        contents[name] = {"settings": part.settings, "arrays": positions}
    text = json.dumps(contents).encode()
    file.write(text + FOOTER.pack(MAGIC, offset, len(text), 0)[:-_CRC])
    file.flush()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        checksum = zlib.crc32(mapped)
    file.write(struct.pack("<I", checksum))


def read(mapped: mmap.mmap, end: int, is_required: bool) -> Trailer | None:
    """Return the trailer of a file whose arcs end at `end`; None if the file ends there, and no trailer is required.
    Its checksum is left to `verify`.

    Raises:
        DamagedModelError: there is no trailer after the arcs.
    """
    size = len(mapped)
    if size == end and not is_required:
        return None
    if size < end + FOOTER.size:
        raise DamagedModelError(f"it has {quantity(size, 'byte')}, but its header requires {end:,} and a trailer")
    magic, offset, length, checksum = FOOTER.unpack_from(mapped, size - FOOTER.size)
    if magic != MAGIC or offset < end or offset + length != size - FOOTER.size:
        raise DamagedModelError("the data after its arcs is not a capfst trailer")
    try:
        contents = json.loads(mapped[offset : offset + length])
        parts = {name: _part(mapped, entry, end, offset) for name, entry in contents.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedModelError("the table of contents of its trailer is invalid") from error
    return Trailer(parts, checksum)


def _part(mapped: mmap.mmap, entry: dict[str, Any], begin: int, end: int) -> Part:
    arrays = {}
    for name, (offset, length) in entry["arrays"].items():
        if not (type(offset) is type(length) is int and begin <= offset <= offset + length <= end) or padding(offset):
            raise ValueError(f"the array {name} is not inside the trailer")
        arrays[name] = np.frombuffer(mapped, np.uint8, length, offset)
    return Part(dict(entry["settings"]), arrays)


def verify(mapped: mmap.mmap, trailer: Trailer | None) -> None:
    """Raise DamagedModelError if the checksum of a file with a trailer is wrong."""
    if trailer and zlib.crc32(memoryview(mapped)[:-_CRC]) != trailer.checksum:
        raise DamagedModelError("checksum mismatch")
