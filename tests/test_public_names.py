"""The public names: each is there, whatever is imported, and none is hidden by a module of the same name."""

import pkgutil
import subprocess
import sys

import pytest
from support.command_line import TIMEOUT

import capfst

NAMES = sorted(capfst.__all__)


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout


def test_no_module_is_called_as_a_public_name():
    assert {module.name for module in pkgutil.iter_modules(capfst.__path__)}.isdisjoint(NAMES)


def test_they_are_listed_before_they_are_loaded():
    code = "import sys, capfst; print(*dir(capfst)); assert not {'numba', 'numpy'} & {*sys.modules}"
    assert {*NAMES, "__doc__"} <= {*printed(code).split()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import capfst",
        "import capfst.exceptions, capfst.evaluate.score, capfst.evaluate.error_analysis, capfst.training",
        "import capfst.training, capfst.recaser, capfst.cli, capfst.evaluate.error_page; import capfst",
        "from capfst.evaluate import score, error_analysis; import capfst",
        "import capfst; capfst.errors; import capfst.evaluate.error_analysis, capfst.evaluate.score",
        "from capfst import *; import capfst; assert (load, errors) == (capfst.load, capfst.errors)",
    ],
)
def test_they_are_what_they_should_be_whatever_is_imported(imports):
    code = f"""
{imports}
import types
values = [getattr(capfst, name) for name in {NAMES}]
print(*(type(value).__name__ for value in values))
assert issubclass(capfst.CapfstError, Exception) and capfst.errors([], []).lines == capfst.score([], []).lines == 0
"""
    classes = ["CapfstError", "CorpusError", "ModelError", "OptionError", "Recaser"]
    kinds = {**dict.fromkeys(classes, "type"), "__version__": "str"}
    assert printed(code).split() == [kinds.get(name, "function") for name in NAMES]


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'recapitalise'"):
        capfst.recapitalise  # noqa: B018
