"""Intrinsic case: words without the capitals that only mark their position (Beaufays & Strope 2013, §3.2.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def inside_case(texts: Iterable[tuple[Sequence[str], Sequence[bool]]]) -> list[list[str]]:
    """Return the words of texts without positional capitals.

    A sentence's first word keeps its capital if the texts have it more often with a capital than without, inside
    sentences.

    Args:
        texts: the words of each text, and whether each word is the first of a sentence.
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
