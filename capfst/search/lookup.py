"""Where a state's arcs for a word are: the forms of a word are neighbours in every state, so one search finds them all.

In: the mapped model. Out: `LookupTables`, derived from it in a tenth of a second, and kernels that look up a word in
them. Contexts of several words are prepared when they are first looked up: there are a million of them, and a text has
few. A state has buckets of words, of about as many arcs each, which tell of most words that are missing that they are,
and of most others where they are. A word's place in the buckets is known beforehand: it is as far into them as the word
is, on average, into the arcs of a state. So a look-up touches as few lines of memory as can be, as one that is not in
the cache takes as long as a hundred instructions even if it is prefetched; it tells early enough what it will touch;
and it asks little that a processor cannot predict, as each wrong guess takes as long as twenty instructions.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.fst.read import CapFst
from capfst.fst.write import ArcArray, StateArray
from capfst.kernels import count_ones, inlined, inner, kernel, outlined, prefetch, release
from capfst.kernels.types import Array, I32Array, Record, U32Array, U32Strided, i64, u32
from capfst.system.binary_search import lower_bound

_SHORT, _LONG = 1, 2
"""Binary logarithms of how many arcs a bucket has on average, of a state of one word and of a longer one."""
_AHEAD = 24  # arcs, when a state's buckets are filled
_STEP = 16  # arcs, of which one is counted to know words' shares
NEAR = 1 << 15
"""A bucket is near if its first arc is less than so many arcs from where it would be if all were of the same size."""

FORM = np.dtype(
    [
        ("cost", "f4"),  # of the unigram
        ("backoff_cost", "f4"),  # from its state
        ("state", "i4"),  # the context of this one form; 0 if nothing follows it
        ("pos", "u4"),  # of the state's arcs, the backoff first
        ("end", "u4"),  # behind the last of them
        ("share", "u4"),  # of the arcs of states of one word: about those of lower words, times 2³²
    ],
    align=True,
)
"""A surface form. The forms of a word are in one place, which is what their states are not."""
FormArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(FORM)]
Form: TypeAlias = Annotated[Any, Record(FORM)]
CONTEXT = np.dtype(
    [
        ("pos", "u4"),  # of its state's arcs, the backoff first
        ("backoff_cost", "f4"),  # NaN until the context is looked up (`prepare`)
    ],
    align=True,
)
"""A context of several words: what is in its state and its first arc, in fewer lines of memory."""
ContextArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(CONTEXT)]
ContextRecord: TypeAlias = Annotated[Any, Record(CONTEXT)]


class Buckets(NamedTuple):
    """Parts of about as many arcs each, of the arcs of some states; each state has its own."""

    entries: U32Array  # what is in a bucket, and where (`fill_buckets`); no state has the last
    log_size: int  # binary logarithm of how many arcs a bucket has on average
    origin: int  # the first arc of all the states


class LookupTables(NamedTuple):
    """What kernels know of a model."""

    states: StateArray  # STATE
    arcs: ArcArray  # ARC
    forms: FormArray  # FORM, by label
    contexts: ContextArray  # CONTEXT, by state; behind the last the number of arcs
    short: Buckets  # of the states of one word
    longer: Buckets
    context: int  # behind so many words the state depends on no word before; −1: some words are impossible


@inlined
def sixteenth_of(buckets: Buckets, pos: i64, end: i64, share: i64) -> i64:
    """Where words that have this share are, of a state that has the arcs pos:end, and buckets: the number of the bucket
    << 4 | which sixteenth of it."""
    first = pos - buckets.origin >> buckets.log_size
    n_buckets = (end - buckets.origin >> buckets.log_size) - first
    return (first << 4) + (n_buckets * i64(share) >> 28)


@inlined
def has_buckets(buckets: Buckets, pos: i64, end: i64) -> bool:
    """Whether a state that has the arcs pos:end is one of these, and has so many that it has buckets wherever they
    begin."""
    return pos >= buckets.origin and end - pos >= 1 << buckets.log_size


@inlined
def _even_place(buckets: Buckets, bucket: i64) -> i64:
    """Where a bucket would begin if all were of the same size."""
    return buckets.origin + (bucket << buckets.log_size)


@kernel
def fill_buckets(
    states: StateArray, arcs: ArcArray, shares: U32Strided, begin: i64, end: i64, buckets: Buckets
) -> None:
    """Fills the buckets of the states begin … end − 1, which are 0; shares: of each label. Threads may fill the same.

    An entry's lower half has a bit for each sixteenth of the bucket: whether there are words. In its upper half is how
    far its first arc is from where the bucket would begin if all were of the same size, and NEAR more; 0 if it is not
    near. It is written when it is complete.
    """
    nowhere = buckets.entries.size - 1  # the entry that no state has, to be written to in place of a branch
    for state in range(begin, end):
        pos = i64(states[state].pos)
        behind = pos + i64(states[state].narcs)
        if not has_buckets(buckets, pos, behind):
            continue
        bucket, entry = nowhere, 0
        for arc in range(pos + 1, behind):  # but for the backoff
            prefetch(shares, i64(arcs[min(arc + _AHEAD, behind - 1)].ilabel))
            sixteenth = sixteenth_of(buckets, pos, behind, shares[arcs[arc].ilabel])
            before, bucket = bucket, sixteenth >> 4
            place = arc - _even_place(buckets, bucket) + NEAR
            place = place if 0 < place < 2 * NEAR else 0
            is_next = bucket != before
            buckets.entries[before if is_next else nowhere] = entry  # which of them, nobody can predict
            entry = (place << 16 if is_next else entry) | 1 << (sixteenth & 15)
        buckets.entries[bucket] = entry
        buckets.entries[nowhere] = 0


@outlined
@inner
def prepare(tables: LookupTables, state: i64, shorter: i64) -> bool:
    """Makes a context of several words ready to be looked up; whether it backs off to the state `shorter`, as in a
    model of n-grams."""
    arc = tables.arcs[i64(tables.contexts[state].pos)]
    if arc.nextstate != shorter:
        return False
    fill_buckets(tables.states, tables.arcs, tables.forms["share"], state, state + 1, tables.longer)
    release()
    tables.contexts[state].backoff_cost = arc.weight
    return True


@inlined
def look_into_bucket(
    tables: LookupTables, buckets: Buckets, sixteenth: i64, state: i64, end: i64, label: i64
) -> tuple[i64, i64]:
    """Whether a state is likely to have an arc for the word that has this label; and if it has, the first one or one
    before it."""
    bucket, part = sixteenth >> 4, sixteenth & 15
    entry = i64(buckets.entries[bucket])
    # In each sixteenth before the word's that has words is an arc at least, and seldom more.
    arc = _even_place(buckets, bucket) + (entry >> 16) - NEAR + count_ones(entry & (1 << part) - 1)
    if 0 < entry < 1 << 16:  # the bucket is not near
        arc = lower_bound(tables.arcs["ilabel"], i64(tables.states[state].pos) + 1, end, label)
    return entry >> part & 1, arc


@kernel
def _first_longer(states: StateArray, arcs: ArcArray, behind: i64) -> i64:
    """The first of the states 1 … behind − 1 that is one of several words; `behind` if none is."""
    state = 1
    while state < behind and arcs[i64(states[state].pos)].nextstate == 0:
        state += 1
    return state


@kernel
def _fill_forms(states: StateArray, arcs: ArcArray, begin: i64, end: i64, starts: I32Array, forms: FormArray) -> None:
    """Fills FORM[labels], which are 0. The arcs begin … end − 1 are those of states of one word; starts: the first
    label of each word, and the one behind the last."""
    n_counted, n_words = 0, starts.size - 1
    for arc in range(begin, end, _STEP):
        label = arcs[arc].ilabel
        forms[label].share += 1  # for now
        n_counted += label != 0
    forms[0].share = 0
    more = n_counted / n_words / 2 if n_counted > 0 else 1.0  # words that have none of these arcs are told apart, too
    scale, below = 2.0**32 / (n_counted + n_words * more), 0.0
    for word in range(n_words):
        share = u32(below * scale)
        below += more
        for label in range(starts[word], starts[word + 1]):
            form, unigram = forms[label], arcs[label - 1]
            below += form.share
            form.share, form.cost = share, unigram.weight
            state = i64(unigram.nextstate)
            if state != 0:
                pos = i64(states[state].pos)
                form.state, form.pos, form.end = state, pos, pos + i64(states[state].narcs)
                form.backoff_cost = arcs[pos].weight


def lookup_tables(model: CapFst) -> LookupTables:
    """The tables of a model."""
    states, arcs, labels = model.states, model.arcs, len(model.symbols)
    # As many words, and `<s>`, are the states of one word of context at most, which come first.
    first_longer = _first_longer(states, arcs, min(labels + 1, len(states)))
    contexts = np.zeros(len(states) + 1, CONTEXT)
    contexts["pos"] = np.append(states["pos"], np.uint32(len(arcs)))
    contexts["backoff_cost"] = np.nan
    begin, middle, end = contexts["pos"][[1, first_longer, -1]].tolist()
    forms = np.zeros(labels, FORM)
    _fill_forms(states, arcs, labels, middle, model.starts, forms)
    short, longer = _empty_buckets(begin, middle, _SHORT), _empty_buckets(middle, end, _LONG)
    fill_buckets(states, arcs, forms["share"].copy(), 1, first_longer, short)  # in fewer lines of memory
    is_finite = np.isfinite(arcs["weight"][: labels - 1]).all()
    context = max(model.order, model.signature.order) - 1 if is_finite else -1
    return LookupTables(states, arcs, forms, contexts, short, longer, context)


def _empty_buckets(begin: int, end: int, log_size: int) -> Buckets:
    """For the states of the arcs begin … end − 1; larger ones where the numbers of sixteenths would need more than 32
    bits."""
    log_size = max(log_size, (end - begin >> 28).bit_length())
    return Buckets(np.zeros((end - begin >> log_size) + 1, np.uint32), log_size, begin)
