"""A Recaser that tests of the context model share."""

from pathlib import Path

import pytest
from support import contextual

from capfst.context import train as context_training
from capfst.recaser import Recaser, load


@pytest.fixture(scope="module")
def recaser(contextual_model: Path) -> Recaser:
    """Return a Recaser with the default options, which tests must not change."""
    return load(contextual_model)


@pytest.fixture(scope="package")
def with_network(tmp_path_factory: pytest.TempPathFactory) -> Recaser:
    """Return a Recaser whose model has a network, although its corpus is small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context_training, "LEAST_FOR_NETWORK", 0)
        return load(contextual.train(tmp_path_factory.mktemp("network") / "cap.fst"))
