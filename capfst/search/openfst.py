"""The engine `openfst`: P = bestpath(S ∘ T ∘ LM), as the equation says (Beaufays & Strope 2013, eq. 1).

In: for each word of a line the labels of its surface forms (`<unk>` for an OOV word), and whether a sentence may begin
with it. Out: the best casings with their costs. The executable specification: each factor is an FST of its own,
composed and searched by OpenFst.

* S: the line, an acceptor; a lowercase word's label is that of its most frequent form. Where a sentence may begin, a
  second way to the word has the label BREAK before it.
* T: one state; an arc from each lowercase word to each of its surface forms, and from BREAK to BREAK.
* W: what the forms cost beside the LM, if anything: an acceptor like S; S ∘ T ∘ W is S ∘ T with these costs.
* LM: what S ∘ T can reach of it, each backoff taken only where the state lacks the word (lm/query.py): OpenFst
  composes ε as ε, but a backoff arc is a failure arc. BREAK costs what `</s>` does, and leads to where sentences begin.

Costs are −ln P. OpenFst adds them in single precision; so paths within a small margin of its best are kept, and
compared exactly. Ties go to the more frequent form of the first word in which paths differ; of paths in the same forms,
to the one in which a sentence goes on longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pynini
from pywrapfst import Arc

from capfst.casing.types import ArcCosts, Casing, LabelPath, Words
from capfst.lm.query import LanguageModel, Starts
from capfst.text.tokenizer import NEWLINE

BREAK = (1 << 31) - 1
"""The label of a sentence break, higher than all others."""

Path = tuple[float, tuple[int, ...]]
"""A cost and the labels of a line's words, with BREAK where a sentence begins."""
Costs = Sequence[Sequence[float]]
"""What each form of each word costs beside the LM."""
Begins = Sequence[tuple[bool, ...]]
"""For each word the possibilities: a sentence begins with it (True), or it does not (False)."""


def _line_acceptor(words: Sequence[Sequence[tuple[int, float]]], begins: Begins) -> pynini.Fst:
    """Accepts the words in their order, given the labels of each and their costs, with breaks where they may be."""
    fst = pynini.Fst()
    fst.set_start(fst.add_state())
    state = 0
    for arcs, possibilities in zip(words, begins, strict=True):
        behind = fst.add_state()
        for is_break in possibilities:
            before = state
            if is_break:
                before = fst.add_state()
                fst.add_arc(state, Arc(BREAK, BREAK, 0, before))
            for label, cost in arcs:
                fst.add_arc(before, Arc(label, label, cost, behind))
        state = behind
    fst.set_final(state)
    return fst


def sentence(words: Sequence[range], begins: Begins | None = None) -> pynini.Fst:
    """S."""
    return _line_acceptor([[(forms[0], 0)] for forms in words], begins or [(False,)] * len(words))


def transducer(words: Sequence[range], begins: Begins = ()) -> pynini.Fst:
    """T, for the words of the line."""
    t = pynini.Fst()
    t.set_start(t.add_state())
    for forms in sorted(set(words), key=lambda forms: forms[0]):
        for form in forms:
            t.add_arc(0, Arc(forms[0], form, 0, 0))
    if any(True in possibilities for possibilities in begins):
        t.add_arc(0, Arc(BREAK, BREAK, 0, 0))
    t.set_final(0)
    return t.arcsort("ilabel")


def weighing(words: Sequence[range], begins: Begins, costs: Costs) -> pynini.Fst:
    """W."""
    return _line_acceptor([list(zip(*pair, strict=True)) for pair in zip(words, costs, strict=True)], begins)


def _step(lm: LanguageModel, starts: Starts, state: int, label: int) -> tuple[float, int]:
    """The cost of a label, or of BREAK, behind `state`, and the state behind both."""
    return (lm.final(state), starts.sentence) if label == BREAK else lm.arc(state, label)


def reachable(lm: LanguageModel, starts: Starts, words: Sequence[range], begins: Begins | None = None) -> pynini.Fst:
    """LM, as far as the words in their order can reach it."""
    part = pynini.Fst()
    number = {starts.line: part.add_state()}
    part.set_start(0)
    added = set()

    def expand(states: set[int], labels: Sequence[int]) -> set[int]:
        """Adds the arcs of the states with these labels; the states behind them."""
        reached = set()
        for state in states:
            for label in labels:
                cost, after = _step(lm, starts, state, label)
                reached.add(after)
                if (state, label) not in added:
                    added.add((state, label))
                    if after not in number:
                        number[after] = part.add_state()
                    part.add_arc(number[state], Arc(label, label, cost, number[after]))
        return reached

    frontier = {starts.line}
    for forms, possibilities in zip(words, begins or [(False,)] * len(words), strict=True):
        before: set[int] = set()
        for is_break in possibilities:
            before |= expand(frontier, [BREAK]) if is_break else frontier
        frontier = expand(before, forms)
    for state in frontier:
        part.set_final(number[state], lm.final(state))
    return part.arcsort("ilabel")


def _walk(
    lm: LanguageModel, starts: Starts, path: Path, state: int, label: int, words: Sequence[range], costs: Costs
) -> tuple[Path, int]:
    """A path, to a state of the LM, one label longer; and the state behind that."""
    more, after = _step(lm, starts, state, label)
    if label != BREAK:
        word = sum(before != BREAK for before in path[1])
        more += costs[word][label - words[word][0]]
    return (path[0] + more, (*path[1], label)), after


def _exact_best(lm: LanguageModel, starts: Starts, p: pynini.Fst, words: Sequence[range], costs: Costs) -> Path:
    """The best of the few paths in `p`, with costs in double precision and ties decided."""
    p.topsort()
    best: dict[int, tuple[Path, int]] = {p.start(): ((0.0, ()), starts.line)}
    ends: list[Path] = []
    for state in range(p.num_states()):
        path, lm_state = best[state]
        if float(p.final(state)) != np.inf:
            ends.append((path[0] + lm.final(lm_state), path[1]))
        for arc in p.arcs(state):
            new = _walk(lm, starts, path, lm_state, arc.olabel, words, costs)
            best[arc.nextstate] = min(best.get(arc.nextstate, new), new)
    return min(ends)


def _labels(p: pynini.Fst) -> Iterator[tuple[int, ...]]:
    """The labels of each path of an acyclic FST."""
    stack: list[tuple[int, tuple[int, ...]]] = [(p.start(), ())]
    while stack:
        state, labels = stack.pop()
        if float(p.final(state)) != np.inf:
            yield labels
        for arc in p.arcs(state):
            stack.append((arc.nextstate, (*labels, arc.olabel) if arc.olabel else labels))


def _exact(lm: LanguageModel, starts: Starts, labels: Sequence[int], words: Sequence[range], costs: Costs) -> Path:
    """The path with these labels, with its cost in double precision."""
    path: Path = (0.0, ())
    state = starts.line
    for label in labels:
        path, state = _walk(lm, starts, path, state, label, words, costs)
    return path[0] + lm.final(state), path[1]


def best_paths(
    lm: LanguageModel, starts: Starts, words: Sequence[range], begins: Begins, n: int = 1, costs: Costs | None = None
) -> list[Path]:
    """bestpath(S ∘ T ∘ LM): the n cheapest casings (fewer if there are fewer), cheapest first.

    If no casing has a finite cost, they are the most frequent forms, at the cost +inf.
    """
    st = pynini.compose(sentence(words, begins), transducer(words, begins))
    if costs is None:
        costs = [[0.0] * len(forms) for forms in words]
    else:
        st = pynini.compose(st, weighing(words, begins, costs))
    p = pynini.compose(st, reachable(lm, starts, words, begins))
    cost = float(pynini.shortestdistance(p, reverse=True)[p.start()]) if p.num_states() else np.inf
    if cost == np.inf:
        return [(np.inf, tuple(forms[0] for forms in words))]
    if n == 1:
        return [_exact_best(lm, starts, pynini.prune(p, weight=1e-3 + 1e-5 * abs(cost)), words, costs)]
    # More than n, as equal costs at the margin are decided here.
    paths = _labels(pynini.shortestpath(p, nshortest=2 * n + 8))
    with_costs = (_exact(lm, starts, labels, words, costs) for labels in paths)
    return sorted(path for path in with_costs if path[0] < np.inf)[:n]


def _lines(words: Words) -> Iterator[slice]:
    """The words of each line, without the line ends."""
    ends = np.flatnonzero(words.token_types == NEWLINE).tolist()
    for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(words.token_types)], strict=True):
        yield slice(start, end)


class Engine:
    """The best paths of whole texts, which begin as `starts` says."""

    def __init__(self, lm: LanguageModel, starts: Starts) -> None:
        self.lm = lm
        self.starts = starts

    def ranges(self, words: Words, line: slice) -> list[range]:
        """The labels that each word of a line can have; `<unk>` for an OOV word, which passes through (ρ)."""
        first, forms = words.first_labels[line].tolist(), words.n_forms[line].tolist()
        unknown = range(self.lm.unknown, self.lm.unknown + 1)
        return [range(a, a + k) if k else unknown for a, k in zip(first, forms, strict=True)]

    def best(self, words: Words, arc_costs: ArcCosts | None = None) -> LabelPath:
        """Each line's best path; the labels of line ends are 0."""
        return self.search(words, arc_costs)[0]

    def search(self, words: Words, arc_costs: ArcCosts | None = None) -> tuple[LabelPath, npt.NDArray[np.float64]]:
        """As `best`; and the cost of each line's best path, one more than there are line ends."""
        best = LabelPath(np.zeros(len(words.token_types), np.uint32), np.zeros(len(words.token_types), np.bool_))
        costs = []
        for line in _lines(words):
            cost, path = self._best_paths(words, line, arc_costs)[0]
            best.labels[line], best.begins[line] = path
            costs.append(cost)
        return best, np.array(costs)

    def nbest(self, words: Words, n: int, arc_costs: ArcCosts | None = None) -> list[Casing]:
        """The n cheapest casings of one line (fewer if there are fewer), cheapest first."""
        return self._best_paths(words, slice(None), arc_costs, n)

    def marginals(
        self, words: Words, stays_first: npt.NDArray[np.bool_], arc_costs: ArcCosts | None = None
    ) -> npt.NDArray[np.float64]:
        """float64[2, forms]: what the cheapest path of the line through each form of each word, or through an OOV word,
        costs if the word is not the first of a sentence, and if it is; +inf if none is finite.

        The words are those of one line. stays_first: bool[n], whether the word behind a first word is one, too.
        """
        ranges, begins = self.ranges(words, slice(None)), _begins(words, slice(None))
        # W, even if it costs nothing, has one word have one form, where T has all forms of the same word elsewhere.
        free = [[0.0] * len(forms) for forms in ranges]
        costs = free if arc_costs is None else self._costs(words, slice(None), arc_costs)
        least: tuple[list[float], list[float]] = [], []
        for i, forms in enumerate(ranges):
            first = i
            while first > 0 and stays_first[first - 1]:
                first -= 1
            unbroken = [*begins[:first], *[(False,)] * (i + 1 - first), *begins[i + 1 :]]
            broken = [[*begins[:j], (True,), *begins[j + 1 :]] for j in range(first, i + 1) if words.may_begin[j]]
            cases = ([], [begins]) if first == 0 else ([unbroken], broken)
            for k, form in enumerate(forms):
                only = [*ranges[:i], range(form, form + 1), *ranges[i + 1 :]]
                costs_of_only = [*costs[:i], costs[i][k : k + 1], *costs[i + 1 :]]
                for of_case, variants in zip(least, cases, strict=True):
                    found = (best_paths(self.lm, self.starts, only, v, 1, costs_of_only)[0][0] for v in variants)
                    of_case.append(min(found, default=np.inf))
        return np.array(least)

    def _best_paths(self, words: Words, line: slice, arc_costs: ArcCosts | None, n: int = 1) -> list[Casing]:
        costs = None if arc_costs is None else self._costs(words, line, arc_costs)
        paths = best_paths(self.lm, self.starts, self.ranges(words, line), _begins(words, line), n, costs)
        return [(cost, _path(labels, words.n_forms[line])) for cost, labels in paths]

    @staticmethod
    def _costs(words: Words, line: slice, arc_costs: ArcCosts) -> list[list[float]]:
        """The costs of each word's forms; 0 for an OOV word."""
        ends = np.cumsum(words.n_forms, dtype=np.int64)[line].tolist()
        forms = words.n_forms[line].tolist()
        return [arc_costs[end - k : end].tolist() or [0.0] for end, k in zip(ends, forms, strict=True)]


def _begins(words: Words, line: slice) -> list[tuple[bool, ...]]:
    return [(False, True) if may_begin else (False,) for may_begin in words.may_begin[line]]


def _path(labels: tuple[int, ...], n_forms: npt.NDArray[np.uint32]) -> LabelPath:
    """The path of a line with these labels, some of which are BREAK."""
    all_labels = np.array(labels, np.uint32)
    is_break = all_labels == BREAK
    return LabelPath(
        np.where(n_forms > 0, all_labels[~is_break], np.uint32(0)), np.append(False, is_break)[:-1][~is_break]
    )
