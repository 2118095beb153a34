"""Words of a text → what each of their casings costs in its context (the weights on S ∘ T), by the learned model.

In: a buffer's words with their surface forms (S ∘ T), and the context model. Out: `CasingCosts`: for each surface form
a cost beside the LM's; and for each word the shape to write it in if the best path reads it as its most frequent form,
or if it is OOV: so words appear in casings that the LM has not seen.

The LM reads an unseen casing as the word's most frequent form. So of all casings that are read as this form the search
needs the cheapest one only. An OOV word is `<unk>` in any casing: the context alone decides on its shape. If the model
knows what is left of it without diacritics, its *stand-in*, all that is known of that is taken to be known of it: names
keep their case from language to language, but not their diacritics (*Finlandia*, *Finlândia*).

The way: `_read` (words → tokens) → `_score` (→ ln p of each shape; of each line the first look, then stage 1, then
stage 2; for documents `document.remember`) → `_fill` (→ costs of surface forms and unseen casings). A second context
model, of spellings, follows on the same tokens (spellings.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape, shape_of
from capfst.casing.transducer import CasingCosts, Index, Transducer, Words, canonical_lowercase, find_label
from capfst.context.classes import RARE
from capfst.context.document import remember
from capfst.context.domains import ANY, MAX_DOMAINS, likeliest_domain
from capfst.context.features import (
    BLOCK,
    MAX_POSITION,
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_FIRST_FEATURES,
    N_NEIGHBOUR_FEATURES,
    NO_DECISION,
    PADDING,
    PRIOR_WEIGHT,
    STAGE1_LEAD,
    TOKEN,
    decision,
    decision_features,
    first_features,
    gets_first_look,
    has_capitals,
    largest,
    lead,
    likeliest,
    neighbour_features,
    prefetch_rows,
    sentence_padding,
    settled_decision,
    word_features,
)
from capfst.context.model import EMPTY_ROW, LEAST_PENALTY, ROWS_PER_SLOT, Context
from capfst.context.spellings import add_spellings, has_spellings, tell_spellings
from capfst.context.words import N_HASHES, NO_CASE, SUFFIX, UNSEEN, WHOLE, has_case, hash_word
from capfst.system.kernels import count_ones, get_eight, inlined, kernel, outlined, part, prefetch
from capfst.text.tokenizer import COMPOUND, NEWLINE, WORD
from capfst.text.unicode import GROWTH, INFO, Lowering, lower_into

SCALE = 3.0
"""A casing costs SCALE · (−ln p), and what the LM asks for it. Found on held-out text, as LOWER_PENALTY."""
LOWER_PENALTY = 0.2
"""Added to −ln p of LOWER."""

MARGIN = 6.0
"""A surface form that costs so much more than its word's cheapest one is hopeless: it costs +inf. So the search has few
choices; with an infinite margin, 9 of 226,000 words of English development text are written otherwise."""

_AHEAD = 8  # words
_FEW = 4  # surface forms; few words have more
_NO_FORM = Shape.CASELESS.value + 1  # in the place of a form's shape


class _Lowercase(NamedTuple):
    """What brings unseen words into lower case, and room for one in each state of that."""

    pretokenized: bool
    info: npt.NDArray[np.uint8]
    lowering: Lowering
    stripping: Lowering  # and without diacritics
    known: Index  # the words that the model knows
    lowered: npt.NDArray[np.uint8]
    word: npt.NDArray[np.uint8]  # as the LM writes it
    hashes: npt.NDArray[np.uint32]  # [N_HASHES], of the same
    stripped: npt.NDArray[np.uint8]
    parts: npt.NDArray[np.uint64]  # the same, by eight bytes

    @classmethod
    def of(cls, transducer: Transducer, longest: int) -> _Lowercase:
        """With room for a word of so many bytes."""
        room = longest * GROWTH + 8
        return cls(
            transducer.pretokenized,
            INFO,
            transducer.symbols.language.lowering,
            transducer.stripping,
            transducer.index,
            np.empty(room, np.uint8),
            np.empty(room, np.uint8),
            np.empty(N_HASHES, np.uint32),
            np.empty(room * GROWTH, np.uint8),
            np.empty(room * GROWTH // 8 + 1, np.uint64),
        )


class _Text(NamedTuple):
    """The words of a buffer in their lines, as the features read them."""

    tokens: npt.NDArray  # TOKEN, with padding before and after each line, and between sentences
    token_of: npt.NDArray[np.int64]  # [n]: the token of each word; of a line end, the padding behind its line
    labels: npt.NDArray[np.uint32]  # [n]: the first label of each word, or of an OOV word's stand-in, or 0
    domains: npt.NDArray[np.int64]  # of each line; if they are languages, of each sentence
    ends: npt.NDArray[np.int64]  # the word behind each of these


class _Workspace(NamedTuple):
    """Memory that the stages use line after line."""

    features: npt.NDArray[np.uint32]  # [BLOCK, …]
    word_features: npt.NDArray[np.uint32]  # [MAX_WORD_FEATURES]
    looked: npt.NDArray[np.int64]  # [BLOCK]: words that get a first look
    unsettled: npt.NDArray[np.int64]  # words with case for which it does not suffice
    decisions: npt.NDArray[np.uint8]  # of each token

    @classmethod
    def of(cls, n_tokens: int) -> _Workspace:
        return cls(
            np.empty((BLOCK, max(N_NEIGHBOUR_FEATURES, N_DECISION_FEATURES)), np.uint32),
            np.empty(MAX_WORD_FEATURES, np.uint32),
            np.empty(BLOCK, np.int64),
            np.empty(n_tokens, np.int64),
            np.full(n_tokens, NO_DECISION, np.uint8),
        )


# ---- words → tokens


@kernel
def _known_token(word, token):  # type: ignore[no-untyped-def]
    """Fills the token of a word that the LM knows, by its model.WORD."""
    token.word_hash, token.suffix2_hash = word.word_hash, word.suffix2_hash
    token.frequency_rank = word.frequency_rank
    token.lower_class, token.cased_class = word.lower_class, word.cased_class
    token.shape_evidence = word.shape_evidence


@outlined
def _hash(buf, words, i, lowercase):  # type: ignore[no-untyped-def]
    """Fills lowercase.word with the lowercase of word i as the LM would write it, and lowercase.hashes; its size."""
    word = lowercase.word
    size = canonical_lowercase(
        buf, words.starts[i], words.ends[i], words.token_types[i], lowercase.pretokenized, lowercase.info,
        lowercase.lowering, lowercase.lowered, word,
    )  # fmt: skip
    hash_word(word, 0, size, lowercase.info, lowercase.hashes)
    return size


@kernel
def _oov_token(buf, words, i, oov, lowercase, token):  # type: ignore[no-untyped-def]
    """Fills the token of the OOV word i, and what _hash does; the word's size."""
    size = _hash(buf, words, i, lowercase)
    is_word = oov and (words.token_types[i] == WORD or words.token_types[i] == COMPOUND)
    is_cased = is_word and shape_of(lowercase.word, 0, size, lowercase.info) != Shape.CASELESS
    token.shape_evidence = UNSEEN if is_cased else NO_CASE
    token.word_hash, token.suffix2_hash = lowercase.hashes[WHOLE], lowercase.hashes[SUFFIX + 1]
    token.frequency_rank = 0
    token.lower_class = token.cased_class = RARE
    return size


@outlined
def _stand_in(lowercase, size):  # type: ignore[no-untyped-def]
    """The first label of the known word that lowercase.word[:size], which is OOV, is without its diacritics; 0 if there
    is none."""
    word, stripped = lowercase.word, lowercase.stripped
    has_diacritics = False
    for k in range(size):
        has_diacritics |= word[k] >= 0x80
    if not has_diacritics:
        return np.uint32(0)
    size = lower_into(word, 0, size, 0, size, stripped, 0, lowercase.info, lowercase.stripping)
    return find_label(stripped, size, lowercase.known, lowercase.parts)


@kernel
def _add_log_odds(known, of_languages, sums):  # type: ignore[no-untyped-def]
    """Adds a known word's log-odds to the sums: those of languages, if the context model tells several apart."""
    if of_languages.size != 0:
        for language in range(of_languages.size):
            sums[language] += of_languages[language]
    else:
        for domain in range(MAX_DOMAINS):  # at once; those that the context model has not are 0
            sums[domain] += known.domain_log_odds[domain]


@kernel
def _end_domain(text, number, end, log_odds, n_domains, language):  # type: ignore[no-untyped-def]
    """Sets a domain, the likeliest one or the given language, and where it ends; the number of the next one."""
    text.domains[number] = likeliest_domain(part(log_odds, 0, n_domains)) if language == ANY else language
    text.ends[number] = end
    return number + 1


@kernel
def _read(buf, words, begins, oov, context, lowercase, log_odds, language, text):  # type: ignore[no-untyped-def]
    """Fills `text`. A domain is the likeliest one given the known words of its line, or of its sentence, or the given
    language, if it is not ANY. log_odds: room for sums, 0 at first."""
    t = sentence_padding(text.tokens, 0)
    position, domain = 0, 0
    last = words.starts.size - 1
    several = context.language_log_odds.shape[1] != 0
    for i in range(words.starts.size):
        ahead = np.int64(words.first_labels[min(i + _AHEAD, last)])
        prefetch(context.words, ahead)
        if several:
            prefetch(context.language_log_odds[ahead], 0)
            prefetch(context.language_evidence[ahead], 0)
        if begins[i]:
            t = sentence_padding(text.tokens, t)
            position = 0
            if several:
                domain = _end_domain(text, domain, i, log_odds, context.n_domains, language)
        text.token_of[i] = t
        if words.token_types[i] == NEWLINE:
            t = sentence_padding(text.tokens, t)
            domain = _end_domain(text, domain, i, log_odds, context.n_domains, language)
            position = 0
            continue
        token, label = text.tokens[t], words.first_labels[i]
        if words.n_forms[i] != 0:
            known = context.words[label]
            _known_token(known, token)
            _add_log_odds(known, context.language_log_odds[label], log_odds)
        else:
            size = _oov_token(buf, words, i, oov, lowercase, token)
            if has_case(token.shape_evidence):
                label = _stand_in(lowercase, size)
                if label != 0 and context.shapes[label] != Shape.CASELESS:
                    _known_token(context.words[label], token)
                else:
                    label = np.uint32(0)
        text.labels[i] = label
        token.position, token.language_evidence = min(position, MAX_POSITION), 0
        position += 1
        t += 1
    sentence_padding(text.tokens, t)
    _end_domain(text, domain, words.starts.size, log_odds, context.n_domains, language)


# ---- tokens → ln p of the shapes


@kernel
def _subtract_largest(z):  # type: ignore[no-untyped-def]
    most = largest(z)
    for k in range(N_SHAPES):
        z[k] -= most


@inlined
def _sum_rows(rows, features, n):  # type: ignore[no-untyped-def]
    """The sums of the first and third weights of the rows of n features, and of the second ones, in the low and the
    high 16 bits of two numbers; a row that another feature has counts as EMPTY_ROW. rows: as in model.Parameters.

    All numbers have 32 bits, so that most rows are added at once.
    """
    odd, even = np.uint32(0), np.uint32(0)
    mask, bits = np.uint32(rows.size - 1), np.uint32(count_ones(rows.size - 1))
    for i in range(n):
        feature = features[i]
        row = rows[feature & mask]
        owner = np.uint32(np.uint32(feature >> bits & np.uint32(ROWS_PER_SLOT - 1)) + np.uint32(1))
        row = row if np.uint32(row >> np.uint32(24)) == owner else EMPTY_ROW
        odd = np.uint32(odd + np.uint32(row & np.uint32(0x00FF00FF)))
        even = np.uint32(even + np.uint32(row >> np.uint32(8) & np.uint32(0xFF)))
    return odd, even


@kernel
def _score_of(sums, shape, n):  # type: ignore[no-untyped-def]
    """The score of a shape in the sums of n rows; that of LOWER is 0."""
    odd, even = sums
    if shape == 0:
        return np.int64(0)
    total = even if shape == 2 else odd & np.uint32(0xFFFF) if shape == 1 else odd >> np.uint32(16)
    return np.int64(total) - 128 * n


@kernel
def _first_look(text, begin, end, domain, context, work, log_p):  # type: ignore[no-untyped-def]
    """log_p[begin:end], of the words of a line of a domain, for words for which the first look suffices; and
    work.decisions. The other words with case are put into work.unsettled.

    Returns how many these are; how many others have case, and for how many of those the decision has capitals.
    """
    tokens, rows = text.tokens, context.first_look
    n_unsettled, n_words, n_capitals = np.int64(0), np.int64(0), np.int64(0)
    if context.language_evidence.shape[1] != 0:
        for i in range(begin, end):
            if has_case(tokens[text.token_of[i]].shape_evidence):
                tokens[text.token_of[i]].language_evidence = context.language_evidence[text.labels[i], domain]
    # Which words get a first look, and for which it suffices, nobody can predict: so there are no branches on it.
    looked = work.looked
    for block in range(begin, end, BLOCK):
        n_looked = np.int64(0)
        for i in range(block, min(end, block + BLOCK)):
            evidence = tokens[text.token_of[i]].shape_evidence
            looked[n_looked] = work.unsettled[n_unsettled] = i
            n_looked += gets_first_look(evidence)
            n_unsettled += evidence == UNSEEN
        for j in range(n_looked):
            first_features(tokens, text.token_of[looked[j]], domain, work.features[j])
            prefetch_rows(rows, 1, work.features[j], N_FIRST_FEATURES)
        for j in range(n_looked):
            i = looked[j]
            t, z = text.token_of[i], log_p[i]
            sums = _sum_rows(rows, work.features[j], N_FIRST_FEATURES)
            for k in range(N_SHAPES):
                z[k] = context.scales[2] * _score_of(sums, k, N_FIRST_FEATURES)
            settled = settled_decision(z)
            work.decisions[t] = settled
            _subtract_largest(z)
            work.unsettled[n_unsettled] = i
            n_unsettled += settled == NO_DECISION
            n_words += settled != NO_DECISION
            n_capitals += has_capitals(settled)
    return n_unsettled, n_words, n_capitals


@kernel
def _stage1(buf, words, text, n_unsettled, domain, lowercase, context, work, log_p):  # type: ignore[no-untyped-def]
    """log_p[i], for the first `n_unsettled` words i of work.unsettled, which are of a line of a domain; and
    work.decisions. Of these words only those stay in work.unsettled of which stage 1 is not certain.

    Returns how many stay, and for how many of all the decision has capitals.
    """
    tokens = text.tokens
    n_uncertain, n_capitals = np.int64(0), np.int64(0)
    for block in range(0, n_unsettled, BLOCK):
        block_end = min(n_unsettled, block + BLOCK)
        for j in range(block, block_end):
            i, features = work.unsettled[j], work.features[j - block]
            neighbour_features(tokens, text.token_of[i], domain, features)
            prefetch_rows(context.stage1, 1, features, N_NEIGHBOUR_FEATURES)
            prefetch(context.words, text.labels[i])
        for j in range(block, block_end):
            i = work.unsettled[j]
            t, z = text.token_of[i], log_p[i]
            sums = _sum_rows(context.stage1, work.features[j - block], N_NEIGHBOUR_FEATURES)
            for k in range(N_SHAPES):
                z[k] = _score_of(sums, k, N_NEIGHBOUR_FEATURES)
            if tokens[t].shape_evidence != UNSEEN:
                for k in range(1, N_SHAPES):
                    z[k] += context.words[text.labels[i]].scores[k - 1]
            else:
                _hash(buf, words, i, lowercase)
                n = word_features(lowercase.hashes, UNSEEN, domain, work.word_features)
                sums = _sum_rows(context.stage1, work.word_features, n)
                for k in range(1, N_SHAPES):
                    z[k] += _score_of(sums, k, n)
            for k in range(N_SHAPES):
                z[k] *= context.scales[0]
            work.unsettled[n_uncertain] = i
            n_uncertain += np.int64(lead(z, likeliest(z)) < STAGE1_LEAD)
            _subtract_largest(z)
            work.decisions[t] = decision(z)
            n_capitals += has_capitals(work.decisions[t])
    return n_uncertain, n_capitals


@kernel
def _stage2(text, n_uncertain, n_words, n_capitals, context, work, log_p):  # type: ignore[no-untyped-def]
    """Corrects log_p of the first `n_uncertain` words of work.unsettled: PRIOR_WEIGHT · ln p + stage 2's scores."""
    for block in range(0, n_uncertain, BLOCK):
        block_end = min(n_uncertain, block + BLOCK)
        for j in range(block, block_end):
            t, features = text.token_of[work.unsettled[j]], work.features[j - block]
            decision_features(text.tokens, work.decisions, t, n_words, n_capitals, features)
            prefetch_rows(context.stage2, 1, features, N_DECISION_FEATURES)
        for j in range(block, block_end):
            z = log_p[work.unsettled[j]]
            sums = _sum_rows(context.stage2, work.features[j - block], N_DECISION_FEATURES)
            for k in range(N_SHAPES):
                score = context.scales[1] * _score_of(sums, k, N_DECISION_FEATURES)
                z[k] = np.float32(PRIOR_WEIGHT) * z[k] + np.float32(score)
            _subtract_largest(z)


@kernel
def _score(buf, words, text, lowercase, context, work, log_p):  # type: ignore[no-untyped-def]
    """Fills log_p, float32[n, N_SHAPES]: ln p of the shapes of each word that has case, less that of the likeliest."""
    begin = 0
    for number in range(text.domains.size):
        end, domain = text.ends[number], text.domains[number]
        n_unsettled, n_words, n_capitals = _first_look(text, begin, end, domain, context, work, log_p)
        n_words += n_unsettled
        n, more = _stage1(buf, words, text, n_unsettled, domain, lowercase, context, work, log_p)
        _stage2(text, n, n_words, n_capitals + more, context, work, log_p)
        begin = end


# ---- ln p of the shapes → costs of casings


@inlined
def _fill_few(context, label, n_forms, shape_costs, costs, first):  # type: ignore[no-untyped-def]
    """As _fill_known and _leave_out, without options, for most words: of up to _FEW forms, without a likely unseen
    casing. False if the word is another one. Nothing here depends on the number of forms, which is hard to predict;
    more than n_forms of the costs may be written.

    shape_costs: those of CASELESS and _NO_FORM, too.
    """
    if n_forms > _FEW or label + 8 > context.shapes.size:
        return False
    there = (np.uint64(1) << np.uint64(8 * n_forms)) - np.uint64(1)
    shapes = get_eight(context.shapes, label) & there | np.uint64(_NO_FORM * 0x01010101) & ~there
    shape0, shape1 = np.int64(shapes & np.uint64(7)), np.int64(shapes >> np.uint64(8) & np.uint64(7))
    shape2, shape3 = np.int64(shapes >> np.uint64(16) & np.uint64(7)), np.int64(shapes >> np.uint64(24) & np.uint64(7))
    cost0, cost1, cost2, cost3 = shape_costs[shape0], shape_costs[shape1], shape_costs[shape2], shape_costs[shape3]
    seen = 1 << shape0 | 1 << shape1 | 1 << shape2 | 1 << shape3
    unseen, most = np.float32(np.inf), min(cost0, cost1, cost2, cost3) + np.float32(MARGIN)
    for shape in range(Shape.MIXED.value):
        unseen = min(unseen, np.float32(np.inf) if seen >> shape & 1 else shape_costs[shape])
    if unseen + np.float32(LEAST_PENALTY) < cost0:
        return False
    costs[first] = np.float32(np.inf) if cost0 > most else cost0
    costs[first + 1] = np.float32(np.inf) if cost1 > most else cost1
    costs[first + 2] = np.float32(np.inf) if cost2 > most else cost2
    costs[first + 3] = np.float32(np.inf) if cost3 > most else cost3
    return True


@kernel
def _fill_known(records, label, shapes, shape_costs, every, arc_costs, option):  # type: ignore[no-untyped-def]
    """Costs of the surface forms of a known word, which have these shapes, and of unseen casings; the shape in which to
    write its most frequent form. every: whether the options are wanted, too."""
    seen = 1 << Shape.MIXED.value
    for k in range(shapes.size):
        arc_costs[k] = shape_costs[shapes[k]] if shapes[k] < N_SHAPES else 0
        seen |= 1 << shapes[k]
    unseen = np.float32(np.inf)
    for shape in range(Shape.MIXED.value):
        if not seen >> shape & 1:
            unseen = min(unseen, shape_costs[shape])
    best = AS_FORM
    if every or unseen + np.float32(LEAST_PENALTY) < arc_costs[0]:  # the word's record is seldom in the cache
        word = records[label]
        option[N_SHAPES] = arc_costs[0]
        for shape in range(Shape.MIXED.value):
            if not seen >> shape & 1 and not (shape == Shape.UPPER and word.one_letter):
                option[shape] = shape_costs[shape] + word.unseen_penalty
                if option[shape] < arc_costs[0]:
                    arc_costs[0] = option[shape]
                    best = shape
    return best


@kernel
def _fill_oov(shape_costs, option):  # type: ignore[no-untyped-def]
    """What an OOV word costs in each shape; the cheapest one."""
    best = 0
    for shape in range(N_SHAPES):
        option[shape] = shape_costs[shape]
        if option[shape] < option[best]:
            best = shape
    option[N_SHAPES] = np.inf
    return best


@inlined
def _leave_out(costs):  # type: ignore[no-untyped-def]
    """Makes those of the costs of a word's surface forms infinite that are hopeless (MARGIN), in place."""
    least = np.float32(np.inf)
    for k in range(costs.size):
        least = min(least, costs[k])
    for k in range(costs.size):  # without a branch: which ones are cannot be predicted
        costs[k] = np.float32(np.inf) if costs[k] > least + np.float32(MARGIN) else costs[k]


@kernel
def _fill(words, text, context, guess, log_p, every, ranks, shape_costs, arc_costs, shapes, options):  # type: ignore[no-untyped-def]
    """Fills what a CasingCosts has. every: whether the options are wanted, too, which have one row if not; else
    hopeless forms cost +inf, but for words that have several spellings, whose costs are to be added. ranks: of the
    spellings, or none. shape_costs: room for float32[_NO_FORM + 1]. arc_costs: with _FEW more."""
    first_arc, last = np.int64(0), words.starts.size - 1
    shape_costs[Shape.CASELESS.value], shape_costs[_NO_FORM] = 0, np.inf
    for i in range(words.starts.size):
        prefetch(context.shapes, words.first_labels[min(i + _AHEAD, last)])
        option = options[i if every else 0]
        if every:
            for shape in range(N_SHAPES):
                option[shape] = np.inf
            option[N_SHAPES] = 0
        shapes[i] = AS_FORM
        n_forms, label = np.int64(words.n_forms[i]), words.first_labels[i]
        arc, first_arc = first_arc, first_arc + n_forms
        if not has_case(text.tokens[text.token_of[i]].shape_evidence):  # a line end, too
            for k in range(n_forms):
                arc_costs[arc + k] = 0
            continue
        for shape in range(N_SHAPES):
            shape_costs[shape] = np.float32(-SCALE) * log_p[i, shape]
        shape_costs[Shape.LOWER.value] += np.float32(SCALE * LOWER_PENALTY)
        if n_forms != 0:
            leave_out = not every and not has_spellings(n_forms, label, ranks)
            if not (leave_out and _fill_few(context, label, n_forms, shape_costs, arc_costs, arc)):
                of_forms, costs = part(context.shapes, label, n_forms), part(arc_costs, arc, n_forms)
                shapes[i] = _fill_known(context.words, label, of_forms, shape_costs, every, costs, option)
                if leave_out:
                    _leave_out(costs)
        elif guess:
            shapes[i] = _fill_oov(shape_costs, option)


@kernel
def _measure(words, begins, sizes):  # type: ignore[no-untyped-def]
    """Fills sizes[:4]: the number of line ends, of words that begin sentences, and of surface forms; the length of the
    longest word."""
    n_newlines, n_begins, n_forms, longest = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(words.starts.size):
        is_newline = np.int64(words.token_types[i] == NEWLINE)
        n_newlines += is_newline
        n_begins += np.int64(begins[i])
        n_forms += np.int64(words.n_forms[i])
        longest = max(longest, words.ends[i] - words.starts[i])
    sizes[0], sizes[1], sizes[2], sizes[3] = n_newlines, n_begins, n_forms, longest


def casing_costs(
    context: Context | None,
    buf: npt.NDArray[np.uint8],
    words: Words,
    transducer: Transducer,
    guess: bool,
    every: bool = False,
    begins: npt.NDArray[np.bool_] | None = None,
    rarity: npt.NDArray[np.float32] | None = None,
    language: int = ANY,
    spellings: Context | None = None,
) -> CasingCosts:
    """What the casings of a buffer's words cost beside the LM: SCALE · −ln p of their shapes, less that of the word's
    likeliest one.

    An unseen casing costs also what model.WORD has as `unseen_penalty`; hopeless surface forms cost +inf. transducer:
    that found the words. guess: whether OOV words are written in their likeliest shape, not in lower case. every: gives
    the costs of hopeless forms, and the options, too. begins: bool[n], whether the word is taken for the first of a
    sentence inside its line; None: no word is. rarity: float32[n], if the buffer is a document whose lines are evidence
    for each other (context/document.py). language: the number of that of all lines, in a context model of several; ANY:
    that of each sentence is found by its words. spellings: the context model of spellings, whose costs are added, or
    are all, if context is None.
    """
    known = spellings if context is None else context
    assert known is not None
    if begins is None:
        begins = np.zeros(len(words.token_types), np.bool_)
    n, sizes = len(words.token_types), np.empty(4, np.int64)
    _measure(words, begins, sizes)
    n_newlines, n_begins, n_forms, longest = sizes.tolist()
    n_domains = 1 + n_newlines + n_begins * (known.n_languages > 0)
    text = _Text(
        np.empty(n + PADDING * (2 + n_newlines + n_begins), TOKEN),
        np.empty(n, np.int64),
        np.empty(n, np.uint32),
        np.empty(n_domains, np.int64),
        np.empty(n_domains, np.int64),
    )
    lowercase = _Lowercase.of(transducer, longest)
    log_odds, oov = np.zeros(max(MAX_DOMAINS, known.n_domains), np.int64), context is not None
    _read(buf, words, begins, oov, known, lowercase, log_odds, language, text)
    log_p = np.empty((n, N_SHAPES), np.float32)
    costs = np.zeros(n_forms + _FEW, np.float32)
    arc_costs = costs[:n_forms]
    found = CasingCosts(arc_costs)

    def score(model: Context) -> None:
        work = _Workspace.of(len(text.tokens))
        _score(buf, words, text, lowercase, model, work, log_p)

    if context is not None:
        score(context)
        if rarity is not None:
            remember(words.token_types, text.tokens, text.token_of, rarity, log_p)
        options = np.zeros((max(1, n) if every else 1, N_SHAPES + 1), np.float32)
        shapes = np.empty(n, np.uint8)
        ranks = np.empty(0, np.uint8) if spellings is None else spellings.shapes
        shape_costs = np.empty(_NO_FORM + 1, np.float32)
        _fill(words, text, context, guess, log_p, every, ranks, shape_costs, costs, shapes, options)
        found = CasingCosts(arc_costs, shapes, options if every else None)
    if spellings is not None:
        tell_spellings(words, spellings.words, spellings.shapes, text.token_of, text.tokens)
        score(spellings)
        add_spellings(words, spellings.shapes, log_p, found)
        if not every:
            _leave_out_hopeless(words.n_forms, words.first_labels, spellings.shapes, arc_costs)
    return found


@kernel
def _leave_out_hopeless(n_forms, first_labels, ranks, arc_costs):  # type: ignore[no-untyped-def]
    """Makes the costs of the surface forms infinite that are hopeless (MARGIN), in place, of the words that have
    several spellings. n_forms, first_labels: of each word. ranks: of the spellings, by label."""
    first_arc = np.int64(0)
    for i in range(n_forms.size):
        n = np.int64(n_forms[i])
        if has_spellings(n, first_labels[i], ranks):
            _leave_out(part(arc_costs, first_arc, n))
        first_arc += n
