"""How much memory this process takes: what `--memory` must allow for beside the data."""

import os

PROGRAM = 160 << 20  # what Python, NumPy and Numba's compiled kernels take


def resident() -> int:
    """The memory that this process has now, in bytes, where the system tells: what earlier work has left counts."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
