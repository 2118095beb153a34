"""Shapes: lowercase word × the word capitalized, and × the word in capitals.

In: lower.tsv (letters and their capitals), languages.tsv (where a language departs from it), characters.tsv (which
characters have case). Out: CAPITALIZED and UPPER, functions on strings, and `capitalized` and `upper`, which apply
them. `capfst/casing/shapes.py` does the same in kernels; words in mixed case are in names.py.

Try it:

    python -c "from capfst.grammars.shapes import capitalized; print(capitalized('ijsberg', 'nl'))"
    python -c "from capfst.grammars.shapes import upper; print(upper('istanbul', 'tr'), upper('straße', 'de'))"
"""

from functools import cache

import pynini
from pynini.lib import rewrite, utf8

from capfst.text.facts import rows

from .lower import DEFAULT, departures, lower, rewritten, spelled

Fst = pynini.Fst

CHARACTER = utf8.VALID_UTF8_CHAR
_ANY_TEXT = pynini.closure(CHARACTER).optimize()


def _letters(language: str, *marks: str) -> dict[str, str]:
    """Return the lowercase letters whose capital has one of the marks, and these capitals; if several capitals do, the
    one of the last mark."""
    marked = [(mark, row) for mark in marks for row in rows("lower.tsv") if row[2:] == [mark]]
    letters = {chr(int(small, 16)): chr(int(capital, 16)) for _, (capital, small, _) in marked}
    for surface, small, has in departures(language):
        if len(surface) == len(small) == 1 and set(has) & set(marks):
            letters[small] = surface
    return letters


def sequences(language: str, mark: str) -> Fst:
    """Build lowercase × surface form of the language's sequences that have the mark; an empty FST if there are none."""
    marked = [
        (small, surface) for surface, small, marks in departures(language) if mark in marks and len(surface + small) > 2
    ]
    return pynini.string_map(marked).optimize() if marked else pynini.Fst()


def _changing(letters: dict[str, str]) -> Fst:
    """Build a rule for one character: its capital if it has one, else the character."""
    others = pynini.difference(CHARACTER, pynini.string_map(letters).optimize())
    return pynini.union(pynini.string_map(letters.items()), others).optimize()


def _first_of(sequence: Fst, other: Fst) -> Fst:
    """Build the sequence, then any text; for text that does not begin with a sequence, the other rule."""
    if not sequence.num_states():
        return other
    begun = (pynini.project(sequence, "input") + _ANY_TEXT).optimize()
    rest = pynini.difference(_ANY_TEXT, pynini.determinize(begun.rmepsilon()).minimize())
    return pynini.compose(rest, other)


@cache
def capitalizing(language: str = DEFAULT) -> Fst:
    """Build CAPITALIZED: word × the word with a capital. Shared: copy it before you change it."""
    members = [row for row in rows("characters.tsv") if "CASED" in row[3:]]
    cased = pynini.string_map(chr(c) for row in members for c in range(int(row[0], 16), int(row[1], 16) + 1)).optimize()
    uncased = pynini.closure(pynini.difference(CHARACTER, cased)).optimize()
    sequence = sequences(language, "TITLE")
    letter = pynini.compose(cased, _changing(_letters(language, "TITLE"))) + _ANY_TEXT
    begin = pynini.union(sequence + _ANY_TEXT, _first_of(sequence, letter))
    return pynini.union(uncased + begin, uncased).optimize()


@cache
def raising_all(language: str = DEFAULT) -> Fst:
    """Build UPPER: word × the word in capitals. Shared: copy it before you change it."""
    letters = pynini.closure(_changing({**_letters(language, "TITLE", "UPPER"), "ς": "Σ"})).optimize()
    inner, begin = sequences(language, "UPPER"), sequences(language, "TITLE")
    if inner.num_states():
        letters = pynini.compose(rewritten(inner), letters).optimize()
    return pynini.union(begin + letters, _first_of(begin, letters)).optimize()


def capitalized(word: str, language: str = DEFAULT) -> str:
    """Capitalize a lowercase word; return it unchanged if the result has another lowercase. Raise CapfstError if it
    contains NUL."""
    return _restored(word, capitalizing(language), language)


def upper(word: str, language: str = DEFAULT) -> str:
    """Return a lowercase word in capitals; return it unchanged if the result has another lowercase. Raise CapfstError
    if it contains NUL."""
    return _restored(word, raising_all(language), language)


def _restored(word: str, rule: Fst, language: str) -> str:
    form = rewrite.one_top_rewrite(spelled(word), rule)
    return form if lower(form, language) == word else word
