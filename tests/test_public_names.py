"""Test the public names: each exists whatever is imported, and no module of the same name hides it."""

import pkgutil

import pytest
from support.command_line import run_python

import capfst

NAMES = sorted(capfst.__all__)


def printed(code: str) -> str:
    return run_python(code).stdout.decode()


def test_no_module_has_a_public_name():
    assert {module.name for module in pkgutil.iter_modules(capfst.__path__)}.isdisjoint(NAMES)


def test_public_names_are_listed_before_they_are_loaded():
    code = "import sys, capfst; print(*dir(capfst)); assert not {'numba', 'numpy'} & {*sys.modules}"
    assert {*NAMES, "__doc__"} <= {*printed(code).split()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import capfst",
        "import capfst.exceptions, capfst.evaluate.score, capfst.evaluate.error_analysis, capfst.training",
        "import capfst.training, capfst.recaser, capfst.cli, capfst.evaluate.error_analysis; import capfst",
        "from capfst.evaluate import score, error_analysis; import capfst",
        "import capfst; capfst.analyze_errors; import capfst.evaluate.error_analysis, capfst.evaluate.score",
        "from capfst import *; import capfst; assert (load, score) == (capfst.load, capfst.score)",
    ],
)
def test_public_names_are_the_same_whatever_is_imported(imports):
    code = f"""
{imports}
import types
values = [getattr(capfst, name) for name in {NAMES}]
print(*(type(value).__name__ for value in values))
assert issubclass(capfst.CapfstError, Exception)
texts = {{"references": [], "hypotheses": []}}
assert capfst.analyze_errors(**texts).lines == capfst.score(**texts).lines == 0
"""
    kinds = ["str" if name == "__version__" else "type" if name[0].isupper() else "function" for name in NAMES]
    assert printed(code).split() == kinds


@pytest.mark.parametrize("name", ["score", "analyze_errors"])
def test_references_and_hypotheses_are_keywords(name):
    with pytest.raises(TypeError, match="positional"):
        getattr(capfst, name)(["A"], ["a"])


def test_missing_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'recapitalize'"):
        capfst.recapitalize  # noqa: B018
