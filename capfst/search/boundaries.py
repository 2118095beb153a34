"""Decide where a sentence may begin inside a line, before the search and the context model.

In: a text and its words, with the candidates that text/sentences.py marks. Out: the same words, without the candidates
after abbreviations that never end a sentence (text/abbreviations.py), and with the odds of the other candidates by the
context model (context/gaps.py), which are weights on S. With the LM alone, the odds are the same at all marks, except
that after an abbreviation that may end a sentence they are even.

Where a sentence probably begins (`Words.begins`), the context model, which runs before the search, treats the text
before and after as two sentences.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context.casing_costs import SCALE
from capfst.context.context_model import Context
from capfst.context.gaps import gap_odds
from capfst.kernels import inner, kernel
from capfst.kernels.types import I64Array, U8Array, i64
from capfst.text.abbreviations import EVEN, NEVER, NUMBER, SCRATCH, UNLISTED, Abbreviations, kind_of
from capfst.text.sentences import LONGEST_REMARK, is_roman
from capfst.text.tokenizer import COMPOUND, MARKS
from capfst.text.unicode import Lowering, ascii_set, is_in

CERTAIN = 8.0
"""Log-odds by the context model at which the search no longer has a choice."""
ODDS = 2.0
"""Log-odds without a context model, unless an abbreviation precedes."""

_PERIOD, _OPENS, _CLOSES, _NEWLINE = (ord(c) for c in ".()\n")
_MOST_DIGITS = 2
_LETTERS = ascii_set("bcdfghjklmnpqrstvwxz")


@inner
def _is_numbered(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether buf[start:end] may be a number after an abbreviation: it begins with a digit, or is a Roman number
    of several letters, or one letter that is not a word, maybe with a period."""
    end -= buf[end - 1] == _PERIOD and end - start == 2
    is_number = is_roman(buf, start, end) if end - start > 1 else is_in(buf[start] | 32, _LETTERS)
    return is_number or 48 <= buf[start] <= 57


@inner
def _is_last(buf: U8Array, words: Words, i: i64) -> bool:
    """Return whether word i is the number or letter that ends a remark in round brackets: (pop. 500)."""
    start, end = words.starts[i], words.ends[i]
    if end == buf.size or buf[end] != _CLOSES or not (end - start == 1 or _is_numbered(buf, start, end)):
        return False
    for j in range(i - 1, max(-1, i - LONGEST_REMARK), -1):
        byte = buf[words.starts[j]]
        if byte == _OPENS or byte == _CLOSES or byte == _NEWLINE:
            return byte == _OPENS and (j == 0 or words.ends[j - 1] < words.starts[j])  # not :(
    return False


@inner
def _is_ordinal(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether buf[start:end] is an ordinal number or a date, if a period follows: 5, 31 or 31.12."""
    digits = 0  # in a row
    for i in range(start, end):
        digits = digits + 1 if 48 <= buf[i] <= 57 else 0 if buf[i] == _PERIOD else _MOST_DIGITS + 1
        if digits > _MOST_DIGITS:
            return False
    return True


@kernel
def _mark_listed(
    buf: U8Array,
    words: Words,
    candidates: I64Array,
    abbreviations: Abbreviations,
    lowering: Lowering,
    scratch: U8Array,
    kinds: U8Array,
) -> None:
    """Fill in the kind of the abbreviation or ordinal before each candidate; NUMBER is NEVER before a number, else
    UNLISTED. Before the last number of a remark, it is NEVER."""
    for p in range(candidates.size):
        i, mark = candidates[p], candidates[p] - 1
        kinds[p] = NEVER if _is_last(buf, words, i) else UNLISTED
        if kinds[p] == NEVER or buf[words.ends[mark] - 1] != _PERIOD or words.token_types[mark] > MARKS:
            continue
        is_alone = words.ends[mark] - words.starts[mark] == 1  # else the period is in the token: p.m.
        listed = mark - 1 if is_alone else mark
        if listed < 0 or words.token_types[listed] > COMPOUND:
            continue
        start, end = words.starts[listed], words.ends[listed]
        kinds[p] = kind_of(abbreviations, buf, start, end, lowering, scratch)
        if kinds[p] == UNLISTED and _is_ordinal(buf, start, end):
            kinds[p] = abbreviations.of_ordinals
        elif kinds[p] == UNLISTED and end - start > 1 and is_roman(buf, start, end):
            kinds[p] = abbreviations.of_roman
        if kinds[p] == NUMBER:
            kinds[p] = NEVER if _is_numbered(buf, words.starts[i], words.ends[i]) else UNLISTED


class Boundaries:
    """Decides where sentences may begin. context: the context model that weighs the candidates, if any."""

    def __init__(self, abbreviations: Abbreviations, transducer: Transducer, context: Context | None) -> None:
        self._abbreviations = abbreviations
        self._transducer = transducer
        self._context = context

    def decide(self, buf: npt.NDArray[np.uint8], words: Words) -> None:
        """Set words.may_begin to False where no sentence begins, and set words.begin_odds."""
        candidates = np.flatnonzero(words.may_begin)
        if candidates.size == 0:  # as in most single lines
            return
        kinds, lowering = np.empty(len(candidates), np.uint8), self._transducer.symbols.language.lowering
        _mark_listed(buf, words, candidates, self._abbreviations, lowering, np.empty(SCRATCH, np.uint8), kinds)
        words.may_begin[candidates[kinds == NEVER]] = False
        if self._context is None:
            words.begin_odds[candidates[kinds == UNLISTED]] = ODDS
        else:
            odds = gap_odds(self._context, buf, words, self._transducer)[candidates]
            odds[kinds == EVEN] = np.minimum(odds[kinds == EVEN], 0)
            words.may_begin[candidates] = odds > -CERTAIN
            words.begin_odds[candidates] = np.where(odds > CERTAIN, np.inf, SCALE * odds)
