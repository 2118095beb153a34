"""How sure each change of case is: its log-odds.

In: a recaser and the words of a line. Out: for each word that recasing changed, where it is in the recased line, and by
how much the cheapest path in which it is written differently is dearer than the best path (natural logarithm; +inf if
there is none). Forms that are written alike, as `it` and `It` at the start of a sentence, are no alternatives.

The words of a casing are found by tokenising it: the tokens of all casings of a text are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.casing.transducer import CasingCosts, Words

Buffer = npt.NDArray[np.uint8]
Shapes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.uint32]


class Change(NamedTuple):
    """A word that was changed: text[start:end] == word, of the recased text; and the log-odds that it is right."""

    start: int
    end: int
    word: str
    log_odds: float


def changes(
    buf: Buffer,
    words: Words,
    choice: Labels,
    marginals: npt.NDArray[np.float64],
    weighed: CasingCosts,
    written: Callable[[Labels, Shapes | None], Buffer],
    tokens: Callable[[Buffer], Words],
) -> tuple[str, list[Change]]:
    """The text of a line's best path, and what it changes. `marginals`: what the best path through each form costs;
    `written`: the text of any path, with unseen casings in any shapes; `tokens`: the words of a text."""

    def spelled(labels: Labels, shapes: Shapes | None) -> tuple[bytes, list[bytes], list[int]]:
        text = written(labels, shapes)
        found = tokens(text)
        data = text.tobytes()
        return data, [data[s:e] for s, e in zip(found.starts, found.ends, strict=True)], found.starts.tolist()

    data, best, starts = spelled(choice, weighed.shapes)
    offsets = np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms
    others: list[tuple[list[bytes], npt.NDArray[np.float64]]] = []  # spellings of each word, and their costs
    for k in range(int(words.n_forms.max(initial=1))):  # the k-th form of each word
        has = words.n_forms > k
        costs = np.full(len(has), np.inf)
        costs[has] = marginals[offsets[has] + k]
        if k == 0 and weighed.arc_costs is not None and weighed.options is not None:
            # Its weight is the least of the options; where there is no form, only they are left.
            costs[has] -= weighed.arc_costs[offsets[has]]
            costs[~has] = 0
            for shape, option in enumerate(weighed.options.T.astype(np.float64)):
                shapes = np.full(len(has), AS_FORM if shape == N_SHAPES else shape, np.uint8)
                others.append((spelled(words.first_labels, shapes)[1], costs + option))
        else:
            others.append((spelled(np.where(has, words.first_labels + np.uint32(k), choice), None)[1], costs))
    found, at, characters = [], 0, 0
    for i, (s, e) in enumerate(zip(words.starts, words.ends, strict=True)):
        word = best[i]
        if word == buf[s:e].tobytes():
            continue
        characters += len(_text(data[at : starts[i]]))
        at = starts[i]
        least = min((costs[i] for texts, costs in others if texts[i] == word), default=math.inf)
        other = min((costs[i] for texts, costs in others if texts[i] != word), default=math.inf)
        if least == math.inf and words.n_forms[i]:
            odds = 0.0  # no casing of the line has a finite cost
        else:
            odds = math.inf if other == math.inf else max(0.0, float(other - least))
        found.append(Change(characters, characters + len(_text(word)), _text(word), odds))
    return _text(data), found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
