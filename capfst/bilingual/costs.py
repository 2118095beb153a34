"""Words of a translation → the cost of each of their casings, given the source (the weights on S ∘ T).

In: both texts, their links, the costs of casings without the source, and the learned weights. Out: `CasingCosts`,
instead of the context model's: the costs of the log-linear model (crf.py), divided by the LM's weight, so that the
search adds the LM's costs as they are.

A source line without contrast, all in lower case or all in upper case, is not informative: its translation has the
costs that it has without the source.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capfst.bilingual.candidates import (
    CANDIDATE,
    CLASSIFIER,
    LM,
    Forms,
    Monolingual,
    is_same_word,
    linked_weight,
    list_candidates,
    weight_of,
)
from capfst.bilingual.classifier import classify, fetch_weights
from capfst.bilingual.source_features import N_TEMPLATES, fill_templates
from capfst.bilingual.weights import Bilingual
from capfst.bilingual.word_facts import AL, AN, MX, AnnotatedText
from capfst.casing.shapes import AS_FORM, N_SHAPES
from capfst.casing.types import CasingCosts, Copies
from capfst.kernels import allocating
from capfst.kernels.types import F32Array, I8Matrix, I32Array, I64Array, U8Array, f32, i64
from capfst.text.tokenizer import PROTECTED
from capfst.text.unicode import INFO, LOWERING, Lowering

_BLOCK = 32
"""Words whose weights are prefetched together."""


@allocating
def _fill(
    target: AnnotatedText,
    source: AnnotatedText,
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
    """Change `costs` in the lines whose source has contrast; fill starts and ends of the source words to copy."""
    longest, most = 8, 1
    for i in range(target.words.starts.size):
        longest = max(longest, target.words.ends[i] - target.words.starts[i])
        most = max(most, i64(target.words.n_forms[i]))
    lowered = np.empty((2, 2 * longest + 8), np.uint8)
    candidates = np.empty(most + N_SHAPES, CANDIDATE)
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
                n = list_candidates(target, i, begin, source, k, copies, forms, costs, guess, candidates)
                if n == 0:
                    continue
                classify(classifier, features[i - block], scores)
                first_weight = linked_weight(target, source, links, i)
                for shape in range(N_SHAPES):
                    scores[shape] *= weights[CLASSIFIER + candidates[0].group]
                    scores[shape] += weights[first_weight + shape]
                option = costs.options[i]
                option[:] = np.inf
                costs.shapes[i] = AS_FORM
                least = f32(np.inf)
                for number in range(n):
                    candidate = candidates[number]
                    cost = scores[candidate.shape] + weight_of(candidate, weights)
                    if candidate.column == AS_FORM:
                        costs.arc_costs[begin + candidate.form] = cost
                        continue
                    option[candidate.column] = cost
                    if cost < least:
                        least = cost
                        costs.shapes[i] = AS_FORM if candidate.column == N_SHAPES else candidate.column
                if target.words.n_forms[i] > 0:
                    costs.arc_costs[begin] = least


def bilingual_costs(
    model: Bilingual,
    forms: Forms,
    target: AnnotatedText,
    source: AnnotatedText,
    links: npt.NDArray[np.int32],
    costs: Monolingual,
    guess: bool,
) -> CasingCosts:
    """Return the costs of the casings of a translation's words, given the source, in addition to the LM's.

    costs: those without the source, which are overwritten. guess: as in `context.casing_costs`. The scale is the LM's
    weight, or 1 if the first line's source has no contrast.
    """
    n = len(links)
    copies = Copies(source.buf, np.full(n, -1, np.int64), np.full(n, -1, np.int64))
    weights = model.weights / model.weights[LM]
    _fill(
        target, source, links, forms, guess, weights, model.classifier, INFO, LOWERING, costs, copies.starts,
        copies.ends,
    )  # fmt: skip
    scale = float(model.weights[LM]) if source.lines[0]["has_contrast"] else 1.0
    return CasingCosts(*costs, scale, copies)
