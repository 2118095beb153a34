"""Decide where a sentence may begin inside a line, before the search and the context model.

In: a text and its words, with the candidates that text/sentences.py marks. `Boundaries.decide` removes the candidates
after abbreviations that never end a sentence (text/abbreviations.py), and weighs the others: by the context model, if
it has learned gaps (context/gaps.py), else by the LM. `Boundaries.expected` selects the candidates where a sentence
probably begins: there the context model, which runs before the search, treats the text before and after as two
sentences.

The LM removes candidates after other words that it knows with a period. It leaves the search no choice after a mark
that follows a word at once, if it expects the sentence to end there: words that seldom begin a line cost about as much
inside a sentence, since some lines of the training text hold several.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context.casing_costs import SCALE
from capfst.context.context_model import Context
from capfst.context.gaps import gap_odds
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import inner, kernel
from capfst.kernels.types import BoolArray, I64Array, U8Array, f64, i64, u8
from capfst.lm.query import LanguageModel, final_cost, step
from capfst.text.abbreviations import NEVER, NUMBER, SCRATCH, UNLISTED, Abbreviations, kind_of
from capfst.text.tokenizer import COMPOUND, MARKS
from capfst.text.unicode import INFO, Lowering, ascii_set, is_in

ABBREVIATION = 0.05
"""An unlisted abbreviation is a word with a form after which a mark that does not end the sentence has at least this
probability: a mark followed neither by `</s>` nor by a quote or bracket that may close."""
EXPECTED = 0.5
"""The least probability of an expected `</s>`, for every form of the two words before it."""
GOES_ON = float(np.log(2))
"""The cost of a listed abbreviation inside a sentence, before a word that the LM has not seen after it."""
CERTAIN = 8.0
"""Log-odds by the context model from which the search has no choice."""
CLOSING = ('"', "'", ")", "]")
"""Quotes and brackets that may close after the end of a sentence."""

_PERIOD = ord(".")
_ENDS = ascii_set(".?!")
_LETTERS = ascii_set("bcdfghjklmnpqrstvwxz")
_ROMAN = ascii_set("ivx")


@inner
def _least(words: Words, i: i64, states: StateArray, arcs: ArcArray, state: i64, unknown: i64) -> tuple[f64, i64]:
    """Return the least cost of a form of word i in `state`, `<unk>` if it has none, and the state after it."""
    n_forms = i64(words.n_forms[i])
    least, after = step(states, arcs, state, words.first_labels[i] if n_forms > 0 else unknown)
    for k in range(1, n_forms):
        cost, next_state = step(states, arcs, state, words.first_labels[i] + k)
        if cost < least:
            least, after = cost, next_state
    return least, after


@inner
def _is_numbered(buf: U8Array, start: i64, end: i64) -> bool:
    """Return whether buf[start:end] may be a number after an abbreviation: digits first, a Roman number of several
    letters, or one letter that is no word."""
    first = buf[start] | 32
    if end - start == 1 and is_in(first, _LETTERS):
        return True
    is_roman = end - start > 1
    for i in range(start, end):
        is_roman = is_roman and is_in(buf[i] | 32, _ROMAN)
    return is_roman or 48 <= buf[start] <= 57


@inner
def _kind_before(
    buf: U8Array,
    words: Words,
    after: i64,
    abbreviations: Abbreviations,
    info: U8Array,
    lowering: Lowering,
    scratch: U8Array,
) -> tuple[u8, i64]:
    """Return the kind of the abbreviation with a period before word `after`, or UNLISTED; and its index."""
    mark = after - 1
    last = words.ends[mark] - 1
    if buf[last] != _PERIOD or words.token_types[mark] > MARKS:
        return u8(UNLISTED), mark
    is_alone = words.ends[mark] - words.starts[mark] == 1  # else the period is in the token: p.m.
    listed = mark - 1 if is_alone else mark
    if listed < 0 or words.token_types[listed] > COMPOUND:
        return u8(UNLISTED), mark
    return kind_of(abbreviations, buf, words.starts[listed], words.ends[listed], info, lowering, scratch), listed


@inner
def _never_ends(buf: U8Array, words: Words, after: i64, kind: u8) -> bool:
    """Return whether no sentence begins with word `after`, because an abbreviation of this kind is before it."""
    return kind == NEVER or (kind == NUMBER and _is_numbered(buf, words.starts[after], words.ends[after]))


@kernel
def _mark_listed(
    buf: U8Array,
    words: Words,
    candidates: I64Array,
    abbreviations: Abbreviations,
    info: U8Array,
    lowering: Lowering,
    scratch: U8Array,
    is_abbreviation: BoolArray,
) -> None:
    """Fill in, for each candidate, whether no sentence begins there because it follows a listed abbreviation."""
    for p in range(candidates.size):
        kind = _kind_before(buf, words, candidates[p], abbreviations, info, lowering, scratch)[0]
        is_abbreviation[p] = _never_ends(buf, words, candidates[p], kind)


@kernel
def _mark(
    buf: U8Array,
    words: Words,
    candidates: I64Array,
    states: StateArray,
    arcs: ArcArray,
    start: i64,
    unknown: i64,
    closing: I64Array,
    abbreviations: Abbreviations,
    info: U8Array,
    lowering: Lowering,
    scratch: U8Array,
    is_abbreviation: BoolArray,
    is_expected: BoolArray,
    is_certain: BoolArray,
) -> None:
    """Fill in, for each candidate, whether no sentence begins there because it follows an abbreviation, whether the LM
    expects the sentence to end there, and whether it does, too, because the mark follows a word that may be no number.
    start: the state of `<s>`."""
    for p in range(candidates.size):
        is_abbreviation[p], is_expected[p] = False, True
        word, mark, after = candidates[p] - 2, candidates[p] - 1, candidates[p]
        for k in range(words.n_forms[word] if word >= 0 else 0):
            state = step(states, arcs, 0, words.first_labels[word] + k)[1]
            for m in range(words.n_forms[mark]):
                cost, after_mark = step(states, arcs, state, words.first_labels[mark] + m)
                probability, end = np.exp(-cost), np.exp(-final_cost(states, arcs, after_mark))
                is_expected[p] &= end >= EXPECTED
                if probability >= ABBREVIATION:
                    for label in closing:
                        end += np.exp(-step(states, arcs, after_mark, label)[0])
                    is_abbreviation[p] |= probability * (1 - end) >= ABBREVIATION
        last = words.ends[mark] - 1
        is_certain[p] = (
            is_expected[p] and word >= 0 and words.n_forms[word] > 0 and words.ends[word] - words.starts[word] > 1
            and words.starts[mark] == last and is_in(buf[last], _ENDS)
            and not _is_numbered(buf, words.starts[word], words.ends[word])
        )  # fmt: skip
        kind, listed = _kind_before(buf, words, after, abbreviations, info, lowering, scratch)
        if kind == UNLISTED:
            continue
        is_abbreviation[p] = _never_ends(buf, words, after, kind)
        if not is_abbreviation[p]:
            before = _least(words, listed, states, arcs, 0, unknown)[1]
            if listed < mark:
                before = _least(words, mark, states, arcs, before, unknown)[1]
            ends = final_cost(states, arcs, before) + _least(words, after, states, arcs, start, unknown)[0]
            goes_on = _least(words, after, states, arcs, before, unknown)[0]
            # Few periods in the training text are abbreviations', so the LM hardly expects a word after one.
            goes_on = min(goes_on, GOES_ON + _least(words, after, states, arcs, 0, unknown)[0])
            is_abbreviation[p] = ends > goes_on


class Boundaries:
    """The sentence boundaries that a model allows and expects. context: the context model that weighs them, if it has
    learned gaps."""

    def __init__(
        self, lm: LanguageModel, abbreviations: Abbreviations, transducer: Transducer, context: Context | None
    ) -> None:
        self._lm = lm
        self._abbreviations = abbreviations
        self._transducer = transducer
        self._context = context if context is not None and context.has_gaps and not transducer.pretokenized else None
        closing = (lm.label(mark) for mark in CLOSING)
        self._closing = np.array([label for label in closing if label != lm.unknown], np.int64)

    def _mark(
        self, buf: npt.NDArray[np.uint8], words: Words
    ) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[np.bool_]]]:
        """Return the candidates, and the three results of the kernel `_mark` for them."""
        candidates = np.flatnonzero(words.may_begin)
        marked = [np.empty(len(candidates), np.bool_) for _ in range(3)]
        if candidates.size != 0:  # most single lines have no candidates
            model = self._lm.model
            _mark(
                buf, words, candidates, model.states, model.arcs, model.start, self._lm.unknown, self._closing,
                self._abbreviations, INFO, model.symbols.language.lowering, np.empty(SCRATCH, np.uint8), *marked,
            )  # fmt: skip
        return candidates, marked

    def decide(self, buf: npt.NDArray[np.uint8], words: Words) -> None:
        """Set words.may_begin to False after abbreviations, unless a sentence may begin there; set words.begin_odds."""
        if self._context is not None:
            self._weigh(buf, words, self._context)
            return
        candidates, (is_abbreviation, _, is_certain) = self._mark(buf, words)
        words.may_begin[candidates[is_abbreviation]] = False
        words.begin_odds[candidates[is_certain]] = np.inf

    def _weigh(self, buf: npt.NDArray[np.uint8], words: Words, context: Context) -> None:
        candidates = np.flatnonzero(words.may_begin)
        if candidates.size == 0:
            return
        is_abbreviation, lowering = np.empty(len(candidates), np.bool_), self._lm.model.symbols.language.lowering
        scratch = np.empty(SCRATCH, np.uint8)
        _mark_listed(buf, words, candidates, self._abbreviations, INFO, lowering, scratch, is_abbreviation)
        words.may_begin[candidates[is_abbreviation]] = False
        odds = gap_odds(context, buf, words, self._transducer)[candidates]
        words.may_begin[candidates] = odds > -CERTAIN
        words.begin_odds[candidates] = np.where(odds > CERTAIN, np.inf, SCALE * odds)

    def expected(self, buf: npt.NDArray[np.uint8], words: Words) -> npt.NDArray[np.bool_]:
        """Return bool[n]: whether a sentence is expected to begin with the word."""
        if self._context is not None:
            return words.may_begin & (words.begin_odds > 0)
        candidates, (_, is_expected, _) = self._mark(buf, words)
        begins = np.zeros(len(words.may_begin), np.bool_)
        begins[candidates] = is_expected
        return begins
