"""Words with the mark after each, from tables of the punctuation data; and how well marks were found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from helpers.corpora import read_lines

NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
"""The labels of the punctuation data, by number."""
EVENTS = ("comma", "period", "question")
"""The marks, as tables name them."""
OF_CHARACTER = {",": 1, ":": 1, ".": 2, ";": 2, "!": 2, "?": 3}
MEASURES = tuple(f"{event} {part}" for event in (*EVENTS, "all") for part in ("P", "R", "F1"))
"""The columns of `cells`."""


def labeled_words(file: Path) -> tuple[list[str], list[int]]:
    """Read the words of a table (a word per line, a tab, one of NAMES), and the mark after each. Lines without a label
    are left out."""
    rows = [line.partition("\t")[::2] for line in read_lines(file)]
    labeled = [(word, NAMES.index(name.strip())) for word, name in rows if name.strip()]
    return [word for word, _ in labeled], [mark for _, mark in labeled]


def cells(true: npt.NDArray[np.integer], found: npt.NDArray[np.integer]) -> list[str]:
    """Return the cells of a table with precision, recall and F1, in percent, of each mark and of all."""
    counts = [((found == k) & (true == k), found == k, true == k) for k in (1, 2, 3)]
    sums = np.array([[int(part.sum()) for part in parts] for parts in counts])
    measures = (
        (right / max(1, n) for n in (given, wanted, (given + wanted) / 2))
        for right, given, wanted in [*sums, sums.sum(0)]
    )
    return [f"{100 * value:.1f}" for row in measures for value in row]
