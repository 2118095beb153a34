"""Labeled sentences → tables of weights and a network, learned in one pass of AdaGrad (Duchi, Hazan & Singer 2011).

In: labels, and the lexicon. Out: tables, float32[rows, 2 N_SHAPES]: the first half of a row is a feature's weights for
each shape, the second half AdaGrad's sums of squared gradients. A word's score z_k for shape k is the sum of its
features' weights, p = softmax(z), and the loss is −ln p of the true shape.

There is only one pass, and a word's shape evidence comes from other text. So each word is learned as if its text were
new: a name that only one novel has is an unseen word throughout that novel; stage 2 and the network read decisions that
were made before anything was learned from the sentence; and the model does not rely too much on the LM, which has seen
the whole corpus.

If a model is adapted to other text (adapt.py), training continues from the weights in its file. Only the features that
own a slot there have weights; in addition, each word has a row of its own.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context import features as ft
from capfst.context import learn_network as net
from capfst.context import lexicon as lx
from capfst.context.context_model import NO_OWNERS, owned
from capfst.context.domains import likeliest
from capfst.context.network import gets_network
from capfst.kernels import allocating, inner, kernel
from capfst.kernels.types import BoolArray, F32Matrix, F64Array, F64Matrix, I8Matrix, I32Matrix, I64Array, U8Array

from capfst.kernels.types import U32Array, U32Matrix, f32, i64, u8, u32, u64  # isort: skip
from capfst.text.sentences import END_MARK, NO_MARK, QUOTE

RATES = 0.05, 0.02
"""The learning rates η: of the first pass and stage 1; of stage 2."""
INITIAL_SUM = 0.1
"""AdaGrad's sums begin with this, so that a feature's first occurrences change little."""
CERTAIN = 0.99
"""Skip the update when the true shape already has this probability."""
FIRST_PASS_CERTAIN = 0.999
"""As CERTAIN, for the first pass, whose scores must become certain without further stages."""

_ROW = 2 * N_SHAPES
_NO_SHAPE = 8  # pseudo shape of tokens without case


class Tables(NamedTuple):
    """Tables of the two stages and of the first pass, float32[2^b, 2 N_SHAPES]: weights, and AdaGrad's sums."""

    stage1: F32Matrix
    stage2: F32Matrix
    first_pass: F32Matrix
    owners: tuple[U8Array, U8Array, U8Array] = (NO_OWNERS, NO_OWNERS, NO_OWNERS)
    """If a model is adapted: by row, 1 + the number (Context) of the feature that owns it, 0 for none."""
    words: F32Matrix = np.empty((0, _ROW), np.float32)
    """[words, 2 N_SHAPES], if a model is adapted: of stage 1, a row for each word."""

    @classmethod
    def of(cls, rows: tuple[int, int, int]) -> Tables:
        """Return tables before any learning."""
        stage1, stage2, first_pass = (np.zeros((n, _ROW), np.float32) for n in rows)
        for table in (stage1, stage2, first_pass):
            table[:, N_SHAPES:] = INITIAL_SUM
        return cls(stage1, stage2, first_pass)


class _Text(NamedTuple):
    """Sentences to learn from, token by token, with padding before and after each; and what is found of each token."""

    tokens: ft.TokenArray  # TOKEN
    words: I64Array  # the number of each token's word
    truths: U8Array  # the true shape of each token
    p: F64Matrix  # [tokens, N_SHAPES]: probabilities by the first pass if it settles the word, else by stage 1, then 2
    is_settled: BoolArray  # whether the first pass or stage 1 is certain, or the network is not needed
    decisions: U8Array
    # Buffers: the features of a block of tokens, [BLOCK, …], and their numbers, [BLOCK]; scores, then probabilities,
    # [N_SHAPES]; and log-odds of the domains
    features: U32Matrix
    n_features: I64Array
    z: F64Array
    log_odds: I64Array

    @classmethod
    def of(cls, size: int, n_domains: int) -> _Text:
        """Allocate it for so many tokens."""
        tokens, words, truths = np.empty(size, ft.TOKEN), np.empty(size, np.int64), np.full(size, _NO_SHAPE, np.uint8)
        p, is_settled = np.empty((size, N_SHAPES)), np.empty(size, np.bool_)
        decisions = np.full(size, ft.NO_DECISION, np.uint8)
        features = np.empty((ft.BLOCK, ft.MAX_WORD_FEATURES + ft.N_NEIGHBOR_FEATURES), np.uint32)
        buffers = features, np.empty(ft.BLOCK, np.int64), np.empty(N_SHAPES), np.zeros(n_domains, np.int64)
        return cls(tokens, words, truths, p, is_settled, decisions, *buffers)


@kernel
def _read(labels: U32Array, lexicon: lx.Lexicon, language_counts: I32Matrix, listed: U8Array, text: _Text) -> i64:
    """Fill the tokens, words and truths of whole sentences; return the number of tokens, with padding. language_counts:
    of the sentences' language, [words, N_SHAPES]; [0, N_SHAPES] if the model does not distinguish languages. listed: by
    the word lists of that language, as in Lexicon."""
    t = ft.sentence_padding(text.tokens, 0)
    position = 0
    for label in labels:
        if label == 0:
            t = ft.sentence_padding(text.tokens, t)
            position = 0
            continue
        word, shape = lexicon.word_of[label], lexicon.shapes[label]
        token, counts = text.tokens[t], lexicon.shape_counts[word]
        ft.known_token(lexicon.words[word], token)
        token.position, token.language_evidence = min(position, ft.MAX_POSITION), 0
        text.words[t] = word
        if shape == Shape.CASELESS:
            token.shape_evidence = lx.NO_CASE
        else:
            token.shape_evidence = lx.evidence_of(counts, lexicon.listed, word)
            if len(language_counts):
                token.language_evidence = lx.evidence_of(language_counts[word], listed, word)
            text.truths[t] = shape
        position += 1
        t += 1
    return t


WeightTable = TypeVar("WeightTable", I8Matrix, F32Matrix)


@inner
def add_scores(table: WeightTable, features: ft.Features, n: i64, z: ft.Scores) -> None:
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
def _domain(text: _Text, begin: i64, end: i64, language: i64, lexicon: lx.Lexicon) -> i64:
    """Return the domain of the sentence tokens[begin:end] in this language."""
    n_domains = text.log_odds.size
    text.log_odds[:] = 0
    for word in text.words[begin:end]:
        if likeliest(lexicon.language_log_odds[word]) == language:
            for domain in range(n_domains):
                text.log_odds[domain] += lexicon.words[word].domain_log_odds[domain]
    return language * n_domains + likeliest(text.log_odds)


@inner
def _first_pass(text: _Text, begin: i64, end: i64, domain: i64, tables: Tables, rate: f32) -> None:
    """Decide on words of a sentence, tokens[begin:end], by the first pass, and update its weights."""
    tokens, z, features = text.tokens, text.z, text.features[0]
    for t in range(begin, end):
        truth = text.truths[t]
        text.is_settled[t] = False
        if truth == _NO_SHAPE or not ft.gets_first_pass(tokens[t].shape_evidence):
            continue
        ft.first_features(tokens, t, domain, features)
        n = owned(tables.owners[2], features, ft.N_FIRST_FEATURES)
        z[:] = 0
        add_scores(tables.first_pass, features, n, z)
        text.decisions[t] = ft.settled_by(z[0], z[1], z[2], z[3])
        text.is_settled[t] = text.decisions[t] != ft.NO_DECISION
        ft.softmax(z)
        for k in range(N_SHAPES):
            text.p[t, k] = z[k]
        if z[truth] < FIRST_PASS_CERTAIN:
            adagrad(tables.first_pass, features, n, z, truth, rate)


@inner
def _stage1(
    text: _Text, begin: i64, end: i64, domain: i64, hashes: U32Matrix, tables: Tables, rate: f32
) -> tuple[i64, i64]:
    """Update stage 1's weights on the words of a sentence of this domain, tokens[begin:end], and decide on those that
    the first pass does not settle. Return the numbers of words with case, and of those whose decision has capitals."""
    tokens, truths, z, table = text.tokens, text.truths, text.z, tables.stage1
    n_words, n_capitals = 0, 0
    for block in range(begin, end, ft.BLOCK):
        block_end = min(end, block + ft.BLOCK)
        for t in range(block, block_end):
            if truths[t] != _NO_SHAPE:
                features = text.features[t - block]
                n = ft.word_features(hashes[text.words[t]], tokens[t].shape_evidence, domain, features)
                ft.neighbor_features(tokens, t, domain, features[n:])
                n = owned(tables.owners[0], features, n + ft.N_NEIGHBOR_FEATURES)
                text.n_features[t - block] = n
                ft.prefetch_rows(table, _ROW, features, n)
        for t in range(block, block_end):
            truth = truths[t]
            if truth == _NO_SHAPE:
                continue
            features, n = text.features[t - block], text.n_features[t - block]
            z[:] = 0
            add_scores(table, features, n, z)
            if len(tables.words):
                for k in range(N_SHAPES):
                    z[k] += tables.words[text.words[t], k]
            decided, is_certain = ft.decision(z), ft.lead(z, ft.likeliest(z)) >= ft.STAGE1_LEAD
            ft.softmax(z)
            if not text.is_settled[t]:
                for k in range(N_SHAPES):
                    text.p[t, k] = z[k]
                text.decisions[t], text.is_settled[t] = decided, is_certain
            n_words += 1
            n_capitals += ft.has_capitals(text.decisions[t])
            if z[truth] < CERTAIN:
                adagrad(table, features, n, z, truth, rate)
                if len(tables.words):
                    _update(tables.words, text.words[t], z, truth, rate)
    return n_words, n_capitals


@inner
def _stage2(text: _Text, begin: i64, end: i64, n_words: i64, n_capitals: i64, tables: Tables, rate: f32) -> None:
    """Update stage 2's weights on the words of a sentence of which stage 1 is not certain."""
    tokens, truths, z, table = text.tokens, text.truths, text.z, tables.stage2
    for block in range(begin, end, ft.BLOCK):
        block_end = min(end, block + ft.BLOCK)
        for t in range(block, block_end):
            if truths[t] < N_SHAPES and not text.is_settled[t]:
                features = text.features[t - block]
                ft.decision_features(tokens, text.decisions, t, n_words, n_capitals, features)
                text.n_features[t - block] = owned(tables.owners[1], features, ft.N_DECISION_FEATURES)
                ft.prefetch_rows(table, _ROW, features, text.n_features[t - block])
        for t in range(block, block_end):
            truth = truths[t]
            if truth >= N_SHAPES or text.is_settled[t]:
                continue
            for k in range(N_SHAPES):
                z[k] = ft.PRIOR_WEIGHT * np.log(text.p[t, k] + 1e-12)
            features, n = text.features[t - block], text.n_features[t - block]
            add_scores(table, features, n, z)
            text.is_settled[t] = not gets_network(tokens, t, ft.lead(z, ft.likeliest(z)))
            ft.softmax(z)
            for k in range(N_SHAPES):
                text.p[t, k] = z[k]
            if z[truth] < CERTAIN:
                adagrad(table, features, n, z, truth, rate)


@kernel
def _learn(
    text: _Text, n: i64, lexicon: lx.Lexicon, language: i64, tables: Tables, network: net.Learned,
    rates: tuple[f32, f32, f32],
) -> None:  # fmt: skip
    """Learn all from n tokens, sentence by sentence."""
    begin = ft.PADDING
    while begin < n:
        end = begin
        while text.tokens[end].shape_evidence != lx.END:
            end += 1
        domain = _domain(text, begin, end, language, lexicon)
        _first_pass(text, begin, end, domain, tables, rates[0])
        n_words, n_capitals = _stage1(text, begin, end, domain, lexicon.hashes, tables, rates[0])
        _stage2(text, begin, end, n_words, n_capitals, tables, rates[1])
        if len(network.embeddings) != 0:
            for t in range(begin, end):
                if text.truths[t] < N_SHAPES and not text.is_settled[t]:
                    for k in range(N_SHAPES):
                        text.z[k] = np.log(text.p[t, k] + 1e-12)
                    net.learn_word(text.tokens, text.decisions, t, domain, text.z, text.truths[t], rates[2], network)
        begin = end + ft.PADDING


@allocating
def _learn_gaps(text: _Text, n: i64, marks_of: U8Array, tables: Tables, rate: f32) -> None:
    """Learn, from n tokens, where sentences begin: in each gap with a mark that may end one, and after abbreviations.

    Sentences are learned from in the order of the text, so that the end of a line is a gap like any other. marks_of: as
    in Lexicon.
    """
    tokens, z = text.tokens, text.z
    words = np.empty(n + 1, np.int64)
    n_words = 0
    for t in range(n):
        if lx.BEGIN <= tokens[t].shape_evidence <= lx.END:
            continue
        mark = marks_of[text.words[t]]
        if mark == NO_MARK or mark == lx.ABBREVIATED:
            words[n_words] = t
            n_words += 1
    window, features = np.empty(ft.GAP_WORDS, ft.TOKEN), np.empty(ft.N_GAP_FEATURES, np.uint32)
    since, quoted = 0, ft.QUOTATION
    for k in range(1, n_words):
        since, quoted = min(since + 1, ft.LONGEST_SINCE), min(quoted + 1, ft.QUOTATION)
        is_open, marks, begins = quoted < ft.QUOTATION, u32(0), False
        is_gap = marks_of[text.words[words[k - 1]]] == lx.ABBREVIATED
        for between in range(words[k - 1] + 1, words[k]):
            if lx.BEGIN <= tokens[between].shape_evidence <= lx.END:
                begins = True
                continue
            mark = marks_of[text.words[between]]
            is_gap |= mark == END_MARK
            if mark == QUOTE:
                quoted = ft.QUOTATION if quoted < ft.QUOTATION else 0
            marks = ft.add_mark(marks, tokens[between])
        if is_gap:
            for place in range(ft.GAP_WORDS):
                window[place] = tokens[words[min(max(k + place - ft.GAP_WORDS // 2, 0), n_words - 1)]]
            ft.gap_features(window, marks, since, is_open, features)
            n_features = owned(tables.owners[0], features, ft.N_GAP_FEATURES)
            z[:] = 0
            add_scores(tables.stage1, features, n_features, z)
            odds = z[Shape.CAPITALIZED.value] - z[Shape.LOWER.value]
            z[:] = 0
            z[Shape.CAPITALIZED.value] = 1 / (1 + np.exp(-odds))
            z[Shape.LOWER.value] = 1 - z[Shape.CAPITALIZED.value]
            truth = u8(Shape.CAPITALIZED.value if begins else Shape.LOWER.value)
            if z[truth] < CERTAIN:
                adagrad(tables.stage1, features, n_features, z, truth, rate)
        since = 0 if begins else since


def learn(
    labels: U32Array, lexicon: lx.Lexicon, tables: Tables, language: int = 0, network: net.Learned = net.NOT_LEARNED,
    progress: float = 0,
) -> None:  # fmt: skip
    """Update the tables and the network on whole sentences of a language.

    lexicon: what is known from text without these sentences. progress: the fraction of the text that was learned from
    before.
    """
    size = len(labels) + ft.PADDING * (1 + int(np.count_nonzero(labels == 0)))
    text = _Text.of(size, lexicon.domains)
    counts, of_lists = lexicon.language_counts, lexicon.language_listed
    of_language = counts[language] if len(counts) else counts.reshape(0, N_SHAPES)
    listed = of_lists[language] if len(of_lists) else of_lists.reshape(-1)
    n = _read(labels, lexicon, of_language, listed, text)
    rates = *RATES, net.RATE * max(net.LEAST_RATE, 1 - progress)
    _learn(text, n, lexicon, language, tables, network, rates)
    if lexicon.marks.size:
        _learn_gaps(text, n, lexicon.marks, tables, rates[0])
