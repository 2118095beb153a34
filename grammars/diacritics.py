"""Stripping: text × the text without diacritics, over characters (UTF-8 bytes).

In: decompositions.tsv (letters with diacritics, and the diacritics), diacritics.tsv (other letters, and where a
language departs from both). Out: STRIPPING, a function on strings that takes each character by itself, and `strip`,
which applies it. `capfst/text/restoring.py` makes tables from the same facts.

Try it:

    python -c "from capfst.grammars.diacritics import strip; print(strip('Où est le garçon ? Œuvre, Łódź'))"
    python -c "from capfst.grammars.diacritics import strip; print(strip('Ёжик и йод', 'ru'))"
"""

from functools import cache

import pynini
from pynini.lib import rewrite, utf8

from capfst.text.facts import rows

from .lower import DEFAULT, spelled


def left(language: str = DEFAULT) -> dict[str, str]:
    """Return the replacement of each character that is stripped."""
    facts = {letter: rest for of, letter, rest in rows("diacritics.tsv") if of in (DEFAULT, language)}
    bases = {chr(int(code, 16)): chr(int(base, 16)) if base else "" for code, base in rows("decompositions.tsv")}
    return {letter: facts.get(base, base) for letter, base in bases.items()} | facts


@cache
def stripping(language: str = DEFAULT) -> pynini.Fst:
    """Build STRIPPING: text × text without diacritics. Shared: copy it before you change it."""
    stripped = pynini.string_map(left(language).items())
    others = pynini.difference(utf8.VALID_UTF8_CHAR, pynini.project(stripped, "input").optimize())
    return pynini.closure(pynini.union(stripped, others)).optimize()


def strip(text: str, language: str = DEFAULT) -> str:
    """Return a text without its diacritics. Raise CapfstError if it contains NUL."""
    return rewrite.one_top_rewrite(spelled(text), stripping(language))
