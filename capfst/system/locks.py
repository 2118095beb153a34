"""Locks that keep other processes from a file or a folder; they end when it is closed, or with the process."""

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
    """Locks an open file until it is closed; False if another process has locked it. OSError if its file system has no
    locks."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt = import_module("msvcrt")
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # its first byte
    except _LOCKED:
        return False
    return True


def open_folder(folder: Path) -> int:
    """Opens a folder, to lock it. Where folders cannot be opened, a file in it, which stays."""
    if fcntl is not None:
        return os.open(folder, os.O_RDONLY)
    return os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT)
