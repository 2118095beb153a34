"""Lowering: surface form × lowercase form, over characters (UTF-8 bytes).

In: lower.tsv (each capital and its lowercase), languages.tsv (where a language departs from it) and characters.tsv (the
classes of the final-sigma rule). Out: LOWERING, a function on strings that equals `str.lower`, except for the rules of
a language; RAISING, its inverse, from a lowercase form to all its surface forms, which is T without a vocabulary.

Try it:

    python -c "from capfst.grammars.lower import lower; print(lower('ΟΔΟΣ'), lower('İSTANBUL'))"
    python -c "from capfst.grammars.lower import lower; print(lower('ISPARTA', 'tr'), lower('İSTANBUL', 'tr'))"
"""

from functools import cache
from itertools import chain

import pynini
from pynini.lib import rewrite, utf8

from capfst.exceptions import CapfstError, OptionError
from capfst.text.facts import code_points, rows

DEFAULT = "default"
"""The language name for Unicode's rules."""


def _text(cell: str) -> str:
    """Return the string of a cell of characters."""
    return "".join(map(chr, code_points(cell)))


def departures(language: str) -> list[tuple[str, str, list[str]]]:
    """Return where a language departs from lower.tsv: surface form, its lowercase, marks. Raise OptionError for an
    unknown language."""
    own_rows = [row for row in rows("languages.tsv") if row[0] == language]
    if not own_rows and language != DEFAULT:
        raise OptionError(f"There is no grammar for the language {language!r}. Use one of those in languages.tsv.")
    return [(_text(row[1]), _text(row[2]), row[3:]) for row in own_rows if len(row) > 1]


def _members(flag: str) -> pynini.Fst:
    """Return an acceptor of the characters with this flag in characters.tsv."""
    members = [row for row in rows("characters.tsv") if flag in row[3:]]
    codes = chain.from_iterable(range(int(row[0], 16), int(row[1], 16) + 1) for row in members)
    return pynini.string_map(map(chr, codes)).optimize()


@cache
def lowering(language: str = DEFAULT) -> pynini.Fst:
    """Build LOWERING: surface form × lowercase form. Shared: copy it before you change it."""
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
    """Apply a rule wherever possible."""
    return pynini.cdrewrite(rule, "", "", pynini.closure(utf8.VALID_UTF8_CHAR).optimize())


@cache
def raising(language: str = DEFAULT) -> pynini.Fst:
    """Build RAISING: lowercase form × each of its surface forms. Shared: copy it before you change it."""
    return pynini.invert(lowering(language)).arcsort("ilabel")


def lower(word: str, language: str = DEFAULT) -> str:
    """Return the lowercase of a word. Raise CapfstError if it contains NUL."""
    return rewrite.one_top_rewrite(spelled(word), lowering(language))


def spelled(word: str) -> str:
    """Escape a word for pynini. Raise CapfstError if it contains NUL."""
    if "\0" in word:
        raise CapfstError(f"{word!r} contains NUL, which grammars cannot represent (label 0 is ε). Remove it.")
    return pynini.escape(word)
