"""Shapes: lowercase word × the word capitalised, and × the word in capitals.

In: lower.tsv (letters and their capitals), languages.tsv (what is otherwise in a language), characters.tsv (which
characters have case). Out: CAPITALIZED and UPPER, functions on strings, and `capitalized` and `upper`, which ask them.
`capfst/casing/shapes.py` does the same in kernels; words of mixed case are names.py's.

Try it:

    python -c "from capfst.grammars.shapes import capitalized; print(capitalized('ijsberg', 'nl'))"
    python -c "from capfst.grammars.shapes import upper; print(upper('istanbul', 'tr'), upper('straße', 'de'))"
"""

from functools import cache

import pynini
from pynini.lib import rewrite, utf8

from . import rows
from .lower import DEFAULT, departures, lower, rewritten, spelled

Fst = pynini.Fst

CHARACTER = utf8.VALID_UTF8_CHAR
_EVERY = pynini.closure(CHARACTER).optimize()


def _letters(language: str, *marks: str) -> dict[str, str]:
    """The lowercase letters whose capital has one of the marks, of several the last, and these capitals."""
    marked = [(mark, row) for mark in marks for row in rows("lower.tsv") if row[2:] == [mark]]
    letters = {chr(int(small, 16)): chr(int(capital, 16)) for _, (capital, small, _) in marked}
    for surface, small, has in departures(language):
        if len(surface) == len(small) == 1 and set(has) & set(marks):
            letters[small] = surface
    return letters


def sequences(language: str, mark: str) -> Fst:
    """Lowercase × surface form of the language's sequences that have the mark; empty if none does."""
    marked = [
        (small, surface) for surface, small, marks in departures(language) if mark in marks and len(surface + small) > 2
    ]
    return pynini.string_map(marked).optimize() if marked else pynini.Fst()


def _changing(letters: dict[str, str]) -> Fst:
    """A character, capital if it has one."""
    others = pynini.difference(CHARACTER, pynini.string_map(letters).optimize())
    return pynini.union(pynini.string_map(letters.items()), others).optimize()


def _first_of(sequence: Fst, other: Fst) -> Fst:
    """The sequence, then anything; the other for what does not begin with one."""
    if not sequence.num_states():
        return other
    begun = (pynini.project(sequence, "input") + _EVERY).optimize()
    rest = pynini.difference(_EVERY, pynini.determinize(begun.rmepsilon()).minimize())
    return pynini.compose(rest, other)


@cache
def capitalizing(language: str = DEFAULT) -> Fst:
    """CAPITALIZED: word × the word with a capital. Shared: copy it before changing it."""
    members = [row for row in rows("characters.tsv") if "CASED" in row[3:]]
    cased = pynini.string_map(chr(c) for row in members for c in range(int(row[0], 16), int(row[1], 16) + 1)).optimize()
    uncased = pynini.closure(pynini.difference(CHARACTER, cased)).optimize()
    sequence = sequences(language, "TITLE")
    letter = pynini.compose(cased, _changing(_letters(language, "TITLE"))) + _EVERY
    begin = pynini.union(sequence + _EVERY, _first_of(sequence, letter))
    return pynini.union(uncased + begin, uncased).optimize()


@cache
def raising_all(language: str = DEFAULT) -> Fst:
    """UPPER: word × the word in capitals. Shared: copy it before changing it."""
    letters = pynini.closure(_changing({**_letters(language, "TITLE", "UPPER"), "ς": "Σ"})).optimize()
    inner, begin = sequences(language, "UPPER"), sequences(language, "TITLE")
    if inner.num_states():
        letters = pynini.compose(rewritten(inner), letters).optimize()
    return pynini.union(begin + letters, _first_of(begin, letters)).optimize()


def capitalized(word: str, language: str = DEFAULT) -> str:
    """A lowercase word with a capital; as it is if its lowercase would not be the word again. Raises CapfstError if it
    holds NUL."""
    return _restored(word, capitalizing(language), language)


def upper(word: str, language: str = DEFAULT) -> str:
    """A lowercase word in capitals; as it is if its lowercase would not be the word again. Raises CapfstError if it
    holds NUL."""
    return _restored(word, raising_all(language), language)


def _restored(word: str, rule: Fst, language: str) -> str:
    form = rewrite.one_top_rewrite(spelled(word), rule)
    return form if lower(form, language) == word else word
