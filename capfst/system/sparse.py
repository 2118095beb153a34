"""Large arrays of which only what is touched takes memory.

numpy's may lie where other arrays were, which then need new memory; and of its arrays of 4 MB and more the system gives
2 MB wherever they are touched.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

_LARGE = 1 << 17  # bytes
_PRIVATE: dict[str, Any] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


def sparse(size: int, dtype: npt.DTypeLike) -> npt.NDArray:
    """An array of `size` items, as from np.empty."""
    item = np.dtype(dtype)
    if size * item.itemsize < _LARGE:
        return np.empty(size, item)
    return np.frombuffer(mmap.mmap(-1, size * item.itemsize, **_PRIVATE), item)
