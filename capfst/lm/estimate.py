"""Estimate a language model from labels in bounded memory: counts, probabilities, pruning, states and arcs.

In: the labels of a corpus, and the options of training, of which those on LMs and resources are read. Out: the model's
states and arcs in chunks, as they are computed (`acceptor`), so that the model need not fit in memory; or its levels
(`estimate`).
"""

import os

import numpy as np
import numpy.typing as npt

from capfst.exceptions import OptionError, quantity
from capfst.fst.write import Acceptor
from capfst.lm.acceptor import lay_out, unpruned
from capfst.lm.count import bucket_size, count
from capfst.lm.kneser_ney import Estimator
from capfst.lm.levels import Level
from capfst.lm.prune import Pruner
from capfst.options import MAX_ORDER, TrainOptions
from capfst.system.buckets import Store
from capfst.system.budget import PROGRAM

_PER_LABEL = 80  # bytes per word in the arrays with an entry per word
_PER_NGRAM = 64  # bytes per n-gram in the levels of a pruned model and during pruning
_PER_TOKEN = 160  # bytes per token of a bucket in the arrays of a stage
_VARIATION = 8 << 20  # bytes: what a process occupies is not always the same
RESERVE = 16  # one in this many bytes of `memory` is for memory that the allocator keeps


def _counted(labels: npt.NDArray, words: int, options: TrainOptions) -> Estimator:
    """Check the options, count the n-grams, and return their estimator."""
    threads = options.jobs or os.cpu_count() or 1
    store = Store(memory_for_data(options, words, labels.size), options.tmp)
    return Estimator(count(labels, words, options, store, threads), store, threads)


def memory_for_data(options: TrainOptions, words: int, tokens: int) -> int | None:
    """Return the bytes of memory that remain for data between stages; None if there is no limit.

    Raises:
        OptionError: none remain, or too few n-grams or too many words are wanted.
    """
    if words >= 2**31 - 1:
        raise OptionError(f"the text has {words:,} words, but at most 2^31 fit. Drop rare words with `min_count`.")
    if options.max_ngrams is not None and options.max_ngrams < words + 1:
        raise OptionError(
            f"`max_ngrams` is {options.max_ngrams}, less than the unigrams alone, of {quantity(words, 'word')}. "
            "Raise it, or drop rare words with `min_count`."
        )
    if options.memory is None:
        return None
    threads = options.jobs or os.cpu_count() or 1
    used = PROGRAM + _PER_LABEL * words + (threads + 1) * _PER_TOKEN * bucket_size(tokens)
    if options.max_ngrams is not None:
        used += _PER_NGRAM * min(options.max_ngrams, MAX_ORDER * tokens)
    if options.memory < used:
        more = (used - options.memory) * RESERVE // (RESERVE - 1) + _VARIATION
        raise OptionError(
            f"`memory` is too little for the n-grams of {quantity(words, 'word')} and {quantity(tokens, 'token')}."
            f" Raise it by {more >> 20} MiB, use fewer `jobs`, lower `max_ngrams`, or raise `min_count`."
        )
    return options.memory - used


def temporary_space(words: int, tokens: int, options: TrainOptions) -> int:
    """Return an upper bound of the bytes of temporary files: those if no n-gram occurred twice."""
    order = options.order
    if options.memory is None or order == 1:
        return 0
    windows = 8 * -(-order // (64 // max(1, words.bit_length())))
    node, gram, back, row = (16, 32, 16, 24) if options.prunes else (12, 28, 16, 0)
    stages = [windows + node * (order - 1)]
    for n in range(2, order + 1):
        stages.append(node * (order - n + 1) + gram + back * 2 + row * (n - 1))
    return max(0, max(stages) * tokens - (memory_for_data(options, words, tokens) or 0))


def acceptor(
    labels: npt.NDArray, words: int, options: TrainOptions, ambiguity: npt.NDArray[np.float32] | None = None
) -> Acceptor:
    """Return an interpolated modified Kneser-Ney model, as lmplz's, pruned if the options say so.

    labels: uint32[T], in memory or mapped, each sentence its words (1..words) and then a 0. ambiguity: float32[words +
    1], of each word, by which prune.py weighs scores. `options.memory` does not include the labels.

    Raises:
        OptionError: unsupported options.
        CorpusError: no sentence, or more than 2^32 n-grams.
        CapfstError: no space for temporary files.
    """
    estimator = _counted(labels, words, options)
    whole = unpruned(estimator)
    enough = options.max_ngrams is None or sum(whole.ngrams) <= options.max_ngrams
    if options.order == 1 or (enough and options.prune_threshold is None and not any(options.cutoffs)):
        return whole
    return lay_out(Pruner(estimator, options, ambiguity).run())


def estimate(
    labels: npt.NDArray, words: int, options: TrainOptions, ambiguity: npt.NDArray[np.float32] | None = None
) -> list[Level]:
    """Return the levels (levels.py) of the same model."""
    return Pruner(_counted(labels, words, options), options, ambiguity).run()
