"""How sure each change of case is: its log-odds.

In: a recaser and the words of a line. Out: for each word that recasing changed, where it is in the recased line, and by
how much the cheapest path in which it is written differently is dearer than the best path (natural logarithm; +inf if
there is none). Forms that are written alike, as `it` and `It` at the start of a sentence, are no alternatives.

`places` finds the words of a casing by tokenising it: the tokens of all casings of a text are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.transducer import Words

Buffer = npt.NDArray[np.uint8]


class Change(NamedTuple):
    """A word that was changed: text[start:end] == word, of the recased text; and the log-odds that it is right."""

    start: int
    end: int
    word: str
    log_odds: float


def changes(
    buf: Buffer,
    words: Words,
    choice: npt.NDArray[np.uint32],
    marginals: npt.NDArray[np.float64],
    written: Callable[[npt.NDArray[np.uint32]], Buffer],
    tokens: Callable[[Buffer], Words],
) -> tuple[str, list[Change]]:
    """The text of a line's best path, and what it changes. `marginals`: what the best path through each form costs;
    `written`: the text of any path; `tokens`: the words of a text."""

    def spelled(labels: npt.NDArray[np.uint32]) -> tuple[bytes, list[bytes], list[int]]:
        text = written(labels)
        found = tokens(text)
        data = text.tobytes()
        return data, [data[s:e] for s, e in zip(found.starts, found.ends, strict=True)], found.starts.tolist()

    data, best, starts = spelled(choice)
    most = int(words.forms.max(initial=0))
    # The k-th form of each word.
    others = [spelled(np.where(words.forms > k, words.first + np.uint32(k), choice))[1] for k in range(most)]
    offsets = np.cumsum(words.forms, dtype=np.int64) - words.forms
    found, at, characters = [], 0, 0
    for i, (s, e) in enumerate(zip(words.starts, words.ends, strict=True)):
        word = best[i]
        if word == buf[s:e].tobytes():
            continue
        characters += len(_text(data[at : starts[i]]))
        at = starts[i]
        costs = marginals[offsets[i] : offsets[i] + words.forms[i]]
        same = np.array([others[k][i] == word for k in range(len(costs))], bool)
        least, other = min(costs[same], default=0.0), min(costs[~same], default=math.inf)
        odds = 0.0 if least == math.inf else max(0.0, float(other - least))
        found.append(Change(characters, characters + len(_text(word)), _text(word), odds))
    return _text(data), found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
