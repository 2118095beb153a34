"""The lattice of a line (search/line.py), with the cheapest path through each of its arcs, to be drawn and asked."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.types import ArcCosts, LabelPath, Words
from capfst.exceptions import CorpusError
from capfst.search.line import END, cheapest_paths
from capfst.search.protocol import Engine

MOST_ARCS = 20_000


class Arc(NamedTuple):
    """A form of a word, and whether a sentence ends after it."""

    source: int  # a node
    target: int
    word: int
    form: int
    label: int  # of the form, or of `<unk>`
    ends: bool
    lm: float  # cost of the form, and of `</s>` if a sentence ends
    gap: float  # cost of the gap after it, where a sentence may end


class Paths:
    """The paths of a line. Arcs are in the order of the words; numbers of nodes and arcs are their indices.

    Args:
        costs: of the forms, as for the search.
        stays_first: as for `Engine.line`.
        unknown: the label of `<unk>`.

    Raises:
        CorpusError: the line is too long.
    """

    def __init__(
        self,
        words: Words,
        costs: ArcCosts | None,
        stays_first: npt.NDArray[np.bool_] | None,
        engine: Engine,
        unknown: int,
    ) -> None:
        line = engine.line(words, costs, stays_first)
        edges, paths = line.edges, cheapest_paths(line)
        n_arcs = int(np.count_nonzero(edges.arc != END))  # those of the line's end are the last edges
        if n_arcs > MOST_ARCS:
            raise CorpusError("the line has too many casings to be explained. Explain a part of it.")
        n_forms = np.maximum(words.n_forms, 1).astype(np.int64)
        word_of = np.repeat(np.arange(len(n_forms)), n_forms)[edges.arc[:n_arcs]]
        forms = edges.arc[:n_arcs] - (np.cumsum(n_forms) - n_forms)[word_of]
        labels = np.where(words.n_forms > 0, words.first_labels, unknown)[word_of] + forms
        of_arcs = (edges.source, edges.target, word_of, forms, labels, edges.ends, edges.lm, edges.gap)
        self.arcs = list(map(Arc, *(array[:n_arcs].tolist() for array in of_arcs)))
        self.first_arcs: list[int] = np.searchsorted(word_of, np.arange(len(n_forms) + 1)).tolist()  # of each word
        self.ends: dict[int, float] = dict(zip(edges.source[n_arcs:].tolist(), edges.lm[n_arcs:].tolist(), strict=True))
        """The cost of the end of the line after each of the last nodes."""
        self.states: list[int] = line.states.tolist()
        self.is_first: list[bool] = line.is_first.tolist()
        self.through: list[float] = paths.through.tolist()
        """The cost of the cheapest path through each arc."""
        self._before, self._after = paths.before.tolist(), paths.after.tolist()

    def detour(self, arc: int, nodes: Container[int]) -> list[int]:
        """Return the cheapest path through an arc, from where it leaves the best path, whose nodes are given, to where
        it joins it again, or to the end."""
        path = [arc]
        while self.arcs[path[0]].source not in nodes:
            path.insert(0, self._before[self.arcs[path[0]].source])
        while self.arcs[path[-1]].target not in nodes and self._after[self.arcs[path[-1]].target] < len(self.arcs):
            path.append(self._after[self.arcs[path[-1]].target])
        return path

    def backwards(self, node: int) -> Iterator[int]:
        """Yield the arcs of the cheapest path to a node, from the last to the first."""
        while (arc := self._before[node]) >= 0:
            yield arc
            node = self.arcs[arc].source

    def path_of(self, path: LabelPath) -> list[int]:
        """Return the arcs of a path."""
        node, found = 0, []
        all_ends = [*path.begins.tolist(), False][1:]
        for word, (label, ends) in enumerate(zip(path.labels.tolist(), all_ends, strict=True)):
            for number in range(self.first_arcs[word], self.first_arcs[word + 1]):
                arc = self.arcs[number]
                if arc.source == node and arc.ends == ends and (arc.label == label or label == 0):  # 0: an OOV word
                    break
            found.append(number)
            node = arc.target
        return found
