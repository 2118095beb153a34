"""For all tests."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from support import contextual
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from capfst.exceptions import CapfstError

sys.path.append(str(Path(__file__).parent.parent))  # for `grammars`; last, so that an installed capfst is preferred

# No example has to be quick: the first one of a test may compile a kernel that only tests call.
settings.register_profile("capfst", deadline=None)
settings.load_profile("capfst")

PYNINI = ("pynini", "pywrapfst")  # what its wheel installs


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    config.option.loadscopereorder = False
    return _Scheduling(config, log)


class _Scheduling(LoadScopeScheduling):
    """With several processes (`-n`), each takes the next file, and one takes all of Spark."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/spark" if nodeid.startswith("tests/spark/") else nodeid.partition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    return (yield from _skipped_without_pynini())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    return (yield from _skipped_without_pynini())


def _skipped_without_pynini() -> Iterator[None]:
    """Skips a test that asks for pynini, or for the engine that needs it, where it is not installed."""
    try:
        return (yield)
    except (CapfstError, ModuleNotFoundError) as error:
        missing = error if isinstance(error, ModuleNotFoundError) else error.__cause__
        if isinstance(missing, ModuleNotFoundError) and missing.name in PYNINI:
            pytest.skip("pynini is not installed")
        raise


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is remembered in the user's own cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> None:
    """Ctrl-C stops the processes that are tested, also if it does not stop the tests: a shell has what it runs in the
    background ignore it, and children inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def contextual_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a context model; not to be written to."""
    return contextual.train(tmp_path_factory.mktemp("contextual") / "cap.fst")
