"""Runs a Jupyter notebook's cells, and puts what they print into it; needs no Jupyter.

    python scripts/run_notebook.py docs/notebook.ipynb

Run it again when the ready model or the notebook has changed: tests/test_docs.py compares.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> None:
    """Runs the code cells in their order, each in the names that those before have left, and replaces their outputs."""
    names: dict[str, Any] = {}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = _outputs("".join(cell["source"]), names, count)


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line if that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    value = None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        notebook = json.loads(path.read_text("utf-8"))
        run(notebook)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
