"""Entropy pruning (Stolcke 1998): the n-grams whose loss changes the model least are dropped.

In: the contexts of an unpruned model, bucket by bucket (kneser_ney.py). Out: the levels of the pruned one, or, if
there is nothing to prune, of the whole one.

The score of an n-gram is the relative entropy between the model and the model without it, as worked out in
Stolcke (1998), section 3: of all n-grams in one go, each as if it alone were dropped. The probability of its
context is the context's relative frequency in the corpus, not the product of its words' probabilities: the
lower orders of Kneser-Ney models are made for backing off and do not tell how frequent anything is (Chelba
et al. 2010). Its count is discounted, as an n-gram's is: what was seen once is to be expected less often.

A context takes room, too, that is free only when the last of its n-grams goes. So the score of each is at most what
the best n-grams of its context are worth together, for the room of all of them and of the context.

Kept n-grams need their prefixes and their suffixes, which are therefore scored at least as high as what they
begin or end. So the n-grams with scores above any threshold are a whole model; unigrams all stay.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.fst.write import ARC, STATE
from capfst.kernels import allocating, kernel
from capfst.kernels.types import F32Array, F64Array, I64Array, U32Array, U32Matrix, U32Strided, f64, i64
from capfst.lm.backoff_model import Level, cost, normalize, renumber, unigram_level
from capfst.lm.discount import discounts
from capfst.lm.kneser_ney import LOWER, NODE, PROB, SUFFIX, WORD, Contexts, Estimator
from capfst.lm.partition import buckets_of_nodes
from capfst.system.buckets import Buckets, sort_by_bucket
from capfst.system.parallel import exhaust, map_in_pool

# The columns of an n-gram among its neighbours in suffix order.
_PREFIX, _LAST, _PROB, _SUFFIX, _SCORE = range(5)
_KEY_BITS = 20  # of a score's: the highest bits of a float32 that is not negative, in the order of their size
_ABSENT = np.uint32(2**32 - 1)
_SHIFT = np.uint32(32 - _KEY_BITS)
_STATE = (STATE.itemsize + ARC.itemsize) / ARC.itemsize  # bytes of a state and its backoff, in those of an n-gram


@kernel
def _score(contexts: Contexts, share: F64Array, score: F32Array) -> None:
    """Fills score[i], float32: what dropping n-gram i costs, in nats per word of the corpus.

    share: float64[c], the contexts' probabilities.
    """
    size, gamma, prob = contexts.size, contexts.gamma, contexts.prob
    begin = 0
    for context in range(len(size)):
        end = begin + size[context]
        rest = 1.0  # of the lower order's probability: what the context leaves to it
        for i in range(begin, end):
            rest -= prob[i, LOWER]
        rest = max(rest, 1e-9)
        freed = gamma[context] * rest
        for i in range(begin, end):
            p, below = f64(prob[i, PROB]), f64(prob[i, LOWER])
            # The backoff weight grows to (freed + p) / (rest + below).
            log_weight = np.log((freed + p) / (rest + below))
            loss = p * (np.log(p) - np.log(below) - log_weight)
            if freed > 0:
                loss -= freed * (log_weight - np.log(gamma[context]))
            score[i] = max(0.0, share[context] * loss)
        begin = end


@kernel
def _spread_context_room(size: U32Array, own: f64, score: F32Array) -> None:
    """Lowers scores to the greatest (s1 + … + sj) / (own + j) of the highest scores s1, s2, … in the context.

    own: the room that a context takes, in n-grams. The iteration is that of Dinkelbach (1967) for such ratios.
    """
    begin = 0
    for context in range(len(size)):
        end = begin + size[context]
        worth, rises = 0.0, True
        while rises:
            total, room = 0.0, own
            for i in range(begin, end):
                if score[i] > worth:
                    total += score[i]
                    room += 1.0
            rises = total / room > worth
            worth = max(worth, total / room)
        for i in range(begin, end):
            score[i] = min(f64(score[i]), worth)
        begin = end


@allocating
def _by_node(rows: U32Matrix, start: i64, number: i64) -> U32Matrix:
    """Rows that begin with their node, in the order of the nodes start … start + number - 1, without it.

    Nodes without a row, which are cut, get the prefix _ABSENT.
    """
    placed = np.zeros((number, rows.shape[1] - 1), np.uint32)
    placed[:, _PREFIX] = _ABSENT
    for i in range(len(rows)):
        node = rows[i, 0] - start
        for column in range(1, rows.shape[1]):
            placed[node, column - 1] = rows[i, column]
    return placed


@kernel
def _raise_to(scores: U32Strided, start: i64, nodes: U32Strided, least: U32Strided) -> None:
    """scores[node - start] becomes at least least[i], for node = nodes[i]; scores are the bits of float32s."""
    for i in range(len(nodes)):
        scores[nodes[i] - start] = max(scores[nodes[i] - start], least[i])


@kernel
def _add_to_histogram(scores: U32Strided, histogram: I64Array) -> None:
    """Counts scores (the bits of float32s) by their highest _KEY_BITS bits."""
    for i in range(len(scores)):
        histogram[scores[i] >> _SHIFT] += 1


class Pruner:
    """Takes an unpruned model's contexts in, gives the levels of the pruned model out."""

    def __init__(self, estimator: Estimator, max_ngrams: int | None, threshold: float | None) -> None:
        self.estimator = estimator
        self.max_ngrams, self.threshold = max_ngrams, threshold
        self.pruning = max_ngrams is not None or threshold is not None
        self.counts = estimator.counts
        self.total = float(self.counts.tokens.sum())
        # [n]: node, _PREFIX … _SCORE; and later the latter alone, node by node
        self.rows = [Buckets(estimator.store, np.diff(first), np.uint32, 6) for first in self.counts.first_nodes]
        # [n], of the contexts of these n-grams, if none is dropped: node, backoff weight (as float64)
        self.contexts = [
            Buckets(estimator.store, self._context_capacity(n), np.uint32, 3) for n in range(len(self.rows))
        ]
        self.histogram = np.zeros(1 << _KEY_BITS, np.int64)

    def _context_capacity(self, n: int) -> npt.NDArray:
        """How many contexts the n-grams of order n can have in each bucket."""
        if n > 2:
            return np.diff(self.counts.first_nodes[n - 1])
        return np.bincount(self.counts.partition.first_bucket, minlength=self.counts.partition.n_buckets)

    def run(self) -> list[Level]:
        exhaust(self.estimator.contexts(self._take_in))
        self._protect()
        least = 0 if self.threshold is None else int(np.float32(self.threshold).view(np.uint32) >> _SHIFT)
        if self.max_ngrams is not None:
            above = np.cumsum(self.histogram[::-1])[::-1]
            fitting = above <= self.max_ngrams - (self.counts.words + 1)
            least = max(least, int(np.argmax(fitting)) if fitting.any() else len(fitting))
        return self._select(least)

    def _take_in(self, contexts: Contexts) -> None:
        """Scores the n-grams of a bucket of contexts and puts them into self.rows."""
        grams = contexts.grams
        score = np.empty(len(grams), np.float32)
        _score(contexts, self._expected(contexts) / self.total, score)
        # A context of several words is an n-gram itself, which can then go, too.
        _spread_context_room(contexts.size, _STATE + (contexts.order > 2), score)
        rows = np.empty((len(grams), 6), np.uint32)
        rows[:, 0] = grams[:, NODE]
        rows[:, 1 + _PREFIX] = np.repeat(contexts.node, contexts.size)
        rows[:, 1 + _LAST] = grams[:, WORD]
        rows[:, 1 + _PROB] = grams[:, PROB]
        rows[:, 1 + _SUFFIX] = grams[:, SUFFIX]
        rows[:, 1 + _SCORE] = score.view(np.uint32)
        level = self.rows[contexts.order]
        first_nodes = self.counts.first_nodes[contexts.order]
        target = buckets_of_nodes(self.counts.partition, first_nodes, grams[:, WORD], grams[:, NODE])
        rows, bounds = sort_by_bucket(rows, target, len(level))
        level.scatter(rows, bounds)
        if self.pruning:
            return
        weights = np.empty((len(contexts.node), 3), np.uint32)
        weights[:, 0] = contexts.node
        weights[:, 1:] = contexts.gamma.view(np.uint32).reshape(-1, 2)
        self.contexts[contexts.order].put(contexts.bucket, weights)

    def _expected(self, contexts: Contexts) -> npt.NDArray:
        """float64[c]: how often the contexts are to be expected in as much other text."""
        discount = discounts(self.counts.counts_of_counts[contexts.order - 1])
        return contexts.occurrences - discount[np.minimum(contexts.occurrences, 3).astype(np.uint8)]

    def _protect(self) -> None:
        """Gives prefixes and suffixes at least the scores of what they belong to, from the highest order down."""
        estimator, first_nodes = self.estimator, self.counts.first_nodes
        number = self.counts.partition.n_buckets
        longer: Buckets | None = None  # nodes of this order, and scores that they must reach
        for n in range(self.counts.order, 1, -1):
            sizes = np.diff(first_nodes[n])
            shorter = Buckets(estimator.store, sizes + self.counts.windows, np.uint32, 2)
            ranked = Buckets(estimator.store, sizes, np.uint32, 5)

            def protect(
                bucket: int, n: int = n, longer: Any = longer, shorter: Any = shorter, ranked: Any = ranked
            ) -> npt.NDArray:
                start, end = first_nodes[n][bucket : bucket + 2]
                rows = _by_node(self.rows[n].take(bucket), start, end - start)
                if longer is not None:
                    needed = longer.take(bucket)
                    _raise_to(rows[:, _SCORE], start, needed[:, 0], needed[:, 1])
                ranked.put(bucket, rows)
                rows = rows[rows[:, _PREFIX] != _ABSENT]
                histogram = np.zeros_like(self.histogram)
                _add_to_histogram(rows[:, _SCORE], histogram)
                if n > 2:
                    shorter.put(bucket, rows[:, [_SUFFIX, _SCORE]])
                    target = np.searchsorted(first_nodes[n - 1][1:], rows[:, _PREFIX], side="right")
                    needed, bounds = sort_by_bucket(rows[:, [_PREFIX, _SCORE]], target.astype(np.uint32), number)
                    shorter.scatter(needed, bounds)
                return histogram

            for histogram in map_in_pool(protect, range(number), estimator.pool, estimator.threads):
                self.histogram += histogram
            self.rows[n] = ranked
            longer = shorter

    def _select(self, least: int) -> list[Level]:
        """The levels of the n-grams whose scores have at least the key `least` (their highest _KEY_BITS bits)."""
        levels = [unigram_level(self.estimator.unigrams)]
        below = np.ones(len(levels[0]), bool)
        for n in range(2, self.counts.order + 1):
            parts: list[npt.NDArray] = []
            kept = np.zeros(int(self.counts.first_nodes[n][-1]), bool)
            for bucket in range(len(self.rows[n])):
                rows = self.rows[n].take(bucket)
                keep = (rows[:, _PREFIX] != _ABSENT) & (rows[:, _SCORE] >> _SHIFT >= least)
                start = self.counts.first_nodes[n][bucket]
                kept[start : start + len(rows)] = keep
                parts.append(rows[keep])
            rows = np.concatenate(parts)
            del parts
            level = Level(
                rows[:, _LAST].copy(),
                renumber(rows[:, _PREFIX], below),
                renumber(rows[:, _SUFFIX], below),
                cost(rows.view(np.float32)[:, _PROB]),
                np.zeros(len(rows)),
            )
            if self.pruning:
                normalize(levels[-1], level)
            else:
                self._restore(n, levels[-1], below)
            levels.append(level)
            below = kept
        return levels

    def _restore(self, n: int, shorter: Level, kept: npt.NDArray) -> None:
        """Gives the contexts of the n-grams of order n the backoff weights that they came with."""
        parts = []
        for bucket in range(len(self.contexts[n])):
            known = self.contexts[n].take(bucket)
            parts.append(known[kept[known[:, 0]]])
        known = np.concatenate(parts)
        gamma = np.ascontiguousarray(known[:, 1:]).view(np.float64)[:, 0]
        shorter.backoff[renumber(known[:, 0], kept)] = cost(gamma)
