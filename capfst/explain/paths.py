"""The lattice of a line (search/paths.py), with the cheapest path through each of its arcs, to be drawn and asked."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.casing.types import LabelPath, Words
from capfst.exceptions import CorpusError
from capfst.search.paths import END, AllPaths, cheapest_paths

MOST_ARCS = 20_000


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
        n_forms = np.maximum(words.n_forms, 1).astype(np.int64)
        words_of = np.repeat(np.arange(len(n_forms)), n_forms)[edges.arc[:n_arcs]]
        forms = edges.arc[:n_arcs] - (np.cumsum(n_forms) - n_forms)[words_of]
        labels = np.where(words.n_forms > 0, words.first_labels, unknown)[words_of] + forms
        of_edges = edges.ends, edges.lm, edges.gap, paths.through, line.is_first[edges.source]
        in_costs = np.where(forms == 0, columns[words_of], N_SHAPES + forms)
        fields = edges.source, edges.target, words_of, forms, labels, *of_edges, in_costs
        self._arcs = list(map(Arc, *(field[:n_arcs].tolist() for field in fields)))
        self._first_arcs = np.searchsorted(words_of, np.arange(len(n_forms) + 1)).tolist()  # of each word
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
