"""The engine `fast`: bestpath(S ∘ T ∘ LM) by lazy composition over the mapped arcs.

In: the words of a buffer with the labels of their surface forms (casing/transducer.py), and the model. Out: for each
word its label on the best path. The paths and costs are those of `openfst.py`, but no FST is built.

Each chunk of words takes two steps: `compose` (lattice.py) finds the LM states that some casing of the words leads to,
and their arcs (lookup.py); `search` (viterbi.py) finds the best path through them. paths.py has all paths.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from capfst.casing.types import ArcCosts, Casing, LabelPath, Words
from capfst.exceptions import ModelError
from capfst.lm.query import LanguageModel, Starts
from capfst.search.lattice import OUT_OF_CAPACITY, new_lattice
from capfst.search.lookup import lookup_tables
from capfst.search.paths import all_paths, cheapest, most_frequent, places
from capfst.search.token_lattice import TokenLattice, line_lattice
from capfst.search.viterbi import DONE, IMPOSSIBLE, TOO_LONG, choose, search

CHUNK = 96
"""Words per chunk: its nodes fit into the cache."""
LARGEST = 1 << 26
"""Capacity of a lattice, at which its edges take 1 GB: a few words with a thousand casings each may need more."""


class Engine:
    """Find the best paths of texts: bestpath(S ∘ T ∘ LM). Threads may share an engine.

    Costs are −ln P. arc_costs: float32, of each surface form of each word, added to the costs of the LM. starts: the LM
    states in which lines and sentences begin.
    """

    chunk = CHUNK

    def __init__(self, lm: LanguageModel, starts: Starts) -> None:
        self.lm = lm
        self.starts = starts
        self.tables = lookup_tables(lm.model)

    def best(self, words: Words, arc_costs: ArcCosts | None = None) -> LabelPath:
        """Return the best path of each line; the labels of line ends are 0."""
        # Without costs, hardly any run of words is without a choice.
        return self.search(words, arc_costs, skips=arc_costs is not None)[0]

    def search(
        self, words: Words, arc_costs: ArcCosts | None = None, skips: bool = False
    ) -> tuple[LabelPath, npt.NDArray[np.float64]]:
        """Return the best path of each line, and its cost, float64[line ends + 1]. skips: leave out words without a
        choice, so that the costs are meaningless."""
        context, chunk = self.tables.context if skips else -1, self.chunk
        costs = np.empty(len(words.token_types) + 1)  # for the largest possible number of lines
        longest, capacity = chunk, 16 * chunk + 256
        while True:
            choices, path = choose(words, arc_costs, self.lm.unknown)
            lattice = new_lattice(longest, capacity)
            status, n = search(words, choices, context, self.starts, self.tables, chunk, lattice, path, costs)
            if status == DONE:
                return path, costs[:n]
            if status == IMPOSSIBLE:  # perhaps because words were skipped
                context = -1
            elif status == TOO_LONG:
                longest = 2 * n
            elif status == OUT_OF_CAPACITY and capacity < LARGEST:
                capacity *= 2
            elif status == OUT_OF_CAPACITY:
                raise ModelError(
                    "a line has too many words with hundreds of casings to search them all. Split the line, or train"
                    " with `min_count`."
                )
            else:
                raise ModelError(
                    f"{self.lm.model.path}: not an n-gram model (its backoff arcs do not lead to shorter contexts)."
                    " Train it again."
                )

    def nbest(self, words: Words, n: int, arc_costs: ArcCosts | None = None) -> list[Casing]:
        """Return the n cheapest casings of one line (fewer if there are fewer), cheapest first; if no casing has a
        finite cost, the most frequent forms, at the cost +inf."""
        n_choices = int((words.may_begin & (words.begin_odds < np.inf)).sum())  # of beginning a sentence
        n_paths = math.prod(max(1, forms) for forms in words.n_forms.tolist()) << n_choices
        paths = all_paths(line_lattice(words, arc_costs, self.lm.unknown), self.lm, self.starts)
        costs, edges = cheapest(paths, min(n, n_paths), len(words.n_forms) + 1)
        forms = places(words, paths.edges.arc[edges[:, :-1]])[1]
        labels = np.where(words.n_forms, words.first_labels + forms, 0).astype(np.uint32)
        begins = np.zeros(labels.shape, np.bool_)
        begins[:, 1:] = paths.edges.ends[edges[:, :-2]]
        return list(zip(costs.tolist(), map(LabelPath, labels, begins), strict=True)) or [most_frequent(words)]

    def best_arcs(self, lattice: TokenLattice) -> tuple[float, list[int]]:
        """Return the cost of the best path through a word lattice, and the arcs of the word lattice on it; +inf if
        there is none."""
        paths = all_paths(lattice, self.lm, self.starts)
        for cost, edges in zip(*cheapest(paths, 1, len(lattice.final)), strict=True):
            arcs = paths.edges.arc[edges[edges >= 0][:-1]]  # without END
            of_path = lattice.tokens["word"][np.searchsorted(lattice.tokens["arc"], arcs, "right") - 1]
            return float(cost), of_path[of_path >= 0].tolist()
        return np.inf, []
