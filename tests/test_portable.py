"""Test capfst without POSIX-only modules and functions, as on Windows: all modules are imported, text is recased, and
files are written and locked. Each test hides these modules and functions in a subprocess."""

import signal
import sys
from pathlib import Path

import pytest
from support.command_line import run_python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing to hide on Windows")

HIDE = """
import ctypes, fcntl, mmap, os, signal, sys
from types import SimpleNamespace
from unittest.mock import patch

flock, how, load_library = fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB, ctypes.CDLL
HIDDEN = {"fcntl", "grp", "pwd", "resource", "termios"}
sys.modules.update(dict.fromkeys(HIDDEN))
for module, names in (
    (mmap, "MAP_ANONYMOUS MAP_PRIVATE MAP_NORESERVE MADV_DONTNEED"),
    (os, "fchmod getuid mkfifo sched_getaffinity sysconf"),
    (signal, "SIGBUS SIGHUP SIGPIPE"),
):
    for name in names.split():
        vars(module).pop(name, None)


def library(name, *arguments, **options):
    if name is None:
        raise TypeError("the program itself is not a library")
    return load_library(name, *arguments, **options)


def locking(descriptor, mode, size):
    try:
        flock(descriptor, how)
    except BlockingIOError as error:
        raise PermissionError from error


ctypes.CDLL = library
locks_of_windows = patch.dict(sys.modules, msvcrt=SimpleNamespace(locking=locking, LK_NBLCK=2))
"""

IMPORT_AND_RECASE = """
import importlib, os, pkgutil
import capfst

for found in pkgutil.walk_packages([os.path.dirname(capfst.__file__)], "capfst."):
    try:
        importlib.import_module(found.name)
    except ModuleNotFoundError as error:  # an extra that is not installed
        if error.name in HIDDEN or error.name.startswith("capfst"):
            raise
with locks_of_windows:
    print(capfst.load()("new york has new information"))
"""

FILES = """
from pathlib import Path
import numpy as np
from capfst.io.outputs import locked
from capfst.cli.exit_status import exit_status
from capfst.cli.streams import ReaderGoneError
from capfst.corpus.labels import mapped, pieces
from capfst.exceptions import CapfstError
from capfst.system.atomic import clear, replacing
from capfst.system.buckets import Store
from capfst.system.budget import keep_freed_memory, resident
from capfst.system.sparse import sparse

folder = Path(sys.argv[1])
file, left = folder / "file", folder / ".capfst-01234567.tmp"
file.touch()
file.chmod(0o640)
left.touch()
with locks_of_windows, locked(folder):
    with replacing(file) as written:
        written.write(b"text")
        clear(folder)
        assert not left.exists()
    assert file.read_bytes() == b"text" and file.stat().st_mode & 0o777 == 0o640
    try:
        with locked(folder):
            raise AssertionError("locked twice")
    except CapfstError as error:
        assert str(folder) in str(error)
with locks_of_windows, locked(folder):
    pass

store, numbers = Store(None, folder), np.arange(9 << 20)
unnamed, again = store.open(), np.empty_like(numbers)
store.write(unnamed, numbers, 5)
store.read(unnamed, again, 5)
assert (again == numbers).all()
labels = mapped(unnamed, 9 << 20)
assert sum(len(piece) for piece, _ in pieces(labels)) == 9 << 20
del unnamed, labels

assert sparse(1 << 20, np.uint8).size == 1 << 20
resident()
with patch("os.name", "nt"):
    keep_freed_memory()
try:
    with exit_status():
        raise ReaderGoneError
except SystemExit as end:
    assert end.code == 141
with exit_status():
    signal.raise_signal(signal.SIGTERM)
"""


@pytest.mark.slow
def test_modules_are_imported_and_text_is_recased() -> None:
    assert run_python(HIDE + IMPORT_AND_RECASE).stdout == b"New York has new information\n"


def test_files_are_written_and_locked_and_sigterm_ends_the_process(tmp_path: Path) -> None:
    assert run_python(HIDE + FILES, tmp_path, code=128 + signal.SIGTERM).stderr == b""
    assert sorted(path.name for path in tmp_path.iterdir()) == [".capfst-lock", "file"]
