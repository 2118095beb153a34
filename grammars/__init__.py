"""Grammars, of lowering (lower.py), of capitals (shapes.py) and of names (names.py): rules in code, facts in TSV.

In: the `.tsv` files of this folder. Out: `rows`, which reads one of them, `code_points`, which reads a cell of
characters, and one module per grammar. The grammars need pynini (`pip install 'capfst[openfst]'`); recasing needs the
facts only, and tests compare its kernels with the rules.
"""

from importlib.resources import files


def rows(name: str) -> list[list[str]]:
    """The rows of the table `name`, each a list of its columns; lines that begin with `#` are comments."""
    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


def code_points(cell: str) -> list[int]:
    """The characters of a cell, which has spaces between them: each itself, or its code point in hexadecimal."""
    return [ord(item) if len(item) == 1 else int(item, 16) for item in cell.split(" ")]
