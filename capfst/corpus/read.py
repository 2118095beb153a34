"""Read a corpus: files → the lines that the cleaning keeps → ids of their words, in a temporary file.

Input: sources, groups of files. Output: `ReadCorpus`, from which `build_vocabulary` makes labels. `read_corpus` reads
on this machine, spark/corpus.py on others; both do so by `ids_of`, so that they give the same labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from capfst.corpus.filters import FILTERS, clean
from capfst.corpus.intern import Interner
from capfst.corpus.vocabulary import IdStreams
from capfst.io.files import Source
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import text_blocks
from capfst.system.buckets import Store
from capfst.system.parallel import map_stream
from capfst.system.progress import Progress
from capfst.text.given import meant
from capfst.text.language import Language


def no_verdicts() -> npt.NDArray[np.int64]:
    """Return the numbers of no lines, by verdict of the cleaning filters."""
    return np.zeros(len(FILTERS) + 1, np.int64)


@dataclass
class ReadCorpus:
    """A corpus after cleaning, as streams of ids."""

    streams: IdStreams
    interners: list[Interner]
    verdicts: npt.NDArray[np.int64] = field(default_factory=no_verdicts)  # all 0 if there was no cleaning
    wrapped: dict[Path, int] = field(default_factory=dict)  # the files with wrapped lines, and their widths
    digest: str = ""  # of the text


def ids_of(
    block: bytes, interner: Interner, filters: int, pretokenized: bool
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the stream of ids of a block's lines that the filters keep (0: all), and the numbers of lines by
    verdict."""
    block = block if pretokenized else meant(block)
    kept, verdicts = clean(block, filters) if filters else (block, no_verdicts())
    return interner.block(kept, pretokenized), verdicts


def read_corpus(
    sources: Sequence[Source],
    options: TextOptions,
    filters: int,
    pretokenized: bool,
    language: Language,
    store: Store,
    threads: int,
    show: Progress,
) -> ReadCorpus:
    """Read and clean a corpus, in threads, each with an interner. filters: as from `filters.select`; 0: keep all lines.

    Raises:
        CorpusError: a file cannot be read, or its text cannot be used.
    """
    text = ReadCorpus(IdStreams(store, len(sources)), [Interner(language) for _ in range(threads)])
    hash = hashlib.blake2b(digest_size=8)
    options = replace(options, jobs=threads)
    idle = list(range(threads))
    size = sum(file.stat().st_size for source in sources for file in source.files)

    def blocks() -> Iterator[tuple[int, bytes]]:
        for number, source in enumerate(sources):
            some = text_blocks(source.files, options, hash=hash, progress=advance, on_wrapped=text.wrapped.setdefault)
            for block in some:
                yield number, block

    def ids(item: tuple[int, bytes]) -> tuple[int, int, npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        source, block = item
        number = idle.pop()
        try:
            return source, number, *ids_of(block, text.interners[number], filters, pretokenized)
        finally:
            idle.append(number)

    with show(size, "reading", "B") as advance:
        for source, number, stream, verdicts in map_stream(ids, blocks(), threads):
            text.streams.append(number, stream, source)
            text.verdicts += verdicts
    text.digest = hash.hexdigest()
    return text
