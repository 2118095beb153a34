"""Stripping: text × the same without its diacritics, over characters (UTF-8 bytes).

In: decompositions.tsv (letters with diacritics, and the diacritics), diacritics.tsv (other letters, and what is
otherwise in a language). Out: STRIPPING, a function on strings that takes each character by itself, and `strip`, which
asks it. `capfst/text/restoring.py` makes tables of the same facts.

Try it:

    python -c "from capfst.grammars.diacritics import strip; print(strip('Où est le garçon ? Œuvre, Łódź'))"
    python -c "from capfst.grammars.diacritics import strip; print(strip('Ёжик и йод', 'ru'))"
"""

from functools import cache

import pynini
from pynini.lib import rewrite, utf8

from . import rows
from .lower import DEFAULT, spelled


def left(language: str = DEFAULT) -> dict[str, str]:
    """What is left of each character that is stripped."""
    facts = {letter: rest for of, letter, rest in rows("diacritics.tsv") if of in (DEFAULT, language)}
    bases = {chr(int(code, 16)): chr(int(base, 16)) if base else "" for code, base in rows("decompositions.tsv")}
    return {letter: facts.get(base, base) for letter, base in bases.items()} | facts


@cache
def stripping(language: str = DEFAULT) -> pynini.Fst:
    """STRIPPING: text × text without diacritics. Shared: copy it before changing it."""
    stripped = pynini.string_map(left(language).items())
    others = pynini.difference(utf8.VALID_UTF8_CHAR, pynini.project(stripped, "input").optimize())
    return pynini.closure(pynini.union(stripped, others)).optimize()


def strip(text: str, language: str = DEFAULT) -> str:
    """A text without its diacritics. Raises CapfstError if it holds NUL."""
    return rewrite.one_top_rewrite(spelled(text), stripping(language))
