"""Conditional random field: learn the weights under which cased translations are likeliest, given their source.

In: lines of both texts, links and the context model's costs. Out: the weights λ of p(E | F, A) = exp(−λ·f(E)) / Z with
the greatest Σ ln p − |λ − μ|² / 2σ² (a Gaussian prior, as in Wang, Knight & Marcu 2006, §4.4), by L-BFGS. f(E) are the
LM's cost and the sums of the values for which candidates.py has weights. σ is the one under which held-out lines are
likeliest.

μ is the model without a source: 1/3 for the costs by LM and context model, and for the classifier's, which differ
little between shapes while it has learned little; and 0 for all others except EXACT, which favors source words that are
the same word in mixed case. So a small corpus changes little.

If none of a word's candidates is the word as the translation has it, all of them count as right; so do all ways to
divide a line into sentences.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.candidates import (
    CANDIDATE,
    CLASSIFIER,
    CONTEXT,
    COPY,
    EXACT,
    LINKED,
    LM,
    N_ALL,
    SEEN,
    CandidateArray,
    Forms,
    Monolingual,
    is_same_word,
    linked_weight,
    list_candidates,
    weight_of,
)
from capfst.bilingual.classifier import classify
from capfst.bilingual.forward_backward import forward_backward
from capfst.bilingual.source_features import N_TEMPLATES, fill_templates
from capfst.bilingual.word_facts import MX, AnnotatedText
from capfst.casing.shapes import N_SHAPES
from capfst.exceptions import missing_extra
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
from capfst.lm.query import LanguageModel, Starts
from capfst.search.paths import END, Edges, line_paths
from capfst.text.unicode import INFO, LOWERING, Lowering

SIGMAS = (0.3, 1.0, 3.0)
"""Values of σ, of which the best on held-out lines is taken."""
PRIOR = 1 / 3
"""μ of the weights of LM, context model and classifier."""
PRIOR_EXACT = -1.0
"""μ of the weight of the source word itself, if it is the same word in mixed case."""
LEAST_LM_WEIGHT = 0.02
_ITERATIONS = 60


class Problem(NamedTuple):
    """Data from which the weights are learned, in flat arrays."""

    costs: F32Matrix  # [words, N_SHAPES]: −ln p by the classifier, of each word whose case is to be decided
    linked: I32Array  # [words]: the first of its weights for its relation to its source word
    candidates: CandidateArray  # CANDIDATE; `form` is an arc: the forms are numbered over all words of all lines
    words: I32Array  # [candidates]: the word, as a row of `costs`
    is_right: BoolArray  # [candidates]: whether it is the translation's casing
    edges: Edges  # of all lines; arcs are numbered over all lines
    ends: I64Array  # [lines + 1]: where each line's edges begin
    nodes: I64Array  # [lines]: the number of each line's nodes
    n_arcs: int


@allocating
def _collect(
    target: AnnotatedText,
    source: AnnotatedText,
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
) -> tuple[F32Matrix, I32Array, CandidateArray, I32Array, BoolArray]:
    """Return the candidates of a line's words, and what decides on them: (costs, linked, candidates, words, is_right)
    as in Problem.

    gold: the label of each word as it is cased, or `<unk>`. first_costs, first_arcs: by word, where the costs and the
    arcs of its forms begin.
    """
    here = target.lines[line]
    most, longest = 0, 8
    for i in range(here.begin, here.end):
        most += i64(target.words.n_forms[i]) + N_SHAPES
        longest = max(longest, target.words.ends[i] - target.words.starts[i])
    lowered = np.empty((2, 2 * longest + 8), np.uint8)
    size = here.end - here.begin
    of_classifier, linked, features = (
        np.empty((size, N_SHAPES), np.float32), np.empty(size, np.int32), np.empty(N_TEMPLATES, np.uint64)
    )  # fmt: skip
    candidates, words, is_right = np.empty(most, CANDIDATE), np.empty(most, np.int32), np.zeros(most, np.bool_)
    n_words, n = 0, 0
    for i in range(here.begin, here.end):
        k = links[i]
        copies = k >= 0 and source.facts[k].tag == MX
        copies = copies and is_same_word(target, i, source, k, info, lowering, lowered)
        these = candidates[n:]
        number = list_candidates(target, i, first_costs[i], source, k, copies, forms, costs, guess, these)
        if number == 0:
            continue
        fill_templates(target, source, links, i, line, features)
        classify(classifier, features, of_classifier[n_words])
        linked[n_words] = linked_weight(target, source, links, i)
        is_reached = False
        for c in range(n, n + number):
            candidate = candidates[c]
            words[c] = n_words
            if candidate.weight == COPY:
                right = target.facts[i].cased_hash == source.facts[k].cased_hash
            elif candidate.weight == SEEN or candidate.weight == EXACT:
                right = target.words.first_labels[i] + candidate.form == gold[i]
            else:
                right = target.facts[i].tag == candidate.shape
            is_right[c] = right
            is_reached = is_reached or right
            candidate.form += first_arcs[i]
        if not is_reached:
            is_right[n : n + number] = True
        n += number
        n_words += 1
    return of_classifier[:n_words], linked[:n_words], candidates[:n], words[:n], is_right[:n]


class ProblemCollector:
    """Collect lines into the problem from which the weights are learned."""

    def __init__(self) -> None:
        self._costs: list[npt.NDArray[np.float32]] = []
        self._linked: list[npt.NDArray[np.int32]] = []
        self._candidates: list[npt.NDArray] = []
        self._words: list[npt.NDArray[np.int32]] = []
        self._right: list[npt.NDArray[np.bool_]] = []
        self._edges: list[Edges] = []
        self._nodes: list[int] = []
        self._n_words = self._n_arcs = 0

    def add(
        self,
        target: AnnotatedText,
        source: AnnotatedText,
        links: npt.NDArray[np.int32],
        lines: list[int],
        gold: npt.NDArray[np.uint32],
        costs: Monolingual,
        forms: Forms,
        classifier: npt.NDArray[np.int8],
        guess: bool,
        lm: LanguageModel,
        starts: Starts,
    ) -> None:
        """Add those of the lines whose source has contrast.

        gold: the label of each word as it is cased, or `<unk>`. costs: those without the source. guess: whether the
        case of OOV words is decided on.
        """
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
            of_classifier, linked, candidates, of_words, right = _collect(
                target, source, links, line, forms, gold, guess, classifier, INFO, LOWERING, costs, first_costs,
                first_arcs,
            )  # fmt: skip
            paths = line_paths(type(words)._make(array[begin:end] for array in words), None, lm, starts)
            edges = paths.edges
            edges.arc[edges.arc != END] += self._n_arcs
            self._costs.append(of_classifier)
            self._linked.append(linked)
            self._candidates.append(candidates)
            self._words.append(of_words + np.int32(self._n_words))
            self._right.append(right)
            self._edges.append(edges)
            self._nodes.append(len(paths.begins) - 1)
            self._n_words += len(linked)
            self._n_arcs += int(n_arcs[begin:end].sum())

    def __len__(self) -> int:
        return len(self._nodes)

    def problem(self) -> Problem:
        """Return all lines that were added, at least one, as a problem."""
        return Problem(
            np.concatenate(self._costs),
            np.concatenate(self._linked),
            np.concatenate(self._candidates),
            np.concatenate(self._words),
            np.concatenate(self._right),
            Edges(*map(np.concatenate, zip(*self._edges, strict=True))),
            np.cumsum([0, *(len(edges.arc) for edges in self._edges)]),
            np.array(self._nodes),
            self._n_arcs,
        )


@allocating
def _objective(problem: Problem, lines: I64Array, weights: F64Array, gradient: F64Array) -> f64:
    """Return −Σ ln p(E | F, A) of some of the lines, and add its gradient.

    ln p = ln Z_right − ln Z, sums over the paths of right candidates and over all paths (forward–backward). The
    gradient of −ln p with respect to λ is E[f | right] − E[f].
    """
    candidates = problem.candidates
    n = candidates.size
    scores = np.empty(n)
    sums, right_sums = np.zeros(problem.n_arcs), np.zeros(problem.n_arcs)  # of e^score over each arc's candidates
    has_candidate = np.zeros(problem.n_arcs, np.bool_)
    for c in range(n):
        candidate = candidates[c]
        word, shape = problem.words[c], candidate.shape
        cost = (
            weights[CLASSIFIER + candidate.group] * problem.costs[word, shape] + weights[problem.linked[word] + shape]
        )
        score = -cost - weight_of(candidate, weights)
        scores[c] = np.exp(max(-600.0, min(600.0, score)))
        has_candidate[candidate.form] = True
        sums[candidate.form] += scores[c]
        if problem.is_right[c]:
            right_sums[candidate.form] += scores[c]
    log_sums, log_right_sums = np.zeros(problem.n_arcs), np.zeros(problem.n_arcs)
    for arc in range(problem.n_arcs):
        if has_candidate[arc]:
            log_sums[arc] = np.log(sums[arc])
            log_right_sums[arc] = np.log(right_sums[arc]) if right_sums[arc] > 0 else -np.inf
    posteriors, right_posteriors = np.zeros(problem.n_arcs), np.zeros(problem.n_arcs)
    most = 2
    for line in lines:
        most = max(most, problem.nodes[line])
    forward, backward = np.empty(most), np.empty(most)
    total = 0.0
    for line in lines:
        begin, end, n_nodes = problem.ends[line], problem.ends[line + 1], problem.nodes[line]
        log_z, expected = forward_backward(
            problem.edges, begin, end, n_nodes, weights[LM], log_sums, forward, backward, posteriors
        )
        log_p, of_lm = forward_backward(
            problem.edges, begin, end, n_nodes, weights[LM], log_right_sums, forward, backward, right_posteriors
        )
        total += log_z - log_p
        gradient[LM] += of_lm - expected
    for c in range(n):
        candidate, word = candidates[c], problem.words[c]
        change = -posteriors[candidate.form] * scores[c] / sums[candidate.form]
        if problem.is_right[c]:
            change += right_posteriors[candidate.form] * scores[c] / right_sums[candidate.form]
        if change == 0:
            continue
        gradient[CONTEXT + candidate.group] += change * candidate.context
        gradient[CLASSIFIER + candidate.group] += change * problem.costs[word, candidate.shape]
        gradient[problem.linked[word] + candidate.shape] += change
        gradient[candidate.weight] += change
        if candidate.weight == COPY:
            gradient[EXACT] += change
    return total


def negative_log_likelihood(
    problem: Problem, lines: npt.NDArray[np.int64], weights: npt.NDArray[np.float64]
) -> tuple[float, npt.NDArray[np.float64]]:
    """Return −Σ ln p(E | F, A) of some of the lines, and its gradient, float64[N_ALL]."""
    gradient = np.zeros(N_ALL)
    return float(_objective(problem, lines, weights, gradient)), gradient


def prior_mean() -> npt.NDArray[np.float64]:
    """Return μ, float64[N_ALL]."""
    mean = np.zeros(N_ALL)
    mean[LM] = mean[CONTEXT:LINKED] = PRIOR
    mean[EXACT] = PRIOR_EXACT
    return mean


def check_scipy() -> None:
    """Raise CapfstError if SciPy is not installed."""
    if find_spec("scipy") is None:
        raise missing_extra("training on translations needs SciPy", "bilingual")


def fit(
    problem: Problem, lines: npt.NDArray[np.int64], sigma: float, start: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the weights with the least −Σ ln p + |λ − μ|² / 2σ² over some of the lines, starting the search from
    `start`."""
    from scipy.optimize import minimize  # noqa: PLC0415  (an optional part)

    mean = prior_mean()

    def objective(weights: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        value, gradient = negative_log_likelihood(problem, lines, weights)
        away = weights - mean
        return value + float(away @ away) / (2 * sigma**2), gradient + away / sigma**2

    bounds = [(LEAST_LM_WEIGHT if k == LM else None, None) for k in range(N_ALL)]
    result = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _ITERATIONS, "maxcor": 10}
    )
    weights: npt.NDArray[np.float64] = result.x
    return weights


class Learned(NamedTuple):
    """Learned weights, and how σ was chosen."""

    weights: npt.NDArray[np.float64]  # [N_ALL]
    sigma: float
    held_out: dict[float, float]  # by σ: mean −ln p of held-out lines


def learn(problem: Problem) -> Learned:
    """Return the weights learned from all lines, with the σ of SIGMAS that is best on every fourth line after learning
    from the others."""
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
