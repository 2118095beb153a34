"""Lowering: surface form × lowercase form, over characters (UTF-8 bytes).

In: lower.tsv (each capital and its lowercase), languages.tsv (what is otherwise in a language) and characters.tsv
(what the final-sigma rule sees). Out: LOWERING, a function on strings that gives what `str.lower` gives, or what a
language has instead; RAISING, its inverse, from a lowercase form to all its surface forms: T, before it is restricted
to a vocabulary.

Try it:

    python -c "from capfst.grammars.lower import lower; print(lower('ΟΔΟΣ'), lower('İSTANBUL'))"
    python -c "from capfst.grammars.lower import lower; print(lower('ISPARTA', 'tr'), lower('İSTANBUL', 'tr'))"
"""

from functools import cache
from itertools import chain

import pynini
from pynini.lib import rewrite, utf8

from capfst.exceptions import CapfstError

from . import code_points, rows

DEFAULT = "default"
"""The name of the language that has Unicode's rules."""


def _text(cell: str) -> str:
    """The string of a cell of characters."""
    return "".join(map(chr, code_points(cell)))


def departures(language: str) -> list[tuple[str, str, list[str]]]:
    """Where a language departs from lower.tsv: surface form, its lowercase, marks."""
    found = [row for row in rows("languages.tsv") if row[0] == language]
    if not found and language != DEFAULT:
        raise CapfstError(f"there is no grammar for the language {language!r}: use one of those in languages.tsv")
    return [(_text(row[1]), _text(row[2]), row[3:]) for row in found if len(row) > 1]


def _members(flag: str) -> pynini.Fst:
    """The characters to which characters.tsv gives the flag."""
    members = [row for row in rows("characters.tsv") if flag in row[3:]]
    codes = chain.from_iterable(range(int(row[0], 16), int(row[1], 16) + 1) for row in members)
    return pynini.string_map(map(chr, codes)).optimize()


@cache
def lowering(language: str = DEFAULT) -> pynini.Fst:
    """LOWERING: surface form × lowercase form. Shared: copy it before changing it."""
    # Inventory
    character = utf8.VALID_UTF8_CHAR
    lowercase = {_text(row[0]): _text(row[1]) for row in rows("lower.tsv")}
    sequences: dict[str, str] = {}
    for surface, small, _ in departures(language):
        (lowercase if len(surface) == 1 else sequences)[surface] = small
    capital = pynini.string_map(lowercase.items())
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
    if sequences:
        each = pynini.string_map(sequences.items()).optimize()
        small_letters = pynini.compose(rewritten(each), small_letters).optimize()
    return pynini.compose(final_sigma, small_letters).optimize()


def rewritten(rule: pynini.Fst) -> pynini.Fst:
    """The rule wherever it applies."""
    return pynini.cdrewrite(rule, "", "", pynini.closure(utf8.VALID_UTF8_CHAR).optimize())


@cache
def raising(language: str = DEFAULT) -> pynini.Fst:
    """RAISING: lowercase form × each of its surface forms. Shared: copy it before changing it."""
    return pynini.invert(lowering(language)).arcsort("ilabel")


def lower(word: str, language: str = DEFAULT) -> str:
    """The lowercase of a word. Raises CapfstError if it holds NUL."""
    return rewrite.one_top_rewrite(spelled(word), lowering(language))


def spelled(word: str) -> str:
    """The word as pynini reads strings. Raises CapfstError if it holds NUL."""
    if "\0" in word:
        raise CapfstError(f"{word!r} holds a NUL, which a grammar cannot spell (label 0 is ε): remove it")
    return pynini.escape(word)
