"""Where a corpus is read and kept: on this machine (`LocalStrategy`), or on Spark (`spark.corpus.SparkStrategy`).

Both strategies give the same numbers for the same lines, by the same kernels:

1. `Strategy.read`: files → a `ReadCorpus`, the ids of its words in the order of the text;
2. `corpus.vocabulary.build_vocabulary`: a `ReadCorpus` → the vocabulary and the corpus as `CorpusLabels`;
3. `CorpusLabels` give the context model its sample and its counts, and `lm.estimate` the n-grams.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from capfst.context.train import LabeledCorpus, LocalCorpus
from capfst.corpus import filters as cleaning
from capfst.corpus.intern import Interner
from capfst.corpus.labels import relabeled
from capfst.corpus.vocabulary import IdStreams, Label, StreamedCorpus, Tally
from capfst.io.blocks import Hash
from capfst.io.files import Source
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import text_blocks
from capfst.lm.estimate import DistributedLabels
from capfst.system.buckets import Store
from capfst.system.parallel import map_in_pool
from capfst.system.progress import Progress
from capfst.text.given import meant
from capfst.text.language import Language


class CorpusLabels(LabeledCorpus, Protocol):
    """A corpus as labels, each sentence its words' labels 1..V and then a 0."""

    @property
    def size(self) -> int:
        """Return the number of labels."""

    @property
    def countable(self) -> npt.NDArray[np.uint32] | DistributedLabels:
        """Return the labels as `lm.estimate` takes them, which it does once."""

    def relabeled(self, new_labels: npt.NDArray[np.uint32], more: npt.NDArray[np.uint32]) -> CorpusLabels:
        """Return the corpus with new_labels[l] instead of each label l, and `more` sentences after it.

        The result can only be counted; the old labels must no longer be used.
        """


class ReadCorpus(StreamedCorpus, Protocol):
    """A corpus after cleaning, as streams of ids (corpus/intern.py), from which `rewrite` makes `CorpusLabels`."""

    interners: list[Interner]
    verdicts: npt.NDArray[np.int64]  # lines by verdict of the cleaning filters; all 0 if there was no cleaning
    wrapped: dict[Path, int]  # the files with wrapped lines, and their widths
    digest: str  # of the text

    def rewrite(self, label: Label) -> CorpusLabels: ...


class Strategy(Protocol):
    """A way to read a corpus."""

    def read(
        self, sources: Sequence[Source], options: TextOptions, filters: int, pretokenized: bool, language: Language
    ) -> ReadCorpus:
        """Read and clean a corpus. filters: as from `corpus.filters.select`; 0: keep all lines.

        Raises:
            CorpusError: a file cannot be read, or its text cannot be used.
        """


class LocalLabels:
    """`CorpusLabels` in an array, which may be mapped from a temporary file."""

    def __init__(self, corpus: LocalCorpus, store: Store) -> None:
        self.corpus = corpus
        self.countable = corpus.labels
        self.size = int(corpus.labels.size)
        self.shape_counts = corpus.shape_counts
        self.sample = corpus.sample
        self.store = store

    def relabeled(self, new_labels: npt.NDArray[np.uint32], more: npt.NDArray[np.uint32]) -> LocalLabels:
        labels = relabeled(self.countable, new_labels, more, self.store)
        return LocalLabels(self.corpus._replace(labels=labels), self.store)


@dataclass
class LocalText:
    """A `ReadCorpus` in a temporary file."""

    streams: IdStreams
    interners: list[Interner]
    verdicts: npt.NDArray[np.int64]
    digest: str = ""
    wrapped: dict[Path, int] = field(default_factory=dict)
    first_streams: list[int] = field(default_factory=list)  # the number of each source's first stream

    def count(self, tally: Tally, size: int) -> npt.NDArray[np.int64]:
        return self.streams.count(tally, size)

    def rewrite(self, label: Label) -> LocalLabels:
        labels = self.streams.rewrite(label)
        ends = np.array([0, *self.streams.ends])[[*self.first_streams[1:], -1]]
        return LocalLabels(LocalCorpus(labels, ends), self.streams.store)


class LocalStrategy:
    """Read a corpus on this machine, in `threads` threads, each with an interner."""

    def __init__(self, store: Store, threads: int, show: Progress) -> None:
        self.store = store
        self.threads = threads
        self.show = show

    def read(
        self, sources: Sequence[Source], options: TextOptions, filters: int, pretokenized: bool, language: Language
    ) -> LocalText:
        interners = [Interner(language) for _ in range(self.threads)]
        text = LocalText(IdStreams(self.store), interners, np.zeros(len(cleaning.FILTERS) + 1, np.int64))
        hash = hashlib.blake2b(digest_size=8)
        size = sum(file.stat().st_size for source in sources for file in source.files)
        with self.show(size, "reading", "B") as advance:
            blocks = _blocks(text, sources, replace(options, jobs=self.threads), hash, advance)
            self._intern(text, blocks, filters, pretokenized)
        text.digest = hash.hexdigest()
        return text

    def _intern(self, text: LocalText, blocks: Iterable[bytes], filters: int, pretokenized: bool) -> None:
        """Append the streams of ids of the blocks' lines that the filters keep to the text."""
        idle = list(range(self.threads))

        def ids(block: bytes) -> tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
            block = block if pretokenized else meant(block)
            kept, verdicts = cleaning.clean(block, filters) if filters else (block, text.verdicts[:0])
            number = idle.pop()
            try:
                return number, text.interners[number].block(kept, pretokenized), verdicts
            finally:
                idle.append(number)

        with ThreadPoolExecutor(self.threads) as pool:
            for number, stream, verdicts in map_in_pool(ids, blocks, pool, 2 * self.threads):
                text.streams.append(number, stream)
                text.verdicts[: verdicts.size] += verdicts


def _blocks(
    text: LocalText, sources: Sequence[Source], options: TextOptions, hash: Hash, advance: Callable[[int], object]
) -> Iterator[bytes]:
    """Yield the blocks of the sources, none of which spans two; note each source's first one and wrapped files."""
    number = 0
    for source in sources:
        text.first_streams.append(number)
        blocks = text_blocks(source.files, options, hash=hash, progress=advance, on_wrapped=text.wrapped.setdefault)
        for block in blocks:
            yield block
            number += 1
