"""The casings that a word of a translation may have: GEN of Wang, Knight & Marcu (2006, §4.3), and the weight of each.

In: a word with its surface forms, what the context model says of them, and its source word. Out: its casings: the
surface forms that the model has; lower, Capitalized and UPPER, if they are none of these; and the source word itself,
if it is the same word in mixed case (iPhone, LibreOffice). Each is read by the LM as one surface form: an arc of S ∘ T.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.bilingual.source_features import N_LINKED, linked
from capfst.bilingual.word_facts import AN, FIRST, MX, Text
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
from capfst.text.tokenizer import COMPOUND, WORD
from capfst.text.unicode import Lowering, decode, lower_into

LM = 0
"""The first of the weights of each kind: of the LM's costs; of the context's and the classifier's, by whether the word
is the first, and OOV; of each shape, by how a word goes with its source word, and whether the model knows it; of a
casing that the model has, of one that it has not, by shape; of the source word's, EXACT, and also COPY if the model has
it not."""
CONTEXT = LM + 1
CLASSIFIER = CONTEXT + 4
LINKED = CLASSIFIER + 4
SEEN = LINKED + 2 * N_LINKED * N_SHAPES
UNSEEN = SEEN + 1
COPY = UNSEEN + N_SHAPES
EXACT = COPY + 1
N_ALL = EXACT + 1
"""All weights."""

CASING = np.dtype(
    [
        ("context", "f4"),  # what the context model has it cost
        ("form", "i4"),  # of the word's surface forms, the one that the LM reads; 0 for an OOV word
        ("group", "i4"),  # of the weights for the costs of context and classifier
        ("weight", "i4"),  # that of its kind: SEEN … EXACT
        ("shape", "u1"),
        ("column", "u1"),  # of CasingCosts.options; AS_FORM for a surface form but the first
    ],
    align=True,
)
CasingArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(CASING)]
Casing: TypeAlias = Annotated[Any, Record(CASING)]


class Monolingual(NamedTuple):
    """What casings cost without the source."""

    arc_costs: F32Array
    shapes: U8Array
    options: F32Matrix


class Forms(NamedTuple):
    """The surface forms of a model: their bytes, as in fst/symbols.py, and shapes, by label."""

    data: U8Array
    offsets: I64Array
    shapes: U8Array


def monolingual(words: Words, costs: CasingCosts) -> Monolingual:
    """The costs that the context model gives (with its options); zeros without one."""
    if costs.arc_costs is not None and costs.shapes is not None and costs.options is not None:
        return Monolingual(costs.arc_costs, costs.shapes, costs.options)
    n = len(words.token_types)
    options = np.full((max(1, n), N_SHAPES + 1), np.inf, np.float32)
    options[:, N_SHAPES] = 0
    return Monolingual(np.zeros(words.n_forms.sum(), np.float32), np.full(n, AS_FORM, np.uint8), options)


@inner
def linked_weight(target: Text, source: Text, links: I32Array, i: i64) -> i64:
    """The first of the N_SHAPES weights for how word i goes with its source word."""
    known = target.words.n_forms[i] > 0
    return LINKED + N_SHAPES * (2 * i64(linked(target, source, links, i)) + known)


Weights = TypeVar("Weights", F32Array, F64Array)


@inlined
def weight_of(casing: Casing, weights: Weights) -> float:
    """What a casing costs for its kind and for the context."""
    weight = weights[CONTEXT + casing.group] * casing.context + weights[casing.weight]
    return weight + weights[EXACT] if casing.weight == COPY else weight


@inner
def _is(data: U8Array, begin: i64, end: i64, buf: U8Array, start: i64, stop: i64) -> bool:
    if end - begin != stop - start:
        return False
    for k in range(end - begin):  # noqa: SIM110
        if data[begin + k] != buf[start + k]:
            return False
    return True


@inner
def is_same_word(target: Text, i: i64, source: Text, k: i64, info: U8Array, lowering: Lowering, room: U8Matrix) -> bool:
    """Whether word i of a translation and word k of its source have the same lowercase. room: uint8[2, ·]."""
    a, b = target.words, source.words
    if target.facts[i].lower_hash != source.facts[k].lower_hash:
        return False
    if 3 * (a.ends[i] - a.starts[i]) // 2 + 8 > room.shape[1] or 3 * (b.ends[k] - b.starts[k]) // 2 + 8 > room.shape[1]:
        return False
    size = lower_into(target.buf, a.starts[i], a.ends[i], 0, target.buf.size, room[0], 0, info, lowering)
    other = lower_into(source.buf, b.starts[k], b.ends[k], 0, source.buf.size, room[1], 0, info, lowering)
    return _is(room[0], 0, size, room[1], 0, other)


@inner
def find_casings(
    target: Text,
    i: i64,
    first_arc: i64,
    source: Text,
    k: i64,
    copies: bool,
    forms: Forms,
    costs: Monolingual,
    guess: bool,
    casings: CasingArray,
) -> i64:
    """Fills `casings` with those of word i; their number, 0 if its case is not in question.

    k: its source word, or −1; copies: that is the same word, in mixed case. first_arc: where the costs of its surface
    forms begin. costs: Monolingual.
    """
    words, fact = target.words, target.facts[i]
    token_type = words.token_types[i]
    if fact.tag == AN or (token_type != WORD and token_type != COMPOUND):
        return 0
    n_forms, label = i64(words.n_forms[i]), i64(words.first_labels[i])
    option = costs.options[i]
    group = 2 * (fact.place == FIRST) + (n_forms == 0)
    start, end = words.starts[i], words.ends[i]
    one_letter = decode(target.buf, start, end)[1] == end
    n, seen, has_copy = 0, 0, False
    if n_forms == 0 and not guess:
        return 0
    if n_forms > 0 and forms.shapes[label] >= N_SHAPES:
        return 0
    for form in range(n_forms):
        casing = casings[n]
        casing.form, casing.shape = form, forms.shapes[label + form]
        casing.column = AS_FORM if form else N_SHAPES
        casing.context = costs.arc_costs[first_arc + form] if form else option[N_SHAPES]
        casing.group, casing.weight = group, SEEN
        seen |= 1 << casing.shape
        if copies and casing.shape == MX:
            there = source.words
            begin, stop = forms.offsets[label + form], forms.offsets[label + form + 1]
            if _is(forms.data, begin, stop, source.buf, there.starts[k], there.ends[k]):
                casing.weight = EXACT
                has_copy = True
        n += 1
    for shape in range(N_SHAPES):
        is_copy = shape == Shape.MIXED and copies and not has_copy
        if not is_copy:
            if seen >> shape & 1 or (shape == Shape.UPPER and one_letter):
                continue
            if shape == Shape.MIXED and option[shape] == np.inf:
                continue
        casing = casings[n]
        casing.form, casing.shape, casing.column = 0, shape, shape
        casing.context = option[shape] if option[shape] < np.inf else f32(0)
        if is_copy:  # of which the context model knows nothing
            for other in range(N_SHAPES + 1):
                casing.context = min(casing.context, option[other])
        casing.group = group
        casing.weight = COPY if is_copy else UNSEEN + shape
        n += 1
    return n
