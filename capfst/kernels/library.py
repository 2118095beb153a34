"""The compiled library of kernels: which one this processor takes, and where a kernel is in it.

The build puts libraries into the folder lib/: one for each level of the architecture (x86-64-v2, x86-64-v3, aarch64),
good for all versions of Python. `CAPFST_KERNELS` names another one, or `jit`: then each kernel is compiled when it is
first called (jit.py). In a checkout, kernels that have changed since the library was built are compiled so, too.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from capfst.exceptions import CapfstError
from capfst.kernels import _call
from capfst.kernels.declaration import Declaration, Specialization

FOLDER = Path(__file__).parent / "lib"
DIGESTS = FOLDER / "digests.json"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_PACKAGE = FOLDER.parents[1]
_VARIABLE, _JIT = "CAPFST_KERNELS", "jit"


class _Library(NamedTuple):
    functions: ctypes.CDLL
    digests: dict[str, str] | None
    """Of each kernel as it was built, where sources may be newer than the library; else None."""


def level() -> str:
    """Return the name of the level of this machine's processor."""
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return f"x86-64-v{_call.level()}" if machine == "x86_64" else machine


def addresses(kernel: Declaration, specialization: Specialization) -> tuple[int, int]:
    """Return the addresses of a kernel's entry, and of the function that gives the memory of its arrays back."""
    library = _library()
    functions = library.functions if library and _has(library, kernel) else _compiled(kernel, specialization)
    entry, give_back = (ctypes.cast(functions[name], ctypes.c_void_p) for name in (specialization.name, "give_back"))
    return entry.value or 0, give_back.value or 0


@lru_cache(1)
def _library() -> _Library | None:
    """Load the library; None if there is none to be used."""
    name = os.environ.get(_VARIABLE) or level()
    if name == _JIT:
        return None
    path = FOLDER / f"{name}{SUFFIX}"
    if not path.exists():
        if _is_checkout():
            _say("compiling kernels, as none are built (until you run `make kernels`)")
            return None
        raise CapfstError(
            f"capfst is installed without compiled kernels for {name}: install its wheel, or install it from source"
            " with a C compiler"
        )
    digests = json.loads(DIGESTS.read_text("utf-8")) if _is_checkout() and _has_newer_source(path) else None
    return _Library(ctypes.CDLL(str(path)), digests)


def _has(library: _Library, kernel: Declaration) -> bool:
    """Return whether the library has a kernel as it is in the sources. It has none of scripts and tests, which may also
    call those that only kernels call."""
    if not kernel.is_entry or not kernel.__module__.startswith("capfst."):
        return False
    if library.digests is None or library.digests.get(kernel.name) == kernel.digest:
        return True
    _say("compiling the kernels that have changed since they were built (until you run `make kernels`)")
    return False


def _compiled(kernel: Declaration, specialization: Specialization) -> ctypes.CDLL:
    try:
        from capfst.kernels import jit  # noqa: PLC0415  (seldom needed)

        return jit.load(kernel, specialization, level())
    except ModuleNotFoundError as error:
        raise CapfstError(
            f"{kernel.name} cannot be compiled: {error.name} is not installed: run `make kernels`, or install numba"
        ) from error


def _is_checkout() -> bool:
    return (_PACKAGE.parent / "pyproject.toml").exists()


def _has_newer_source(path: Path) -> bool:
    built = path.stat().st_mtime
    folders = [_PACKAGE, *(folder for folder in _PACKAGE.iterdir() if folder.is_dir())]
    return any(
        entry.stat().st_mtime > built
        for folder in folders
        for entry in os.scandir(folder)
        if entry.name.endswith(".py")
    )


@lru_cache(None)
def _say(what: str) -> None:
    print(f"capfst: {what}", file=sys.stderr)
