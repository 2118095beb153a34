"""Take a score of the context model apart: what each feature contributes to ln p of each shape of a word.

In: the words of a text, and the context model. Out: for each word that has case, the contributions of its features, in
words: *after "the"*, *its ending*. Per shape, they add up to ln p of shape_scores.py, up to a constant of the word.

Features that say the same in words are one reason: the word before alone, with the word, and with the domain.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES
from capfst.casing.transducer import Transducer
from capfst.casing.types import Words
from capfst.context.context_model import Context, weights_of
from capfst.context.features import (
    DECISION_FEATURES,
    FIRST_FEATURES,
    FIRST_PASS_LEAD,
    MAX_WORD_FEATURES,
    N_DECISION_FEATURES,
    N_FIRST_FEATURES,
    N_NEIGHBOR_FEATURES,
    NEIGHBOR_FEATURES,
    NO_DECISION,
    OWN_LETTERS,
    OWN_WORD,
    PRIOR_WEIGHT,
    STAGE1_LEAD,
    STAGE2_LEAD,
    decision_features,
    first_features,
    has_capitals,
    neighbor_features,
    word_features,
)
from capfst.context.lexicon import BEGIN, UNSEEN, has_case
from capfst.context.network_scores import Queue, add_network
from capfst.context.shape_scores import score
from capfst.context.tokens import Lowercaser, TokenizedText, hash_lowercase, read_words
from capfst.kernels import kernel, part
from capfst.kernels.types import F32Matrix, U8Array, U32Array, i64
from capfst.text.tokenizer import NEWLINE

Reasons = dict[str, npt.NDArray[np.float64]]
"""What features, in words, contribute to ln p of each shape, float64[N_SHAPES]."""

_WORDINGS = (
    (r"(the (start|end) of the sentence) \1", r"\1"),
    (r"^after (the start of the sentence) (.+)", r"after \2 at \1"),
    (r"^before (.+) (the end of the sentence)", r"before \1 at \2"),
    (r"^(after|before) the (start|end) of the sentence", r"at the \2 of the sentence"),
)
"""What to write instead of names that name the start or end of the sentence as a word."""


# The features of a word: of the first pass, of its neighbors, of itself, and of decisions.
_OWN = N_FIRST_FEATURES + N_NEIGHBOR_FEATURES
_DECIDED = _OWN + MAX_WORD_FEATURES
_N_FEATURES = _DECIDED + N_DECISION_FEATURES


@kernel
def _fill(
    buf: U8Array,
    words: Words,
    i: i64,
    domain: i64,
    text: TokenizedText,
    lowercaser: Lowercaser,
    context: Context,
    decisions: U8Array,
    n_words: i64,
    n_capitals: i64,
    features: U32Array,
    queue: Queue,
    of_network: F32Matrix,
) -> i64:
    """Fill features[_N_FEATURES] of word i, and of_network[1, N_SHAPES], which is 0, with its scores by the network.
    Return how many features of itself it has; 0 if the model has their sum.

    n_words, n_capitals: as in `decision_features`. queue: working memory.
    """
    t, n = text.token_of[i], 0
    evidence = text.tokens[t].shape_evidence
    first_features(text.tokens, t, domain, features)
    neighbor_features(text.tokens, t, domain, part(features, N_FIRST_FEATURES, N_NEIGHBOR_FEATURES))
    if evidence == UNSEEN or text.labels[i] == 0:
        hash_lowercase(buf, words, i, lowercaser)
        n = word_features(lowercaser.hashes, evidence, domain, part(features, _OWN, MAX_WORD_FEATURES))
    of_decisions = part(features, _DECIDED, N_DECISION_FEATURES)
    decision_features(text.tokens, decisions, t, n_words, n_capitals, of_decisions)
    if len(context.network.embeddings) != 0:
        queue.words[0], queue.domains[0] = i, domain
        add_network(text.tokens, text.token_of, decisions, 1, i, context.network, queue, of_network)
    return n


def _lead(z: npt.NDArray[np.floating]) -> float:
    """Return the lead of the likeliest shape, given the scores of all except LOWER, whose score is 0."""
    second, first = np.sort(np.append(z, 0))[-2:]
    return float(first - second)


def contributions(
    context: Context,
    buf: npt.NDArray[np.uint8],
    words: Words,
    transducer: Transducer,
    begins: npt.NDArray[np.bool_],
    language: int,
    chosen: range,
) -> list[Reasons]:
    """Return the reasons for the shape of each of the `chosen` words; none for those without case. The other arguments
    are those of `casing_costs`."""
    text, lowercaser = read_words(buf, words, begins, context, transducer, True, language)
    decisions = score(buf, words, text, lowercaser, context, np.empty((len(words.starts), N_SHAPES), np.float32))
    features, queue = np.empty(_N_FEATURES, np.uint32), Queue.of(1)
    reasons = []
    for i in chosen:
        of_word: Reasons = defaultdict(lambda: np.zeros(N_SHAPES))
        token = text.tokens[text.token_of[i]]
        if has_case(token["shape_evidence"]):
            number = int(np.searchsorted(text.ends, i, side="right"))
            begin = int(text.ends[number - 1]) if number else 0
            those = decisions[text.token_of[begin : text.ends[number]]]
            n_words, n_capitals = int((those != NO_DECISION).sum()), sum(map(has_capitals, those.tolist()))
            of_network, domain = np.zeros((1, N_SHAPES), np.float32), int(text.domains[number])
            n = _fill(
                buf, words, i, domain, text, lowercaser, context, decisions, n_words, n_capitals, features, queue,
                of_network,
            )  # fmt: skip
            for name, row in _rows(context, features, n, int(text.labels[i]), token, of_network[0]):
                if row.any():
                    of_word[_in_words(name, buf, words, i, begins)][-len(row) :] += row
        reasons.append(dict(of_word))
    return reasons


def _rows(
    context: Context,
    features: npt.NDArray[np.uint32],
    n_own: int,
    label: int,
    token: np.void,
    of_network: npt.NDArray[np.float32],
) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    """Yield the name of each feature of a word, and what it contributes to the scores of the shapes, of which LOWER may
    be left out. The arguments are those of `_fill`."""
    scale1, scale2, scale_first = map(np.float32, context.scales)
    first = weights_of(context.first_pass, features[:N_FIRST_FEATURES])
    if UNSEEN < token["shape_evidence"] < BEGIN and _lead(scale_first * first.sum(0)) >= FIRST_PASS_LEAD:
        yield from zip(FIRST_FEATURES, scale_first * first, strict=True)
        return
    stage1 = weights_of(context.stage1, features[N_FIRST_FEATURES:_DECIDED])
    stage1[N_NEIGHBOR_FEATURES + n_own :] = 0
    if n_own == 0:
        stage1[N_NEIGHBOR_FEATURES] = context.words["scores"][label]
    names = (*NEIGHBOR_FEATURES, *[OWN_WORD if label else OWN_LETTERS] * MAX_WORD_FEATURES)
    is_certain = _lead(scale1 * stage1.sum(0)) >= STAGE1_LEAD
    of_stage1 = scale1 * stage1 * np.float32(1 if is_certain else PRIOR_WEIGHT)
    yield from zip(names, of_stage1, strict=True)
    if not is_certain:
        of_decisions = scale2 * weights_of(context.stage2, features[_DECIDED:])
        yield from zip(DECISION_FEATURES, of_decisions, strict=True)
        if _lead(of_stage1.sum(0) + of_decisions.sum(0)) < STAGE2_LEAD and token["position"] > 0:
            yield "all words around it", of_network


def _in_words(name: str, buf: npt.NDArray[np.uint8], words: Words, i: int, begins: npt.NDArray[np.bool_]) -> str:
    """Return the name of a feature of word i, with the words that it is about."""

    def word(match: re.Match[str]) -> str:
        distance = int(match[1])
        step = 1 if distance > 0 else -1
        for k in range(i, i + distance, step):
            after = k + step
            is_inside = 0 <= after < len(begins) and words.token_types[after] != NEWLINE
            if not is_inside or begins[max(k, after)]:
                return "the end of the sentence" if step > 0 else "the start of the sentence"
        k = i + distance
        text = buf[words.starts[k] : words.ends[k]].tobytes().decode("utf-8", "surrogatepass")
        return f'"{text}"'

    named = re.sub(r"\{(-?\d)\}", word, name)
    for pattern, wording in _WORDINGS:
        named = re.sub(pattern, wording, named)
    return named
