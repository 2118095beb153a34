"""The weights: those under which cased translations are likeliest, given their source (a conditional random field).

In: lines with their texts, links and the context's costs. Out: the weights λ of p(E | F, A) ∝ exp(−λ·f(E)) with the
greatest Σ ln p − |λ − μ|² / 2σ² (a Gaussian prior, as in Wang, Knight & Marcu 2006, §4.4), by L-BFGS; f(E) are the LM's
costs and the sums of what casings.py has weights for; and σ with the likeliest held-out lines.

μ is the model without a source, 1/3 for the costs of LM and context, and for the classifier's, which tells little as
long as it has learned little; and 0 else, but that it favours source words in mixed case that are the same. So little
data changes little.

Where the cased translation has a word in no casing that it may have, all are as good; so are all ends of sentences.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.casings import (
    CASING,
    CLASSIFIER,
    CONTEXT,
    COPY,
    EXACT,
    LINKED,
    LM,
    N_ALL,
    SEEN,
    CasingArray,
    Forms,
    Monolingual,
    find_casings,
    is_same_word,
    linked_weight,
    weight_of,
)
from capfst.bilingual.classifier import classify
from capfst.bilingual.forward_backward import Edges, forward_backward, line_edges
from capfst.bilingual.source_features import N_TEMPLATES, fill_templates
from capfst.bilingual.word_facts import MX, Text
from capfst.casing.shapes import N_SHAPES
from capfst.exceptions import CapfstError
from capfst.kernels import allocating
from capfst.kernels.types import (
    BoolArray,
    F32Matrix,
    F64Array,
    I8Matrix,
    I32Array,
    I64Array,
    U8Array,
    U32Array,
    f64,
    i64,
)
from capfst.text.unicode import INFO, LOWERING, Lowering

SIGMAS = (0.3, 1.0, 3.0)
"""σ, of which the best is found on held-out lines."""
PRIOR = 1 / 3
"""μ of the weights of LM, context and classifier."""
PRIOR_EXACT = -1.0
"""μ of the weight of the source word, where that is in mixed case and the same word."""
LEAST_LM_WEIGHT = 0.02
_ITERATIONS = 60


class Problem(NamedTuple):
    """What the weights are learned from, in flat arrays."""

    costs: F32Matrix  # [words, N_SHAPES]: the classifier's, of each word whose case is in question
    linked: I32Array  # [words]: the first of its weights for how it goes with its source word
    casings: CasingArray  # CASING; `form` is an arc: all forms of all words are counted through
    words: I32Array  # [casings]: the word, of `costs`
    is_right: BoolArray  # [casings]: whether the translation may have it
    edges: Edges  # of all lines; arcs are counted through
    ends: I64Array  # [lines + 1]: where each line's edges begin
    nodes: I64Array  # [lines]: how many nodes each has
    n_arcs: int


@allocating
def _collect(
    target: Text,
    source: Text,
    links: I32Array,
    line: i64,
    forms: Forms,
    gold: U32Array,
    guess: bool,
    classifier: I8Matrix,
    info: U8Array,
    lowering: Lowering,
    costs: Monolingual,
    first_costs: I64Array,
    first_arcs: I64Array,
) -> tuple[F32Matrix, I32Array, CasingArray, I32Array, BoolArray]:
    """The casings of a line's words, and what decides on them: (costs, linked, casings, words, is_right) of Problem.

    gold: the label of each word as it is cased, or `<unk>`. first_costs, first_arcs: by word.
    """
    here = target.lines[line]
    most, longest = 0, 8
    for i in range(here.begin, here.end):
        most += i64(target.words.n_forms[i]) + N_SHAPES
        longest = max(longest, target.words.ends[i] - target.words.starts[i])
    room_of_words = np.empty((2, 2 * longest + 8), np.uint8)
    size = here.end - here.begin
    of_classifier, linked, features = (
        np.empty((size, N_SHAPES), np.float32), np.empty(size, np.int32), np.empty(N_TEMPLATES, np.uint64)
    )  # fmt: skip
    casings, words, is_right = np.empty(most, CASING), np.empty(most, np.int32), np.zeros(most, np.bool_)
    n_words, n = 0, 0
    for i in range(here.begin, here.end):
        k = links[i]
        copies = k >= 0 and source.facts[k].tag == MX
        copies = copies and is_same_word(target, i, source, k, info, lowering, room_of_words)
        these = casings[n:]
        number = find_casings(target, i, first_costs[i], source, k, copies, forms, costs, guess, these)
        if number == 0:
            continue
        fill_templates(target, source, links, i, line, features)
        classify(classifier, features, of_classifier[n_words])
        linked[n_words] = linked_weight(target, source, links, i)
        is_reached = False
        for c in range(n, n + number):
            casing = casings[c]
            words[c] = n_words
            if casing.weight == COPY:
                right = target.facts[i].cased_hash == source.facts[k].cased_hash
            elif casing.weight == SEEN or casing.weight == EXACT:
                right = target.words.first_labels[i] + casing.form == gold[i]
            else:
                right = target.facts[i].tag == casing.shape
            is_right[c] = right
            is_reached = is_reached or right
            casing.form += first_arcs[i]
        if not is_reached:
            is_right[n : n + number] = True
        n += number
        n_words += 1
    return of_classifier[:n_words], linked[:n_words], casings[:n], words[:n], is_right[:n]


class Collector:
    """Gathers lines until the weights are learned from them."""

    def __init__(self) -> None:
        self._costs: list[npt.NDArray[np.float32]] = []
        self._linked: list[npt.NDArray[np.int32]] = []
        self._casings: list[npt.NDArray] = []
        self._words: list[npt.NDArray[np.int32]] = []
        self._right: list[npt.NDArray[np.bool_]] = []
        self._edges: list[Edges] = []
        self._nodes: list[int] = []
        self._n_words = self._n_arcs = 0

    def add(
        self, target: Text, source: Text, links: npt.NDArray[np.int32], lines: list[int], gold: npt.NDArray[np.uint32],
        costs: Monolingual, forms: Forms, classifier: npt.NDArray[np.int8], guess: bool, search: tuple,
    ) -> None:  # fmt: skip
        """Adds lines of a text. search: (label of `<unk>`, starts, lookup tables)."""
        words = target.words
        first_costs = np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms
        n_arcs = np.maximum(words.n_forms, 1).astype(np.int64)
        for line in lines:
            if line >= len(source.lines) or not source.lines[line]["has_contrast"]:
                continue
            begin, end = int(target.lines[line]["begin"]), int(target.lines[line]["end"])
            if begin == end:
                continue
            first_arcs = np.zeros(len(n_arcs), np.int64)
            first_arcs[begin:end] = np.cumsum(n_arcs[begin:end]) - n_arcs[begin:end] + self._n_arcs
            of_classifier, linked, casings, of_words, right = _collect(
                target, source, links, line, forms, gold, guess, classifier, INFO, LOWERING, costs, first_costs,
                first_arcs,
            )  # fmt: skip
            edges, n_nodes = line_edges(type(words)._make(a[begin:end] for a in words), *search)
            if n_nodes < 0:
                raise CapfstError("the model's backoff arcs do not lead to shorter contexts: train it again")
            edges.arc[edges.arc >= 0] += self._n_arcs
            self._costs.append(of_classifier)
            self._linked.append(linked)
            self._casings.append(casings)
            self._words.append(of_words + np.int32(self._n_words))
            self._right.append(right)
            self._edges.append(edges)
            self._nodes.append(n_nodes)
            self._n_words += len(linked)
            self._n_arcs += int(n_arcs[begin:end].sum())

    def __len__(self) -> int:
        return len(self._nodes)

    def problem(self) -> Problem:
        """All lines that were added; at least one."""
        return Problem(
            np.concatenate(self._costs),
            np.concatenate(self._linked),
            np.concatenate(self._casings),
            np.concatenate(self._words),
            np.concatenate(self._right),
            Edges(*map(np.concatenate, zip(*self._edges, strict=True))),
            np.cumsum([0, *(len(edges.arc) for edges in self._edges)]),
            np.array(self._nodes),
            self._n_arcs,
        )


@allocating
def _objective(problem: Problem, lines: I64Array, weights: F64Array, gradient: F64Array) -> f64:
    """−Σ ln p of some of the lines; adds its gradient."""
    casings = problem.casings
    n = casings.size
    scores = np.empty(n)
    every, right = np.zeros(problem.n_arcs), np.zeros(problem.n_arcs)  # Σ e^score of the casings of an arc
    has_casing = np.zeros(problem.n_arcs, np.bool_)
    for c in range(n):
        casing = casings[c]
        word, shape = problem.words[c], casing.shape
        cost = weights[CLASSIFIER + casing.group] * problem.costs[word, shape] + weights[problem.linked[word] + shape]
        score = -cost - weight_of(casing, weights)
        scores[c] = np.exp(max(-600.0, min(600.0, score)))
        has_casing[casing.form] = True
        every[casing.form] += scores[c]
        if problem.is_right[c]:
            right[casing.form] += scores[c]
    log_every, log_right = np.zeros(problem.n_arcs), np.zeros(problem.n_arcs)
    for arc in range(problem.n_arcs):
        if has_casing[arc]:
            log_every[arc] = np.log(every[arc])
            log_right[arc] = np.log(right[arc]) if right[arc] > 0 else -np.inf
    of_every, of_right = np.zeros(problem.n_arcs), np.zeros(problem.n_arcs)
    most = 2
    for line in lines:
        most = max(most, problem.nodes[line])
    forward, backward = np.empty(most), np.empty(most)
    total = 0.0
    for line in lines:
        begin, end, n_nodes = problem.ends[line], problem.ends[line + 1], problem.nodes[line]
        log_z, expected = forward_backward(
            problem.edges, begin, end, n_nodes, weights[LM], log_every, forward, backward, of_every
        )
        log_p, of_lm = forward_backward(
            problem.edges, begin, end, n_nodes, weights[LM], log_right, forward, backward, of_right
        )
        total += log_z - log_p
        gradient[LM] += of_lm - expected
    for c in range(n):
        casing, word = casings[c], problem.words[c]
        share = -of_every[casing.form] * scores[c] / every[casing.form]
        if problem.is_right[c]:
            share += of_right[casing.form] * scores[c] / right[casing.form]
        if share == 0:
            continue
        gradient[CONTEXT + casing.group] += share * casing.context
        gradient[CLASSIFIER + casing.group] += share * problem.costs[word, casing.shape]
        gradient[problem.linked[word] + casing.shape] += share
        gradient[casing.weight] += share
        if casing.weight == COPY:
            gradient[EXACT] += share
    return total


def negative_log_likelihood(
    problem: Problem, lines: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
) -> tuple[float, npt.NDArray[np.float64]]:
    """−Σ ln p(E | F, A) of some of the lines, and its gradient, float64[N_ALL]."""
    gradient = np.zeros(N_ALL)
    return float(_objective(problem, lines, weights, gradient)), gradient


def prior_mean() -> npt.NDArray[np.float64]:
    """μ."""
    mean = np.zeros(N_ALL)
    mean[LM] = mean[CONTEXT:LINKED] = PRIOR
    mean[EXACT] = PRIOR_EXACT
    return mean


def check_scipy() -> None:
    """CapfstError if SciPy is not installed."""
    if find_spec("scipy") is None:
        raise CapfstError("training needs SciPy: pip install 'capfst[bilingual]'")


def fit(
    problem: Problem, lines: npt.NDArray[np.int64], sigma: float, start: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The weights for some of the lines, begun with those of `start`."""
    from scipy.optimize import minimize  # noqa: PLC0415  (an optional part)

    mean = prior_mean()

    def objective(weights: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        value, gradient = negative_log_likelihood(problem, lines, weights)
        away = weights - mean
        return value + float(away @ away) / (2 * sigma**2), gradient + away / sigma**2

    bounds = [(LEAST_LM_WEIGHT if k == LM else None, None) for k in range(N_ALL)]
    found = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _ITERATIONS, "maxcor": 10}
    )
    weights: npt.NDArray[np.float64] = found.x
    return weights


class Learned(NamedTuple):
    """Weights, and how they were found."""

    weights: npt.NDArray[np.float64]  # [N_ALL]
    sigma: float
    held_out: dict[float, float]  # −ln p of a held-out line under each σ, on average


def learn(problem: Problem) -> Learned:
    """The weights for all lines; σ is the best of SIGMAS on every fourth one, when learned from the others."""
    lines = np.arange(len(problem.nodes))
    is_held_out = lines % 4 == 3
    best = SIGMAS[0]
    held_out: dict[float, float] = {}
    weights = prior_mean()
    for sigma in SIGMAS if is_held_out.any() else ():
        weights = fit(problem, lines[~is_held_out], sigma, weights)
        held_out[sigma] = negative_log_likelihood(problem, lines[is_held_out], weights)[0] / is_held_out.sum()
        if held_out[sigma] <= held_out[best]:
            best = sigma
    return Learned(fit(problem, lines, best, weights), best, held_out)
