"""The written case of a word as evidence of its true case: a noisy channel.

In: the written shapes of a line's words (casing/written.py), and ln p of their shapes by the context model. Out:
evidence, ln P(written shape | true shape) up to a constant, which is added to ln p, so that the search weighs all
evidence at once. noise.py learns it.

The reliability of the written case depends on the *style* of the line: how many of the expected capitals are missing,
and how many words that should be in lower case have a capital (in Title Case nearly all of them, even the most frequent
words). The style is estimated from the words whose shape the context model is certain of, in the line and in the first
lines of the text. A capital is also more reliable next to words in which one is expected.

Ignored:

* lines without lowercase letters, except those of 5th, n.º, don't and the like;
* lines without capitals, unless the text has had some;
* words that begin with a capital in lines in Title Case;
* the difference between LOWER and CAPITALIZED at the start of a sentence, where the capital may come from the position.

The evidence depends on the written case only through the row of a word, and ln p does not depend on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.casing.types import KEEPS, KEEPS_FIRST, Copies, Words
from capfst.casing.written import HAS_SMALL, MAY_BEGIN, SHAPE, letters_of
from capfst.context.lexicon import has_case
from capfst.context.tokens import TokenizedText
from capfst.io.documents import Head
from capfst.kernels import inlined, inner, kernel
from capfst.kernels.types import F32Array, F32Matrix, I32Array, I64Array, U8Array, f32, i64

_CERTAIN_CAPITAL, _CERTAIN_LOWER = np.log([4, 99]).tolist()  # words show the style if ln p of their shape has this lead
_KNOWN = 100  # words in lower case from which the style of a text is known
_MOST_CAPITALS, _MOST_LOWER = 30.0, 200.0  # words of the text, at most, that count besides those of the line
_MISSING = (0.03, 0.08, 0.2, 0.4, 0.65, 0.9)
_EXCESS = (0.004, 0.012, 0.03, 0.08, 0.25)
_HIGH_EXCESS, _FREQUENT_EXCESS = 0.6, 0.3
N_MISSING, N_EXCESS = len(_MISSING) + 1, len(_EXCESS) + 4
_TITLE_CASE = N_EXCESS - 1
N_STYLES = N_MISSING * N_EXCESS
"""Styles: by the fraction of the expected capitals that are missing, and by the fraction of words in lower case that
have a capital."""
N_NEIGHBORS = 3
"""Numbers of neighbors that are written with a capital: 0, 1, 2."""
N_ROWS = 2 * N_STYLES * 2 * N_NEIGHBORS * N_SHAPES
"""Rows of evidence: while little of the text is known, and later; for each style; for rare and for frequent words; by
the neighbors; and for each written shape."""
NO_EVIDENCE, NEUTRAL = -1, -2
"""Instead of a row: the written case of the line, or of the word alone, is no evidence."""

# Kinds of words that show the style: a capital is certain and missing, or there; the word is rare, LOWER is certain,
# and it is in lower case, or has a capital; the same of frequent words.
_MISSING_CAPITAL, _CAPITAL, _RARE, _RARE_EXCESS, _FREQUENT, _FREQUENT_CAPITAL = range(6)
_OTHER = 7  # also a mask of the kinds
_EXPECTS_CAPITAL, _IS_FREQUENT = 8, 16  # bits besides the kind
_HAS_CAPITAL, _IS_LEARNING = _OTHER + 1, _OTHER + 2  # besides counts by kind, in the style of a text


class Written(NamedTuple):
    """The written case of a text as evidence; all arrays are empty if it is not used."""

    shapes: U8Array  # [n], as from `written_shapes`
    evidence: F32Matrix  # [N_ROWS, N_SHAPES]
    rows: I32Array  # [n]: the row of each word, or NO_EVIDENCE, or NEUTRAL; filled by `find_rows`
    style: F32Array  # of the text: `Style.counts`, updated by `find_rows`; empty: each line is on its own
    kinds: U8Array  # [n]: working memory: the kind of each word, and bits
    counts: F32Array  # [_OTHER + 1]: working memory: words of the line by kind
    styles: I32Array  # [_OTHER + 1]: working memory: the style that the line has without a word of each kind

    @classmethod
    def of(cls, shapes: U8Array, evidence: F32Matrix, style: F32Array) -> Written:
        n = shapes.size
        working = np.empty(n, np.uint8), np.empty(_OTHER + 1, np.float32), np.empty(_OTHER + 1, np.int32)
        return cls(shapes, evidence, np.empty(n, np.int32), style, *working)


class Style:
    """The style of a text, learned from its first lines while they are recased."""

    def __init__(self) -> None:
        self.counts = np.zeros(_IS_LEARNING + 1, np.float32)
        self.counts[_IS_LEARNING] = 1
        self._head = Head()

    @property
    def is_learned(self) -> bool:
        """Whether the style no longer changes, so that threads may share it."""
        return not self.counts[_IS_LEARNING]

    @property
    def has_capital(self) -> bool:
        """Whether the text has had a capital, so that its lines without capitals are evidence."""
        return bool(self.counts[_HAS_CAPITAL])

    def head(self, text: bytes) -> int:
        """Return from how many bytes of the next lines of the text the style is still learned."""
        return self._head.more(text)

    def end_head(self) -> None:
        """Stop learning if enough lines have been recased."""
        if self._head.is_complete:
            self.counts[_IS_LEARNING] = 0

    def frozen(self) -> Style:
        """Return the style as it is now, as one that no longer changes."""
        style = Style()
        style.counts[:_IS_LEARNING], style.counts[_IS_LEARNING] = self.counts[:_IS_LEARNING], 0
        return style


NO_STYLE = np.empty(0, np.float32)
NOT_USED = Written.of(np.empty(0, np.uint8), np.empty((0, N_SHAPES), np.float32), NO_STYLE)


@inner
def _kind(log_p: F32Array, is_lower: bool, is_frequent: bool) -> i64:
    """Return the kind of a word, and _EXPECTS_CAPITAL and _IS_FREQUENT, given ln p of its shapes."""
    others = max(log_p[Shape.CAPITALIZED.value], log_p[Shape.UPPER.value], log_p[Shape.MIXED.value])
    lead = log_p[Shape.LOWER.value] - others
    lower = i64(is_frequent) * (_FREQUENT - _RARE) + _RARE + i64(not is_lower)
    capital = _MISSING_CAPITAL + i64(not is_lower)
    kind = lower if lead >= f32(_CERTAIN_LOWER) else capital if lead <= f32(-_CERTAIN_CAPITAL) else _OTHER
    return kind + _EXPECTS_CAPITAL * i64(lead < f32(0)) + _IS_FREQUENT * i64(is_frequent)


@inner
def _rate(some: f32, n: f32, style: F32Array, there: i64, most: f32) -> f32:
    """Return the rate some / n, given that of the text, whose words count as at most so many.

    there: the first of the two kinds that the rate is of; the second one is what it is the rate of, unless it is
    _CAPITAL.
    """
    of_text = f32(0) if style.size == 0 else style[there] + style[there + 1]
    if of_text == f32(0):
        return some / n
    weight = min(most, of_text)
    return (some + weight * style[there + i64(there != _MISSING_CAPITAL)] / of_text) / (n + weight)


@inner
def _style_of(counts: F32Array, left_out: i64, style: F32Array) -> i64:
    """Return the style of a line with these counts by kind, without a word of this kind, in a text of this style."""
    one = f32(1)
    missing = counts[_MISSING_CAPITAL] - f32(left_out == _MISSING_CAPITAL)
    capitals = missing + counts[_CAPITAL] - f32(left_out == _CAPITAL)
    excess = counts[_RARE_EXCESS] - f32(left_out == _RARE_EXCESS)
    rare = excess + counts[_RARE] - f32(left_out == _RARE)
    frequent_excess = counts[_FREQUENT_CAPITAL] - f32(left_out == _FREQUENT_CAPITAL)
    frequent = frequent_excess + counts[_FREQUENT] - f32(left_out == _FREQUENT)
    missing = _rate(missing + f32(0.05), capitals + one, style, _MISSING_CAPITAL, f32(_MOST_CAPITALS))
    excess = _rate(excess + f32(0.004), rare + f32(1), style, _RARE, f32(_MOST_LOWER))
    frequent_excess = _rate(frequent_excess + f32(0.2), frequent + one, style, _FREQUENT, f32(_MOST_LOWER))
    n, k = 0, 0
    for edge in _MISSING:
        n += i64(missing >= f32(edge))
    for edge in _EXCESS:
        k += i64(excess >= f32(edge))
    if k == len(_EXCESS):
        k += 2 * i64(excess >= f32(_HIGH_EXCESS)) + i64(frequent_excess >= f32(_FREQUENT_EXCESS))
    return n * N_EXCESS + k


@inner
def _is_evidence(begin: i64, end: i64, written: Written) -> bool:
    """Return whether the case of the words begin … end − 1 is evidence; update the style of their text."""
    has_capital, has_small = letters_of(written.shapes, begin, end)
    style = written.style
    if style.size != 0:
        has_capital |= style[_HAS_CAPITAL] != f32(0)
        if style[_IS_LEARNING] != f32(0):
            style[_HAS_CAPITAL] = f32(has_capital)
    return has_capital and has_small


@inner
def find_rows(text: TokenizedText, begin: i64, end: i64, written: Written, log_p: F32Matrix) -> bool:
    """Fill written.rows of the words begin … end − 1 of a line, given ln p of their shapes, or values proportional to
    it; return whether their case is evidence."""
    for i in range(begin, end):
        written.rows[i] = NO_EVIDENCE
    if not _is_evidence(begin, end, written):
        return False
    style, counts, styles, kinds = written.style, written.counts, written.styles, written.kinds
    for kind in range(_OTHER + 1):
        counts[kind] = 0
    n_lower = 0
    for i in range(begin, end):
        token, shape = text.tokens[text.token_of[i]], written.shapes[i]
        kinds[i] = _OTHER
        if shape & SHAPE != Shape.CASELESS and has_case(token.shape_evidence):
            written.rows[i] = 0
            kind = _kind(log_p[i], shape & SHAPE == Shape.LOWER, token.frequency_rank > 0)
            kind = kind if shape & MAY_BEGIN == 0 else kind | _OTHER
            kinds[i] = kind
            kind = kind & _OTHER
            counts[kind] += f32(1)
            is_lower = (kind == _RARE) | (kind == _FREQUENT) | (kind == _MISSING_CAPITAL)
            n_lower += is_lower & (shape & HAS_SMALL != 0)
    is_known = style.size != 0 and style[_RARE] + style[_RARE_EXCESS] >= f32(_KNOWN)
    for kind in range(_OTHER + 1):
        if counts[kind] != f32(0):
            styles[kind] = i64(is_known) * N_STYLES + _style_of(counts, kind, style)
    is_title = n_lower == 0 and counts[_RARE_EXCESS] + counts[_FREQUENT_CAPITAL] > f32(0)
    before = 0  # whether a capital is expected in the word before
    for i in range(begin, end):
        kind = i64(kinds[i])
        if written.rows[i] != NO_EVIDENCE:
            shape, of_line = i64(written.shapes[i] & SHAPE), i64(styles[kind & _OTHER])
            names = before + (i64(kinds[i + 1]) // _EXPECTS_CAPITAL & 1 if i + 1 < end else 0)
            row = ((2 * of_line + kind // _IS_FREQUENT) * N_NEIGHBORS + names) * N_SHAPES + shape
            is_neutral = (is_title or of_line % N_EXCESS == _TITLE_CASE) and shape & 1 != 0  # CAPITALIZED or MIXED
            written.rows[i] = NEUTRAL if is_neutral else row
        before = kind // _EXPECTS_CAPITAL & 1
    if style.size != 0 and style[_IS_LEARNING] != f32(0):
        for kind in range(_OTHER):
            style[kind] += counts[kind]
    return True


@inner
def evidence_of(written: Written, i: i64) -> tuple[f32, f32, f32, f32]:
    """Return the evidence of the written case of word i, which has a row, for each shape."""
    row = written.evidence[written.rows[i]]
    lower, capitalized, upper, mixed = row[0], row[1], row[2], row[3]
    if written.shapes[i] & MAY_BEGIN != 0 and written.shapes[i] & SHAPE <= Shape.CAPITALIZED:
        likelier = max(lower, capitalized)
        return f32(0), f32(0), upper - likelier, mixed - likelier
    return lower, capitalized, upper, mixed


@inlined
def is_written_in(written: Written, i: i64, shape: i64) -> bool:
    """Return whether word i is written in this shape, which is evidence."""
    return written.shapes.size != 0 and written.shapes[i] & SHAPE == shape and written.rows[i] >= 0


@kernel
def _collect(words: Words, written: Written, keeps: U8Array, starts: I64Array) -> i64:
    n_mixed = 0
    for i in range(keeps.size):
        shape, row = written.shapes[i], written.rows[i]
        is_first = shape & (SHAPE | MAY_BEGIN) == Shape.CAPITALIZED | MAY_BEGIN
        keeps[i] = 0 if not is_first or row == NO_EVIDENCE else KEEPS_FIRST if row == NEUTRAL else KEEPS
        is_mixed = (shape & SHAPE == Shape.MIXED) & (written.rows[i] >= 0)
        starts[i] = words.starts[i] if is_mixed else -1
        n_mixed += is_mixed
    return n_mixed


def stays(buf: U8Array, words: Words, written: Written) -> tuple[Copies | None, U8Array]:
    """Return the words that are written in mixed case, as they are; and uint8[n]: KEEPS for a word whose capital may
    come from its position, KEEPS_FIRST if all words of its line have one, else 0."""
    n = len(words.starts)
    keeps, starts = np.empty(n, np.uint8), np.empty(n, np.int64)
    n_mixed = _collect(words, written, keeps, starts)
    return Copies(buf, starts, words.ends) if n_mixed else None, keeps
