"""Writing a file aside: it appears at its path complete, or not at all.

In: a path. Out: a binary file to write to; when the block ends well, its bytes are on the disk and under
that path, in the place of what was there; when it ends in any exception, nothing has changed. Order:
temporary file in the same folder, write, fsync, rename, fsync of the folder.
"""

import atexit
import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from capfst.exceptions import CapfstError
from capfst.system.locks import lock

_ADVICE = {
    errno.ENOSPC: "free some space or choose another folder",
    errno.EDQUOT: "free some space or choose another folder",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f) or choose another file system",
    errno.EACCES: "choose a file and a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
    errno.ENOENT: "make the folder first",
    errno.ENOTDIR: "choose a path whose folder is a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
}


_unfinished: set[Path] = set()


@atexit.register
def _clear() -> None:
    """Removes temporary files that are left because a signal came while another one was being answered."""
    for temporary in _unfinished:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


class _Raw(io.FileIO):
    """A new file, locked while it is open, whose failing writes are told as failures to write `target`."""

    def __init__(self, temporary: Path, target: Path) -> None:
        self.target = target
        # "x" creates it with the permissions that any new file gets (tempfile's would be private).
        super().__init__(temporary, "x+")
        with contextlib.suppress(OSError):  # not every file system has locks
            lock(self.fileno())

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise _failure(self.target, error) from error


def _failure(path: Path, error: OSError) -> CapfstError:
    advice = _ADVICE.get(error.errno or 0, "check the folder and the disk")
    return CapfstError(f"cannot write {path}: {error.strerror} (in folder {path.parent}): {advice}")


def _target(path: str | os.PathLike[str]) -> Path:
    """The file behind the path: what a link leads to is replaced, not the link; no device, no folder."""
    target = Path(os.path.realpath(path))
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode  # which tells of a pipe, too, whose real path is none
        if stat.S_ISDIR(mode):
            raise CapfstError(f"cannot write {path}: it is a folder: name a file in it")
        if not stat.S_ISREG(mode):
            raise CapfstError(f"cannot write {path}: it is not a regular file: choose another path")
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target


def refuse_to_replace(output: str | os.PathLike[str], *inputs: str | os.PathLike[str] | None) -> None:
    """CapfstError if the output is one of these files, which are read, and would be lost."""
    for file in inputs:
        with contextlib.suppress(OSError):
            if file is not None and os.path.samefile(output, file):
                raise CapfstError(f"{output} would replace {file}, which is read: give the output another name")


def _sync_folder(folder: Path) -> None:
    """Makes the rename last; some systems cannot, and need not."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _checked(path: str | os.PathLike[str]) -> Path:
    """As `_target`; errors as of `replacing`."""
    try:
        return _target(path)
    except OSError as error:
        raise _failure(Path(path), error) from error


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """As `replacing` would, as far as can be told before."""
    target = _checked(path)
    if not os.access(target.parent, os.W_OK):
        missing = errno.EACCES if target.parent.exists() else errno.ENOENT
        raise _failure(target, OSError(missing, os.strerror(missing)))


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write, which takes the place of `path` when the block ends without an exception.

    Until then, and after any exception (KeyboardInterrupt too), `path` is as it was; the temporary file
    `.capfst-….tmp` beside it never stays. The new file has the permissions of the old one. CapfstError if the folder,
    the rights or the space are missing.
    """
    target = _checked(path)
    temporary = target.with_name(f".capfst-{secrets.token_hex(4)}.tmp")
    _unfinished.add(temporary)
    raw = None
    try:  # from before the file is there: Ctrl-C may come right after it
        try:
            raw = _Raw(temporary, target)
            with contextlib.suppress(OSError):  # not there, or the file system has none
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
        except OSError as error:
            raise _failure(target, error) from error
        file = io.BufferedWriter(raw, 1 << 20)
        yield file
        try:
            file.flush()
            os.fsync(raw.fileno())
            file.close()
            os.replace(temporary, target)
        except OSError as error:
            raise _failure(target, error) from error
    except BaseException:
        # The raw file, not the buffer, whose closing would try to write what is left in it.
        with contextlib.suppress(OSError):
            if raw is not None:
                raw.close()
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
            _unfinished.discard(temporary)
        raise
    _unfinished.discard(temporary)
    _sync_folder(target.parent)
