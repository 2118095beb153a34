"""Machine code of one kernel, when it is called: for developers, whose kernels are newer than the library.

It is made as by the build, and kept in the checkout's build/kernels; so a kernel is compiled once, again after it was
edited, and numba is loaded only for that. Without a checkout, nothing is kept. With NUMBA_BOUNDSCHECK=1, whose code
calls numba's own functions, nothing is kept either, and numba loads the code.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from functools import lru_cache
from pathlib import Path

from capfst.kernels import objects
from capfst.kernels.declaration import Declaration
from capfst.kernels.library import path_of

_CHECKOUT = Path(__file__).parents[2]


def addresses(kernel: Declaration, level: str) -> tuple[int, int]:
    """Return the addresses of a kernel's entry and of `give_back`."""
    suffix = path_of(level).suffix
    if os.environ.get("NUMBA_BOUNDSCHECK"):
        from capfst.kernels import entries  # noqa: PLC0415  (numba takes a second)

        return entries.entry(kernel).address, _address([], _folder() / f"arrays{suffix}", "give_back")
    file = objects.object_file(kernel, level, _folder())
    library = file.with_suffix(suffix)
    if not library.exists():
        objects.compile_kernel(kernel, [level], _folder())
    return _address([file], library, kernel.symbol), _address([file], library, "give_back")


def _address(files: list[Path], library: Path, name: str) -> int:
    if not library.exists():
        objects.link(files, library)
    return ctypes.cast(ctypes.CDLL(str(library))[name], ctypes.c_void_p).value or 0


@lru_cache(1)
def _folder() -> Path:
    if not (_CHECKOUT / "pyproject.toml").exists():
        return Path(_temporary().name)
    folder = _CHECKOUT / "build" / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@lru_cache(1)
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="capfst-")
