"""LM, the capitalization language model: a backoff acceptor over surface forms, with exact failure semantics.

In: a mapped model. Out: what a word or `</s>` costs behind a state (−ln P), and where it leads. A backoff arc is a
failure arc: taken for what the state lacks, and only then.
"""

from __future__ import annotations

import numpy as np

from capfst.characters import lower
from capfst.errors import CapfstError
from capfst.fst_read import CapFst
from capfst.symbols import UNKNOWN


class LanguageModel:
    """The LM one arc at a time, in plain Python; the kernels in fast.py do the same for whole texts."""

    def __init__(self, model: CapFst) -> None:
        self.model = model
        self.labels = model.arcs["ilabel"]
        self.unknown = self.label(UNKNOWN)

    def label(self, form: str) -> int:
        """The label of a surface form; that of `<unk>` if the model does not know it."""
        form = form.encode("utf-8", "replace").decode()  # no word of the model has a lone surrogate
        symbols, starts = self.model.symbols, self.model.starts
        for known in (form, UNKNOWN):
            for label in symbols.forms(lower(known), starts):
                if symbols[label] == known:
                    return label
        raise CapfstError(f"the model {self.model.path} has no {UNKNOWN}: train it again")

    def _backoff(self, state: int) -> tuple[float, int]:
        arc = self.model.arcs[self.model.states[state]["pos"]]
        return float(arc["weight"]), int(arc["nextstate"])

    def arc(self, state: int, label: int) -> tuple[float, int]:
        """The cost of `label` behind `state`, and the state behind both."""
        if state:
            first = int(self.model.states[state]["pos"]) + 1
            end = first - 1 + int(self.model.states[state]["narcs"])
            at = first + int(np.searchsorted(self.labels[first:end], label))
            if at == end or self.labels[at] != label:
                backoff, behind = self._backoff(state)
                cost, after = self.arc(behind, label)
                return backoff + cost, after
        else:
            at = label - 1
        return float(self.model.arcs[at]["weight"]), int(self.model.arcs[at]["nextstate"])

    def final(self, state: int) -> float:
        """The cost of `</s>` behind `state`."""
        final = float(self.model.states[state]["final"])
        if final < np.inf or not state:
            return final
        backoff, behind = self._backoff(state)
        return backoff + self.final(behind)
