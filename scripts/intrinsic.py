"""Intrinsic case: words without capitals that are there for their position (Beaufays & Strope 2013, §3.2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def inside_case(texts: Iterable[tuple[Sequence[str], Sequence[bool]]]) -> list[list[str]]:
    """The words of texts, without capitals that are there for a word's position (Beaufays & Strope 2013, §3.2.2).

    A sentence's first word keeps its capital if the texts have it with one more often than without, inside sentences.

    texts: the words of each, and whether each is the first of a sentence.
    """
    kept = [(list(words), list(first)) for words, first in texts]
    inside = Counter(word for words, firsts in kept for word, first in zip(words, firsts, strict=True) if not first)

    def uncapitalized(word: str) -> str:
        lowered = word[:1].lower() + word[1:]
        return lowered if inside[lowered] >= inside[word] and not word[1:].isupper() else word

    return [
        [uncapitalized(word) if first else word for word, first in zip(words, firsts, strict=True)]
        for words, firsts in kept
    ]
