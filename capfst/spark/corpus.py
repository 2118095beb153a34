"""Read a training corpus on Spark: the executors read, clean and tokenize it; the driver learns from it.

Input: files that all executors see under the same paths. Output: the `ReadCorpus` of `corpus.read.read_corpus`, of the
same lines in the same order, by the same kernels.

Files are split into parts of whole lines, one task each. Files that can only be read from their start are one task
each: those of other formats than plain text, and wrapped text. Spark recomputes parts that are lost with an executor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from capfst.corpus.intern import Interner
from capfst.corpus.read import ReadCorpus, ids_of, no_verdicts
from capfst.corpus.vocabulary import IdStreams, relabel
from capfst.exceptions import CapfstError, CorpusError
from capfst.io.files import Source
from capfst.io.protocol import TextOptions
from capfst.io.text_blocks import Split, lines_stand_alone, read_split, splits, text_blocks
from capfst.system.buckets import Store
from capfst.text.language import Language
from capfst.text.restoring import of_name

_PART = 32 << 20  # bytes of plain text per task


class _Report(NamedTuple):
    lines: npt.NDArray[np.int64]  # by verdict of the cleaning
    wrapped: int  # the width at which the lines of its file are wrapped; 0: they are not
    failed: str | None  # why the part could not be read


_Part = tuple[npt.NDArray[np.uint32], Interner, _Report]
"""A part of the corpus as ids, the words of these ids, and the outcome."""


def read_corpus(
    session: SparkSession,
    sources: Sequence[Source],
    options: TextOptions,
    filters: int,
    pretokenized: bool,
    language: Language,
    store: Store,
) -> ReadCorpus:
    """Read and clean a corpus on the executors of a session, as `corpus.read.read_corpus` does."""
    context = session.sparkContext
    files = [file for source in sources for file in source.files]
    parts = [
        (number, part)
        for number, source in enumerate(sources)
        for file in source.files
        for part in _parts(file, options)
    ]
    text = ReadCorpus(IdStreams(store, len(sources)), [Interner(language)])
    with ThreadPoolExecutor(1) as pool:
        # The digest needs one pass from the first line to the last, which takes longest: start it first.
        digest = pool.submit(context.parallelize([files], 1).map(partial(_digest, options)).collect)
        make = partial(_read, options, filters, pretokenized, language.name, language.grammar)
        made = context.parallelize([part for _, part in parts], len(parts)).map(make).persist(StorageLevel.DISK_ONLY)
        for (_, part), report in zip(parts, made.map(itemgetter(2)).collect(), strict=True):
            if report.failed is not None:
                _fail(part.file, options, report.failed)
            if report.wrapped:
                text.wrapped[part.file] = report.wrapped
            text.verdicts += report.lines
        for (source, _), (stream, words, _) in zip(parts, made.toLocalIterator(prefetchPartitions=True), strict=True):
            relabel(stream, text.interners[0].absorb(words))
            text.streams.append(0, stream, source)
        made.unpersist()
        text.digest = digest.result()[0]
    return text


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


def _read(
    options: TextOptions,
    filters: int,
    pretokenized: bool,
    language: str,
    grammar: tuple[tuple[str, str], ...],
    part: Split,
) -> _Part:
    interner = Interner(of_name(language, grammar))
    lines = no_verdicts()
    streams = [np.zeros(0, np.uint32)]
    wrapped: dict[Path, int] = {}
    failed = None
    try:
        whole = text_blocks([part.file], options, on_wrapped=wrapped.setdefault)
        for block in whole if part.end is None else read_split(part, options.errors):
            stream, verdicts = ids_of(block, interner, filters, pretokenized)
            streams.append(stream)
            lines += verdicts
    except CapfstError as error:
        failed = str(error)
    return np.concatenate(streams), interner, _Report(lines, wrapped.get(part.file, 0), failed)
