"""Tokens → ln p(shape | word, context): the context model's scores.

In: the tokens of a text (tokens.py), and the context model. Out: float32[n, N_SHAPES]: for each word that has case, ln
p of each shape, less that of the likeliest shape. Line by line: the first pass, with few features; stage 1 for words
that it does not settle; stage 2 for words of which stage 1 is not certain, given the decisions on their neighbors; the
network (network.py) for words of which stage 2 is not certain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.casing.types import Words
from capfst.context.channel import NOT_USED, Written, add_evidence, find_rows
from capfst.context.context_model import EMPTY_ROW, ROWS_PER_SLOT, Context
from capfst.context.features import (
    BLOCK,
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_FIRST_FEATURES,
    N_NEIGHBOR_FEATURES,
    NO_DECISION,
    PRIOR_WEIGHT,
    STAGE1_LEAD,
    decision,
    decision_features,
    first_features,
    gets_first_pass,
    has_capitals,
    largest,
    lead,
    likeliest,
    neighbor_features,
    prefetch_rows,
    settled_decision,
    word_features,
)
from capfst.context.lexicon import UNSEEN, has_case
from capfst.context.network import N_HIDDEN, N_INPUTS, PLACES, add_output, fill_hidden, gets_network, read_inputs
from capfst.context.tokens import Lowercaser, TokenizedText, hash_lowercase
from capfst.kernels import count_ones, inlined, inner, kernel, prefetch
from capfst.kernels.types import F32Array, F32Matrix, I64Array, U8Array, U32Array, U32Matrix, f32, i64, u32

_GIVEN = np.float32(-8.0)
"""ln p of the shapes that a word does not have, if its shape is given."""
_NONE_GIVEN = np.empty(0, np.uint8)


class _ScoringBuffers(NamedTuple):
    """Buffers that the stages use line after line."""

    features: U32Matrix  # [BLOCK, …]
    word_features: U32Array  # [MAX_WORD_FEATURES]
    candidates: I64Array  # [BLOCK]: words that the first pass scores
    unsettled: I64Array  # words with case that the first pass does not settle
    decisions: U8Array  # on each token
    inputs: F32Array  # [(PLACES + 1) N_INPUTS]
    hidden: F32Array  # [N_HIDDEN]

    @classmethod
    def of(cls, n_tokens: int) -> _ScoringBuffers:
        return cls(
            np.empty((BLOCK, max(N_NEIGHBOR_FEATURES, N_DECISION_FEATURES)), np.uint32),
            np.empty(MAX_WORD_FEATURES, np.uint32),
            np.empty(BLOCK, np.int64),
            np.empty(n_tokens, np.int64),
            np.full(n_tokens, NO_DECISION, np.uint8),
            np.empty((PLACES + 1) * N_INPUTS, np.float32),
            np.empty(N_HIDDEN, np.float32),
        )


@inner
def _subtract_largest(z: F32Array) -> None:
    """Subtract the largest score, z[N_SHAPES], from all."""
    most = largest(z)
    for k in range(N_SHAPES):
        z[k] -= most


@inlined
def sum_rows(rows: U32Array, features: U32Array, n: i64) -> tuple[u32, u32]:
    """Return the sums of the weights in the rows of n features: the first and the third weight in the low and high 16
    bits of one number, the second in another. A slot that holds another feature's row counts as EMPTY_ROW. rows: a
    table as in Parameters.

    All numbers have 32 bits, so that most rows are added at once.
    """
    odd, even = u32(0), u32(0)
    mask, bits = u32(rows.size - 1), u32(count_ones(rows.size - 1))
    for i in range(n):
        feature = features[i]
        row = rows[feature & mask]
        owner = u32(u32(feature >> bits & u32(ROWS_PER_SLOT - 1)) + u32(1))
        row = row if u32(row >> u32(24)) == owner else EMPTY_ROW
        odd = u32(odd + u32(row & u32(0x00FF00FF)))
        even = u32(even + u32(row >> u32(8) & u32(0xFF)))
    return odd, even


@inner
def score_of(sums: tuple[u32, u32], shape: i64, n: i64) -> i64:
    """Return the score of a shape, given the sums of n rows; 0 for LOWER."""
    odd, even = sums
    if shape == 0:
        return 0
    total = even if shape == 2 else odd & u32(0xFFFF) if shape == 1 else odd >> u32(16)
    return i64(total) - 128 * n


@inner
def _take_given(
    text: TokenizedText, begin: i64, end: i64, given: U8Array, decisions: U8Array, log_p: F32Matrix
) -> tuple[i64, i64]:
    """Fill log_p and the decisions on the words begin … end − 1 whose shape is given. Return the number of those with
    case, and the number of those with capitals."""
    n_words, n_capitals = 0, 0
    for i in range(begin, end):
        t, shape = text.token_of[i], i64(given[i])
        if shape < N_SHAPES and has_case(text.tokens[t].shape_evidence):
            for k in range(N_SHAPES):
                log_p[i, k] = _GIVEN
            log_p[i, shape] = 0
            settled = settled_decision(log_p[i])
            decisions[t] = settled
            n_words += 1
            n_capitals += has_capitals(settled)
    return n_words, n_capitals


@inner
def _first_pass(
    text: TokenizedText, begin: i64, end: i64, domain: i64, given: U8Array, context: Context, buffers: _ScoringBuffers,
    log_p: F32Matrix,
) -> tuple[i64, i64, i64]:  # fmt: skip
    """Score the words begin … end − 1 of a line of this domain by the first pass: fill log_p and buffers.decisions of
    the words that it settles. List the other words with case in buffers.unsettled.

    Returns the number of listed words, the number of settled words, and the number of settled words with capitals.
    """
    tokens, rows = text.tokens, context.first_pass
    n_unsettled, n_words, n_capitals = 0, 0, 0
    if given.size > 0:
        n_words, n_capitals = _take_given(text, begin, end, given, buffers.decisions, log_p)
    if context.language_evidence.shape[1] != 0:
        language = domain // (context.n_domains // context.language_evidence.shape[1])
        for i in range(begin, end):
            token, label = tokens[text.token_of[i]], text.labels[i]
            if has_case(
                token.shape_evidence
            ):  # of a word that the LM lacks, only the evidence of all languages is known
                of_language = context.language_evidence[label, language]
                token.language_evidence = of_language if label != 0 else token.shape_evidence
    # No branches: which words are scored here, and which of them are settled, cannot be predicted.
    candidates = buffers.candidates
    for block in range(begin, end, BLOCK):
        n_candidates = 0
        for i in range(block, min(end, block + BLOCK)):
            evidence = tokens[text.token_of[i]].shape_evidence
            is_open = given.size == 0 or given[i] == AS_FORM
            candidates[n_candidates] = buffers.unsettled[n_unsettled] = i
            n_candidates += gets_first_pass(evidence) & is_open
            n_unsettled += (evidence == UNSEEN) & is_open
        for j in range(n_candidates):
            first_features(tokens, text.token_of[candidates[j]], domain, buffers.features[j])
            prefetch_rows(rows, 1, buffers.features[j], N_FIRST_FEATURES)
        for j in range(n_candidates):
            i = candidates[j]
            t, z = text.token_of[i], log_p[i]
            sums = sum_rows(rows, buffers.features[j], N_FIRST_FEATURES)
            for k in range(N_SHAPES):
                z[k] = context.scales[2] * score_of(sums, k, N_FIRST_FEATURES)
            settled = settled_decision(z)
            buffers.decisions[t] = settled
            _subtract_largest(z)
            buffers.unsettled[n_unsettled] = i
            n_unsettled += settled == NO_DECISION
            n_words += settled != NO_DECISION
            n_capitals += has_capitals(settled)
    return n_unsettled, n_words, n_capitals


@inner
def _stage1(
    buf: U8Array,
    words: Words,
    text: TokenizedText,
    n_unsettled: i64,
    domain: i64,
    lowercaser: Lowercaser,
    context: Context,
    buffers: _ScoringBuffers,
    log_p: F32Matrix,
) -> tuple[i64, i64]:
    """Score the first `n_unsettled` words of buffers.unsettled, of a line of this domain, by stage 1: fill their log_p
    and buffers.decisions. Only words of which stage 1 is not certain remain in buffers.unsettled.

    Returns the number of words that remain, and the number of scored words whose decision has capitals.
    """
    tokens = text.tokens
    n_uncertain, n_capitals = 0, 0
    for block in range(0, n_unsettled, BLOCK):
        block_end = min(n_unsettled, block + BLOCK)
        for j in range(block, block_end):
            i, features = buffers.unsettled[j], buffers.features[j - block]
            neighbor_features(tokens, text.token_of[i], domain, features)
            prefetch_rows(context.stage1, 1, features, N_NEIGHBOR_FEATURES)
            prefetch(context.words, text.labels[i])
        for j in range(block, block_end):
            i = buffers.unsettled[j]
            t, z = text.token_of[i], log_p[i]
            sums = sum_rows(context.stage1, buffers.features[j - block], N_NEIGHBOR_FEATURES)
            for k in range(N_SHAPES):
                z[k] = score_of(sums, k, N_NEIGHBOR_FEATURES)
            evidence = tokens[t].shape_evidence
            if evidence != UNSEEN and text.labels[i] != 0:
                for k in range(1, N_SHAPES):
                    z[k] += context.words[text.labels[i]].scores[k - 1]
            else:
                hash_lowercase(buf, words, i, lowercaser)
                n = word_features(lowercaser.hashes, evidence, domain, buffers.word_features)
                sums = sum_rows(context.stage1, buffers.word_features, n)
                for k in range(1, N_SHAPES):
                    z[k] += score_of(sums, k, n)
            for k in range(N_SHAPES):
                z[k] *= context.scales[0]
            buffers.unsettled[n_uncertain] = i
            n_uncertain += i64(lead(z, likeliest(z)) < STAGE1_LEAD)
            _subtract_largest(z)
            buffers.decisions[t] = decision(z)
            n_capitals += has_capitals(buffers.decisions[t])
    return n_uncertain, n_capitals


@inner
def _stage2(
    text: TokenizedText,
    n_uncertain: i64,
    n_words: i64,
    n_capitals: i64,
    context: Context,
    buffers: _ScoringBuffers,
    log_p: F32Matrix,
) -> i64:
    """Correct log_p of the first `n_uncertain` words of buffers.unsettled: PRIOR_WEIGHT · ln p_k + stage 2's score of
    shape k. Only words that the network corrects remain in buffers.unsettled. Returns their number.

    n_words, n_capitals: the number of words with case in the line, and of those whose decision has capitals.
    """
    n_left = 0
    for block in range(0, n_uncertain, BLOCK):
        block_end = min(n_uncertain, block + BLOCK)
        for j in range(block, block_end):
            t, features = text.token_of[buffers.unsettled[j]], buffers.features[j - block]
            decision_features(text.tokens, buffers.decisions, t, n_words, n_capitals, features)
            prefetch_rows(context.stage2, 1, features, N_DECISION_FEATURES)
        for j in range(block, block_end):
            i = buffers.unsettled[j]
            t, z = text.token_of[i], log_p[i]
            sums = sum_rows(context.stage2, buffers.features[j - block], N_DECISION_FEATURES)
            for k in range(N_SHAPES):
                score = context.scales[1] * score_of(sums, k, N_DECISION_FEATURES)
                z[k] = f32(PRIOR_WEIGHT) * z[k] + f32(score)
            buffers.unsettled[n_left] = i
            n_left += i64(gets_network(text.tokens, t, lead(z, likeliest(z))))
            _subtract_largest(z)
    return n_left


@inner
def _network(
    text: TokenizedText, n_uncertain: i64, domain: i64, context: Context, buffers: _ScoringBuffers, log_p: F32Matrix
) -> None:
    """Correct log_p of the first `n_uncertain` words of buffers.unsettled, of a line of this domain, by the network."""
    embeddings, layers = context.network
    for j in range(n_uncertain):
        i = buffers.unsettled[j]
        t, z = text.token_of[i], log_p[i]
        read_inputs(text.tokens, t, embeddings, buffers.inputs)
        fill_hidden(text.tokens, buffers.decisions, t, domain, buffers.inputs, layers, buffers.hidden)
        add_output(layers, buffers.hidden, z)
        _subtract_largest(z)


@kernel
def _score(
    buf: U8Array,
    words: Words,
    text: TokenizedText,
    lowercaser: Lowercaser,
    context: Context,
    given: U8Array,
    written: Written,
    buffers: _ScoringBuffers,
    log_p: F32Matrix,
) -> None:
    """Fill log_p, float32[n, N_SHAPES]: ln p of the shapes of each word that has case, less that of the likeliest
    shape."""
    begin = 0
    for number in range(text.domains.size):
        end, domain = text.ends[number], text.domains[number]
        n_unsettled, n_words, n_capitals = _first_pass(text, begin, end, domain, given, context, buffers, log_p)
        n_words += n_unsettled
        n, more = _stage1(buf, words, text, n_unsettled, domain, lowercaser, context, buffers, log_p)
        is_evidence = written.shapes.size != 0 and find_rows(text, begin, end, written, log_p)
        n = _stage2(text, n, n_words, n_capitals + more, context, buffers, log_p)
        if len(context.network.embeddings) != 0:
            _network(text, n, domain, context, buffers, log_p)
        for i in range(begin, end if is_evidence else begin):
            if written.rows[i] >= 0:
                add_evidence(written, i, log_p[i])
                _subtract_largest(log_p[i])
        begin = end


def score(
    buf: npt.NDArray[np.uint8],
    words: Words,
    text: TokenizedText,
    lowercaser: Lowercaser,
    context: Context,
    log_p: npt.NDArray,
    given: npt.NDArray[np.uint8] | None = None,
    written: Written = NOT_USED,
) -> npt.NDArray[np.uint8]:
    """Fill log_p, float32[n, N_SHAPES]: ln p(shape | word, context) of each word that has case, less that of the
    likeliest shape. given: uint8[n], the shapes of the words whose shape is given, AS_FORM for the others.

    Returns the decisions on the tokens (features.decision)."""
    given, buffers = _NONE_GIVEN if given is None else given, _ScoringBuffers.of(len(text.tokens))
    _score(buf, words, text, lowercaser, context, given, written, buffers, log_p)
    return buffers.decisions
