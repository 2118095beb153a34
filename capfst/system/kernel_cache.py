"""Compiled kernels on the disk: compiled once, then loaded by every process.

In: a kernel's function and the types of its arguments. Out: its machine code, if a process has compiled it before, from
the same sources, by the same Python and numba, for the same processor. A file holds one kernel, and begins with the
checksum of what follows; it appears complete or not at all, so that processes may compile at the same time. Whatever
is wrong with a file or a folder, the kernel is compiled, and kept if it can be.

The folder, named after all that the code depends on, is in the first of these that has it or can be written to:
`NUMBA_CACHE_DIR`, if it is set; else beside the package, the user's cache folder, a private temporary folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite import binding

_PACKAGE = Path(__file__).resolve().parent.parent
_WITHOUT_KERNELS = {"cli", "spark"}
_CHECKSUM = 16  # bytes
_VARIABLE = "NUMBA_CACHE_DIR"
_SETTINGS = ("BOUNDSCHECK", "CPU_FEATURES", "CPU_NAME", "DISABLE_INTEL_SVML", "ENABLE_AVX", "LOOP_VECTORIZE", "OPT")
"""Variables of numba's (NUMBA_…) that code depends on."""


def load(function: Any, types: tuple[Any, ...]) -> bytes | None:
    """What was kept of the kernel compiled for these types; None if that is nothing, or damaged."""
    for folder in _folders() if _is_in_package(function) else ():
        try:
            content = (folder / f"{name(function, types)}.kernel").read_bytes()
        except OSError:
            continue
        if content[:_CHECKSUM] == _checksum(content[_CHECKSUM:]):
            return content[_CHECKSUM:]
    return None


def save(function: Any, types: tuple[Any, ...], data: bytes) -> None:
    """Keeps a compiled kernel, if there is a folder for it."""
    folder = writable() if _is_in_package(function) else None
    if folder is None:
        return
    path = folder / f"{name(function, types)}.kernel"
    temporary = path.with_suffix(f".{secrets.token_hex(4)}.tmp")
    try:
        temporary.write_bytes(_checksum(data) + data)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _is_in_package(function: Any) -> bool:
    """Whether the name of the cache's folder tells if the function has changed; kernels of scripts and tests are not
    kept."""
    return Path(function.__code__.co_filename).resolve().is_relative_to(_PACKAGE)


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM).digest()


def name(function: Any, types: tuple[Any, ...]) -> str:
    """Tells the kernels in a folder apart."""
    digest = hashlib.blake2b(repr(types).encode(), digest_size=8).hexdigest()
    return f"{function.__module__.removeprefix('capfst.')}.{function.__qualname__}-{digest}"


@lru_cache(1)
def _codegen_name() -> str:
    """Names what code for this processor, by this program, depends on beside the sources of kernels."""
    numba = find_spec("numba")
    version = Path(numba.origin).with_name("_version.py").read_bytes() if numba and numba.origin else b""
    settings = [(variable, os.environ.get(f"NUMBA_{variable}")) for variable in _SETTINGS]
    processor = binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    text = repr((processor, sys.version, version, llvmlite.__version__, settings, str(_PACKAGE)))
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@lru_cache(1)
def _sources_name() -> str:
    """Names the contents of all modules that kernels could be in, or take constants from."""
    digest = hashlib.blake2b(digest_size=6)
    for folder in sorted({_PACKAGE, *(path for path in _PACKAGE.iterdir() if path.is_dir())}):
        if folder.name not in _WITHOUT_KERNELS:
            for name in sorted(name for name in os.listdir(folder) if name.endswith(".py")):
                with open(os.path.join(folder, name), "rb", buffering=0) as file:
                    content = file.read()
                digest.update(f"{folder.name} {name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _places() -> Iterator[Path]:
    """Folders that the cache may be in."""
    if os.environ.get(_VARIABLE):
        yield Path(os.environ[_VARIABLE])
        return
    yield _PACKAGE / "__pycache__"
    with contextlib.suppress(RuntimeError):  # no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "capfst"
    if hasattr(os, "getuid"):
        with contextlib.suppress(FileNotFoundError):  # no folder for temporary files
            yield Path(tempfile.gettempdir(), f"capfst-{os.getuid()}")


@lru_cache(1)
def _folders() -> list[Path]:
    """The cache's folders, in order; those that others could write to are left out, as what is in them is run."""
    folders = [place / f"kernels-{_codegen_name()}-{_sources_name()}" for place in _places()]
    return [folder for folder in folders if _is_ours(folder)]


def _is_ours(folder: Path) -> bool:
    """Whether only this user, or who has installed the package, can have put files into a folder, as far as it
    exists."""
    if folder.is_relative_to(_PACKAGE) or not hasattr(os, "getuid"):
        return True
    for path in folder, folder.parent:
        with contextlib.suppress(OSError):
            status = path.lstat()
            if status.st_uid not in (os.getuid(), 0) or (
                status.st_mode & stat.S_IWOTH and not os.environ.get(_VARIABLE)
            ):
                return False
    return True


@lru_cache(1)
def writable() -> Path | None:
    """The first folder that can be written to, made if need be; those of former sources beside it are removed."""
    for folder in _folders():
        try:
            folder.parent.mkdir(0o700, parents=True, exist_ok=True)
            folder.mkdir(exist_ok=True)
            if not _is_ours(folder):  # another user has made it meanwhile
                continue
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        for other in folder.parent.glob(f"kernels-{_codegen_name()}-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        return folder
    return None
