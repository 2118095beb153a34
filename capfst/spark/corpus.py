"""A training corpus on Spark: the executors read, clean and tokenize it, and count its n-grams.

Input: files that all executors see under the same paths. Output: the same numbers as on one machine, because the same
kernels process the same lines. `SparkStrategy` follows the protocol `Strategy` of `training/strategy.py`, `SparkText`
its `ReadCorpus`, `SparkLabels` its `CorpusLabels`.

1. Files are split into parts of whole lines, one task each (`io/splits.py`). Files that can only be read from their
   start are one task each: those of other formats than plain text, and wrapped text.
2. The streams of ids of all parts stay on the executors; the words of all parts are merged (`SparkText`).
3. The streams become labels, and these become windows of N words, shuffled into the buckets of `lm/partition.py`. The
   driver collects the n-grams of each bucket (`SparkLabels`).

Spark recomputes parts that are lost with an executor.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pyspark import RDD, Broadcast, StorageLevel
from pyspark.sql import SparkSession

from capfst.casing.shapes import N_SHAPES
from capfst.context.lexicon import shape_counts
from capfst.context.sample import quotas, select
from capfst.corpus import filters as cleaning
from capfst.corpus.intern import Interner
from capfst.corpus.labels import count_labels, pieces
from capfst.corpus.vocabulary import Label, Tally, relabel
from capfst.exceptions import CapfstError, CorpusError
from capfst.io.files import Source
from capfst.io.protocol import TextOptions
from capfst.io.splits import Split, read, splits
from capfst.io.text_blocks import lines_stand_alone, text_blocks
from capfst.lm.count import Collector, NgramCounts, start_counts
from capfst.lm.discount import newest_word, recount
from capfst.lm.ngram_windows import BucketCounts, WindowLayout, count_bucket, pack_windows
from capfst.lm.partition import Partition
from capfst.system.buckets import Store
from capfst.text.given import meant
from capfst.text.language import Language
from capfst.text.restoring import of_name

_PART = 32 << 20  # bytes of plain text per task; its windows may take ten times as much
_UNSEEN = np.iinfo(np.int64).max


class _PartIds(NamedTuple):
    """A part of the corpus as ids, and the counts of its task."""

    number: int  # of the part
    stream: npt.NDArray[np.uint32]
    words: Interner  # of the ids in the stream
    lines: npt.NDArray[np.int64]  # by verdict of the cleaning
    wrapped: int  # the width at which the lines of its file are wrapped; 0: they are not
    failed: str | None  # why the part could not be read


_LabeledPart = tuple[int, npt.NDArray[np.uint32]]
"""The number of a part, and its labels."""
_Sparse = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The indices of nonzero values, ascending, and these values: a part has only a few of the corpus's words."""


class SparkStrategy:
    """Read a corpus on the executors of a session."""

    def __init__(self, session: SparkSession) -> None:
        self.context = session.sparkContext

    def read(
        self, sources: Sequence[Source], options: TextOptions, filters: int, pretokenized: bool, language: Language
    ) -> SparkText:
        files = [file for source in sources for file in source.files]
        parts = list(enumerate(part for file in files for part in _parts(file, options)))
        source_of = {file: number for number, source in enumerate(sources) for file in source.files}
        wrapped: dict[Path, int] = {}
        with ThreadPoolExecutor(1) as pool:
            # The digest needs one pass from the first line to the last, which takes longest: start it first.
            whole = self.context.parallelize([files], 1).map(partial(_digest, options))
            digest: Future[list[str]] = pool.submit(whole.collect)
            make = partial(_make, options, filters, pretokenized, language.name, language.grammar)
            streams = _kept(self.context.parallelize(parts, len(parts)).map(make))
            made = streams.map(lambda made: (made.lines, made.wrapped, made.failed)).collect()
            verdicts = sum((lines for lines, _, _ in made), np.zeros(len(cleaning.FILTERS) + 1, np.int64))
            for (_, part), (_, width, failed) in zip(parts, made, strict=True):
                if failed is not None:
                    _fail(part.file, options, failed)
                if width:
                    wrapped[part.file] = width
            source_numbers = np.array([source_of[part.file] for _, part in parts], np.int64)
            return SparkText(streams, source_numbers, verdicts, wrapped, digest.result()[0])


class SparkText:
    """A corpus as streams of ids, which stay on the executors. sources: the number of each part's source."""

    def __init__(
        self,
        streams: RDD[_PartIds],
        sources: npt.NDArray[np.int64],
        verdicts: npt.NDArray[np.int64],
        wrapped: dict[Path, int],
        digest: str,
    ) -> None:
        self.streams, self.sources = streams, sources
        self.verdicts, self.wrapped, self.digest = verdicts, wrapped, digest
        words = streams.map(lambda made: made.words).treeReduce(_merged)
        self.interners = [words]
        self._words = streams.context.broadcast(words)

    def count(self, tally: Tally, size: int) -> npt.NDArray[np.int64]:
        """Return the sums of `IdStreams.count`."""
        counts: npt.NDArray[np.int64] = self.streams.map(partial(_tallied, self._words, tally, size)).treeReduce(np.add)
        self.size = int(counts.sum())
        return counts

    def rewrite(self, label: Label) -> SparkLabels:
        """Return the corpus as labels, after `count`."""
        return SparkLabels(self.streams, partial(_labeled, self._words, label), self.size, self.sources)


class SparkLabels:
    """A corpus as `size` labels on the executors, (number of the part, uint32[·]), which can be counted only once."""

    def __init__(
        self,
        streams: RDD[_PartIds],
        label: Callable[[_PartIds], _LabeledPart],
        size: int,
        sources: npt.NDArray[np.int64],
    ) -> None:
        self.streams = streams
        self.rdd = _kept(streams.map(label))
        self.size = size
        self.sources = sources

    @property
    def countable(self) -> SparkLabels:
        """Return the labels: `lm.estimate` calls their `count`."""
        return self

    def count(
        self, words: int, order: int, store: Store, cutoffs: tuple[int, ...], keep_occurrences: bool
    ) -> NgramCounts:
        """Return the counts of `lm.count.count`."""
        occurrences, first = self.rdd.map(partial(_histogram, words)).treeReduce(_added)
        self.streams.unpersist()
        counts = start_counts(occurrences, order, cutoffs)
        if order > 1:
            self._count_nodes(counts, store, WindowLayout.of(order, words, counts.cutoffs, keep_occurrences))
        counts.close()
        first[first == _UNSEEN] = -1
        before = self.rdd.map(partial(_before, newest_word(first), order)).collect()
        recount(np.concatenate(before), first, counts.counts_of_counts)
        self.rdd.unpersist()
        return counts

    def relabeled(self, new_labels: npt.NDArray[np.uint32], more: npt.NDArray[np.uint32]) -> SparkLabels:
        """Return the corpus of `corpus.labels.relabeled`. The old labels can no longer be counted."""
        again, context = copy.copy(self), self.rdd.context
        with_new_labels = self.rdd.map(partial(_relabeled, context.broadcast(new_labels)))
        again.rdd = _kept(with_new_labels.union(context.parallelize([(len(self.sources), more)], 1)))
        again.size += len(more)
        return again

    def shape_counts(self, word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Return the counts of `context.lexicon.shape_counts`."""
        indices, numbers = self.rdd.map(partial(_shape_counts, word_of, shapes)).treeReduce(_summed)
        counts = np.zeros((int(word_of.max()) + 1, N_SHAPES), np.int64)
        counts.flat[indices] = numbers
        return counts

    def sample(self, most: int, run: int = 1) -> list[npt.NDArray[np.uint32]]:
        """Return the labels of `context.sample.sample`."""
        sizes = np.array(self.rdd.map(_sizes).collect())  # labels and sentences, by part
        totals = np.bincount(self.sources, sizes[:, 0]).astype(np.int64)
        quota = quotas(totals, most)
        before = np.cumsum(sizes[:, 1]) - sizes[:, 1]
        first = before - before[np.searchsorted(self.sources, self.sources)]
        of_parts = first.tolist(), quota[self.sources].tolist(), totals[self.sources].tolist()
        rules = [(*rule, run) for rule in zip(*of_parts, strict=True)]
        parts = self.rdd.map(partial(_selected, rules)).collect()
        bounds = np.searchsorted(self.sources, np.arange(int(self.sources[-1]) + 2)).tolist()
        return [np.concatenate(parts[begin:end]) for begin, end in pairwise(bounds)]

    def _count_nodes(self, counts: NgramCounts, store: Store, layout: WindowLayout) -> None:
        parts = counts.partition
        windows = self.rdd.flatMap(partial(_windows, parts, layout))
        buckets = _kept(windows.partitionBy(parts.n_buckets, int).mapPartitionsWithIndex(partial(_nodes, layout)))
        counts.windows = np.array(buckets.map(lambda bucket: bucket[0]).collect())
        collector = Collector(counts, layout, store)
        for number, (_, collapsed) in enumerate(buckets.toLocalIterator(prefetchPartitions=True)):
            collector.add(number, collapsed)
        collector.close()
        buckets.unpersist()


def _kept(rdd: RDD[Any]) -> RDD[Any]:
    """Return the RDD, to be computed once and kept on the executors' disks."""
    return rdd.persist(StorageLevel.DISK_ONLY)


def _parts(file: Path, options: TextOptions) -> list[Split]:
    """Return the parts of a file; there is only one unless its lines can be read independently."""
    parts = splits(file, _PART)
    return parts if len(parts) == 1 or lines_stand_alone(file, options) else [Split(file)]


def _fail(file: Path, options: TextOptions, failed: str) -> None:
    """Raise the error of reading the whole file here, which names the line; a part only has its own line numbers."""
    for _ in text_blocks([file], options):
        pass
    raise CorpusError(failed)


# The functions below run in tasks.


def _digest(options: TextOptions, files: list[Path]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    try:
        for _ in text_blocks(files, options, hash=digest):
            pass
    except CapfstError:
        return ""  # the task of the part that cannot be read reports the reason
    return digest.hexdigest()


def _make(
    options: TextOptions,
    filters: int,
    pretokenized: bool,
    language: str,
    grammar: tuple[tuple[str, str], ...],
    part: tuple[int, Split],
) -> _PartIds:
    """Read, clean and tokenize a part of the corpus."""
    interner = Interner(of_name(language, grammar))
    lines = np.zeros(len(cleaning.FILTERS) + 1, np.int64)
    streams = [np.zeros(0, np.uint32)]
    wrapped: dict[Path, int] = {}
    failed = None
    try:
        file, _, end = part[1]
        whole = text_blocks([file], options, on_wrapped=wrapped.setdefault)
        for block in whole if end is None else read(part[1], options.errors):
            block = block if pretokenized else meant(block)
            kept, counts = cleaning.clean(block, filters) if filters else (block, lines[:0])
            lines[: counts.size] += counts
            streams.append(interner.block(kept, pretokenized))
    except CapfstError as error:
        failed = str(error)
    return _PartIds(part[0], np.concatenate(streams), interner, lines, wrapped.get(file, 0), failed)


def _merged(words: Interner, more: Interner) -> Interner:
    words.absorb(more)
    return words


def _ids(words: Broadcast[Interner], made: _PartIds) -> npt.NDArray[np.uint32]:
    """Return a copy of the part's stream in the ids of the merged words."""
    stream = made.stream.copy()
    relabel(stream, words.value.ids_of(made.words))
    return stream


def _tallied(words: Broadcast[Interner], tally: Tally, size: int, made: _PartIds) -> npt.NDArray[np.int64]:
    counts = np.zeros(size, np.int64)
    tally(0, _ids(words, made), counts)
    return counts


def _labeled(words: Broadcast[Interner], label: Label, made: _PartIds) -> _LabeledPart:
    return made.number, label(0, _ids(words, made)).copy()


def _relabeled(new_labels: Broadcast[npt.NDArray[np.uint32]], part: _LabeledPart) -> _LabeledPart:
    return part[0], new_labels.value[part[1]]


def _histogram(words: int, part: _LabeledPart) -> tuple[npt.NDArray, npt.NDArray]:
    """Count the occurrences of each label; also return a number that increases with its first position, by label."""
    number, labels = part
    if not labels.size:
        return np.zeros(words + 1, np.int64), np.full(words + 1, _UNSEEN)
    occurrences, first = count_labels(labels, words)
    return occurrences, np.where(first < 0, _UNSEEN, first + (number << 40))


def _added(a: tuple[npt.NDArray, npt.NDArray], b: tuple[npt.NDArray, npt.NDArray]) -> tuple[npt.NDArray, npt.NDArray]:
    return a[0] + b[0], np.minimum(a[1], b[1])


def _shape_counts(word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8], part: _LabeledPart) -> _Sparse:
    counts = shape_counts(part[1], word_of, shapes).reshape(-1)
    indices = np.flatnonzero(counts)
    return indices, counts[indices]


def _summed(a: _Sparse, b: _Sparse) -> _Sparse:
    indices, inverse = np.unique(np.concatenate((a[0], b[0])), return_inverse=True)
    values = np.zeros(len(indices), np.int64)
    np.add.at(values, inverse, np.concatenate((a[1], b[1])))
    return indices, values


def _sizes(part: _LabeledPart) -> tuple[int, int]:
    return part[1].size, int(np.count_nonzero(part[1] == 0))


def _selected(rules: list[tuple[int, int, int, int]], part: _LabeledPart) -> npt.NDArray[np.uint32]:
    return select(part[1], *rules[part[0]])


def _windows(parts: Partition, layout: WindowLayout, part: _LabeledPart) -> Iterator[tuple[int, bytes]]:
    """Yield the windows of a part of the corpus, each with its bucket."""
    for piece, n_before in pieces(part[1], layout.order - 1):
        packed, bounds = pack_windows(piece, n_before, parts, layout)
        for bucket in np.flatnonzero(np.diff(bounds)).tolist():
            yield bucket, packed[bounds[bucket] : bounds[bucket + 1]].tobytes()


def _nodes(
    layout: WindowLayout, bucket: int, windows: Iterable[tuple[int, bytes]]
) -> Iterator[tuple[int, BucketCounts]]:
    """Yield the number of a bucket's windows, and its n-grams."""
    packed = np.frombuffer(b"".join(some for _, some in windows), np.uint64).reshape(-1, layout.columns)
    yield len(packed), count_bucket(packed, layout)


def _before(word: int, order: int, part: _LabeledPart) -> npt.NDArray[np.uint32]:
    """Return the order − 1 words before each occurrence of a word, nearest first; 0 before the part's first."""
    positions = np.flatnonzero(part[1] == word)[:, None] - np.arange(1, order)
    padded = np.concatenate((np.zeros(1, np.uint32), part[1]))
    return padded[np.maximum(positions + 1, 0)]
