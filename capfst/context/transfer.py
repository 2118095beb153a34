"""The context model of one model for another one, whose symbols are others: for `capfst mix`.

In: a model with its context model, and a symbol table. Out: the context model as a part for the model that has these
symbols. What was known and learned of a lowercase word stays; a word that the first model does not know is, to the
context model, what it was before: one that it has never seen.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.context.casing_costs import score_unseen_words
from capfst.context.classes import RARE
from capfst.context.model import WORD, Context, part_of_context
from capfst.context.words import SUFFIX, UNSEEN, WHOLE, hash_words, label_shapes
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols
from capfst.fst.trailer import Part
from capfst.text.unicode import lower_bytes


def transferred(context: Context, model: CapFst, symbols: Symbols, starts: npt.NDArray[np.int64]) -> Part:
    """The context model of `model` for the symbols of another one, whose words' first labels are `starts`."""
    first = starts[:-1]
    old = _labels_there(model, symbols, first)
    known = old > 0
    hashes = hash_words(symbols, starts)
    words = np.zeros(len(symbols), WORD)
    words["word_hash"][first], words["suffix2_hash"][first] = hashes[:, WHOLE], hashes[:, SUFFIX + 1]
    words["unseen_penalty"][first], words["shape_evidence"][first] = 1, UNSEEN
    words["lower_class"][first] = words["cased_class"][first] = RARE
    words["one_letter"][first] = hashes[:, SUFFIX + 1] == 0
    words[first[known]] = context.words[old[known]]
    word_scores = np.zeros((len(context.scales), len(symbols), context.word_scores.shape[2]), np.int16)
    for scores, old_scores, stage1 in zip(word_scores, context.word_scores, context.stage1, strict=True):
        score_unseen_words(first[~known], hashes[~known], stage1, scores)
        scores[first[known]] = old_scores[old[known]]
    return part_of_context(context._replace(words=words, shapes=label_shapes(symbols, starts), word_scores=word_scores))


def _labels_there(model: CapFst, symbols: Symbols, first: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For the words of these first labels, their first labels in `model`; 0 for words that it does not know."""
    there = {lower_bytes(model.symbols.utf8(label)): label for label in model.starts[:-1].tolist()}
    return np.array([there.get(lower_bytes(symbols.utf8(label)), 0) for label in first.tolist()], np.int64)
