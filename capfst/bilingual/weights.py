"""Store the learned bilingual weights, and the classifier's, as a part of cap.fst; read them from there, memory-mapped.

In: learned weights. Out: a part of the model's trailer (fst/trailer.py), and `Bilingual`, views of its arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.candidates import LM, N_ALL, Forms
from capfst.casing.shapes import N_SHAPES, shapes
from capfst.exceptions import ModelError
from capfst.fst.read import CapFst
from capfst.fst.trailer import Part

PART = "bilingual"
_FORMAT = 2


class Bilingual(NamedTuple):
    """What a model has learned from translations: views of its part of the file."""

    weights: npt.NDArray[np.float32]  # [N_ALL]: λ; that of the LM is positive
    classifier: npt.NDArray[np.int8]  # [2^b, N_SHAPES]
    pairs: int  # of lines that they were learned from

    @classmethod
    def of(cls, model: CapFst) -> Bilingual | None:
        """Return the bilingual part of a model; None if it has none.

        Raises:
            ModelError: the part is damaged, or of another version of capfst.
        """
        part = model.parts.get(PART)
        if part is None:
            return None
        if part.settings.get("format") != _FORMAT:
            raise ModelError(
                f"{model.path}: the bilingual part was made by another version of capfst. Train it again with"
                " `train_bilingual`."
            )
        try:
            weights = part.arrays["weights"].view(np.float32)
            classifier = part.arrays["classifier"].view(np.int8).reshape(-1, N_SHAPES)
            if len(weights) != N_ALL or not np.isfinite(weights).all() or weights[LM] <= 0:
                raise ValueError("invalid weights")
            if len(classifier).bit_count() != 1:
                raise ValueError("the size of the classifier is not a power of 2")
            return cls(weights, classifier, int(part.settings["pairs"]))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise ModelError(
                f"{model.path}: the bilingual part is damaged ({error}). Train it again with `train_bilingual`."
            ) from error

    def part(self) -> Part:
        """Return the weights as a part of a model's file."""
        arrays = {"weights": self.weights.view(np.uint8), "classifier": self.classifier.view(np.uint8).reshape(-1)}
        return Part({"format": _FORMAT, "pairs": self.pairs}, arrays)


def forms_of(model: CapFst) -> Forms:
    """Return the surface forms of a model."""
    return Forms(model.symbols.data, model.symbols.offsets, shapes(model.symbols))
