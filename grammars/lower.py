"""Lowering, the language default: surface form × lowercase form, over characters (UTF-8 bytes).

In: lower.tsv (each capital and its lowercase) and characters.tsv (what the final-sigma rule sees). Out:
LOWERING, a function on strings that gives what `str.lower` gives; RAISING, its inverse, from a lowercase
form to all its surface forms: T, before it is restricted to a vocabulary. A language with rules of its own has
its own grammar.

Try it:

    python -c "from capfst.grammars.lower import lower; print(lower('ΟΔΟΣ'), lower('İSTANBUL'))"
"""

from functools import cache
from itertools import chain

import pynini
from pynini.lib import rewrite, utf8

from capfst.exceptions import CapfstError

from . import rows


def _text(points: str) -> str:
    """The string of some code points in hexadecimal."""
    return "".join(chr(int(point, 16)) for point in points.split(" "))


def _members(flag: str) -> pynini.Fst:
    """The characters to which characters.tsv gives the flag."""
    members = [row for row in rows("characters.tsv") if flag in row[3:]]
    codes = chain.from_iterable(range(int(row[0], 16), int(row[1], 16) + 1) for row in members)
    return pynini.string_map(map(chr, codes)).optimize()


@cache
def lowering() -> pynini.Fst:
    """LOWERING: surface form × lowercase form. Shared: copy it before changing it."""
    # Inventory
    character = utf8.VALID_UTF8_CHAR
    capital = pynini.string_map((_text(row[0]), _text(row[1])) for row in rows("lower.tsv"))
    not_capital = pynini.difference(character, pynini.project(capital, "input").optimize())
    cased = _members("CASED")
    ignorable = _members("IGNORABLE")
    breaking = pynini.difference(character, pynini.union(cased, ignorable).optimize()).optimize()

    # Rules. Final_Sigma (Unicode 3.13, table 3-17): after cased ignorable*, and not before ignorable* cased.
    final_sigma = pynini.cdrewrite(
        pynini.cross("Σ", "ς"),
        cased + pynini.closure(ignorable),
        pynini.closure(ignorable) + pynini.union(breaking, "[EOS]"),
        pynini.closure(character).optimize(),
    )
    small_letters = pynini.closure(pynini.union(capital, not_capital)).optimize()
    return pynini.compose(final_sigma, small_letters).optimize()


@cache
def raising() -> pynini.Fst:
    """RAISING: lowercase form × each of its surface forms. Shared: copy it before changing it."""
    return pynini.invert(lowering()).arcsort("ilabel")


def lower(word: str) -> str:
    """The lowercase of a word. Raises CapfstError if it holds NUL."""
    return rewrite.one_top_rewrite(spelled(word), lowering())


def spelled(word: str) -> str:
    """The word as pynini reads strings. Raises CapfstError if it holds NUL."""
    if "\0" in word:
        raise CapfstError(f"{word!r} holds a NUL, which a grammar cannot spell (label 0 is ε): remove it")
    return pynini.escape(word)
