"""Remember the model files that were validated, so that they need not be validated again.

In: the status of an open model file. Out: the model's number of n-grams per order, if this user has validated the file
before. A file is recognized by device, inode, size and times of change: every change of its content changes the times.
`capfst/checked.json` in the user's cache folder stores the last few files; if it cannot be read or written, or other
users can write it, nothing is remembered. (On macOS, platformdirs would name another folder.)
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from pathlib import Path

from capfst.exceptions import CapfstError
from capfst.system.atomic import replacing
from capfst.version import __version__

_MODELS = 32
MIN_AGE = 2 * 10**9
"""Nanoseconds. A file that changed more recently than this may change again while its times stay the same, since clocks
advance in steps."""

Key = tuple[int, ...]


def _file() -> Path | None:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home, "capfst", "checked.json") if os.path.isabs(home) else None


def _key(file: os.stat_result) -> Key:
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns


def _is_own(file: os.stat_result) -> bool:
    """Return whether only this user (and root) can have written a file: it would let damaged models pass."""
    is_writable = file.st_mode & (stat.S_IWGRP | stat.S_IWOTH) != 0
    return stat.S_ISREG(file.st_mode) and (os.name == "nt" or (file.st_uid == os.geteuid() and not is_writable))


def _models() -> dict[Key, tuple[int, ...]]:
    """Return the n-grams per order of the files that this version has validated, oldest first."""
    path = _file()
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        if path and _is_own(path.stat()):
            content = json.loads(path.read_bytes())
            if content["version"] == __version__:
                return {tuple(map(int, key)): tuple(map(int, ngrams)) for key, ngrams in content["models"]}
    return {}


def recall(file: os.stat_result) -> tuple[int, ...]:
    """Return the n-grams per order of the model in a validated file; () if the file is unknown."""
    return _models().get(_key(file), ())


def remember(file: os.stat_result, ngrams: tuple[int, ...]) -> None:
    """Remember a valid file, given its status from before the validation."""
    path = _file()
    if path is None or file.st_ctime_ns > time.time_ns() - MIN_AGE:
        return
    models = list((_models() | {_key(file): ngrams}).items())
    content = {"version": __version__, "models": models[-_MODELS:]}
    with contextlib.suppress(OSError, CapfstError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as out:
            if hasattr(os, "fchmod"):
                os.fchmod(out.fileno(), 0o600)  # whatever the umask
            out.write(json.dumps(content).encode())
