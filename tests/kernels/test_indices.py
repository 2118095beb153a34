"""Kernels are compiled without numba's wraparound handling (entries.py), so no index may be negative."""

import ast
from itertools import chain
from pathlib import Path

import capfst

DECORATORS = {"kernel", "allocating", "inner", "inner_allocating", "inlined", "outlined"}


def negative_indices(source: str) -> list[int]:
    """Return the lines of a module in which the index of a kernel has a minus sign."""
    kernels = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and any(getattr(decorator, "id", "") in DECORATORS for decorator in node.decorator_list)
    )
    indices = ((n.lineno, n.slice) for k in kernels for n in ast.walk(k) if isinstance(n, ast.Subscript))
    return [
        line
        for line, index in indices
        for part in (index.elts if isinstance(index, ast.Tuple) else [index])
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub)
    ]


def test_negative_indices_are_found() -> None:
    assert negative_indices("@kernel\ndef f(a):\n    return a[-1]") == [3]
    assert negative_indices("@inner_allocating\ndef f(a):\n    a[0, -1] = 0") == [3]
    assert negative_indices("def f(a):\n    return a[-1]\n@kernel\ndef g(a):\n    return a[: -1]") == []


def test_kernels_have_no_negative_indices() -> None:
    package = Path(capfst.__file__).parent
    modules = chain(package.rglob("*.py"), (package.parent / "scripts").rglob("*.py"))
    found = {str(path): negative_indices(path.read_text("utf-8")) for path in modules}
    assert {path: lines for path, lines in found.items() if lines} == {}
