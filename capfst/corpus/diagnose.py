"""What is wrong with a corpus that is no text of cased sentences.

In: the corpus's files, of which the beginnings are looked at. Out: the cause in words, with what to do; nothing if the
text looks well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from capfst.text.unicode import CLASS, INFO, IS_CASED, IS_UPPER, LETTER

_FILES = 16
_BYTES = 1 << 17  # of each file

# Shares of letters, far from those of the training corpora: in these, all are cased, and 1.2 to 8 % are capitals.
_CASED = 0.2
_CAPITALS = 0.004, 0.5


def beginnings(files: Sequence[Path], read: Callable[[Path, int], Iterator[bytes]]) -> list[str]:
    """The first lines of the files, of some if they are many. Of pipes, which cannot be read twice, nothing.

    read: gives the lines of a file in blocks of about so many bytes.
    """
    regular = [file for file in files if file.is_file()]
    chosen = regular[:: -(-len(regular) // _FILES) or 1]
    blocks = [block for file in chosen for block in islice(read(file, _BYTES), 1)]
    return [block.decode() for block in blocks]


def diagnose(texts: Sequence[str]) -> str:
    """Why a model of these texts cannot be good; empty if nothing is conspicuous."""
    traits = INFO[np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)]
    is_cased = (traits & IS_CASED) != 0
    n_letters = np.count_nonzero(is_cased | ((traits & CLASS) == LETTER))
    n_cased = np.count_nonzero(is_cased)
    if not n_letters:
        return ""
    if n_cased < _CASED * n_letters:
        return f"its script has no case ({1 - n_cased / n_letters:.0%} of the letters): there is nothing to restore"
    capitals = np.count_nonzero((traits & IS_UPPER) != 0) / n_cased
    if capitals < _CAPITALS[0]:
        return f"it has hardly any capitals ({capitals:.1%} of the letters): train on text in its original casing"
    if capitals > _CAPITALS[1]:
        return f"it is in capitals ({capitals:.0%} of the letters): train on text in its original casing"
    return ""
