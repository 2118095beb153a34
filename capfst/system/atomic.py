"""Write a file atomically: it appears at its path complete, or not at all.

In: a path. Out: a binary file to write to. When the block ends normally, the bytes are on disk and replace the file at
that path; when it ends with any exception, nothing has changed. Order: temporary file in the same folder, write, fsync,
rename, fsync of the folder. Also locks on files and folders against other processes.
"""

import atexit
import contextlib
import errno
import io
import os
import re
import stat
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from capfst.exceptions import CapfstError, OptionError

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

_ADVICE = {
    errno.ENOSPC: "Free some space, or choose another folder.",
    errno.EDQUOT: "Free some space, or choose another folder.",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f), or choose another file system.",
    errno.EPIPE: "The program that reads it has ended.",
    errno.EACCES: "Choose a writable file in a writable folder.",
    errno.EPERM: "Choose a writable folder.",
    errno.EROFS: "Choose a writable folder.",
    errno.ENOENT: "Create the folder first.",
    errno.ENOTDIR: "Choose a path all of whose parents are folders.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.ELOOP: "Remove the link, which leads to itself.",
}

_TEMPORARY = re.compile(r"\.capfst-(part-)?[0-9a-f]{8}\.tmp")
_OWN = re.compile(r"\.capfst-[0-9a-f]{8}\.tmp")  # not the parts of a file, which wait for each other without a lock
_AGE = 60.0  # seconds
_unfinished: set[Path] = set()

_LOCKED = PermissionError if fcntl is None else BlockingIOError
_LOCK_FILE = ".capfst-lock"


@atexit.register
def _clear() -> None:
    """Remove temporary files that are left because a signal arrived while another one was being handled."""
    for temporary in _unfinished:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


class _Raw(io.FileIO):
    """A file whose write errors are reported against `target`."""

    def __init__(self, file: Path, mode: str, target: Path) -> None:
        self.target = target
        super().__init__(file, mode)

    def write(self, data: Any) -> int:
        with _failures(self.target):
            return super().write(data)


@contextlib.contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Raise operating system errors as errors of writing the file, with advice."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "Check the folder and the disk.")
        if error.errno == errno.ENOENT and path.parent.exists():  # as in /proc
            advice = "Choose another folder."
        raise CapfstError(f"{path}: cannot write: {error.strerror} (in folder {path.parent}). {advice}") from error


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file to replace: for a link the file that it points to. Devices, pipes, folders and `-` are errors."""
    if str(path) == "-":
        raise CapfstError("-: cannot write to stdout. Give the path of a file.")
    target = Path(os.path.realpath(path))
    with _failures(Path(path)), contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode  # not of `target`: the real path of a pipe does not exist
        if stat.S_ISDIR(mode):
            raise CapfstError(f"{path}: cannot write: it is a folder. Give the path of a file in it.")
        if not stat.S_ISREG(mode):
            raise CapfstError(f"{path}: cannot write: it is not a regular file. Choose another path.")
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target


def clear(folder: Path, age: float = 0.0, names: re.Pattern[str] = _TEMPORARY) -> None:
    """Remove the temporary files that killed processes have left in a folder. Files that a process is still writing are
    locked, and stay. age: of the files, in seconds, since a new file is not locked at once."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if names.fullmatch(path.name):
                with contextlib.suppress(OSError):
                    with path.open("rb") as file:
                        is_old = os.fstat(file.fileno()).st_mtime <= time.time() - age
                        is_abandoned = is_old and lock(file.fileno())
                    if is_abandoned:  # closed first, because Windows does not remove open files
                        path.unlink(missing_ok=True)


def check_output(
    path: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None, streams: bool = False, size: int = 0
) -> None:
    """Raise the error that `replacing` would raise (streams: that `writing` would raise), as far as it can be foreseen.
    Remove what killed processes have left in the folder. size: of the output, in bytes, as far as it is known.

    Raises:
        CapfstError: the file cannot be written.
        OptionError: it is one of these input files, which would be lost.
    """
    for file in inputs:
        with contextlib.suppress(OSError):
            if file is not None and os.path.samefile(path, file):
                raise OptionError(f"{path}: the output is also an input ({file}). Choose another output path.")
    if streams and _is_stream(path):
        return
    target = _target(path)
    with _failures(target):
        temporary = _temporary(target)
        _Raw(temporary, "x", target).close()
        temporary.unlink()
        clear(target.parent, _AGE, _OWN)
    check_room(target.parent, size)


def check_room(folder: Path, size: int) -> None:
    """Raise CapfstError if the disk of a folder has no room for this number of bytes."""
    import shutil  # noqa: PLC0415  (it loads the libraries of compression)

    with contextlib.suppress(OSError):
        free = shutil.disk_usage(folder).free
        if size > free:
            raise CapfstError(
                f"{folder}: the disk has {free / 1e6:,.0f} MB free, but the output takes about {size / 1e6:,.0f} MB."
                " Free some, or choose another folder."
            )


def _temporary(target: Path) -> Path:
    """Return the path of a new temporary file next to `target`."""
    return target.with_name(f".capfst-{os.urandom(4).hex()}.tmp")


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file to write without seeking: a device or pipe is written to at once, else as by `replacing`.

    Raises:
        CapfstError: the file cannot be written.
    """
    if not _is_stream(path):
        with replacing(path) as replaced:
            yield replaced
        return
    target = Path(path)
    with _failures(target):
        raw = _Raw(target, "w", target)
    with raw, io.BufferedWriter(raw, 1) as file:  # completes partial writes, and keeps nothing back
        yield file


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is that of a device or pipe."""
    with contextlib.suppress(OSError):
        mode = os.stat(path).st_mode
        return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
    return False


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file to write, which replaces `path` when the block ends without an exception.

    Until then, and after any exception (including KeyboardInterrupt), `path` is unchanged; the temporary file
    `.capfst-….tmp` next to it is always removed. The new file has the permissions of the old one.

    Raises:
        CapfstError: the folder, the permissions or the disk space are missing.
    """
    target = _target(path)
    temporary = _temporary(target)
    _unfinished.add(temporary)
    raw = None
    try:  # begins before the file exists: Ctrl-C may arrive right after that
        with _failures(target):
            # "x" creates it with the permissions of any new file (tempfile's would be private).
            raw = _Raw(temporary, "x+", target)
            with contextlib.suppress(OSError):  # some file systems have no locks
                lock(raw.fileno())
            with contextlib.suppress(OSError):  # no such file, or a file system without permissions
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        file = io.BufferedWriter(raw, 1 << 20)
        yield file
        with _failures(target):
            file.flush()
            os.fsync(raw.fileno())
            file.close()
            os.replace(temporary, target)
    except BaseException:
        # Not the buffer: closing it would try to write the rest of its data.
        with contextlib.suppress(OSError):
            if raw is not None:
                raw.close()
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
            _unfinished.discard(temporary)
        raise
    _unfinished.discard(temporary)
    with contextlib.suppress(OSError):  # not every system can sync a folder, which makes the rename durable
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock an open file until it is closed, also by the end of the process; return False if another one has locked it.
    OSError if the file system has no locks. (filelock would need a lock file for each.)"""
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
