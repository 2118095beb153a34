"""The engine `openfst`: P = bestpath(S ∘ T ∘ LM), literally (Beaufays & Strope 2013, eq. 1).

In: S as a lattice of tokens (token_lattice.py), whose tokens have the labels of their surface forms (`<unk>` for an OOV
word). Out: the best paths with their costs. This is the executable specification: each factor is an FST, and OpenFst
composes and searches them.

* S: an acceptor of the numbers of the tokens: of the words of a line, in order, or of a word lattice. Where a sentence
  may end after a word, an alternative path has another number, and BOUNDARY after it.
* T: one state, with an arc from each token to each of its surface forms, at the form's cost, if any; and from BOUNDARY
  to BOUNDARY.
* LM: the part that S ∘ T can reach, with each backoff taken only where the state lacks the word (lm/query.py): a
  backoff arc is a failure arc, but OpenFst composes ε as ε. BOUNDARY has the cost of `</s>`, and leads to the
  state in which sentences begin.

Costs are −ln P. OpenFst adds them in single precision, so all paths within a small margin of its best are compared
again exactly. Ties go to the more frequent form of the first word in which the paths differ; if all forms are the same,
to the path with the later sentence boundary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pynini
from pywrapfst import Arc

from capfst.casing.types import ArcCosts, Casing, LabelPath, Words
from capfst.lm.query import LanguageModel, Starts
from capfst.search import fast
from capfst.search.paths import most_frequent
from capfst.search.token_lattice import TokenLattice, line_lattice
from capfst.text.tokenizer import NEWLINE

BOUNDARY = (1 << 31) - 1
"""The label of a sentence boundary, higher than all others."""


class Path(NamedTuple):
    """A path from the start, compared by its cost and its labels."""

    cost: float = 0.0
    labels: tuple[int, ...] = ()  # of the forms, with BOUNDARY where a sentence ends
    tokens: tuple[int, ...] = ()
    state: int = 0  # of the LM


def sentence(lattice: TokenLattice) -> pynini.Fst:
    """Build S."""
    fst = pynini.Fst()
    fst.add_states(len(lattice.final))
    fst.set_start(lattice.start)
    for k, token in enumerate(lattice.tokens, 1):
        if token["cost"] < np.inf:
            fst.add_arc(token["source"], Arc(k, k, token["cost"], token["target"]))
        if token["end_cost"] < np.inf:
            between, number = fst.add_state(), len(lattice.tokens) + k
            fst.add_arc(token["source"], Arc(number, number, token["end_cost"], between))
            fst.add_arc(between, Arc(BOUNDARY, BOUNDARY, 0, token["target"]))
    for state in np.flatnonzero(lattice.final < np.inf):
        fst.set_final(state, lattice.final[state])
    return fst


def _forms(token: np.void) -> range:
    """Return the labels of a token's forms."""
    return range(token["label"], token["label"] + token["n_forms"])


def transducer(lattice: TokenLattice) -> pynini.Fst:
    """Build T, for the tokens of S."""
    t, n = pynini.Fst(), len(lattice.tokens)
    t.set_start(t.add_state())
    for k, token in enumerate(lattice.tokens, 1):
        for form, label in enumerate(_forms(token)):
            for number in (k, n + k):
                t.add_arc(0, Arc(number, label, lattice.arc_costs[token["arc"] + form], 0))
    t.add_arc(0, Arc(BOUNDARY, BOUNDARY, 0, 0))
    t.set_final(0)
    return t.arcsort("ilabel")


class _LM:
    """The LM with boundaries, and the part of it that is reached."""

    def __init__(self, lm: LanguageModel, starts: Starts, weight: float) -> None:
        self.lm, self.starts, self.weight = lm, starts, weight
        self.fst = pynini.Fst()
        self._numbers = {starts.line: self.fst.add_state()}
        self.fst.set_start(0)
        self._added: set[tuple[int, int]] = set()

    def step(self, state: int, label: int) -> tuple[float, int]:
        """Return the cost of a label, of BOUNDARY, or of ε after a state, and the state that it leads to."""
        if label == BOUNDARY:
            return self.weight * self.lm.final(state), self.starts.sentence
        cost, after = self.lm.arc(state, label) if label else (0.0, state)
        return self.weight * cost, after

    def expand(self, states: Iterable[int], labels: Iterable[int]) -> set[int]:
        """Add the arcs of states with these labels. Return the states that they lead to."""
        reached = set()
        for state in states:
            for label in labels:
                cost, after = self.step(state, label)
                reached.add(after)
                if label and (state, label) not in self._added:
                    self._added.add((state, label))
                    if after not in self._numbers:
                        self._numbers[after] = self.fst.add_state()
                    self.fst.add_arc(self._numbers[state], Arc(label, label, cost, self._numbers[after]))
        return reached

    def reachable(self, lattice: TokenLattice) -> pynini.Fst:
        """Build the part of LM that the tokens of S can reach."""
        reached: list[set[int]] = [set() for _ in lattice.final]
        reached[lattice.start] = {self.starts.line}
        for token in lattice.tokens:
            after = self.expand(reached[token["source"]], _forms(token))
            if token["cost"] < np.inf:
                reached[token["target"]] |= after
            if token["end_cost"] < np.inf:
                reached[token["target"]] |= self.expand(after, [BOUNDARY])
        for state in set().union(*(reached[state] for state in np.flatnonzero(lattice.final < np.inf))):
            self.fst.set_final(self._numbers[state], self.weight * self.lm.final(state))
        return self.fst.arcsort("ilabel")


def _extend(path: Path, arc: Arc, lattice: TokenLattice, lm: _LM) -> Path:
    """Extend a path by an arc of P; its cost is added in double precision."""
    cost, after = lm.step(path.state, arc.olabel)
    tokens = path.tokens
    if 0 < arc.ilabel < BOUNDARY:
        ends, k = divmod(arc.ilabel - 1, len(lattice.tokens))
        token, tokens = lattice.tokens[k], (*tokens, k)
        cost += token["end_cost" if ends else "cost"] + lattice.arc_costs[token["arc"] + arc.olabel - token["label"]]
    return Path(path.cost + cost, (*path.labels, arc.olabel) if arc.olabel else path.labels, tokens, after)


def _exact(p: pynini.Fst, lattice: TokenLattice, lm: _LM, n: int) -> list[Path]:
    """Return the n best of the paths in `p`, by exact costs."""
    p.topsort()
    best: dict[int, list[Path]] = {p.start(): [Path(state=lm.starts.line)]}
    ends: list[Path] = []
    for state in range(p.num_states()):
        paths = best.pop(state)
        for path in paths if float(p.final(state)) != np.inf else ():  # they differ in final costs
            at = lattice.tokens["target"][path.tokens[-1]] if path.tokens else lattice.start
            ends.append(path._replace(cost=path.cost + lattice.final[at] + lm.step(path.state, BOUNDARY)[0]))
        kept = sorted(paths)[:n]
        for arc in p.arcs(state):
            best.setdefault(arc.nextstate, []).extend(_extend(path, arc, lattice, lm) for path in kept)
    return sorted(path for path in ends if path.cost < np.inf)[:n]


def best_paths(lm: LanguageModel, starts: Starts, lattice: TokenLattice, n: int = 1) -> list[Path]:
    """Compute bestpath(S ∘ T ∘ LM): return the n cheapest paths of finite cost (fewer if there are fewer), cheapest
    first."""
    reached = _LM(lm, starts, lattice.weight)
    p = pynini.compose(pynini.compose(sentence(lattice), transducer(lattice)), reached.reachable(lattice))
    cost = float(pynini.shortestdistance(p, reverse=True)[p.start()]) if p.num_states() else np.inf
    if cost == np.inf:
        return []
    if n == 1:
        few = pynini.prune(p, weight=1e-3 + 1e-5 * abs(cost))
    else:  # more than n: paths of nearly equal cost are ordered by exact costs
        few = pynini.shortestpath(p, nshortest=2 * n + 8)
    return _exact(few, lattice, reached, n)


class Engine(fast.Engine):
    """Find the same best paths by composing S ∘ T ∘ LM for each line with OpenFst.

    It inherits `best`, and replaces the constructor, because it needs no look-up tables, and the methods that search
    (`search`, `nbest`, `best_arcs`). So callers need not know which engine they use.
    """

    def __init__(self, lm: LanguageModel, starts: Starts) -> None:
        self.lm = lm
        self.starts = starts

    def search(
        self, words: Words, arc_costs: ArcCosts | None = None, skips: bool = False
    ) -> tuple[LabelPath, npt.NDArray[np.float64]]:
        n = len(words.token_types)
        best, costs = LabelPath(np.zeros(n, np.uint32), np.zeros(n, np.bool_)), []
        arcs = np.append(0, np.cumsum(words.n_forms, dtype=np.int64))
        ends = np.flatnonzero(words.token_types == NEWLINE).tolist()
        for begin, end in zip([0, *(end + 1 for end in ends)], [*ends, n], strict=True):
            of_line = None if arc_costs is None else arc_costs[arcs[begin] : arcs[end]]
            ((cost, path),) = self.nbest(Words._make(array[begin:end] for array in words), 1, of_line)
            best.labels[begin:end], best.begins[begin:end] = path
            costs.append(cost)
        return best, np.array(costs)

    def nbest(self, words: Words, n: int, arc_costs: ArcCosts | None = None) -> list[Casing]:
        found = best_paths(self.lm, self.starts, line_lattice(words, arc_costs, self.lm.unknown), n)
        return [(path.cost, _of_labels(path.labels, words)) for path in found] or [most_frequent(words)]

    def best_arcs(self, lattice: TokenLattice) -> tuple[float, list[int]]:
        for path in best_paths(self.lm, self.starts, lattice):
            of_path = lattice.tokens["word"][list(path.tokens)]
            return path.cost, of_path[of_path >= 0].tolist()
        return np.inf, []


def _of_labels(labels: tuple[int, ...], words: Words) -> LabelPath:
    """Convert the labels of a line, some of which are BOUNDARY."""
    all_labels = np.array(labels, np.uint32)
    is_end = all_labels == BOUNDARY
    of_words = np.where(words.n_forms > 0, all_labels[~is_end], np.uint32(0))
    return LabelPath(of_words, np.append(False, is_end)[:-1][~is_end])
