"""The parts of the costs of casings: by the context, a word list, the document … (the weights on S ∘ T, taken apart).

In: a pipeline, and a text. Out: for each casing of each word of a line, its cost in addition to the LM's, and the parts
that it is the sum of. A part is the difference that it makes: the cost with it, less the cost without it and all parts
that follow. So the parts add up, whatever the scoring does; and no score is computed here.

A casing that only some parts allow, as a word list does *eBay*, costs nothing without them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.casing.types import CasingCosts, Copies, Words
from capfst.io.alignments import Block
from capfst.pipeline import Buffer, Pipeline
from capfst.text.tokenizer import NEWLINE

LM, GAP, CONTEXT, SPELLING = "lm", "gap", "context", "spelling"
DOCUMENT, INPUT, SOURCE, UNITS, WORDS = "document", "input", "source", "units", "words"
PARTS = (LM, GAP, CONTEXT, SPELLING, DOCUMENT, INPUT, SOURCE, UNITS, WORDS)

Costs = npt.NDArray[np.float64]
"""[n, N_SHAPES + forms], by word and by casing: the most frequent form, or an OOV word, in each shape; and each form
itself, form k in column N_SHAPES + k."""


def casing_costs(words: Words, costs: CasingCosts) -> Costs:
    """Return the costs of all casings of a line; +inf if there is none. Those of OOV words, which the LM does not
    distinguish, are relative to the word's least."""
    n, most, has_form = len(words.starts), int(words.n_forms.max(initial=1)), words.n_forms > 0
    arcs = np.zeros(int(words.n_forms.sum())) if costs.arc_costs is None else costs.arc_costs.astype(np.float64)
    first_arcs = np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms
    found = np.full((n, N_SHAPES + most), np.inf)
    for form in range(most):
        found[words.n_forms > form, N_SHAPES + form] = arcs[first_arcs[words.n_forms > form] + form]
    of_first = found[:, : N_SHAPES + 1]
    if costs.options is not None:
        of_first[:] = costs.options
    else:
        own = AS_FORM if costs.shapes is None else costs.shapes
        of_form = np.where(has_form, found[:, N_SHAPES], 0)
        of_first[:, N_SHAPES] = np.inf
        of_first[np.arange(n), np.where(own == AS_FORM, N_SHAPES, own)] = of_form
    of_first[~has_form] -= of_first[~has_form].min(1, keepdims=True, initial=np.inf)
    return found


def _without(pipeline: Pipeline, **changes: object) -> Pipeline:
    changed = copy.copy(pipeline)
    vars(changed).update(changes)
    return changed


def _stages(pipeline: Pipeline, block: Block) -> Iterator[tuple[str, Pipeline, Block]]:
    """Yield each part that the options use, from the last one on, with a pipeline and a text that lack it and those
    before it."""
    if pipeline.user_words is not None:
        pipeline = _without(pipeline, user_words=None)
        yield WORDS, pipeline, block
    if pipeline.units is not None:
        pipeline = _without(pipeline, units=None)
        yield UNITS, pipeline, block
    if block.source is not None:  # the case of a translation is no evidence
        pipeline, block = _without(pipeline, input_case="ignore"), Block(block.target)
        yield SOURCE, pipeline, block
    for part, is_used, changes in (
        (INPUT, pipeline.input_case != "ignore", {"input_case": "ignore"}),
        (DOCUMENT, pipeline.options.document, {"options": replace(pipeline.options, document=False)}),
        (SPELLING, pipeline.spellings is not None, {"spellings": None}),
        (CONTEXT, pipeline.context is not None, {"context": None}),
    ):
        if is_used:
            pipeline = _without(pipeline, **changes)
            yield part, pipeline, block


class Line(NamedTuple):
    """A line of a text."""

    begin: int  # the number of its first word
    buf: Buffer
    words: Words  # with offsets in `buf`
    costs: CasingCosts


def _line(buf: Buffer, words: Words, costs: CasingCosts, number: int) -> Line:
    """Return a line of a text, by its number from 0."""
    ends = np.flatnonzero(words.token_types == NEWLINE).tolist()
    begin, end = ([-1, *ends][number] + 1), [*ends, len(words.starts)][number]
    start = int(words.ends[begin - 1]) if begin else 0
    stop = int(words.starts[end]) if end < len(words.starts) else buf.size
    cut: dict[str, Any] = {
        name: array[begin:end] for name, array in costs._asdict().items() if isinstance(array, np.ndarray)
    }
    if costs.arc_costs is not None:
        first, last = (words.n_forms[:word].sum(dtype=np.int64) for word in (begin, end))
        cut["arc_costs"] = costs.arc_costs[first:last]
    if costs.copies is not None:
        cut["copies"] = Copies(costs.copies.text, *(array[begin:end] for array in costs.copies[1:]))
    of_words = Words._make(array[begin:end] for array in words)
    of_words = of_words._replace(starts=of_words.starts - start, ends=of_words.ends - start)
    return Line(begin, buf[start:stop], of_words, costs._replace(**cut))


def arc_parts(
    pipeline: Pipeline, buf: Buffer, words: Words, block: Block, number: int
) -> tuple[Line, dict[str, Costs], npt.NDArray[np.bool_]]:
    """Return a line of a text, by its number from 0; the parts of the costs of its casings, besides the LM's, that are
    not 0; and which casings the context model has a cost of."""
    changed = Words._make(array.copy() for array in words)  # by a word list
    line = _line(buf, changed, pipeline.costs(buf, changed, block, include_pruned=True), number)
    casings, parts = casing_costs(line.words, line.costs), {}
    in_context = np.zeros(casings.shape, np.bool_)
    for part, less, of_less in _stages(pipeline, block):
        below = _line(buf, words, less.costs(buf, words, of_less, include_pruned=True), number)
        without = casing_costs(below.words, below.costs)
        parts[part] = _finite(casings) - _finite(without)
        if part == CONTEXT:
            in_context = casings < np.inf
        casings = without
    return line, {part: parts[part] for part in PARTS if part in parts and parts[part].any()}, in_context


def _finite(costs: Costs) -> Costs:
    return np.where(costs < np.inf, costs, 0)
