"""Compute the log-odds of each change of case.

In: a recaser and the words of a line. Out: for each word that recasing changed, its offsets in the recased line, and
the extra cost of the best path that writes it differently (natural logarithm; +inf if there is no such path). Forms
that are written alike, such as `it` and `It` at the start of a sentence, are not alternatives.

The words of a casing are found by tokenizing it: the tokens of all casings of a text are the same.
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

Buffer = npt.NDArray[np.uint8]
Shapes = npt.NDArray[np.uint8]


class Change(NamedTuple):
    """A changed word: text[start:end] == word, where text is the recased text; and the log-odds that it is right."""

    start: int
    end: int
    word: str
    log_odds: float


def changes(
    buf: Buffer,
    words: Words,
    path: LabelPath,
    marginals: npt.NDArray[np.float64],
    casing_costs: CasingCosts,
    write: Callable[[LabelPath, Shapes | None], Buffer],
    tokenize: Callable[[Buffer], Words],
) -> tuple[str, list[Change]]:
    """Return the text of a line's best path, and the changes in it.

    path: the best path. marginals: float64[2, forms], the costs of the best path through each form, or OOV word, where
    the word is not the first of its sentence, and where it is. write: returns the text of any path, with unseen casings
    in the given shapes. tokenize: returns the words of a text.
    """

    def spell(path: LabelPath, shapes: Shapes | None) -> tuple[bytes, list[bytes], list[int]]:
        """Return the text of a casing of the line, its words, and their offsets."""
        text = write(path, shapes)
        tokens = tokenize(text)
        data = text.tobytes()
        return data, [data[s:e] for s, e in zip(tokens.starts, tokens.ends, strict=True)], tokens.starts.tolist()

    data, best, starts = spell(path, casing_costs.shapes)
    n_arcs = np.maximum(words.n_forms, 1)
    first_arcs = np.cumsum(n_arcs, dtype=np.int64) - n_arcs
    first_costs = np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms
    spellings: list[tuple[list[bytes], npt.NDArray[np.float64]]] = []  # of all words, and their costs
    for is_first, k in product((False, True), range(int(n_arcs.max(initial=1)))):  # the k-th form of each word
        begins, has_arc = np.full(len(n_arcs), is_first), n_arcs > k
        costs = np.full(len(n_arcs), np.inf)
        costs[has_arc] = marginals[int(is_first), first_arcs[has_arc] + k]
        if k == 0 and casing_costs.arc_costs is not None and casing_costs.options is not None:
            # The arc cost of the form is the least of its options; an OOV word has no arc cost.
            has_form = words.n_forms > 0
            of_form = casing_costs.arc_costs[first_costs[has_form]]
            costs[has_form] -= np.where(of_form < np.inf, of_form, 0)  # without an arc, the path costs +inf
            for shape, option in enumerate(casing_costs.options.T.astype(np.float64)):
                shapes = np.full(len(n_arcs), AS_FORM if shape == N_SHAPES else shape, np.uint8)
                spellings.append((spell(LabelPath(words.first_labels, begins), shapes)[1], costs + option))
        else:
            labels = np.where(words.n_forms > k, words.first_labels + np.uint32(k), path.labels)
            spellings.append((spell(LabelPath(labels, begins), None)[1], costs))
    changed, written, n_characters = [], 0, 0
    for i, (start, end) in enumerate(zip(words.starts, words.ends, strict=True)):
        word = best[i]
        if word == buf[start:end].tobytes():
            continue
        n_characters += len(_text(data[written : starts[i]]))
        written = starts[i]
        least = min((costs[i] for texts, costs in spellings if texts[i] == word), default=math.inf)
        other = min((costs[i] for texts, costs in spellings if texts[i] != word), default=math.inf)
        if least == math.inf and words.n_forms[i]:
            log_odds = 0.0  # no casing of the line has a finite cost
        else:
            log_odds = math.inf if other == math.inf else max(0.0, float(other - least))
        changed.append(Change(n_characters, n_characters + len(_text(word)), _text(word), log_odds))
    return _text(data), changed


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
