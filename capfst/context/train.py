"""A labelled corpus → the context model, ready to be written.

In: the vocabulary of a model and its corpus, here or on Spark. Out: what is known of the words, and what was learned of
each domain; model.py makes the context model of it.

The way: a sample of the corpus (sample.py) → what is known of each word (words.py, classes.py) → the domain of each
source (domains.py) → tables learned from the sample, for each domain (learn.py) → the same in fewer bits (model.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import sample, words
from capfst.context.classes import label_classes, word_classes
from capfst.context.domains import MAX_DOMAINS, find_domains
from capfst.context.features import N_RANKED
from capfst.context.learn import Lexicon, Tables, learn
from capfst.context.model import Parameters, quantize
from capfst.exceptions import CapfstError
from capfst.fst.symbols import Symbols
from capfst.system.budget import PROGRAM, resident
from capfst.system.progress import Progress

MAX_BITS = 22, 20
"""The tables of the stages have 2^22 and 2^20 rows at most while they learn; a fourth of them, 4 and 1 MB, is in the
file."""

_ROWS_PER_LABEL = 8
_SLICES = 64  # of each source: sources are learned from in turn, slice by slice
# Bytes of memory: of compiled code; of what is known of a word; for finding classes, which ends before the tables are
# made; of the tables, what several domains begin with, and packing them.
_KERNELS, _PER_WORD, _PER_LABEL, _PER_ROW = 48 << 20, 400, 28, 70
_MEMORY_MARGIN = 16 << 20  # by which what is resident may differ from run to run


@dataclass(frozen=True)
class ContextOptions:
    """How much a context model learns from, and how large it becomes.

    max_labels: how many labels of the corpus are learned from (sample.py). max_domains: how many kinds of text are told
    apart (domains.py), at most MAX_DOMAINS; each takes 5 MB, and 6 bytes for each label.
    """

    max_labels: int = 8_000_000
    max_domains: int = MAX_DOMAINS

    def __post_init__(self) -> None:
        if self.max_labels < 1 or not 1 <= self.max_domains <= MAX_DOMAINS:
            raise CapfstError(f"{self}: max_labels must be 1 or more, max_domains from 1 to {MAX_DOMAINS}")


class LabelledCorpus(Protocol):
    """A labelled corpus, wherever it is."""

    def shape_counts(self, word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """As words.shape_counts."""

    def sample(self, most: int) -> list[npt.NDArray[np.uint32]]:
        """As sample.sample."""


class LocalCorpus(NamedTuple):
    """A labelled corpus in an array; ends[s]: where source s ends in it."""

    labels: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]

    def shape_counts(self, word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        return words.shape_counts(self.labels, word_of, shapes)

    def sample(self, most: int) -> list[npt.NDArray[np.uint32]]:
        return sample.sample(self.labels, self.ends, most)


class Fitted(NamedTuple):
    """What model.py makes the context model of."""

    lexicon: Lexicon
    domain_log_odds: npt.NDArray[np.int8]  # [words, domains]
    parameters: list[Parameters]  # by domain


def fit(
    symbols: Symbols,
    starts: npt.NDArray[np.int64],
    occurrences: npt.NDArray[np.int64],
    corpus: LabelledCorpus,
    memory: int | None,
    show: Progress,
    options: ContextOptions,
) -> Fitted:
    """What is known and was learned of a corpus.

    starts: the words' first labels, as from symbols.check. occurrences: of each label, int64[V + 1]. memory: bytes that
    the program may take.

    Raises:
        CapfstError: too little memory.
    """
    size = min(int(occurrences.sum()), options.max_labels)
    bits = max(8, (_ROWS_PER_LABEL * size).bit_length())
    rows = 2 ** min(bits, MAX_BITS[0]), 2 ** min(bits, MAX_BITS[1])
    needed = max(PROGRAM, resident()) + _KERNELS + _PER_WORD * len(starts)
    needed += max(_PER_LABEL * size, _PER_ROW * sum(rows) + 4 * size)
    if memory is not None and memory < needed:
        raise CapfstError(
            f"{memory >> 20} MiB of memory are too little to learn contexts: allow {needed + _MEMORY_MARGIN >> 20} MiB "
            "(--memory), or leave them out (--no-context)"
        )
    word_of = np.zeros(len(symbols), np.int64)
    word_of[1:] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    totals = np.bincount(word_of[1:], occurrences[1:], len(starts) - 1).astype(np.float64)
    sources = [labels for labels in corpus.sample(options.max_labels) if labels.any()]
    lexicon = _lexicon(symbols, starts, occurrences, totals, word_of, corpus, sources)
    domains, domain_log_odds = find_domains(sources, word_of, totals, options.max_domains)
    return Fitted(lexicon, domain_log_odds, _learned(lexicon, starts, sources, domains, Tables.of(rows), show))


def _lexicon(
    symbols: Symbols,
    starts: npt.NDArray[np.int64],
    occurrences: npt.NDArray[np.int64],
    totals: npt.NDArray[np.float64],
    word_of: npt.NDArray[np.int64],
    corpus: LabelledCorpus,
    sources: list[npt.NDArray[np.uint32]],
) -> Lexicon:
    """What is known of labels and words. word_of: the word of each label. totals: the occurrences of each word."""
    shape_of = words.label_shapes(symbols, starts)
    ranks = np.zeros(len(totals), np.uint8)
    most_frequent = np.argsort(-totals, kind="stable")[:N_RANKED]
    ranks[most_frequent] = np.arange(1, len(most_frequent) + 1)
    lower = (shape_of == Shape.LOWER) | (shape_of == Shape.CASELESS)
    classes = word_classes(label_classes(sources, len(symbols)), word_of, lower, occurrences)
    hashes = words.hash_words(symbols, starts)
    return Lexicon(word_of, shape_of, hashes, ranks, classes, corpus.shape_counts(word_of, shape_of))


def _learned(
    lexicon: Lexicon,
    starts: npt.NDArray[np.int64],
    sources: list[npt.NDArray[np.uint32]],
    domains: npt.NDArray[np.int64],
    tables: Tables,
    show: Progress,
) -> list[Parameters]:
    """What is learned of each domain: from all sources in turn, then, if there are several domains, from its own."""
    sliced = [sample.slices(labels, _SLICES) for labels in sources]
    n_domains = int(domains.max()) + 1
    with show(min(2, n_domains) * sum(labels.size for labels in sources), "learning contexts", "tokens") as advance:

        def learn_from(chosen: list[int]) -> None:
            for turn in range(_SLICES):
                for source in chosen:
                    learn(sliced[source][turn], lexicon, tables)
                    advance(sliced[source][turn].size)

        learn_from(list(range(len(sources))))
        if n_domains == 1:
            return [quantize(tables, lexicon, starts)]
        # The tables are large: all domains learn in the same ones, and only the common weights are kept beside them.
        common = [table[:, :N_SHAPES].copy() for table in tables]
        parameters = []
        for domain in range(n_domains):
            for table, weights in zip(tables, common, strict=True):
                table[:, :N_SHAPES] = weights
            tables.renew()
            learn_from(np.flatnonzero(domains == domain).tolist())
            parameters.append(quantize(tables, lexicon, starts))
        return parameters
