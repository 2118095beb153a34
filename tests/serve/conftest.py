"""A service for all tests of this folder, unless its extra is not installed."""

from collections.abc import Iterator

import pytest
from support.service import Service, serving

pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    with serving("--lm", "en", "--lm", "several=multi") as service:
        yield service


@pytest.fixture(scope="session")
def limited() -> Iterator[Service]:
    """Return a service with low limits."""
    limits = {"timeout": 2, "max-body": 2000, "max-lines": 5, "max-words": 3, "max-connections": 20, "max-file": 3000}
    with serving(*(part for name, value in limits.items() for part in (f"--{name}", value))) as service:
        yield service
