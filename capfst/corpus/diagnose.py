"""Detect a corpus that is not cased text, from the beginnings of its files.

Input: the corpus's files. Output: the problem and its remedy as a message; an empty string if there is no problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from capfst.text.unicode import CLASS, INFO, IS_CASED, IS_UPPER, LETTER

_FILES = 16
_BYTES = 1 << 17  # of each file

# Fractions of letters, far from those of the training corpora, whose letters are all cased, and 1.2 to 8 % capitals.
_CASED = 0.2
_CAPITALS = 0.004, 0.5


def beginnings(files: Sequence[Path], read: Callable[[Path, int], Iterator[bytes]]) -> list[str]:
    """Return the first lines of the files, or of some of many files.

    read: returns the lines of a file in blocks of about so many bytes.
    """
    chosen = files[:: -(-len(files) // _FILES) or 1]
    return [block.decode() for file in chosen for block in islice(read(file, _BYTES), 1)]


def diagnose(texts: Sequence[str]) -> str:
    """Return why a model of these texts cannot be good, and the remedy; empty if nothing is conspicuous."""
    traits = INFO[np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)]
    is_cased = (traits & IS_CASED) != 0
    n_letters = np.count_nonzero(is_cased | ((traits & CLASS) == LETTER))
    n_cased = np.count_nonzero(is_cased)
    if not n_letters:
        return ""
    if n_cased < _CASED * n_letters:
        return f"its script has no case ({1 - n_cased / n_letters:.0%} of the letters). There is nothing to restore."
    capitals = np.count_nonzero((traits & IS_UPPER) != 0) / n_cased
    if capitals < _CAPITALS[0]:
        return f"it has hardly any capitals ({capitals:.1%} of the letters). Train on text in its original casing."
    if capitals > _CAPITALS[1]:
        return f"it is in capitals ({capitals:.0%} of the letters). Train on text in its original casing."
    return ""
