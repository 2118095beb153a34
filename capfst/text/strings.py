"""Many strings in two arrays, which kernels take as one argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from capfst.kernels import inner
from capfst.kernels.types import I64Array, U8Array, i64


class Strings(NamedTuple):
    """Strings end to end: string k of n is data[offsets[k] : offsets[k + 1]]."""

    data: U8Array  # uint8[bytes], UTF-8
    offsets: I64Array  # [n + 1], rising from 0

    @classmethod
    def of(cls, strings: Iterable[bytes]) -> Strings:
        """Concatenate the strings."""
        parts = list(strings)
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        return cls(
            np.frombuffer(b"".join(parts), np.uint8), np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        )

    def utf8(self, k: int | np.integer) -> bytes:
        """Return string k."""
        return self.data[self.offsets[k] : self.offsets[k + 1]].tobytes()


@inner
def is_same(text: U8Array, start: i64, end: i64, other: U8Array, other_start: i64, other_end: i64) -> bool:
    """Return whether two slices have the same bytes."""
    if end - start != other_end - other_start:
        return False
    for k in range(end - start):  # noqa: SIM110
        if text[start + k] != other[other_start + k]:
            return False
    return True
