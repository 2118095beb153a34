"""The optional packages and programs of the experiments."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

from capfst.exceptions import CapfstError


def require(*packages: str) -> None:
    """Check at the start of a program that packages are installed.

    Raises:
        CapfstError: some are not installed.
    """
    if missing := [package for package in packages if find_spec(package) is None]:
        raise CapfstError(f"not installed: {', '.join(missing)}. Run: pip install '.[experiments]'")


def require_program(program: str, package: str) -> None:
    """Check that a program of a Debian package is installed.

    Raises:
        CapfstError: it is not installed.
    """
    if shutil.which(program) is None:
        raise CapfstError(f"not installed: {program}. Run: apt-get install {package}")
