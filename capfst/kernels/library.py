"""The compiled library of kernels: which one this processor takes, and where a kernel is in it.

The build puts libraries into the folder lib/: one for each level of the architecture (x86-64-v2, x86-64-v3, aarch64;
on other systems than Linux named after them, as macos-aarch64), good for all versions of Python. `CAPFST_KERNELS` names
another one, or `jit`: then each kernel is compiled when it is first called (jit.py). In a checkout, kernels that have
changed since the library was built are compiled so, too.
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
from capfst.kernels.declaration import Declaration

FOLDER = Path(__file__).parent / "lib"
DIGESTS = FOLDER / "digests.json"
_PACKAGE = FOLDER.parents[1]


class _Library(NamedTuple):
    functions: ctypes.CDLL
    digests: dict[str, str] | None  # of kernels as they were built, if sources may be newer than that


def level() -> str:
    """Return the name of the level of this machine: its system, unless that is Linux, and its processor's level."""
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    system = {"darwin": "macos-", "win32": "windows-"}.get(sys.platform, "")
    return system + (f"x86-64-v{_call.level()}" if machine == "x86_64" else machine)


def path_of(level: str) -> Path:
    """Return where the library of a level is."""
    return FOLDER / (level + {"macos": ".dylib", "windows": ".dll"}.get(level.partition("-")[0], ".so"))


def addresses(kernel: Declaration) -> tuple[int, int]:
    """Return the addresses of a kernel's entry, and of the function that gives the memory of its arrays back."""
    library = _library()
    if library and _has(library, kernel):
        functions, entry = library.functions, 0
    else:
        functions, entry = _compiled(kernel)
    return entry or _address(functions, kernel.symbol), _address(functions, "give_back")


def _address(functions: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(functions[name], ctypes.c_void_p).value or 0


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CapfstError(f"the compiled kernels cannot be loaded ({error}): install capfst again") from error


@lru_cache(1)
def _library() -> _Library | None:
    """Load the library; None if there is none to be used."""
    asked, own, is_checkout = os.environ.get("CAPFST_KERNELS"), level(), (_PACKAGE.parent / "pyproject.toml").exists()
    names = [asked] if asked else [own, own.replace("v3", "v2")]
    path = next((file for name in names if (file := path_of(name)).exists()), None)
    if asked == "jit" or (is_checkout and not path and not asked):
        return None
    if not path:
        raise CapfstError(f"there are no kernels for {names[0]}: install a wheel, or from source with a C compiler")
    built = path.stat().st_mtime
    is_older = is_checkout and any(file.stat().st_mtime > built for file in _PACKAGE.rglob("*.py"))
    return _Library(_load(path), json.loads(DIGESTS.read_text("utf-8")) if is_older else None)


def _has(library: _Library, kernel: Declaration) -> bool:
    """Return whether the library has a kernel as it is in the sources. It has none of scripts and tests, which may also
    call those that only kernels call."""
    if not kernel.is_entry or not kernel.py_func.__module__.startswith("capfst."):
        return False
    if library.digests is None or library.digests.get(kernel.name) == kernel.digest:
        return True
    _say("compiling the kernels that have changed since they were built (until you run `make kernels`)")
    return False


def _compiled(kernel: Declaration) -> tuple[ctypes.CDLL, int]:
    """Return a library that was compiled for one kernel, and the kernel's address if it is not in there."""
    own = level()
    try:
        from capfst.kernels import jit  # noqa: PLC0415  (seldom needed)

        path, entry = jit.compiled(kernel, own, path_of(own).suffix)
    except ModuleNotFoundError as error:
        reason = f"{kernel.name} must be compiled, but {error.name} is not installed"
        raise CapfstError(f"{reason}: run `make kernels`, or install numba") from error
    return _load(path), entry


@lru_cache(None)
def _say(what: str) -> None:
    print(f"capfst: {what}", file=sys.stderr)
