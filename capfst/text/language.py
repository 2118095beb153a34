"""Languages: the rules of case and clitics that depart from Unicode's default.

In: the names of languages; `grammars/languages.tsv`, `clitics.tsv` and `small_first.tsv`. Out: `Language`, tables for
kernels: one mechanism serves all languages, and no kernel depends on a language. `grammars/lower.py` and
`grammars/shapes.py` have the same rules as grammars.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from capfst.exceptions import OptionError
from capfst.kernels.types import U64Array
from capfst.text import unicode as uni
from capfst.text.facts import code_points, rows

NAME = "default"
"""The name of Unicode's default."""
TITLE, UPPER, MIXED = 1, 2, 4
"""Marks of a sequence: it begins capitalized words, is inside words of capitals, begins words of mixed case."""

_MARKS = {"TITLE": TITLE, "UPPER": UPPER, "MIXED": MIXED}


class Language(NamedTuple):
    """The rules of a language, or of several, and of the parts of text that a model restores."""

    name: str  # as in the signature of a model: de, de+fr, or NAME; restoring.py appends to it
    lowering: uni.Lowering  # the model restores everything that it removes
    casing: uni.Lowering  # of case alone; it changes nothing if case is not restored
    title: uni.CodePoints  # like TO_TITLE of unicode.py
    upper: uni.CodePoints  # like TO_UPPER of unicode.py
    raisings: uni.CodePoints  # [n, 2 WIDTH + 1]: characters padded with 0; their lowercase, likewise; their marks
    clitics: U64Array  # as in clitics.tsv, each as the lowest bytes of an integer
    info: uni.Bytes = uni.INFO  # like INFO, for the tokenizer
    grammar: tuple[tuple[str, str], ...] = ()  # a user's grammar: characters, and their replacements
    dotted: tuple[int, ...] = ()  # of several languages, in order of their names, those in which i is that of İ
    small_first: tuple[U64Array, ...] = ()  # of each of them, as in small_first.tsv, if one has any

    @property
    def names(self) -> list[str]:
        """The languages, as models number them."""
        return self.name.partition("/")[0].split("+")

    @property
    def restored(self) -> str:
        """The restored parts of text, one of RESTORED of restoring.py."""
        return "case" if not self.restores_spelling else "both" if self.restores_case else "diacritics"

    @property
    def restores_case(self) -> bool:
        return bool(self.casing.case)

    @property
    def restores_spelling(self) -> bool:
        """Whether surface forms differ from the text in more than case."""
        return self.lowering is not self.casing


class _Rule(NamedTuple):
    """A row of languages.tsv."""

    surface: list[int]
    lowercase: list[int]
    marks: int

    def alters_lowercase(self) -> bool:
        """Return whether its lowercase differs from TO_LOWER applied to each character."""
        return [uni.TO_LOWER[code] for code in self.surface] != self.lowercase


def known() -> list[str]:
    """Return the languages that have a grammar."""
    return sorted({row[0] for row in rows("languages.tsv")})


def check_known(name: str) -> None:
    """Raise OptionError if the language has no grammar."""
    if name not in known():
        raise OptionError(
            f"there is no grammar for the language {name!r}. Use one of {', '.join(known())}, or omit `language` for "
            "Unicode's rules."
        )


def rules_for(name: str) -> Language:
    """Return the rules of a language, or Unicode's if it has no grammar."""
    return languages(name) if name in known() else DEFAULT


def languages(names: str) -> Language:
    """Return the rules of one language, or of several, as `de,fr` or `de+fr`.

    Raises:
        OptionError: a language has no grammar.
    """
    each = sorted(set(names.replace("+", ",").split(",")))
    if each == [NAME]:
        return DEFAULT
    for name in each:
        check_known(name)
    return _joined(tuple(each))


@cache
def _joined(names: tuple[str, ...]) -> Language:
    altering = {name: [rule for rule in _rules(name) if rule.alters_lowercase()] for name in names}
    alike = all(rules == altering[names[0]] for rules in altering.values())
    every = [rule for name in names if alike or not altering[name] for rule in _rules(name)]
    table, title = uni.TO_LOWER.copy(), uni.TO_TITLE.copy()
    upper = uni.TO_UPPER.copy()
    # The lowercase of both I and İ is then i in all languages. Turkish text gets its own capitals when it is written
    # (casing/surface.py).
    in_turkish = [ord("I")], [uni.DOTLESS_I]
    dotted = [
        number
        for number, name in enumerate(names)
        if not alike and in_turkish in [(rule.surface, rule.lowercase) for rule in altering[name]]
    ]
    lowered, raised = [], []
    for rule in every:
        if len(rule.surface) == len(rule.lowercase) == 1:
            (surface,), (lowercase,) = rule.surface, rule.lowercase
            table[surface] = lowercase
            if rule.marks & TITLE:
                title[lowercase] = upper[lowercase] = surface
            if rule.marks & UPPER:
                upper[lowercase] = surface
            continue
        row = padded(rule.surface) + padded(rule.lowercase)
        if rule.alters_lowercase():
            lowered.append(row)
        if rule.marks:
            raised.append([*row, rule.marks])
    replaced = {rule.surface[0] for rule in every if len(rule.surface) == 1} | {uni.DOTTED_CAPITAL_I for _ in dotted}
    lowered += [row for row in uni.LOWERING.sequences.tolist() if row[0] not in replaced]
    for made in (table, title, upper):
        made.flags.writeable = False
    small_first = tuple(_words("small_first.tsv", names))
    lowering = uni.Lowering.of(table, longest_first(lowered, 0, 2 * uni.WIDTH))
    return Language(
        "+".join(names),
        lowering,
        lowering,
        title,
        upper,
        longest_first(raised, uni.WIDTH, 2 * uni.WIDTH + 1),
        np.unique(np.concatenate(_words("clitics.tsv", names))),
        dotted=tuple(dotted),
        small_first=small_first if any(map(len, small_first)) else (),
    )


def _rules(name: str) -> list[_Rule]:
    return [
        _Rule(code_points(row[1]), code_points(row[2]), sum(map(_MARKS.__getitem__, row[3:])))
        for row in rows("languages.tsv")
        if row[0] == name and len(row) > 1
    ]


def _words(table: str, names: tuple[str, ...]) -> list[U64Array]:
    """Return the words of each language in a table, each as the lowest bytes of an integer."""
    keys = [(language, int.from_bytes(word.encode("ascii"), "little")) for language, word in rows(table)]
    return [np.array([key for language, key in keys if language == name], np.uint64) for name in names]


def padded(codes: list[int]) -> list[int]:
    """Pad the characters to a side of a sequence."""
    return codes + [0] * (uni.WIDTH - len(codes))


def longest_first(sequences: list[list[int]], side: int, width: int) -> uni.CodePoints:
    """Return sequences as rows of a table, sorted by the length of the side that begins in column `side`, longest
    first."""
    ordered = sorted(sequences, key=lambda row: -np.count_nonzero(row[side : side + uni.WIDTH]))
    return np.array(ordered, np.uint32).reshape(-1, width)


_NO_RAISINGS, _NO_CLITICS = np.empty((0, 2 * uni.WIDTH + 1), np.uint32), np.empty(0, np.uint64)
DEFAULT = Language(NAME, uni.LOWERING, uni.LOWERING, uni.TO_TITLE, uni.TO_UPPER, _NO_RAISINGS, _NO_CLITICS)
"""Unicode's default, for all languages."""
