"""system/budget.py: freed memory that the process keeps."""

import subprocess
import sys

import pytest

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
