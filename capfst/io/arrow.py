"""Recase a column of text in Arrow's layout.

Input: an array of strings; each row has any number of lines. Output: an array of the same type and length, each row in
its best casing, with nulls where there were nulls. Needs pyarrow; modules that import this one report its absence.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pyarrow as pa

from capfst.exceptions import CorpusError


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
    rows = as_binary(array).to_pylist()
    recased = iter(recase_rows(recase, [row for row in rows if row is not None]))
    return from_rows([None if row is None else next(recased) for row in rows], array.type)


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
