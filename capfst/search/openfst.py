"""The engine `openfst`: P = bestpath(S ∘ T ∘ LM), literally (Beaufays & Strope 2013, eq. 1).

In: for each word of a line the labels of its surface forms (`<unk>` for an OOV word), and whether a sentence may begin
with it. Out: the best casings with their costs. This is the executable specification: each factor is an FST, and
OpenFst composes and searches them.

* S: the line as an acceptor; the label of a lowercase word is that of its most frequent form. Where a sentence may
  begin, an alternative path to the word has the label BOUNDARY before it.
* T: one state, with an arc from each lowercase word to each of its surface forms, and from BOUNDARY to BOUNDARY.
* W: the arc costs of the forms, if any, as an acceptor like S. S ∘ T ∘ W is S ∘ T with these costs.
* LM: the part that S ∘ T can reach, with each backoff taken only where the state lacks the word (lm/query.py): a
  backoff arc is a failure arc, but OpenFst composes ε as ε. BOUNDARY has the cost of `</s>`, and leads to the
  state in which sentences begin.

Costs are −ln P. OpenFst adds them in single precision, so all paths within a small margin of its best are compared
again exactly. Ties go to the more frequent form of the first word in which the paths differ; if all forms are the same,
to the path with the later sentence boundary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import pynini
from pywrapfst import Arc

from capfst.casing.types import ArcCosts, Casing, LabelPath, Words
from capfst.forks import cached
from capfst.lm.query import LanguageModel, Starts
from capfst.search import fast
from capfst.search.line import LineLattice
from capfst.search.lookup import LookupTables, lookup_tables
from capfst.search.token_lattice import TokenLattice
from capfst.text.tokenizer import NEWLINE

BOUNDARY = (1 << 31) - 1
"""The label of a sentence boundary, higher than all others."""

Path = tuple[float, tuple[int, ...]]
"""A cost, and the labels of a line's words, with BOUNDARY where a sentence begins."""
Costs = Sequence[Sequence[float]]
"""The arc cost of each form of each word."""
Gaps = Sequence[tuple[float, float]]
"""What it costs that no sentence begins with a word, and that one does; +inf if that is not possible."""
NO_GAP = 0.0, np.inf
_NEARLY_BEST = 8  # paths whose costs are compared again exactly, as OpenFst adds them in single precision


def _line_acceptor(words: Sequence[Sequence[tuple[int, float]]], gaps: Gaps) -> pynini.Fst:
    """Build an acceptor of the words in order, from the labels and costs of each, with sentence boundaries where they
    are possible."""
    fst = pynini.Fst()
    fst.set_start(fst.add_state())
    state = 0
    for arcs, (goes_on, begins) in zip(words, gaps, strict=True):
        after = fst.add_state()
        if goes_on < np.inf:
            for label, cost in arcs:
                fst.add_arc(state, Arc(label, label, goes_on + cost, after))
        if begins < np.inf:
            before = fst.add_state()
            fst.add_arc(state, Arc(BOUNDARY, BOUNDARY, begins, before))
            for label, cost in arcs:
                fst.add_arc(before, Arc(label, label, cost, after))
        state = after
    fst.set_final(state)
    return fst


def sentence(words: Sequence[range], gaps: Gaps | None = None) -> pynini.Fst:
    """Build S."""
    return _line_acceptor([[(forms[0], 0)] for forms in words], gaps or [NO_GAP] * len(words))


def transducer(words: Sequence[range], gaps: Gaps = ()) -> pynini.Fst:
    """Build T, for the words of the line."""
    t = pynini.Fst()
    t.set_start(t.add_state())
    for forms in sorted(set(words), key=lambda forms: forms[0]):
        for form in forms:
            t.add_arc(0, Arc(forms[0], form, 0, 0))
    if any(begins < np.inf for _, begins in gaps):
        t.add_arc(0, Arc(BOUNDARY, BOUNDARY, 0, 0))
    t.set_final(0)
    return t.arcsort("ilabel")


def weighing(words: Sequence[range], gaps: Gaps, costs: Costs) -> pynini.Fst:
    """Build W."""
    free = [(0.0 if goes_on < np.inf else np.inf, 0.0 if begins < np.inf else np.inf) for goes_on, begins in gaps]
    return _line_acceptor([list(zip(*pair, strict=True)) for pair in zip(words, costs, strict=True)], free)


def _step(lm: LanguageModel, starts: Starts, state: int, label: int) -> tuple[float, int]:
    """Return the cost of a label, or of BOUNDARY, after `state`, and the state that it leads to."""
    return (lm.final(state), starts.sentence) if label == BOUNDARY else lm.arc(state, label)


class _Part:
    """The part of LM that some words can reach, as they are added. weight: of its costs."""

    def __init__(self, lm: LanguageModel, starts: Starts, weight: float = 1) -> None:
        self.fst = pynini.Fst()
        self._lm, self._starts, self._weight = lm, starts, weight
        self._numbers = {starts.line: self.fst.add_state()}
        self.fst.set_start(0)
        self._added: set[tuple[int, int]] = set()

    def expand(self, states: Iterable[int], labels: Sequence[int]) -> set[int]:
        """Add the arcs of states of LM with these labels. Return the states that they lead to."""
        reached = set()
        for state in states:
            for label in labels:
                cost, after = _step(self._lm, self._starts, state, label)
                reached.add(after)
                if (state, label) not in self._added:
                    self._added.add((state, label))
                    if after not in self._numbers:
                        self._numbers[after] = self.fst.add_state()
                    number = self._numbers[after]
                    self.fst.add_arc(self._numbers[state], Arc(label, label, self._weight * cost, number))
        return reached

    def finished(self, states: Iterable[int]) -> pynini.Fst:
        """Return the part, in which sentences end in these states of LM."""
        for state in states:
            self.fst.set_final(self._numbers[state], self._weight * self._lm.final(state))
        return self.fst.arcsort("ilabel")


def reachable(lm: LanguageModel, starts: Starts, words: Sequence[range], gaps: Gaps | None = None) -> pynini.Fst:
    """Build the part of LM that the words in order can reach."""
    part, frontier = _Part(lm, starts), {starts.line}
    for forms, (goes_on, begins) in zip(words, gaps or [NO_GAP] * len(words), strict=True):
        before = set(frontier) if goes_on < np.inf else set()
        if begins < np.inf:
            before |= part.expand(frontier, [BOUNDARY])
        frontier = part.expand(before, forms)
    return part.finished(frontier)


def _extend(
    lm: LanguageModel,
    starts: Starts,
    path: Path,
    state: int,
    label: int,
    words: Sequence[range],
    gaps: Gaps,
    costs: Costs,
) -> tuple[Path, int]:
    """Extend a path, which ends in `state` of the LM, by a label. Return it and the state that it leads to."""
    more, after = _step(lm, starts, state, label)
    word = sum(before != BOUNDARY for before in path[1])
    goes_on, begins = gaps[word]
    if label == BOUNDARY:
        more += begins
    else:
        more += costs[word][label - words[word][0]] + (0.0 if path[1][-1:] == (BOUNDARY,) else goes_on)
    return (path[0] + more, (*path[1], label)), after


def _exact_best(
    lm: LanguageModel, starts: Starts, p: pynini.Fst, words: Sequence[range], gaps: Gaps, costs: Costs
) -> Path:
    """Return the best of the few paths in `p`: costs are added in double precision, and ties resolved."""
    p.topsort()
    best: dict[int, tuple[Path, int]] = {p.start(): ((0.0, ()), starts.line)}
    ends: list[Path] = []
    for state in range(p.num_states()):
        path, lm_state = best[state]
        if float(p.final(state)) != np.inf:
            ends.append((path[0] + lm.final(lm_state), path[1]))
        for arc in p.arcs(state):
            new = _extend(lm, starts, path, lm_state, arc.olabel, words, gaps, costs)
            best[arc.nextstate] = min(best.get(arc.nextstate, new), new)
    return min(ends)


def _labels(p: pynini.Fst) -> Iterator[tuple[int, ...]]:
    """Yield the labels of each path of an acyclic FST."""
    stack: list[tuple[int, tuple[int, ...]]] = [(p.start(), ())]
    while stack:
        state, labels = stack.pop()
        if float(p.final(state)) != np.inf:
            yield labels
        for arc in p.arcs(state):
            stack.append((arc.nextstate, (*labels, arc.olabel) if arc.olabel else labels))


def _exact(
    lm: LanguageModel, starts: Starts, labels: Sequence[int], words: Sequence[range], gaps: Gaps, costs: Costs
) -> Path:
    """Return the path with these labels and its cost in double precision."""
    path: Path = (0.0, ())
    state = starts.line
    for label in labels:
        path, state = _extend(lm, starts, path, state, label, words, gaps, costs)
    return path[0] + lm.final(state), path[1]


def _most_frequent(forms: range, gap: tuple[float, float]) -> tuple[int, ...]:
    return (forms[0],) if gap[0] < np.inf else (BOUNDARY, forms[0])


def best_paths(
    lm: LanguageModel, starts: Starts, words: Sequence[range], gaps: Gaps, n: int = 1, costs: Costs | None = None
) -> list[Path]:
    """Compute bestpath(S ∘ T ∘ LM): return the n cheapest casings (fewer if there are fewer), cheapest first.

    If no casing has a finite cost, return the most frequent forms, at the cost +inf.
    """
    st = pynini.compose(sentence(words, gaps), transducer(words, gaps))
    if costs is None:
        costs = [[0.0] * len(forms) for forms in words]
    else:
        st = pynini.compose(st, weighing(words, gaps, costs))
    p = pynini.compose(st, reachable(lm, starts, words, gaps))
    cost = float(pynini.shortestdistance(p, reverse=True)[p.start()]) if p.num_states() else np.inf
    if cost == np.inf:
        return [(np.inf, tuple(chain.from_iterable(map(_most_frequent, words, gaps))))]
    if n == 1:
        return [_exact_best(lm, starts, pynini.prune(p, weight=1e-3 + 1e-5 * abs(cost)), words, gaps, costs)]
    # More than n: paths of nearly equal cost are ordered here, by exact costs.
    paths = _labels(pynini.shortestpath(p, nshortest=2 * n + 8))
    with_costs = (_exact(lm, starts, labels, words, gaps, costs) for labels in paths)
    return sorted(path for path in with_costs if path[0] < np.inf)[:n]


def best_arcs(lm: LanguageModel, starts: Starts, lattice: TokenLattice) -> tuple[float, list[int]]:
    """Compute bestpath(S ∘ T ∘ LM) for a word lattice: return its cost and the arcs of the word lattice on it.

    S has the number of each token as its input, and the label of its most frequent form as its output.
    """
    s, part = pynini.Fst(), _Part(lm, starts, lattice.weight)
    s.add_states(len(lattice.final))
    s.set_start(lattice.start)
    reached: list[set[int]] = [set() for _ in lattice.final]  # states of LM
    reached[lattice.start] = {starts.line}
    forms = [range(token["label"], token["label"] + token["n_forms"]) for token in lattice.tokens]
    for k, token in enumerate(lattice.tokens):
        source, target = int(token["source"]), int(token["target"])
        s.add_arc(source, Arc(k + 1, forms[k][0], token["cost"], target))
        reached[target] |= part.expand(reached[source], forms[k]) if forms[k][0] else reached[source]
    ends = np.flatnonzero(lattice.final < np.inf).tolist()
    for state in ends:
        s.set_final(state, lattice.final[state])
    st = pynini.compose(s, transducer([words for words in forms if words[0]]))
    p = pynini.compose(st, part.finished(set().union(*(reached[state] for state in ends))))
    if not p.num_states():
        return np.inf, []
    found: list[tuple[float, list[int]]] = []
    paths = pynini.shortestpath(p, nshortest=_NEARLY_BEST).paths()
    while not paths.done():  # by exact costs
        labels, state, at, cost = filter(None, paths.olabels()), starts.line, lattice.start, 0.0
        tokens = [lattice.tokens[k - 1] for k in paths.ilabels() if k]
        for token in tokens:
            more, state = lm.arc(state, next(labels)) if token["label"] else (0.0, state)
            cost, at = cost + float(token["cost"]) + lattice.weight * more, token["target"]
        cost += float(lattice.final[at]) + lattice.weight * lm.final(state)
        found.append((cost, [int(token["arc"]) for token in tokens if token["arc"] >= 0]))
        paths.next()
    return min(found, default=(np.inf, []))


def _lines(words: Words) -> Iterator[slice]:
    """Yield the words of each line, without the line ends."""
    ends = np.flatnonzero(words.token_types == NEWLINE).tolist()
    for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(words.token_types)], strict=True):
        yield slice(start, end)


class Engine:
    """Find the best paths of texts (protocol.py)."""

    def __init__(self, lm: LanguageModel, starts: Starts) -> None:
        self.lm = lm
        self.starts = starts

    def ranges(self, words: Words, line: slice) -> list[range]:
        """Return the range of labels of each word of a line; an OOV word passes through as `<unk>` (ρ)."""
        first, forms = words.first_labels[line].tolist(), words.n_forms[line].tolist()
        unknown = range(self.lm.unknown, self.lm.unknown + 1)
        return [range(a, a + k) if k else unknown for a, k in zip(first, forms, strict=True)]

    def best(self, words: Words, arc_costs: ArcCosts | None = None) -> LabelPath:
        return self.search(words, arc_costs)[0]

    def search(self, words: Words, arc_costs: ArcCosts | None = None) -> tuple[LabelPath, npt.NDArray[np.float64]]:
        best = LabelPath(np.zeros(len(words.token_types), np.uint32), np.zeros(len(words.token_types), np.bool_))
        costs = []
        for line in _lines(words):
            cost, path = self._best_paths(words, line, arc_costs)[0]
            best.labels[line], best.begins[line] = path
            costs.append(cost)
        return best, np.array(costs)

    def nbest(self, words: Words, n: int, arc_costs: ArcCosts | None = None) -> list[Casing]:
        return self._best_paths(words, slice(None), arc_costs, n)

    def line(
        self, words: Words, arc_costs: ArcCosts | None = None, stays_first: npt.NDArray[np.bool_] | None = None
    ) -> LineLattice:
        return fast.Engine(self.lm, self.starts, self._tables).line(words, arc_costs, stays_first)

    def best_arcs(self, lattice: TokenLattice) -> tuple[float, list[int]]:
        return best_arcs(self.lm, self.starts, lattice)

    @cached
    def _tables(self) -> LookupTables:
        """The tables of the other engine, which lists the lattice of a line."""
        return lookup_tables(self.lm.model)

    def _best_paths(self, words: Words, line: slice, arc_costs: ArcCosts | None, n: int = 1) -> list[Casing]:
        costs = None if arc_costs is None else self._costs(words, line, arc_costs)
        paths = best_paths(self.lm, self.starts, self.ranges(words, line), _gaps(words, line), n, costs)
        return [(cost, _path(labels, words.n_forms[line])) for cost, labels in paths]

    @staticmethod
    def _costs(words: Words, line: slice, arc_costs: ArcCosts) -> list[list[float]]:
        """Return the arc costs of each word's forms; 0 for an OOV word."""
        ends = np.cumsum(words.n_forms, dtype=np.int64)[line].tolist()
        forms = words.n_forms[line].tolist()
        return [arc_costs[end - k : end].tolist() or [0.0] for end, k in zip(ends, forms, strict=True)]


def _gaps(words: Words, line: slice) -> list[tuple[float, float]]:
    """Return what it costs that no sentence begins with each word of a line, and that one does."""
    pairs = zip(words.may_begin[line].tolist(), words.begin_odds[line].tolist(), strict=True)
    return [(max(odds, 0.0), max(-odds, 0.0)) if may else NO_GAP for may, odds in pairs]


def _path(labels: tuple[int, ...], n_forms: npt.NDArray[np.uint32]) -> LabelPath:
    """Convert the labels of a line, some of which are BOUNDARY, to a LabelPath."""
    all_labels = np.array(labels, np.uint32)
    is_boundary = all_labels == BOUNDARY
    return LabelPath(
        np.where(n_forms > 0, all_labels[~is_boundary], np.uint32(0)), np.append(False, is_boundary)[:-1][~is_boundary]
    )
