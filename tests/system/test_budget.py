"""system/budget.py: the memory of this process, and freed memory that it keeps."""

import mmap
import subprocess
import sys
from pathlib import Path

import pytest

from capfst.system.budget import LIBRARIES, resident

SCRIPT = """
import resource
import numpy as np
from capfst.system.budget import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.empty(3 << 20, np.uint8).fill(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

keep_freed_memory()
print(*(faults() for _ in range(8)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_freed_memory_is_reused() -> None:
    """After an array of 768 pages is freed, the next one causes few page faults."""
    result = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True)
    first, *more = map(int, result.stdout.split())
    assert first > 500
    assert max(more) < 100


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_mapped_models_are_no_memory_of_a_training(tmp_path: Path) -> None:
    size = 2 * LIBRARIES
    (tmp_path / "model").write_bytes(b"")
    with (tmp_path / "model").open("r+b") as file:
        file.truncate(size)
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapped:
            counted, everything = resident(), resident(sys.maxsize)
            assert not any(mapped[:: mmap.PAGESIZE])
            assert resident(sys.maxsize) - everything >= size
            assert resident() - counted <= LIBRARIES
