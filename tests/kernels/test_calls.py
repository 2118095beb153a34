"""Python calls only kernels that the library has: a checkout compiles others unnoticed, an installed capfst cannot.

The calls are found in the source, without running it: each name, or attribute of a module, that is a kernel and occurs
outside kernels.
"""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import capfst
from capfst.kernels import build
from capfst.kernels.function import Kernel

PACKAGE = Path(capfst.__file__).parent
SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def imported(name: str) -> ModuleType | None:
    """Return a module of capfst; None for another, or if a package of an extra that it needs is not installed."""
    if name.partition(".")[0] != "capfst":
        return None
    try:
        return import_module(name)
    except ImportError as error:
        if (error.name or "").startswith("capfst"):
            raise
        return None


def imports(node: ast.AST) -> dict[str, Any]:
    """Return the names that import statements in a function or module define, with their values."""
    names: dict[str, Any] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.ImportFrom):
            source = imported(each.module or "")
            names |= {alias.asname or alias.name: getattr(source, alias.name, None) for alias in each.names}
        elif isinstance(each, ast.Import):
            for alias in each.names:
                module = imported(alias.name)
                names[alias.asname or alias.name.partition(".")[0]] = module if alias.asname else module and capfst
    return names


def own(scope: ast.AST) -> set[str]:
    """Return the parameters and variables of a function."""
    nodes = [*ast.walk(scope)]
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def value(node: ast.AST, names: dict[str, Any]) -> Any:
    if isinstance(node, ast.Attribute):
        module = value(node.value, names)
        return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
    return names.get(node.id) if isinstance(node, ast.Name) else None


def calls(node: ast.AST, names: dict[str, Any], is_top: bool = True) -> Iterator[tuple[int, Kernel]]:
    """Yield the line and the kernel of each mention of a kernel in Python code, given the names that it sees."""
    if isinstance(node, SCOPES):
        hidden = own(node)
        names = {name: known for name, known in names.items() if name not in hidden} | imports(node)
    if isinstance(found := value(node, names), Kernel):
        yield node.lineno, found
    for child in ast.iter_child_nodes(node):
        is_kernel = is_top and isinstance(child, ast.FunctionDef) and isinstance(names.get(child.name), Kernel)
        if not is_kernel:
            yield from calls(child, names, is_top=False)


def calls_in(text: str, defined: dict[str, Any]) -> list[tuple[int, Kernel]]:
    """Return the mentions of kernels in the Python code of a module, which defines these names."""
    tree = ast.parse(text)
    return list(calls(tree, imports(tree) | defined))


@pytest.mark.slow
def test_python_calls_exactly_the_kernels_of_the_library():
    built = {kernel.name for name in build.modules() for kernel in build.kernels_of(name)}
    called: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "kernels" or path.stem == "__main__":
            continue
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        module = imported(name)
        for line, kernel in calls_in(path.read_text("utf-8"), vars(module) if module else {}):
            called[kernel.name] = f"{kernel.name}: {name}, line {line}"
    assert len(called) > 100
    assert [place for name, place in called.items() if name not in built] == [], "make it a `kernel` or `allocating`"
    assert built - called.keys() == set(), "no Python code calls these: make them `inner`"


@pytest.mark.parametrize(
    "text",
    [
        "from capfst.context.features import decision as d\nd(1)",
        "from capfst.context import features\ndef f(x):\n    return sum(map(features.decision, x))",
        "def f():\n    from capfst.context.features import decision\n    return {1: decision}",
        "import capfst.context.features\nasync def f():\n    await (lambda: capfst.context.features.decision(1))()",
        "import capfst.context.features as g\nclass C:\n    call = g.decision",
    ],
)
def test_calls_are_found_however_they_are_written(text: str):
    assert [kernel.name for _, kernel in calls_in(text, {})] == ["context.features.decision"]


def test_variables_and_kernels_are_not_taken_for_calls():
    features = import_module("capfst.context.features")
    text = "from capfst.context.features import decision\ndef f(decision):\n    return decision + 1\n"
    assert calls_in(text, {}) == []
    kernel = "from capfst.context.features import decision\n@kernel\ndef has_capitals(d):\n    return decision(d)\n"
    assert calls_in(kernel, vars(features)) == []
