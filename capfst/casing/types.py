"""The words of a text, their casings and the costs of these: the values that pass between the stages of recasing.

`Words` come from S ∘ T (transducer.py), `CasingCosts` from the context model or the source text, and a `LabelPath` from
the search. n is the number of words, line ends included; −ln is the negative natural logarithm.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.kernels.types import Array, BoolArray, F32Array, I64Array, Record, U8Array, U32Array
from capfst.text.tokenizer import Tokens


class Words(NamedTuple):
    """The words of a buffer, line ends included: word i is buf[starts[i]:ends[i]]. Its surface forms have the labels
    first_labels[i] … first_labels[i] + n_forms[i] − 1, the most frequent first."""

    starts: I64Array  # [n]: byte offsets
    ends: I64Array  # [n]: byte offsets
    token_types: U8Array  # [n]: WORD, COMPOUND, MARKS, PROTECTED or NEWLINE (text/tokenizer.py)
    first_labels: U32Array  # [n]: 0 for OOV words and line ends
    n_forms: U32Array  # [n]: 0 for OOV words and line ends
    may_begin: BoolArray  # [n]: whether a sentence may begin with the word, inside its line
    begin_odds: F32Array  # [n]: if one may, the logarithm of the odds, a weight on S: +inf if one does

    @property
    def begins(self) -> BoolArray:
        """[n]: whether a sentence probably begins with the word, inside its line."""
        return self.may_begin & (self.begin_odds > 0)

    @property
    def tokens(self) -> Tokens:
        return Tokens(*self[:3])


ArcCosts = npt.NDArray[np.float32]
"""float32[sum of n_forms]: −ln, the cost of each surface form of each word, word after word. The search adds it to the
cost of the LM; +inf excludes a form."""


class Copies(NamedTuple):
    """Words that may be written as they are in another text, in which they have other case."""

    text: U8Array  # UTF-8 of the other text
    starts: I64Array  # [n]: byte offsets in it; −1 for words without a copy
    ends: I64Array  # [n]: byte offsets in it


LISTED = np.dtype(
    [("word", "i8"), ("start", "i8"), ("end", "i8"), ("weight", "f4"), ("n", "i4"), ("shape", "u1")], align=True
)
"""A word of a text in the casing of an entry, which is start … end − 1 of `Found.text`, and the Shape of that. n: of
the first word of an entry: the number of its words. weight: of the entry, in nats, or FIXED."""
ListedArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(LISTED)]
Listed: TypeAlias = Annotated[Any, Record(LISTED)]


class Found(NamedTuple):
    """The entries in a text."""

    text: U8Array  # the words in the casing of entries
    fixed: ListedArray  # LISTED: the words in entries without a weight, in the order of the text
    weighted: ListedArray  # LISTED: the words in the others, entry after entry


KEEPS, KEEPS_FIRST = 1, 2
"""Values of `CasingCosts.keeps_capital`."""


class CasingCosts(NamedTuple):
    """The costs and shapes that the context model, or the source of a translation, assigns to the words of a text; all
    None without either."""

    arc_costs: ArcCosts | None = None
    shapes: U8Array | None = None
    """[n]: the shape to write for words in their most frequent form, or OOV words; `shapes.AS_FORM` for the form
    itself."""
    options: F32Array | None = None
    """[n, N_SHAPES + 1]: −ln, the cost per shape of words in their most frequent form, or OOV words; the last column is
    the cost of the most frequent form itself. +inf excludes a shape. The least of a row is the arc cost of the form."""
    copies: Copies | None = None
    """The spelling of words in the shape MIXED, and of PROTECTED tokens."""
    keeps_capital: U8Array | None = None
    """[n]: KEEPS if the word keeps the capital with which it is written where a sentence may begin, KEEPS_FIRST if it
    does so only where the path begins a sentence, else 0."""
    dotted: BoolArray | None = None
    """[n]: whether the word is in a language in which i is the lowercase of İ, in a model that also has others."""
    languages: U8Array | None = None
    """[n]: the number of the language of each word, in a model of several."""


class LabelPath(NamedTuple):
    """A path through S ∘ T ∘ LM."""

    labels: U32Array  # [n]: the surface forms; 0 for OOV words
    begins: BoolArray  # [n]: whether a sentence begins with the word, inside its line


Casing = tuple[float, LabelPath]
"""The cost of a path (−ln P), and the path, of one line."""
