"""Move a context model to a model with other symbols, and update it with other text.

In: a context model, and a symbol table: of a mixture, or of a restricted vocabulary. Out: the context model for the
model with these symbols. It keeps what was known and learned of each lowercase word; of words that the symbols lack, it
keeps the evidence (`RareWords`). Words that it does not know remain unseen.

In: this context model, and counts of shapes, from a corpus or from other models. Out: the context model with the
evidence of both, and with weights that were trained further.

* Evidence: the file has the shape evidence of a word and, in its `unseen_penalty`, the number of its occurrences. From
  these follow counts, to which the other counts are added. The counts of a model weigh at most MOST_COUNTED occurrences
  per word, so that a small corpus can change what a large one has taught.
* Weights: training continues from the weights in the file. Only features that own a slot of its tables have weights, so
  the tables keep their size and training takes little memory. In addition, each word has weights of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import context_model as cm
from capfst.context import lexicon as lx
from capfst.context.learn import Tables
from capfst.context.learn_network import NOT_LEARNED
from capfst.context.train import Sample, count_by_language, learn_in_turn, raise_listed
from capfst.corpus.labels import LabeledCorpus
from capfst.fst.symbols import Symbols
from capfst.kernels.types import F32Matrix, F64Array, I16Matrix, I32Array, I32Cube, I64Array, I64Matrix, U8Array

from capfst.kernels.types import U32Matrix  # isort: skip
from capfst.system.progress import Progress

MOST_COUNTED = 150
"""Largest number of occurrences of a word that a model counts for. Above 100, evidence does not depend on it."""
ADAPTED_SUM = 3.0
"""AdaGrad's sums begin with this for weights from a file: more than INITIAL_SUM, so that these change less."""

_FRACTIONS = np.array([1, 0.99, 0.94, 0.8, 0.55])  # of the most frequent shape, by impurity
_FREQUENCIES = np.array([1, 2, 4, 10, 50, MOST_COUNTED])  # occurrences, by frequency


def transferred(
    context: cm.Context, old: I32Array, symbols: Symbols, starts: I32Array, shapes: U8Array | None = None
) -> cm.Context:
    """Return the context model for other symbols, whose words' first labels are `starts`.

    old: the first labels of these words in the model of `context`, int32[words]; 0 for words that it lacks. shapes:
    what is decided on, by label, as for train.fit.
    """
    rare = context.rare
    if shapes is None:
        shapes = lx.label_shapes(symbols, starts)
        rare = rare if rare.evidence.size else _left_out(context, old)  # mixtures, which may have some, leave out none
    first, known = starts[:-1], old > 0
    hashes, evidence = lx.hash_words(symbols, starts), np.empty(len(first), np.uint8)
    lx.find_rare(context.rare, np.ascontiguousarray(hashes[:, lx.WHOLE]), evidence)
    words = np.zeros(len(symbols), lx.WORD_RECORD)
    words[first] = cm.word_records(hashes)
    words["shape_evidence"][first], words["scores"][first] = evidence, scores_of(context, hashes, evidence)
    of_languages = np.zeros((len(symbols), context.n_languages), np.uint8)
    of_languages[first] = evidence[:, None]  # of a rare word, only that of all languages is known
    words[first[known]] = context.words[old[known]]
    of_languages[first[known]] = context.language_evidence[old[known]]
    evidence = words["shape_evidence"][first]
    evidence[evidence == lx.NO_CASE] = lx.UNSEEN
    evidence[shapes[first] == Shape.CASELESS] = lx.NO_CASE
    words["shape_evidence"][first] = evidence
    log_odds = np.zeros((len(symbols), context.n_languages), np.int8)
    log_odds[first[known]] = context.language_log_odds[old[known]]
    return context._replace(
        words=words, shapes=shapes, language_log_odds=log_odds, language_evidence=of_languages, rare=rare
    )


def _left_out(context: cm.Context, kept: I32Array) -> lx.RareWords:
    evidence = context.words["shape_evidence"].copy()
    evidence[kept] = lx.UNSEEN
    rest = (evidence != lx.UNSEEN) & (evidence < lx.BEGIN)
    return lx.RareWords.of(context.words["word_hash"][rest], evidence[rest])


def labels_of(known: Symbols, symbols: Symbols) -> I64Array:
    """Return int64[V + 1], the label in `known` of each of these symbols; 0 if it lacks the symbol."""
    labels = {form: label for label, form in enumerate(map(known.strings.utf8, range(len(known))))}
    return np.array([labels.get(form, 0) for form in map(symbols.strings.utf8, range(len(symbols)))], np.int64)


class Counts(NamedTuple):
    """How often words were seen in each shape."""

    shapes: I64Matrix  # [words, N_SHAPES], at most about MOST_COUNTED per word if from a model
    totals: F64Array  # [words]: of all shapes, without that limit
    languages: I32Cube  # [languages, words, N_SHAPES]; [0, words, N_SHAPES] if none are distinguished


def counts_of(context: cm.Context, first: I32Array) -> Counts:
    """Return the counts in a context model of the words with these first labels, of which 0 is a word that it lacks."""
    records = context.words[first]
    evidence = records["shape_evidence"]
    totals = np.rint(np.expm1(np.minimum(records["unseen_penalty"] - cm.LEAST_PENALTY, 40).astype(np.float64)))
    totals[(evidence == lx.UNSEEN) | (evidence >= lx.LISTED)] = 0
    of_languages = context.language_evidence[first].T
    shapes = _counts(evidence, totals)
    languages = [_counts(row, _FREQUENCIES[(row.astype(np.int64) - 1) % 6]) for row in of_languages]
    return Counts(shapes, totals, np.array(languages, np.int32).reshape(-1, *shapes.shape))


def _counts(evidence: U8Array, totals: npt.NDArray) -> I64Matrix:
    """Return int64[n, N_SHAPES]: counts that have this shape evidence, up to MOST_COUNTED of these totals."""
    seen = (evidence > lx.UNSEEN) & (evidence < lx.LISTED)
    code = np.where(seen, evidence, 1).astype(np.int64) - 1
    best, impurity = np.minimum(code // 30, N_SHAPES - 1), code // 6 % 5  # any byte is legal in a file
    n = np.where(seen, np.clip(totals, 1, MOST_COUNTED), 0).astype(np.int64)
    most = np.rint(n * _FRACTIONS[impurity]).astype(np.int64)
    most = np.where(best == N_SHAPES - 1, np.maximum(most, np.minimum(n, n // 2 + 1)), most)
    second = np.where(best == Shape.LOWER, Shape.CAPITALIZED.value, Shape.LOWER.value)
    is_tie = (2 * most <= n) & (best > 0) & (best < N_SHAPES - 1)  # the first of equally frequent shapes is the best
    second = np.where(is_tie, best + 1, second)
    counts = np.zeros((len(evidence), N_SHAPES), np.int64)
    words = np.arange(len(evidence))
    counts[words, best] = most
    counts[words, second] += n - most
    return counts


def added(one: Counts, other: Counts) -> Counts:
    """Return the sums of counts; those of languages only if both distinguish the same number of languages."""
    languages = one.languages
    if len(languages) == len(other.languages):
        languages = languages + other.languages
    return Counts(one.shapes + other.shapes, one.totals + other.totals, languages)


def with_counts(context: cm.Context, symbols: Symbols, starts: I32Array, more: Counts) -> cm.Context:
    """Return the context model with more counts of some words. Its weights stay; words that it had not seen get those
    that seen words have.

    context: for these symbols, whose words' first labels are `starts`.
    """
    first = starts[:-1]
    known = counts_of(context, first)
    context = _with_evidence(context, starts, added(known, more), more)
    unseen = (known.totals == 0) & (more.totals > 0)
    evidence = np.where(unseen, context.words["shape_evidence"][first], np.uint8(lx.UNSEEN))
    context.words["scores"][first[unseen]] = scores_of(context, lx.hash_words(symbols, starts), evidence)[unseen]
    return context


def scores_of(context: cm.Context, hashes: U32Matrix, evidence: U8Array) -> I16Matrix:
    """Return int16[words, N_SHAPES − 1], the scores of words with these hashes and shape evidence, by the weights in
    the file."""
    weights, owners = cm.unpacked(context.stage1)
    scores = np.zeros((len(evidence), N_SHAPES - 1), np.int16)
    cm.sum_word_scores(hashes, evidence, weights, owners, scores)
    return scores


def _with_evidence(context: cm.Context, starts: I32Array, counts: Counts, more: Counts) -> cm.Context:
    """Return a copy with the evidence of `counts` for the words that have `more`."""
    first = starts[:-1]
    changed = (more.totals > 0) & (context.shapes[first] != Shape.CASELESS)
    words, language_evidence = np.zeros(len(context.words), lx.WORD_RECORD), context.language_evidence.copy()
    words[:] = context.words  # a copy would have any bytes between the fields
    labels = first[changed]
    words["shape_evidence"][labels] = lx.word_evidence(counts.shapes)[changed]
    words["unseen_penalty"][labels] = cm.LEAST_PENALTY + np.log1p(counts.totals[changed])
    if len(more.languages) == context.n_languages:
        for language, of_words in enumerate(more.languages):
            seen = changed & (of_words.sum(1) > 0)
            language_evidence[first[seen], language] = lx.word_evidence(counts.languages[language])[seen]
    return context._replace(words=words, language_evidence=language_evidence)


def adapted(
    context: cm.Context, symbols: Symbols, starts: I32Array, corpus: LabeledCorpus, labels: I64Array, learned: Sample,
    show: Progress,
) -> cm.Context:  # fmt: skip
    """Return the context model adapted to a corpus.

    context: for these symbols, whose words' first labels are `starts`. labels: by label of the corpus, the label in the
    adapted model. learned: a sample of the corpus, in labels of the model.
    """
    first = starts[:-1]
    known = counts_of(context, first)
    lexicon = _lexicon(context, symbols, starts, known)
    tables = _tables(context, lexicon, first)
    shapes = np.zeros((len(first), N_SHAPES), np.int64)
    lx.add_shape_counts(corpus.labels, lexicon.word_of[labels], lexicon.shapes[labels], 1, shapes)
    of_languages = count_by_language(lexicon, shapes, learned)
    more = Counts(shapes, shapes.sum(1).astype(np.float64), of_languages)
    counts = added(known, more)
    lexicon = lexicon._replace(shape_counts=counts.shapes, language_counts=counts.languages)
    learn_in_turn(lexicon, learned, tables, NOT_LEARNED, show)
    before, absent = counts.shapes.sum(1), known.totals == 0
    for of_source in learned.sources:
        absent[lexicon.word_of[of_source[of_source > 0]]] = False
    raise_listed(lexicon, learned.word_lists, absent)
    totals = counts.totals + (counts.shapes.sum(1) - before)
    context = _with_evidence(context, starts, counts._replace(totals=totals), more)
    weights = [*map(_integers, tables[:3], context.scales)]
    scores = _integers(tables.words, context.scales[0])
    cm.sum_word_scores(lexicon.hashes, context.words["shape_evidence"][first], weights[0], tables.owners[0], scores)
    context.words["scores"][first] = scores
    stage1, stage2, first_pass = map(cm.packed, weights, tables.owners)
    return context._replace(stage1=stage1, stage2=stage2, first_pass=first_pass)


def _lexicon(context: cm.Context, symbols: Symbols, starts: I32Array, known: Counts) -> lx.Lexicon:
    first = starts[:-1]
    records, hashes = context.words[first], lx.hash_words(symbols, starts)
    domains = context.n_domains // max(1, context.n_languages)
    of_labels = lx.word_numbers(starts), np.array(context.shapes)
    by_lists = _listed(records["shape_evidence"]), _listed(np.ascontiguousarray(context.language_evidence[first].T))
    of_languages = context.language_log_odds[first], known.languages
    marks = lx.word_marks(symbols, starts)
    return lx.Lexicon(*of_labels, hashes, records, domains, known.shapes, *of_languages, *by_lists, marks)


def _listed(evidence: U8Array) -> U8Array:
    """Return the shape evidence that comes from word lists alone; UNSEEN for the other words."""
    return np.where((evidence >= lx.LISTED) & (evidence < lx.BEGIN), evidence, lx.UNSEEN).astype(np.uint8)


def _tables(context: cm.Context, lexicon: lx.Lexicon, first: I32Array) -> Tables:
    """Return the weights in a file as tables to learn on from. first: the first labels of the words.

    The weights of a word are what its scores have in addition to the features that own a slot.
    """
    slots = [cm.unpacked(packed) for packed in (context.stage1, context.stage2, context.first_pass)]
    stage1, stage2, first_pass = (
        _rows(weights, scale) for (weights, _), scale in zip(slots, context.scales, strict=True)
    )
    evidence = context.words["shape_evidence"][first]
    rest = context.words["scores"][first].astype(np.float32) - scores_of(context, lexicon.hashes, evidence)
    rest[(evidence == lx.UNSEEN) | (evidence >= lx.BEGIN)] = 0
    (_, owners1), (_, owners2), (_, owners_first) = slots
    of_words = _rows(rest, context.scales[0])
    return Tables(stage1, stage2, first_pass, (owners1, owners2, owners_first), of_words)


def _rows(weights: I16Matrix | F32Matrix, scale: float) -> F32Matrix:
    """Return rows as in `learn.Tables` with these weights of each shape except LOWER, in units of `scale`."""
    rows = np.full((len(weights), 2 * N_SHAPES), ADAPTED_SUM, np.float32)
    rows[:, 0], rows[:, 1:N_SHAPES] = 0, weights * np.float32(scale)
    return rows


def _integers(rows: F32Matrix, scale: float) -> I16Matrix:
    """Return the weights of rows, of each shape except LOWER, less LOWER's, in units of `scale`."""
    weights = (rows[:, 1:N_SHAPES] - rows[:, :1]) / np.float32(scale)
    return np.clip(np.rint(weights), -(1 << 14), 1 << 14).astype(np.int16)
