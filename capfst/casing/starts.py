"""The option `only="starts"`: sentences get a capital, and so does the word I; all else stays as it is written.

In: the words of a text and the best path. Out: the path and the shapes with which `surface.write` writes only these
words anew, and which words they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.first_words import first_words
from capfst.casing.shapes import AS_FORM, Shape
from capfst.casing.types import CasingCosts, LabelPath, Words
from capfst.casing.written import SHAPE, written_shapes
from capfst.fst.symbols import Symbols

_I, _APOSTROPHE = ord("I"), ord("'")


def starts_only(
    buf: npt.NDArray[np.uint8], words: Words, path: LabelPath, costs: CasingCosts, symbols: Symbols, pretokenized: bool
) -> tuple[LabelPath, npt.NDArray[np.uint8], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return how to write only the first words of sentences, if they are in lower case, and the word I (I'm, I'll),
    where it is on the path: the path, and for each of the n words its shape, and whether it gets a capital, and whether
    it may change at all."""
    shapes = np.full(len(words.starts), AS_FORM, np.uint8) if costs.shapes is None else costs.shapes
    is_form = (shapes == AS_FORM) | (path.labels != words.first_labels)
    is_small = written_shapes(buf, words, pretokenized) & SHAPE == Shape.LOWER
    first = is_small & first_words(buf, words, path.begins, pretokenized, symbols.language, costs.languages)
    begin, end = symbols.offsets[path.labels], symbols.offsets[path.labels + 1]
    second = symbols.data[np.minimum(begin + 1, symbols.data.size - 1)]
    is_i = is_form & (symbols.data[begin] == _I) & ((end - begin == 1) | (second == _APOSTROPHE))
    labels = np.where(first, words.first_labels, path.labels)
    shapes = np.where(first, np.uint8(Shape.LOWER), shapes)
    return path._replace(labels=labels), shapes, first, first | (is_i & is_small)
