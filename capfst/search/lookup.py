"""Find the arcs of a state for a word: the labels of a word's forms are adjacent, so one search finds all its arcs.

In: the mapped model. Out: `LookupTables`, derived from it in a tenth of a second, and kernels that look up a word in
them. Contexts of several words are prepared at their first look-up: a model has a million of them, a text uses few.

A state's arcs are divided into buckets of about equal size. An entry per bucket rules out most words that the state
lacks, and gives the position of most words that it has. The bucket of a word is computed, not searched: its place among
the state's buckets is the word's average place among the arcs of all states.

A look-up touches few cache lines, because a cache miss takes as long as a hundred instructions even if it is
prefetched. The addresses are known early enough for prefetching. Few branches are unpredictable, because each
misprediction takes as long as twenty instructions.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.fst.read import CapFst
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import count_ones, fence, inlined, kernel, outlined, prefetch
from capfst.kernels.types import Array, I32Array, U32Array, U32Strided, i64, u32
from capfst.system.binary_search import lower_bound

_SHORT, _LONG = 1, 2
"""Binary logarithms of the average number of arcs per bucket, of a one-word state and of a longer one."""
_AHEAD = 24  # arcs to prefetch while a state's buckets are filled
_STEP = 16  # one of this many arcs is counted to estimate the words' fractions
NEAR = 1 << 15
"""A bucket is near if its first arc is less than NEAR arcs from where it would be if all had the same size."""

FORM = np.dtype(
    [
        ("cost", "f4"),  # of the unigram
        ("backoff_cost", "f4"),  # from its state
        ("state", "i4"),  # the context of this form alone; 0 if nothing follows it
        ("pos", "u4"),  # the first of the state's arcs, its backoff
        ("end", "u4"),  # the end of the state's arcs
        ("fraction", "u4"),  # estimated fraction of the arcs of one-word states with lower words, times 2³²
    ],
    align=True,
)
"""A surface form. The records of a word's forms are adjacent, unlike their states."""
FormArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(FORM)]
CONTEXT = np.dtype(
    [
        ("pos", "u4"),  # the first of its state's arcs, the backoff
        ("backoff_cost", "f4"),  # NaN until the context is looked up (`prepare`)
    ],
    align=True,
)
"""A context of several words: the facts of its state and its first arc, in fewer cache lines."""
ContextArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(CONTEXT)]


class ArcBuckets(NamedTuple):
    """The buckets of the arcs of some states: each state has its own, of about equal size."""

    entries: U32Array  # one per bucket (`fill_buckets`), and an unused one
    log_size: int  # binary logarithm of the average number of arcs per bucket
    origin: int  # the first arc of the first state


class LookupTables(NamedTuple):
    """The tables of a model that kernels read."""

    states: StateArray  # STATE
    arcs: ArcArray  # ARC
    forms: FormArray  # FORM, by label
    contexts: ContextArray  # CONTEXT, by state; `pos` of an extra last one is the number of arcs
    short: ArcBuckets  # of the one-word states
    longer: ArcBuckets  # of the states of several words
    context: int  # after so many words the state no longer depends on earlier words; −1: some words are impossible


@inlined
def sixteenth_of(buckets: ArcBuckets, pos: i64, end: i64, fraction: i64) -> i64:
    """Return where words of this fraction are in a state that has the arcs pos:end and buckets: the number of the
    bucket << 4 | the sixteenth of the bucket."""
    first = pos - buckets.origin >> buckets.log_size
    n_buckets = (end - buckets.origin >> buckets.log_size) - first
    return (first << 4) + (n_buckets * i64(fraction) >> 28)


@inlined
def has_buckets(buckets: ArcBuckets, pos: i64, end: i64) -> bool:
    """Return whether a state with the arcs pos:end is one of these states, and large enough to have a bucket wherever
    its arcs begin."""
    return pos >= buckets.origin and end - pos >= 1 << buckets.log_size


@inlined
def _even_position(buckets: ArcBuckets, bucket: i64) -> i64:
    """Return the arc at which a bucket would begin if all had the same size."""
    return buckets.origin + (bucket << buckets.log_size)


@kernel
def fill_buckets(
    states: StateArray, arcs: ArcArray, fractions: U32Strided, begin: i64, end: i64, buckets: ArcBuckets
) -> None:
    """Fill the buckets of the states begin … end − 1, which are 0. fractions: by label. Threads may fill the same
    state.

    The lower half of an entry has a bit for each sixteenth of the bucket: whether it has words. The upper half is the
    distance of its first arc from where the bucket would begin if all had the same size, plus NEAR; or 0 if the bucket
    is not near. Each entry is written once, when it is complete.
    """
    unused = buckets.entries.size - 1  # the entry of no state: writing to it replaces a branch
    for state in range(begin, end):
        pos = i64(states[state].pos)
        arcs_end = pos + i64(states[state].narcs)
        if not has_buckets(buckets, pos, arcs_end):
            continue
        bucket, entry = unused, 0
        for arc in range(pos + 1, arcs_end):  # without the backoff
            prefetch(fractions, i64(arcs[min(arc + _AHEAD, arcs_end - 1)].ilabel))
            sixteenth = sixteenth_of(buckets, pos, arcs_end, fractions[arcs[arc].ilabel])
            before, bucket = bucket, sixteenth >> 4
            offset = arc - _even_position(buckets, bucket) + NEAR
            offset = offset if 0 < offset < 2 * NEAR else 0
            is_next = bucket != before
            buckets.entries[before if is_next else unused] = entry  # a branch would be mispredicted
            entry = (offset << 16 if is_next else entry) | 1 << (sixteenth & 15)
        buckets.entries[bucket] = entry
        buckets.entries[unused] = 0


@outlined
def prepare(tables: LookupTables, state: i64, shorter: i64) -> bool:
    """Prepare a context of several words for look-ups. Return whether it backs off to the state `shorter`, as in an
    n-gram model; if not, nothing is prepared."""
    arc = tables.arcs[i64(tables.contexts[state].pos)]
    if arc.nextstate != shorter:
        return False
    fill_buckets(tables.states, tables.arcs, tables.forms["fraction"], state, state + 1, tables.longer)
    fence()
    tables.contexts[state].backoff_cost = arc.weight
    return True


@inlined
def look_into_bucket(
    tables: LookupTables, buckets: ArcBuckets, sixteenth: i64, state: i64, end: i64, label: i64
) -> tuple[i64, i64]:
    """Return whether a state probably has an arc for the word with this label; and if so, the first such arc or one
    before it."""
    bucket, part = sixteenth >> 4, sixteenth & 15
    entry = i64(buckets.entries[bucket])
    # Each sixteenth that has words, before that of the word, has at least one arc, and seldom more.
    arc = _even_position(buckets, bucket) + (entry >> 16) - NEAR + count_ones(entry & (1 << part) - 1)
    if 0 < entry < 1 << 16:  # the bucket is not near
        arc = lower_bound(tables.arcs["ilabel"], i64(tables.states[state].pos) + 1, end, label)
    return entry >> part & 1, arc


@kernel
def _fill_forms(states: StateArray, arcs: ArcArray, begin: i64, end: i64, starts: I32Array, forms: FormArray) -> None:
    """Fill FORM[labels], which are 0. The arcs begin … end − 1 are those of one-word states. starts: the first label of
    each word, and the end of the last word's labels."""
    n_counted, n_words = 0, starts.size - 1
    for arc in range(begin, end, _STEP):
        label = arcs[arc].ilabel
        forms[label].fraction += 1  # a count, replaced below
        n_counted += label != 0
    forms[0].fraction = 0
    more = n_counted / n_words / 2 if n_counted > 0 else 1.0  # separates words that have none of the counted arcs
    scale, below = 2.0**32 / (n_counted + n_words * more), 0.0
    for word in range(n_words):
        fraction = u32(below * scale)
        below += more
        for label in range(starts[word], starts[word + 1]):
            form, unigram = forms[label], arcs[label - 1]
            below += form.fraction
            form.fraction, form.cost = fraction, unigram.weight
            state = i64(unigram.nextstate)
            if state != 0:
                pos = i64(states[state].pos)
                form.state, form.pos, form.end = state, pos, pos + i64(states[state].narcs)
                form.backoff_cost = arcs[pos].weight


def lookup_tables(model: CapFst) -> LookupTables:
    """Build the tables of a model."""
    states, arcs, labels = model.states, model.arcs, len(model.symbols)
    # The states of one word of context come first: at most one for each word, and `<s>`.
    is_longer = arcs["nextstate"][states["pos"][1 : labels + 1]] != 0
    first_longer = 1 + int(np.argmax(np.append(is_longer, True)))
    contexts = np.zeros(len(states) + 1, CONTEXT)
    contexts["pos"] = np.append(states["pos"], np.uint32(len(arcs)))
    contexts["backoff_cost"] = np.nan
    begin, middle, end = contexts["pos"][[1, first_longer, -1]].tolist()
    forms = np.zeros(labels, FORM)
    _fill_forms(states, arcs, labels, middle, model.starts, forms)
    short, longer = _empty_buckets(begin, middle, _SHORT), _empty_buckets(middle, end, _LONG)
    fill_buckets(states, arcs, forms["fraction"].copy(), 1, first_longer, short)  # the copy occupies fewer cache lines
    is_finite = np.isfinite(arcs["weight"][: labels - 1]).all()
    context = max(model.order, model.signature.order) - 1 if is_finite else -1
    return LookupTables(states, arcs, forms, contexts, short, longer, context)


def _empty_buckets(begin: int, end: int, log_size: int) -> ArcBuckets:
    """Build empty buckets for the states of the arcs begin … end − 1. Buckets are larger where the numbers of
    sixteenths would otherwise exceed 32 bits."""
    log_size = max(log_size, (end - begin >> 28).bit_length())
    return ArcBuckets(np.zeros((end - begin >> log_size) + 1, np.uint32), log_size, begin)
