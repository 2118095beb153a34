"""Compute the log-odds of each change of case.

In: a recaser and the words of a line. Out: for each changed word, its offsets in the recased line, and the log-odds
that it is right. These are the extra cost of the best path that writes the word differently (+inf if there is no such
path), divided by a temperature (Guo et al. 2017, section 4.2). Forms that are written alike, such as `it` and `It` at
the start of a sentence, are not alternatives.

The words of a casing are found by tokenizing it, because all casings of a text have the same tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.casing.types import CasingCosts, LabelPath, Words
from capfst.text.utf8 import decoded

Buffer = npt.NDArray[np.uint8]
Shapes = npt.NDArray[np.uint8]


TEMPERATURE_ALONE, TEMPERATURE = 1.5, 5.0
"""Divisors of extra costs: with the LM alone, and with a context model, whose costs count `SCALE` times. They nearly
maximize the likelihood of development texts in seven languages (scripts/experiments/confidence.py)."""


class Change(NamedTuple):
    """A changed word: text[start:end] == word, where text is the recased text; and the log-odds that it is right."""

    start: int
    end: int
    word: str
    log_odds: float


class Spelled(NamedTuple):
    """A casing of a line: its text, and its words, as text and as tokens."""

    text: bytes
    words: list[bytes]
    tokens: Words


Spell = Callable[[LabelPath, Shapes | None], Spelled]
"""Returns any path of a line as it is written, with unseen casings in the given shapes."""


def spellings(words: Words, casing_costs: CasingCosts, spell: Spell) -> dict[tuple[int, int | None, bool], list[bytes]]:
    """Return all ways to write the words of a line with the same choice: the k-th form of each word, or the 0th if it
    has none; the shape of the 0th, a column of `CasingCosts.options`, or None without options; and whether the words
    are the first of their sentences."""
    n, found = len(words.starts), {}
    for is_first, k in product((False, True), range(int(words.n_forms.max(initial=1)))):
        labels = np.where(words.n_forms > k, words.first_labels + np.uint32(k), words.first_labels)
        path = LabelPath(labels, words.may_begin & is_first)
        has_options = k == 0 and casing_costs.options is not None
        for shape in range(N_SHAPES + 1) if has_options else (None,):
            shapes = casing_costs.shapes if k == 0 else None
            if shape is not None:
                shapes = np.full(n, AS_FORM if shape == N_SHAPES else shape, np.uint8)
            found[k, shape, is_first] = spell(path, shapes).words
    return found


def changes(
    buf: Buffer,
    words: Words,
    path: LabelPath,
    marginals: npt.NDArray[np.float64],
    casing_costs: CasingCosts,
    spell: Spell,
    temperature: float,
) -> tuple[str, list[Change]]:
    """Return the text of a line's best path, and the changes in it.

    path: the best path. marginals: the costs of the best path through each form (paths.max_marginals). temperature: the
    divisor of extra costs.
    """
    data, best, tokens = spell(path, casing_costs.shapes)
    starts = tokens.starts.tolist()
    first_costs = np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms
    spelled: list[tuple[list[bytes], npt.NDArray[np.float64]]] = []  # all words, and their costs
    for (form, shape, is_first), texts in spellings(words, casing_costs, spell).items():
        costs = marginals[int(is_first), :, form].copy()
        if shape is not None and casing_costs.arc_costs is not None and casing_costs.options is not None:
            # The arc cost of the form is the least of its options; an OOV word has no arc cost.
            has_form = words.n_forms > 0
            of_form = casing_costs.arc_costs[first_costs[has_form]]
            costs[has_form] -= np.where(of_form < np.inf, of_form, 0)  # without an arc, the path costs +inf
            costs += casing_costs.options[:, shape].astype(np.float64)
        spelled.append((texts, costs))
    changed, written, n_characters = [], 0, 0
    for i, (start, end) in enumerate(zip(words.starts, words.ends, strict=True)):
        word = best[i]
        if word == buf[start:end].tobytes():
            continue
        n_characters += len(decoded(data[written : starts[i]]))
        written = starts[i]
        least = min((costs[i] for texts, costs in spelled if texts[i] == word), default=math.inf)
        other = min((costs[i] for texts, costs in spelled if texts[i] != word), default=math.inf)
        if least == math.inf and words.n_forms[i]:
            log_odds = 0.0  # no casing of the line has a finite cost
        else:
            log_odds = math.inf if other == math.inf else max(0.0, float(other - least)) / temperature
        changed.append(Change(n_characters, n_characters + len(decoded(word)), decoded(word), log_odds))
    return decoded(data), changed
