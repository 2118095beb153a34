"""Candidates: the casings that a word of a translation may have (GEN of Wang, Knight & Marcu 2006, §4.3).

In: a word with its surface forms, their costs by the context model, and its source word. Out: its candidates: the
surface forms that the model has; lower, Capitalized and UPPER, if no surface form has this shape; and the source word
itself, if it is the same word in mixed case (iPhone, LibreOffice). The LM reads each of them as one surface form: an
arc of S ∘ T.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.bilingual.source_features import N_LINKED, linked
from capfst.bilingual.word_facts import AN, FIRST, MX, AnnotatedText
from capfst.casing.shapes import AS_FORM, N_SHAPES, Shape
from capfst.casing.types import CasingCosts, Words
from capfst.kernels import inlined, inner
from capfst.kernels.types import (
    Array,
    F32Array,
    F32Matrix,
    F64Array,
    I32Array,
    I64Array,
    Record,
    U8Array,
    U8Matrix,
    f32,
    i64,
)
from capfst.text.strings import is_same
from capfst.text.tokenizer import COMPOUND, WORD
from capfst.text.unicode import Lowering, decode, lower_into

LM = 0
"""Indices of the weights λ; each is the first of its kind. LM: of the LM's cost. CONTEXT, CLASSIFIER: of the costs by
the context model and the classifier, by whether the word is the line's first, and OOV. LINKED: of each shape, by the
relation of the word to its source word, and whether the model has the word. SEEN: of a surface form of the model.
UNSEEN: of any other casing, by shape. EXACT: of the source word itself, instead of SEEN. COPY: in addition to EXACT, if
the source word is not a surface form of the model."""
CONTEXT = LM + 1
CLASSIFIER = CONTEXT + 4
LINKED = CLASSIFIER + 4
SEEN = LINKED + 2 * N_LINKED * N_SHAPES
UNSEEN = SEEN + 1
COPY = UNSEEN + N_SHAPES
EXACT = COPY + 1
N_ALL = EXACT + 1
"""The number of weights."""

CANDIDATE = np.dtype(
    [
        ("context", "f4"),  # its cost by the context model
        ("form", "i4"),  # which of the word's surface forms the LM reads; 0 for an OOV word
        ("group", "i4"),  # its weights of context and classifier are CONTEXT + group, CLASSIFIER + group
        ("weight", "i4"),  # the index of the weight of its kind: SEEN … EXACT
        ("shape", "u1"),
        ("column", "u1"),  # its column in CasingCosts.options; AS_FORM for surface forms except the first
    ],
    align=True,
)
CandidateArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(CANDIDATE)]
Candidate: TypeAlias = Annotated[Any, Record(CANDIDATE)]


class Monolingual(NamedTuple):
    """What casings cost without the source, as in CasingCosts."""

    arc_costs: F32Array
    shapes: U8Array
    options: F32Matrix


class Forms(NamedTuple):
    """Surface forms of a model: their bytes, as in fst/symbols.py, and their shapes, by label."""

    data: U8Array
    offsets: I64Array
    shapes: U8Array


def monolingual(words: Words, costs: CasingCosts) -> Monolingual:
    """Return the costs by the context model, which must include the options; without a context model, zeros."""
    if costs.arc_costs is not None and costs.shapes is not None and costs.options is not None:
        return Monolingual(costs.arc_costs, costs.shapes, costs.options)
    n = len(words.token_types)
    options = np.full((max(1, n), N_SHAPES + 1), np.inf, np.float32)
    options[:, N_SHAPES] = 0
    return Monolingual(np.zeros(words.n_forms.sum(), np.float32), np.full(n, AS_FORM, np.uint8), options)


@inner
def linked_weight(target: AnnotatedText, source: AnnotatedText, links: I32Array, i: i64) -> i64:
    """Return the index of the first of the N_SHAPES weights for the relation of word i to its source word."""
    known = target.words.n_forms[i] > 0
    return LINKED + N_SHAPES * (2 * i64(linked(target, source, links, i)) + known)


Weights = TypeVar("Weights", F32Array, F64Array)


@inlined
def weight_of(candidate: Candidate, weights: Weights) -> float:
    """Return the weighted cost of a candidate by the context model, plus the weight of its kind."""
    weight = weights[CONTEXT + candidate.group] * candidate.context + weights[candidate.weight]
    return weight + weights[EXACT] if candidate.weight == COPY else weight


@inner
def is_same_word(
    target: AnnotatedText, i: i64, source: AnnotatedText, k: i64, info: U8Array, lowering: Lowering, lowered: U8Matrix
) -> bool:
    """Return whether word i of a translation and word k of its source are the same in lower case. lowered: buffer,
    uint8[2, ·]."""
    a, b = target.words, source.words
    if target.facts[i].lower_hash != source.facts[k].lower_hash:
        return False
    capacity = lowered.shape[1]
    if 3 * (a.ends[i] - a.starts[i]) // 2 + 8 > capacity or 3 * (b.ends[k] - b.starts[k]) // 2 + 8 > capacity:
        return False
    size = lower_into(target.buf, a.starts[i], a.ends[i], 0, target.buf.size, lowered[0], 0, info, lowering)
    other = lower_into(source.buf, b.starts[k], b.ends[k], 0, source.buf.size, lowered[1], 0, info, lowering)
    return is_same(lowered[0], 0, size, lowered[1], 0, other)


@inner
def list_candidates(
    target: AnnotatedText,
    i: i64,
    first_arc: i64,
    source: AnnotatedText,
    k: i64,
    copies: bool,
    forms: Forms,
    costs: Monolingual,
    guess: bool,
    candidates: CandidateArray,
) -> i64:
    """Fill `candidates` with those of word i; return their number, 0 if there is nothing to decide on its case.

    k: its source word, or −1. copies: whether that is the same word, in mixed case. first_arc: where the costs of its
    surface forms begin. guess: whether the case of OOV words is decided on.
    """
    words, fact = target.words, target.facts[i]
    token_type = words.token_types[i]
    if fact.tag == AN or (token_type != WORD and token_type != COMPOUND):
        return 0
    n_forms, label = i64(words.n_forms[i]), i64(words.first_labels[i])
    option = costs.options[i]
    group = 2 * (fact.position == FIRST) + (n_forms == 0)
    start, end = words.starts[i], words.ends[i]
    one_letter = decode(target.buf, start, end)[1] == end
    n, seen, has_copy = 0, 0, False
    if n_forms == 0 and not guess:
        return 0
    if n_forms > 0 and forms.shapes[label] >= N_SHAPES:
        return 0
    for form in range(n_forms):
        candidate = candidates[n]
        candidate.form, candidate.shape = form, forms.shapes[label + form]
        candidate.column = AS_FORM if form else N_SHAPES
        candidate.context = costs.arc_costs[first_arc + form] if form else option[N_SHAPES]
        candidate.group, candidate.weight = group, SEEN
        seen |= 1 << candidate.shape
        if copies and candidate.shape == MX:
            there = source.words
            begin, stop = forms.offsets[label + form], forms.offsets[label + form + 1]
            if is_same(forms.data, begin, stop, source.buf, there.starts[k], there.ends[k]):
                candidate.weight = EXACT
                has_copy = True
        n += 1
    for shape in range(N_SHAPES):
        is_copy = shape == Shape.MIXED and copies and not has_copy
        if not is_copy:
            if seen >> shape & 1 or (shape == Shape.UPPER and one_letter):
                continue
            if shape == Shape.MIXED and option[shape] == np.inf:
                continue
        candidate = candidates[n]
        candidate.form, candidate.shape, candidate.column = 0, shape, shape
        candidate.context = option[shape] if option[shape] < np.inf else f32(0)
        if is_copy:  # the context model has no cost for it: the least of the others
            for other in range(N_SHAPES + 1):
                candidate.context = min(candidate.context, option[other])
        candidate.group = group
        candidate.weight = COPY if is_copy else UNSEEN + shape
        n += 1
    return n
