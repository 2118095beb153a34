"""Transfer a context model to a model with other symbols: for mixtures and restricted vocabularies.

In: a context model, and a symbol table. Out: the context model for the model with these symbols. What was known and
learned of a lowercase word stays. Of words that the symbols lack, the evidence stays (rare_words.py); words that the
context model does not know remain unseen to it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import Shape
from capfst.context.adapt import scores_of
from capfst.context.classes import RARE
from capfst.context.context_model import LEAST_PENALTY, WORD_RECORD, Context
from capfst.context.lexicon import BEGIN, NO_CASE, SUFFIX, UNSEEN, WHOLE, hash_words, label_shapes
from capfst.context.network import ending_embeddings
from capfst.context.rare_words import RareWords, find_rare
from capfst.fst.read import CapFst
from capfst.fst.symbols import Symbols


def transferred(
    context: Context,
    old: npt.NDArray[np.int32],
    symbols: Symbols,
    starts: npt.NDArray[np.int32],
    shapes: npt.NDArray[np.uint8] | None = None,
) -> Context:
    """Return the context model for other symbols, whose words' first labels are `starts`.

    old: the first labels of these words in the model of `context`, int32[words]; 0 for words that it lacks. shapes:
    what is decided on, by label, as for train.fit.
    """
    rare = context.rare
    if shapes is None:
        shapes = label_shapes(symbols, starts)
        rare = rare if rare.evidence.size else _left_out(context, old)  # mixtures, which may have some, leave out none
    first, known = starts[:-1], old > 0
    hashes, evidence = hash_words(symbols, starts), np.empty(len(first), np.uint8)
    find_rare(context.rare, np.ascontiguousarray(hashes[:, WHOLE]), evidence)
    words = np.zeros(len(symbols), WORD_RECORD)
    words["word_hash"][first], words["suffix2_hash"][first] = hashes[:, WHOLE], hashes[:, SUFFIX + 1]
    words["unseen_penalty"][first], words["shape_evidence"][first] = LEAST_PENALTY, evidence
    words["embedding"][first] = ending_embeddings(hashes[:, SUFFIX + 1])
    words["scores"][first] = scores_of(context, hashes, evidence)
    words["lower_class"][first] = words["cased_class"][first] = RARE
    words["one_letter"][first] = hashes[:, SUFFIX + 1] == 0
    of_languages = np.zeros((len(symbols), context.n_languages), np.uint8)
    of_languages[first] = evidence[:, None]  # of a rare word, only that of all languages is known
    words[first[known]] = context.words[old[known]]
    of_languages[first[known]] = context.language_evidence[old[known]]
    evidence = words["shape_evidence"][first]
    evidence[evidence == NO_CASE] = UNSEEN
    evidence[shapes[first] == Shape.CASELESS] = NO_CASE
    words["shape_evidence"][first] = evidence
    log_odds = np.zeros((len(symbols), context.n_languages), np.int8)
    log_odds[first[known]] = context.language_log_odds[old[known]]
    return context._replace(
        words=words, shapes=shapes, language_log_odds=log_odds, language_evidence=of_languages, rare=rare
    )


def _left_out(context: Context, kept: npt.NDArray[np.int32]) -> RareWords:
    """Return the words that the context model has seen, except those with the first labels `kept`."""
    evidence = context.words["shape_evidence"].copy()
    evidence[kept] = UNSEEN
    rest = (evidence != UNSEEN) & (evidence < BEGIN)
    return RareWords.of(context.words["word_hash"][rest], evidence[rest])


def labels_of(model: CapFst, symbols: Symbols) -> npt.NDArray[np.int64]:
    """Return int64[V + 1], the label in `model` of each of these symbols; 0 if it lacks the symbol."""
    labels = {model.symbols.utf8(label): label for label in range(len(model.symbols))}
    return np.array([labels.get(symbols.utf8(label), 0) for label in range(len(symbols))], np.int64)


def first_labels(model: CapFst, symbols: Symbols, starts: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return int32[words], the first label in `model` of each word of these symbols; 0 if it lacks the word."""
    labels = {model.symbols.lowercase(label): label for label in model.starts[:-1].tolist()}
    return np.array([labels.get(symbols.lowercase(label), 0) for label in starts[:-1].tolist()], np.int32)
