"""The levels of a model that the experiments compare, as Lita et al. (2003) do: each word in its most frequent form
(unigram), the LM alone, and LM and context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import capfst
from capfst.casing.types import CasingCosts, LabelPath

UNIGRAM, LM, ALL = LEVELS = ("unigram", "LM", "LM + context")

Recase = Callable[[list[str]], list[str]]


def levels(model: str | Path | None) -> dict[str, Recase]:
    """A function for each level that recases lines, each of which is a sentence."""
    lm, both = (capfst.load(model, sentence_case=True, context=context) for context in (False, True))

    def unigram(lines: list[str]) -> list[str]:
        # The labels of a word's forms are in the order of their frequency; an OOV word stays in lower case.
        buf = np.frombuffer("\n".join(lines).encode(), np.uint8)
        words = lm.pipeline.words(buf)
        path = LabelPath(words.first_labels, words.may_begin)
        return bytes(lm.pipeline.surface(buf, words, path, CasingCosts())).decode().split("\n")

    return {UNIGRAM: unigram, LM: lm, ALL: both}
