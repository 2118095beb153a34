"""The bilingual part of cap.fst, mapped: the weights, and the classifier's.

In: what was learned. Out: a part of the model's trailer (fst/trailer.py), and `Bilingual`, which reads it where it
    lies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.casings import LM, N_ALL, Forms
from capfst.casing.shapes import N_SHAPES, shapes
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.fst.trailer import Part

PART = "bilingual"
_FORMAT = 2


class Bilingual(NamedTuple):
    """What a model has learned from translations."""

    weights: npt.NDArray[np.float32]  # [N_ALL]; that of the LM is positive
    classifier: npt.NDArray[np.int8]  # [2^b, N_SHAPES]
    pairs: int  # of lines that it was learned from

    @classmethod
    def of(cls, model: CapFst) -> Bilingual | None:
        """The bilingual part of a model; None if it has none. CapfstError if it cannot be used."""
        part = model.parts.get(PART)
        if part is None:
            return None
        if part.settings.get("format") != _FORMAT:
            raise CapfstError(
                f"the bilingual part of {model.path} is of another version of capfst: train it again (capfst"
                " train-bilingual)"
            )
        try:
            weights = part.arrays["weights"].view(np.float32)
            classifier = part.arrays["classifier"].view(np.int8).reshape(-1, N_SHAPES)
            if len(weights) != N_ALL or not np.isfinite(weights).all() or weights[LM] <= 0:
                raise ValueError("its weights are impossible")
            if len(classifier).bit_count() != 1:
                raise ValueError("the size of its classifier is no power of 2")
            return cls(weights, classifier, int(part.settings["pairs"]))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise CapfstError(
                f"the bilingual part of {model.path} is damaged ({error}): train it again (capfst train-bilingual)"
            ) from error

    def part(self) -> Part:
        """As a part of a model's file."""
        arrays = {"weights": self.weights.view(np.uint8), "classifier": self.classifier.view(np.uint8).reshape(-1)}
        return Part({"format": _FORMAT, "pairs": self.pairs}, arrays)


def forms_of(model: CapFst) -> Forms:
    """The surface forms of a model."""
    return Forms(model.symbols.data, model.symbols.offsets, shapes(model.symbols))
