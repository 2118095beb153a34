"""Labelled sentences → tables of weights, learned in one pass of AdaGrad (Duchi, Hazan & Singer 2011).

In: labels, and what is known of the words. Out: tables, float32[rows, 2 N_SHAPES]: the first half of a row is the
weights that a feature has for each shape, the second half AdaGrad's sums of squared gradients. A word's score for a
shape is the sum of its features' weights, p = softmax(scores), and the loss is −ln p of the true shape.

One pass only, and the shape evidence of a word is that of other text. So every word is met as in new text: a name that
one novel alone has as an unseen word, wherever it stands in it; stage 2 reads decisions that stage 1 took before it
learned the sentence; and the model does not rely too much on the LM, which has seen the whole corpus.

The first word of a sentence is written as its position demands. It teaches its usual shape if that is beyond doubt,
else nothing.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context.domains import ANY, likeliest_domain
from capfst.context.features import (
    BLOCK,
    MAX_POSITION,
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_FIRST_FEATURES,
    N_NEIGHBOUR_FEATURES,
    NO_DECISION,
    PADDING,
    PRIOR_WEIGHT,
    STAGE1_LEAD,
    TOKEN,
    Features,
    Scores,
    TokenArray,
    decision,
    decision_features,
    first_features,
    gets_first_look,
    has_capitals,
    largest,
    lead,
    likeliest,
    neighbour_features,
    prefetch_rows,
    sentence_padding,
    settled_decision,
    word_features,
)
from capfst.context.lexicon import END, NO_CASE, SUFFIX, WHOLE, Lexicon, most_frequent_shape, shape_evidence
from capfst.kernels import allocating, inner
from capfst.kernels.types import (
    BoolArray,
    F32Matrix,
    F64Array,
    F64Matrix,
    I8Matrix,
    I32Matrix,
    I64Array,
    U8Array,
    U32Array,
    U32Matrix,
    f32,
    f64,
    i64,
    u8,
    u64,
)

RATES = 0.05, 0.02
"""The learning rates η of the stages."""
INITIAL_SUM = 0.1
"""What AdaGrad's sums begin with: what is seen once teaches little."""
CERTAIN = 0.99
"""From this probability of the true shape on there is nothing to learn."""
FIRST_LOOK_CERTAIN = 0.999
"""As CERTAIN, for the first look, which is to become certain itself."""

_ROW = 2 * N_SHAPES
_NOT_LEARNED, _NO_SHAPE = 8, 9  # in the place of a true shape: of words that teach nothing; of tokens without case
_USUAL_COUNT, _USUAL_SHARE = 20, 0.98  # a usual shape is beyond doubt with so many occurrences, so many of them in it


class Tables(NamedTuple):
    """The tables of the two stages and of the first look, float32[2^b, 2 N_SHAPES]: weights, and AdaGrad's sums."""

    stage1: F32Matrix
    stage2: F32Matrix
    first_look: F32Matrix

    @classmethod
    def of(cls, rows: tuple[int, int, int]) -> Tables:
        """Tables that have learned nothing."""
        tables = cls(*(np.zeros((n, _ROW), np.float32) for n in rows))
        for table in tables:
            table[:, N_SHAPES:] = INITIAL_SUM
        return tables


class _Examples(NamedTuple):
    """Sentences to learn from, token by token, with padding before and after each sentence."""

    tokens: TokenArray  # TOKEN
    words: I64Array  # the numbers of their words
    truths: U8Array  # their true shapes


class _Workspace(NamedTuple):
    """Memory that the stages use sentence after sentence."""

    features: U32Matrix  # [BLOCK, …]
    n_features: I64Array  # [BLOCK]
    p: F64Matrix  # [tokens, N_SHAPES]: the probabilities of the first look, or stage 1's
    is_settled: BoolArray  # [tokens]: whether the first look sufficed, or stage 1
    decisions: U8Array  # [tokens]
    z: F64Array  # [N_SHAPES]: scores, then probabilities


@inner
def softmax(z: F64Array) -> f64:
    """z_k ← e^{z_k} / Σ_j e^{z_j}, in place, [N_SHAPES]; returns ln Σ_j e^{z_j}."""
    most = largest(z)
    total = z[0] * 0
    for k in range(N_SHAPES):
        z[k] = np.exp(z[k] - most)
        total += z[k]
    for k in range(N_SHAPES):
        z[k] /= total
    return most + np.log(total)


@inner
def _usual_shape(counts: I64Array) -> i64:
    """The shape of a word whose shape is beyond doubt, else _NOT_LEARNED."""
    shape, n = most_frequent_shape(counts)
    return shape if n >= _USUAL_COUNT and counts[shape] > _USUAL_SHARE * n else _NOT_LEARNED


@allocating
def _read(labels: U32Array, lexicon: Lexicon, language_counts: I32Matrix, examples: _Examples) -> i64:
    """Fills the examples of whole sentences; returns how many tokens there are, with padding. language_counts: of their
    language, [words, N_SHAPES]; [0, N_SHAPES] if there are not several."""
    tokens, truths = examples.tokens, examples.truths
    truths[:] = _NO_SHAPE
    t = sentence_padding(tokens, 0)
    position, sentence_begins = 0, lexicon.positional
    for label in labels:
        if label == 0:
            t = sentence_padding(tokens, t)
            position, sentence_begins = 0, lexicon.positional
            continue
        word, shape = lexicon.word_of[label], lexicon.shapes[label]
        token, counts = tokens[t], lexicon.shape_counts[word]
        token.word_hash, token.suffix2_hash = lexicon.hashes[word, WHOLE], lexicon.hashes[word, SUFFIX + 1]
        token.frequency_rank, token.position = lexicon.frequency_ranks[word], min(position, MAX_POSITION)
        token.lower_class, token.cased_class = lexicon.classes[word, 0], lexicon.classes[word, 1]
        token.language_evidence = 0
        examples.words[t] = word
        if shape == Shape.CASELESS:
            token.shape_evidence = NO_CASE
        else:
            token.shape_evidence = shape_evidence(counts)
            if len(language_counts):
                token.language_evidence = shape_evidence(language_counts[word])
            truths[t] = _usual_shape(counts) if sentence_begins else shape
            sentence_begins = False
        position += 1
        t += 1
    return t


Table = TypeVar("Table", I8Matrix, F32Matrix)


@inner
def add_scores(table: Table, features: Features, n: i64, z: Scores) -> None:
    """z_k += Σ_f w_{f,k} over n features f."""
    mask = u64(len(table) - 1)
    for i in range(n):
        row = i64(features[i] & mask)
        for k in range(N_SHAPES):
            z[k] += table[row, k]


@inner
def adagrad(table: F32Matrix, features: U32Array, n: i64, p: F64Array, truth: u8, rate: f32) -> None:
    """One step of AdaGrad (Duchi, Hazan & Singer 2011) for the weights of n features, given softmax's p.

    g_k = ∂(−ln p_truth) / ∂z_k = p_k − [k = truth];  G_k ← G_k + g_k²;  w_k ← w_k − η g_k / √G_k.
    """
    mask = u64(len(table) - 1)
    for i in range(n):
        row = i64(features[i] & mask)
        for k in range(N_SHAPES):
            gradient = f32(p[k] - (k == truth))
            table[row, N_SHAPES + k] += gradient * gradient
            table[row, k] -= rate * gradient / np.sqrt(table[row, N_SHAPES + k])


@inner
def _domain(words: I64Array, log_odds: I8Matrix, sums: I64Array) -> i64:
    """The domain of a sentence of words, given the log-odds, int8[words, domains]; `sums`: 0 for each domain."""
    for word in words:
        for domain in range(sums.size):
            sums[domain] += log_odds[word, domain]
    return likeliest_domain(sums)


@inner
def _first_look(
    examples: _Examples, begin: i64, end: i64, domain: i64, table: F32Matrix, rate: f32, work: _Workspace
) -> None:
    """The first look decides on words of a sentence, tokens[begin:end], and learns from them."""
    tokens, truths, z, features = examples.tokens, examples.truths, work.z, work.features[0]
    for t in range(begin, end):
        truth = truths[t]
        work.is_settled[t] = False
        if truth == _NO_SHAPE or not gets_first_look(tokens[t].shape_evidence):
            continue
        first_features(tokens, t, domain, features)
        z[:] = 0
        add_scores(table, features, N_FIRST_FEATURES, z)
        work.decisions[t] = settled_decision(z)
        work.is_settled[t] = work.decisions[t] != NO_DECISION
        softmax(z)
        for k in range(N_SHAPES):
            work.p[t, k] = z[k]
        if truth < N_SHAPES and z[truth] < FIRST_LOOK_CERTAIN:
            adagrad(table, features, N_FIRST_FEATURES, z, truth, rate)


@inner
def _stage1(
    examples: _Examples,
    begin: i64,
    end: i64,
    domain: i64,
    hashes: U32Matrix,
    table: F32Matrix,
    rate: f32,
    work: _Workspace,
) -> tuple[f64, i64, i64, i64]:
    """Stage 1 learns from the words of a sentence of a domain, tokens[begin:end], and decides on those for which the
    first look did not suffice.

    Returns the loss, the number of words that it is of; how many words have case, and for how many of them the decision
    has capitals.
    """
    tokens, truths, z = examples.tokens, examples.truths, work.z
    loss, n_learned, n_words, n_capitals = 0.0, 0, 0, 0
    for block in range(begin, end, BLOCK):
        block_end = min(end, block + BLOCK)
        for t in range(block, block_end):
            if truths[t] != _NO_SHAPE:
                features = work.features[t - block]
                n = word_features(hashes[examples.words[t]], tokens[t].shape_evidence, domain, features)
                neighbour_features(tokens, t, domain, features[n:])
                n += N_NEIGHBOUR_FEATURES
                work.n_features[t - block] = n
                prefetch_rows(table, _ROW, features, n)
        for t in range(block, block_end):
            truth = truths[t]
            if truth == _NO_SHAPE:
                continue
            features, n = work.features[t - block], work.n_features[t - block]
            z[:] = 0
            add_scores(table, features, n, z)
            decided, is_certain = decision(z), lead(z, likeliest(z)) >= STAGE1_LEAD
            softmax(z)
            if not work.is_settled[t]:
                for k in range(N_SHAPES):
                    work.p[t, k] = z[k]
                work.decisions[t], work.is_settled[t] = decided, is_certain
            n_words += 1
            n_capitals += has_capitals(work.decisions[t])
            if truth < N_SHAPES:
                n_learned += 1
                loss -= np.log(work.p[t, truth] + 1e-30)
                if z[truth] < CERTAIN:
                    adagrad(table, features, n, z, truth, rate)
    return loss, n_learned, n_words, n_capitals


@inner
def _stage2(
    examples: _Examples,
    begin: i64,
    end: i64,
    n_words: i64,
    n_capitals: i64,
    table: F32Matrix,
    rate: f32,
    work: _Workspace,
) -> f64:
    """Stage 2 learns from the words of a sentence on which stage 1 is not certain; returns the loss."""
    tokens, truths, z = examples.tokens, examples.truths, work.z
    loss = 0.0
    for block in range(begin, end, BLOCK):
        block_end = min(end, block + BLOCK)
        for t in range(block, block_end):
            if truths[t] < N_SHAPES and not work.is_settled[t]:
                features = work.features[t - block]
                decision_features(tokens, work.decisions, t, n_words, n_capitals, features)
                prefetch_rows(table, _ROW, features, N_DECISION_FEATURES)
        for t in range(block, block_end):
            truth = truths[t]
            if truth >= N_SHAPES or work.is_settled[t]:
                continue
            for k in range(N_SHAPES):
                z[k] = PRIOR_WEIGHT * np.log(work.p[t, k] + 1e-12)
            add_scores(table, work.features[t - block], N_DECISION_FEATURES, z)
            softmax(z)
            loss -= np.log(z[truth] + 1e-30)
            if z[truth] < CERTAIN:
                adagrad(table, work.features[t - block], N_DECISION_FEATURES, z, truth, rate)
    return loss


@allocating
def _learn(
    examples: _Examples,
    n: i64,
    hashes: U32Matrix,
    log_odds: I8Matrix,
    given: i64,
    tables: Tables,
    rates: tuple[f32, f32],
) -> tuple[f64, f64, i64]:
    """The first look and both stages learn from n tokens, sentence by sentence; as `learn`."""
    work = _Workspace(
        np.empty((BLOCK, MAX_WORD_FEATURES + N_NEIGHBOUR_FEATURES), np.uint32),
        np.empty(BLOCK, np.int64),
        np.empty((n, N_SHAPES)),
        np.empty(n, np.bool_),
        np.full(n, NO_DECISION, np.uint8),
        np.empty(N_SHAPES),
    )
    sums = np.zeros(log_odds.shape[1], np.int64)
    loss1, loss2, count = 0.0, 0.0, 0
    begin = PADDING
    while begin < n:
        end = begin
        while examples.tokens[end].shape_evidence != END:
            end += 1
        domain = given if given != ANY else _domain(examples.words[begin:end], log_odds, sums)
        _first_look(examples, begin, end, domain, tables.first_look, rates[0], work)
        loss, n_learned, n_words, n_capitals = _stage1(
            examples, begin, end, domain, hashes, tables.stage1, rates[0], work
        )
        loss1 += loss
        count += n_learned
        loss2 += _stage2(examples, begin, end, n_words, n_capitals, tables.stage2, rates[1], work)
        begin = end + PADDING
    return loss1, loss2, count


def learn(
    labels: npt.NDArray[np.uint32], lexicon: Lexicon, tables: Tables, domain: int = ANY
) -> tuple[float, float, int]:
    """Has the tables learn from whole sentences of a domain, or of any; the sum of each stage's losses on them, −ln p
    before it had learned them, and the number of words with a true shape. lexicon: what is known without these
    sentences."""
    size = len(labels) + PADDING * (1 + np.count_nonzero(labels == 0))
    examples = _Examples(np.empty(size, TOKEN), np.empty(size, np.int64), np.empty(size, np.uint8))
    counts = lexicon.language_counts
    n = _read(labels, lexicon, counts[domain] if len(counts) else counts.reshape(0, N_SHAPES), examples)
    return _learn(examples, n, lexicon.hashes, lexicon.domain_log_odds, domain, tables, RATES)
