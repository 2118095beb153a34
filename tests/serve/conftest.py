"""Services for all tests of this folder. (The modules of tests import support.service, which skips them if the extra is
not installed; a conftest.py must not.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.service import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    from support.service import serving  # noqa: PLC0415

    with serving("--lm", "en", "--lm", "several=multi") as service:
        yield service


@pytest.fixture(scope="session")
def limited() -> Iterator[Service]:
    """Return a service with low limits."""
    from support.service import serving  # noqa: PLC0415

    limits = {"timeout": 2, "max-body": 2000, "max-lines": 5, "max-words": 3, "max-connections": 20, "max-file": 3000}
    with serving(*(part for name, value in limits.items() for part in (f"--{name}", value))) as service:
        yield service
