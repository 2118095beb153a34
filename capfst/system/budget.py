"""How much memory this process takes beside the data, which `--memory` has to cover too."""

import os

PROGRAM = 160 << 20  # what Python, NumPy and Numba's compiled kernels take


def resident() -> int:
    """Bytes of memory that this process has now, those that earlier work left included; 0 where the system does not
    tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
