"""Which sentences of a corpus the context model learns from: as many labels of each source, as far as it has them.

In: labels, and where each source (a large file, or several small ones) ends. Out: labels of whole sentences, by source,
in their order. Without this, a source much larger than the others would decide what context means in all of them.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from capfst.corpus.labels import pieces
from capfst.kernels import allocating
from capfst.kernels.types import U32Array, i64


def quotas(sizes: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """How many labels of each source to learn from, given how many it has: all, or as many as of any other source,
    `most` in all."""
    left, quota = most, np.zeros(len(sizes), np.int64)
    for rank, source in enumerate(np.argsort(sizes, kind="stable").tolist()):
        quota[source] = min(int(sizes[source]), left // (len(sizes) - rank))
        left -= int(quota[source])
    return quota


@allocating
def _select(labels: U32Array, sentence: i64, quota: i64, size: i64, selected: U32Array) -> tuple[i64, i64]:
    """Copies those of the labels that are selected; `sentence` is the number in its source of the first one's sentence.

    Of a source of `size` labels, sentences that make up `quota` labels are selected, evenly spread. Returns how many
    labels of these are, and the number of the sentence that comes next.
    """
    n = 0
    for label in labels:
        if sentence * quota % size < quota:
            selected[n] = label
            n += 1
        sentence += label == 0
    return n, sentence


def select(labels: npt.NDArray[np.uint32], sentence: int, quota: int, size: int) -> npt.NDArray[np.uint32]:
    """Those of a source's labels that are to be learned from: whole sentences.

    sentence: the number in its source of the first sentence. quota, size: how many labels of the source are wanted, and
    how many it has.
    """
    parts = [np.zeros(0, np.uint32)]
    for piece, _ in pieces(labels):
        selected = np.empty(len(piece), np.uint32)
        n, sentence = _select(piece, sentence, quota, size, selected)
        parts.append(selected[:n].copy())
    return np.concatenate(parts)


def sample(labels: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64], most: int) -> list[npt.NDArray[np.uint32]]:
    """The labels to learn from, by source, `most` in all. ends: where each source ends in the labels."""
    begins = np.concatenate([[0], ends[:-1]])
    sizes = ends - begins
    return [
        select(labels[begin:end], 0, quota, end - begin)
        for begin, end, quota in zip(begins.tolist(), ends.tolist(), quotas(sizes, most).tolist(), strict=True)
    ]


def smaller(sources: list[npt.NDArray[np.uint32]], most: int) -> list[npt.NDArray[np.uint32]]:
    """Of labels by source a sample again, `most` in all."""
    wanted = quotas(np.array([labels.size for labels in sources], np.int64), most).tolist()
    return [
        labels if quota == labels.size else select(labels, 0, quota, labels.size)
        for labels, quota in zip(sources, wanted, strict=True)
    ]


def slices(labels: npt.NDArray[np.uint32], n: int) -> list[npt.NDArray[np.uint32]]:
    """The labels of whole sentences in n slices of whole sentences, of about one size; some may be empty."""
    ends = np.append(0, np.flatnonzero(labels == 0) + 1)
    cuts = ends[np.searchsorted(ends, np.arange(n + 1) * labels.size // n)]
    return [labels[begin:end] for begin, end in pairwise(cuts.tolist())]


def enclosed(sentences: npt.NDArray[np.uint32], label: int) -> npt.NDArray[np.uint32]:
    """Sentences, a 0 after each, with the label before and behind each: so what is learned from them does not depend
    on where a sentence begins or ends."""
    ends = np.flatnonzero(sentences == 0)
    begins = np.append(0, ends + 1)[: len(ends)]
    return np.insert(sentences, np.concatenate([ends, begins]), np.uint32(label))
