"""The memory that this process needs besides its data, which `--memory` includes; and the reuse of freed memory."""

import ctypes
import mmap
import os

PROGRAM = 160 << 20  # an upper bound for Python, NumPy and the kernels


def _glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None) if os.name == "posix" else None
    return library if hasattr(library, "mallopt") else None


def resident() -> int:
    """Return free memory of all threads to the system, and then the bytes that this process still occupies; 0 if the
    system does not report it."""
    if library := _glibc():
        library.malloc_trim(0)
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def keep_freed_memory() -> None:
    """If the C library is glibc, return free memory of all threads to the system, and keep up to 256 MiB of the memory
    that is freed from now on. Each block of text allocates and frees arrays of the same sizes: the system would clear
    their pages each time."""
    if library := _glibc():
        library.malloc_trim(0)
        library.mallopt(_MMAP_THRESHOLD, 32 << 20)
        library.mallopt(_TRIM_THRESHOLD, 256 << 20)
