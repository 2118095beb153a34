"""Large arrays of which only what is touched takes memory.

An array of NumPy's may lie in memory that was used before, so that later arrays need new memory, though it hardly uses
its own; and where one of 4 MB or more is touched, the system gives 2 MB at once.
"""

from __future__ import annotations

import errno
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

_LARGE = 1 << 17  # bytes
_PRIVATE: dict[str, Any] = (
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)}
    if hasattr(mmap, "MAP_ANONYMOUS")
    else {}
)


def sparse(size: int, dtype: npt.DTypeLike) -> npt.NDArray:
    """An array of `size` items, as from np.empty. MemoryError if there is no memory for it."""
    item = np.dtype(dtype)
    if size * item.itemsize < _LARGE:
        return np.empty(size, item)
    try:
        memory = mmap.mmap(-1, size * item.itemsize, **_PRIVATE)
    except OSError as error:
        if error.errno not in (errno.ENOMEM, errno.EINVAL):  # the latter, if Windows has no more
            raise
        raise MemoryError(f"no memory for {size} items of {item}") from error
    return np.frombuffer(memory, item)
