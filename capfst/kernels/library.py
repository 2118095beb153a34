"""Find the machine code of a kernel: in the library that was built for this processor, or newly compiled.

lib/ contains one library per level of the architecture (x86-64-v2, x86-64-v3, aarch64), for all versions of Python.
`CAPFST_KERNELS` selects another level than this processor's, or `jit`: then each kernel is compiled at its first call.
In a checkout, so are kernels that have changed since the library was built. What was compiled is kept in build/kernels.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capfst.exceptions import CapfstError
from capfst.forks import loading
from capfst.kernels.levels import DIGESTS, FOLDER, own_level, path_of

if TYPE_CHECKING:
    from capfst.kernels.function import KernelFunction

_PACKAGE = FOLDER.parents[1]
_IS_CHECKOUT = (_PACKAGE.parent / "pyproject.toml").exists()
_lock = threading.Lock()


def addresses(kernel: KernelFunction[..., Any]) -> tuple[int, int]:
    """Return the addresses of a kernel's entry, and of the function that frees the arrays it returns."""
    with loading(), _lock:
        library, digests = _built()
        is_built = library and kernel.is_entry and kernel.py_func.__module__.startswith("capfst.")
        if is_built and digests and digests.get(kernel.name) != kernel.digest:
            _print_once("compiling the kernels that have changed since they were built (until you run `make kernels`)")
            is_built = False
        functions = library if library and is_built else _compiled(kernel)
    return _address(functions, kernel.symbol), _address(functions, "give_back")


def _address(functions: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(functions[name], ctypes.c_void_p).value or 0


@lru_cache(1)
def _built() -> tuple[ctypes.CDLL | None, dict[str, str] | None]:
    """Load the library, if one is to be used; if sources are newer, also the digests of the kernels in it."""
    selected, own = os.environ.get("CAPFST_KERNELS"), own_level()
    names = [selected] if selected else [own, own.replace("v3", "v2")]
    path = next((file for name in names if (file := path_of(name)).exists()), None)
    if selected == "jit" or (_IS_CHECKOUT and not path and not selected):
        return None, None
    if not path:
        raise CapfstError(f"there are no kernels for {names[0]}. Install a wheel, or from source with a C compiler.")
    built = path.stat().st_mtime
    is_older = _IS_CHECKOUT and any(file.stat().st_mtime > built for file in _PACKAGE.rglob("*.py"))
    return _load(path), json.loads(DIGESTS.read_text("utf-8")) if is_older else None


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CapfstError(f"the compiled kernels cannot be loaded: {error}. Install capfst again.") from error


def _compiled(kernel: KernelFunction[..., Any]) -> ctypes.CDLL:
    """Load a library of one kernel, compiling it unless that was done before."""
    if not _IS_CHECKOUT:
        raise CapfstError(f"{kernel.name} is not in the library. Use a checkout of capfst, which can compile it.")
    try:
        from capfst.kernels import build  # noqa: PLC0415  (seldom needed)

        return _load(build.library_of(kernel, own_level(), _PACKAGE.parent / "build" / "kernels"))
    except ModuleNotFoundError as error:
        reason = f"{kernel.name} must be compiled, but {error.name} is not installed"
        raise CapfstError(f"{reason}. Run `make kernels`, or install numba.") from error


@lru_cache(None)
def _print_once(note: str) -> None:
    print(f"capfst: {note}", file=sys.stderr)
