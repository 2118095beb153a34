"""Facts: read the tables `grammars/*.tsv`, which describe characters and languages.

In: the name of a table. Out: its rows; `code_points` reads a cell of characters. The modules of this package and the
grammars in pynini, which restate their rules, read the same tables.
"""

from functools import cache
from itertools import chain
from pathlib import Path

from capfst.exceptions import CapfstError


def folder() -> Path:
    """Return the folder of the tables: an installed package contains it, a checkout has it next to the package."""
    package = Path(__file__).parent.parent
    for folder in (package / "grammars", package.parent / "grammars"):
        if folder.is_dir():
            return folder
    raise CapfstError(f"{package / 'grammars'}: not found, so the installation is damaged. Reinstall capfst.")


def rows(name: str) -> list[list[str]]:
    """Return the rows of a table, each a list of its columns, without the comment lines (those that begin with `#`).

    Raises:
        CapfstError: the folder of the tables is missing.
    """
    text = (folder() / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


@cache
def small_in_titles(language: str | None = None) -> frozenset[str]:
    """Return the words that stay small in titles and names of a language; None: of all languages that are listed."""
    listed = [words.split(" ") for name, words in rows("title_case.tsv") if language in (None, name)]
    return frozenset(chain.from_iterable(listed))


def code_points(cell: str) -> list[int]:
    """Return the characters of a cell, in which they are separated by spaces: each as itself or as hexadecimal code."""
    return [ord(item) if len(item) == 1 else int(item, 16) for item in cell.split(" ")]
