"""Sample the sentences that models learn from: equally many labels of each source that has enough of them, or in
proportion to the square root of its size.

In: labels, and where each source (a large file, or several small ones) ends. Out: labels of whole sentences, by source,
in order. Without sampling, a source much larger than the others would decide what context means in all of them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from capfst.corpus.labels import pieces
from capfst.kernels.types import I64Array, U32Array


def quotas(sizes: I64Array, most: int, tempers: bool = False) -> I64Array:
    """Return how many labels of each source to learn from, given its size: all, or as many as of any other source (or
    `tempers`: in proportion to the square root of its size); `most` in total."""
    weights, quota = np.sqrt(sizes) if tempers else np.ones(len(sizes)), np.zeros(len(sizes), np.int64)
    rest = weights.sum()
    for source in np.argsort(sizes, kind="stable").tolist():  # small ones first, whose labels may be too few
        quota[source] = min(int(sizes[source]), int(most * weights[source] / max(1, rest)))
        most, rest = most - int(quota[source]), rest - weights[source]
    return quota


def select(labels: U32Array, quota: int, run: int = 1) -> U32Array:
    """Return about `quota` of the labels of a source, in whole sentences, evenly spread. run: how many sentences stay
    together."""
    parts, sentence = [np.zeros(0, np.uint32)], 0
    for piece, _ in pieces(labels):
        ends = np.cumsum(piece == 0, dtype=np.int64)
        sentences = np.append(0, ends[:-1]) + sentence
        parts.append(piece[sentences // run * quota % labels.size < quota])
        sentence += int(ends[-1])
    return np.concatenate(parts)


def sample(labels: U32Array, ends: I64Array, most: int, run: int = 1) -> list[U32Array]:
    """Return the labels to learn from, by source, `most` in total. ends: where each source ends in the labels. run: how
    many sentences stay together."""
    return smaller(np.split(labels, ends[:-1]), most, run)


def smaller(sources: list[U32Array], most: int, run: int = 1, tempers: bool = False) -> list[U32Array]:
    """Return a smaller sample of labels by source, as by `quotas`. run: how many sentences stay together."""
    wanted = quotas(np.array([labels.size for labels in sources], np.int64), most, tempers).tolist()
    return [
        labels if quota == labels.size else select(labels, quota, run)
        for labels, quota in zip(sources, wanted, strict=True)
    ]


def slices(labels: U32Array, n: int) -> list[U32Array]:
    """Cut labels of whole sentences into n slices of whole sentences, of about equal size; some may be empty."""
    ends = np.append(0, np.flatnonzero(labels == 0) + 1)
    cuts = ends[np.searchsorted(ends, np.arange(n + 1) * labels.size // n)]
    return [labels[begin:end] for begin, end in pairwise(cuts.tolist())]


def enclosed(sentences: U32Array, label: int) -> U32Array:
    """Return the sentences, each followed by a 0, with the label inserted before and after each, so that what is
    learned from them does not depend on where a sentence begins or ends."""
    ends = np.flatnonzero(sentences == 0)
    begins = np.append(0, ends + 1)[: len(ends)]
    return np.insert(sentences, np.concatenate([ends, begins]), np.uint32(label))
