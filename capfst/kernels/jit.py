"""Machine code of one kernel, when it is called: for developers, whose kernels are newer than the library.

It is made as by the build, and kept in build/kernels of the checkout under the digest of all that it was made of; so
each kernel is compiled once, again after it was edited, and needs numba only for that. Without a checkout, nothing is
kept.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import lru_cache
from pathlib import Path

from capfst.kernels import objects
from capfst.kernels.declaration import Declaration, Specialization

_CHECKOUT = Path(__file__).parents[2]
_GIVE_BACK = "give_back"


@lru_cache(None)
def load(kernel: Declaration, specialization: Specialization, level: str) -> ctypes.CDLL:
    """Return a library that has the kernel's entry, and `give_back`."""
    file = objects.path(_folder(), specialization.name, kernel.digest, level)
    library = file.with_suffix(".so")
    if not library.exists():
        given = objects.path(_folder(), _GIVE_BACK, "", level)
        for name, path in (specialization.name, file), (_GIVE_BACK, given):
            if not path.exists():
                from capfst.kernels import entries  # noqa: PLC0415  (numba takes a second)

                made = entries.give_back() if path == given else entries.entry(kernel, specialization)
                objects.emit(*made, name, level, path)
        objects.link([file, given], library)
    return ctypes.CDLL(str(library))


@lru_cache(1)
def _folder() -> Path:
    if (_CHECKOUT / "pyproject.toml").exists():
        folder = _CHECKOUT / "build" / "kernels"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    return Path(_temporary().name)


@lru_cache(1)
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="capfst-")
