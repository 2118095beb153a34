"""The optional packages of the experiments."""

from __future__ import annotations

from importlib.util import find_spec

from capfst.exceptions import CapfstError


def require(*packages: str) -> None:
    """Check at the start of a program that packages are installed.

    Raises:
        CapfstError: some are not installed.
    """
    if missing := [package for package in packages if find_spec(package) is None]:
        raise CapfstError(f"not installed: {', '.join(missing)}. Run: pip install '.[experiments]'")
