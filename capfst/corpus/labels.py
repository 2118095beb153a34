"""Walks through a labelled corpus, which may be larger than memory.

In: labels, each sentence its words' labels 1..V and then a 0 (`</s>`), in memory or mapped from a file. Out:
pieces of it; and how often each label occurs.
"""

import mmap
from collections.abc import Iterator

import numba as nb
import numpy as np
import numpy.typing as npt

from capfst.errors import CapfstError

_CHUNK = 1 << 20


def pieces(labels: npt.NDArray, lead: int = 0, begin: int = 0) -> Iterator[tuple[npt.NDArray, int]]:
    """The labels from place `begin` on, piece by piece, each with up to `lead` labels before it; how many these are.

    What is mapped from a file is let go again, so that the file does not add up in memory.
    """
    for start in range(begin, len(labels), _CHUNK):
        before = min(start, lead)
        yield np.array(labels[start - before : start + _CHUNK], np.uint32), before
        if isinstance(labels, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            labels._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


@nb.njit(cache=True, nogil=True)
def _histogram(labels: npt.NDArray, start: int, tokens: npt.NDArray, first: npt.NDArray) -> int:
    """Adds each label's occurrences, and where it is first seen; the place of a label out of range, or -1."""
    for t in range(len(labels)):
        if labels[t] >= len(tokens):
            return t
        if tokens[labels[t]] == 0:
            first[labels[t]] = start + t
        tokens[labels[t]] += 1
    return -1


def tokens(labels: npt.NDArray, words: int) -> tuple[npt.NDArray, npt.NDArray]:
    """How often each label occurs, and where it does first (-1: nowhere)."""
    number, first = np.zeros(words + 1, np.int64), np.full(words + 1, -1)
    at = 0
    for piece, _ in pieces(labels):
        bad = _histogram(piece, at, number, first)
        if bad >= 0:
            raise ValueError(f"label {piece[bad]} at {at + bad}, but the vocabulary ends at {words}")
        at += len(piece)
    if not number[0]:
        raise CapfstError("the corpus has no sentence: nothing to count; check the input and the filters")
    if labels[-1] != 0:
        raise ValueError("the last sentence lacks its final 0")
    return number, first
