"""Set up all tests: markers by path, skips for missing optional packages, and fixtures that every test shares."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from support import contextual

from capfst.exceptions import CapfstError

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

sys.path.append(str(Path(__file__).parent.parent))  # for `grammars`; last, so that an installed capfst is preferred

# No example has to be quick: the first one of a test may compile a kernel that only tests call. Continuous integration
# tries the same examples each time, so that a change does not fail by chance; elsewhere, they are new ones each time.
settings.register_profile("capfst", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("capfst")

PYNINI = ("pynini", "pywrapfst")  # what its wheel installs
TESTS = Path(__file__).parent
MARKERS = {
    "spark": ("spark/*",),
    "cli": ("cli/*", "test_cli*.py", "*/test_command_line.py", "test_start.py"),
    "docs": ("test_docs.py",),
}
"""The markers of tests by their files, as patterns of paths below tests/."""
TOGETHER = ("tests/bilingual", "tests/punctuation", "tests/spark")
"""Folders whose tests share what takes long to make: a trained model, or Spark. One process runs all of a folder."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the markers that `MARKERS` lists for its file."""
    for item in items:
        path = item.path.relative_to(TESTS) if item.path.is_relative_to(TESTS) else item.path
        for name, patterns in MARKERS.items():
            if any(path.match(pattern) for pattern in patterns):
                item.add_marker(name)


@pytest.hookimpl(optionalhook=True)  # runs only with xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadScopeScheduling":
    """With several processes (`-n`), give each the next file, or the next folder of `TOGETHER`."""
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folder = "/".join(nodeid.split("/")[:2])
            return folder if folder in TOGETHER else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    return (yield from _skipped_without_pynini())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    return (yield from _skipped_without_pynini())


def _skipped_without_pynini() -> Iterator[None]:
    """Skip a test that needs pynini, or the engine `openfst`, if pynini is not installed."""
    try:
        return (yield)
    except (CapfstError, ModuleNotFoundError) as error:
        missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
        if isinstance(missing, ModuleNotFoundError) and missing.name in PYNINI:
            pytest.skip("pynini is not installed")
        raise


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep capfst from writing to the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Let Ctrl-C stop the processes under test, even if the tests run in the background, where a shell makes its child
    processes ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def contextual_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model with a context model, which tests must not overwrite."""
    return contextual.train(tmp_path_factory.mktemp("contextual") / "cap.fst")
