"""Write the Unicode tables of `grammars/`: characters.tsv, lower.tsv and decompositions.tsv.

In: `unicodedata` and the methods of `str` of the running Python. Out: the tables, with the Unicode version in their
first line. The tables in the tree were written by Python 3.13 (Unicode 15.1):

    python3.13 scripts/maintain/make_characters.py [FOLDER]

capfst lowercases by these tables, whatever its Python version, so that a model gives the same results everywhere.
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

GRAMMARS = Path(__file__).resolve().parents[2] / "grammars"
CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1)]
LOWERCASE = {c.lower() for c in CHARACTERS if c.lower() != c}
INSIDE_WORDS = {"\u200c", "\u200d", "\u00ad"}  # format characters inside words: joiners, soft hyphen
CLASS_OF_CATEGORY = {"L": "LETTER", "M": "MARK", "N": "NUMBER", "P": "PUNCT", "S": "PUNCT"}


DIACRITICS = [  # combining marks that all scripts use; marks of a single script are often letters
    *range(0x300, 0x370),
    *range(0x1AB0, 0x1B00),
    *range(0x1DC0, 0x1E00),
    *range(0x20D0, 0x2100),
    *range(0xFE20, 0xFE30),
]


def character_class(c: str) -> str:
    """Return the class of c in the tokenizer."""
    if c.isspace():
        return "SPACE"
    if c.lower() != c or c in LOWERCASE:
        return "LETTER"
    if c in INSIDE_WORDS:
        return "MARK"
    return CLASS_OF_CATEGORY.get(unicodedata.category(c)[0], "OTHER")


def sigma_flag(c: str) -> str:
    """Return the class of c in the final-sigma rule of `str.lower`; ignorable goes before cased."""
    if (c + "Σ").lower().endswith("ς"):
        return "CASED"
    if ("A" + c + "Σ").lower().endswith("ς"):
        return "IGNORABLE"
    return ""


def character_rows() -> Iterator[str]:
    facts = ((character_class(c), sigma_flag(c)) for c in CHARACTERS)
    first = 0
    for (name, flag), run in groupby(facts):
        last = first + sum(1 for _ in run) - 1
        if (name, flag) != ("OTHER", ""):
            yield f"{first:04X}\t{last:04X}\t{name}\t{flag}".rstrip()
        first = last + 1


def lower_rows() -> Iterator[str]:
    for c in CHARACTERS:
        lower = c.lower()
        if lower != c:
            mark = "TITLE" if lower.title() == c else "UPPER" if lower.upper() == c else ""
            mark = mark if len(lower) == 1 else ""
            points = " ".join(f"{ord(x):04X}" for x in lower)
            yield f"{ord(c):04X}\t{points}\t{mark}".rstrip()


def decomposition_rows() -> Iterator[str]:
    marks = {chr(code) for code in DIACRITICS if unicodedata.category(chr(code))[0] == "M"}
    for c in CHARACTERS:
        decomposed = unicodedata.normalize("NFD", c)
        base, rest = decomposed[0], decomposed[1:]
        if c in marks:
            yield f"{ord(c):04X}\t"
        elif rest and marks.issuperset(rest) and character_class(base) == "LETTER":
            yield f"{ord(c):04X}\t{ord(base):04X}"


def write(path: Path, columns: str, rows: Iterator[str]) -> None:
    header = f"# Unicode {unicodedata.unidata_version}, by scripts/maintain/make_characters.py. Columns: {columns}\n"
    path.write_text(header + "".join(row + "\n" for row in rows), encoding="utf-8")


def write_tables(folder: Path) -> None:
    """Write the three tables to a folder."""
    write(
        folder / "characters.tsv",
        "first code point; last; class (none: OTHER); class in the final-sigma rule (CASED, IGNORABLE)",
        character_rows(),
    )
    write(
        folder / "lower.tsv",
        "code point; its lowercase; TITLE if the letter begins the capitalized words of its lowercase letter, "
        "UPPER if it is the capital of that letter only in words of capitals",
        lower_rows(),
    )
    write(
        folder / "decompositions.tsv",
        "letter with diacritics; the letter without (canonical decomposition), or nothing for a diacritic",
        decomposition_rows(),
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=GRAMMARS, type=Path, help="folder to write to (grammars/)")
    write_tables(parser.parse_args().folder)


if __name__ == "__main__":
    main()
