"""What the pause after a word tells about the mark there: biases of the marks.

Learned from the words and times of four recognizers by scripts/experiments/restored_punctuation.py.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.io.running_text import Pauses

RANGES = np.array([0, 0.02, 0.1, 0.3, 0.45, 0.7, 1.5])
"""Where the next range of pauses begins, in seconds."""
BIASES = np.array([
    [0, 0, 0, 0],
    [0, -0.5, -1.5, -0.5],
    [0, 0, -1, 0],
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 0.5, 1, 1.5],
    [0, 1, 2.5, 2.5],
    [0, 0.5, 3.5, 5],
], np.float32)  # fmt: skip
"""What is added to the scores, [ranges, marks]; the first range is that of unknown pauses."""
_UNKNOWN = -1  # below all ranges


def ranges_of(ends: npt.NDArray[np.int64], pauses: Pauses) -> npt.NDArray[np.int64]:
    """Return the range of the pause in each gap, int64[words]: 0 … len(RANGES). ends: int64[words], the byte offset
    after each word."""
    gap = np.searchsorted(ends, pauses.ends, "right") - 1  # of the last word before the pause
    longest = np.full(len(ends), _UNKNOWN, np.float64)
    np.maximum.at(longest, gap[gap >= 0], pauses.seconds[gap >= 0])
    return np.searchsorted(RANGES, longest, "right")
