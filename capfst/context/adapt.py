"""Bring a context model up to date with other text: evidence of its words, and weights that are learned on.

In: a context model, for the symbols of the model that it becomes part of (transfer.py), and counts of shapes, from a
corpus or from other models. Out: the context model with the evidence of both.

* Evidence: the file keeps the shape evidence of a word and, in its `unseen_penalty`, the number of its occurrences.
  From these follow counts, to which other counts are added. The counts of a model weigh at most MOST_COUNTED
  occurrences per word, so that a small corpus can change what a large one has taught.
* Weights: learning goes on, from the weights in the file. Only the features that own a slot of its tables have weights;
  so the tables keep their size, and learning takes little memory. In addition, each word has weights of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import sample
from capfst.context.context_model import (
    LEAST_PENALTY,
    MAX_WEIGHT,
    WORD_RECORD,
    Context,
    fill_evidence,
    sum_word_scores,
    unpacked,
)
from capfst.context.learn import Base, Tables, learn
from capfst.context.lexicon import BEGIN, LISTED, UNSEEN, Lexicon, hash_words, shape_counts, word_marks
from capfst.context.train import count_by_language, learn_in_turn, raise_listed
from capfst.corpus.labels import LabeledCorpus, names
from capfst.fst.symbols import Symbols
from capfst.system.progress import Progress

MOST_COUNTED = 150
"""Largest number of occurrences of a word that a model counts for. Above 100, evidence does not depend on it."""
ADAPTED_SUM = 3.0
"""AdaGrad's sums begin with this in weights that are learned on: more than INITIAL_SUM, so that they change less."""

_NO_LISTS = np.empty((0, 0), np.uint8)
_FRACTIONS = np.array([1, 0.99, 0.94, 0.8, 0.55])  # of the most frequent shape, by impurity
_FREQUENCIES = np.array([1, 2, 4, 10, 50, MOST_COUNTED])  # occurrences, by frequency


class Counts(NamedTuple):
    """How often words were seen in each shape."""

    shapes: npt.NDArray[np.int64]  # [words, N_SHAPES], at most about MOST_COUNTED per word if from a model
    totals: npt.NDArray[np.float64]  # [words]: of all shapes, without that limit
    languages: npt.NDArray[np.int32]  # [languages, words, N_SHAPES]; [0, words, N_SHAPES] if none are distinguished


def counts_of(context: Context, first: npt.NDArray[np.int32]) -> Counts:
    """Return the counts in a context model of the words with these first labels, of which 0 is a word that it lacks."""
    records = context.words[first]
    evidence = records["shape_evidence"]
    totals = np.rint(np.expm1(np.minimum(records["unseen_penalty"] - LEAST_PENALTY, 40).astype(np.float64)))
    totals[(evidence == UNSEEN) | (evidence >= LISTED)] = 0
    of_languages = context.language_evidence[first].T
    shapes = _counts(evidence, totals)
    languages = [_counts(row, _FREQUENCIES[(row.astype(np.int64) - 1) % 6]) for row in of_languages]
    return Counts(shapes, totals, np.array(languages, np.int32).reshape(-1, *shapes.shape))


def _counts(evidence: npt.NDArray[np.uint8], totals: npt.NDArray) -> npt.NDArray[np.int64]:
    """Return int64[n, N_SHAPES]: counts that have this shape evidence, up to MOST_COUNTED of these totals."""
    seen = (evidence > UNSEEN) & (evidence < LISTED)
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


def with_counts(context: Context, symbols: Symbols, starts: npt.NDArray[np.int32], more: Counts) -> Context:
    """Return the context model with more counts of some words. Its weights stay; words that it had not seen get those
    that seen words have.

    context: for these symbols, whose words' first labels are `starts`.
    """
    first = starts[:-1]
    known = counts_of(context, first)
    context = _with_evidence(context, starts, added(known, more), more)
    unseen = (known.totals == 0) & (more.totals > 0)
    evidence = np.where(unseen, context.words["shape_evidence"][first], np.uint8(UNSEEN))
    context.words["scores"][first[unseen]] = scores_of(context, hash_words(symbols, starts), evidence)[unseen]
    return context


def scores_of(
    context: Context, hashes: npt.NDArray[np.uint32], evidence: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int16]:
    """Return int16[words, N_SHAPES − 1], the scores of words with these hashes and shape evidence, by the weights in
    the file."""
    weights, owners = unpacked(context.stage1)
    scores = np.zeros((len(evidence), N_SHAPES - 1), np.int16)
    sum_word_scores(hashes, evidence, weights, owners, scores)
    return scores


def _with_evidence(context: Context, starts: npt.NDArray[np.int32], counts: Counts, more: Counts) -> Context:
    """Return a copy with the evidence of `counts` for the words that have `more`."""
    first = starts[:-1]
    changed = (more.totals > 0) & (context.shapes[first] != Shape.CASELESS)
    words, language_evidence = np.zeros(len(context.words), WORD_RECORD), context.language_evidence.copy()
    words[:] = context.words  # a copy would have any bytes between the fields
    evidence = np.zeros((len(words), 1), np.uint8)
    fill_evidence(starts, counts.shapes[None].astype(np.int32), _NO_LISTS, evidence)
    labels = first[changed]
    words["shape_evidence"][labels] = evidence[labels, 0]
    words["unseen_penalty"][labels] = LEAST_PENALTY + np.log1p(counts.totals[changed])
    if len(more.languages) == context.n_languages:
        of_languages = np.zeros_like(language_evidence)
        fill_evidence(starts, counts.languages, _NO_LISTS, of_languages)
        for language, of_words in enumerate(more.languages):
            labels = first[changed & (of_words.sum(1) > 0)]
            language_evidence[labels, language] = of_languages[labels, language]
    return context._replace(words=words, language_evidence=language_evidence)


class Text(NamedTuple):
    """A labeled corpus to learn on from."""

    corpus: LabeledCorpus
    labels: npt.NDArray[np.int64]  # by label of the corpus: the label in the adapted model
    languages: npt.NDArray[np.int64]  # the language of each source, as the model numbers them; 0 if it has only one
    word_lists: list[npt.NDArray[np.uint32]]  # as for train.fit, by language
    unknown: int  # the label of `<unk>` in the corpus
    most: int  # labels to learn from at most


def adapted(context: Context, symbols: Symbols, starts: npt.NDArray[np.int32], text: Text, show: Progress) -> Context:
    """Return the context model adapted to a corpus.

    context: for these symbols, whose words' first labels are `starts`.
    """
    first = starts[:-1]
    known = counts_of(context, first)
    base_evidence = context.words["shape_evidence"][first]
    lexicon = _lexicon(context, symbols, starts, known)
    samples = sample.sample(*text.corpus, text.most)
    kept = [number for number, labels in enumerate(samples) if labels.any()]
    to = text.labels.astype(np.uint32)
    sources, languages = [to[samples[number]] for number in kept], text.languages[kept]
    word_lists = [to[entries] for entries in text.word_lists]
    more = _counts_of_text(lexicon, text, sources, languages, word_lists)
    counts = added(known, more)
    lexicon = lexicon._replace(shape_counts=counts.shapes, language_counts=counts.languages)

    tables, base = _tables(context, lexicon, base_evidence)
    enclosed = [sample.enclosed(names(entries), int(to[text.unknown])) for entries in word_lists]
    learn_in_turn(
        lexicon,
        sources,
        languages,
        enclosed,
        show,
        lambda labels, known, language, _: learn(labels, known, tables, language, base),
    )

    before = counts.shapes.sum(1)
    occurrences = np.zeros(len(first), np.int64)
    for labels in sources:
        occurrences += np.bincount(lexicon.word_of[labels[labels > 0]], minlength=len(first))
    raise_listed(lexicon, word_lists, (known.totals == 0) & (occurrences == 0))
    totals = counts.totals + (counts.shapes.sum(1) - before)
    context = _with_evidence(context, starts, counts._replace(totals=totals), more)
    scale = context.scales[0]
    weights = _integers(tables.stage1, scale)
    scores = _integers(base.words, scale)[: len(first)].astype(np.int16)
    sum_word_scores(lexicon.hashes, context.words["shape_evidence"][first], weights, base.stage1, scores)
    context.words["scores"][first] = scores
    return context._replace(
        stage1=_packed(weights, base.stage1),
        stage2=_packed(_integers(tables.stage2, context.scales[1]), base.stage2),
        first_pass=_packed(_integers(tables.first_pass, context.scales[2]), base.first_pass),
    )


def _lexicon(context: Context, symbols: Symbols, starts: npt.NDArray[np.int32], known: Counts) -> Lexicon:
    """Return the facts about labels and words that the context model has."""
    first = starts[:-1]
    word_of = np.zeros(len(symbols), np.int64)
    word_of[1:] = np.repeat(np.arange(len(first)), np.diff(starts))
    records = context.words[first]
    return Lexicon(
        word_of,
        np.array(context.shapes),
        hash_words(symbols, starts),
        records["frequency_rank"].copy(),
        np.stack([records["lower_class"], records["cased_class"]], axis=1),
        records["embedding"].copy(),
        known.shapes,
        np.ascontiguousarray(records["domain_log_odds"][:, : context.n_domains // max(1, context.n_languages)]),
        context.language_log_odds[first],
        language_counts=known.languages,
        listed=_listed(records["shape_evidence"]),
        language_listed=_listed(np.ascontiguousarray(context.language_evidence[first].T)),
        marks=word_marks(symbols, starts),
    )


def _listed(evidence: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the shape evidence that comes from word lists alone; UNSEEN for the other words."""
    return np.where((evidence >= LISTED) & (evidence < BEGIN), evidence, UNSEEN).astype(np.uint8)


def _counts_of_text(
    lexicon: Lexicon,
    text: Text,
    sources: list[npt.NDArray[np.uint32]],
    languages: npt.NDArray[np.int64],
    word_lists: list[npt.NDArray[np.uint32]],
) -> Counts:
    """Return the counts of the corpus and of the word lists."""
    shapes = np.zeros((len(lexicon.shape_counts), N_SHAPES), np.int64)
    found = shape_counts(text.corpus.labels, lexicon.word_of[text.labels], lexicon.shapes[text.labels])
    shapes[: len(found)] = found
    of_languages = count_by_language(lexicon, shapes, sources, languages, word_lists)
    return Counts(shapes, shapes.sum(1).astype(np.float64), of_languages)


def _tables(context: Context, lexicon: Lexicon, evidence: npt.NDArray[np.uint8]) -> tuple[Tables, Base]:
    """Return the weights in a file as tables to learn on from. evidence: shape evidence of the words in the file.

    The weights of a word are what its scores have in addition to the features that own a slot.
    """
    tables, owners = [], []
    for packed, scale in zip((context.stage1, context.stage2, context.first_pass), context.scales, strict=True):
        weights, of_rows = unpacked(packed)
        tables.append(_rows(weights.astype(np.float32) * np.float32(scale)))
        owners.append(of_rows)
        if len(tables) == 1:
            scores = np.zeros((len(evidence), N_SHAPES - 1), np.int16)
            sum_word_scores(lexicon.hashes, evidence, weights, of_rows, scores)
    labels = np.searchsorted(lexicon.word_of[1:], np.arange(len(evidence))) + 1
    rest = context.words["scores"][labels].astype(np.float32) - scores
    rest[(evidence == UNSEEN) | (evidence >= BEGIN)] = 0
    stage1, stage2, first_pass = owners
    return Tables(*tables), Base(stage1, stage2, first_pass, _rows(rest * np.float32(context.scales[0])))


def _rows(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return rows as in `learn.Tables` with these weights of each shape except LOWER."""
    rows = np.zeros((len(weights), 2 * N_SHAPES), np.float32)
    rows[:, 1:N_SHAPES] = weights
    rows[:, N_SHAPES:] = ADAPTED_SUM
    return rows


def _packed(weights: npt.NDArray[np.int16], owners: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """Return a table of the file; the inverse of `unpacked`."""
    bytes_ = np.empty((len(weights), 4), np.uint8)
    bytes_[:, : N_SHAPES - 1] = np.clip(weights, -MAX_WEIGHT, MAX_WEIGHT) + 128
    bytes_[:, N_SHAPES - 1] = owners
    return bytes_.view(np.uint32).reshape(-1)


def _integers(rows: npt.NDArray[np.float32], scale: float) -> npt.NDArray[np.int16]:
    """Return the weights of rows, of each shape except LOWER, less LOWER's, in units of `scale`."""
    weights = (rows[:, 1:N_SHAPES] - rows[:, :1]) / np.float32(scale)
    return np.clip(np.rint(weights), -(1 << 14), 1 << 14).astype(np.int16)
