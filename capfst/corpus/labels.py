"""Iterate over a labeled corpus, which may be larger than memory.

Input: labels, for each sentence its words' labels 1..V and a 0 (`</s>`), in memory or mapped from a file. Output:
pieces of the corpus; the number of occurrences of each label; and the same corpus with other labels and more sentences.
"""

import mmap
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CorpusError
from capfst.kernels import kernel
from capfst.kernels.types import I64Array, U32Array, i64
from capfst.system.buckets import Store

_CHUNK = 1 << 20


class LabeledCorpus(NamedTuple):
    """A corpus as labels, uint32[T]; ends, int64[sources]: where each source ends in them."""

    labels: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]

    @property
    def size(self) -> int:
        return int(self.labels.size)


def pieces(labels: npt.NDArray, n_before: int = 0, begin: int = 0) -> Iterator[tuple[npt.NDArray, int]]:
    """Yield the labels from index `begin` on, piece by piece, each with up to `n_before` labels before it; and the
    number of these.

    The pages of a mapped file are released, so that they do not accumulate in memory.
    """
    for start in range(begin, len(labels), _CHUNK):
        before = min(start, n_before)
        yield np.array(labels[start - before : start + _CHUNK], np.uint32), before
        if isinstance(labels, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            labels._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]


@kernel
def _count(labels: U32Array, start: i64, occurrences: I64Array, first_places: I64Array) -> i64:
    """Add each label's occurrences, and set the index of its first one; return the index of a label out of range, or
    −1."""
    for t in range(len(labels)):
        if labels[t] >= len(occurrences):
            return t
        if occurrences[labels[t]] == 0:
            first_places[labels[t]] = start + t
        occurrences[labels[t]] += 1
    return -1


def count_labels(labels: npt.NDArray, words: int) -> tuple[npt.NDArray, npt.NDArray]:
    """Return two int64[words + 1]: the number of occurrences of each label, and the index of its first one (−1: none).

    Raises:
        CorpusError: the corpus has no sentence.
    """
    occurrences, firsts = np.zeros(words + 1, np.int64), np.full(words + 1, -1)
    start = 0
    for piece, _ in pieces(labels):
        bad = _count(piece, start, occurrences, firsts)
        if bad >= 0:
            raise ValueError(f"label {piece[bad]} at {start + bad}, but the vocabulary ends at {words}")
        start += len(piece)
    if not occurrences[0]:
        raise CorpusError("the corpus has no sentence. Check the input and the filters.")
    if labels[-1] != 0:
        raise ValueError("the last sentence lacks its final 0")
    return occurrences, firsts


def mapped(file: BinaryIO, size: int) -> npt.NDArray[np.uint32]:
    """Map the first `size` labels in a temporary file, which is deleted when they are no longer in use."""
    file.truncate(4 * size)
    return np.memmap(file, np.uint32, "r", shape=(size,)) if size else np.zeros(0, np.uint32)


def names(entries: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Return the entries of several words among those of a word list, with a 0 after each."""
    sizes = np.diff(np.flatnonzero(entries == 0), prepend=-1)
    return entries[np.repeat(sizes > 2, sizes)]


def relabeled(
    labels: npt.NDArray[np.uint32], new_labels: npt.NDArray[np.uint32], more: npt.NDArray[np.uint32], store: Store
) -> npt.NDArray[np.uint32]:
    """Return the corpus with each label l replaced by new_labels[l], and `more` sentences, in a temporary file."""
    file, size = store.open(), 0
    for piece, _ in pieces(labels):
        store.write(file, new_labels[piece], 4 * size)
        size += len(piece)
    store.write(file, more, 4 * size)
    return mapped(file, size + len(more))
