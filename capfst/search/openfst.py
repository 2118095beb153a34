"""The engine `openfst`: P = bestpath(S ∘ T ∘ LM), as the equation says (Beaufays & Strope 2013, eq. 1).

In: for each word of a sentence the labels of its surface forms (`<unk>` for an OOV word). Out: the best casings with
their costs. The executable specification: each factor is an FST of its own, composed and searched by OpenFst.

* S: the sentence, an acceptor; a lowercase word's label is that of its most frequent form.
* T: one state; an arc from each lowercase word to each of its surface forms.
* W: what the forms cost beside the LM, if anything: a linear acceptor, as S is; S ∘ T ∘ W is S ∘ T with these costs.
* LM: what S ∘ T can reach of it, each backoff taken only where the state lacks the word (fst/backoff.py): OpenFst
  composes ε as ε, but a backoff arc is a failure arc.

Costs are −ln P. OpenFst adds them in single precision; so paths within a small margin of its best are kept, and
compared exactly. Ties go to the more frequent form of the first word in which paths differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pynini
from pywrapfst import Arc

from capfst.casing.transducer import ArcCosts, Casing, Words
from capfst.fst.backoff import LanguageModel
from capfst.text.tokenizer import NEWLINE

Path = tuple[float, tuple[int, ...]]
"""A cost and the labels of a sentence's words."""
Costs = Sequence[Sequence[float]]
"""What each form of each word costs beside the LM."""


def sentence(words: Sequence[range]) -> pynini.Fst:
    """S."""
    s = pynini.Fst()
    s.add_states(len(words) + 1)
    s.set_start(0)
    for i, forms in enumerate(words):
        s.add_arc(i, Arc(forms[0], forms[0], 0, i + 1))
    s.set_final(len(words))
    return s


def transducer(words: Sequence[range]) -> pynini.Fst:
    """T, for the words of the sentence."""
    t = pynini.Fst()
    t.set_start(t.add_state())
    for forms in sorted(set(words), key=lambda forms: forms[0]):
        for form in forms:
            t.add_arc(0, Arc(forms[0], form, 0, 0))
    t.set_final(0)
    return t.arcsort("ilabel")


def weighing(words: Sequence[range], costs: Costs) -> pynini.Fst:
    """W."""
    w = pynini.Fst()
    w.add_states(len(words) + 1)
    w.set_start(0)
    for i, forms in enumerate(words):
        for form, cost in zip(forms, costs[i], strict=True):
            w.add_arc(i, Arc(form, form, cost, i + 1))
    w.set_final(len(words))
    return w


def reachable(lm: LanguageModel, start: int, words: Sequence[range]) -> pynini.Fst:
    """LM, as far as the words in their order can reach it from the state `start`."""
    part = pynini.Fst()
    number = {start: part.add_state()}
    part.set_start(0)
    added = set()
    frontier = {start}
    for forms in words:
        reached = set()
        for state in frontier:
            for form in forms:
                cost, after = lm.arc(state, form)
                reached.add(after)
                if (state, form) not in added:
                    added.add((state, form))
                    if after not in number:
                        number[after] = part.add_state()
                    part.add_arc(number[state], Arc(form, form, cost, number[after]))
        frontier = reached
    for state in frontier:
        part.set_final(number[state], lm.final(state))
    return part.arcsort("ilabel")


def _exact_best(lm: LanguageModel, start: int, p: pynini.Fst, words: Sequence[range], costs: Costs) -> Path:
    """The best of the few paths in `p`, with costs in double precision and ties decided."""
    # behind[i]: p's state → (cost, LM state, p's state before, label), for the prefixes of i words
    behind: list[dict[int, tuple[float, int, int, int]]] = [{p.start(): (0.0, start, -1, 0)}]

    def labels(i: int, state: int) -> tuple[int, ...]:
        path = []
        while i:
            _, _, state, label = behind[i][state]
            path.append(label)
            i -= 1
        return tuple(reversed(path))

    size = len(words)
    for i, forms in enumerate(words):
        reached: dict[int, tuple[float, int, int, int]] = {}
        behind.append(reached)
        for state, (cost, lm_state, _, _) in behind[i].items():
            for arc in p.arcs(state):
                more, after = lm.arc(lm_state, arc.olabel)
                new = (cost + more + costs[i][arc.olabel - forms[0]], after, state, arc.olabel)
                old = reached.setdefault(arc.nextstate, new)
                if new[0] < old[0] or (
                    new[0] == old[0] and (*labels(i, state), arc.olabel) < (*labels(i, old[2]), old[3])
                ):
                    reached[arc.nextstate] = new
    return min((entry[0] + lm.final(entry[1]), labels(size, state)) for state, entry in behind[size].items())


def _labels(p: pynini.Fst) -> Iterator[tuple[int, ...]]:
    """The labels of each path of an acyclic FST."""
    stack: list[tuple[int, tuple[int, ...]]] = [(p.start(), ())]
    while stack:
        state, labels = stack.pop()
        if float(p.final(state)) != np.inf:
            yield labels
        for arc in p.arcs(state):
            stack.append((arc.nextstate, (*labels, arc.olabel) if arc.olabel else labels))


def _cost(lm: LanguageModel, state: int, labels: Sequence[int], words: Sequence[range], costs: Costs) -> float:
    cost = 0.0
    for i, label in enumerate(labels):
        more, state = lm.arc(state, label)
        cost += more + costs[i][label - words[i][0]]
    return cost + lm.final(state)


def best_paths(
    lm: LanguageModel, start: int, words: Sequence[range], n: int = 1, costs: Costs | None = None
) -> list[Path]:
    """bestpath(S ∘ T ∘ LM): the n cheapest casings (fewer if there are fewer), cheapest first.

    If no casing has a finite cost, they are the most frequent forms, at the cost +inf.
    """
    st = pynini.compose(sentence(words), transducer(words))
    if costs is None:
        costs = [[0.0] * len(forms) for forms in words]
    else:
        st = pynini.compose(st, weighing(words, costs))
    p = pynini.compose(st, reachable(lm, start, words))
    cost = float(pynini.shortestdistance(p, reverse=True)[p.start()]) if p.num_states() else np.inf
    if cost == np.inf:
        return [(np.inf, tuple(forms[0] for forms in words))]
    if n == 1:
        return [_exact_best(lm, start, pynini.prune(p, weight=1e-3 + 1e-5 * abs(cost)), words, costs)]
    # More than n, as equal costs at the margin are decided here.
    paths = _labels(pynini.shortestpath(p, nshortest=2 * n + 8))
    with_costs = ((_cost(lm, start, labels, words, costs), labels) for labels in paths)
    return sorted(path for path in with_costs if path[0] < np.inf)[:n]


def _lines(words: Words) -> Iterator[slice]:
    """The words of each line, without the line ends."""
    ends = np.flatnonzero(words.token_types == NEWLINE).tolist()
    for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(words.token_types)], strict=True):
        yield slice(start, end)


class Engine:
    """The best paths of whole texts; each line starts in the LM state `start`."""

    def __init__(self, lm: LanguageModel, start: int) -> None:
        self.lm = lm
        self.start = start

    def ranges(self, words: Words, line: slice) -> list[range]:
        """The labels that each word of a line can have; `<unk>` for an OOV word, which passes through (ρ)."""
        first, forms = words.first_labels[line].tolist(), words.n_forms[line].tolist()
        unknown = range(self.lm.unknown, self.lm.unknown + 1)
        return [range(a, a + k) if k else unknown for a, k in zip(first, forms, strict=True)]

    def best(self, words: Words, arc_costs: ArcCosts | None = None) -> npt.NDArray[np.uint32]:
        """The label of each word on its line's best path; 0 for OOV words and line ends."""
        return self.search(words, arc_costs)[0]

    def search(
        self, words: Words, arc_costs: ArcCosts | None = None
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
        """As `best`; and the cost of each line's best path, one more than there are line ends."""
        choice, costs = np.zeros(len(words.token_types), np.uint32), []
        for line in _lines(words):
            cost, choice[line] = self._best_paths(words, line, arc_costs)[0]
            costs.append(cost)
        choice[words.n_forms == 0] = 0
        return choice, np.array(costs)

    def nbest(self, words: Words, n: int, arc_costs: ArcCosts | None = None) -> list[Casing]:
        """The n cheapest casings of one line (fewer if there are fewer), cheapest first; OOV words have the label 0."""
        paths = self._best_paths(words, slice(None), arc_costs, n)
        return [(cost, np.where(words.n_forms > 0, labels, 0).astype(np.uint32)) for cost, labels in paths]

    def marginals(self, words: Words, arc_costs: ArcCosts | None = None) -> npt.NDArray[np.float64]:
        """float64[sum of forms]: what the cheapest path of the line through each form of each word costs, +inf if none
        is finite. The words are those of one line."""
        ranges = self.ranges(words, slice(None))
        # W, even if it costs nothing, has one word have one form, where T has all forms of the same word elsewhere.
        free = [[0.0] * len(forms) for forms in ranges]
        costs = free if arc_costs is None else self._costs(words, slice(None), arc_costs)
        least = []
        for i in np.flatnonzero(words.n_forms):
            for k, form in enumerate(ranges[i]):
                only = [*ranges[:i], range(form, form + 1), *ranges[i + 1 :]]
                costs_of_only = [*costs[:i], costs[i][k : k + 1], *costs[i + 1 :]]
                least.append(best_paths(self.lm, self.start, only, 1, costs_of_only)[0][0])
        return np.array(least)

    def _best_paths(self, words: Words, line: slice, arc_costs: ArcCosts | None, n: int = 1) -> list[Path]:
        costs = None if arc_costs is None else self._costs(words, line, arc_costs)
        return best_paths(self.lm, self.start, self.ranges(words, line), n, costs)

    @staticmethod
    def _costs(words: Words, line: slice, arc_costs: ArcCosts) -> list[list[float]]:
        """The costs of each word's forms; 0 for an OOV word."""
        ends = np.cumsum(words.n_forms, dtype=np.int64)[line].tolist()
        forms = words.n_forms[line].tolist()
        return [arc_costs[end - k : end].tolist() or [0.0] for end, k in zip(ends, forms, strict=True)]
