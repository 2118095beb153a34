"""Words of a text → weights of their surface forms, and how unseen words and casings are written.

In: a buffer's words with their surface forms (S ∘ T), and the context model. Out: for each form what it costs beside
the LM (−ln, scaled), and for each word the shape to write it in if its most frequent form, or as an OOV word none, is
chosen: what the LM has not seen.

The LM reads an unseen casing as the word's most frequent form, so of all casings that it takes for one form the
cheapest is all that the search needs to know of; an OOV word is `<unk>` in any casing, so its shape is decided here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape, shape_of
from capfst.casing.transducer import CasingCosts, Words
from capfst.context.classes import RARE
from capfst.context.features import (
    BASE,
    FACT,
    FAR,
    FIRST,
    MARGIN,
    NO_DECISION,
    OWN,
    SECOND,
    SURE,
    decision,
    first_features,
    is_capital,
    margin,
    own_features,
    second_features,
)
from capfst.context.model import SHARED, ZERO, Context
from capfst.context.words import BARE, BEGIN, HASHES, SUFFIX, UNSEEN, WHOLE, describe
from capfst.system.kernels import allocating, kernel, power_of_two, prefetch
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD, canonical
from capfst.text.unicode import INFO, TO_LOWER, lower_into

SCALE = 3.0
"""Of the context's costs beside the LM's."""
BIAS = 0.2
"""Added to the context's cost of lower case. Both were found on held-out text."""

_BLOCK = 16  # words whose weights are on their way from memory together


@kernel
def _exp(x):  # type: ignore[no-untyped-def]
    """e^x of a float32 from −87 to 0, to five digits: without a call, and four at once."""
    y = x * np.float32(1.4426950408889634)
    n = np.floor(y)
    f = (y - n) * np.float32(0.6931471805599453)
    e = np.float32(1 / 720)
    for divisor in (120, 24, 6, 2, 1, 1):
        e = e * f + np.float32(1.0 / divisor)
    return e * power_of_two(np.int32(n))


@kernel
def _softmax(z, p):  # type: ignore[no-untyped-def]
    """Scores z → probabilities p; ln of the sum that they are divided by."""
    most = max(z[0], z[1], z[2], z[3])
    for k in range(N_SHAPES):
        p[k] = _exp(max(z[k] - most, np.float32(-87)))
    total = p[0] + p[1] + p[2] + p[3]
    for k in range(N_SHAPES):
        p[k] /= total
    return most + np.log(total)


@kernel
def _lanes(row):  # type: ignore[no-untyped-def]
    """Four bytes → as many numbers of 16 bits, of which many can be added at once."""
    lanes = np.uint64(row)
    lanes = (lanes | lanes << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return (lanes | lanes << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)


@kernel
def _sum(table, bits, features, n):  # type: ignore[no-untyped-def]
    """The rows of these features in a table of 2^bits rows, added; one that another feature has counts as ZERO."""
    total = np.uint64(0)
    for i in range(n):
        row = table[np.int64(features[i] & np.uint64(table.size - 1))]
        number = np.uint32(features[i] >> np.uint64(bits) & np.uint64(SHARED - 1))
        other = np.uint32(row >> np.uint32(24) != number + np.uint32(1))
        total += _lanes(row ^ (row ^ ZERO) & (np.uint32(0) - other))
    return total


@kernel
def _weight(lanes, shape, n):  # type: ignore[no-untyped-def]
    """The weight of a shape in a sum of n rows; that of lower case, 0, is 0."""
    return np.int64(lanes >> np.uint64(16 * (shape - 1)) & np.uint64(0xFFFF)) - 128 * n if shape else np.int64(0)


@kernel
def _bits(rows):  # type: ignore[no-untyped-def]
    bits = 0
    while 1 << bits < rows:
        bits += 1
    return bits


@kernel
def _most(votes):  # type: ignore[no-untyped-def]
    """The kind of text that has the most votes, the lowest of them; the votes are taken back."""
    best = 0
    for kind in range(1, votes.size):
        if votes[kind] > votes[best]:
            best = kind
    votes[:] = 0
    return best


@allocating
def _facts(  # type: ignore[no-untyped-def]
    buf, plain, starts, ends, kinds, first, forms, known, shapes, info, lower_table, facts, unseen, places, lines, votes
):
    """The facts of all words, with margins; places[i]: that of word i; unseen[k]: the hashes of the k-th OOV word;
    lines[m]: the kind of text of the m-th line, by what its words speak for."""
    size = buf.size
    longest = np.int64(0)
    for i in range(starts.size):
        longest = max(longest, ends[i] - starts[i])
    lowered, word = np.empty(longest * 3 // 2 + 8, np.uint8), np.empty(longest * 3 // 2 + 8, np.uint8)
    j = margin(facts, 0)
    place, k, m = 0, 0, 0
    for i in range(starts.size):
        places[i] = j
        if kinds[i] == NEWLINE:
            j = margin(facts, j)
            place = 0
            lines[m] = _most(votes)
            m += 1
            continue
        fact = facts[j]
        if forms[i] != 0:
            record = known[first[i]]
            fact.word, fact.two, fact.lead = record.word, record.two, record.lead
            fact.small, fact.capital = record.small, record.capital
            fact.evidence = BARE if shapes[first[i]] == Shape.CASELESS else record.evidence
            for kind in range(votes.size):
                votes[kind] += record.told[kind]
        else:
            if kinds[i] == WORD or kinds[i] == COMPOUND:
                length = lower_into(buf, starts[i], ends[i], 0, size, lowered, 0, info, lower_table)
                bare = shape_of(lowered, 0, length, info) == Shape.CASELESS
                if plain:
                    word[:length] = lowered[:length]
                else:
                    length = canonical(lowered, 0, length, kinds[i], word)
            else:
                length = canonical(buf, starts[i], ends[i], kinds[i], word)
                bare = True
            describe(word, 0, length, info, unseen[k])
            fact.word, fact.two = unseen[k, WHOLE], unseen[k, SUFFIX + 1]
            fact.evidence = BARE if bare else UNSEEN
            fact.lead = 0
            fact.small = fact.capital = RARE
            k += 1
        fact.place = min(place, FAR)
        place += 1
        j += 1
    margin(facts, j)
    lines[m] = _most(votes)


@allocating
def _decide(kinds, lines, first, forms, places, facts, unseen, owns, tables, tables2, scales, costs):  # type: ignore[no-untyped-def]
    """costs[n, N_SHAPES]: −ln p of the shapes of each word that has case, line by line."""
    features = np.empty((_BLOCK, max(FIRST, SECOND)), np.uint64)
    own = np.empty(OWN, np.uint64)
    mask, mask2 = np.uint64(tables.shape[1] - 1), np.uint64(tables2.shape[1] - 1)
    bits, bits2 = _bits(tables.shape[1]), _bits(tables2.shape[1])
    decisions = np.full(len(facts), NO_DECISION, np.uint8)
    p = np.empty(N_SHAPES, np.float32)
    unsure = np.float32(np.log(SURE))
    oov, line = 0, 0
    begin = 0
    while begin < kinds.size:
        end = begin
        while end < kinds.size and kinds[end] != NEWLINE:
            end += 1
        kind = lines[line]
        line += 1
        of_word, table, table2 = owns[kind], tables[kind], tables2[kind]
        capitals, cased = np.int64(0), np.int64(0)
        for block in range(begin, end, _BLOCK):
            last = min(end, block + _BLOCK)
            for i in range(block, last):
                f = features[i - block]
                if facts[places[i]].evidence < BEGIN:
                    first_features(facts, places[i], f)
                    for k in range(FIRST):
                        prefetch(table, np.int64(f[k] & mask))
                    prefetch(of_word.reshape(-1), (N_SHAPES - 1) * first[i])
            for i in range(block, last):
                t = places[i]
                if facts[t].evidence < BEGIN:
                    lanes = _sum(table, bits, features[i - block], FIRST)
                    for k in range(N_SHAPES):
                        costs[i, k] = _weight(lanes, k, FIRST)
                    if forms[i] != 0:
                        for k in range(1, N_SHAPES):
                            costs[i, k] += of_word[first[i], k - 1]
                    else:
                        n = own_features(unseen[oov], UNSEEN, own)
                        lanes = _sum(table, bits, own, n)
                        for k in range(1, N_SHAPES):
                            costs[i, k] += _weight(lanes, k, n)
                    for k in range(N_SHAPES):
                        costs[i, k] *= scales[kind, 0]
                    total = _softmax(costs[i], p)
                    for k in range(N_SHAPES):
                        costs[i, k] -= total
                    decisions[t] = decision(p)
                    cased += 1
                    capitals += is_capital(decisions[t])
                oov += forms[i] == 0
        for block in range(begin, end, _BLOCK):
            last = min(end, block + _BLOCK)
            for i in range(block, last):
                f = features[i - block]
                if facts[places[i]].evidence < BEGIN and costs[i].max() < unsure:
                    second_features(facts, decisions, places[i], capitals, cased, f)
                    for k in range(SECOND):
                        prefetch(table2, np.int64(f[k] & mask2))
            for i in range(block, last):
                if facts[places[i]].evidence >= BEGIN:
                    continue
                if costs[i].max() < unsure:
                    lanes = _sum(table2, bits2, features[i - block], SECOND)
                    for k in range(N_SHAPES):
                        costs[i, k] = BASE * costs[i, k] + scales[kind, 1] * _weight(lanes, k, SECOND)
                    total = _softmax(costs[i], p)
                    for k in range(N_SHAPES):
                        costs[i, k] -= total
                for k in range(N_SHAPES):
                    costs[i, k] = -costs[i, k]
        begin = end + 1


@allocating
def _weigh(places, first, forms, known, shapes, facts, costs, guess, weights, chosen, options):  # type: ignore[no-untyped-def]
    """Fills weights[sum of forms], chosen[n] and, if it has as many rows, options[n, N_SHAPES + 1]."""
    at = 0
    for i in range(first.size):
        option = options[i % len(options)]
        option[:] = np.inf
        option[N_SHAPES] = 0
        chosen[i] = AS_FORM
        if facts[places[i]].evidence >= BEGIN:  # a line's end, too
            weights[at : at + forms[i]] = 0
            at += forms[i]
            continue
        cost = costs[i]
        for shape in range(N_SHAPES):
            cost[shape] = SCALE * (cost[shape] + (BIAS if shape == Shape.LOWER else 0.0))
        if forms[i] != 0:
            word = known[first[i]]
            seen = 0
            for k in range(forms[i]):
                shape = shapes[first[i] + k]
                weights[at + k] = cost[shape] if shape < N_SHAPES else 0
                seen |= 1 << shape
            option[N_SHAPES] = weights[at]
            for shape in (Shape.LOWER, Shape.CAPITALIZED, Shape.UPPER):
                if not seen >> shape & 1 and not (shape == Shape.UPPER and word.single):
                    option[shape] = cost[shape] + word.penalty
                    if option[shape] < weights[at]:
                        weights[at] = option[shape]
                        chosen[i] = shape
        elif guess:
            best = 0
            for shape in range(N_SHAPES):
                option[shape] = cost[shape]
                if option[shape] < option[best]:
                    best = shape
            option[N_SHAPES] = np.inf
            chosen[i] = best
        at += forms[i]


def weigh(
    context: Context, buf: npt.NDArray[np.uint8], words: Words, pretokenized: bool, guess: bool, every: bool = False
) -> CasingCosts:
    """The weights of the words' forms, and the shapes of what the LM has not seen.

    guess: whether OOV words are written in their likeliest shape, not in lower case. every: gives the options, too.
    """
    n = len(words.token_types)
    newlines = int(np.count_nonzero(words.token_types == NEWLINE))
    facts = np.empty(n + MARGIN * (2 + newlines), FACT)
    places, costs = np.empty(n, np.int64), np.empty((n, N_SHAPES), np.float32)
    unseen = np.empty((int(np.count_nonzero(words.n_forms == 0)) - newlines, HASHES), np.uint32)
    lines, votes = np.empty(newlines + 1, np.int64), np.zeros(len(context.scales), np.int64)
    _facts(
        buf, pretokenized, *words, context.known, context.shapes, INFO, TO_LOWER, facts, unseen, places, lines, votes
    )
    _decide(
        words.token_types, lines, words.first_labels, words.n_forms, places, facts, unseen, context.own, context.first,
        context.second, context.scales, costs,
    )  # fmt: skip
    weights, chosen = np.empty(words.n_forms.sum(), np.float32), np.empty(n, np.uint8)
    options = np.empty((max(1, n) if every else 1, N_SHAPES + 1), np.float32)
    _weigh(
        places,
        words.first_labels,
        words.n_forms,
        context.known,
        context.shapes,
        facts,
        costs,
        guess,
        weights,
        chosen,
        options,
    )
    return CasingCosts(weights, chosen, options if every else None)
