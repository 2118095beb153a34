"""The lattice of a line (search/paths.py): the cheapest path through each of its arcs, for pictures and queries; and
the parts of the costs of casings, by the context, a word list, the document … (the weights on S ∘ T, taken apart).

In: a pipeline, and a text. Out: for each casing of each word of a line, its cost in addition to the LM's, and the parts
that it is the sum of. A part is the difference that it makes: the cost with it, less the cost without it and all parts
that follow. So the parts add up, whatever the scoring does; and no score is computed here.

A casing that only some parts allow, as a word list does *eBay*, costs nothing without them.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.casing.types import CasingCosts, Copies, LabelPath, Words
from capfst.exceptions import CorpusError
from capfst.io.alignments import Block
from capfst.pipeline import Buffer, Pipeline
from capfst.search.paths import END, AllPaths, cheapest_paths, places
from capfst.text.tokenizer import NEWLINE

LM, GAP, CONTEXT, SPELLING = "lm", "gap", "context", "spelling"
DOCUMENT, INPUT, SOURCE, UNITS, WORDS = "document", "input", "source", "units", "words"
PARTS = (LM, GAP, CONTEXT, SPELLING, DOCUMENT, INPUT, SOURCE, UNITS, WORDS)
MOST_ARCS = 20_000

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


class Arc(NamedTuple):
    """A casing of a word, and whether a sentence ends after it."""

    source: int  # a node
    target: int
    word: int
    form: int
    label: int  # of the form, or of `<unk>`
    ends: bool
    lm: float  # cost of the form, and of `</s>` if a sentence ends
    gap: float  # cost of the gap after it, where a sentence may end
    through: float  # cost of the cheapest path through it
    is_first: bool  # whether the word is the first of a sentence
    column: int  # of the casing, in `Costs`


class Paths:
    """The paths of a line, whose nodes are numbered, by the casings of its words that cost least: those of the most
    frequent forms, or OOV words, have these columns. unknown: the label of `<unk>`. CorpusError if it is too long."""

    def __init__(self, words: Words, line: AllPaths, unknown: int, columns: npt.NDArray[np.int64]) -> None:
        edges, paths = line.edges, cheapest_paths(line)
        n_arcs = int(np.count_nonzero(edges.arc != END))  # those of the line's end are the last edges
        if n_arcs > MOST_ARCS:
            raise CorpusError("the line has too many casings to be explained. Explain a part of it.")
        words_of, forms = places(words, edges.arc[:n_arcs])
        labels = np.where(words.n_forms > 0, words.first_labels, unknown)[words_of] + forms
        of_edges = edges.ends, edges.lm, edges.gap, paths.through, line.is_first[edges.source]
        in_costs = np.where(forms == 0, columns[words_of], N_SHAPES + forms)
        fields = edges.source, edges.target, words_of, forms, labels, *of_edges, in_costs
        self._arcs = list(map(Arc, *(field[:n_arcs].tolist() for field in fields)))
        self._first_arcs = np.searchsorted(words_of, np.arange(len(words.n_forms) + 1)).tolist()  # of each word
        self._before, self._after = paths.before.tolist(), paths.after.tolist()
        self.states: list[int] = line.states.tolist()
        self.ends: dict[int, float] = dict(zip(edges.source[n_arcs:].tolist(), edges.lm[n_arcs:].tolist(), strict=True))
        """The cost of the end of the line after each of the last nodes."""

    def arcs_of(self, word: int) -> list[Arc]:
        """Return the arcs of a word."""
        return self._arcs[self._first_arcs[word] : self._first_arcs[word + 1]]

    def detour(self, arc: Arc, nodes: Container[int]) -> list[Arc]:
        """Return the cheapest path through an arc, from where it leaves the best path, whose nodes are given, to where
        it joins it again, or to the end."""
        path = [arc]
        while path[0].source not in nodes:
            path.insert(0, self._arcs[self._before[path[0].source]])
        while path[-1].target not in nodes and self._after[path[-1].target] < len(self._arcs):
            path.append(self._arcs[self._after[path[-1].target]])
        return path

    def backwards(self, node: int) -> Iterator[Arc]:
        """Yield the arcs of the cheapest path to a node, from the last to the first."""
        while (number := self._before[node]) >= 0:
            yield (arc := self._arcs[number])
            node = arc.source

    def path_of(self, path: LabelPath) -> list[Arc]:
        """Return the arcs of a path."""
        arcs: list[Arc] = []
        for word, (label, ends) in enumerate(zip(path.labels, [*path.begins, False][1:], strict=True)):
            step = arcs[-1].target if arcs else 0, ends
            arcs += [arc for arc in self.arcs_of(word) if (arc.source, arc.ends) == step and label in (0, arc.label)]
        return arcs
