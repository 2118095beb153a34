"""Tokens → ln p of the shapes of each word: the context model's scores.

In: the tokens of a text (tokens.py), and the context model. Out: float32[n, N_SHAPES], ln p of each shape of each word
that has case. Of each line the first look, which asks few features, then stage 1 where that does not suffice, then
stage 2 where stage 1 is not certain, given the decisions on the neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.casing.types import Words
from capfst.context.context_model import EMPTY_ROW, ROWS_PER_SLOT, Context
from capfst.context.features import (
    BLOCK,
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_FIRST_FEATURES,
    N_NEIGHBOUR_FEATURES,
    NO_DECISION,
    PRIOR_WEIGHT,
    STAGE1_LEAD,
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
    settled_decision,
    word_features,
)
from capfst.context.lexicon import UNSEEN, has_case
from capfst.context.tokens import Lowercase, Text, hash_lowercase
from capfst.kernels import count_ones, inlined, inner, kernel, prefetch
from capfst.kernels.types import F32Array, F32Matrix, I64Array, U8Array, U32Array, U32Matrix, f32, i64, u32


class _Workspace(NamedTuple):
    """Memory that the stages use line after line."""

    features: U32Matrix  # [BLOCK, …]
    word_features: U32Array  # [MAX_WORD_FEATURES]
    looked: I64Array  # [BLOCK]: words that get a first look
    unsettled: I64Array  # words with case for which it does not suffice
    decisions: U8Array  # of each token

    @classmethod
    def of(cls, n_tokens: int) -> _Workspace:
        return cls(
            np.empty((BLOCK, max(N_NEIGHBOUR_FEATURES, N_DECISION_FEATURES)), np.uint32),
            np.empty(MAX_WORD_FEATURES, np.uint32),
            np.empty(BLOCK, np.int64),
            np.empty(n_tokens, np.int64),
            np.full(n_tokens, NO_DECISION, np.uint8),
        )


@inner
def _subtract_largest(z: F32Array) -> None:
    most = largest(z)
    for k in range(N_SHAPES):
        z[k] -= most


@inlined
def _sum_rows(rows: U32Array, features: U32Array, n: i64) -> tuple[u32, u32]:
    """The sums of the first and third weights of the rows of n features, and of the second ones, in the low and the
    high 16 bits of two numbers; a row that another feature has counts as EMPTY_ROW. rows: as in model.Parameters.

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
def _score_of(sums: tuple[u32, u32], shape: i64, n: i64) -> i64:
    """The score of a shape in the sums of n rows; that of LOWER is 0."""
    odd, even = sums
    if shape == 0:
        return 0
    total = even if shape == 2 else odd & u32(0xFFFF) if shape == 1 else odd >> u32(16)
    return i64(total) - 128 * n


@inner
def _first_look(
    text: Text, begin: i64, end: i64, domain: i64, context: Context, work: _Workspace, log_p: F32Matrix
) -> tuple[i64, i64, i64]:
    """log_p[begin:end], of the words of a line of a domain, for words for which the first look suffices; and
    work.decisions. The other words with case are put into work.unsettled.

    Returns how many these are; how many others have case, and for how many of those the decision has capitals.
    """
    tokens, rows = text.tokens, context.first_look
    n_unsettled, n_words, n_capitals = 0, 0, 0
    if context.language_evidence.shape[1] != 0:
        for i in range(begin, end):
            if has_case(tokens[text.token_of[i]].shape_evidence):
                tokens[text.token_of[i]].language_evidence = context.language_evidence[text.labels[i], domain]
    # Which words get a first look, and for which it suffices, nobody can predict: so there are no branches on it.
    looked = work.looked
    for block in range(begin, end, BLOCK):
        n_looked = 0
        for i in range(block, min(end, block + BLOCK)):
            evidence = tokens[text.token_of[i]].shape_evidence
            looked[n_looked] = work.unsettled[n_unsettled] = i
            n_looked += gets_first_look(evidence)
            n_unsettled += evidence == UNSEEN
        for j in range(n_looked):
            first_features(tokens, text.token_of[looked[j]], domain, work.features[j])
            prefetch_rows(rows, 1, work.features[j], N_FIRST_FEATURES)
        for j in range(n_looked):
            i = looked[j]
            t, z = text.token_of[i], log_p[i]
            sums = _sum_rows(rows, work.features[j], N_FIRST_FEATURES)
            for k in range(N_SHAPES):
                z[k] = context.scales[2] * _score_of(sums, k, N_FIRST_FEATURES)
            settled = settled_decision(z)
            work.decisions[t] = settled
            _subtract_largest(z)
            work.unsettled[n_unsettled] = i
            n_unsettled += settled == NO_DECISION
            n_words += settled != NO_DECISION
            n_capitals += has_capitals(settled)
    return n_unsettled, n_words, n_capitals


@inner
def _stage1(
    buf: U8Array,
    words: Words,
    text: Text,
    n_unsettled: i64,
    domain: i64,
    lowercase: Lowercase,
    context: Context,
    work: _Workspace,
    log_p: F32Matrix,
) -> tuple[i64, i64]:
    """log_p[i], for the first `n_unsettled` words i of work.unsettled, which are of a line of a domain; and
    work.decisions. Of these words only those stay in work.unsettled of which stage 1 is not certain.

    Returns how many stay, and for how many of all the decision has capitals.
    """
    tokens = text.tokens
    n_uncertain, n_capitals = 0, 0
    for block in range(0, n_unsettled, BLOCK):
        block_end = min(n_unsettled, block + BLOCK)
        for j in range(block, block_end):
            i, features = work.unsettled[j], work.features[j - block]
            neighbour_features(tokens, text.token_of[i], domain, features)
            prefetch_rows(context.stage1, 1, features, N_NEIGHBOUR_FEATURES)
            prefetch(context.words, text.labels[i])
        for j in range(block, block_end):
            i = work.unsettled[j]
            t, z = text.token_of[i], log_p[i]
            sums = _sum_rows(context.stage1, work.features[j - block], N_NEIGHBOUR_FEATURES)
            for k in range(N_SHAPES):
                z[k] = _score_of(sums, k, N_NEIGHBOUR_FEATURES)
            if tokens[t].shape_evidence != UNSEEN:
                for k in range(1, N_SHAPES):
                    z[k] += context.words[text.labels[i]].scores[k - 1]
            else:
                hash_lowercase(buf, words, i, lowercase)
                n = word_features(lowercase.hashes, UNSEEN, domain, work.word_features)
                sums = _sum_rows(context.stage1, work.word_features, n)
                for k in range(1, N_SHAPES):
                    z[k] += _score_of(sums, k, n)
            for k in range(N_SHAPES):
                z[k] *= context.scales[0]
            work.unsettled[n_uncertain] = i
            n_uncertain += i64(lead(z, likeliest(z)) < STAGE1_LEAD)
            _subtract_largest(z)
            work.decisions[t] = decision(z)
            n_capitals += has_capitals(work.decisions[t])
    return n_uncertain, n_capitals


@inner
def _stage2(
    text: Text, n_uncertain: i64, n_words: i64, n_capitals: i64, context: Context, work: _Workspace, log_p: F32Matrix
) -> None:
    """Corrects log_p of the first `n_uncertain` words of work.unsettled: PRIOR_WEIGHT · ln p + stage 2's scores."""
    for block in range(0, n_uncertain, BLOCK):
        block_end = min(n_uncertain, block + BLOCK)
        for j in range(block, block_end):
            t, features = text.token_of[work.unsettled[j]], work.features[j - block]
            decision_features(text.tokens, work.decisions, t, n_words, n_capitals, features)
            prefetch_rows(context.stage2, 1, features, N_DECISION_FEATURES)
        for j in range(block, block_end):
            z = log_p[work.unsettled[j]]
            sums = _sum_rows(context.stage2, work.features[j - block], N_DECISION_FEATURES)
            for k in range(N_SHAPES):
                score = context.scales[1] * _score_of(sums, k, N_DECISION_FEATURES)
                z[k] = f32(PRIOR_WEIGHT) * z[k] + f32(score)
            _subtract_largest(z)


@kernel
def _score(
    buf: U8Array, words: Words, text: Text, lowercase: Lowercase, context: Context, work: _Workspace, log_p: F32Matrix
) -> None:
    """Fills log_p, float32[n, N_SHAPES]: ln p of the shapes of each word that has case, less that of the likeliest."""
    begin = 0
    for number in range(text.domains.size):
        end, domain = text.ends[number], text.domains[number]
        n_unsettled, n_words, n_capitals = _first_look(text, begin, end, domain, context, work, log_p)
        n_words += n_unsettled
        n, more = _stage1(buf, words, text, n_unsettled, domain, lowercase, context, work, log_p)
        _stage2(text, n, n_words, n_capitals + more, context, work, log_p)
        begin = end


def score(
    buf: npt.NDArray[np.uint8], words: Words, text: Text, lowercase: Lowercase, context: Context, log_p: npt.NDArray
) -> None:
    """Fills log_p, float32[n, N_SHAPES]: ln p of the shapes of each word that has case, less that of the likeliest."""
    _score(buf, words, text, lowercase, context, _Workspace.of(len(text.tokens)), log_p)
