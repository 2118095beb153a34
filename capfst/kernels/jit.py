"""Machine code of one kernel, when it is called: for developers, whose kernels are newer than the library.

It is made as by the build, and kept in the checkout's build/kernels; so a kernel is compiled once, again after it was
edited, and numba is loaded only for that. Without a checkout, nothing is kept. With NUMBA_BOUNDSCHECK=1, whose code
calls numba's own functions, nothing is kept either, and numba loads the code.
"""

from __future__ import annotations

import os
import tempfile
from functools import lru_cache
from pathlib import Path

from capfst.kernels import objects
from capfst.kernels.declaration import Declaration

_CHECKOUT = Path(__file__).parents[2]


def compiled(kernel: Declaration, level: str, suffix: str) -> tuple[Path, int]:
    """Return the library that has the kernel, and 0; or, if indices are checked, a library of `give_back` alone, and
    the address of the kernel's entry. suffix: of libraries."""
    if os.environ.get("NUMBA_BOUNDSCHECK"):
        from capfst.kernels import entries  # noqa: PLC0415  (numba takes a second)

        return _linked([], _folder() / f"arrays{suffix}"), entries.entry(kernel).address
    file = objects.object_file(kernel, level, _folder())
    objects.compile_kernel(kernel, [level], _folder())
    return _linked([file], file.with_suffix(suffix)), 0


def _linked(files: list[Path], library: Path) -> Path:
    if not library.exists():
        objects.link(files, library)
    return library


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
