"""A Recaser that tests of the context model share."""

from pathlib import Path

import pytest

from capfst.recaser import Recaser, load


@pytest.fixture(scope="module")
def recaser(contextual_model: Path) -> Recaser:
    """Return a Recaser with the default options, which tests must not change."""
    return load(contextual_model)
