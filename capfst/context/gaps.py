"""Gaps: P(a sentence begins here), for each gap between two words where one may (text/sentences.py).

In: the words of a text, and the context model. Out: the log-odds that a sentence begins in each gap, which are weights
on S: a sentence begins in the gap, or the text goes on. A gap is decided like a shape: its features are rows of the
table of stage 1, in which LOWER means that the text goes on, and CAPITALIZED that a sentence begins. The rows are
learned in the same pass (learn.py): from the ends of sentences, and from marks within them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context.context_model import Context
from capfst.context.features import (
    GAP_WORDS,
    LONGEST_SINCE,
    N_GAP_FEATURES,
    QUOTATION,
    TOKEN,
    TokenArray,
    add_mark,
    gap_features,
)
from capfst.context.lexicon import BEGIN, END
from capfst.context.shape_scores import scores_of, sum_rows
from capfst.context.tokens import Lowercaser, fill_token
from capfst.kernels import inner, kernel
from capfst.kernels.types import F32Array, U8Array, U32Array, f32, i64, u32
from capfst.text.sentences import QUOTE, mark_of
from capfst.text.tokenizer import MARKS, NEWLINE


@inner
def _fill_window(
    buf: U8Array, words: Words, i: i64, context: Context, lowercaser: Lowercaser, window: TokenArray
) -> None:
    """Fill window, TOKEN[GAP_WORDS], with the words around the gap before word i, of its line."""
    at = i
    for place in range(1, -1, -1):
        at -= 1
        while at >= 0 and words.token_types[at] == MARKS:
            at -= 1
        _fill_place(buf, words, at, context, lowercaser, window, place, BEGIN)
    at = i
    for place in range(2, GAP_WORDS):
        while at < words.starts.size and words.token_types[at] == MARKS:
            at += 1
        _fill_place(buf, words, at, context, lowercaser, window, place, END)
        at += 1


@inner
def _fill_place(
    buf: U8Array, words: Words, at: i64, context: Context, lowercaser: Lowercaser, window: TokenArray, place: i64,
    boundary: i64,
) -> None:  # fmt: skip
    token = window[place]
    if at < 0 or at >= words.starts.size or words.token_types[at] == NEWLINE:
        token.word_hash = token.suffix2_hash = token.shape_evidence = boundary
        token.lower_class = token.cased_class = 0
    else:
        fill_token(buf, words, at, context, lowercaser, token)


@kernel
def _score(
    buf: U8Array,
    words: Words,
    context: Context,
    lowercaser: Lowercaser,
    window: TokenArray,
    token: TokenArray,
    features: U32Array,
    odds: F32Array,
) -> None:
    """Fill odds, float32[n], with the log-odds that a sentence begins with each word; −inf where none may."""
    n = words.starts.size
    gap, before, since, quoted = (-1), (-1), 0, QUOTATION
    for i in range(n):
        odds[i] = -np.inf
        if words.token_types[i] == NEWLINE:
            gap, before, since, quoted = (-1), (-1), 0, QUOTATION
            continue
        if words.may_begin[i] and gap < 0:
            gap = i
        if words.token_types[i] == MARKS:
            continue
        since, quoted = min(since + 1, LONGEST_SINCE), min(quoted + 1, QUOTATION)
        is_open, marks = quoted < QUOTATION, u32(0)
        for between in range(before + 1 if before >= 0 else i, i):
            if mark_of(buf, words.starts[between], words.ends[between]) == QUOTE:
                quoted = QUOTATION if quoted < QUOTATION else 0
            if gap >= 0:
                fill_token(buf, words, between, context, lowercaser, token[0])
                marks = add_mark(marks, token[0])
        before = i
        if gap >= 0:
            _fill_window(buf, words, i, context, lowercaser, window)
            gap_features(window, marks, since, is_open, features)
            sums = sum_rows(context.stage1, features, N_GAP_FEATURES)
            odds[gap] = f32(scores_of(sums, N_GAP_FEATURES)[0]) * f32(context.scales[0])
            since = 0 if odds[gap] > 0 else since
            gap = -1


def gap_odds(
    context: Context, buf: npt.NDArray[np.uint8], words: Words, transducer: Transducer
) -> npt.NDArray[np.float32]:
    """Return float32[n]: the log-odds that a sentence begins with each word, inside its line; −inf where none may."""
    odds = np.empty(len(words.starts), np.float32)
    longest = int((words.ends - words.starts).max(initial=0))
    buffers = Lowercaser.of(transducer, longest), np.zeros(GAP_WORDS, TOKEN), np.zeros(1, TOKEN)
    _score(buf, words, context, *buffers, np.empty(N_GAP_FEATURES, np.uint32), odds)
    return odds
