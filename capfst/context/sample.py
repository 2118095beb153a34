"""Which sentences of a corpus the context model learns from: as many of each source, as far as it has them.

In: labels, and where each source (a large file, or several small ones) ends. Out: labels of whole sentences, by source,
in their order. A source that is much larger than the others would else decide what context means in all of them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.corpus.labels import pieces

MOST = 8_000_000
"""Labels in all; more teach little more, and take time."""


def quotas(sizes: npt.NDArray[np.int64], most: int = MOST) -> npt.NDArray[np.int64]:
    """How many labels of each source, given how many it has: all, or as many as of any other, `most` in all."""
    left, share = most, np.zeros(len(sizes), np.int64)
    for number, source in enumerate(np.argsort(sizes, kind="stable").tolist()):
        share[source] = min(int(sizes[source]), left // (len(sizes) - number))
        left -= int(share[source])
    return share


@njit(cache=True, nogil=True)
def _select(labels, sentence, quota, size, out):  # type: ignore[no-untyped-def]
    """Of a source of `size` labels, as many sentences as make up `quota` labels, evenly spread: copies those among
    these labels, of which the first belongs to the sentence of this number. How many labels, and the next number."""
    written = 0
    for label in labels:
        if sentence * quota % size < quota:
            out[written] = label
            written += 1
        sentence += label == 0
    return written, sentence


def chosen(labels: npt.NDArray[np.uint32], sentence: int, quota: int, size: int) -> npt.NDArray[np.uint32]:
    """Those of a source's labels that are to be learned from. sentence: the number in its source of the first one;
    quota, size: how many labels of the source are wanted, and how many it has."""
    parts = [np.zeros(0, np.uint32)]
    for piece, _ in pieces(labels):
        out = np.empty(len(piece), np.uint32)
        written, sentence = _select(piece, sentence, quota, size, out)
        parts.append(out[:written].copy())
    return np.concatenate(parts)


def sample(
    labels: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64], most: int = MOST
) -> list[npt.NDArray[np.uint32]]:
    """The labels to learn from, by source; ends[s]: where source s ends in the labels."""
    begins = np.concatenate([[0], ends[:-1]])
    sizes = ends - begins
    return [
        chosen(labels[begin:end], 0, quota, end - begin)
        for begin, end, quota in zip(begins.tolist(), ends.tolist(), quotas(sizes, most).tolist(), strict=True)
    ]


def slices(labels: npt.NDArray[np.uint32], number: int) -> list[npt.NDArray[np.uint32]]:
    """The labels of whole sentences in so many slices of whole sentences, some of which may be empty."""
    ends = np.append(0, np.flatnonzero(labels == 0) + 1)
    cuts = ends[np.searchsorted(ends, np.arange(number + 1) * labels.size // number)]
    return [labels[begin:end] for begin, end in pairwise(cuts.tolist())]
