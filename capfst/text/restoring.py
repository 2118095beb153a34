"""Restoring more than case: the lowering of a model that restores diacritics, or whatever a user's grammar removes.

In: a language; one of RESTORED; the facts of `grammars/diacritics.tsv` and `grammars/decompositions.tsv`, or the map of
characters of a user's grammar (character_map.py). Out: a `Language` whose lowering is that of case, if case is
restored, followed by the map, which replaces each character by itself. Everything else is as for case: T leads from the
lowered word to its surface forms.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np

from capfst.exceptions import CorpusError, ModelError, OptionError, missing_extra
from capfst.text import unicode as uni
from capfst.text.facts import rows
from capfst.text.language import NAME, Language, languages, longest_first, padded

CASE, DIACRITICS, BOTH = "case", "diacritics", "both"
RESTORED = (CASE, DIACRITICS, BOTH)

Map = Mapping[str, str]
"""The replacements of characters, which may be empty; other characters stay."""


def restoring(names: str, restore: str = CASE, grammar: Map | None = None) -> Language:
    """Return the rules of a language, or of several, for a model that restores `restore`.

    Args:
        names: as for `languages`.
        restore: one of RESTORED.
        grammar: the replacements by a user's grammar, which are restored instead of diacritics.

    Raises:
        OptionError: an unknown language or value of `restore`, or a grammar that has no effect.
        CorpusError: a grammar that a model cannot use.
    """
    if restore not in RESTORED:
        raise OptionError(f"`restore` is {restore!r}. Use one of {', '.join(RESTORED)}.")
    if restore == CASE and grammar is not None:
        raise OptionError(f"`grammar` has no effect with `restore={CASE!r}`. Use `restore={BOTH!r}`, or omit it.")
    language = languages(names)
    if grammar is None:
        return language if restore == CASE else _without_diacritics(language.name, restore)
    import hashlib  # noqa: PLC0415  (it takes its time to load)

    changed = _checked(grammar)
    pairs = tuple(sorted(changed.items()))
    digest = hashlib.blake2b(repr(pairs).encode(), digest_size=4).hexdigest()
    return _respelled(language, restore, changed)._replace(name=f"{language.name}/{restore}/{digest}", grammar=pairs)


def rules_of(
    language: str | None = None, restore: str | None = None, grammar: str | os.PathLike[str] | None = None
) -> Language:
    """Return the language of a model that is trained with these options (`capfst.train`).

    Raises:
        OptionError: an unknown language or value of `restore`, or a grammar that has no effect.
        CorpusError: a grammar file that cannot be read or used.
        CapfstError: pynini is not installed.
    """
    if grammar is None:
        return restoring(language or NAME, restore or CASE)
    try:
        from capfst.text import character_map  # noqa: PLC0415  (pynini is optional)
    except ModuleNotFoundError as error:
        raise missing_extra("`grammar` needs pynini", "openfst") from error

    try:
        left = character_map.read(grammar)
        return restoring(language or NAME, restore or BOTH, left)
    except CorpusError as error:
        raise CorpusError(f"{os.fspath(grammar)}: {error}") from None


def of_name(name: str, grammar: Iterable[tuple[str, str]] = ()) -> Language:
    """Return the language with this `Language.name`, and the map of its grammar.

    Raises:
        OptionError: there is no such language.
        ModelError: the name is that of another grammar.
    """
    names, *rest = name.split("/")
    if not rest:
        return languages(names)
    language = restoring(names, rest[0], dict(grammar) if len(rest) > 1 else None)
    if language.name != name:
        raise ModelError(f"the grammar of {name} is missing. Train the model again.")
    return language


@cache
def diacritics(names: str) -> dict[str, str]:
    """Return the replacements that remove diacritics, in languages (`de+fr`)."""
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
def unchanged() -> uni.Lowering:
    """Return the lowering that changes nothing."""
    table = np.arange(128, dtype=np.uint32)
    table.flags.writeable = False
    return uni.Lowering.of(table, np.empty((0, 2 * uni.WIDTH), np.uint32))


@cache
def stripping(names: str) -> uni.Lowering:
    """Return the lowering of languages (`de+fr`), followed by the removal of diacritics."""
    return _then(languages(names).lowering, diacritics(names))


@cache
def _without_diacritics(names: str, restore: str) -> Language:
    return _respelled(languages(names), restore, diacritics(names))


def _respelled(language: Language, restore: str, left: Map) -> Language:
    casing = language.lowering if restore == BOTH else unchanged()
    lowering = _then(casing, left)
    _refuse_unstable(lowering, left)
    return language._replace(name=f"{language.name}/{restore}", lowering=lowering, casing=casing, info=_info(left))


def _then(lowering: uni.Lowering, characters: Map) -> uni.Lowering:
    """Return a lowering followed by a map of characters."""
    left = {ord(character): [*map(ord, rest)] for character, rest in characters.items()}
    onto = np.arange(1 + max(len(lowering.table), *left), dtype=np.uint32)
    lowered = onto.copy()
    lowered[: len(lowering.table)] = lowering.table
    for code, rest in left.items():
        if len(rest) < 2:
            onto[code] = rest[0] if rest else uni.NOTHING
    sequences = []
    for row in lowering.sequences.tolist():
        rest = [code for small in row[uni.WIDTH :] if small for code in left.get(small, [small])]
        sequences.append([*row[: uni.WIDTH], *padded(rest)])
    begun = {row[0] for row in sequences if not row[1]}
    for code, rest in left.items():
        if len(rest) > 1:
            surfaces = np.flatnonzero(lowered == code).tolist()
            sequences += [padded([surface]) + padded(rest) for surface in surfaces if surface not in begun]
    table = onto[lowered]
    table.flags.writeable = False
    return uni.Lowering.of(table, longest_first(sequences, 0, 2 * uni.WIDTH))


def _info(left: Map) -> uni.Bytes:
    """Return INFO, in which marks that are deleted, or become letters, may be inside words: don't is then one word, as
    dont is."""
    inner = [ord(c) for c, rest in left.items() if _class(c) == uni.PUNCT and all(map(_is_in_words, rest))]
    if not inner:
        return uni.INFO
    info = uni.INFO.copy()
    info[inner] |= uni.IS_INNER
    info.flags.writeable = False
    return info


def _class(character: str) -> int:
    return int(uni.INFO[ord(character)]) & uni.CLASS


def _is_in_words(character: str) -> bool:
    return uni.is_alphanumeric(_class(character))


def _checked(left: Map) -> dict[str, str]:
    """Return the changes of a grammar. Raise CorpusError if a model cannot use it."""
    changed = {character: rest for character, rest in left.items() if rest != character}
    if not changed:
        raise CorpusError(
            "the grammar changes nothing, so there is nothing to restore. Use one that changes characters."
        )
    letters = np.flatnonzero(uni.INFO & uni.CLASS == uni.LETTER).tolist()
    if not any(left.get(chr(code), chr(code)) for code in letters):
        raise CorpusError("the grammar deletes all letters, so all words become the same. Keep some letters.")
    for character, rest in changed.items():
        change = f"the grammar lowers {character!r} to {rest!r}"
        fixed = [c for c in character + rest if _class(c) in (uni.SPACE, uni.NUMBER) or c == "\0"]
        if fixed:
            raise CorpusError(f"{change}. Digits and white space must not change, and none may be added.")
        if len(rest) > uni.WIDTH or len(rest.encode()) > uni.GROWTH * len(character.encode()):
            limits = f"{uni.WIDTH} characters and {uni.GROWTH} times as many bytes"
            raise CorpusError(f"{change}. One character may become at most {limits}.")
        if _is_in_words(character) and not all(map(_is_in_words, rest)):
            raise CorpusError(f"{change}. Only letters may replace a letter, so that a word stays a word.")
    if left.get("'", "'").replace("’", "'") != left.get("’", "’").replace("’", "'"):
        raise CorpusError("the grammar lowers ' and ’ differently, but models treat them alike. Lower both alike.")
    return changed


def _refuse_unstable(lowering: uni.Lowering, left: Map) -> None:
    """Raise CorpusError unless lowering leaves lowered text unchanged."""
    for character in left:
        once = uni.lower(character, lowering)
        twice = uni.lower(once, lowering)
        if once != twice:
            raise CorpusError(
                f"the grammar lowers {character!r} to {once!r}, but {once!r} to {twice!r}. It must not change "
                "lowered text."
            )
