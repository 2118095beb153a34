"""Find the runs of words that test text has in common with training text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RUN = 8
"""Number of consecutive words that test text and training text should not have in common."""
_SEED = 12345
_NO_WORD = re.compile(r"[\W_]+")
_FACTORS = np.random.default_rng(_SEED).integers(0, 2**64, RUN, np.uint64) | np.uint64(1)


@dataclass(frozen=True)
class Overlap:
    """The runs of `RUN` words that lines have in common with another text.

    lines: bool[n], whether a line has such a run; runs: the number of runs in the lines; common_runs: the number of
    those that the other text also has.
    """

    lines: npt.NDArray[np.bool_]
    runs: int
    common_runs: int

    def __str__(self) -> str:
        return (
            f"{self.common_runs:,} of {self.runs:,} runs of {RUN} words, in {int(self.lines.sum()):,} of "
            f"{len(self.lines):,} lines"
        )


def overlap(lines: Sequence[str], others: Iterable[bytes | str]) -> Overlap:
    """Find the runs of words that lines have in common with another text.

    Words are separated by characters that are neither letters nor digits; case does not matter. Runs of the other text
    may cross its line ends.

    Args:
        others: the other text, in blocks of whole lines, as `read_blocks` returns them.
    """
    runs = [_runs(line) for line in lines]
    line_of = np.repeat(np.arange(len(lines)), [len(of_line) for of_line in runs])
    known, which = np.unique(np.concatenate([np.zeros(0, np.uint64), *runs]), return_inverse=True)
    common = np.zeros(len(known), np.bool_)
    for block in others if len(known) else ():
        hashes = _runs(block.decode() if isinstance(block, bytes) else block)
        positions = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        common[positions[known[positions] == hashes]] = True
    flags = np.zeros(len(lines), np.bool_)
    flags[line_of[common[which]]] = True
    return Overlap(flags, len(line_of), int(common[which].sum()))


def _runs(text: str) -> npt.NDArray[np.uint64]:
    """Return a hash of each run of words."""
    words = _NO_WORD.sub(" ", text.lower()).split()
    hashes = np.fromiter(map(hash, words), np.int64, len(words)).astype(np.uint64)
    if len(words) < RUN:
        return np.zeros(0, np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(hashes, RUN)
    return (windows * _FACTORS).sum(axis=1, dtype=np.uint64)
