"""Words and phrases that the user knows → costs: the arcs that their entries are in T (casing/user_words.py).

In: the costs of the casings of a text's words, and the entries found in it. Out: the same with the entries. A casing
that is a surface form of the model has its label, so that the LM reads it; any other is read as the word's most
frequent form, or as `<unk>`, and copied from the list.

* An entry without a weight is the only casing of its words: the others cost +inf.
* The cost of an entry of one word is lowered by its weight, relative to what this casing costs otherwise. A casing that
  has no cost otherwise costs as much as the most expensive one.
* An entry of several words with a weight is one arc, taken as a whole or not at all. So the best path with it, less the
  weight, is compared with the best path without it, in the line, or the _AROUND words around in a long one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.entry_index import NOT_ALONE, EntryIndex, MatchArray, is_same, piece_end
from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape, shape_of
from capfst.casing.transducer import Transducer
from capfst.casing.types import ArcCosts, CasingCosts, Copies, LabelPath, Words
from capfst.casing.user_words import Found
from capfst.context.casing_costs import prune
from capfst.kernels import copy_bytes, inner, kernel, prefetch
from capfst.kernels.types import BoolArray, F32Array, F32Matrix, I64Array, U8Array, f32, i64
from capfst.system.stopping import check
from capfst.text.strings import Strings
from capfst.text.tokenizer import MARKS, NEWLINE, PROTECTED, canonical
from capfst.text.unicode import INFO

_AROUND = 256  # words before and after a phrase
_AHEAD = 8  # entries

Search = Callable[[Words, ArcCosts], tuple[LabelPath, npt.NDArray[np.float64]]]
"""The search of an engine."""


class _Text(NamedTuple):
    """A text with its words, and what kernels need to write entries in it."""

    buf: U8Array
    words: Words
    first_arcs: I64Array  # [n]: where the costs of each word's forms begin; maybe only of words in entries
    forms: Strings  # the surface forms of the model, by label
    pretokenized: bool
    info: U8Array
    scratch: U8Array  # for one word of the list


class _Costs(NamedTuple):
    """CasingCosts with all arrays; without options, these have no row."""

    arc_costs: F32Array
    shapes: U8Array
    options: F32Matrix
    starts: I64Array  # of Copies, in the text of an EntryIndex
    ends: I64Array


@kernel
def _find_arcs(words: Words, matches: MatchArray, first_arcs: I64Array) -> None:
    """Fill first_arcs of the words in the matches."""
    arc, i = 0, 0
    for m in range(matches.size):
        while i < matches[m].begin:
            arc += i64(words.n_forms[i])
            i += 1
        while i < matches[m].end:
            first_arcs[i] = arc
            arc += i64(words.n_forms[i])
            i += 1


@inner
def _after_word(text: _Text, i: i64, piece: i64) -> i64:
    """Return the piece of an entry after word i, which begins with a piece."""
    start, end, token_type = text.words.starts[i], text.words.ends[i], text.words.token_types[i]
    while start < end:
        start = piece_end(text.buf, start, end, token_type)
        piece += 1
    return piece


@inner
def _form_of(text: _Text, i: i64, index: EntryIndex, start: i64, end: i64) -> i64:
    """Return which surface form of word i is index.text[start:end]; −1 if none is."""
    size, scratch, label = end - start, text.scratch, i64(text.words.first_labels[i])
    if text.pretokenized:
        copy_bytes(index.text, start, size, scratch, 0)
    else:
        size = canonical(index.text, start, end, text.words.token_types[i], scratch)
    for k in range(i64(text.words.n_forms[i])):
        if is_same(text.forms.data, text.forms.offsets[label + k], text.forms.offsets[label + k + 1], scratch, 0, size):
            return k
    return -1


@inner
def _cost_of(text: _Text, i: i64, index: EntryIndex, start: i64, end: i64, costs: _Costs) -> f32:
    """Return the cost of writing word i as index.text[start:end], which is not a surface form."""
    option, first = costs.options[i], text.first_arcs[i]
    shape = shape_of(index.text, start, end, text.info)
    if option[shape] < np.inf:
        return option[shape]
    most = f32(-np.inf)
    for column in range(N_SHAPES + 1):
        most = max(most, option[column]) if option[column] < np.inf else most
    for arc in range(first + 1, first + i64(text.words.n_forms[i])):
        most = max(most, costs.arc_costs[arc]) if costs.arc_costs[arc] < np.inf else most
    return most if most > f32(-np.inf) else f32(0)


@inner
def _take_only(text: _Text, i: i64, k: i64, cost: f32, costs: _Costs) -> None:
    """Make surface form k of word i, or if that is −1 the copy, its only casing, at a cost."""
    first = text.first_arcs[i]
    for arc in range(first, first + i64(text.words.n_forms[i])):
        costs.arc_costs[arc] = np.inf
    if text.words.n_forms[i] != 0:
        costs.arc_costs[first + max(0, k)] = cost
    costs.shapes[i] = AS_FORM if k >= 0 else Shape.MIXED.value
    if costs.options.shape[0] > 0:
        option = costs.options[i]
        for column in range(N_SHAPES + 1):
            option[column] = np.inf
        if k <= 0:
            option[N_SHAPES if k == 0 else Shape.MIXED.value] = cost


@kernel
def _fix(text: _Text, matches: MatchArray, index: EntryIndex, costs: _Costs) -> None:
    """Make the entries without a weight the only casings of their words."""
    labels, last = text.words.first_labels, matches.size - 1
    for m in range(matches.size):
        match = matches[m]
        if matches[min(m + 2 * _AHEAD, last)].form == NOT_ALONE:
            prefetch(text.forms.offsets, labels[matches[min(m + 2 * _AHEAD, last)].begin])
        if matches[min(m + _AHEAD, last)].form == NOT_ALONE:
            prefetch(text.forms.data, text.forms.offsets[labels[matches[min(m + _AHEAD, last)].begin]])
        for i in range(match.begin, match.end if match.is_fixed else match.begin):
            if text.words.token_types[i] != MARKS:
                start, end, k = costs.starts[i], costs.ends[i], i64(match.form)
                if k == NOT_ALONE:
                    k = _form_of(text, i, index, start, end)
                _take_only(text, i, k, f32(0), costs)


@kernel
def _restrict(text: _Text, matches: MatchArray, index: EntryIndex, shapes: U8Array, found: Copies) -> None:
    """Make the entries, which have no weight, the only surface forms of their words."""
    words = text.words
    for m in range(matches.size):
        match = matches[m]
        for i in range(match.begin, match.end if match.is_fixed else match.begin):
            if words.token_types[i] != MARKS:
                k = i64(match.form)
                if k == NOT_ALONE:
                    k = _form_of(text, i, index, found.starts[i], found.ends[i])
                words.first_labels[i] += max(0, k)
                words.n_forms[i] = min(words.n_forms[i], 1)
                shapes[i] = AS_FORM if k >= 0 else Shape.MIXED.value


@inner
def _lower_cost(text: _Text, i: i64, index: EntryIndex, entry: i64, weight: f32, mixed: f32, costs: _Costs) -> None:
    """Lower the cost of an entry, which is word i. mixed: the cost of the shape MIXED without any entry."""
    start, end = index.pieces[index.entries[entry].piece].start, index.pieces[index.entries[entry + 1].piece - 1].end
    option = costs.options[i]
    k = _form_of(text, i, index, start, end)
    if k > 0:
        costs.arc_costs[text.first_arcs[i] + k] -= weight
    elif k == 0:
        option[N_SHAPES] -= weight
    elif shape_of(index.text, start, end, text.info) != Shape.MIXED:
        option[shape_of(index.text, start, end, text.info)] = _cost_of(text, i, index, start, end, costs) - weight
    else:
        cost = (mixed if mixed < np.inf else _cost_of(text, i, index, start, end, costs)) - weight
        if cost <= option[Shape.MIXED]:
            option[Shape.MIXED] = cost
            costs.starts[i], costs.ends[i] = start, end


@kernel
def _weigh(text: _Text, matches: MatchArray, index: EntryIndex, scale: float, unpruned: _Costs, costs: _Costs) -> None:
    """Lower the costs of the entries of one word with a weight, whose other casings are not pruned. scale: that of the
    costs."""
    words = text.words
    for m in range(matches.size):
        match = matches[m]
        i, entry = i64(match.begin), i64(match.entry)
        if match.is_fixed or words.token_types[i] == MARKS:
            continue
        if words.token_types[i] == PROTECTED:
            if index.entries[entry].weight <= 0:
                costs.starts[i] = costs.ends[i] = -1
            continue
        costs.starts[i] = costs.ends[i] = -1
        for arc in range(text.first_arcs[i], text.first_arcs[i] + i64(words.n_forms[i])):
            costs.arc_costs[arc] = unpruned.arc_costs[arc]
        option = costs.options[i]
        mixed = option[Shape.MIXED]
        while entry >= 0:
            _lower_cost(text, i, index, entry, f32(index.entries[entry].weight / scale), mixed, costs)
            entry = i64(index.entries[entry].following)
        best = N_SHAPES
        for column in range(N_SHAPES):
            best = column if option[column] < option[best] else best
        costs.shapes[i] = AS_FORM if best == N_SHAPES else best
        if words.n_forms[i] != 0:
            costs.arc_costs[text.first_arcs[i]] = option[best]


@kernel
def _take(
    text: _Text, begin: i64, end: i64, index: EntryIndex, entry: i64, is_fixed: BoolArray, unpruned: _Costs,
    costs: _Costs,
) -> float:  # fmt: skip
    """Make an entry the only casing of the words begin … end − 1, at what it costs in `unpruned`. Return by how much
    the costs of OOV words, which are not among those of arcs, rise; +inf, with some words changed, if a word that is
    fixed has another casing."""
    piece, more = i64(index.entries[entry].piece), 0.0
    for i in range(begin, end):
        after = _after_word(text, i, piece)
        start, stop = i64(index.pieces[piece].start), i64(index.pieces[after - 1].end)
        piece = after
        if is_fixed[i]:
            if not is_same(index.text, start, stop, index.text, costs.starts[i], costs.ends[i]):
                return np.inf
        elif text.words.token_types[i] == PROTECTED:
            costs.starts[i], costs.ends[i] = start, stop
        elif text.words.token_types[i] != MARKS:
            k, option = _form_of(text, i, index, start, stop), unpruned.options[i]
            if k > 0:
                cost = unpruned.arc_costs[text.first_arcs[i] + k]
            else:
                cost = option[N_SHAPES] if k == 0 else _cost_of(text, i, index, start, stop, unpruned)
            if text.words.n_forms[i] == 0:
                least = option[0]
                for column in range(1, N_SHAPES + 1):
                    least = min(least, option[column])
                more += cost - least
            costs.starts[i], costs.ends[i] = start, stop
            _take_only(text, i, k, cost, costs)
    return more


class _Taker:
    """Decides on entries of several words with a weight, one after the other."""

    def __init__(
        self, text: _Text, index: EntryIndex, is_fixed: npt.NDArray[np.bool_], unpruned: _Costs, costs: _Costs,
        scale: float, search: Search,
    ) -> None:  # fmt: skip
        self.text, self.index, self.is_fixed, self.unpruned, self.costs = text, index, is_fixed, unpruned, costs
        self.scale, self.search = scale, search
        self.line_ends = np.flatnonzero(text.words.token_types == NEWLINE)

    def decide(self, begin: int, end: int, entry: int) -> None:
        """Take the words begin … end − 1 as the entry, or one with the same words, if that is cheaper."""
        k = int(np.searchsorted(self.line_ends, begin))
        first = max(int(self.line_ends[k - 1]) + 1 if k else 0, begin - _AROUND)
        last = min(int(self.line_ends[k]) if k < len(self.line_ends) else len(self.is_fixed), end + _AROUND)
        least = self._cost(first, last)
        while entry >= 0:
            check()
            before = self._saved(begin, end)
            more = _take(self.text, begin, end, self.index, entry, self.is_fixed, self.unpruned, self.costs)
            self.text.words.may_begin[begin + 1 : end] = False
            weight = self.index.entries["weight"][entry] / self.scale
            cost = self._cost(first, last) + more - weight
            if cost < least:
                least = cost
            else:
                for array, values in before:
                    array[...] = values
            entry = int(self.index.entries["following"][entry])

    def _cost(self, first: int, last: int) -> float:
        words = Words._make(array[first:last] for array in self.text.words)
        arc = self.text.first_arcs[first]
        return float(self.search(words, self.costs.arc_costs[arc : arc + int(words.n_forms.sum())])[1][0])

    def _saved(self, begin: int, end: int) -> list[tuple[npt.NDArray, npt.NDArray]]:
        """Return the parts of the arrays that taking these words changes, and their values."""
        costs, words = self.costs, self.text.words
        arc = self.text.first_arcs[begin]
        arcs = costs.arc_costs[arc : arc + int(words.n_forms[begin:end].sum())]
        of_words = (costs.shapes, costs.options, costs.starts, costs.ends, words.may_begin)
        return [(part, part.copy()) for part in (arcs, *(array[begin:end] for array in of_words))]


def add_user_words(
    costs: CasingCosts,
    buf: npt.NDArray[np.uint8],
    words: Words,
    index: EntryIndex,
    transducer: Transducer,
    found: Found,
    search: Search,
    include_pruned: bool,
    prunes: bool,
) -> CasingCosts:
    """Return the costs of the casings of a text's words with the entries found in it.

    Args:
        index: the entries. transducer: that found the words.
        costs: those without, whose arrays may be changed; with those of pruned casings if an entry has a weight.
        search: that of the engine, which decides on entries of several words with a weight.
        include_pruned: as in `casing_costs`.
        prunes: whether casings are pruned without `include_pruned`.
    """
    n = len(words.starts)
    needs_options = include_pruned or found.is_weighted
    if needs_options:
        first_arcs = np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms
    else:
        first_arcs = np.empty(n, np.int64)
        _find_arcs(words, found.matches, first_arcs)
    text = _text(buf, words, first_arcs, index, transducer)
    shapes = np.full(n, AS_FORM, np.uint8) if costs.shapes is None else costs.shapes
    arc_costs = np.zeros(int(words.n_forms.sum()), np.float32) if costs.arc_costs is None else costs.arc_costs
    options = costs.options
    if options is None:
        options = np.full((n if needs_options else 0, N_SHAPES + 1), np.inf, np.float32)
        options[:, N_SHAPES] = 0
        if needs_options:
            has_form = words.n_forms > 0
            options[has_form, N_SHAPES] = arc_costs[first_arcs[has_form]]
    made = _Costs(arc_costs, shapes, options, found.starts, found.ends)
    unpruned = made
    if found.is_weighted:
        unpruned = made._replace(arc_costs=arc_costs.copy(), options=options.copy())
        if prunes and not include_pruned:
            prune(words.n_forms, arc_costs)
        _weigh(text, found.matches, index, costs.scale, unpruned, made)
    _fix(text, found.matches, index, made)
    if len(found.phrases):
        is_fixed = np.zeros(n, np.bool_)
        for match in found.matches:
            is_fixed[match["begin"] : match["end"]] = match["is_fixed"]
        taker = _Taker(text, index, is_fixed, unpruned, made, costs.scale, search)
        for phrase in found.phrases[["begin", "end", "entry"]].tolist():
            taker.decide(*phrase)
    return costs._replace(
        arc_costs=arc_costs, shapes=shapes, options=options if include_pruned else None,
        copies=_joined(Copies(index.text, made.starts, made.ends), costs.copies),
    )  # fmt: skip


def restricted(
    costs: CasingCosts,
    buf: npt.NDArray[np.uint8],
    words: Words,
    index: EntryIndex,
    transducer: Transducer,
    found: Found,
) -> CasingCosts:
    """Return `costs`, which have no costs of arcs, with the entries found in a text, which have no weight: these take
    the other forms from `words`. The arguments are those of `add_user_words`."""
    text = _text(buf, words, np.empty(0, np.int64), index, transducer)
    copies = Copies(index.text, found.starts, found.ends)
    shapes = np.full(len(words.starts), AS_FORM, np.uint8)
    _restrict(text, found.matches, index, shapes, copies)
    return costs._replace(shapes=shapes, copies=_joined(copies, costs.copies))


def _text(
    buf: npt.NDArray[np.uint8],
    words: Words,
    first_arcs: npt.NDArray[np.int64],
    index: EntryIndex,
    transducer: Transducer,
) -> _Text:
    scratch = np.empty(index.text.size + 8, np.uint8)
    return _Text(buf, words, first_arcs, transducer.symbols.strings, transducer.pretokenized, INFO, scratch)


def _joined(copies: Copies, others: Copies | None) -> Copies:
    """Return copies from two texts; a word with both has the first one. Changes the arrays of `copies`."""
    if others is None:
        return copies
    more = np.flatnonzero(others.starts >= 0)
    more = more[copies.starts[more] < 0]
    for mine, other in ((copies.starts, others.starts), (copies.ends, others.ends)):
        mine[more] = other[more] + copies.text.size
    return copies._replace(text=np.concatenate([copies.text, others.text]))
