"""system/sparse.py: pages that are not touched take no memory, whatever their size."""

import sys
from pathlib import Path

import numpy as np
import pytest

from capfst.system.sparse import sparse


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_arrays_can_be_written(size: int) -> None:
    array = sparse(size, np.uint32)
    assert array.shape == (size,) and array.dtype == np.uint32
    array[:] = np.arange(size)
    assert array.sum() == size * (size - 1) // 2


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_only_touched_pages_take_memory() -> None:
    array = sparse(1 << 29, np.uint8)
    before = resident()
    array[:: 1 << 22] = 1
    assert 128 <= resident() - before < 4 * 128


def test_too_large_arrays() -> None:
    with pytest.raises(MemoryError, match="576460752303423488 items of uint64"):
        sparse(1 << 59, np.uint64)
