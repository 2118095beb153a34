"""The words of a text, their casings and the costs of these: what goes from stage to stage.

`Words` come from S ∘ T (transducer.py), `CasingCosts` from the context or the source, `LabelPath` from the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels.types import BoolArray, I64Array, U8Array, U32Array


class Words(NamedTuple):
    """The words of a buffer, line ends among them: word i is buf[starts[i]:ends[i]], and its surface forms are the
    labels first_labels[i] … first_labels[i] + n_forms[i] − 1."""

    starts: I64Array
    ends: I64Array
    token_types: U8Array
    first_labels: U32Array
    n_forms: U32Array
    may_begin: BoolArray  # whether a sentence may begin with the word, inside its line


ArcCosts = npt.NDArray[np.float32]
"""What the surface forms of each word cost beside the LM (−ln): one cost for each form, word after word."""


class Copies(NamedTuple):
    """Words that may be written as another text has them, which has them in other case."""

    text: U8Array
    starts: I64Array  # [n]: of each word; −1: there is none
    ends: I64Array


class CasingCosts(NamedTuple):
    """What the context model says of a text's words, or the source of a translation; all None without both."""

    arc_costs: ArcCosts | None = None
    shapes: npt.NDArray[np.uint8] | None = None
    """[n]: the shape in which a word is written that is in its most frequent form, or OOV; or `shapes.AS_FORM`."""
    options: npt.NDArray[np.float32] | None = None
    """[n, N_SHAPES + 1]: what each word costs in each shape if the LM reads it as its most frequent form, or cannot
    read it, and what in that form itself; +inf if it is not written so. The least is its form's arc cost."""
    scale: float = 1.0
    """What −ln P is to costs: the LM's weight, by which the others are divided, if there is a source."""
    copies: Copies | None = None
    """How the words are written whose shape is MIXED, and PROTECTED tokens."""


class LabelPath(NamedTuple):
    """A path through S ∘ T ∘ LM."""

    labels: U32Array  # of each word; 0 for OOV words
    begins: BoolArray  # whether a sentence begins with the word, inside its line


Casing = tuple[float, LabelPath]
"""A cost, and a path of a line."""
