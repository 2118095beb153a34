"""Labels → a language model: counts, probabilities, pruning, states and arcs, in bounded memory.

In: the labels of a corpus and what is wanted of the model. Out: its states and arcs in chunks as they are worked out
(`acceptor`), so that a model need not fit in memory to be written; or its levels (`estimate`).
"""

import contextlib
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from capfst.exceptions import CapfstError
from capfst.lm.backoff_model import Level
from capfst.lm.compile import Acceptor, UnprunedAcceptor, lay_out
from capfst.lm.count import MAX_ORDER, NgramCounts, bucket_size, count
from capfst.lm.kneser_ney import Estimator
from capfst.lm.prune import Pruner
from capfst.system.buckets import Store
from capfst.system.budget import PROGRAM

_PER_LABEL = 80  # bytes in the arrays that have an entry for each word
_PER_NGRAM = 64  # bytes in the levels of a pruned model, and while they are made
_PER_TOKEN = 160  # bytes in the arrays of a stage, for each token of the bucket it works on


@dataclass(frozen=True)
class EstimationOptions:
    """What is wanted of a model, and what it may cost; the model is the same whatever the latter.

    cutoffs: as lmplz's --prune, rising numbers by order, the first 0, the last valid for all higher orders.
    max_ngrams: how many n-grams of all orders are kept. threshold: the least score (prune.py) of those.
    memory: bytes that the estimation may take beside the labels; when they are used up, data on its way from stage to
    stage goes to temporary files in the folder `tmp`. threads: all cores if None.
    """

    cutoffs: tuple[int, ...] = ()
    max_ngrams: int | None = None
    threshold: float | None = None
    memory: int | None = None
    tmp: str | os.PathLike[str] | None = None
    threads: int | None = None

    @property
    def pruning(self) -> bool:
        return self.max_ngrams is not None or self.threshold is not None


class DistributedLabels(Protocol):
    """Labels that are on other machines and counted there, as `count` does."""

    size: int

    def count(
        self, words: int, order: int, store: Store, cutoffs: tuple[int, ...], keep_occurrences: bool
    ) -> NgramCounts: ...


@contextlib.contextmanager
def _counted(
    labels: npt.NDArray | DistributedLabels, words: int, order: int, options: EstimationOptions
) -> Iterator[Estimator]:
    if not 1 <= order <= MAX_ORDER:
        raise CapfstError(f"order {order}: choose one of 1 to {MAX_ORDER}")
    if options.threshold is not None and math.isnan(options.threshold):
        raise CapfstError("the threshold for pruning is no number: choose one of 0 or more")
    if words >= 2**31 - 1:
        raise CapfstError(f"{words} different words: more than 2^31; drop rare ones (--min-count)")
    if options.max_ngrams is not None and options.max_ngrams < words + 1:
        raise CapfstError(
            f"at most {options.max_ngrams} n-grams, but the {words} words alone are more: allow more "
            "(--max-ngrams) or drop rare words (--min-count)"
        )
    threads = options.threads or os.cpu_count() or 1
    store = Store(_memory_for_data(options, words, labels.size, threads), options.tmp)
    with ThreadPoolExecutor(threads) as pool:
        if isinstance(labels, np.ndarray):
            counts = count(labels, words, order, store, pool, threads, options.cutoffs, options.pruning)
        else:
            counts = labels.count(words, order, store, options.cutoffs, options.pruning)
        yield Estimator(counts, store, pool, threads)


def _memory_for_data(options: EstimationOptions, words: int, tokens: int, threads: int) -> int | None:
    """What is left of the memory for data between the stages."""
    if options.memory is None:
        return None
    used = PROGRAM + _PER_LABEL * words + (threads + 1) * _PER_TOKEN * bucket_size(tokens)
    if options.max_ngrams is not None:
        used += _PER_NGRAM * min(options.max_ngrams, MAX_ORDER * tokens)
    if options.memory < used:
        raise CapfstError(
            f"{options.memory >> 20} MiB of memory are too little: {words} words and {tokens} tokens need "
            f"{-(-used >> 20)} MiB at least: allow more (--memory), fewer threads (--jobs) or a smaller model "
            "(--max-ngrams, --min-count)"
        )
    return options.memory - used


def temporary_space(words: int, tokens: int, order: int, options: EstimationOptions) -> int:
    """Bytes of temporary files that a corpus can take, at most: if no n-gram occurred twice."""
    if options.memory is None or order == 1:
        return 0
    windows = 8 * -(-order // (64 // max(1, words.bit_length())))
    node, gram, back, row = (16, 32, 16, 24) if options.pruning else (12, 28, 16, 0)
    stages = [windows + node * (order - 1)]
    for n in range(2, order + 1):
        stages.append(node * (order - n + 1) + gram + back * 2 + row * (n - 1))
    threads = options.threads or os.cpu_count() or 1
    return max(0, max(stages) * tokens - (_memory_for_data(options, words, tokens, threads) or 0))


@contextlib.contextmanager
def acceptor(
    labels: npt.NDArray | DistributedLabels, words: int, order: int, options: EstimationOptions = EstimationOptions()
) -> Iterator[Acceptor]:
    """An interpolated modified Kneser-Ney model as lmplz's, pruned if it is to be, while the block lasts.

    labels: uint32[T], in memory or mapped, each sentence its words (1..words) and then a 0; or such on other machines.

    Raises:
        CapfstError: options that make no sense, no sentence, more than 2^32 n-grams, no room for temporary files.
    """
    with _counted(labels, words, order, options) as estimator:
        unpruned = UnprunedAcceptor(estimator)
        enough = options.max_ngrams is None or sum(unpruned.ngrams) <= options.max_ngrams
        if order == 1 or (enough and options.threshold is None and not estimator.counts.cutoffs.any()):
            yield Acceptor(unpruned.states, unpruned.arcs, unpruned.start, unpruned.ngrams, unpruned.chunks)
            return
        del unpruned
        levels = Pruner(estimator, options.max_ngrams, options.threshold).run()
    yield lay_out(levels)


def estimate(
    labels: npt.NDArray, words: int, order: int, options: EstimationOptions = EstimationOptions()
) -> list[Level]:
    """The levels (backoff_model.py) of the same model."""
    with _counted(labels, words, order, options) as estimator:
        return Pruner(estimator, options.max_ngrams, options.threshold).run()
