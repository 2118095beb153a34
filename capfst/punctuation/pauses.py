"""The pause after a word is evidence for a mark: it adds to the mark's score in proportion to its logarithm.

A pause of p seconds adds w ln((p + SOFT) / (USUAL + SOFT)), with a weight w for commas and another for periods and
question marks. scripts/experiments/punctuation.py learns the weights from the words and times of recognizers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.io.running_text import Pauses

SOFT, USUAL = 0.3, 0.15
"""In seconds; the usual pause is evidence of nothing."""
COMMA_WEIGHT, END_WEIGHT = 1.5, 2.5


def lengths_of(ends: npt.NDArray[np.int64], pauses: Pauses) -> npt.NDArray[np.float32]:
    """Return the logarithm of the longest pause in each gap, relative to the usual one; 0 where none is known. ends:
    int64[words], the byte offset after each word."""
    gap = np.searchsorted(ends, pauses.ends, "right") - 1  # of the last word before the pause
    longest = np.full(len(ends), -1.0)
    np.maximum.at(longest, gap[gap >= 0], pauses.seconds[gap >= 0])
    longest[longest < 0] = USUAL
    return np.log((longest + SOFT) / (USUAL + SOFT)).astype(np.float32)


def biases(
    lengths: npt.NDArray[np.float32], comma: float = COMMA_WEIGHT, end: float = END_WEIGHT
) -> npt.NDArray[np.float32]:
    """Return what pauses add to the scores of the marks, float32[words, marks]."""
    return lengths[:, np.newaxis] * np.array([0, comma, end, end], np.float32)
