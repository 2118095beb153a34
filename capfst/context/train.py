"""Fit the context model to a labeled corpus.

In: the vocabulary of a model and its corpus, in memory or on Spark. Out: the context model.

The steps: a sample of the corpus (sample.py) → facts about each word (lexicon.py, classes.py), and domains
(domains.py) → tables learned from the sample (learn.py) → the same tables in fewer bits (`context_of`).
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import context_model as cm
from capfst.context import lexicon as lx
from capfst.context import sample
from capfst.context.classes import label_classes, word_classes
from capfst.context.domains import find_domains
from capfst.context.features import N_RANKED
from capfst.context.learn import Tables, learn
from capfst.context.learn_network import Learned
from capfst.context.network import N_ENDINGS, N_INPUTS
from capfst.corpus.labels import LabeledCorpus, names
from capfst.corpus.vocabulary import Frequencies, Vocabulary, lowercase_forms
from capfst.exceptions import OptionError
from capfst.fst.symbols import Symbols
from capfst.kernels import kernel
from capfst.kernels.types import BoolArray, F32Matrix, F64Array, I16Matrix, I32Array, I32Cube, I32Matrix, I64Array

from capfst.kernels.types import I64Matrix, U8Array, U32Array, f32, f64, i16, i64  # isort: skip
from capfst.options import MIN_BITS, ContextOptions
from capfst.system.budget import PROGRAM, resident
from capfst.system.progress import Progress

_log = logging.getLogger(__name__)

MAX_BITS2, MAX_BITS_FIRST = 20, 22
"""As `max_bits`, of the tables of stage 2 and of the first pass."""
MAX_EMBEDDINGS, LEAST_FOR_NETWORK = 1 << 16, 200_000
"""The largest number of the network's embeddings; labels from which it can be learned."""
CLASSED = 20_000_000
"""The largest number of labels from which the classes are learned."""

LISTED, LISTED_MIXED = 10, 1000
"""Occurrences that `raise_listed` gives to words in word lists."""
AGREED, SLIPS = 0.25, 100
"""The share of a word's occurrences above which its form in mixed case, if a list has it, is right for all of them; and
how often that form then counts for each of the others."""

_JUDGED, _PRIOR = 20, 5.0
"""A list is judged by words with at most this many occurrences in the corpus, plus this many for which it is right."""
_SPELLING_RANKS = np.array([Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED], np.uint8)
"""The shapes that stand for the first, second and third spelling of a word; not LOWER, which costs LOWER_PENALTY."""
_ROWS_PER_LABEL = 8
_LEAST_BITS = 16  # so that few features of a small corpus share a row
_FEW = 1_000_000  # labels: the sample is not reduced below this for lack of memory
_SLICES = 64  # of each source: sources are learned from in turn, slice by slice
_NEW = 4  # slices of each source whose counts the lexicon leaves out together while they are learned from
# Bytes of memory: of the code that learning loads; of the lexicon, per word; of finding classes, per label, before the
# tables are made; of the tables and of packing them, per row; of the network, per embedding.
_KERNELS, _PER_WORD, _PER_LABEL, _PER_ROW, _PER_EMBEDDING = 48 << 20, 450, 28, 70, 8 * N_INPUTS
_PER_COUNTS = 4 * N_SHAPES  # per word and language
_MEMORY_MARGIN = 16 << 20  # resident memory may differ by this from run to run


class Sample(NamedTuple):
    """What a context model learns from."""

    sources: list[U32Array]  # labels of whole sentences, by source
    languages: I64Array  # of each source, from 0 on
    word_lists: list[U32Array]  # by language: the labels of their entries, each followed by a 0
    unknown: int  # the label of `<unk>`

    @classmethod
    def of(cls, sources: list[U32Array], languages: I64Array, *lists: Any) -> Sample:
        """Return a sample without sources of which nothing is in it. lists: the other fields."""
        kept = [number for number, labels in enumerate(sources) if labels.any()]
        return cls([sources[number] for number in kept], languages[kept], *lists)


def fit(
    vocabulary: Vocabulary, starts: I32Array, corpus: LabeledCorpus, language_of: I64Array, memory: int | None,
    show: Progress, options: ContextOptions, shape_of: U8Array | None = None, known: lx.Lexicon | None = None,
) -> tuple[lx.Lexicon, cm.Context]:  # fmt: skip
    """Return the lexicon and the context model learned from a corpus.

    Args:
        vocabulary: of the corpus and of word lists. The words of lists without frequencies count as occurrences, and
            their names of several words are learned from; other lists are only evidence.
        starts: the words' first labels, as from symbols.check.
        language_of: the language of each source, from 0 on; all 0 if there is only one, or none was named.
        memory: bytes that the program may take. If they are few, fewer labels are learned from, in smaller tables.
        shape_of: what is decided on, by label: the shapes of the surface forms if None, or their spellings.
        known: a lexicon of these words for something else to decide on, which is used except for its shapes and counts.

    Raises:
        OptionError: too little memory.
    """
    symbols, occurrences = vocabulary.symbols, vocabulary.counts
    wanted, size, rows = affordable(vocabulary, starts, int(language_of.max()) + 1, memory, options)
    if size < wanted:
        _log.warning(
            "memory is limited: the context model learns from %s of %s tokens, in smaller tables, and restores"
            " case less well. Raise `memory`.",
            f"{size:,}",
            f"{wanted:,}",
        )
    totals = np.bincount(lx.word_numbers(starts)[1:], occurrences[1:], len(starts) - 1).astype(np.float64)
    learned = Sample.of(sample.sample(*corpus, size), language_of, vocabulary.listed, vocabulary.unknown)
    learned = learned._replace(word_lists=vocabulary.listed[: int(learned.languages.max()) + 1])
    lexicon = known or _lexicon(symbols, starts, occurrences, totals, learned, options.max_domains)
    if shape_of is not None:
        lexicon = lexicon._replace(shapes=shape_of, marks=lx.NO_MARKS)
    counts = np.zeros((len(totals), N_SHAPES), np.int64)
    lx.add_shape_counts(corpus.labels, lexicon.word_of, lexicon.shapes, 1, counts)
    of_languages = count_by_language(lexicon, counts, learned)
    lexicon = _with_lists(lexicon._replace(shape_counts=counts, language_counts=of_languages), vocabulary.frequencies)
    if known is None:
        _give_embeddings(lexicon, totals)
    tables = Tables.of(rows)
    n_embeddings = _embeddings(len(totals)) if size >= LEAST_FOR_NETWORK else 0
    network = Learned.of(n_embeddings, lexicon.n_domains)
    learn_in_turn(lexicon, learned, tables, network, show)
    if shape_of is None:
        raise_listed(lexicon, learned.word_lists, totals == 0)
    return lexicon, context_of(tables, network, lexicon, starts)


def label_spellings(symbols: Symbols, starts: I32Array, occurrences: I64Array) -> U8Array:
    """Return uint8[V + 1]: 1, 2, 3 for the most frequent spelling of a word, the second, and all others; CASELESS for
    words with one spelling.

    starts: the words' first labels, as from symbols.check. occurrences: of each label, int64[V + 1].
    """
    _, spelling_of = lowercase_forms(symbols.strings, symbols.language.casing)
    spelling_of = spelling_of[1:]
    counts = np.bincount(spelling_of, occurrences[1:])
    word_of = np.full(len(counts), -1, np.int64)  # also of `<epsilon>`
    word_of[spelling_of] = lx.word_numbers(starts)[1:]
    order = np.lexsort([-counts, word_of])
    ranks = np.empty(len(counts), np.int64)
    ranks[order] = np.arange(len(order)) - np.searchsorted(word_of[order], word_of[order])
    n_spellings = np.bincount(word_of + 1)
    label_ranks = np.full(len(symbols), Shape.CASELESS, np.uint8)
    has_choice = n_spellings[word_of[spelling_of] + 1] > 1
    label_ranks[1:][has_choice] = _SPELLING_RANKS[np.minimum(ranks[spelling_of[has_choice]], 2)]
    return label_ranks


def affordable(
    vocabulary: Vocabulary, starts: I32Array, n_languages: int, memory: int | None, options: ContextOptions
) -> tuple[int, int, tuple[int, int, int]]:
    """Return from how many labels to learn, how many the memory suffices for, and the numbers of rows of the tables: as
    wanted, or half of both, a fourth and so on. Arguments and errors are those of `fit`."""
    wanted = size = min(int(vocabulary.counts.sum()), options.max_labels)
    per_word = _PER_WORD + _PER_COUNTS * n_languages * (n_languages > 1)
    fixed = _KERNELS + per_word * len(starts) + _PER_EMBEDDING * _embeddings(len(starts)) + max(PROGRAM, resident())
    max_bits = options.max_bits
    while True:
        bits = max(_LEAST_BITS, (_ROWS_PER_LABEL * size).bit_length())
        rows = 2 ** min(bits, max_bits), 2 ** min(bits, MAX_BITS2), 2 ** min(bits, max_bits, MAX_BITS_FIRST)
        needed = fixed + max(_PER_LABEL * min(size, CLASSED) + 4 * size, _PER_ROW * sum(rows) + 4 * size)
        if memory is None or needed <= memory:
            return wanted, size, rows
        if size <= _FEW:
            raise OptionError(
                f"`memory` is {memory >> 20} MiB, too little for a context model. Allow"
                f" {needed + _MEMORY_MARGIN >> 20} MiB, or train with `context=False`."
            )
        size, max_bits = size // 2, max(MIN_BITS, max_bits - 1)


def _embeddings(n_words: int) -> int:
    """Return the number of the network's embeddings: a power of 2, with which most of the words have their own."""
    return min(MAX_EMBEDDINGS, 1 << (N_ENDINGS + n_words).bit_length())


def _lexicon(
    symbols: Symbols, starts: I32Array, occurrences: I64Array, totals: F64Array, learned: Sample, max_domains: int
) -> lx.Lexicon:
    """Return the lexicon of labels and words without counts. occurrences: of each label. totals: of each word."""
    shapes, word_of = lx.label_shapes(symbols, starts), lx.word_numbers(starts)
    lower = (shapes == Shape.LOWER) | (shapes == Shape.CASELESS)
    class_of = label_classes(sample.smaller(learned.sources, CLASSED), len(symbols))
    hashes = lx.hash_words(symbols, starts)
    words = cm.word_records(hashes)
    words["lower_class"], words["cased_class"] = word_classes(class_of, word_of, lower, occurrences).T
    most_frequent = np.argsort(-totals, kind="stable")[:N_RANKED]
    words["frequency_rank"][most_frequent] = np.arange(1, len(most_frequent) + 1)
    log_odds, of_languages = find_domains(
        learned.sources, learned.languages, word_of, totals, ~lower[starts[:-1]], max_domains
    )
    words["domain_log_odds"][:, : log_odds.shape[1]] = log_odds
    none, marks = np.zeros((0, N_SHAPES), np.int64), lx.word_marks(symbols, starts)
    return lx.Lexicon(word_of, shapes, hashes, words, log_odds.shape[1], none, of_languages, marks=marks)


def count_by_language(lexicon: lx.Lexicon, counts: I64Matrix, learned: Sample) -> I32Cube:
    """Add the word lists to the shape counts of a corpus, in place. Return the shape counts of each language, if there
    are several, from the sample and from its word lists."""
    of_languages = np.zeros((lexicon.n_languages, *counts.shape), np.int32)
    for language, labels in zip(learned.languages, learned.sources, strict=True) if len(of_languages) else ():
        lx.add_shape_counts(labels, lexicon.word_of, lexicon.shapes, 1, of_languages[language])
    for language, entries in enumerate(learned.word_lists):
        for table in (counts, *of_languages[language : language + 1]):
            lx.add_shape_counts(entries, lexicon.word_of, lexicon.shapes, 1, table)
    return of_languages


def _with_lists(lexicon: lx.Lexicon, lists: list[Frequencies]) -> lx.Lexicon:
    """Return the lexicon with shape evidence for the words that only lists with frequencies have.

    A list is trusted as far as it is right about rare words of the corpus: its own shape evidence of a word, such as
    "capitalized, and frequent", has the probabilities of the shapes that rare words with this evidence have in the
    corpus. Those of several lists are multiplied.
    """
    if not lists:
        return lexicon
    n_words, several = len(lexicon.shape_counts), lexicon.n_languages > 0
    log_p = np.zeros((n_words, N_SHAPES), np.float32)
    of_languages = np.zeros((len(lexicon.language_counts), n_words), np.uint8)
    for language in sorted({each.language for each in lists}):
        counts = lexicon.language_counts[language] if several else lexicon.shape_counts
        by_list = (_listed_log_p(each, lexicon, counts) for each in lists if each.language == language)
        of_language = sum(by_list, np.zeros_like(log_p))
        if several:
            of_languages[language] = _listed_evidence(of_language)
        log_p += of_language
    return lexicon._replace(listed=_listed_evidence(log_p), language_listed=of_languages)


def _listed_log_p(each: Frequencies, lexicon: lx.Lexicon, corpus: I64Matrix | I32Matrix) -> F32Matrix:
    """Return float32[words, N_SHAPES]: ln p of the shapes of the words in a list, given the counts of the corpus; 0 for
    words that it lacks."""
    counts = np.zeros(corpus.shape, np.int64)
    has_case = lexicon.shapes[each.labels] != Shape.CASELESS
    labels = each.labels[has_case]
    np.add.at(counts, (lexicon.word_of[labels], lexicon.shapes[labels]), each.occurrences[has_case])
    evidence = lx.word_evidence(counts)
    rare = corpus.sum(1) <= _JUDGED
    n = np.zeros((256, N_SHAPES))
    for shape in range(N_SHAPES):
        n[:, shape] = np.bincount(evidence[rare], corpus[rare, shape], 256)
    said = np.arange(1, 121)
    n[said, (said - 1) // 30] += _PRIOR
    n[said] += 0.1
    log_p = np.zeros_like(n, np.float32)
    log_p[said] = np.log(n[said] / n[said].sum(1, keepdims=True))
    return log_p[evidence]


def _listed_evidence(log_p: F32Matrix) -> U8Array:
    """Return the shape evidence of words, given ln p of their shapes: UNSEEN if all are 0."""
    p = np.exp(log_p - log_p.max(1, keepdims=True))
    best = p.argmax(1)
    trust = (p.max(1) / p.sum(1) < lx.TRUST[:, None]).sum(0)
    return np.where(log_p.any(1), lx.LISTED + lx.N_TRUSTED * best + trust, lx.UNSEEN).astype(np.uint8)


def _give_embeddings(lexicon: lx.Lexicon, totals: F64Array) -> None:
    """Give the most frequent words embeddings of their own: relative to the square root of the text in a language, so
    that one with little text has its share. totals: the occurrences of each word."""
    frequency = totals / max(1, totals.sum()) ** 0.5
    for counts in lexicon.language_counts:
        of_language = counts.sum(1)
        frequency = np.maximum(frequency, of_language / max(1, of_language.sum()) ** 0.5)
    frequent = np.argsort(-frequency, kind="stable")[: _embeddings(len(totals)) - N_ENDINGS - 1]
    lexicon.words["embedding"][frequent] = N_ENDINGS + 1 + np.arange(len(frequent))


def learn_in_turn(lexicon: lx.Lexicon, learned: Sample, tables: Tables, network: Learned, show: Progress) -> None:
    """Learn from all sources, and from the names of each language, slice by slice in turn; the lexicon then lacks the
    counts of these."""
    without_gaps = lexicon._replace(marks=lx.NO_MARKS)
    of_sources = zip(learned.sources, learned.languages.tolist(), strict=True)
    texts = [(labels, lexicon, language) for labels, language in of_sources]
    texts += [
        (sample.enclosed(names(entries), learned.unknown), without_gaps, language)
        for language, entries in enumerate(learned.word_lists)
    ]
    sliced = [(sample.slices(labels, _SLICES), known, language) for labels, known, language in texts]

    def count(turns: range, step: int) -> None:
        """Add `step` times the shape counts of the slices of these turns to the lexicon's."""
        for slices, known, language in sliced:
            for labels in slices[turns.start : turns.stop]:
                for counts in (known.shape_counts, *known.language_counts[language : language + 1]):
                    lx.add_shape_counts(labels, known.word_of, known.shapes, step, counts)

    with show(sum(labels.size for labels, _, _ in texts), "learning contexts", "tokens") as advance:
        for first in range(0, _SLICES, _NEW):
            turns = range(first, first + _NEW)
            count(turns, -1)
            for turn in turns:
                for slices, known, language in sliced:
                    learn(slices[turn], known, tables, language, network, turn / _SLICES)
                    advance(slices[turn].size)
            count(turns, 1)


def raise_listed(lexicon: lx.Lexicon, word_lists: list[U32Array], absent: BoolArray) -> None:
    """Raise, in place, the counts of listed words that the corpus has not, so that one entry decides their case.

    Such a word counts as LISTED occurrences; in mixed case as LISTED_MIXED, because small corpora teach nothing of
    words in mixed case. No common word is in mixed case by chance, so such a form also gives a word of the corpus
    LISTED occurrences; and if more than AGREED of all are in this shape, in each language that has the word
    (*DuPont*, French *Dupont*), the others are slips (*Lebron*), of which it outnumbers each by SLIPS. All other words
    in lists keep their counts: the text decides on *us* and *may*.

    absent: bool[words], whether only word lists have the word.
    """
    for language, entries in enumerate(word_lists):
        forms = np.unique(entries[(entries > 0) & (lexicon.shapes[entries] != Shape.CASELESS)])
        words, shapes = lexicon.word_of[forms], lexicon.shapes[forms]
        pairs = np.unique(words * N_SHAPES + shapes)
        words, shapes = pairs // N_SHAPES, pairs % N_SHAPES
        is_mixed, n_shapes = shapes == Shape.MIXED, np.bincount(words)[words]
        wanted = np.where(absent[words] & is_mixed, LISTED_MIXED, LISTED)
        in_all = [lexicon.shape_counts, *lexicon.language_counts]
        totals = [counts[words].sum(1) for counts in in_all]
        agreed = [
            is_mixed & ~absent[words] & ((counts[words, shapes] > AGREED * total) | (total == 0))
            for counts, total in zip(in_all, totals, strict=True)
        ]
        agreed[0] = np.all(agreed, 0)
        for number in (0, 1 + language)[: len(in_all)]:
            counts, total = in_all[number], totals[number]
            of_shape = counts[words, shapes]
            more = np.maximum(0, wanted - total) // n_shapes
            slips = np.where(agreed[number], SLIPS * (total - of_shape) - of_shape, 0)
            counts[words, shapes] += np.where(absent[words] | is_mixed, np.maximum(more, slips), 0).astype(counts.dtype)


def context_of(tables: Tables, network: Learned, lexicon: lx.Lexicon, starts: I32Array) -> cm.Context:
    """Build the context model of a model whose words have the first labels `starts`."""
    words, first = np.zeros(len(lexicon.shapes), lx.WORD_RECORD), starts[:-1]
    learned = tables.stage1, tables.stage2, tables.first_pass
    weights, scales = zip(*map(_whole_numbers, learned), strict=True)
    evidence = lx.word_evidence(lexicon.shape_counts, lexicon.listed)
    scores = np.zeros((len(first), N_SHAPES - 1), np.int16)
    cm.sum_word_scores(lexicon.hashes, evidence, weights[0], cm.NO_OWNERS, scores)
    stage1, stage2, first_pass = map(_most_important, weights, learned)
    evidence[lexicon.shapes[first] == Shape.CASELESS] = lx.NO_CASE
    words[first] = lexicon.words
    words["shape_evidence"][first], words["scores"][first] = evidence, scores
    words["unseen_penalty"][first] = cm.LEAST_PENALTY + np.log(1.0 + lexicon.shape_counts.sum(1))
    language_log_odds = np.zeros((len(words), lexicon.n_languages), np.int8)
    language_log_odds[first] = lexicon.language_log_odds
    language_evidence = np.zeros_like(language_log_odds, np.uint8)
    for language, counts in enumerate(lexicon.language_counts):
        listed = lexicon.language_listed[language] if len(lexicon.language_listed) else lx.NOT_LISTED
        language_evidence[first, language] = lx.word_evidence(counts, listed)
    of_all = words, lexicon.shapes, stage1, stage2, first_pass, scales, lexicon.n_domains
    of_languages = language_log_odds, language_evidence
    return cm.Context(*of_all, *of_languages, network=network.quantized(), has_gaps=lexicon.marks.size > 0)


def _whole_numbers(table: F32Matrix) -> tuple[I16Matrix, float]:
    """Return int16[rows, N_SHAPES − 1], the weights of each shape except LOWER, less LOWER's, as integers up to
    MAX_WEIGHT; and the weight that 1 stands for. (Softmax depends on differences of scores only, so LOWER's may be 0.)
    """
    scale = _largest(table) / cm.MAX_WEIGHT or 1.0
    weights = np.empty((len(table), N_SHAPES - 1), np.int16)
    _round(table, scale, weights)
    return weights, scale


@kernel
def _largest(table: F32Matrix) -> f32:
    """Return the largest absolute difference of a weight and that of LOWER in the same row."""
    most = f32(0)
    for row in range(len(table)):
        for k in range(1, N_SHAPES):
            most = max(most, abs(f32(table[row, k] - table[row, 0])))
    return most


@kernel
def _round(table: F32Matrix, scale: f32, weights: I16Matrix) -> None:
    for row in range(len(table)):
        for k in range(1, N_SHAPES):
            weights[row, k - 1] = i16(np.rint(f32(f32(table[row, k] - table[row, 0]) / scale)))


def _most_important(weights: I16Matrix, table: F32Matrix) -> U32Array:
    """Return uint32[slots]: of the rows that share a slot, the most important one."""
    n_slots = len(weights) // cm.ROWS_PER_SLOT
    kept, owners = np.zeros((n_slots, N_SHAPES - 1), np.int16), np.zeros(n_slots, np.uint8)
    _keep(weights, table, kept, owners, np.zeros(n_slots))
    return cm.packed(kept, owners)


@kernel
def _keep(weights: I16Matrix, table: F32Matrix, kept: I16Matrix, owners: U8Array, most: F64Array) -> None:
    """Fill kept and owners, given zeros. The importance of a row is the sum of its absolute weights times the square
    root of AdaGrad's sum of its squared gradients."""
    for row in range(len(weights)):
        slot, weight, squares = row % len(kept), 0, table[row, N_SHAPES]
        for k in range(N_SHAPES - 1):
            weight += abs(i64(weights[row, k]))
            squares = f32(squares + table[row, N_SHAPES + 1 + k])
        importance = f64(weight) * f64(np.sqrt(squares))
        if importance > most[slot]:
            most[slot], owners[slot] = importance, 1 + row // len(kept)
            for k in range(N_SHAPES - 1):
                kept[slot, k] = weights[row, k]
