"""Recase a column of text in Arrow's layout, without a Python object for each row.

Input: an array of strings; each row has any number of lines. Output: an array of the same type and length, each row in
its best casing, with nulls where there were nulls. Needs pyarrow; modules that import this one report its absence.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from capfst.exceptions import CapfstError, CorpusError

_NEWLINE = 10


class NotUtf8Error(CorpusError):
    """A column of text that is not UTF-8."""


def recase_array(recase: Callable[[bytes], memoryview], array: pa.Array) -> pa.Array:
    """Return a `string` or `large_string` array with its rows in the casing of `recase`, which is called at most once.

    Raises:
        NotUtf8Error: a row is not UTF-8.
    """
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise NotUtf8Error(f"a column of text is not UTF-8 ({error}). Convert the text before recasing it.") from error
    rows = array.fill_null("")
    width = np.int64 if pa.types.is_large_string(rows.type) else np.int32
    _, offsets, data = rows.buffers()
    if not len(rows) or data is None:
        return array
    bounds = np.frombuffer(offsets, width)[rows.offset : rows.offset + len(rows) + 1]
    ends = bounds[1:].astype(np.int64) - bounds[0]
    # Each row gets a line end, which its number identifies after recasing: that may change the length of the text, but
    # not the number of lines.
    text = np.insert(np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]], ends, _NEWLINE)
    lines = np.searchsorted(np.flatnonzero(text == _NEWLINE), ends + np.arange(len(ends)))
    recased = np.frombuffer(recase(text.tobytes()), np.uint8)
    ends = np.flatnonzero(recased == _NEWLINE)[lines]
    bounds = np.concatenate(([0], ends - np.arange(len(ends))))
    if bounds[-1] > np.iinfo(width).max:
        raise CapfstError("a batch of rows has more than 2 GB of text. Use smaller batches.")
    buffers = [None, pa.py_buffer(bounds.astype(width)), pa.py_buffer(np.delete(recased, ends))]
    result = pa.Array.from_buffers(rows.type, len(rows), buffers)
    return pc.if_else(array.is_valid(), result, None) if array.null_count else result


def recase_rows(recase: Callable[[bytes], memoryview], rows: list[bytes]) -> list[bytes]:
    """Return texts of any number of lines in the casing of `recase`, which is called at most once."""
    if not rows:
        return []
    lines = iter(bytes(recase(b"\n".join([*rows, b""]))).split(b"\n"))
    return [next(lines) if b"\n" not in row else b"\n".join(islice(lines, row.count(b"\n") + 1)) for row in rows]


def as_binary(values: pa.Array) -> pa.Array:
    """Return an array of strings as one of bytes."""
    return values.view(pa.large_binary() if pa.types.is_large_string(values.type) else pa.binary())


def from_rows(rows: list[bytes | None], type: pa.DataType) -> pa.Array:
    """Return an array of strings of this type, with these bytes, which may not be UTF-8."""
    return pa.array(rows, pa.large_binary() if pa.types.is_large_string(type) else pa.binary()).view(type)
