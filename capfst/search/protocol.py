"""What an engine of the search offers; `fast.py` and `openfst.py` are two."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from capfst.casing.types import ArcCosts, Casing, LabelPath, Words
from capfst.lm.query import Starts
from capfst.search.token_lattice import TokenLattice


class Engine(Protocol):
    """Finds the best paths of texts: bestpath(S ∘ T ∘ LM). Threads may share an engine.

    Costs are −ln P. arc_costs: float32, of each surface form of each word, added to the costs of the LM.
    """

    starts: Starts
    """The LM states in which lines and sentences begin."""

    def best(self, words: Words, arc_costs: ArcCosts | None = None) -> LabelPath:
        """Return the best path of each line; the labels of line ends are 0."""

    def search(self, words: Words, arc_costs: ArcCosts | None = None) -> tuple[LabelPath, npt.NDArray[np.float64]]:
        """Return the best path of each line as `best` does, and its cost, float64[line ends + 1]."""

    def nbest(self, words: Words, n: int, arc_costs: ArcCosts | None = None) -> list[Casing]:
        """Return the n cheapest casings of one line (fewer if there are fewer), cheapest first; if no casing has a
        finite cost, the most frequent forms, at the cost +inf."""

    def best_arcs(self, lattice: TokenLattice) -> tuple[float, list[int]]:
        """Return the cost of the best path through a word lattice, and the arcs of the word lattice on it; +inf if
        there is none."""
