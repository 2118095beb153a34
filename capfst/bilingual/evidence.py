"""The case of the source as evidence of the true case of a translation, like the case of the input
(context/channel.py).

In: both texts and the links between their words (`fill_templates`: features of a word, its source word, its neighbors,
its position and its line), and the words' shapes. Out: `Evidence`, a part of the model: weights of which a word's sum
for each shape is ln P(source | shape, target), up to a constant of the word.

By Bayes' rule, P(shape | source, target) ∝ P(shape | target) · P(source | shape, target). While the weights are
learned, the first factor is that of a model of the same features without the source, learned in one pass: so it meets
each word as in new text. It is not kept: it stands for the model that recases, which may have seen the translations. So
the weights hold only what the source adds.

Without the source, nothing is known of words that may begin a sentence, because LM and context model predict the case
inside a sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.bilingual.word_facts import N_ENDINGS, N_POSITIONS, N_TAGS, UNALIGNED, AnnotatedText, LineFacts
from capfst.casing.shapes import N_SHAPES
from capfst.context.features import softmax
from capfst.context.learn import INITIAL_SUM, adagrad, add_scores
from capfst.fst.read import CapFst
from capfst.fst.trailer import Part
from capfst.kernels import allocating, inner
from capfst.kernels.types import F32Matrix, I32Array, I64Array, U8Array, U32Matrix, U64Array, f32, i64, u64
from capfst.system.hashing import hash_pair

N_TEMPLATES = 18
_BEFORE_LINE, _AFTER_LINE = 1, 2  # pseudo hashes
PART = "bilingual"
SCALE = 32
"""Weights are stored as int8: this integer stands for 1."""

_FORMAT = 3
_MIN_BITS, _MAX_BITS = 8, 21
_ROWS_PER_WORD = 16
_RATE_WITHOUT, _RATE = 0.003, 0.2
_PASSES = 3
_CERTAIN = 0.999
"""Skip the update when the true shape already has this probability."""
_SEED = 2006


class Evidence(NamedTuple):
    """What a model has learned from translations: views of its part of the file."""

    weights: npt.NDArray[np.int8]  # [2^b, N_SHAPES]
    pairs: int  # of lines that they were learned from

    @classmethod
    def of(cls, model: CapFst) -> Evidence | None:
        """Return the bilingual part of a model; None if it has none.

        Raises:
            ModelError: the part is damaged, or of another version of capfst.
        """

        def read(part: Part) -> Evidence:
            weights = part.arrays["weights"].view(np.int8).reshape(-1, N_SHAPES)
            if len(weights).bit_count() != 1:
                raise ValueError("the number of weights is not a power of 2")
            return cls(weights, int(part.settings["pairs"]))

        return model.part(PART, _FORMAT, read, "Train it again with `train_bilingual`.")

    def part(self) -> Part:
        """Return the weights as a part of a model's file."""
        return Part({"format": _FORMAT, "pairs": self.pairs}, {"weights": self.weights.view(np.uint8).reshape(-1)})


@inner
def _tag_of(source: AnnotatedText, links: I32Array, i: i64, line: LineFacts) -> i64:
    """Return the tag of the source word of word i, if it is one of the line; else UNALIGNED."""
    return i64(source.facts[links[i]].tag) if line.begin <= i < line.end and links[i] >= 0 else i64(UNALIGNED)


@inner
def _hash_of(text: AnnotatedText, i: i64, line: LineFacts, is_cased: bool) -> u64:
    """Return the hash of word i, as it is cased or in lower case, if it is one of the line."""
    if i < line.begin or i >= line.end:
        return u64(_BEFORE_LINE if i < line.begin else _AFTER_LINE)
    return text.facts[i].cased_hash if is_cased else text.facts[i].lower_hash


@inner
def fill_templates(
    target: AnnotatedText, source: AnnotatedText, links: I32Array, i: i64, line: i64, features: U64Array
) -> None:
    """Fill features[N_TEMPLATES], uint64, of word i of a line: hashes, each of which selects a row of weights.

    Wang, Knight & Marcu (2006, §5) use such features: translations of capitalized words and phrases, case tags,
    uppercase translation, initial position, and the punctuation template.
    """
    here, there, k = target.lines[line], source.lines[line], links[i]
    word = target.facts[i]
    own, position, tag = word.lower_hash, i64(word.position), _tag_of(source, links, i, here)
    left2, left = _hash_of(target, i - 2, here, False), _hash_of(target, i - 1, here, False)
    right, right2 = _hash_of(target, i + 1, here, False), _hash_of(target, i + 2, here, False)
    before, after = _tag_of(source, links, i - 1, here), _tag_of(source, links, i + 1, here)
    its_position, is_same = N_POSITIONS, False
    cased = cased_left = cased_right = u64(0)
    if k >= 0:
        fact = source.facts[k]
        its_position, is_same, cased = i64(fact.position), fact.lower_hash == own, fact.cased_hash
        cased_left, cased_right = _hash_of(source, k - 1, there, True), _hash_of(source, k + 1, there, True)
    relation = ((tag * N_POSITIONS + position) * (N_POSITIONS + 1) + its_position) * 2 + is_same
    ends = ((i64(there.heading) * N_ENDINGS + here.ending) * N_ENDINGS + there.ending) * N_TAGS + tag
    f = features
    # The word and its source word.
    f[0] = hash_pair(0, relation)
    f[1] = hash_pair(1 << 16 | relation, own)
    f[2] = hash_pair(2, hash_pair(own, cased))
    f[3] = hash_pair(3 << 16 | tag, word.suffix_hash)
    # Neighbors.
    f[4] = hash_pair(4, left2)
    f[5] = hash_pair(5 << 16 | tag, left)
    f[6] = hash_pair(6 << 16 | tag, right)
    f[7] = hash_pair(7, right2)
    f[8] = hash_pair(8, hash_pair(left, own))
    f[9] = hash_pair(9, hash_pair(own, right))
    f[10] = hash_pair(10, hash_pair(cased_left, cased))
    f[11] = hash_pair(11, hash_pair(cased, cased_right))
    f[12] = hash_pair(12, ((tag * N_TAGS + before) * N_TAGS + after) * N_POSITIONS + position)
    # Headings, and the marks at the end.
    f[13] = hash_pair(13, ends * N_POSITIONS + position)
    f[14] = hash_pair(14 << 16 | ends, left)
    f[15] = hash_pair(15 << 16 | ends, right)
    f[16] = hash_pair(16 << 16 | ends, here.first_hash)
    f[17] = hash_pair(17 << 16 | here.ending, hash_pair(here.first_hash, own))


@allocating
def _learn(
    features: U32Matrix, shapes: U8Array, order: I64Array, rate: float, given: F32Matrix, table: F32Matrix
) -> F32Matrix:
    """Learn the table (context/learn.py) in one pass of AdaGrad over words in this order. given: ln p of each shape of
    a word without these features, float32[words, N_SHAPES]. Return ln p before anything was learned from the word."""
    log_p, p = np.empty((shapes.size, N_SHAPES), np.float32), np.empty(N_SHAPES)
    for word in order:
        for shape in range(N_SHAPES):
            p[shape] = given[word, shape]
        add_scores(table, features[word], N_TEMPLATES, p)
        for shape in range(N_SHAPES):
            log_p[word, shape] = p[shape]
        total = f32(softmax(p))
        for shape in range(N_SHAPES):
            log_p[word, shape] -= total
        if p[shapes[word]] < _CERTAIN:
            adagrad(table, features[word], N_TEMPLATES, p, shapes[word], f32(rate))
    return log_p


def learn_evidence(
    features: npt.NDArray[np.uint32],
    without_source: npt.NDArray[np.uint32],
    shapes: npt.NDArray[np.uint8],
    may_begin: npt.NDArray[np.bool_],
) -> npt.NDArray[np.int8]:
    """Return int8[2^b, N_SHAPES], the weights learned from words.

    Args:
        features: of the words, uint32[words, N_TEMPLATES].
        without_source: the same without the source.
        shapes: uint8[words].
        may_begin: bool[words], whether a sentence may begin with the word.
    """
    rng, n = np.random.default_rng(_SEED), len(shapes)
    bits = max(_MIN_BITS, min(_MAX_BITS, (_ROWS_PER_WORD * n).bit_length()))
    tables = np.zeros((2, 1 << bits, 2 * N_SHAPES), np.float32)
    tables[:, :, N_SHAPES:] = INITIAL_SUM
    none = np.zeros((n, N_SHAPES), np.float32)
    of_target = _learn(without_source, shapes, rng.permutation(n), _RATE_WITHOUT, none, tables[0])
    of_target[may_begin] = 0
    for _ in range(_PASSES):
        _learn(features, shapes, rng.permutation(n), _RATE, of_target, tables[1])
    return np.clip(np.rint(tables[1, :, :N_SHAPES] * SCALE), -127, 127).astype(np.int8)
