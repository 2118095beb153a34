"""Models as the experiments use them: the levels that they compare, models kept between runs, and recasing times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import capfst
from capfst.casing.types import CasingCosts, LabelPath
from capfst.exceptions import CapfstError
from capfst.recaser import Recaser

UNIGRAM, LM, ALL = LEVELS = ("unigram", "LM", "LM + context")
"""The levels of a model (Lita et al. 2003): each word in its most frequent form; the LM alone; LM and context."""

Recase = Callable[[list[str]], list[str]]


def levels(model: str | Path | None) -> dict[str, Recase]:
    """Return, for each level of a model, a function that recases lines as sentences."""
    lm, both = (
        capfst.load(model, sentence_case=True, input_case="ignore", context=context) for context in (False, True)
    )

    def unigram(lines: list[str]) -> list[str]:
        # The labels of a word's forms are sorted by frequency; an OOV word stays in lower case.
        buf = np.frombuffer("\n".join(lines).encode(), np.uint8)
        words = lm.pipeline.words(buf)
        path = LabelPath(words.first_labels, words.may_begin)
        return bytes(lm.pipeline.surface(buf, words, path, CasingCosts())).decode().split("\n")

    return {UNIGRAM: unigram, LM: lm, ALL: both}


def kept_model(path: Path, train: Callable[[Path], object]) -> Path:
    """Return the path of a model, after training it if the file is missing or unreadable (as of another version)."""
    try:
        capfst.load(path)
    except CapfstError:
        path.parent.mkdir(parents=True, exist_ok=True)
        train(path)
    return path


def fastest(recasers: Sequence[Recaser], texts: Sequence[str], turns: int) -> list[float]:
    """Return the processor time in seconds that each recaser needs for its text: the least of several turns."""
    least = [float("inf")] * len(recasers)
    for _ in range(turns):
        for k, (recaser, text) in enumerate(zip(recasers, texts, strict=True)):
            begin = time.process_time()
            recaser(text)
            least[k] = min(least[k], time.process_time() - begin)
    return least
