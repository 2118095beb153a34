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
from capfst.explain.paths import Arc
from capfst.io.alignments import Block
from capfst.pipeline import Buffer, Pipeline
from capfst.text.tokenizer import NEWLINE

LM, GAP, CONTEXT, SPELLING = "lm", "gap", "context", "spelling"
DOCUMENT, INPUT, SOURCE, UNITS, WORDS = "document", "input", "source", "units", "words"
PARTS = (LM, GAP, CONTEXT, SPELLING, DOCUMENT, INPUT, SOURCE, UNITS, WORDS)

Array = npt.NDArray[Any]
Costs = npt.NDArray[np.float64]
"""Of all casings of the words of a line (`CasingTable.casing`)."""


class CasingTable(NamedTuple):
    """The casings of n words: the shapes of the most frequent form, or of an OOV word, and its other forms."""

    n_forms: list[int]
    first_arcs: list[int]

    @classmethod
    def of(cls, words: Words) -> CasingTable:
        ends = np.cumsum(words.n_forms, dtype=np.int64)
        return cls(words.n_forms.tolist(), (ends - words.n_forms).tolist())

    def casing(self, arc: Arc, shape: int) -> int:
        """Return the index of a casing; of form 0 in a shape, N_SHAPES being the form itself."""
        if arc.form == 0:
            return (N_SHAPES + 1) * arc.word + shape
        return (N_SHAPES + 1) * len(self.n_forms) + self.first_arcs[arc.word] + arc.form

    def rows(self, costs: Costs) -> Costs:
        """Return the costs by shape, [n, N_SHAPES + 1]."""
        return costs[: (N_SHAPES + 1) * len(self.n_forms)].reshape(-1, N_SHAPES + 1)


def casing_costs(words: Words, costs: CasingCosts) -> Costs:
    """Return the costs of all casings of a line. Those of OOV words, which the LM does not distinguish, are relative to
    the word's least."""
    n = len(words.starts)
    has_form = words.n_forms > 0
    arcs = np.zeros(int(words.n_forms.sum())) if costs.arc_costs is None else costs.arc_costs.astype(np.float64)
    first_arcs = np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms
    if costs.options is not None:
        options = costs.options.astype(np.float64)
    else:
        options = np.full((n, N_SHAPES + 1), np.inf)
        column = np.full(n, N_SHAPES)
        if costs.shapes is not None:
            column = np.where(costs.shapes == AS_FORM, N_SHAPES, costs.shapes)
        of_form = np.zeros(n)
        of_form[has_form] = arcs[first_arcs[has_form]]
        options[np.arange(n), column] = of_form
    options[~has_form] -= options[~has_form].min(1, keepdims=True, initial=np.inf)
    return costs.scale * np.concatenate([options.ravel(), arcs])


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

    buf: Buffer
    words: Words  # with offsets in `buf`
    costs: CasingCosts


def _line(buf: Buffer, words: Words, costs: CasingCosts, number: int) -> Line:
    """Return a line of a text, by its number from 0."""
    ends = np.flatnonzero(words.token_types == NEWLINE).tolist()
    begin, end = ([-1, *ends][number] + 1), [*ends, len(words.starts)][number]
    start = int(words.ends[begin - 1]) if begin else 0
    stop = int(words.starts[end]) if end < len(words.starts) else buf.size
    arcs = words.n_forms[:begin].sum(dtype=np.int64), words.n_forms[:end].sum(dtype=np.int64)

    def of_line(array: Array | None, first: int = begin, last: int = end) -> Array | None:
        return None if array is None else array[first:last]

    of_words = Words._make(array[begin:end] for array in words)
    copies = costs.copies and Copies(costs.copies.text, *(array[begin:end] for array in costs.copies[1:]))
    return Line(
        buf[start:stop],
        of_words._replace(starts=of_words.starts - start, ends=of_words.ends - start),
        costs._replace(
            arc_costs=of_line(costs.arc_costs, *arcs), shapes=of_line(costs.shapes), options=of_line(costs.options),
            copies=copies, keeps_capital=of_line(costs.keeps_capital), dotted=of_line(costs.dotted),
            languages=of_line(costs.languages),
        ),
    )  # fmt: skip


def arc_parts(
    pipeline: Pipeline, buf: Buffer, words: Words, block: Block, number: int
) -> tuple[Line, dict[str, Costs], npt.NDArray[np.bool_]]:
    """Return a line of a text, by its number from 0; the parts of the costs of its casings, besides the LM's, that are
    not 0; and which casings the context model has a cost of."""
    changed = Words._make(array.copy() for array in words)  # by a word list
    line = _line(buf, changed, pipeline.costs(buf, changed, block, include_pruned=True), number)
    casings, parts, in_context = casing_costs(line.words, line.costs), {}, np.zeros(0, np.bool_)
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
