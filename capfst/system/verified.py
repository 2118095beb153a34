"""Models that were checked and found good: such a file is not checked again.

In: what the system says of an open model file. Out: the model's n-grams by order, if this user has had that file
checked before. A file is recognised by its place (device, inode), size, and times of
change, which every change of its content moves on. `capfst/checked.json` in the user's cache folder remembers the last
few; if that cannot be read or written, nothing is remembered.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from capfst.exceptions import CapfstError
from capfst.system.atomic import replacing
from capfst.version import __version__

_MODELS = 32
MIN_AGE = 2 * 10**9
"""Nanoseconds. A file that changed less than so long ago may change again without a change of its times, since clocks
move in steps."""

Key = tuple[int, ...]


def _file() -> Path | None:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home, "capfst", "checked.json") if os.path.isabs(home) else None


def _key(file: os.stat_result) -> Key:
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns


def _models() -> dict[Key, tuple[int, ...]]:
    """The numbers of n-grams of the files that this version has checked, the oldest first."""
    path = _file()
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        if path:
            content = json.loads(path.read_bytes())
            if content["version"] == __version__:
                return {tuple(map(int, key)): tuple(map(int, ngrams)) for key, ngrams in content["models"]}
    return {}


def recall(file: os.stat_result) -> tuple[int, ...]:
    """The n-grams by order of the model in a file that was found good; () if it was not, or if that is forgotten."""
    return _models().get(_key(file), ())


def remember(file: os.stat_result, ngrams: tuple[int, ...]) -> None:
    """Remembers that a file, which was so before it was checked, is good."""
    path = _file()
    if path is None or file.st_ctime_ns > time.time_ns() - MIN_AGE:
        return
    models = list((_models() | {_key(file): ngrams}).items())
    content = {"version": __version__, "models": models[-_MODELS:]}
    with contextlib.suppress(OSError, CapfstError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as out:
            out.write(json.dumps(content).encode())
