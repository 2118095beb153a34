"""For all tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import contextual


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is remembered in the user's own cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def contextual_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a context model beside it; not to be written to."""
    return contextual.train(tmp_path_factory.mktemp("contextual") / "cap.fst")
