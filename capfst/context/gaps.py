"""Gaps: P(a sentence begins here), for each gap between two words where one may (text/sentences.py).

In: the words of a text, and the context model. Out: the log-odds that a sentence begins in each gap, which are weights
on S. A gap is decided like a shape: its features are rows of the table of stage 1, in which CAPITALIZED means that a
sentence begins, and LOWER that the text goes on. The rows are learned in the same pass (learn.py): from the ends of
sentences, and from marks within them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context import features as ft
from capfst.context.context_model import Context
from capfst.context.lexicon import BEGIN, END
from capfst.context.shape_scores import scores_of
from capfst.context.tokens import Source, fill_token
from capfst.kernels import inner, kernel
from capfst.kernels.types import F32Array, I64Array, U8Array, U32Array, U32Matrix, f32, i64, u32
from capfst.text.sentences import QUOTE, aside_end, mark_of
from capfst.text.tokenizer import MARKS, NEWLINE, Tokens

_ALONE = np.float32(1e6)
"""The weight of the odds of a gap with a remark, an emoticon or the number of an item, with which the LM has
hardly seen sentences begin."""


@inner
def _fill_window(source: Source, gap: i64, i: i64, context: Context, window: ft.TokenArray) -> None:
    """Fill window, TOKEN[GAP_WORDS], with the words before a gap, and from word i on, of its line."""
    words, at = source.words, gap
    for place in range(1, -1, -1):
        at -= 1
        while at >= 0 and words.token_types[at] == MARKS:
            at -= 1
        _fill_place(source, at, context, window[place], BEGIN)
    at = i
    for place in range(2, ft.GAP_WORDS):
        while at < words.starts.size and words.token_types[at] == MARKS:
            at += 1
        _fill_place(source, at, context, window[place], END)
        at += 1


@inner
def _fill_place(source: Source, at: i64, context: Context, token: ft.Token, boundary: i64) -> None:
    if at < 0 or at >= source.words.starts.size or source.words.token_types[at] == NEWLINE:
        token.word_hash = token.suffix2_hash = token.shape_evidence = boundary
        token.lower_class = token.cased_class = 0
    else:
        fill_token(source, at, context, token)


class _Gaps(NamedTuple):
    """A few gaps, whose rows of weights are fetched together."""

    words: I64Array  # [BLOCK]: the first word, or mark, after each gap
    counts: I64Array  # [BLOCK]: the number of words of the text up to the first one after the gap
    lines: I64Array  # [BLOCK]: the number of words of the text before the line
    marks: U32Array  # [BLOCK]: as in `gap_features`
    weights: F32Array  # [BLOCK]: of the odds
    features: U32Matrix  # [BLOCK, N_GAP_FEATURES]

    @classmethod
    def of(cls, n: int) -> _Gaps:
        words, counts, lines = np.empty((3, n), np.int64)
        marks, weights = np.empty(n, np.uint32), np.empty(n, np.float32)
        return cls(words, counts, lines, marks, weights, np.empty((n, ft.N_GAP_FEATURES), np.uint32))


@inner
def _weigh(gaps: _Gaps, n: i64, begun: i64, context: Context, odds: F32Array) -> i64:
    """Fill in the odds of n gaps. begun: the number of words of the text before the last sentence that began; return
    the same after the gaps."""
    for k in range(n):
        begun, features = max(begun, gaps.lines[k]), gaps.features[k]
        features[ft.SINCE] = ft.since_feature(gaps.marks[k], min(gaps.counts[k] - begun, ft.LONGEST_SINCE))
        score = scores_of(context.stage1, features, ft.N_GAP_FEATURES)[0]
        odds[gaps.words[k]] = f32(score) * gaps.weights[k]
        begun = gaps.counts[k] if score > 0 else begun
    return begun


@kernel
def _score(source: Source, context: Context, tokens: ft.TokenArray, gaps: _Gaps, odds: F32Array) -> None:
    """Fill odds, float32[n], with the log-odds that a sentence begins with each word; −inf where none may."""
    words, window, token = source.words, tokens[: ft.GAP_WORDS], tokens[ft.GAP_WORDS]
    n_gaps, count, line, begun = 0, 0, 0, 0
    aside, passed = 0, 0  # the last `aside_end` of a gap: its tokens are aside … passed − 1
    gap, before, quoted = (-1), (-1), ft.QUOTATION
    for i in range(words.starts.size):
        odds[i] = -np.inf
        if words.token_types[i] == NEWLINE:
            gap, before, quoted, line = (-1), (-1), ft.QUOTATION, count
            continue
        if words.may_begin[i] and gap < 0:
            gap = i
        if gap == i and i >= passed:
            aside, passed = i, aside_end(source.buf, Tokens(words.starts, words.ends, words.token_types), i)
        if words.token_types[i] == MARKS or i < passed:
            continue
        count, quoted = count + 1, min(quoted + 1, ft.QUOTATION)
        is_open, marks = quoted < ft.QUOTATION, u32(0)
        for between in range(before + 1 if before >= 0 else i, i):
            if aside <= between < passed:
                continue
            if mark_of(source.buf, words.starts[between], words.ends[between]) == QUOTE:
                quoted = ft.QUOTATION if quoted < ft.QUOTATION else 0
            if gap >= 0:
                fill_token(source, between, context, token)
                marks = ft.add_mark(marks, token)
        before = i
        if gap >= 0:
            _fill_window(source, gap, i, context, window)
            ft.gap_features(window, marks, 0, is_open, gaps.features[n_gaps])
            ft.prefetch_rows(context.stage1, 1, gaps.features[n_gaps], ft.N_GAP_FEATURES)
            gaps.words[n_gaps], gaps.counts[n_gaps], gaps.lines[n_gaps], gaps.marks[n_gaps] = gap, count, line, marks
            gaps.weights[n_gaps] = _ALONE if aside <= gap < passed else f32(context.scales[0])
            n_gaps, gap = n_gaps + 1, -1
            if n_gaps == ft.BLOCK:
                begun, n_gaps = _weigh(gaps, n_gaps, begun, context, odds), 0
    _weigh(gaps, n_gaps, begun, context, odds)


def gap_odds(context: Context, buf: U8Array, words: Words, transducer: Transducer) -> F32Array:
    """Return float32[n]: the log-odds that a sentence begins with each word, inside its line; −inf where none may."""
    odds = np.empty(len(words.starts), np.float32)
    tokens = np.zeros(ft.GAP_WORDS + 1, ft.TOKEN)
    _score(Source.of(buf, words, transducer), context, tokens, _Gaps.of(ft.BLOCK), odds)
    return odds
