"""Words and phrases that the user lists → costs: each entry is an arc in T (casing/user_words.py).

In: the costs of the casings of a text's words, and the entries found in it. Out: the costs with the entries. The LM
reads a listed casing as the surface form of the model, if it is one; otherwise as the word's most frequent form, or as
`<unk>`, and the casing is copied from the list.

* An entry without a weight is the only casing of its words: the others cost +inf.
* A weight lowers the costs of the entry's casings, relative to their costs without it. A casing without a cost gets
  that of the most expensive one first. The weight of a phrase is spread over its words, in proportion to the extra
  cost of their casings over the cheapest ones: so it changes all of them, or none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape
from capfst.casing.types import CasingCosts, Copies, Found, Listed, ListedArray, Words
from capfst.casing.written import form_of
from capfst.context.casing_costs import prune
from capfst.context.channel import Written
from capfst.fst.symbols import Symbols
from capfst.kernels import inner, kernel, prefetch
from capfst.kernels.types import F32Array, F32Matrix, I64Array, U8Array, f32, i64
from capfst.text.strings import Strings
from capfst.text.tokenizer import PROTECTED

_AHEAD = 8  # words in entries


class _Text(NamedTuple):
    """The words of a text, and what kernels need to find the surface forms that entries are."""

    words: Words
    first_arcs: I64Array  # [n + 1]: where the costs of each word's forms begin
    entries: U8Array  # the text of the entries
    forms: Strings  # the surface forms of the model, by label


class _Costs(NamedTuple):
    """CasingCosts with all arrays; without options, these have no row."""

    arc_costs: F32Array
    shapes: U8Array
    options: F32Matrix
    starts: I64Array  # of Copies
    ends: I64Array
    shift: int  # where the text of the entries begins in that of the copies


@inner
def _form_of(text: _Text, entry: Listed) -> i64:
    """Return which surface form of its word the casing of an entry is; −1 if it is none."""
    return form_of(text.entries, i64(entry.start), i64(entry.end), text.words, i64(entry.word), text.forms)


@inner
def _casing(text: _Text, entry: Listed, costs: _Costs) -> tuple[i64, i64, f32, f32]:
    """Return in which surface form, above 0, or else in which column of the options the casing of an entry is; its
    cost; and how much that is above the least cost of the word."""
    i, k = i64(entry.word), _form_of(text, entry)
    arc, option = text.first_arcs[i], costs.options[i]
    column = N_SHAPES if k == 0 else min(N_SHAPES, i64(entry.shape))
    least, most = f32(np.inf), f32(-np.inf)
    for other in option:
        least, most = min(least, other), max(most, other) if other < np.inf else most
    for form in range(arc + 1, arc + i64(text.words.n_forms[i])):
        other = costs.arc_costs[form]
        least, most = min(least, other), max(most, other) if other < np.inf else most
    cost = costs.arc_costs[arc + k] if k > 0 else option[column]
    if k < 0 and cost == np.inf:
        cost = most if most > f32(-np.inf) else f32(0)
    return k, column, cost, cost - least if least < cost < np.inf else f32(0)


@inner
def _copy(entry: Listed, costs: _Costs) -> None:
    """Let the word of an entry be copied from it."""
    i = i64(entry.word)
    costs.starts[i], costs.ends[i] = costs.shift + entry.start, costs.shift + entry.end


@inner
def _set(text: _Text, entry: Listed, k: i64, column: i64, cost: f32, costs: _Costs) -> None:
    """Set the cost of the casing of an entry, which is where `_casing` has it."""
    i = i64(entry.word)
    arc, option = text.first_arcs[i], costs.options[i]
    if k > 0:
        costs.arc_costs[arc + k] = cost
    elif column != Shape.MIXED or cost <= option[column]:
        option[column] = cost
        if column == Shape.MIXED:
            _copy(entry, costs)
    best = N_SHAPES
    for shape in range(N_SHAPES):
        best = shape if option[shape] < option[best] else best
    costs.shapes[i] = AS_FORM if best == N_SHAPES else best
    if text.words.n_forms[i] != 0:
        costs.arc_costs[arc] = option[best]


@kernel
def _weigh(text: _Text, listed: ListedArray, given: _Costs, costs: _Costs) -> None:
    """Lower the costs of the entries with a weight. given: the costs without the entries,
    also of pruned casings, which the words in entries get back."""
    words, m = text.words, 0
    for entry in listed:
        arc = text.first_arcs[i64(entry.word)]
        for form in range(arc, arc + i64(words.n_forms[i64(entry.word)])):
            costs.arc_costs[form] = given.arc_costs[form]
    while m < listed.size:
        end, above, n_words, weight = m + i64(listed[m].n), f32(0), f32(0), f32(listed[m].weight)
        for n in range(m, end):
            if words.token_types[i64(listed[n].word)] != PROTECTED:
                n_words += 1
                above += _casing(text, listed[n], given)[3]
        for n in range(m, end):
            if words.token_types[i64(listed[n].word)] != PROTECTED:
                k, column, cost, more = _casing(text, listed[n], given)
                cost -= weight * (more / above if above > 0 else 1 / n_words)
                _set(text, listed[n], k, column, cost, costs)
            elif weight > 0:
                _copy(listed[n], costs)
        m = end


@kernel
def _fix(text: _Text, listed: ListedArray, restricts: bool, costs: _Costs) -> None:
    """Make the entries without a weight the only casings of their words. restricts: take the other forms from the
    words, which have no costs."""
    words, last = text.words, listed.size - 1
    for m in range(listed.size):
        prefetch(text.forms.offsets, words.first_labels[listed[min(m + 2 * _AHEAD, last)].word])
        prefetch(text.forms.data, text.forms.offsets[words.first_labels[listed[min(m + _AHEAD, last)].word]])
        i, k = i64(listed[m].word), _form_of(text, listed[m])
        _copy(listed[m], costs)
        costs.shapes[i] = AS_FORM if k >= 0 else Shape.MIXED.value
        if restricts:
            words.first_labels[i] += max(0, k)
            words.n_forms[i] = min(words.n_forms[i], 1)
            continue
        arc = text.first_arcs[i]
        for form in range(arc, arc + i64(words.n_forms[i])):
            costs.arc_costs[form] = 0 if form == arc + max(0, k) else np.inf
        if costs.options.shape[0] > 0:
            costs.options[i] = np.inf
            if k <= 0:
                costs.options[i, N_SHAPES if k == 0 else Shape.MIXED.value] = 0


def add_user_words(
    costs: CasingCosts, words: Words, found: Found, symbols: Symbols, include_pruned: bool,
    written: Written | None = None, restricts: bool = False,
) -> CasingCosts:  # fmt: skip
    """Return the costs of the casings of a text's words with the entries found in it.

    Args:
        symbols: of the model.
        costs: those without, whose arrays may be changed; with those of pruned casings if an entry has a weight.
        include_pruned: as in `casing_costs`.
        written: as in `casing_costs`, where casings are pruned without `include_pruned`; None: they never are.
        restricts: whether entries without a weight may take the other forms from `words`, if arcs have no costs.
    """
    n, is_weighted = len(words.starts), len(found.weighted) > 0
    restricts = restricts and costs.arc_costs is None and not include_pruned and not is_weighted
    n_forms = words.n_forms[:0] if restricts else words.n_forms
    first_arcs = np.zeros(len(n_forms) + 1, np.int64)
    np.cumsum(n_forms, out=first_arcs[1:])
    text = _Text(words, first_arcs, found.text, symbols.strings)
    shapes, arc_costs, options = costs.shapes, costs.arc_costs, costs.options
    if shapes is None:
        shapes = np.full(n, AS_FORM, np.uint8)
    if arc_costs is None:
        arc_costs = np.zeros(int(n_forms.sum()), np.float32)
    if options is None:
        options = np.full((n if include_pruned or is_weighted else 0, N_SHAPES + 1), np.inf, np.float32)
        options[:, N_SHAPES] = 0
        if options.size:
            has_form = n_forms > 0
            options[has_form, N_SHAPES] = arc_costs[first_arcs[:-1][has_form]]
    if costs.copies is None:
        copies, shift = Copies(found.text, np.full(n, -1), np.full(n, -1)), 0
    else:
        before, starts, ends = costs.copies
        copies, shift = Copies(np.concatenate([before, found.text]), starts, ends.copy()), len(before)
    changed = _Costs(arc_costs, shapes, options, copies.starts, copies.ends, shift)
    if is_weighted:
        given = changed._replace(arc_costs=arc_costs.copy(), options=options.copy())
        if written is not None and not include_pruned:
            prune(n_forms, written, arc_costs)
        _weigh(text, found.weighted, given, changed)
    _fix(text, found.fixed, restricts, changed)
    return costs._replace(
        arc_costs=None if restricts else arc_costs, shapes=shapes, options=options if include_pruned else None,
        copies=copies,
    )  # fmt: skip
