"""Labeled sentences → tables of weights and a network, learned in one pass of AdaGrad (Duchi, Hazan & Singer 2011).

In: labels, and the lexicon. Out: tables, float32[rows, 2 N_SHAPES]: the first half of a row is a feature's weights for
each shape, the second half AdaGrad's sums of squared gradients. A word's score z_k for shape k is the sum of its
features' weights, p = softmax(z), and the loss is −ln p of the true shape.

There is only one pass, and a word's shape evidence comes from other text. So every word is met as in new text: a name
that only one novel has is an unseen word throughout that novel; stage 2 and the network read decisions that were made
before anything was learned from the sentence; and the model does not rely too much on the LM, which has seen the whole
corpus.

A model that is adapted to other text (adapt.py) is learned on from the weights in its file. Only the features that own
a slot there have weights; each word has a row of its own besides.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context.context_model import NO_OWNERS, owned
from capfst.context.domains import likeliest_domain, own_language
from capfst.context.features import (
    BLOCK,
    GAP_WORDS,
    LONGEST_SINCE,
    MAX_POSITION,
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_FIRST_FEATURES,
    N_GAP_FEATURES,
    N_NEIGHBOR_FEATURES,
    NO_DECISION,
    PADDING,
    PRIOR_WEIGHT,
    QUOTATION,
    STAGE1_LEAD,
    TOKEN,
    Features,
    Scores,
    TokenArray,
    add_mark,
    decision,
    decision_features,
    first_features,
    gap_features,
    gets_first_pass,
    has_capitals,
    largest,
    lead,
    likeliest,
    neighbor_features,
    prefetch_rows,
    sentence_padding,
    settled_decision,
    word_features,
)
from capfst.context.learn_network import (
    LEAST_RATE,
    NOT_LEARNED,
    RATE,
    Learned,
    add_output,
    fill_hidden,
    learn_word,
    read_inputs,
)
from capfst.context.lexicon import (
    ABBREVIATED,
    BEGIN,
    END,
    NO_CASE,
    SUFFIX,
    WHOLE,
    Lexicon,
    evidence_of,
)
from capfst.context.network import gets_network
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
    u32,
    u64,
)
from capfst.text.sentences import END_MARK, NO_MARK, QUOTE

RATES = 0.05, 0.02
"""The learning rates η: of the first pass and stage 1; of stage 2."""
INITIAL_SUM = 0.1
"""AdaGrad's sums begin with this, so that a feature's first occurrences change little."""
CERTAIN = 0.99
"""Skip the update when the true shape already has this probability."""
FIRST_PASS_CERTAIN = 0.999
"""As CERTAIN, for the first pass, whose scores have to become certain by themselves."""

_ROW = 2 * N_SHAPES
_NO_SHAPE = 8  # pseudo shape of tokens without case


class Tables(NamedTuple):
    """Tables of the two stages and of the first pass, float32[2^b, 2 N_SHAPES]: weights, and AdaGrad's sums."""

    stage1: F32Matrix
    stage2: F32Matrix
    first_pass: F32Matrix

    @classmethod
    def of(cls, rows: tuple[int, int, int]) -> Tables:
        """Return tables before any learning."""
        tables = cls(*(np.zeros((n, _ROW), np.float32) for n in rows))
        for table in tables:
            table[:, N_SHAPES:] = INITIAL_SUM
        return tables


class Base(NamedTuple):
    """What is learned on from, besides the tables, if a model is adapted; else arrays of size 0."""

    stage1: U8Array  # by row: 1 + the number (Parameters) of the feature that owns it, 0 for none
    stage2: U8Array
    first_pass: U8Array
    words: F32Matrix  # [words, 2 N_SHAPES], a row as in Tables: of stage 1, for each word


NO_BASE = Base(NO_OWNERS, NO_OWNERS, NO_OWNERS, np.empty((0, _ROW), np.float32))


class _Examples(NamedTuple):
    """Sentences to learn from, token by token, with padding before and after each sentence."""

    tokens: TokenArray  # TOKEN
    words: I64Array  # the number of each token's word
    truths: U8Array  # the true shape of each token


class _LearningBuffers(NamedTuple):
    """Buffers that the stages use sentence after sentence."""

    features: U32Matrix  # [BLOCK, …]
    n_features: I64Array  # [BLOCK]
    p: F64Matrix  # [tokens, N_SHAPES]: probabilities by the first pass if it settles the word, else by stage 1, then 2
    is_settled: BoolArray  # [tokens]: whether the first pass or stage 1 is certain, or the network is not needed
    decisions: U8Array  # [tokens]
    z: F64Array  # [N_SHAPES]: scores, then probabilities


@inner
def softmax(z: F64Array) -> f64:
    """Replace z, [N_SHAPES], by its softmax: z_k ← e^{z_k} / Σ_j e^{z_j}. Return ln Σ_j e^{z_j}."""
    most = largest(z)
    total = z[0] * 0
    for k in range(N_SHAPES):
        z[k] = np.exp(z[k] - most)
        total += z[k]
    for k in range(N_SHAPES):
        z[k] /= total
    return most + np.log(total)


@allocating
def _read(labels: U32Array, lexicon: Lexicon, language_counts: I32Matrix, listed: U8Array, examples: _Examples) -> i64:
    """Fill the examples of whole sentences; return the number of tokens, with padding. language_counts: of the
    sentences' language, [words, N_SHAPES]; [0, N_SHAPES] if the model does not distinguish languages. listed: by the
    word lists of that language, as in Lexicon."""
    tokens, truths = examples.tokens, examples.truths
    truths[:] = _NO_SHAPE
    t = sentence_padding(tokens, 0)
    position = 0
    for label in labels:
        if label == 0:
            t = sentence_padding(tokens, t)
            position = 0
            continue
        word, shape = lexicon.word_of[label], lexicon.shapes[label]
        token, counts = tokens[t], lexicon.shape_counts[word]
        token.word_hash, token.suffix2_hash = lexicon.hashes[word, WHOLE], lexicon.hashes[word, SUFFIX + 1]
        token.frequency_rank, token.position = lexicon.frequency_ranks[word], min(position, MAX_POSITION)
        token.lower_class, token.cased_class = lexicon.classes[word, 0], lexicon.classes[word, 1]
        token.language_evidence, token.embedding = 0, lexicon.embeddings[word]
        examples.words[t] = word
        if shape == Shape.CASELESS:
            token.shape_evidence = NO_CASE
        else:
            token.shape_evidence = evidence_of(counts, lexicon.listed, word)
            if len(language_counts):
                token.language_evidence = evidence_of(language_counts[word], listed, word)
            truths[t] = shape
        position += 1
        t += 1
    return t


WeightTable = TypeVar("WeightTable", I8Matrix, F32Matrix)


@inner
def add_scores(table: WeightTable, features: Features, n: i64, z: Scores) -> None:
    """Add the weights of n features to the scores: z_k += Σ_f w_{f,k}."""
    mask = u64(len(table) - 1)
    for i in range(n):
        row = i64(features[i] & mask)
        for k in range(N_SHAPES):
            z[k] += table[row, k]


@inner
def _update(table: F32Matrix, row: i64, p: F64Array, truth: u8, rate: f32) -> None:
    """Update the weights in a row by one step of AdaGrad (Duchi, Hazan & Singer 2011), given p = softmax(z).

    g_k = ∂(−ln p_truth) / ∂z_k = p_k − [k = truth];  G_k ← G_k + g_k²;  w_k ← w_k − η g_k / √G_k.
    """
    for k in range(N_SHAPES):
        gradient = f32(p[k] - (k == truth))
        table[row, N_SHAPES + k] += gradient * gradient
        table[row, k] -= rate * gradient / np.sqrt(table[row, N_SHAPES + k])


@inner
def adagrad(table: F32Matrix, features: U32Array, n: i64, p: F64Array, truth: u8, rate: f32) -> None:
    """Update the weights of n features by one step of AdaGrad, given p = softmax(z)."""
    mask = u64(len(table) - 1)
    for i in range(n):
        _update(table, i64(features[i] & mask), p, truth, rate)


@inner
def _domain(words: I64Array, language: i64, lexicon: Lexicon, sums: I64Array) -> i64:
    """Return the domain of a sentence of these words in this language. sums: buffer, 0 for each domain of it."""
    for word in words:
        if own_language(lexicon.language_log_odds[word]) == language:
            for domain in range(sums.size):
                sums[domain] += lexicon.domain_log_odds[word, domain]
    return language * sums.size + likeliest_domain(sums)


@inner
def _first_pass(
    examples: _Examples,
    begin: i64,
    end: i64,
    domain: i64,
    table: F32Matrix,
    owners: U8Array,
    rate: f32,
    buffers: _LearningBuffers,
) -> None:
    """Decide on words of a sentence, tokens[begin:end], by the first pass, and update its weights."""
    tokens, truths, z, features = examples.tokens, examples.truths, buffers.z, buffers.features[0]
    for t in range(begin, end):
        truth = truths[t]
        buffers.is_settled[t] = False
        if truth == _NO_SHAPE or not gets_first_pass(tokens[t].shape_evidence):
            continue
        first_features(tokens, t, domain, features)
        n = owned(owners, features, N_FIRST_FEATURES)
        z[:] = 0
        add_scores(table, features, n, z)
        buffers.decisions[t] = settled_decision(z)
        buffers.is_settled[t] = buffers.decisions[t] != NO_DECISION
        softmax(z)
        for k in range(N_SHAPES):
            buffers.p[t, k] = z[k]
        if z[truth] < FIRST_PASS_CERTAIN:
            adagrad(table, features, n, z, truth, rate)


@inner
def _stage1(
    examples: _Examples,
    begin: i64,
    end: i64,
    domain: i64,
    hashes: U32Matrix,
    table: F32Matrix,
    base: Base,
    rate: f32,
    buffers: _LearningBuffers,
) -> tuple[f64, i64, i64]:
    """Update stage 1's weights on the words of a sentence of this domain, tokens[begin:end], and decide on those that
    the first pass does not settle.

    Returns the loss; the number of words with case, and of those whose decision has capitals.
    """
    tokens, truths, z = examples.tokens, examples.truths, buffers.z
    loss, n_words, n_capitals = 0.0, 0, 0
    for block in range(begin, end, BLOCK):
        block_end = min(end, block + BLOCK)
        for t in range(block, block_end):
            if truths[t] != _NO_SHAPE:
                features = buffers.features[t - block]
                n = word_features(hashes[examples.words[t]], tokens[t].shape_evidence, domain, features)
                neighbor_features(tokens, t, domain, features[n:])
                n = owned(base.stage1, features, n + N_NEIGHBOR_FEATURES)
                buffers.n_features[t - block] = n
                prefetch_rows(table, _ROW, features, n)
        for t in range(block, block_end):
            truth = truths[t]
            if truth == _NO_SHAPE:
                continue
            features, n = buffers.features[t - block], buffers.n_features[t - block]
            z[:] = 0
            add_scores(table, features, n, z)
            if len(base.words):
                for k in range(N_SHAPES):
                    z[k] += base.words[examples.words[t], k]
            decided, is_certain = decision(z), lead(z, likeliest(z)) >= STAGE1_LEAD
            softmax(z)
            if not buffers.is_settled[t]:
                for k in range(N_SHAPES):
                    buffers.p[t, k] = z[k]
                buffers.decisions[t], buffers.is_settled[t] = decided, is_certain
            n_words += 1
            n_capitals += has_capitals(buffers.decisions[t])
            loss -= np.log(buffers.p[t, truth] + 1e-30)
            if z[truth] < CERTAIN:
                adagrad(table, features, n, z, truth, rate)
                if len(base.words):
                    _update(base.words, examples.words[t], z, truth, rate)
    return loss, n_words, n_capitals


@inner
def _stage2(
    examples: _Examples,
    begin: i64,
    end: i64,
    n_words: i64,
    n_capitals: i64,
    table: F32Matrix,
    owners: U8Array,
    rate: f32,
    buffers: _LearningBuffers,
) -> f64:
    """Update stage 2's weights on the words of a sentence of which stage 1 is not certain; return the loss."""
    tokens, truths, z = examples.tokens, examples.truths, buffers.z
    loss = 0.0
    for block in range(begin, end, BLOCK):
        block_end = min(end, block + BLOCK)
        for t in range(block, block_end):
            if truths[t] < N_SHAPES and not buffers.is_settled[t]:
                features = buffers.features[t - block]
                decision_features(tokens, buffers.decisions, t, n_words, n_capitals, features)
                buffers.n_features[t - block] = owned(owners, features, N_DECISION_FEATURES)
                prefetch_rows(table, _ROW, features, buffers.n_features[t - block])
        for t in range(block, block_end):
            truth = truths[t]
            if truth >= N_SHAPES or buffers.is_settled[t]:
                continue
            for k in range(N_SHAPES):
                z[k] = PRIOR_WEIGHT * np.log(buffers.p[t, k] + 1e-12)
            features, n = buffers.features[t - block], buffers.n_features[t - block]
            add_scores(table, features, n, z)
            buffers.is_settled[t] = not gets_network(tokens, t, lead(z, likeliest(z)))
            softmax(z)
            for k in range(N_SHAPES):
                buffers.p[t, k] = z[k]
            loss -= np.log(z[truth] + 1e-30)
            if z[truth] < CERTAIN:
                adagrad(table, features, n, z, truth, rate)
    return loss


@inner
def _network(
    examples: _Examples, begin: i64, end: i64, domain: i64, network: Learned, rate: f32, buffers: _LearningBuffers
) -> None:
    """Learn the network on the words of a sentence that it corrects."""
    tokens, decisions, z = examples.tokens, buffers.decisions, buffers.z
    for t in range(begin, end):
        if examples.truths[t] < N_SHAPES and not buffers.is_settled[t]:
            for k in range(N_SHAPES):
                z[k] = np.log(buffers.p[t, k] + 1e-12)
            read_inputs(tokens, t, network.embeddings, network.inputs)
            fill_hidden(tokens, decisions, t, domain, network.inputs, network.layers, network.hidden)
            add_output(network.layers, network.hidden, z)
            softmax(z)
            learn_word(tokens, decisions, t, domain, z, examples.truths[t], rate, network)


@allocating
def _learn(
    examples: _Examples,
    n: i64,
    lexicon: Lexicon,
    language: i64,
    tables: Tables,
    base: Base,
    network: Learned,
    rates: tuple[f32, f32, f32],
) -> tuple[f64, f64, i64]:
    """Learn all from n tokens, sentence by sentence; return what `learn` does."""
    buffers = _LearningBuffers(
        np.empty((BLOCK, MAX_WORD_FEATURES + N_NEIGHBOR_FEATURES), np.uint32),
        np.empty(BLOCK, np.int64),
        np.empty((n, N_SHAPES)),
        np.empty(n, np.bool_),
        np.full(n, NO_DECISION, np.uint8),
        np.empty(N_SHAPES),
    )
    sums = np.zeros(lexicon.domain_log_odds.shape[1], np.int64)
    loss1, loss2, count = 0.0, 0.0, 0
    begin = PADDING
    while begin < n:
        end = begin
        while examples.tokens[end].shape_evidence != END:
            end += 1
        domain = _domain(examples.words[begin:end], language, lexicon, sums)
        _first_pass(examples, begin, end, domain, tables.first_pass, base.first_pass, rates[0], buffers)
        loss, n_words, n_capitals = _stage1(
            examples, begin, end, domain, lexicon.hashes, tables.stage1, base, rates[0], buffers
        )
        loss1 += loss
        count += n_words
        loss2 += _stage2(examples, begin, end, n_words, n_capitals, tables.stage2, base.stage2, rates[1], buffers)
        if len(network.embeddings) != 0:
            _network(examples, begin, end, domain, network, rates[2], buffers)
        begin = end + PADDING
    return loss1, loss2, count


@inner
def _is_padding(tokens: TokenArray, t: i64) -> bool:
    """Return whether a token is padding, which has no word."""
    return tokens[t].shape_evidence == BEGIN or tokens[t].shape_evidence == END


@allocating
def _learn_gaps(examples: _Examples, n: i64, marks_of: U8Array, table: F32Matrix, owners: U8Array, rate: f32) -> None:
    """Learn, from n tokens, where sentences begin: in each gap with a mark that may end one, and after abbreviations.

    Sentences are learned from in the order of the text, so that the end of a line is a gap like any other. marks_of: as
    in Lexicon. table, owners: of stage 1.
    """
    tokens = examples.tokens
    words = np.empty(n + 1, np.int64)
    n_words = 0
    for t in range(n):
        if _is_padding(tokens, t):
            continue
        mark = marks_of[examples.words[t]]
        if mark == NO_MARK or mark == ABBREVIATED:
            words[n_words] = t
            n_words += 1
    window, features, z = np.empty(GAP_WORDS, TOKEN), np.empty(N_GAP_FEATURES, np.uint32), np.zeros(N_SHAPES)
    since, quoted = 0, QUOTATION
    for k in range(1, n_words):
        since, quoted = min(since + 1, LONGEST_SINCE), min(quoted + 1, QUOTATION)
        is_open, marks, begins = quoted < QUOTATION, u32(0), False
        is_gap = marks_of[examples.words[words[k - 1]]] == ABBREVIATED
        for between in range(words[k - 1] + 1, words[k]):
            if _is_padding(tokens, between):
                begins = True
                continue
            mark = marks_of[examples.words[between]]
            is_gap |= mark == END_MARK
            if mark == QUOTE:
                quoted = QUOTATION if quoted < QUOTATION else 0
            marks = add_mark(marks, tokens[between])
        if is_gap:
            for place in range(GAP_WORDS):
                window[place] = tokens[words[min(max(k + place - GAP_WORDS // 2, 0), n_words - 1)]]
            gap_features(window, marks, since, is_open, features)
            n_features = owned(owners, features, N_GAP_FEATURES)
            z[:] = 0
            add_scores(table, features, n_features, z)
            odds = z[Shape.CAPITALIZED.value] - z[Shape.LOWER.value]
            z[:] = 0
            z[Shape.CAPITALIZED.value] = 1 / (1 + np.exp(-odds))
            z[Shape.LOWER.value] = 1 - z[Shape.CAPITALIZED.value]
            truth = u8(Shape.CAPITALIZED.value if begins else Shape.LOWER.value)
            if z[truth] < CERTAIN:
                adagrad(table, features, n_features, z, truth, rate)
        since = 0 if begins else since


def learn(
    labels: npt.NDArray[np.uint32],
    lexicon: Lexicon,
    tables: Tables,
    language: int = 0,
    base: Base = NO_BASE,
    network: Learned = NOT_LEARNED,
    progress: float = 0,
) -> tuple[float, float, int]:
    """Update the tables and the network on whole sentences of a language.

    Returns the losses of the two stages, Σ −ln p before they learned from the sentence, and the number of words with a
    true shape. lexicon: what is known from text without these sentences. progress: the fraction of the text that was
    learned from before.
    """
    size = len(labels) + PADDING * (1 + np.count_nonzero(labels == 0))
    examples = _Examples(np.empty(size, TOKEN), np.empty(size, np.int64), np.empty(size, np.uint8))
    counts, of_lists = lexicon.language_counts, lexicon.language_listed
    of_language = counts[language] if len(counts) else counts.reshape(0, N_SHAPES)
    listed = of_lists[language] if len(of_lists) else of_lists.reshape(-1)
    n = _read(labels, lexicon, of_language, listed, examples)
    rates = *RATES, RATE * max(LEAST_RATE, 1 - progress)
    losses = _learn(examples, n, lexicon, language, tables, base, network, rates)
    if lexicon.marks.size:
        _learn_gaps(examples, n, lexicon.marks, tables.stage1, base.stage1, rates[0])
    return losses
