"""Words of a text → what each of their casings costs in its context (the weights on S ∘ T), by the learned model.

In: a buffer's words with their surface forms (S ∘ T), and the context model. Out: `CasingCosts`: for each surface form
a cost beside the LM's; and for each word the shape to write it in if the best path reads it as its most frequent form,
or if it is OOV: so words appear in casings that the LM has not seen.

The LM reads an unseen casing as the word's most frequent form. So of all casings that are read as this form the search
needs the cheapest one only. An OOV word is `<unk>` in any casing: the context alone decides on its shape.

The way: tokens.py (words → tokens) → score.py (→ ln p of each shape; for documents, document.py changes these) →
`_fill` (→ costs of surface forms and unseen casings). A second context model, of spellings, follows on the same tokens
(spellings.py).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape
from capfst.casing.transducer import Transducer
from capfst.casing.types import CasingCosts, Words
from capfst.context.context_model import LEAST_PENALTY, Context, WordArray
from capfst.context.document import remember
from capfst.context.domains import ANY
from capfst.context.lexicon import has_case
from capfst.context.shape_scores import score
from capfst.context.spellings import add_spellings, has_spellings, tell_spellings
from capfst.context.tokens import Text, read_words
from capfst.kernels import get_eight, inlined, inner, kernel, part, prefetch
from capfst.kernels.types import F32Array, F32Matrix, U8Array, U32Array, f32, i64, u32, u64

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
_IF_SEEN = np.array([0, np.inf], np.float32)  # read in place of a branch, which nobody could predict


@inlined
def _fill_few(context: Context, label: u32, n_forms: i64, shape_costs: F32Array, costs: F32Array, first: i64) -> bool:
    """As _fill_known and _leave_out, without options, for most words: of up to _FEW forms, without a likely unseen
    casing. False if the word is another one. Nothing here depends on the number of forms, which is hard to predict;
    more than n_forms of the costs may be written.

    shape_costs: those of CASELESS and _NO_FORM, too.
    """
    if n_forms > _FEW or label + 8 > context.shapes.size:
        return False
    there = (u64(1) << u64(8 * n_forms)) - u64(1)
    shapes = get_eight(context.shapes, label) & there | u64(_NO_FORM * 0x01010101) & ~there
    shape0, shape1 = i64(shapes & u64(7)), i64(shapes >> u64(8) & u64(7))
    shape2, shape3 = i64(shapes >> u64(16) & u64(7)), i64(shapes >> u64(24) & u64(7))
    cost0, cost1, cost2, cost3 = shape_costs[shape0], shape_costs[shape1], shape_costs[shape2], shape_costs[shape3]
    seen = 1 << shape0 | 1 << shape1 | 1 << shape2 | 1 << shape3
    unseen, most = f32(np.inf), min(cost0, cost1, cost2, cost3) + f32(MARGIN)
    for shape in range(Shape.MIXED.value):
        unseen = min(unseen, shape_costs[shape] + _IF_SEEN[seen >> shape & 1])
    if unseen + f32(LEAST_PENALTY) < cost0:
        return False
    costs[first] = f32(np.inf) if cost0 > most else cost0
    costs[first + 1] = f32(np.inf) if cost1 > most else cost1
    costs[first + 2] = f32(np.inf) if cost2 > most else cost2
    costs[first + 3] = f32(np.inf) if cost3 > most else cost3
    return True


@inner
def _fill_known(
    records: WordArray,
    label: u32,
    shapes: U8Array,
    shape_costs: F32Array,
    every: bool,
    arc_costs: F32Array,
    option: F32Array,
) -> i64:
    """Costs of the surface forms of a known word, which have these shapes, and of unseen casings; the shape in which to
    write its most frequent form. every: whether the options are wanted, too."""
    seen = 1 << Shape.MIXED.value
    for k in range(shapes.size):
        arc_costs[k] = shape_costs[shapes[k]] if shapes[k] < N_SHAPES else 0
        seen |= 1 << shapes[k]
    unseen = f32(np.inf)
    for shape in range(Shape.MIXED.value):
        if not seen >> shape & 1:
            unseen = min(unseen, shape_costs[shape])
    best = AS_FORM
    if every or unseen + f32(LEAST_PENALTY) < arc_costs[0]:  # the word's record is seldom in the cache
        word = records[label]
        option[N_SHAPES] = arc_costs[0]
        for shape in range(Shape.MIXED.value):
            if not seen >> shape & 1 and not (shape == Shape.UPPER and word.one_letter):
                option[shape] = shape_costs[shape] + word.unseen_penalty
                if option[shape] < arc_costs[0]:
                    arc_costs[0] = option[shape]
                    best = shape
    return best


@inner
def _fill_oov(shape_costs: F32Array, option: F32Array) -> i64:
    """What an OOV word costs in each shape; the cheapest one."""
    best = 0
    for shape in range(N_SHAPES):
        option[shape] = shape_costs[shape]
        if option[shape] < option[best]:
            best = shape
    option[N_SHAPES] = np.inf
    return best


@inlined
def _leave_out(costs: F32Array) -> None:
    """Makes those of the costs of a word's surface forms infinite that are hopeless (MARGIN), in place."""
    least = f32(np.inf)
    for k in range(costs.size):
        least = min(least, costs[k])
    for k in range(costs.size):  # without a branch: which ones are cannot be predicted
        costs[k] = f32(np.inf) if costs[k] > least + f32(MARGIN) else costs[k]


@kernel
def _fill(
    words: Words,
    text: Text,
    context: Context,
    guess: bool,
    log_p: F32Matrix,
    every: bool,
    ranks: U8Array,
    shape_costs: F32Array,
    arc_costs: F32Array,
    shapes: U8Array,
    options: F32Matrix,
) -> None:
    """Fills what a CasingCosts has. every: whether the options are wanted, too, which have one row if not; else
    hopeless forms cost +inf, but for words that have several spellings, whose costs are to be added. ranks: of the
    spellings, or none. shape_costs: room for float32[_NO_FORM + 1]. arc_costs: with _FEW more."""
    first_arc, last = 0, words.starts.size - 1
    shape_costs[Shape.CASELESS.value], shape_costs[_NO_FORM] = 0, np.inf
    for i in range(words.starts.size):
        prefetch(context.shapes, words.first_labels[min(i + _AHEAD, last)])
        option = options[i if every else 0]
        if every:
            for shape in range(N_SHAPES):
                option[shape] = np.inf
            option[N_SHAPES] = 0
        shapes[i] = AS_FORM
        n_forms, label = i64(words.n_forms[i]), words.first_labels[i]
        arc, first_arc = first_arc, first_arc + n_forms
        if not has_case(text.tokens[text.token_of[i]].shape_evidence):  # a line end, too
            for k in range(n_forms):
                arc_costs[arc + k] = 0
            continue
        for shape in range(N_SHAPES):
            shape_costs[shape] = f32(-SCALE) * log_p[i, shape]
        shape_costs[Shape.LOWER.value] += f32(SCALE * LOWER_PENALTY)
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
def _leave_out_hopeless(n_forms: U32Array, first_labels: U32Array, ranks: U8Array, arc_costs: F32Array) -> None:
    """Makes the costs of the surface forms infinite that are hopeless (MARGIN), in place, of the words that have
    several spellings. n_forms, first_labels: of each word. ranks: of the spellings, by label."""
    first_arc = 0
    for i in range(n_forms.size):
        n = i64(n_forms[i])
        if has_spellings(n, first_labels[i], ranks):
            _leave_out(part(arc_costs, first_arc, n))
        first_arc += n


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
    n, n_forms = len(words.token_types), int(words.n_forms.sum())
    text, lowercase = read_words(buf, words, begins, known, transducer, context is not None, language)
    log_p = np.empty((n, N_SHAPES), np.float32)
    costs = np.zeros(n_forms + _FEW, np.float32)
    arc_costs = costs[:n_forms]
    found = CasingCosts(arc_costs)
    if context is not None:
        score(buf, words, text, lowercase, context, log_p)
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
        score(buf, words, text, lowercase, spellings, log_p)
        add_spellings(words, spellings.shapes, log_p, found)
        if not every:
            _leave_out_hopeless(words.n_forms, words.first_labels, spellings.shapes, arc_costs)
    return found
