"""The output folder of a run: it is made, locked, and cleared of what killed runs have left half-written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capfst.exceptions import CapfstError
from capfst.system.locks import lock, open_folder

_TEMPORARY = re.compile(r"\.capfst-[0-9a-f]{8}\.tmp")  # as atomic.py calls them


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CapfstError(f"cannot make the folder {folder}: {error.strerror}: choose another one") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other runs out of the folder, if its file system has locks."""
    descriptor = open_folder(folder)
    try:
        with suppress(OSError):
            if not lock(descriptor):
                raise CapfstError(f"another capfst batch is writing to {folder}: wait for it, or stop it")
        yield
    finally:
        os.close(descriptor)


def clear(folders: Iterable[Path]) -> None:
    """Removes the temporary files of killed processes; what others are writing is locked (atomic.py), and stays."""
    for folder in folders:
        with suppress(OSError):
            for path in folder.iterdir():
                if _TEMPORARY.fullmatch(path.name):
                    _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    with suppress(OSError):
        with path.open("rb") as file:
            is_left = lock(file.fileno())
        if is_left:  # and closed: Windows removes no open files
            path.unlink(missing_ok=True)
