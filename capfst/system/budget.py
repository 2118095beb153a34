"""The memory that this process needs besides its data, which `--memory` includes; and the reuse of freed memory."""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache

PROGRAM = 160 << 20  # an upper bound for Python, NumPy and the kernels
LIBRARIES = 64 << 20  # an upper bound for the files that these map


@cache
def _glibc() -> ctypes.CDLL | None:
    if os.name == "posix" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        return library
    return None


def return_freed_memory() -> None:
    """Return free memory of all threads to the system, if the C library is glibc."""
    if glibc := _glibc():
        glibc.malloc_trim(0)


def resident(mapped: int = LIBRARIES) -> int:
    """Return the bytes of memory that this process occupies, including those left from earlier work; 0 if the system
    does not report it. Of mapped files, such as models, which the system can read again, at most `mapped` count."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            total, of_files = (int(pages) * mmap.PAGESIZE for pages in file.read().split()[1:3])
    except OSError:
        return 0
    return total - max(0, of_files - mapped)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def keep_freed_memory() -> None:
    """If the C library is glibc, return free memory of all threads to the system, and keep up to 256 MiB of the memory
    that is freed from now on. Each block of text allocates and frees arrays of the same sizes: the system would clear
    their pages each time."""
    return_freed_memory()
    if glibc := _glibc():
        glibc.mallopt(_MMAP_THRESHOLD, 32 << 20)
        glibc.mallopt(_TRIM_THRESHOLD, 256 << 20)
