"""The compiled library of kernels: which one this processor takes, and where a kernel's entry is in it.

The build puts libraries into the folder lib/: one for each level of the architecture (x86-64-v2, x86-64-v3, aarch64),
good for all versions of Python. `CAPFST_KERNELS` names another one, or `jit`: then numba compiles each kernel when it
is first called. In a checkout, kernels that have changed since the library was built are compiled so, too.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from capfst.exceptions import CapfstError
from capfst.kernels import _call
from capfst.kernels.declaration import Declaration, Specialization

FOLDER = Path(__file__).parent / "lib"
DIGESTS = FOLDER / "digests.json"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_PACKAGE = FOLDER.parent.parent
_VARIABLE, _JIT = "CAPFST_KERNELS", "jit"


class _Library(NamedTuple):
    functions: ctypes.CDLL
    give_back: int
    digests: dict[str, str] | None
    """Of each kernel as it was built, where sources may be newer than the library; else None."""


def level() -> str:
    """Return the name of the level of this machine's processor."""
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return f"x86-64-v{_call.level()}" if machine == "x86_64" else machine


def address(kernel: Declaration, specialization: Specialization) -> int:
    """Return the address of a kernel's entry."""
    library = _library()
    if library and _is_current(kernel, library):
        return _address(library.functions, specialization.name)
    return _jit().address(kernel, specialization)


def give_back(kernel: Declaration) -> int:
    """Return the address of the function that gives the memory of a kernel's arrays back."""
    library = _library()
    return library.give_back if library and _is_current(kernel, library) else _jit().give_back_address()


def _is_current(kernel: Declaration, library: _Library) -> bool:
    """Whether the library has a kernel as it is in the sources; it has none of scripts and tests, which may also call
    those that only kernels call."""
    if not kernel.is_entry or not kernel.__module__.startswith("capfst."):
        return False
    if library.digests is None or library.digests.get(kernel.name) == kernel.digest:
        return True
    _say("kernels have changed since they were built: compiling those at their first call, until you run `make kernels`")
    return False


@lru_cache(1)
def _library() -> _Library | None:
    """Load the library; None if there is none to be used."""
    name = os.environ.get(_VARIABLE) or level()
    if name == _JIT:
        return None
    path = FOLDER / f"{name}{SUFFIX}"
    if not path.exists():
        if _is_checkout():
            _say("kernels are not built: compiling them at their first call, until you run `make kernels`")
            return None
        raise CapfstError(
            f"capfst is installed without compiled kernels for {name}: install its wheel, or install it from source"
            " with a C compiler"
        )
    functions = ctypes.CDLL(str(path))
    digests = json.loads(DIGESTS.read_text("utf-8")) if _is_checkout() and _has_newer_source(path) else None
    return _Library(functions, _address(functions, "give_back"), digests)


def _address(functions: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(functions[name], ctypes.c_void_p).value or 0


def _is_checkout() -> bool:
    return (_PACKAGE.parent / "pyproject.toml").exists()


def _has_newer_source(path: Path) -> bool:
    built = path.stat().st_mtime
    folders = [_PACKAGE, *(folder for folder in _PACKAGE.iterdir() if folder.is_dir())]
    return any(
        entry.stat().st_mtime > built
        for folder in folders
        for entry in os.scandir(folder)
        if entry.name.endswith((".py", ".c"))
    )


@lru_cache(None)
def _say(what: str) -> None:
    print(f"capfst: {what}", file=sys.stderr)


def _jit():  # type: ignore[no-untyped-def]
    try:
        from capfst.kernels import jit  # noqa: PLC0415  (numba takes a second)
    except ModuleNotFoundError as error:
        raise CapfstError("to compile kernels needs numba, which is not installed: pip install numba") from error
    return jit
