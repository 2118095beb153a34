"""The context model as a part of cap.fst, mapped: learned weights in bytes, and a record for each word.

In: what is known of the words, and learned tables. Out: a part of the model's trailer (fst/trailer.py), and `Context`,
which reads it where it lies. Any numbers in its arrays are legal, but for the shapes; so only these, and the sizes of
all, have to be checked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import N_SHAPES, Shape
from capfst.context.domains import MAX_DOMAINS, MAX_LANGUAGES
from capfst.context.features import MAX_WORD_FEATURES, word_features
from capfst.context.lexicon import NO_CASE, SUFFIX, UNSEEN, WHOLE, Lexicon, shape_evidence
from capfst.exceptions import CapfstError
from capfst.fst.read import CapFst
from capfst.fst.trailer import Part
from capfst.kernels import allocating
from capfst.kernels.types import (
    Array,
    I8Matrix,
    I16Matrix,
    I32Array,
    I32Cube,
    I64Matrix,
    Record,
    U8Array,
    U8Matrix,
    U32Array,
    U32Matrix,
    i64,
    u64,
)

if TYPE_CHECKING:
    from capfst.context.learn import Tables

PART = "context"
_FORMAT = 5
_MAX_WEIGHT = 127  # of the absolute weights in a table, in units of its scale
ROWS_PER_SLOT = 16
"""Rows of a learned table that share a slot of the file's table, which holds one of them."""
EMPTY_ROW = np.uint32(0x00808080)
"""A slot of the file's tables that no row has: all weights are 0."""

WORD = np.dtype(
    [
        ("word_hash", "u4"),
        ("suffix2_hash", "u4"),  # of its last two characters
        ("unseen_penalty", "f4"),  # −ln: what a casing costs that the LM has not seen
        ("shape_evidence", "u1"),  # NO_CASE if nothing is decided on it
        ("frequency_rank", "u1"),
        ("lower_class", "u1"),  # by classes.word_classes
        ("cased_class", "u1"),
        ("one_letter", "u1"),  # 1: of which CAPITALIZED and UPPER are the same
        ("domain_log_odds", "i1", (MAX_DOMAINS,)),  # as from domains.domain_log_odds; 0 if the domains are languages
        ("scores", "i2", (N_SHAPES - 1,)),  # as Parameters.word_scores
    ],
    align=True,
)
"""What is known of a word; under the label of its most frequent form. 32 bytes, so that none lies in two lines of the
cache."""
WordArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(WORD)]
Word: TypeAlias = Annotated[Any, Record(WORD)]


LEAST_PENALTY = 1.0
"""WORD's `unseen_penalty` is LEAST_PENALTY + ln(1 + occurrences)."""


class Parameters(NamedTuple):
    """What was learned: the weights of the shapes but LOWER, less LOWER's, as whole numbers.

    A table has 2^b slots, of four bytes each, the lowest first: the three weights of a row, each plus 128, and 1 + the
    row's number among those that share the slot. A feature f has slot f mod 2^b, number ⌊f / 2^b⌋ mod ROWS_PER_SLOT.
    """

    word_scores: npt.NDArray[np.int16]  # [V + 1, N_SHAPES − 1]: of seen words, the sums of their word_features' weights
    stage1: npt.NDArray[np.uint32]  # [2^b]
    stage2: npt.NDArray[np.uint32]
    first_look: npt.NDArray[np.uint32]
    scales: tuple[float, float, float]  # what a 1 in each table is worth


class Context(NamedTuple):
    """The context model that belongs to a model."""

    words: WordArray  # WORD, by label
    shapes: U8Array  # by label
    stage1: U32Array  # this and the following as Parameters
    stage2: U32Array
    first_look: U32Array
    scales: tuple[float, float, float]
    n_domains: int
    language_log_odds: I8Matrix  # [V + 1, domains] if the domains are languages, else [V + 1, 0]
    language_evidence: U8Matrix  # likewise: the shape evidence of each language alone

    @classmethod
    def of(cls, model: CapFst, name: str = PART) -> Context | None:
        """The context model that is a part of a model; None if it has none. CapfstError if it cannot be used."""
        part = model.parts.get(name)
        if part is None:
            _refuse_two_files(model)
            return None
        if part.settings.get("format") != _FORMAT:
            raise CapfstError(
                f"the context model in {model.path} is of another version of capfst: train the model again, or leave it"
                " out (--no-context)"
            )
        try:
            return cls._read(part, len(model.symbols))
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise CapfstError(
                f"the context model in {model.path} is damaged ({error}): train the model again"
            ) from error

    @classmethod
    def _read(cls, part: Part, n_labels: int) -> Context:
        """ValueError, TypeError, KeyError or OverflowError if the part is not what `part` makes."""
        n_domains, (scale1, scale2, scale_first) = int(part.settings["domains"]), map(float, part.settings["scales"])
        scales = scale1, scale2, scale_first
        n_languages = n_domains if "language_log_odds" in part.arrays else 0
        most_domains = MAX_LANGUAGES if n_languages else MAX_DOMAINS
        if not (0 < n_domains <= most_domains and all(0 < scale < np.inf for scale in scales)):
            raise ValueError("its scales or its number of domains are impossible")

        def array(name: str, dtype: npt.DTypeLike, *shape: int) -> npt.NDArray[Any]:
            if 0 in shape:  # of languages, in a model that does not tell any apart
                return np.empty(shape, dtype)
            return part.arrays[name].view(dtype).reshape(shape)

        context = cls(
            array("words", WORD, n_labels),
            array("shapes", np.uint8, n_labels),
            array("stage1", np.uint32, -1),
            array("stage2", np.uint32, -1),
            array("first_look", np.uint32, -1),
            scales,
            n_domains,
            array("language_log_odds", np.int8, n_labels, n_languages),
            array("language_evidence", np.uint8, n_labels, n_languages),
        )
        if any(table.size.bit_count() != 1 for table in (context.stage1, context.stage2, context.first_look)):
            raise ValueError("the size of a table is no power of 2")
        if context.shapes.max() > Shape.CASELESS:
            raise ValueError("it has a form of no shape")
        return context

    @property
    def n_languages(self) -> int:
        """How many languages are told apart; 0: there is only one, or their names were not known."""
        return self.language_log_odds.shape[1]

    def part(self) -> Part:
        """The context model as a part of a model's file."""
        arrays = self._asdict()
        settings = {"format": _FORMAT, "scales": list(arrays.pop("scales")), "domains": arrays.pop("n_domains")}
        if not self.n_languages:
            del arrays["language_log_odds"], arrays["language_evidence"]
        return Part(settings, {name: array.reshape(-1).view(np.uint8) for name, array in arrays.items()})


def _refuse_two_files(model: CapFst) -> None:
    """Version 0.1 had the context model in a file of its own: that it is no longer read must not pass in silence."""
    beside = f"{model.path}.context"
    if model.trailer is None and os.path.exists(beside):
        raise CapfstError(
            f"{model.path} is of capfst 0.1, whose models had two files, and {beside} is no longer read: train the"
            " model again, or use it without context (--no-context)"
        )


def context_of(starts: npt.NDArray[np.int32], lexicon: Lexicon, parameters: Parameters) -> Context:
    """The context model of the model whose words' first labels are `starts`."""
    words = np.zeros(len(lexicon.shapes), WORD)
    _fill_words(starts, lexicon, words)
    n_domains = lexicon.domain_log_odds.shape[1]
    first = starts[:-1]
    words["scores"] = parameters.word_scores
    words["shape_evidence"][first[lexicon.shapes[first] == Shape.CASELESS]] = NO_CASE
    n_languages = len(lexicon.language_counts)
    language_log_odds = np.zeros((len(words), n_languages), np.int8)
    language_evidence = np.zeros((len(words), n_languages), np.uint8)
    _fill_evidence(starts, lexicon.language_counts, language_evidence)
    log_odds = language_log_odds if lexicon.domains_are_languages else words["domain_log_odds"][:, :n_domains]
    log_odds[first] = lexicon.domain_log_odds
    return Context(words, lexicon.shapes, *parameters[1:], n_domains, language_log_odds, language_evidence)


@allocating
def _fill_words(starts: I32Array, lexicon: Lexicon, words: WordArray) -> None:
    """Fills the records of a model's words, WORD[V + 1], whose first labels are `starts`."""
    for number in range(starts.size - 1):
        word, counts = words[starts[number]], lexicon.shape_counts[number]
        word.word_hash, word.suffix2_hash = lexicon.hashes[number, WHOLE], lexicon.hashes[number, SUFFIX + 1]
        word.shape_evidence, word.frequency_rank = shape_evidence(counts), lexicon.frequency_ranks[number]
        word.lower_class, word.cased_class = lexicon.classes[number, 0], lexicon.classes[number, 1]
        word.unseen_penalty = LEAST_PENALTY + np.log(1.0 + counts.sum())
        word.one_letter = word.suffix2_hash == 0


@allocating
def _fill_evidence(starts: I32Array, language_counts: I32Cube, language_evidence: U8Matrix) -> None:
    """Fills the shape evidence of each language, [V + 1, languages], of the words whose first labels are `starts`."""
    for number in range(starts.size - 1):
        for language in range(len(language_counts)):
            language_evidence[starts[number], language] = shape_evidence(language_counts[language, number])


def quantize(tables: Tables, lexicon: Lexicon, starts: npt.NDArray[np.int32]) -> Parameters:
    """Learned tables as the file has them. starts: the words' first labels."""
    weights1, scale1 = _whole_numbers(tables.stage1)
    weights2, scale2 = _whole_numbers(tables.stage2)
    weights_first, scale_first = _whole_numbers(tables.first_look)
    word_scores = np.zeros((len(lexicon.word_of), N_SHAPES - 1), np.int16)
    _sum_word_scores(starts, lexicon.hashes, lexicon.shape_counts, weights1, word_scores)
    packed = (
        _packed(weights1, tables.stage1[:, N_SHAPES:]),
        _packed(weights2, tables.stage2[:, N_SHAPES:]),
        _packed(weights_first, tables.first_look[:, N_SHAPES:]),
    )
    return Parameters(word_scores, *packed, (scale1, scale2, scale_first))


def _whole_numbers(table: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int16], float]:
    """[rows, N_SHAPES − 1]: the weights of the shapes but LOWER, less LOWER's, in whole numbers up to _MAX_WEIGHT; and
    what a 1 is worth. (Softmax takes differences of scores only, so LOWER's may be 0.)"""
    weights = table[:, 1:N_SHAPES] - table[:, :1]
    scale = float(max(weights.max(initial=0), -weights.min(initial=0))) / _MAX_WEIGHT or 1.0
    weights /= scale
    return np.rint(weights, out=weights).astype(np.int16), scale


def _packed(weights: npt.NDArray[np.int16], gradients: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Of the rows that share a slot, the one that matters most: the product of the size of its weights and the root of
    AdaGrad's sums of its squared gradients is the largest."""
    n_slots = len(weights) // ROWS_PER_SLOT
    packed, most = np.full(n_slots, EMPTY_ROW, np.uint32), np.zeros(n_slots)
    for number in range(ROWS_PER_SLOT):
        these = slice(number * n_slots, (number + 1) * n_slots)
        rows = weights[these]
        importance = np.abs(rows).sum(1) * np.sqrt(gradients[these].sum(1))
        better = importance > most
        most[better] = importance[better]
        kept = (rows[better] + 128).astype(np.uint32)
        packed[better] = kept[:, 0] | kept[:, 1] << 8 | kept[:, 2] << 16 | np.uint32(number + 1) << 24
    return packed


@allocating
def _sum_word_scores(
    starts: I32Array, hashes: U32Matrix, shape_counts: I64Matrix, weights: I16Matrix, word_scores: I16Matrix
) -> None:
    """word_scores[label, shape − 1]: the sum of the weights of a word's word_features, under its first label; 0 if its
    shape evidence is UNSEEN, as its features depend on the domain then."""
    features = np.empty(MAX_WORD_FEATURES, np.uint32)
    mask = u64(len(weights) - 1)
    for number in range(starts.size - 1):
        evidence = shape_evidence(shape_counts[number])
        if evidence == UNSEEN:
            continue
        for i in range(word_features(hashes[number], evidence, 0, features)):
            for k in range(N_SHAPES - 1):
                word_scores[starts[number], k] += weights[i64(features[i] & mask), k]
