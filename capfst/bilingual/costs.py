"""Words of a translation → what each of their casings costs, given its source (the weights on S ∘ T).

In: both texts, their links, what the casings cost without the source, and what was learned. Out: `CasingCosts`, in
place of the context model's. Costs are those of the log-linear model, divided by the LM's weight: so the search adds
the LM's own.

A source line without contrast, all of it in lower case or all in upper case, says nothing: what stands in its place
costs what it does without the source.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.bilingual.casings import (
    CASING,
    CLASSIFIER,
    LM,
    Forms,
    Monolingual,
    find_casings,
    is_same_word,
    linked_weight,
    weight_of,
)
from capfst.bilingual.classifier import classify, fetch_weights
from capfst.bilingual.source_features import N_TEMPLATES, fill_templates
from capfst.bilingual.weights import Bilingual
from capfst.bilingual.word_facts import AL, AN, MX, Text
from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.casing.types import CasingCosts, Copies
from capfst.kernels import allocating
from capfst.kernels.types import F32Array, I8Matrix, I32Array, I64Array, U8Array, f32, i64
from capfst.text.tokenizer import PROTECTED
from capfst.text.unicode import INFO, LOWERING, Lowering

_BLOCK = 32
"""Words whose weights are fetched together."""


@allocating
def _fill(
    target: Text,
    source: Text,
    links: I32Array,
    forms: Forms,
    guess: bool,
    weights: F32Array,
    classifier: I8Matrix,
    info: U8Array,
    lowering: Lowering,
    costs: Monolingual,
    starts: I64Array,
    ends: I64Array,
) -> None:
    """Changes `costs` (Monolingual) where the source says something; fills starts and ends of the words to copy."""
    longest, most = 8, 1
    for i in range(target.words.starts.size):
        longest = max(longest, target.words.ends[i] - target.words.starts[i])
        most = max(most, i64(target.words.n_forms[i]))
    lowered = np.empty((2, 2 * longest + 8), np.uint8)
    casings = np.empty(most + N_SHAPES, CASING)
    features, scores = np.empty((_BLOCK, N_TEMPLATES), np.uint64), np.empty(N_SHAPES, np.float32)
    first_arc = 0
    for line in range(target.lines.size):
        here = target.lines[line]
        if line >= source.lines.size or not source.lines[line].has_contrast:
            for i in range(here.begin, here.end):
                first_arc += target.words.n_forms[i]
            continue
        for block in range(here.begin, here.end, _BLOCK):
            block_end = min(here.end, block + _BLOCK)
            for i in range(block, block_end):
                if target.facts[i].tag != AN:
                    fill_templates(target, source, links, i, line, features[i - block])
                    fetch_weights(classifier, features[i - block])
            for i in range(block, block_end):
                k = links[i]
                begin = first_arc
                first_arc += target.words.n_forms[i]
                is_protected = target.words.token_types[i] == PROTECTED
                copies = False
                if k >= 0 and (source.facts[k].tag == MX or (is_protected and source.facts[k].tag != AL)):
                    copies = is_same_word(target, i, source, k, info, lowering, lowered)
                if copies:
                    starts[i], ends[i] = source.words.starts[k], source.words.ends[k]
                if target.facts[i].tag == AN or is_protected:
                    continue
                n = find_casings(target, i, begin, source, k, copies, forms, costs, guess, casings)
                if n == 0:
                    continue
                classify(classifier, features[i - block], scores)
                first_weight = linked_weight(target, source, links, i)
                for shape in range(N_SHAPES):
                    scores[shape] *= weights[CLASSIFIER + casings[0].group]
                    scores[shape] += weights[first_weight + shape]
                option = costs.options[i]
                option[:] = np.inf
                costs.shapes[i] = AS_FORM
                least = f32(np.inf)
                for number in range(n):
                    casing = casings[number]
                    cost = scores[casing.shape] + weight_of(casing, weights)
                    if casing.column == AS_FORM:
                        costs.arc_costs[begin + casing.form] = cost
                        continue
                    option[casing.column] = cost
                    if cost < least:
                        least = cost
                        costs.shapes[i] = AS_FORM if casing.column == N_SHAPES else casing.column
                if target.words.n_forms[i] > 0:
                    costs.arc_costs[begin] = least


def bilingual_costs(
    model: Bilingual,
    forms: Forms,
    target: Text,
    source: Text,
    links: npt.NDArray[np.int32],
    costs: Monolingual,
    guess: bool,
) -> CasingCosts:
    """What the casings of a translation's words cost beside the LM. `costs` is overwritten; guess as in
    `context.casing_costs`. The scale is that of lines whose source has contrast, if the first has."""
    n = len(links)
    copies = Copies(source.buf, np.full(n, -1, np.int64), np.full(n, -1, np.int64))
    weights = model.weights / model.weights[LM]
    _fill(
        target, source, links, forms, guess, weights, model.classifier, INFO, LOWERING, costs, copies.starts,
        copies.ends,
    )  # fmt: skip
    scale = float(model.weights[LM]) if source.lines[0]["has_contrast"] else 1.0
    return CasingCosts(*costs, scale, copies)
