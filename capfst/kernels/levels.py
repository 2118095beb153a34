"""The levels of processors, and the path of the library for each."""

import platform
from pathlib import Path

from capfst.kernels import _call

FOLDER = Path(__file__).parent / "lib"
DIGESTS = FOLDER / "digests.json"


def own_level() -> str:
    """Return the level of this machine's processor."""
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return f"x86-64-v{_call.level()}" if machine == "x86_64" else machine


def path_of(level: str) -> Path:
    """Return the path of the library of a level, the same on all systems."""
    return FOLDER / f"{level}.so"
