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

from capfst.casing.shapes import N_SHAPES
from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context import features as ft
from capfst.context.context_model import ROWS_PER_SLOT, Context, unpacked
from capfst.context.shape_scores import Kept, score
from capfst.context.tokens import read_words
from capfst.kernels.types import BoolArray, F32Array, F32Matrix, F64Array, I16Matrix, U8Array, U32Array
from capfst.text.tokenizer import NEWLINE

Reasons = dict[str, F64Array]
"""What features, in words, contribute to ln p of each shape, float64[N_SHAPES]."""

_NAMES = {
    "the word {0}": (38, 70, 77),
    "after {-1}": (4, 10, 19, 39, 71, 73),
    "before {1}": (5, 11, 20, 40, 72, 74),
    "between {-1} and {1}": (14, 15),
    "after {-2} {-1}": (12, 16),
    "before {1} {2}": (13, 17),
    "two words after {-2}": (6,),
    "two words before {2}": (7,),
    "three words after {-3}": (8,),
    "three words before {3}": (9,),
    "its ending": (21, 41),
    "its position and usual case": (24, 43, 76),
    "the usual case of it and its neighbors": (22, 23, 37, 44, 75),
    "the kinds of words around it": (18, *range(25, 37), 42),
    "the first decision on it": (50,),
    "the case of its neighbors here": range(51, 63),
    "the capitals in the line": range(63, 66),
}
"""The names of the templates of features: {0} is the word, {-1} the one before it. Several may say the same."""
_NAME_OF = {template: name for name, templates in _NAMES.items() for template in templates}
_WORDINGS = (
    (r"(the (start|end) of the sentence) \1", r"\1"),
    (r"^after (the start of the sentence) (.+)", r"after \2 at \1"),
    (r"^before (.+) (the end of the sentence)", r"before \1 at \2"),
    (r"^(after|before) the (start|end) of the sentence", r"at the \2 of the sentence"),
)
"""What to write instead of names that name the start or end of the sentence as a word."""


def contributions(
    context: Context, buf: U8Array, words: Words, transducer: Transducer, language: int, chosen: range
) -> list[Reasons]:
    """Return the reasons for the shape of each of the `chosen` words; none for those without case. The other arguments
    are those of `casing_costs`."""
    text = read_words(buf, words, context, transducer, True, language)
    kept = Kept.of(chosen, len(words.starts))
    score(text, context, np.empty((len(words.starts), N_SHAPES), np.float32), kept=kept)
    begins, reasons = words.begins, []
    for i, features in zip(chosen, kept.features, strict=True):
        of_word: Reasons = defaultdict(lambda: np.zeros(N_SHAPES))
        for name, row in _rows(context, features, int(text.labels[i]), kept.network[i]):
            if row.any():
                of_word[_in_words(name, buf, words, i, begins)][-len(row) :] += row
        reasons.append(dict(of_word))
    return reasons


def _rows(context: Context, features: U32Array, label: int, of_network: F32Array) -> Iterator[tuple[str, F32Array]]:
    """Yield the name of each feature of a word, and what it contributes to the scores of the shapes, of which LOWER may
    be left out. features, of_network: as in Kept."""
    of_first, of_stage1, decided = np.split(features, (ft.N_FIRST_FEATURES, ft.DECIDED_FEATURES))
    scale1, scale2, scale_first = map(np.float32, context.scales)
    if not of_stage1.any():  # the first pass settles the word
        yield from _named(ft.FIRST_TEMPLATE, scale_first * _weights(context.first_pass, of_first))
        return
    stage1 = _weights(context.stage1, of_stage1)
    if not of_stage1[ft.N_NEIGHBOR_FEATURES :].any():  # the model has their sum
        stage1[ft.N_NEIGHBOR_FEATURES] = context.words["scores"][label]
    scaled = scale1 * stage1 * np.float32(ft.PRIOR_WEIGHT if decided.any() else 1)
    yield from _named(ft.NEIGHBOR_TEMPLATE, scaled[: ft.N_NEIGHBOR_FEATURES])
    yield from (("the word {0}" if label else "its letters", row) for row in scaled[ft.N_NEIGHBOR_FEATURES :])
    yield from _named(ft.DECISION_TEMPLATE, scale2 * _weights(context.stage2, decided))
    yield "all words around it", of_network


def _named(template: int, rows: F32Matrix) -> Iterator[tuple[str, F32Array]]:
    return ((_NAME_OF[number], row) for number, row in enumerate(rows, template))


def _weights(table: U32Array, features: U32Array) -> I16Matrix:
    """Return the weights of features, int16[n, N_SHAPES − 1]; 0 for those that are 0."""
    weights, owners = unpacked(table[features & np.uint32(len(table) - 1)])
    numbers = (features >> np.uint32((len(table) - 1).bit_count())) % ROWS_PER_SLOT
    weights[(owners != numbers + 1) | (features == 0)] = 0
    return weights


def _in_words(name: str, buf: U8Array, words: Words, i: int, begins: BoolArray) -> str:
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
