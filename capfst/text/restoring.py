"""What a model restores: case, and what else its lowering takes away, such as diacritics.

In: a language; which of both is restored; the facts of `grammars/diacritics.tsv` and `grammars/decompositions.tsv`, or
the map of characters that a user's grammar is (grammars/character_map.py). Out: a `Language` whose lowering is that of
case, if it is restored, and then the map, which takes each character by itself. So restoring it is what restoring case
is: T leads from what is left of a word to its surface forms.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np

from capfst.exceptions import CapfstError
from capfst.grammars import rows
from capfst.text.language import NAME, Language, languages, longest_first, padded
from capfst.text.unicode import (
    CLASS,
    GROWTH,
    INFO,
    IS_INNER,
    LETTER,
    NOTHING,
    NUMBER,
    PUNCT,
    SPACE,
    WIDTH,
    Bytes,
    Lowering,
    is_alphanumeric,
    lower,
)

CASE, DIACRITICS, BOTH = "case", "diacritics", "both"
RESTORED = (CASE, DIACRITICS, BOTH)

Map = Mapping[str, str]
"""What is left of characters; of others, they are left themselves."""


def restoring(names: str, restore: str = CASE, grammar: Map | None = None) -> Language:
    """A language, or several, of which this is restored.

    Args:
        names: as for `languages`.
        restore: one of RESTORED.
        grammar: what a user's grammar leaves of characters, which is restored in the place of diacritics.

    Raises:
        CapfstError: no such language, or a grammar that a model cannot have.
    """
    if restore not in RESTORED:
        raise CapfstError(f"{restore!r} cannot be restored: use one of {', '.join(RESTORED)}")
    if restore == CASE and grammar is not None:
        raise CapfstError(
            "to restore case alone leaves a grammar nothing to do: restore both, or leave the grammar out"
        )
    language = languages(names)
    if grammar is None:
        return language if restore == CASE else _without_diacritics(language.name, restore)
    changed = _checked(grammar)
    pairs = tuple(sorted(changed.items()))
    digest = hashlib.blake2b(repr(pairs).encode(), digest_size=4).hexdigest()
    return _respelled(language, restore, changed)._replace(name=f"{language.name}/{restore}/{digest}", grammar=pairs)


def rules_of(
    language: str | None = None, restore: str | None = None, grammar: str | os.PathLike[str] | None = None
) -> Language:
    """The language of a model that is made with these options (`capfst.train`); CapfstError if there is none."""
    if grammar is None:
        return restoring(language or NAME, restore or CASE)
    try:
        from capfst.grammars import character_map  # noqa: PLC0415  (pynini is an optional part)
    except ModuleNotFoundError as error:
        raise CapfstError("a grammar needs pynini: pip install 'capfst[openfst]'") from error

    try:
        left = character_map.read(grammar)
        return restoring(language or NAME, restore or BOTH, left)
    except CapfstError as error:
        raise CapfstError(f"{os.fspath(grammar)}: {error}") from None


def of_name(name: str, grammar: Iterable[tuple[str, str]] = ()) -> Language:
    """The language with a name that `Language` has, and the map of its grammar. CapfstError if there is none."""
    names, *rest = name.split("/")
    if not rest:
        return languages(names)
    language = restoring(names, rest[0], dict(grammar) if len(rest) > 1 else None)
    if language.name != name:
        raise CapfstError(f"the grammar of {name} is not there")
    return language


@cache
def diacritics(names: str) -> dict[str, str]:
    """What is left of characters without their diacritics, in languages (`de+fr`)."""
    facts = {
        letter: rest
        for language, letter, rest in rows("diacritics.tsv")
        if language == "default" or language in names.split("+")
    }
    left = {}
    for code, base in rows("decompositions.tsv"):
        letter = chr(int(base, 16)) if base else ""
        left[chr(int(code, 16))] = facts.get(letter, letter)
    return {letter: rest for letter, rest in (left | facts).items() if rest != letter}


@cache
def _unchanged() -> Lowering:
    """The lowering that changes nothing."""
    table = np.arange(128, dtype=np.uint32)
    table.flags.writeable = False
    return Lowering.of(table, np.empty((0, 2 * WIDTH), np.uint32))


@cache
def stripping(names: str) -> Lowering:
    """The lowering of languages (`de+fr`), and then without diacritics."""
    return _then(languages(names).lowering, diacritics(names))


@cache
def _without_diacritics(names: str, restore: str) -> Language:
    return _respelled(languages(names), restore, diacritics(names))


def _respelled(language: Language, restore: str, left: Map) -> Language:
    casing = language.lowering if restore == BOTH else _unchanged()
    lowering = _then(casing, left)
    _refuse_unstable(lowering, left)
    return language._replace(name=f"{language.name}/{restore}", lowering=lowering, casing=casing, info=_info(left))


def _then(lowering: Lowering, characters: Map) -> Lowering:
    """A lowering, and then a map of its characters."""
    left = {ord(character): [*map(ord, rest)] for character, rest in characters.items()}
    onto = np.arange(1 + max(len(lowering.table), *left), dtype=np.uint32)
    lowered = onto.copy()
    lowered[: len(lowering.table)] = lowering.table
    for code, rest in left.items():
        if len(rest) < 2:
            onto[code] = rest[0] if rest else NOTHING
    sequences = []
    for row in lowering.sequences.tolist():
        rest = [code for small in row[WIDTH:] if small for code in left.get(small, [small])]
        sequences.append([*row[:WIDTH], *padded(rest)])
    begun = {row[0] for row in sequences if not row[1]}
    for code, rest in left.items():
        if len(rest) > 1:
            surfaces = np.flatnonzero(lowered == code).tolist()
            sequences += [padded([surface]) + padded(rest) for surface in surfaces if surface not in begun]
    table = onto[lowered]
    table.flags.writeable = False
    return Lowering.of(table, longest_first(sequences, 0, 2 * WIDTH))


def _info(left: Map) -> Bytes:
    """INFO, in which marks that are taken away, or become letters, belong to words inside: so don't is one word, as
    dont is."""
    inner = [ord(c) for c, rest in left.items() if _class(c) == PUNCT and all(map(_is_in_words, rest))]
    if not inner:
        return INFO
    info = INFO.copy()
    info[inner] |= IS_INNER
    info.flags.writeable = False
    return info


def _class(character: str) -> int:
    return int(INFO[ord(character)]) & CLASS


def _is_in_words(character: str) -> bool:
    return is_alphanumeric(_class(character))


def _checked(left: Map) -> dict[str, str]:
    """What a grammar changes. CapfstError if a model cannot have it."""
    changed = {character: rest for character, rest in left.items() if rest != character}
    if not changed:
        raise CapfstError("the grammar changes nothing: so there is nothing to restore")
    letters = np.flatnonzero(INFO & CLASS == LETTER).tolist()
    if not any(left.get(chr(code), chr(code)) for code in letters):
        raise CapfstError("the grammar deletes all letters: what it leaves does not tell one word from another")
    for character, rest in changed.items():
        what = f"the grammar lowers {character!r} to {rest!r}"
        fixed = [c for c in character + rest if _class(c) in (SPACE, NUMBER) or c == "\0"]
        if fixed:
            raise CapfstError(f"{what}: digits and white space must stay as they are, and none may be added")
        if len(rest) > WIDTH or len(rest.encode()) > GROWTH * len(character.encode()):
            raise CapfstError(
                f"{what}: at most {WIDTH} characters, of {GROWTH} times as many bytes, may be left of one"
            )
        if _is_in_words(character) and not all(map(_is_in_words, rest)):
            raise CapfstError(f"{what}: of a letter only letters may be left, so that a word stays a word")
    if left.get("'", "'").replace("’", "'") != left.get("’", "’").replace("’", "'"):
        raise CapfstError("the grammar lowers ' and ’ differently, which models do not tell apart: lower both alike")
    return changed


def _refuse_unstable(lowering: Lowering, left: Map) -> None:
    """CapfstError unless lowering changes nothing in what it has lowered."""
    for character in left:
        once = lower(character, lowering)
        twice = lower(once, lowering)
        if once != twice:
            raise CapfstError(
                f"the grammar lowers {character!r} to {once!r}, but that to {twice!r}: what is lowered must stay so"
            )
