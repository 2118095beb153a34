"""Memory with a protected page after it: a process that reads or writes beyond the end is killed."""

import ctypes
import faulthandler
import mmap
import os
import sys
import traceback
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_kept: list[mmap.mmap] = []


def guarded(size: int, dtype: npt.DTypeLike = np.uint8) -> npt.NDArray:
    """Return an array whose last byte is the last one of a page, before a protected page."""
    n_bytes = size * np.dtype(dtype).itemsize
    capacity = -(-max(n_bytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, capacity + mmap.PAGESIZE)
    _kept.append(memory)  # the page stays protected, so its address must not be used again
    start = np.frombuffer(memory, np.uint8).ctypes.data
    if _LIBC.mprotect(start + capacity, mmap.PAGESIZE, 0) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    return np.frombuffer(memory, dtype, size, capacity - n_bytes)


def in_child(function: Callable[[], object]) -> int:
    """Call a function in a child process. Return its exit status, which is negative if a signal ended it."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
