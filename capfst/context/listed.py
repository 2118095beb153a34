"""Word lists with frequencies as evidence: the shapes of words that the corpus lacks, and how far each list is right.

In: a lexicon with the counts of a corpus, and word lists. Out: the lexicon with shape evidence for the words that only
lists have. A list is trusted as far as it is right about rare words of the corpus: its own shape evidence of a word,
such as "capitalized, and frequent", has the probabilities of the shapes that rare words with this evidence have in the
corpus. Those of several lists are multiplied.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context.lexicon import LISTED, N_TRUSTED, TRUST, UNSEEN, Lexicon, word_evidence
from capfst.corpus.vocabulary import Frequencies
from capfst.kernels.types import F32Matrix, U8Array

_RARE = 20
"""Most occurrences of a word of the corpus by which lists are judged."""
_PRIOR = 5.0
"""Occurrences for which a list is right before it is judged."""


def with_lists(lexicon: Lexicon, lists: list[Frequencies]) -> Lexicon:
    """Return the lexicon with the evidence of word lists."""
    if not lists:
        return lexicon
    n_words, several = len(lexicon.shape_counts), lexicon.n_languages > 0
    log_p = np.zeros((n_words, N_SHAPES), np.float32)
    of_languages = np.zeros((len(lexicon.language_counts), n_words), np.uint8)
    for language in sorted({each.language for each in lists}):
        of_language = np.zeros_like(log_p)
        counts = lexicon.language_counts[language] if several else lexicon.shape_counts
        for each in lists:
            if each.language == language:
                of_language += _log_probabilities(each, lexicon, counts)
        if several:
            of_languages[language] = _evidence(of_language)
        log_p += of_language
    return lexicon._replace(listed=_evidence(log_p), language_listed=of_languages)


def _log_probabilities(each: Frequencies, lexicon: Lexicon, corpus: npt.NDArray) -> F32Matrix:
    """Return float32[words, N_SHAPES]: ln p of the shapes of the words in a list, given the counts of the corpus; 0 for
    words that it lacks."""
    counts = np.zeros(corpus.shape, np.int64)
    has_case = lexicon.shapes[each.labels] != Shape.CASELESS
    labels = each.labels[has_case]
    np.add.at(counts, (lexicon.word_of[labels], lexicon.shapes[labels]), each.occurrences[has_case])
    evidence = word_evidence(counts)
    rare = corpus.sum(1) <= _RARE
    n = np.zeros((256, N_SHAPES))
    for shape in range(N_SHAPES):
        n[:, shape] = np.bincount(evidence[rare], corpus[rare, shape], 256)
    said = np.arange(1, 121)
    n[said, (said - 1) // 30] += _PRIOR
    n[said] += 0.1
    log_p = np.zeros_like(n, np.float32)
    log_p[said] = np.log(n[said] / n[said].sum(1, keepdims=True))
    return log_p[evidence]


def _evidence(log_p: F32Matrix) -> U8Array:
    """Return the shape evidence of words, given ln p of their shapes: UNSEEN if all are 0."""
    p = np.exp(log_p - log_p.max(1, keepdims=True))
    best = p.argmax(1)
    trust = (p.max(1) / p.sum(1) < TRUST[:, None]).sum(0)
    return np.where(log_p.any(1), LISTED + N_TRUSTED * best + trust, UNSEEN).astype(np.uint8)
