"""The engine `fast`: bestpath(S ∘ T ∘ LM) by lazy composition over the mapped arcs.

In: the words of a buffer with the labels of their surface forms (transducer.py), and the model. Out: for each word the
label that the best path gives it. Same paths and costs as `openfst.py`, without building an FST.

Two steps for a chunk of words: `compose` (lattice.py) finds the LM states that some casing of the words leads to, and
their arcs (find.py); `search` (viterbi.py) finds the best path through them. `nbest.py` finds the n best
of a line, and the best through each form.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.casing.transducer import ArcCosts, Casing, Words
from capfst.errors import CapfstError
from capfst.fst.backoff import LanguageModel
from capfst.search import nbest
from capfst.search.lattice import IRREGULAR
from capfst.search.lookup import tables
from capfst.search.viterbi import search
from capfst.text.tokenizer import NEWLINE

CHUNK = 96
"""Words. Their nodes fit into the cache."""


class Engine:
    """The best paths of whole texts; each line starts in the LM state `start`. Threads may share it."""

    def __init__(self, lm: LanguageModel, start: int) -> None:
        self.path = lm.model.path
        self.start = start
        self.unknown = lm.unknown
        self.tables = tables(lm.model)

    def best(self, words: Words, weights: ArcCosts | None = None, chunk: int = CHUNK) -> npt.NDArray[np.uint32]:
        """The label of each word on its line's best path; 0 for OOV words and line ends."""
        return self.search(words, weights, chunk)[0]

    def search(
        self, words: Words, weights: ArcCosts | None = None, chunk: int = CHUNK
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
        """As `best`; and the cost of each line's best path, one more than there are line ends."""
        choice = np.empty(len(words.token_types), np.uint32)
        costs = np.empty(1 + np.count_nonzero(words.token_types == NEWLINE))
        if not search(
            words.token_types, words.first_labels, words.n_forms, *_weighed(words, weights), self.unknown, self.start,
            *self.tables, chunk, choice, costs,
        ):  # fmt: skip
            raise self._irregular()
        return choice, costs

    def nbest(self, words: Words, n: int, weights: ArcCosts | None = None) -> list[Casing]:
        """The n cheapest casings of one line (fewer if there are fewer), cheapest first.

        If none has a finite cost, they are the most frequent forms, at the cost +inf.
        """
        n = min(n, math.prod(max(1, forms) for forms in words.n_forms.tolist()))
        found = nbest.best_paths(words.first_labels, words.n_forms, *self._line(words, weights), n)
        return list(zip(found[0].tolist(), found[1], strict=True)) or [
            (np.inf, np.where(words.n_forms, words.first_labels, 0))
        ]

    def marginals(self, words: Words, weights: ArcCosts | None = None) -> npt.NDArray[np.float64]:
        """float64[sum of forms]: what the cheapest path of the line through each form of each word costs, +inf if none
        is finite. The words are those of one line."""
        least = np.empty(words.n_forms.sum())
        nbest.through(words.n_forms, *self._line(words, weights), least)
        return least

    def _line(self, words: Words, weights: ArcCosts | None) -> tuple[Any, ...]:
        made = nbest.lattice(
            words.token_types,
            words.first_labels,
            words.n_forms,
            *_weighed(words, weights),
            self.unknown,
            self.start,
            *self.tables,
        )
        if made[0] == IRREGULAR:
            raise self._irregular()
        return self.tables.states, self.tables.arcs, *made

    def _irregular(self) -> CapfstError:
        return CapfstError(
            f"cannot use the model {self.path}: its backoff arcs do not lead to shorter contexts: train it again"
        )


def _weighed(words: Words, weights: ArcCosts | None) -> tuple[npt.NDArray[np.int64], ArcCosts]:
    """Where the weights of each word's forms begin; and the weights, with a 0 for OOV words. Both may be empty."""
    if weights is None:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    return np.cumsum(words.n_forms, dtype=np.int64) - words.n_forms, np.append(weights, np.float32(0))
