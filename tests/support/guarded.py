"""Memory behind which nobody may read or write: the processor ends a process that does."""

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
    """An array whose last byte is the last one of a page, before one that is not to be touched."""
    n_bytes = size * np.dtype(dtype).itemsize
    room = -(-max(n_bytes, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    _kept.append(memory)  # the page stays forbidden: its address is not to be used again
    start = np.frombuffer(memory, np.uint8).ctypes.data
    if _LIBC.mprotect(start + room, mmap.PAGESIZE, 0) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    return np.frombuffer(memory, dtype, size, room - n_bytes)


def in_child(function: Callable[[], object]) -> int:
    """Calls a function in a process of its own; its exit status, negative if a signal has ended it."""
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
