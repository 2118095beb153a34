"""Forward–backward over S ∘ T ∘ LM in the log semiring: sums over all casings of a line, instead of the best casing.

In: the edges of a line (search/paths.py), and scores of the arcs of S ∘ T. Out: ln Z, the posterior probability of each
arc, and the expected cost by the LM.
"""

from __future__ import annotations

import numpy as np

from capfst.kernels import inner
from capfst.kernels.types import F64Array, f64, i64
from capfst.search.paths import END, Edges


@inner
def _log_add(a: f64, b: f64) -> f64:
    """Return ln(eᵃ + eᵇ)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@inner
def forward_backward(
    edges: Edges,
    begin: i64,
    end: i64,
    n_nodes: i64,
    lm_weight: f64,
    scores: F64Array,
    forward: F64Array,
    backward: F64Array,
    posteriors: F64Array,
) -> tuple[f64, f64]:
    """Return ln Z of the edges begin … end − 1, a line with n_nodes nodes, and the expected cost by the LM; add the
    posterior probability of each arc to posteriors[arc].

    A path has the weight exp(Σ scores[arc] − lm_weight · Σ cost). scores[arc]: −inf if the arc is excluded. forward,
    backward: buffers, [n_nodes].
    """
    for node in range(n_nodes):
        forward[node] = backward[node] = -np.inf
    forward[0], backward[n_nodes - 1] = 0, 0
    for e in range(begin, end):
        score = -lm_weight * (edges.lm[e] + edges.gap[e])
        if edges.arc[e] != END:
            score += scores[edges.arc[e]]
        if score > -np.inf and forward[edges.source[e]] > -np.inf:
            forward[edges.target[e]] = _log_add(forward[edges.target[e]], forward[edges.source[e]] + score)
    log_z = forward[n_nodes - 1]
    expected = 0.0
    for e in range(end - 1, begin - 1, -1):
        score = -lm_weight * (edges.lm[e] + edges.gap[e])
        if edges.arc[e] != END:
            score += scores[edges.arc[e]]
        score += backward[edges.target[e]]
        if score == -np.inf or forward[edges.source[e]] == -np.inf:
            continue
        backward[edges.source[e]] = _log_add(backward[edges.source[e]], score)
        posterior = np.exp(forward[edges.source[e]] + score - log_z)
        expected += posterior * (edges.lm[e] + edges.gap[e])
        if edges.arc[e] != END:
            posteriors[edges.arc[e]] += posterior
    return log_z, expected
