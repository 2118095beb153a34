"""Run the cells of a Jupyter notebook and write their output into it, without Jupyter.

    \b
    python scripts/maintain/run_notebook.py docs/notebook.ipynb

Run it again when the bundled model or the notebook has changed: tests/test_docs.py compares the output.
"""

from __future__ import annotations

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click


def run(notebook: dict[str, Any]) -> None:
    """Run the code cells in order, in one namespace, and replace their outputs."""
    names: dict[str, Any] = {}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = _outputs("".join(cell["source"]), names, count)


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the printed output of a cell, and the value of its last line if that is an expression, or its picture."""
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
        if hasattr(value, "_repr_svg_") and (picture := value._repr_svg_()):
            data["image/svg+xml"] = picture.splitlines(keepends=True)
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


@click.command(help=__doc__)
@click.argument("notebooks", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def main(notebooks: tuple[Path, ...]) -> None:
    for path in notebooks:
        notebook = json.loads(path.read_text("utf-8"))
        run(notebook)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
