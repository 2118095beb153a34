"""Tokens → ln p(shape | word, context): the context model's scores.

In: the tokens of a text (tokens.py), and the context model. Out: float32[n, N_SHAPES]: for each word that has case, ln
p of each shape, less that of the likeliest shape. Line by line, each step scores the words on which the steps before it
are not certain: the first pass, with few features; stage 1; stage 2, given the decisions on the neighbors; the network
(network.py). The certainty of stage 1 includes the evidence of the written case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.context import features as ft
from capfst.context.channel import NOT_USED, Written, evidence_of, find_rows
from capfst.context.context_model import EMPTY_ROW, ROWS_PER_SLOT, Context
from capfst.context.lexicon import BEGIN, UNSEEN, has_case
from capfst.context.network import Queue, add_network, gets_network
from capfst.context.tokens import TokenizedText, hash_lowercase
from capfst.kernels import count_ones, inlined, inner, kernel, outlined, prefetch
from capfst.kernels.types import F32Array, F32Matrix, I64Array, U8Array, U32Array, U32Matrix, f32, i64, u8, u32

_GIVEN = np.float32(-8.0)
"""ln p of the shapes that a word does not have, if its shape is given."""
_DECISIONS = np.array([7, 0, 8, 10], np.uint8)
"""The decision (features.py) on a word whose shape is given, by shape."""
_NONE_GIVEN = np.empty(0, np.uint8)


class Kept(NamedTuple):
    """What the scores of a few words in a row, of n, are sums of, kept on request."""

    first: int  # the first of these words
    features: U32Matrix  # [words, N_FEATURES]; 0 where there is none
    network: F32Matrix  # [n, N_SHAPES]: the network's scores

    @classmethod
    def of(cls, words: range, n: int) -> Kept:
        return cls(words.start, np.zeros((len(words), ft.N_FEATURES), np.uint32), np.zeros((n, N_SHAPES), np.float32))


_NONE_KEPT = Kept.of(range(0), 0)


class _Scoring(NamedTuple):
    """A text, what scores it, its scores, and buffers: of the stages line after line, and the network at the end."""

    text: TokenizedText
    context: Context
    given: U8Array
    written: Written
    log_p: F32Matrix
    features: U32Matrix  # [BLOCK, …]
    word_features: U32Array  # [MAX_WORD_FEATURES]
    candidates: I64Array  # [BLOCK]: words that the first pass scores
    unsettled: I64Array  # words with case that the first pass does not settle
    decisions: U8Array  # on each token
    queue: Queue  # words that the network corrects
    kept: Kept
    evident: F32Array  # [N_SHAPES]: scores of a word with the evidence of its written case


@inner
def _keep(kept: Kept, i: i64, begin: i64, features: U32Array, n: i64) -> None:
    """Keep n features of word i, from feature `begin` on, if it is one of those."""
    row = i - kept.first
    for k in range(n if 0 <= row < kept.features.shape[0] else 0):
        kept.features[row, begin + k] = features[k]


@inner
def _put(z: F32Array, lower: f32, capitalized: f32, upper: f32, mixed: f32) -> None:
    """Fill z[N_SHAPES] with these scores, less the largest."""
    most = max(lower, capitalized, upper, mixed)
    z[0], z[1], z[2], z[3] = lower - most, capitalized - most, upper - most, mixed - most


@inlined
def scores_of(rows: U32Array, features: U32Array, n: i64) -> tuple[i64, i64, i64]:
    """Return the scores of CAPITALIZED, UPPER and MIXED: the sums of the weights in the rows of n features; LOWER's is
    0. A slot that holds another feature's row counts as EMPTY_ROW. rows: a table as in Context.

    CAPITALIZED and MIXED are summed in the low and high 16 bits of one number, so that most rows are added at once.
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
    return i64(odd & u32(0xFFFF)) - 128 * n, i64(even) - 128 * n, i64(odd >> u32(16)) - 128 * n


@inner
def _first_pass(scoring: _Scoring, begin: i64, end: i64, domain: i64) -> tuple[i64, i64, i64]:
    """Score the words begin … end − 1 of a line of this domain by the first pass: fill log_p and the decisions of the
    words that it settles. List the other words with case in `unsettled`.

    Returns the number of listed words, the number of settled words, and the number of settled words with capitals.
    """
    text, context, given, log_p = scoring.text, scoring.context, scoring.given, scoring.log_p
    tokens, rows = text.tokens, context.first_pass
    n_unsettled, n_words, n_capitals = 0, 0, 0
    for i in range(begin, end if given.size > 0 else begin):
        of_given = scoring.decisions[text.token_of[i]]
        n_words += of_given != ft.NO_DECISION
        n_capitals += ft.has_capitals(of_given)
    if context.language_evidence.shape[1] != 0:
        language = domain // (context.n_domains // context.language_evidence.shape[1])
        for i in range(begin, end):
            token, label = tokens[text.token_of[i]], text.labels[i]
            # Of a word that the LM lacks, only the evidence of all languages is known. No branches, as below.
            of_language = context.language_evidence[label, language]
            of_language = of_language if label != 0 else token.shape_evidence
            token.language_evidence = of_language if has_case(token.shape_evidence) else u8(0)
    # No branches: which words are scored here, and which of them are settled, cannot be predicted.
    candidates = scoring.candidates
    for block in range(begin, end, ft.BLOCK):
        n_candidates = 0
        for i in range(block, min(end, block + ft.BLOCK)):
            evidence = tokens[text.token_of[i]].shape_evidence
            is_open = given.size == 0 or given[i] == AS_FORM
            candidates[n_candidates] = scoring.unsettled[n_unsettled] = i
            n_candidates += ft.gets_first_pass(evidence) & is_open
            n_unsettled += (evidence == UNSEEN) & is_open
        for j in range(n_candidates):
            ft.first_features(tokens, text.token_of[candidates[j]], domain, scoring.features[j])
            ft.prefetch_rows(rows, 1, scoring.features[j], ft.N_FIRST_FEATURES)
        for j in range(n_candidates):
            i = candidates[j]
            t, z = text.token_of[i], log_p[i]
            _keep(scoring.kept, i, 0, scoring.features[j], ft.N_FIRST_FEATURES)
            whole, scale = scores_of(rows, scoring.features[j], ft.N_FIRST_FEATURES), context.scales[2]
            capitalized, upper, mixed = f32(scale * whole[0]), f32(scale * whole[1]), f32(scale * whole[2])
            settled = ft.settled_by(f32(0), capitalized, upper, mixed)
            scoring.decisions[t] = settled
            _put(z, f32(0), capitalized, upper, mixed)
            scoring.unsettled[n_unsettled] = i
            n_unsettled += settled == ft.NO_DECISION
            n_words += settled != ft.NO_DECISION
            n_capitals += ft.has_capitals(settled)
    return n_unsettled, n_words, n_capitals


@inner
def _stage1(scoring: _Scoring, n_unsettled: i64, domain: i64) -> tuple[i64, i64]:
    """Score the first `n_unsettled` words of `unsettled`, of a line of this domain, by stage 1: fill their log_p and
    decisions. Only words of which stage 1 is not certain remain in `unsettled`.

    Returns the number of words that remain, and the number of scored words whose decision has capitals.
    """
    text, context, log_p = scoring.text, scoring.context, scoring.log_p
    tokens, n_uncertain, n_capitals = text.tokens, 0, 0
    for block in range(0, n_unsettled, ft.BLOCK):
        block_end = min(n_unsettled, block + ft.BLOCK)
        for j in range(block, block_end):
            i, features = scoring.unsettled[j], scoring.features[j - block]
            ft.neighbor_features(tokens, text.token_of[i], domain, features)
            ft.prefetch_rows(context.stage1, 1, features, ft.N_NEIGHBOR_FEATURES)
            prefetch(context.words, text.labels[i])
        for j in range(block, block_end):
            i = scoring.unsettled[j]
            t, z = text.token_of[i], log_p[i]
            features = scoring.features[j - block]
            _keep(scoring.kept, i, ft.N_FIRST_FEATURES, features, ft.N_NEIGHBOR_FEATURES)
            capitalized, upper, mixed = scores_of(context.stage1, features, ft.N_NEIGHBOR_FEATURES)
            evidence, of_word = tokens[t].shape_evidence, context.words[text.labels[i]].scores
            if evidence != UNSEEN and text.labels[i] != 0:
                capitalized, upper, mixed = capitalized + of_word[0], upper + of_word[1], mixed + of_word[2]
            else:
                hash_lowercase(text.source, i)
                n = ft.word_features(text.source.hashes, evidence, domain, scoring.word_features)
                _keep(scoring.kept, i, ft.OWN_FEATURES, scoring.word_features, n)
                more = scores_of(context.stage1, scoring.word_features, n)
                capitalized, upper, mixed = capitalized + more[0], upper + more[1], mixed + more[2]
            scale = context.scales[0]
            _put(z, f32(0), f32(scale * capitalized), f32(scale * upper), f32(scale * mixed))
            scoring.unsettled[n_uncertain] = i
            n_uncertain += i64(ft.lead(z, ft.likeliest(z)) < ft.STAGE1_LEAD)
            scoring.decisions[t] = ft.decision(z)
            n_capitals += ft.has_capitals(scoring.decisions[t])
    return n_uncertain, n_capitals


@inner
def _put_evident(written: Written, i: i64, log_p: F32Array, z: F32Array) -> None:
    """Fill z[N_SHAPES] with ln p of the shapes of word i and the evidence of its written case, less the largest."""
    lower, capitalized, upper, mixed = evidence_of(written, i)
    _put(z, log_p[0] + lower, log_p[1] + capitalized, log_p[2] + upper, log_p[3] + mixed)


@outlined
def _without_evident(scoring: _Scoring, n_uncertain: i64) -> i64:
    """Keep only those of the first `n_uncertain` words of `unsettled` that stay uncertain with the evidence of their
    written case; return their number."""
    n = 0
    for j in range(n_uncertain):
        i = scoring.unsettled[j]
        scoring.unsettled[n] = i
        is_certain, z = False, scoring.evident
        if scoring.written.rows[i] >= 0:
            _put_evident(scoring.written, i, scoring.log_p[i], z)
            is_certain = ft.lead(z, ft.likeliest(z)) >= ft.FIRST_PASS_LEAD
        n += i64(not is_certain)
    return n


@inner
def _stage2(scoring: _Scoring, n_uncertain: i64, n_words: i64, n_capitals: i64, domain: i64, n_queued: i64) -> i64:
    """Correct log_p of the first `n_uncertain` words of `unsettled`, of a line of this domain: PRIOR_WEIGHT · ln p_k +
    stage 2's score of shape k. Add the words that the network corrects to the queue, which has `n_queued`; return how
    many it has then.

    n_words, n_capitals: the number of words with case in the line, and of those whose decision has capitals.
    """
    text, context, queue = scoring.text, scoring.context, scoring.queue
    for block in range(0, n_uncertain, ft.BLOCK):
        block_end = min(n_uncertain, block + ft.BLOCK)
        for j in range(block, block_end):
            t, features = text.token_of[scoring.unsettled[j]], scoring.features[j - block]
            ft.decision_features(text.tokens, scoring.decisions, t, n_words, n_capitals, features)
            ft.prefetch_rows(context.stage2, 1, features, ft.N_DECISION_FEATURES)
        for j in range(block, block_end):
            i = scoring.unsettled[j]
            z, features = scoring.log_p[i], scoring.features[j - block]
            _keep(scoring.kept, i, ft.DECIDED_FEATURES, features, ft.N_DECISION_FEATURES)
            whole = scores_of(context.stage2, features, ft.N_DECISION_FEATURES)
            scale, weight = context.scales[1], f32(ft.PRIOR_WEIGHT)
            _put(
                z, weight * z[0], weight * z[1] + f32(scale * whole[0]), weight * z[2] + f32(scale * whole[1]),
                weight * z[3] + f32(scale * whole[2]),
            )  # fmt: skip
            queue.words[n_queued], queue.domains[n_queued] = i, domain
            n_queued += i64(gets_network(text.tokens, text.token_of[i], ft.lead(z, ft.likeliest(z))))
    return n_queued


@kernel
def _score(scoring: _Scoring) -> None:
    """Fill log_p, float32[n, N_SHAPES]: ln p of the shapes of each word that has case, less that of the likeliest
    shape."""
    text, context, written, log_p = scoring.text, scoring.context, scoring.written, scoring.log_p
    begin, n_queued, is_evidence = 0, 0, False
    for number in range(text.domains.size):
        end, domain = text.ends[number], text.domains[number]
        n_unsettled, n_words, n_capitals = _first_pass(scoring, begin, end, domain)
        n_words += n_unsettled
        n, more = _stage1(scoring, n_unsettled, domain)
        if written.shapes.size != 0 and find_rows(text, begin, end, written, log_p):
            n, is_evidence = _without_evident(scoring, n), True
        n_queued = _stage2(scoring, n, n_words, n_capitals + more, domain, n_queued)
        begin = end
    if len(context.network.embeddings) != 0:
        queue = scoring.queue
        add_network(text.tokens, text.token_of, scoring.decisions, n_queued, context.network, queue, log_p)
        for k in range(n_queued):
            z = log_p[queue.words[k]]
            _put(z, z[0], z[1], z[2], z[3])
        of_words = scoring.kept.network
        n_queued = n_queued if of_words.shape[0] != 0 else 0
        add_network(text.tokens, text.token_of, scoring.decisions, n_queued, context.network, queue, of_words)
    for i in range(text.labels.size if is_evidence else 0):
        if written.rows[i] >= 0:
            _put_evident(written, i, log_p[i], log_p[i])


def score(
    text: TokenizedText, context: Context, log_p: F32Matrix, given: U8Array | None = None, written: Written = NOT_USED,
    kept: Kept = _NONE_KEPT,
) -> None:  # fmt: skip
    """Fill log_p, float32[n, N_SHAPES]: ln p(shape | word, context) of each word that has case, less that of the
    likeliest shape. given: uint8[n], the shapes of the words whose shape is given, AS_FORM for the others.
    kept: is filled in."""
    given, n_tokens = _NONE_GIVEN if given is None else given, len(text.tokens)
    features = np.empty((ft.BLOCK, max(ft.N_NEIGHBOR_FEATURES, ft.N_DECISION_FEATURES)), np.uint32)
    word_features, candidates = np.empty(ft.MAX_WORD_FEATURES, np.uint32), np.empty(ft.BLOCK, np.int64)
    unsettled, decisions = np.empty(n_tokens, np.int64), np.full(n_tokens, ft.NO_DECISION, np.uint8)
    if given.size > 0:
        is_given = (given < N_SHAPES) & (text.tokens["shape_evidence"][text.token_of] < BEGIN)
        shapes, rows = given[is_given], np.flatnonzero(is_given)
        log_p[rows], log_p[rows, shapes] = _GIVEN, 0
        decisions[text.token_of[rows]] = _DECISIONS[shapes]
    evident = np.empty(N_SHAPES, np.float32)
    buffers = features, word_features, candidates, unsettled, decisions, Queue.of(n_tokens), kept, evident
    _score(_Scoring(text, context, given, written, log_p, *buffers))
