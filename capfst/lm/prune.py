"""Prune a model by entropy (Stolcke 1998): drop the n-grams whose removal changes the model least.

In: the contexts of an unpruned model, bucket by bucket (kneser_ney.py). Out: the levels of the pruned model, or,
without pruning options, of the unpruned one.

The score of an n-gram is the relative entropy between the model and the model without it, as in Stolcke (1998), section
3: computed for all n-grams at once, each as if it alone were dropped. The probability of its context is the context's
relative frequency in the corpus, not the product of its words' probabilities: the lower orders of Kneser-Ney models are
estimated for backing off and are not frequencies (Chelba et al. 2010). The context's count is discounted like an
n-gram's: a context seen once is expected less often.

What matters is the case of words, so the score is multiplied by how ambiguous that of the last two words is
(of the last word, in orders above 3).

A context also takes space, which is freed only with the last of its n-grams. So the score of an n-gram is at most the
total score of the best n-grams of its context, per unit of the space of these n-grams and the context.

A kept n-gram needs its prefix and its suffix, whose scores are therefore raised to that of the n-gram. So the n-grams
with scores above any threshold are a complete model; all unigrams are kept.
"""

from functools import partial
from threading import Lock

import numpy as np
import numpy.typing as npt

from capfst.fst.write import ARC, STATE
from capfst.kernels import allocating, kernel
from capfst.kernels.types import F32Array, F64Array, I64Array, U32Array, U32Strided, f64, i64
from capfst.lm.kneser_ney import ABSENT, LOWER, NODE, PROB, SUFFIX, WORD, Contexts, Estimator, by_node, discounts
from capfst.lm.levels import Level, cost, normalize, unigram_level
from capfst.lm.partition import buckets_of_nodes
from capfst.options import TrainOptions
from capfst.system.buckets import Buckets
from capfst.system.parallel import for_each

# The columns of an n-gram in suffix order.
_PREFIX, _LAST, _PROB, _SUFFIX, _SCORE = range(5)
_KEY_BITS = 20  # of a score: the highest bits of a non-negative float32, which sort like the float
_SHIFT = np.uint32(32 - _KEY_BITS)
_LARGEST = float(np.finfo(np.float32).max)
_BLOCK = 32  # nodes
_STATE = (STATE.itemsize + ARC.itemsize) / ARC.itemsize  # size of a state and its backoff arc, in n-grams


@kernel
def _score(contexts: Contexts, share: F64Array, score: F32Array) -> None:
    """Fill score[i], float32: the cost of dropping n-gram i, in nats per word of the corpus.

    share: float64[c], the contexts' probabilities.
    """
    size, gamma, prob = contexts.size, contexts.gamma, contexts.prob
    begin = 0
    for context in range(len(size)):
        end = begin + size[context]
        rest = 1.0  # of the lower order's probability: that of words without an n-gram in this context
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
def _spread_context_size(size: U32Array, own: f64, score: F32Array) -> None:
    """Lower scores to at most the greatest (s1 + … + sj) / (own + j) of the highest scores s1, s2, … in the context.

    own: the size of a context, in n-grams. The iteration is Dinkelbach's (1967) for fractional programs.
    """
    begin = 0
    for context in range(len(size)):
        end = begin + size[context]
        worth, rises = 0.0, True
        while rises:
            total, space = 0.0, own
            for i in range(begin, end):
                if score[i] > worth:
                    total += score[i]
                    space += 1.0
            rises = total / space > worth
            worth = max(worth, total / space)
        for i in range(begin, end):
            score[i] = min(f64(score[i]), worth)
        begin = end


@kernel
def _raise_to(scores: U32Strided, start: i64, nodes: U32Strided, least: U32Strided) -> None:
    """Raise scores[nodes[i] - start] to at least least[i]; scores are the bits of float32s."""
    for i in range(len(nodes)):
        scores[nodes[i] - start] = max(scores[nodes[i] - start], least[i])


@allocating
def _entries(nodes: U32Strided, kept: U32Array, first: I64Array) -> U32Array:
    """Return the index of each node in `kept`, or ABSENT. first: of each block of nodes, the first index in `kept`."""
    entries = np.empty(len(nodes), np.uint32)
    for i in range(len(nodes)):
        k = first[nodes[i] // _BLOCK]
        while k < len(kept) and kept[k] < nodes[i]:
            k += 1
        entries[i] = k if k < len(kept) and kept[k] == nodes[i] else ABSENT
    return entries


class _Kept:
    """The n-grams of an order that are kept, as entries of a level: those that are dropped take next to no memory.

    Args:
        nodes: their nodes, sorted.
        number: of all nodes of the order.
    """

    def __init__(self, nodes: U32Array, number: int) -> None:
        self.nodes = nodes
        self._first = np.searchsorted(nodes, np.arange(0, number, _BLOCK, dtype=np.uint32))

    def entries(self, nodes: U32Strided) -> U32Array:
        """Return the entries of nodes; ABSENT for those that are dropped."""
        return _entries(nodes, self.nodes, self._first)


class Pruner:
    """Compute the levels of the pruned model from the contexts of an unpruned one. ambiguity: float32[words + 1], of
    the case of each word; None: scores are not weighed."""

    def __init__(self, estimator: Estimator, options: TrainOptions, ambiguity: npt.NDArray[np.float32] | None) -> None:
        self.estimator, self.options, self.ambiguity = estimator, options, ambiguity
        self.counts = estimator.counts
        self.total = float(self.counts.tokens.sum())
        windows = self.counts.windows
        # [n]: node, _PREFIX … _SCORE; later without the node, sorted by node
        self.rows = [Buckets(estimator.store, windows, 6) for _ in range(self.counts.order + 1)]
        # [n], for the contexts of these n-grams, if none is dropped: node, backoff weight (as float64)
        self.contexts = [Buckets(estimator.store, windows + 1, 3) for _ in self.rows]
        self.histogram, self.lock = np.zeros(1 << _KEY_BITS, np.int64), Lock()

    def run(self) -> list[Level]:
        """Score all n-grams, choose the threshold, and return the levels of those above it."""
        for _ in self.estimator.contexts(self._take_in):
            pass
        self._protect()
        least = int(np.float32(min(self.options.prune_threshold or 0.0, _LARGEST)).view(np.uint32) >> _SHIFT)
        if self.options.max_ngrams is not None:
            above = np.cumsum(self.histogram[::-1])[::-1]
            fitting = above <= self.options.max_ngrams - (self.counts.words + 1)
            least = max(least, int(np.argmax(fitting)) if fitting.any() else len(fitting))
        return self._select(least)

    def _take_in(self, contexts: Contexts) -> None:
        """Score the n-grams of a bucket of contexts, and put them into self.rows."""
        grams = contexts.grams
        score = np.empty(len(grams), np.float32)
        discount = discounts(self.counts.counts_of_counts[contexts.order - 1])
        # The expected occurrences of the contexts in other text of the same size
        expected = contexts.occurrences - discount[np.minimum(contexts.occurrences, 3).astype(np.uint8)]
        _score(contexts, expected / self.total, score)
        if self.ambiguity is not None:
            weight = self.ambiguity[grams[:, WORD]]
            if contexts.order <= 3:  # the context's last word is known
                last = contexts.node if contexts.order == 2 else contexts.suffix
                weight += np.repeat(self.ambiguity[last], contexts.size)
            score *= weight
        # A context of several words is an n-gram itself, which can be dropped with its last n-gram.
        _spread_context_size(contexts.size, _STATE + (contexts.order > 2), score)
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
        level.scatter(rows, target)
        if self.options.prunes:
            return
        weights = np.empty((len(contexts.node), 3), np.uint32)
        weights[:, 0] = contexts.node
        weights[:, 1:] = contexts.gamma.view(np.uint32).reshape(-1, 2)
        self.contexts[contexts.order].put(contexts.bucket, weights)

    def _protect(self) -> None:
        """Raise the scores of prefixes and suffixes to those of their n-grams, from the highest order down."""
        estimator, windows = self.estimator, self.counts.windows
        longer: Buckets | None = None  # nodes of this order, and their least scores
        for n in range(self.counts.order, 1, -1):
            shorter, ranked = Buckets(estimator.store, 2 * windows, 2), Buckets(estimator.store, windows, 5)
            protect = partial(self._protect_bucket, n, longer, shorter, ranked)
            for_each(protect, range(len(windows)), estimator.threads)
            self.rows[n], longer = ranked, shorter

    def _protect_bucket(self, n: int, longer: Buckets | None, shorter: Buckets, ranked: Buckets, bucket: int) -> None:
        """Raise the scores of a bucket of order n to those in `longer`; put the n-grams into `ranked`, and the scores
        that their prefixes and suffixes need into `shorter`; count the scores in the histogram."""
        first_nodes = self.counts.first_nodes
        start, end = first_nodes[n][bucket : bucket + 2]
        rows = by_node(self.rows[n].take(bucket), start, end - start)
        if longer is not None:
            needed = longer.take(bucket)
            _raise_to(rows[:, _SCORE], start, needed[:, 0], needed[:, 1])
        ranked.put(bucket, rows)
        rows = rows[rows[:, _PREFIX] != ABSENT]
        if n > 2:
            shorter.put(bucket, rows[:, [_SUFFIX, _SCORE]])
            target = np.searchsorted(first_nodes[n - 1][1:], rows[:, _PREFIX], side="right")
            shorter.scatter(rows[:, [_PREFIX, _SCORE]], target.astype(np.uint32))
        histogram = np.bincount(rows[:, _SCORE] >> _SHIFT)
        with self.lock:
            self.histogram[: len(histogram)] += histogram

    def _select(self, least: int) -> list[Level]:
        """Return the levels of the n-grams whose scores have at least the key `least` (their highest _KEY_BITS
        bits)."""
        levels = [unigram_level(cost(self.estimator.unigrams), np.zeros(self.counts.words + 1))]
        below = _Kept(np.arange(len(levels[0]), dtype=np.uint32), len(levels[0]))
        for n in range(2, self.counts.order + 1):
            parts, nodes = [], []
            for start, bucket in zip(self.counts.first_nodes[n], range(len(self.rows[n])), strict=False):
                rows = self.rows[n].take(bucket)
                keep = np.flatnonzero((rows[:, _PREFIX] != ABSENT) & (rows[:, _SCORE] >> _SHIFT >= least))
                parts.append(rows[keep])
                nodes.append((start + keep).astype(np.uint32))
            rows = np.concatenate(parts)
            del parts
            prefix, suffix = below.entries(rows[:, _PREFIX]), below.entries(rows[:, _SUFFIX])
            prob = cost(rows.view(np.float32)[:, _PROB])
            level = Level(rows[:, _LAST].copy(), prefix, suffix, prob, np.zeros(len(rows)))
            if self.options.prunes:
                normalize(levels[-1], level)
            else:
                self._restore(n, levels[-1], below)
            levels.append(level)
            below = _Kept(np.concatenate(nodes), int(self.counts.first_nodes[n][-1]))
        return levels

    def _restore(self, n: int, shorter: Level, kept: _Kept) -> None:
        """Set the backoff weights of the contexts of the n-grams of order n, in `shorter`, to the estimated ones."""
        for bucket in range(len(self.contexts[n])):
            known = self.contexts[n].take(bucket)
            entries = kept.entries(known[:, 0])
            known, entries = known[entries != ABSENT], entries[entries != ABSENT]
            shorter.backoff[entries] = cost(np.ascontiguousarray(known[:, 1:]).view(np.float64)[:, 0])
