"""How much memory this process takes beside the data, which `--memory` has to cover too; and what becomes of freed
memory."""

import ctypes
import mmap
import os

PROGRAM = 160 << 20  # more than what Python, NumPy and the kernels take


def resident() -> int:
    """Bytes of memory that this process has now, those that earlier work left included; 0 where the system does not
    tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def keep_freed_memory() -> None:
    """Has the process keep up to 256 MiB that are freed from now on, if its C library is glibc; what is free by now, in
    all threads, goes back to the system. One block of text after the other takes and frees arrays of the same sizes:
    the system would clear their pages each time."""
    if os.name == "posix" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.malloc_trim(0)
        library.mallopt(_MMAP_THRESHOLD, 32 << 20)
        library.mallopt(_TRIM_THRESHOLD, 256 << 20)
