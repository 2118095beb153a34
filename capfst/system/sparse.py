"""Allocate large arrays of which only the touched pages take memory.

NumPy may put an array into memory that was used before, although the array touches little of it; then later arrays need
new memory. And when an array of NumPy's of 4 MB or more is touched, the system allocates 2 MB at once.
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
    """Return an uninitialized array of `size` items; MemoryError if there is no memory for it."""
    item = np.dtype(dtype)
    if size * item.itemsize < _LARGE:
        return np.empty(size, item)
    try:
        memory = mmap.mmap(-1, size * item.itemsize, **_PRIVATE)
    except OSError as error:
        if error.errno not in (errno.ENOMEM, errno.EINVAL):  # the latter on Windows
            raise
        raise MemoryError(f"no memory for {size} items of {item}") from error
    return np.frombuffer(memory, item)
