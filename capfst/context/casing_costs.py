"""Words of a text → the cost of each of their casings in context (the weights on S ∘ T), by the context model.

In: a buffer's words with their surface forms (S ∘ T), and the context model. Out: `CasingCosts`: for each surface form
a cost in addition to the LM's; and for each word the shape in which to write it if the best path takes its most
frequent form, or if it is OOV. So words can get casings that the LM has not seen.

The LM reads an unseen casing as the word's most frequent form. So the search needs only the cheapest of all casings
that are read as this form. An OOV word is `<unk>` in any casing: the context alone decides on its shape. A name that is
only known in mixed case (AbbVie, CenterPoint) is written in this form where it would be capitalized.

The steps: tokens.py (words → tokens) → shape_scores.py (→ ln p of each shape; other_lines.py changes these in
documents and in columns) → `_fill` (→ costs of surface forms and unseen casings). A second context model, of
spellings (text/restoring.py), follows on the same tokens: it has p(spelling | word, context) of *a* and *à*.
"""

from __future__ import annotations

import re

import numpy as np

from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape
from capfst.casing.transducer import Transducer
from capfst.casing.types import CasingCosts, Words
from capfst.casing.written import is_written
from capfst.context.channel import NOT_USED, Written, is_written_in, stays
from capfst.context.context_model import LEAST_PENALTY, Context
from capfst.context.domains import ANY
from capfst.context.lexicon import NO_CASE, WordRecordArray, has_case
from capfst.context.other_lines import remember, share_capitals
from capfst.context.shape_scores import score
from capfst.context.tokens import TokenizedText, read_words
from capfst.kernels import get_eight, inlined, inner, kernel, outlined, part, prefetch
from capfst.kernels.types import BoolArray, F32Array, F32Matrix, U8Array, U32Array, f32, i64, u32, u64
from capfst.text.sentences import small_words
from capfst.text.strings import Strings
from capfst.text.tokenizer import NEWLINE

SCALE = 4.0
"""A casing costs SCALE · (−ln p), in addition to its cost by the LM. Tuned on held-out text, like LOWER_PENALTY."""
SPELLING_SCALE = 2.0
"""As SCALE, of a spelling."""
LOWER_PENALTY = 0.2
"""Added to −ln p of LOWER."""

MARGIN = 8.0
"""Surface forms that cost MARGIN more than the word's cheapest form are pruned (their cost is +inf), so that the search
has few choices."""

_AHEAD = 8  # words
_FEW_TOKENS = 5  # which may be of the language of the other sentences of the line
_FEW = 4  # surface forms; few words have more
_UPPER, _MIXED = Shape.UPPER.value, Shape.MIXED.value
_MIXED_ONLY = 1 << Shape.MIXED
_NAMES = _MIXED_ONLY | 1 << Shape.CAPITALIZED
"""Sets of shapes."""
_INNEN = np.uint64(int.from_bytes(b"Innen", "little"))
_NO_FORM = Shape.CASELESS.value + 1  # pseudo shape of a form that the word does not have
_DOTTED = "i\N{COMBINING DOT ABOVE}".encode()
"""The lowercase of İ by Unicode's rules: in a sentence that has it, İ is not the capital of i."""
_find_dots = re.compile(_DOTTED).finditer
_IF_SEEN = np.array([0, np.inf], np.float32)  # read instead of branching, as the branch cannot be predicted


@inlined
def _fill_few(context: Context, label: u32, n_forms: i64, shape_costs: F32Array, costs: F32Array, first: i64) -> bool:
    """Fill the costs of a word of at most _FEW forms without a likely unseen casing, as most words are; return False
    for any other word. The costs are those of _fill_known and _prune, without options.

    Nothing here depends on the number of forms, which is hard to predict; more than n_forms of the costs may be
    written. shape_costs: including CASELESS and _NO_FORM.
    """
    if n_forms > _FEW or label + 8 > context.shapes.size:
        return False
    there = (u64(1) << u64(8 * n_forms)) - u64(1)
    shapes = get_eight(context.shapes, label) & there | u64(_NO_FORM * 0x01010101) & ~there
    shape0, shape1 = i64(shapes & u64(7)), i64(shapes >> u64(8) & u64(7))
    shape2, shape3 = i64(shapes >> u64(16) & u64(7)), i64(shapes >> u64(24) & u64(7))
    cost0, cost1, cost2, cost3 = shape_costs[shape0], shape_costs[shape1], shape_costs[shape2], shape_costs[shape3]
    seen = 1 << shape0 | 1 << shape1 | 1 << shape2 | 1 << shape3
    if seen & _NAMES == _MIXED_ONLY:
        return False
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
    records: WordRecordArray, label: u32, shapes: U8Array, shape_costs: F32Array, include_pruned: bool,
    arc_costs: F32Array, option: F32Array,
) -> i64:  # fmt: skip
    """Fill the costs of a known word's surface forms, which have these shapes, and of its unseen casings; return the
    shape in which to write its most frequent form. include_pruned: also fill `option`."""
    seen = 0
    for shape in shapes:
        seen |= 1 << shape
    if seen & _NAMES == _MIXED_ONLY:
        capitalized = shape_costs[Shape.CAPITALIZED.value]
        shape_costs[Shape.MIXED.value] = min(shape_costs[Shape.MIXED.value], capitalized)
        seen |= _NAMES
    for k in range(shapes.size):
        arc_costs[k] = shape_costs[shapes[k]] if shapes[k] < N_SHAPES else 0
    unseen = f32(np.inf)
    for shape in range(Shape.MIXED.value):
        if not seen >> shape & 1:
            unseen = min(unseen, shape_costs[shape])
    best = AS_FORM
    if include_pruned or unseen + f32(LEAST_PENALTY) < arc_costs[0]:  # the record is seldom in the cache
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
    """Fill the cost of an OOV word in each shape; return the cheapest shape."""
    best = 0
    for shape in range(N_SHAPES):
        option[shape] = shape_costs[shape]
        if option[shape] < option[best]:
            best = shape
    option[N_SHAPES] = np.inf
    return best


@outlined
def _fill_mixed(
    records: WordRecordArray, label: u32, shapes: U8Array, shape_costs: F32Array, buf: U8Array, words: Words, i: i64,
    forms: Strings, arc_costs: F32Array, option: F32Array,
) -> bool:  # fmt: skip
    """Change the costs of a known word that is written in mixed case, from `_fill_known`: other forms in mixed case
    cost as much as capitalized ones, and if the word has no such form, it is an unseen casing. Return whether this
    casing costs less than the most frequent form."""
    is_form = False
    for k in range(shapes.size):
        if shapes[k] != Shape.MIXED:
            continue
        form, end = forms.offsets[label + k], forms.offsets[label + k + 1]
        if is_written(buf, words.starts[i], words.ends[i], forms.data, form, end):
            is_form = True
        else:
            arc_costs[k] = max(arc_costs[k], shape_costs[Shape.CAPITALIZED.value])
    if shapes[0] == Shape.MIXED:
        option[N_SHAPES] = arc_costs[0]
    if is_form:
        return False
    option[Shape.MIXED.value] = shape_costs[Shape.MIXED.value] + records[label].unseen_penalty
    is_best = option[Shape.MIXED.value] < arc_costs[0]
    arc_costs[0] = min(arc_costs[0], option[Shape.MIXED.value])
    return is_best


@inner
def _names_all(forms: Strings, label: u32) -> bool:
    """Return whether a surface form names all genders by a capital, as KünstlerInnen does."""
    end = forms.offsets[label + 1]
    last = get_eight(forms.data, end - 8) if end - forms.offsets[label] >= 8 else u64(0)
    return last >> u64(24) == _INNEN and last >> u64(16) & u64(0xE0) != u64(0x40)  # not after a capital


@inlined
def _has_spellings(n_forms: i64, label: u32, ranks: U8Array) -> bool:
    """Return whether a word with n_forms surface forms, from this label on, has several spellings. ranks: by label; or
    empty."""
    return n_forms > 1 and ranks.size != 0 and ranks[label] != Shape.CASELESS


@kernel
def _set_spelling_evidence(text: TokenizedText, records: WordRecordArray, ranks: U8Array) -> None:
    """Replace the shape evidence in the tokens of words by what a context model of spellings has; the rest is the same
    in both models. records, ranks: its `words` and `shapes`."""
    words = text.source.words
    for i in range(words.n_forms.size):
        if words.token_types[i] != NEWLINE:
            label = words.first_labels[i]
            has_choice = _has_spellings(words.n_forms[i], label, ranks)
            text.tokens[text.token_of[i]].shape_evidence = records[label].shape_evidence if has_choice else NO_CASE


@kernel
def _add_spellings(
    n_forms: U32Array, first_labels: U32Array, ranks: U8Array, log_p: F32Matrix, arc_costs: F32Array, options: F32Matrix
) -> None:
    """Add the costs of spellings to those of the surface forms, and of the most frequent form to the options, if there
    are any."""
    first_arc = 0
    for i in range(n_forms.size):
        label, n = first_labels[i], i64(n_forms[i])
        if _has_spellings(n, label, ranks):
            for k in range(n):
                if ranks[label + k] != Shape.CASELESS:
                    arc_costs[first_arc + k] -= f32(SPELLING_SCALE) * log_p[i, ranks[label + k]]
            for k in range(options.shape[1]):
                options[i, k] -= f32(SPELLING_SCALE) * log_p[i, ranks[label]]
        first_arc += n


@inlined
def _prune(costs: F32Array) -> None:
    """Set to +inf, in place, the costs of a word's surface forms that exceed the least of them by more than MARGIN."""
    least = f32(np.inf)
    for k in range(costs.size):
        least = min(least, costs[k])
    for k in range(costs.size):  # without a branch, as it cannot be predicted
        costs[k] = f32(np.inf) if costs[k] > least + f32(MARGIN) else costs[k]


@kernel
def _fill(
    text: TokenizedText, context: Context, forms: Strings, guess: bool, log_p: F32Matrix, include_pruned: bool,
    ranks: U8Array, written: Written, shape_costs: F32Array, arc_costs: F32Array, shapes: U8Array, options: F32Matrix,
) -> None:  # fmt: skip
    """Fill the arrays of CasingCosts.

    include_pruned: keep the costs of all forms, and fill the options, which otherwise have one row. Without it, forms
    are pruned, except those of words with several spellings, whose costs are still to be added, and of words written in
    capitals, which are strong evidence, often against the LM. ranks: of the spellings, or empty. forms: the surface
    forms. shape_costs: buffer, float32[_NO_FORM + 1]. arc_costs: with _FEW more elements.
    """
    words, first_arc = text.source.words, 0
    last = words.starts.size - 1
    shape_costs[Shape.CASELESS.value], shape_costs[_NO_FORM] = 0, np.inf
    for i in range(words.starts.size):
        prefetch(context.shapes, words.first_labels[min(i + _AHEAD, last)])
        option = options[i if include_pruned else 0]
        if include_pruned:
            for shape in range(N_SHAPES):
                option[shape] = np.inf
            option[N_SHAPES] = 0
        shapes[i] = AS_FORM
        n_forms, label = i64(words.n_forms[i]), words.first_labels[i]
        arc, first_arc = first_arc, first_arc + n_forms
        if not has_case(text.tokens[text.token_of[i]].shape_evidence):  # also a line end
            for k in range(n_forms):
                arc_costs[arc + k] = 0
            continue
        for shape in range(N_SHAPES):
            shape_costs[shape] = f32(-SCALE) * log_p[i, shape]
        shape_costs[Shape.LOWER.value] += f32(SCALE * LOWER_PENALTY)
        if n_forms != 0:
            prunes = not (include_pruned or _has_spellings(n_forms, label, ranks) or is_written_in(written, i, _UPPER))
            is_mixed = is_written_in(written, i, _MIXED)
            if is_mixed or not (prunes and _fill_few(context, label, n_forms, shape_costs, arc_costs, arc)):
                of_forms, costs = part(context.shapes, label, n_forms), part(arc_costs, arc, n_forms)
                shapes[i] = _fill_known(context.words, label, of_forms, shape_costs, include_pruned, costs, option)
                if is_mixed and _fill_mixed(
                    context.words, label, of_forms, shape_costs, text.source.buf, words, i, forms, costs, option
                ):
                    shapes[i] = Shape.MIXED
                elif not is_mixed and shapes[i] == AS_FORM and of_forms[0] == Shape.MIXED and _names_all(forms, label):
                    shapes[i] = Shape.CAPITALIZED  # Künstlerinnen, unless it is written otherwise
                    option[Shape.CAPITALIZED.value] = costs[0]
                    option[N_SHAPES] += context.words[label].unseen_penalty
                if prunes:
                    _prune(costs)
        elif guess:
            shapes[i] = _fill_oov(shape_costs, option)


@kernel
def prune(n_forms: U32Array, written: Written, arc_costs: F32Array) -> None:
    """Prune, in place, the surface forms of all words that `_fill` prunes. n_forms: of each word."""
    first_arc = 0
    for i in range(n_forms.size):
        if not is_written_in(written, i, _UPPER):
            _prune(part(arc_costs, first_arc, i64(n_forms[i])))
        first_arc += i64(n_forms[i])


@kernel
def _keep_small(
    words: Words, is_small: BoolArray, form_shapes: U8Array, arc_costs: F32Array, shapes: U8Array, options: F32Matrix
) -> None:
    """Exclude the casings of these words that are not in lower case. form_shapes: by label. The rest are arrays of
    CasingCosts; `options` may have one row."""
    arc = 0
    for i in range(is_small.size):
        forms = part(form_shapes, words.first_labels[i], i64(words.n_forms[i]))
        has_lower = False
        for shape in forms:
            has_lower = has_lower or shape == Shape.LOWER
        for k in range(forms.size if is_small[i] else 0):
            arc_costs[arc + k] = 0 if forms[k] == Shape.LOWER or (k == 0 and not has_lower) else np.inf
        if is_small[i]:
            shapes[i] = AS_FORM if has_lower else Shape.LOWER.value
            if i < options.shape[0]:
                options[i] = np.inf
                options[i, N_SHAPES if has_lower else Shape.LOWER.value] = arc_costs[arc] if has_lower else 0
        arc += forms.size


def casing_costs(
    context: Context | None, buf: U8Array, words: Words, transducer: Transducer, guess: bool,
    include_pruned: bool = False, rarity: F32Array | None = None, is_column: bool = False, language: int = ANY,
    spellings: Context | None = None, given: U8Array | None = None, written: Written = NOT_USED, n_given: int = 0,
) -> CasingCosts:  # fmt: skip
    """Return the costs of the casings of a buffer's words in addition to the LM's: SCALE · −ln p(shape | word,
    context), less that of the word's likeliest shape.

    An unseen casing also costs the `unseen_penalty` of the word's record. Pruned surface forms cost +inf.

    Args:
        transducer: that found the words.
        guess: whether OOV words are written in their likeliest shape, not in lower case.
        include_pruned: also return the costs of pruned forms, and the options.
        rarity: float32[n], if the buffer is a document whose lines are evidence for each other.
        is_column: whether the lines are cells that are evidence for the capitals of each other.
        language: the number of the language of all lines, in a context model of several; ANY: infer that of each
            sentence from its words.
        spellings: the context model of spellings, whose costs are added, or are the only ones if context is None.
        given: uint8[n], the shapes of words whose casing is given, AS_FORM for the others. Their costs do not matter.
        n_given: words at the beginning that are evidence for the others, even on their line.
    """
    known, symbols = spellings if context is None else context, transducer.symbols
    assert known is not None
    n, n_forms = len(words.token_types), int(words.n_forms.sum(dtype=np.uint32))
    text = read_words(buf, words, known, transducer, context is not None, language)
    log_p = np.empty((n, N_SHAPES), np.float32)
    with_margin = np.zeros(n_forms + _FEW, np.float32)
    arc_costs = with_margin[:n_forms]
    costs = CasingCosts(arc_costs)
    if context is not None:
        score(text, context, log_p, given, written)
        if rarity is not None:
            remember(text, rarity, n_given, log_p)
        if is_column:
            share_capitals(buf, words, text.tokens[text.token_of], log_p)
        options = np.zeros((max(1, n) if include_pruned else 1, N_SHAPES + 1), np.float32)
        shapes = np.empty(n, np.uint8)
        ranks = np.empty(0, np.uint8) if spellings is None else spellings.shapes
        shape_costs = np.empty(_NO_FORM + 1, np.float32)
        _fill(
            text, context, symbols.strings, guess, log_p, include_pruned, ranks, written, shape_costs, with_margin,
            shapes, options,
        )  # fmt: skip
        costs = CasingCosts(arc_costs, shapes, options if include_pruned else None)
        if written.shapes.size:
            copies, keeps_capital = stays(buf, words, written)
            costs = costs._replace(copies=copies, keeps_capital=keeps_capital)
    if known.n_languages:
        of_sentences = (text.domains // (known.n_domains // known.n_languages)).astype(np.uint8)
        sizes = np.diff(text.ends, prepend=0)
        of_words = np.repeat(of_sentences, sizes)
        costs = costs._replace(languages=of_words)
        if symbols.language.dotted:
            are_dotted = np.isin(of_sentences, symbols.language.dotted)
            if language == ANY and are_dotted.any():  # not few words in a line of another language
                lines = np.searchsorted(np.flatnonzero(words.token_types == NEWLINE), text.ends)
                in_line, of_line = np.bincount(lines, sizes), np.bincount(lines, sizes * are_dotted)
                are_dotted &= (sizes > _FEW_TOKENS) | (2 * of_line > in_line)[lines]
            text_has_dots = are_dotted.any() and _DOTTED in buf.tobytes()
            found = [match.start() for match in _find_dots(buf.data)] if text_has_dots else []
            are_dotted[np.searchsorted(text.ends, np.searchsorted(words.starts, found, "right") - 1, "right")] = False
            costs = costs._replace(dotted=np.repeat(are_dotted, sizes))
    is_small = small_words(buf, words.tokens, symbols.language, costs.languages)
    if context is not None and is_small.any():
        _keep_small(words, is_small, context.shapes, arc_costs, shapes, options)
        if costs.keeps_capital is not None:
            costs.keeps_capital[is_small] = 0
    if spellings is not None:
        _set_spelling_evidence(text, spellings.words, spellings.shapes)
        score(text, spellings, log_p)
        of_options = np.empty((0, 0), np.float32) if costs.options is None else costs.options
        _add_spellings(words.n_forms, words.first_labels, spellings.shapes, log_p, arc_costs, of_options)
        if not include_pruned:
            prune(words.n_forms, written, arc_costs)  # which changes only those of words that have several spellings
    return costs
