"""Cells of a table: the share of words with capitals in a column is evidence for each of its words.

A cell such as `mary white` has no context, so p(shape | word) is that of running text, where most words are small. In a
column of names, most are not. With r the share of words with capitals in the column, p is multiplied by r for casings
with capitals and by 1 − r for lower case, and normalized: the adjustment of a classifier to new priors of Saerens,
Latinne & Decaestecker 2002 (Neural Computation 14), whose EM algorithm estimates r from the words themselves.

Words that begin a cell have an r of their own, because *de* and *of* do not begin names. r = 1/2 changes nothing;
Laplace's rule of succession keeps r near it where words are few.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.context.lexicon import BEGIN

_ROUNDS = 20


def share_capitals(tokens: npt.NDArray[np.void], log_p: npt.NDArray[np.float32]) -> None:
    """Change ln p, float32[n, N_SHAPES], of the n words of a column in place. tokens: TOKEN[n], of these words."""
    cased, begins = tokens["shape_evidence"] < BEGIN, tokens["position"] == 0
    for rows in (np.flatnonzero(cased & begins), np.flatnonzero(cased & ~begins)):
        p = np.exp(log_p[rows], dtype=np.float64)
        small, capital, share = p[:, Shape.LOWER], p[:, Shape.LOWER + 1 :].sum(1), 0.5
        for _ in range(_ROUNDS):
            share = (1 + (share * capital / (share * capital + (1 - share) * small)).sum()) / (2 + rows.size)
        p[:, Shape.LOWER] *= (1 - share) / share
        log_p[rows, Shape.LOWER] += np.log((1 - share) / share)
        log_p[rows] -= np.log(p.sum(1, keepdims=True))
