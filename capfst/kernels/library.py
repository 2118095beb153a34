"""Find the machine code of a kernel: in the library that was built for this processor, or newly compiled.

lib/ contains one library per level of the architecture (x86-64-v2, x86-64-v3, aarch64), for all versions of Python.
`CAPFST_KERNELS` selects another level than this processor's, or `jit`: then each kernel is compiled at its first call.
In a checkout, so are kernels that have changed since the library was built. What was compiled is kept in build/kernels.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capfst.exceptions import CapfstError
from capfst.forks import loading
from capfst.kernels import _call

if TYPE_CHECKING:
    from capfst.kernels.function import Kernel

FOLDER = Path(__file__).parent / "lib"
DIGESTS = FOLDER / "digests.json"
_PACKAGE = FOLDER.parents[1]
_IS_CHECKOUT = (_PACKAGE.parent / "pyproject.toml").exists()
_lock = threading.Lock()


def own_level() -> str:
    """Return the level of this machine's processor."""
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return f"x86-64-v{_call.level()}" if machine == "x86_64" else machine


def path_of(level: str) -> Path:
    """Return the path of the library of a level, the same on all systems."""
    return FOLDER / f"{level}.so"


def addresses(kernel: Kernel[..., Any]) -> tuple[int, int]:
    """Return the addresses of a kernel's entry, and of the function that frees the arrays it returns."""
    with loading(), _lock:
        library, built = _built()
        is_built = library and kernel.is_entry and kernel.py_func.__module__.startswith("capfst.")
        if is_built and _IS_CHECKOUT and _has_changed(kernel, built):
            _print_once("compiling the kernels that have changed since they were built (until you run `make kernels`)")
            is_built = False
        functions = library if library and is_built else _compiled(kernel)
    return _address(functions, kernel.symbol), _address(functions, "give_back")


def _address(functions: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(functions[name], ctypes.c_void_p).value or 0


def _has_changed(kernel: Kernel[..., Any], built: float) -> bool:
    """Return whether a kernel, or one that it calls, may have been edited since the library was built."""
    modules = [name for name in list(sys.modules) if name.startswith("capfst.")]  # with all that the kernel calls
    return any(_is_newer(name, built) for name in modules) and _digests().get(kernel.name) != kernel.digest


@lru_cache(None)
def _is_newer(module: str, built: float) -> bool:
    source = sys.modules[module].__file__
    return source is not None and source.endswith(".py") and os.stat(source).st_mtime > built


@lru_cache(1)
def _digests() -> dict[str, str]:
    """Read the digests of the kernels in the library."""
    digests: dict[str, str] = json.loads(DIGESTS.read_text("utf-8"))
    return digests


@lru_cache(1)
def _built() -> tuple[ctypes.CDLL | None, float]:
    """Load the library, if one is to be used; return it and the time when it was built."""
    selected, own = os.environ.get("CAPFST_KERNELS"), own_level()
    names = [selected] if selected else [own, own.replace("v3", "v2")]
    path = next((file for name in names if (file := path_of(name)).exists()), None)
    if selected == "jit" or (_IS_CHECKOUT and not path and not selected):
        return None, 0.0
    if not path:
        raise CapfstError(f"there are no kernels for {names[0]}. Install a wheel, or from source with a C compiler.")
    return _load(path), path.stat().st_mtime


def _load(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CapfstError(f"the compiled kernels cannot be loaded: {error}. Install capfst again.") from error


def _compiled(kernel: Kernel[..., Any]) -> ctypes.CDLL:
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
