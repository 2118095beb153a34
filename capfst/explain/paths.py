"""S ∘ T ∘ LM of one line, with the cheapest path through each of its arcs.

In: the words of a line, and the costs of their forms. Out: the lattice, its nodes being states of the LM between two
words; and any path through it. Unlike the search's (search/lattice.py), which forgets what cannot be best, it is kept
whole, to be drawn and asked.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import NamedTuple

import numpy as np

from capfst.casing.types import LabelPath, Words
from capfst.exceptions import CorpusError
from capfst.lm.query import LanguageModel, Starts

MOST_ARCS = 20_000


class Node(NamedTuple):
    """An LM state between two words."""

    position: int  # the number of words before it
    state: int
    is_first: bool  # whether the next word is the first of a sentence, if that matters


class Arc(NamedTuple):
    """A form of a word, and whether a sentence ends after it."""

    source: int  # a node
    target: int
    form: int
    ends: bool
    lm: float  # cost of the form, and of `</s>` if a sentence ends
    gap: float  # cost of the gap after it, where a sentence may end


class Lattice:
    """The paths of a line. Arcs are in the order of the words; numbers of nodes and arcs are their indices.

    Args:
        costs: of each form of each word, in addition to the LM's; +inf excludes a form.
        stays_first: for each word whether the next one is the first of a sentence if this one is; None if being first
            does not matter.

    Raises:
        CorpusError: the line is too long.
    """

    def __init__(
        self, words: Words, costs: list[list[float]], stays_first: list[bool] | None, lm: LanguageModel, starts: Starts
    ) -> None:
        self.words, self.lm = words, lm
        self.nodes: list[Node] = []
        self.arcs: list[Arc] = []
        self.first_arcs: list[int] = []  # of each word, and the number of arcs
        numbers: dict[Node, int] = {}
        known: dict[tuple[int, int], tuple[float, int]] = {}

        def number_of(node: Node) -> int:
            if node not in numbers:
                numbers[node] = len(self.nodes)
                self.nodes.append(node)
            return numbers[node]

        frontier = [number_of(Node(0, starts.line, stays_first is not None))]
        for word, of_forms in enumerate(costs):
            self.first_arcs.append(len(self.arcs))
            may_end = word + 1 < len(costs) and bool(words.may_begin[word + 1])
            odds = float(words.begin_odds[word + 1]) if may_end else -np.inf
            goes_on, ends = max(odds, 0.0), max(-odds, 0.0)
            first_node = len(self.nodes)
            for source in frontier:
                node = self.nodes[source]
                is_first = node.is_first and stays_first is not None and stays_first[word]
                for form, cost in enumerate(of_forms):
                    if cost == np.inf:
                        continue
                    step = node.state, self.label(word, form)
                    if step not in known:
                        known[step] = lm.arc(*step)
                    of_lm, after = known[step]
                    if goes_on < np.inf:
                        target = number_of(Node(word + 1, after, is_first))
                        self.arcs.append(Arc(source, target, form, False, of_lm, goes_on))
                    if may_end:
                        target = number_of(Node(word + 1, starts.sentence, stays_first is not None))
                        self.arcs.append(Arc(source, target, form, True, of_lm + lm.final(after), ends))
                if len(self.arcs) > MOST_ARCS:
                    raise CorpusError("the line has too many casings to be explained. Explain a part of it.")
            frontier = list(range(first_node, len(self.nodes)))
        self.first_arcs.append(len(self.arcs))
        self.finals = {node: lm.final(self.nodes[node].state) for node in frontier}
        self._search(costs)

    def label(self, word: int, form: int) -> int:
        """Return the label of a form."""
        return int(self.words.first_labels[word]) + form if self.words.n_forms[word] else self.lm.unknown

    def _search(self, costs: list[list[float]]) -> None:
        """Find the cheapest paths to and from all nodes."""
        arc_costs = [arc.lm + arc.gap + costs[self.nodes[arc.source].position][arc.form] for arc in self.arcs]
        n = len(self.nodes)
        to, self._back = [np.inf] * n, [-1] * n
        go, self._on = [np.inf] * n, [-1] * n
        to[0] = 0.0
        for number, arc in enumerate(self.arcs):
            cost = to[arc.source] + arc_costs[number]
            if cost < to[arc.target]:
                to[arc.target], self._back[arc.target] = cost, number
        for node, final in self.finals.items():
            go[node] = final
        for number in range(len(self.arcs) - 1, -1, -1):
            arc = self.arcs[number]
            cost = go[arc.target] + arc_costs[number]
            if cost < go[arc.source]:
                go[arc.source], self._on[arc.source] = cost, number
        self.through = [to[arc.source] + cost + go[arc.target] for arc, cost in zip(self.arcs, arc_costs, strict=True)]
        """The cost of the cheapest path through each arc."""

    def detour(self, arc: int, nodes: Container[int]) -> list[int]:
        """Return the cheapest path through an arc, from where it leaves the best path, whose nodes are given, to where
        it joins it again, or to the end."""
        path = [arc]
        while self.arcs[path[0]].source not in nodes:
            path.insert(0, self._back[self.arcs[path[0]].source])
        while self.arcs[path[-1]].target not in nodes and self._on[self.arcs[path[-1]].target] >= 0:
            path.append(self._on[self.arcs[path[-1]].target])
        return path

    def backwards(self, node: int) -> Iterator[int]:
        """Yield the arcs of the cheapest path to a node, from the last to the first."""
        while (arc := self._back[node]) >= 0:
            yield arc
            node = self.arcs[arc].source

    def path_of(self, path: LabelPath) -> list[int]:
        """Return the arcs of a path."""
        node, arcs, ends = 0, [], [*path.begins.tolist(), False][1:]
        for word, (label, is_end) in enumerate(zip(path.labels.tolist(), ends, strict=True)):
            form = label - int(self.words.first_labels[word]) if self.words.n_forms[word] else 0
            numbers = range(self.first_arcs[word], self.first_arcs[word + 1])
            step = node, form, is_end
            arcs.append(next(k for k in numbers if (self.arcs[k].source, self.arcs[k].form, self.arcs[k].ends) == step))
            node = self.arcs[arcs[-1]].target
        return arcs
