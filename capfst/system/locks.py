"""Locks on files and folders against other processes; they end when the file is closed, or with the process.

filelock would need a lock file for each; here the file or folder itself is locked.
"""

import os
from importlib import import_module
from pathlib import Path

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOCKED = PermissionError if fcntl is None else BlockingIOError
_LOCK_FILE = ".capfst-lock"


def lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it. OSError if the file system
    has no locks."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt = import_module("msvcrt")
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # the first byte
    except _LOCKED:
        return False
    return True


def open_folder(folder: Path) -> int:
    """Open a folder in order to lock it; on Windows, a file in it, which remains."""
    if fcntl is not None:
        return os.open(folder, os.O_RDONLY)
    return os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT)
