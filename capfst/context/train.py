"""A labelled corpus → the context model, ready to be written.

In: the vocabulary of a model and its corpus, here or on Spark. Out: what is known of the words, and what was learned;
model.py makes the context model of it.

The way: a sample of the corpus (sample.py) → what is known of each word (words.py, classes.py), and for which domains
it speaks (domains.py) → tables learned from the sample (learn.py) → the same in fewer bits (model.py).
"""

from __future__ import annotations

import logging
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import sample
from capfst.context.classes import label_classes, word_classes
from capfst.context.context_model import Parameters, quantize
from capfst.context.domains import find_domains
from capfst.context.features import N_RANKED
from capfst.context.learn import ANY, Tables, learn
from capfst.context.lexicon import Lexicon, add_shape_counts, hash_words, label_shapes, shape_counts
from capfst.corpus.labels import names
from capfst.exceptions import CapfstError
from capfst.fst.symbols import Symbols
from capfst.options import MIN_BITS, ContextOptions
from capfst.system.budget import PROGRAM, resident
from capfst.system.progress import Progress

_log = logging.getLogger(__name__)

MAX_BITS2 = 20
"""Of the table of stage 2, as `max_bits`."""
MAX_BITS_FIRST = 22
"""Of the table of the first look, likewise."""
CLASSED = 20_000_000
"""Of so many labels at most the classes are found."""

_ROWS_PER_LABEL = 8
_LEAST_BITS = 16  # so that few features of a small corpus share a row
_FEW = 1_000_000  # labels: less memory than these need is too little
_SLICES = 64  # of each source: sources are learned from in turn, slice by slice
_NEW = 4  # slices of each source that are new text together: what is known of a word is without them
# Bytes of memory: of what is loaded for learning; of what is known of a word; for finding classes, which ends before
# the tables are made; of the tables, and packing them.
_KERNELS, _PER_WORD, _PER_LABEL, _PER_ROW = 48 << 20, 450, 28, 70
_PER_COUNTS = 4 * N_SHAPES  # of a word in a language
_MEMORY_MARGIN = 16 << 20  # by which what is resident may differ from run to run


class LabelledCorpus(Protocol):
    """A labelled corpus, wherever it is."""

    def shape_counts(
        self, word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8], positional: bool
    ) -> npt.NDArray[np.int64]:
        """Return the counts of `lexicon.shape_counts`."""

    def sample(self, most: int) -> list[npt.NDArray[np.uint32]]:
        """As sample.sample."""


class LocalCorpus(NamedTuple):
    """A labelled corpus in an array; ends[s]: where source s ends in it."""

    labels: npt.NDArray[np.uint32]
    ends: npt.NDArray[np.int64]

    def shape_counts(
        self, word_of: npt.NDArray[np.int64], shapes: npt.NDArray[np.uint8], positional: bool
    ) -> npt.NDArray[np.int64]:
        return shape_counts(self.labels, word_of, shapes, positional)

    def sample(self, most: int) -> list[npt.NDArray[np.uint32]]:
        return sample.sample(self.labels, self.ends, most)


class Fitted(NamedTuple):
    """What model.py makes the context model of."""

    lexicon: Lexicon
    parameters: Parameters


def fit(
    symbols: Symbols,
    starts: npt.NDArray[np.int32],
    occurrences: npt.NDArray[np.int64],
    corpus: LabelledCorpus,
    language_of: npt.NDArray[np.int64],
    listed: list[npt.NDArray[np.uint32]],
    unknown: int,
    memory: int | None,
    show: Progress,
    options: ContextOptions,
    shape_of: npt.NDArray[np.uint8] | None = None,
    known: Lexicon | None = None,
) -> Fitted:
    """What is known and was learned of a corpus.

    starts: the words' first labels, as from symbols.check. occurrences: of each label, int64[V + 1]. language_of: the
    language of each source, from 0 on; all 0 if they are of one, or none was named. listed: of each language, as far as
    there are any, the labels of the entries of its word lists (corpus/word_lists.py), a 0 after each: their words count
    as occurrences, and names of several words are learned from. unknown: the label of `<unk>`. memory: bytes that the
    program may take; if they are few, fewer labels are learned from, in smaller tables. shape_of: what is decided on,
    by label: the shapes of the surface forms if None, or their spellings (spellings.py). known: what is known of the
    words already, but for what is decided on.

    Raises:
        CapfstError: too little memory.
    """
    size = wanted = min(int(occurrences.sum()), options.max_labels)
    per_word = _PER_WORD + _PER_COUNTS * (int(language_of.max()) + 1) * bool(language_of.any())
    size, rows = _affordable(size, options.max_bits, _KERNELS + per_word * len(starts), memory)
    if size < wanted:
        _log.warning(
            "warning: with so little memory, the context model learns from %s of %s tokens, in smaller tables, and"
            " restores case less well: allow more (--memory)",
            f"{size:,}",
            f"{wanted:,}",
        )
    word_of = np.zeros(len(symbols), np.int64)
    word_of[1:] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    totals = np.bincount(word_of[1:], occurrences[1:], len(starts) - 1).astype(np.float64)
    samples = corpus.sample(size)
    kept = [number for number, labels in enumerate(samples) if labels.any()]
    sources, languages = [samples[number] for number in kept], language_of[kept]
    if known is not None and shape_of is not None:
        lexicon = known._replace(shapes=shape_of, positional=False)
    else:
        lexicon = _lexicon(
            symbols, starts, occurrences, totals, word_of, shape_of, sources, languages, options.max_domains
        )
    listed = listed[: int(languages.max()) + 1]  # of languages that are learned from
    lexicon = _with_counts(lexicon, corpus, sources, languages, listed)
    learned_names = [sample.enclosed(names(entries), unknown) for entries in listed]
    return Fitted(lexicon, _learned(lexicon, starts, sources, languages, learned_names, Tables.of(rows), show))


def _affordable(size: int, max_bits: int, fixed: int, memory: int | None) -> tuple[int, tuple[int, int, int]]:
    """How many labels to learn from, and the rows of the tables: as many as wanted, or half of both, a fourth …, so
    that the memory suffices. fixed: bytes that are needed in any case."""
    fixed += max(PROGRAM, resident())
    while True:
        bits = max(_LEAST_BITS, (_ROWS_PER_LABEL * size).bit_length())
        rows = 2 ** min(bits, max_bits), 2 ** min(bits, MAX_BITS2), 2 ** min(bits, max_bits, MAX_BITS_FIRST)
        needed = fixed + max(_PER_LABEL * min(size, CLASSED) + 4 * size, _PER_ROW * sum(rows) + 4 * size)
        if memory is None or needed <= memory:
            return size, rows
        if size <= _FEW:
            raise CapfstError(
                f"{memory >> 20} MiB of memory are too little to learn contexts: allow {needed + _MEMORY_MARGIN >> 20} "
                "MiB (--memory), or leave them out (--no-context)"
            )
        size, max_bits = size // 2, max(MIN_BITS, max_bits - 1)


def _lexicon(
    symbols: Symbols,
    starts: npt.NDArray[np.int32],
    occurrences: npt.NDArray[np.int64],
    totals: npt.NDArray[np.float64],
    word_of: npt.NDArray[np.int64],
    shape_of: npt.NDArray[np.uint8] | None,
    sources: list[npt.NDArray[np.uint32]],
    languages: npt.NDArray[np.int64],
    max_domains: int,
) -> Lexicon:
    """What is known of labels and words, but for their counts. word_of: the word of each label. totals: the occurrences
    of each word. shape_of: as for `fit`."""
    shapes = label_shapes(symbols, starts)
    ranks = np.zeros(len(totals), np.uint8)
    most_frequent = np.argsort(-totals, kind="stable")[:N_RANKED]
    ranks[most_frequent] = np.arange(1, len(most_frequent) + 1)
    lower = (shapes == Shape.LOWER) | (shapes == Shape.CASELESS)
    classes = word_classes(label_classes(sample.smaller(sources, CLASSED), len(symbols)), word_of, lower, occurrences)
    hashes = hash_words(symbols, starts)
    positional = shape_of is None
    if shape_of is None:
        shape_of = shapes
    log_odds = find_domains(sources, languages, word_of, totals, ~lower[starts[:-1]], max_domains)
    several = bool(languages.any())
    none = np.zeros((0, N_SHAPES), np.int64)
    return Lexicon(word_of, shape_of, hashes, ranks, classes, none, log_odds, positional, several)


def _with_counts(
    lexicon: Lexicon,
    corpus: LabelledCorpus,
    sources: list[npt.NDArray[np.uint32]],
    languages: npt.NDArray[np.int64],
    listed: list[npt.NDArray[np.uint32]],
) -> Lexicon:
    """The lexicon with the shape counts of the corpus and of the word lists; and with those of each language, of the
    sources that are learned from."""
    counting = lexicon.word_of, lexicon.shapes, lexicon.positional
    counts = corpus.shape_counts(*counting)
    several = lexicon.domains_are_languages
    of_languages = np.zeros((lexicon.domain_log_odds.shape[1] if several else 0, *counts.shape), np.int32)
    if several:
        for language, labels in zip(languages, sources, strict=True):
            of_languages[language] += shape_counts(labels, *counting).astype(np.int32)
    for language, entries in enumerate(listed):
        forms = entries[(entries > 0) & (lexicon.shapes[entries] != Shape.CASELESS)]
        place = lexicon.word_of[forms], lexicon.shapes[forms]
        np.add.at(counts, place, 1)
        if several:
            np.add.at(of_languages[language], place, 1)
    return lexicon._replace(shape_counts=counts, language_counts=of_languages)


def _learned(
    lexicon: Lexicon,
    starts: npt.NDArray[np.int32],
    sources: list[npt.NDArray[np.uint32]],
    languages: npt.NDArray[np.int64],
    learned_names: list[npt.NDArray[np.uint32]],
    tables: Tables,
    show: Progress,
) -> Parameters:
    """What is learned from all sources and from the names of each language in turn."""
    several, without_positions = lexicon.domains_are_languages, lexicon._replace(positional=False)
    texts = [(labels, lexicon, language) for labels, language in zip(sources, languages.tolist(), strict=True)]
    texts += [(labels, without_positions, language) for language, labels in enumerate(learned_names)]
    sliced = [(sample.slices(labels, _SLICES), known, language) for labels, known, language in texts]

    def count(turns: range, step: int) -> None:
        """Adds `step` times the shape counts of the slices of these turns to what is known."""
        for slices, known, language in sliced:
            for labels in slices[turns.start : turns.stop]:
                counting = labels, known.word_of, known.shapes, known.positional, step
                add_shape_counts(*counting, known.shape_counts)
                if several:
                    add_shape_counts(*counting, known.language_counts[language])

    with show(sum(labels.size for labels, _, _ in texts), "learning contexts", "tokens") as advance:
        for first in range(0, _SLICES, _NEW):
            turns = range(first, first + _NEW)
            count(turns, -1)
            for turn in turns:
                for slices, known, language in sliced:
                    learn(slices[turn], known, tables, language if several else ANY)
                    advance(slices[turn].size)
            count(turns, 1)
    return quantize(tables, lexicon, starts)
