"""Machine code of one kernel, when it is called: for developers, whose kernels are newer than the library.

It is made as by the build, and kept in the checkout's build/kernels; so a kernel is compiled once, again after it was
edited, and numba is loaded only for that. Without a checkout, nothing is kept.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import lru_cache
from pathlib import Path

from capfst.kernels import objects
from capfst.kernels.declaration import Declaration

_CHECKOUT = Path(__file__).parents[2]


def load(kernel: Declaration, level: str) -> ctypes.CDLL:
    """Return a library that has the kernel."""
    file = objects.object_file(kernel, level, _folder())
    library = file.with_suffix(".so")
    if not library.exists():
        objects.compile_kernel(kernel, [level], _folder())
        objects.link([file], library)
    return ctypes.CDLL(str(library))


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
