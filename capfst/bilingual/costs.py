"""Words of a translation → the cost of each of their casings, given the source (the weights on S ∘ T).

In: both texts, their links, and the costs of casings without the source. Out: these costs, less WEIGHT times the
evidence of the source (evidence.py). A source word in mixed case is a casing of the same word in the translation
(iPhone, LibreOffice), even if the model lacks it.

Words that may begin a sentence only have the costs of the LM and the source, because the context model predicts the
case inside a sentence. A source line without contrast, all in lower case or all in upper case, is no evidence.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.bilingual.evidence import N_TEMPLATES, SCALE, Evidence, fill_templates
from capfst.bilingual.word_facts import AL, AN, MAY_BEGIN, MX, AnnotatedText
from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape
from capfst.casing.types import CasingCosts, Copies
from capfst.casing.written import is_written
from capfst.context.learn import add_scores
from capfst.kernels import allocating, inner, part
from capfst.kernels.types import F32Array, F32Matrix, I8Matrix, I32Array, I64Array, U8Array, f32, i64
from capfst.text.strings import Strings, is_same
from capfst.text.tokenizer import COMPOUND, PROTECTED, WORD
from capfst.text.unicode import LOWERING, Lowering, decode, lower_into

WEIGHT = 5.0
"""Of the evidence, relative to the costs without the source, which are those of LM and context model. Tuned on held-out
text."""
COPY = 3.0
"""Added to the evidence of a source word in mixed case, which is nearly always kept, as a small corpus may not show."""


@inner
def _lowered(text: AnnotatedText, i: i64, lowering: Lowering, out: U8Array) -> i64:
    """Write word i in lower case to `out`. Return its size."""
    return lower_into(text.buf, text.words.starts[i], text.words.ends[i], 0, text.buf.size, out, 0, lowering)


@inner
def _weigh(
    source: AnnotatedText,
    k: i64,
    label: i64,
    shapes: U8Array,
    forms: Strings,
    evidence: F32Array,
    may_begin: bool,
    has_context: bool,
    one_letter: bool,
    arc_costs: F32Array,
    option: F32Array,
) -> i64:
    """Change the costs of a word's casings; return the shape in which to write its most frequent form.

    k: the same word of the source in mixed case, or −1. label, shapes: the first label, and the shapes of its surface
    forms.
    """
    least, seen, has_copy = option[N_SHAPES], 0, False
    for shape in range(N_SHAPES):
        least = min(least, option[shape])
    for form in range(shapes.size):
        shape = i64(shapes[form])
        seen |= 1 << shape
        if k >= 0 and shape == Shape.MIXED:  # only the form that the source has is likelier than a capitalized one
            begin, end = forms.offsets[label + form], forms.offsets[label + form + 1]
            is_copy = is_written(source.buf, source.words.starts[k], source.words.ends[k], forms.data, begin, end)
            has_copy = has_copy or is_copy
            shape = shape if is_copy else i64(Shape.CAPITALIZED.value)
        cost = f32(0) if may_begin else arc_costs[form] if form > 0 else option[N_SHAPES]
        cost -= evidence[shape]
        if form > 0:
            arc_costs[form] = cost
        else:
            option[N_SHAPES] = cost
    if shapes.size == 0:
        option[N_SHAPES] = np.inf
    best = N_SHAPES
    for shape in range(N_SHAPES):
        cost = option[shape]
        if shape == Shape.MIXED and k >= 0:
            cost = f32(np.inf) if has_copy else least
        elif seen >> shape & 1 or (shape == Shape.UPPER and one_letter):
            cost = f32(np.inf)
        elif shape != Shape.MIXED and not has_context:
            cost = f32(0)
        if may_begin and cost < np.inf:
            cost = f32(0)
        option[shape] = cost - evidence[shape]
        best = shape if option[shape] < option[best] else best
    if shapes.size > 0:
        arc_costs[0] = option[best]
    return AS_FORM if best == N_SHAPES else best


@allocating
def _add_evidence(
    target: AnnotatedText,
    source: AnnotatedText,
    links: I32Array,
    forms: Strings,
    form_shapes: U8Array,
    guess: bool,
    has_context: bool,
    weights: I8Matrix,
    lowering: Lowering,
    arc_costs: F32Array,
    shapes: U8Array,
    options: F32Matrix,
    starts: I64Array,
    ends: I64Array,
) -> None:
    """Change the arrays of CasingCosts in the lines whose source has contrast; fill starts and ends of the source words
    to copy. form_shapes: by label."""
    words, longest, first_arc = target.words, 8, 0
    for text in (words, source.words):
        for i in range(text.starts.size):
            longest = max(longest, text.ends[i] - text.starts[i])
    lowered = np.empty((2, 2 * longest + 8), np.uint8)
    features, evidence = np.empty(N_TEMPLATES, np.uint64), np.empty(N_SHAPES, np.float32)
    for line in range(target.lines.size):
        has_contrast = line < source.lines.size and source.lines[line].has_contrast
        for i in range(target.lines[line].begin, target.lines[line].end):
            k, token_type, tag = links[i], words.token_types[i], target.facts[i].tag
            arc, n_forms, label = first_arc, i64(words.n_forms[i]), i64(words.first_labels[i])
            first_arc += n_forms
            is_protected = token_type == PROTECTED
            copies = has_contrast and k >= 0
            copies = copies and (source.facts[k].tag == MX or (is_protected and source.facts[k].tag != AL))
            if copies and target.facts[i].lower_hash == source.facts[k].lower_hash:
                size = _lowered(target, i, lowering, lowered[0])
                if is_same(lowered[0], 0, size, lowered[1], 0, _lowered(source, k, lowering, lowered[1])):
                    starts[i], ends[i] = source.words.starts[k], source.words.ends[k]
            if not has_contrast or tag == AN or (token_type != WORD and token_type != COMPOUND):
                continue
            if form_shapes[label] >= N_SHAPES if n_forms > 0 else not guess:
                continue
            fill_templates(target, source, links, i, line, features)
            evidence[:] = 0
            add_scores(weights, features, N_TEMPLATES, evidence)
            evidence[Shape.MIXED.value] += f32(COPY * SCALE) if starts[i] >= 0 else f32(0)
            for shape in range(N_SHAPES):
                evidence[shape] *= f32(WEIGHT / SCALE)
            one_letter = decode(target.buf, words.starts[i], words.ends[i])[1] == words.ends[i]
            shapes[i] = _weigh(
                source, k if starts[i] >= 0 else -1, label, part(form_shapes, label, n_forms), forms, evidence,
                target.facts[i].position <= MAY_BEGIN, has_context, one_letter, part(arc_costs, arc, n_forms),
                options[i],
            )  # fmt: skip


def add_evidence(
    costs: CasingCosts,
    target: AnnotatedText,
    source: AnnotatedText,
    links: npt.NDArray[np.int32],
    model: Evidence,
    forms: Strings,
    form_shapes: npt.NDArray[np.uint8],
    guess: bool,
) -> CasingCosts:
    """Return the costs of the casings of a translation's words with the evidence of its source.

    Args:
        costs: those without, with those of pruned casings; their arrays may be changed.
        forms: the surface forms of the model, by label.
        form_shapes: their shapes.
        guess: as in `context.casing_costs`.
    """
    n = len(links)
    copies = Copies(source.buf, np.full(n, -1, np.int64), np.full(n, -1, np.int64))
    arc_costs, shapes, options = costs.arc_costs, costs.shapes, costs.options
    has_context = shapes is not None
    if arc_costs is None:
        arc_costs = np.zeros(int(target.words.n_forms.sum()), np.float32)
    if shapes is None or options is None:
        shapes, options = np.full(n, AS_FORM, np.uint8), np.full((n, N_SHAPES + 1), np.inf, np.float32)
        options[:, N_SHAPES] = 0
    _add_evidence(
        target, source, links, forms, form_shapes, guess, has_context, model.weights, LOWERING, arc_costs,
        shapes, options, copies.starts, copies.ends,
    )  # fmt: skip
    return costs._replace(arc_costs=arc_costs, shapes=shapes, options=options, copies=copies)
