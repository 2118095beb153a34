"""Take a score of the context model apart: what each feature contributes to ln p of each shape of a word.

In: the words of a text, and the context model. Out: for each word that has case, the contributions of its features, in
words: *after "the"*, *its ending*. Per shape, they add up to ln p of shape_scores.py, up to a constant of the word.

Features that say the same in words are one reason: the word before alone, with the word, and with the domain.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context import features as ft
from capfst.context.context_model import Context, weights_of
from capfst.context.shape_scores import Kept, score
from capfst.context.tokens import read_words
from capfst.text.tokenizer import NEWLINE

Reasons = dict[str, npt.NDArray[np.float64]]
"""What features, in words, contribute to ln p of each shape, float64[N_SHAPES]."""

_WORDINGS = (
    (r"(the (start|end) of the sentence) \1", r"\1"),
    (r"^after (the start of the sentence) (.+)", r"after \2 at \1"),
    (r"^before (.+) (the end of the sentence)", r"before \1 at \2"),
    (r"^(after|before) the (start|end) of the sentence", r"at the \2 of the sentence"),
)
"""What to write instead of names that name the start or end of the sentence as a word."""


def contributions(
    context: Context,
    buf: npt.NDArray[np.uint8],
    words: Words,
    transducer: Transducer,
    begins: npt.NDArray[np.bool_],
    language: int,
    chosen: range,
) -> list[Reasons]:
    """Return the reasons for the shape of each of the `chosen` words; none for those without case. The other arguments
    are those of `casing_costs`."""
    text, lowercaser = read_words(buf, words, begins, context, transducer, True, language)
    kept = Kept.of(len(words.starts))
    score(buf, words, text, lowercaser, context, np.empty((len(words.starts), N_SHAPES), np.float32), kept=kept)
    reasons = []
    for i in chosen:
        of_word: Reasons = defaultdict(lambda: np.zeros(N_SHAPES))
        for name, row in _rows(context, kept.features[i], int(text.labels[i]), kept.network[i]):
            if row.any():
                of_word[_in_words(name, buf, words, i, begins)][-len(row) :] += row
        reasons.append(dict(of_word))
    return reasons


def _rows(
    context: Context, features: npt.NDArray[np.uint32], label: int, of_network: npt.NDArray[np.float32]
) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """Yield the name of each feature of a word, and what it contributes to the scores of the shapes, of which LOWER may
    be left out. features, of_network: as in Kept."""
    of_first, of_stage1, decided = np.split(features, (ft.N_FIRST_FEATURES, ft.DECIDED_FEATURES))
    scale1, scale2, scale_first = map(np.float32, context.scales)
    if not of_stage1.any():  # the first pass settles the word
        yield from zip(ft.FIRST_FEATURES, scale_first * _weights(context.first_pass, of_first), strict=True)
        return
    stage1 = _weights(context.stage1, of_stage1)
    if not of_stage1[ft.N_NEIGHBOR_FEATURES :].any():  # the model has their sum
        stage1[ft.N_NEIGHBOR_FEATURES] = context.words["scores"][label]
    names = (*ft.NEIGHBOR_FEATURES, *[ft.OWN_WORD if label else ft.OWN_LETTERS] * ft.MAX_WORD_FEATURES)
    yield from zip(names, scale1 * stage1 * np.float32(ft.PRIOR_WEIGHT if decided.any() else 1), strict=True)
    yield from zip(ft.DECISION_FEATURES, scale2 * _weights(context.stage2, decided), strict=True)
    yield "all words around it", of_network


def _weights(table: npt.NDArray[np.uint32], features: npt.NDArray[np.uint32]) -> npt.NDArray[np.int16]:
    """Return the weights of features, 0 for those that are 0."""
    weights = weights_of(table, features)
    weights[features == 0] = 0
    return weights


def _in_words(name: str, buf: npt.NDArray[np.uint8], words: Words, i: int, begins: npt.NDArray[np.bool_]) -> str:
    """Return the name of a feature of word i, with the words that it is about."""

    def word(match: re.Match[str]) -> str:
        distance = int(match[1])
        step = 1 if distance > 0 else -1
        for k in range(i, i + distance, step):
            after = k + step
            is_inside = 0 <= after < len(begins) and words.token_types[after] != NEWLINE
            if not is_inside or begins[max(k, after)]:
                return "the end of the sentence" if step > 0 else "the start of the sentence"
        k = i + distance
        text = buf[words.starts[k] : words.ends[k]].tobytes().decode("utf-8", "surrogatepass")
        return f'"{text}"'

    named = re.sub(r"\{(-?\d)\}", word, name)
    for pattern, wording in _WORDINGS:
        named = re.sub(pattern, wording, named)
    return named
