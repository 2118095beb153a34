"""Describe each lowercase word: hashes of the word and of its parts, and the shapes that it has in the corpus.

In: lowercase words in UTF-8, in the LM's spelling; a labeled corpus. Out: the hashes of each word; how often the corpus
has it in each shape; and its *shape evidence*, a small integer that summarizes these counts. Words with similar counts
have the same shape evidence, so that weights learned from some of them apply to all.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from capfst.casing.names import pattern
from capfst.casing.shapes import N_SHAPES, Shape, shapes
from capfst.corpus.labels import pieces
from capfst.fst.symbols import UNKNOWN, Symbols
from capfst.kernels import inner, kernel, outlined
from capfst.kernels.types import Array, I8Matrix, I32Array, I32Cube, I64Array, I64Matrix, Record, U8Array, U8Matrix

from capfst.kernels.types import U16Array, U32Array, U32Matrix, i64, u8, u32, u64  # isort: skip
from capfst.options import MAX_DOMAINS
from capfst.system.hashing import hash_bytes, hash_pair
from capfst.text import unicode as uni
from capfst.text.sentences import NO_MARK, mark_of
from capfst.text.tokenizer import PROTECTED_CLASS

ShapeCounts = TypeVar("ShapeCounts", I32Array, I64Array)

WORD_RECORD = np.dtype(
    [
        ("word_hash", "u4"),
        ("suffix2_hash", "u4"),  # of the last two characters
        ("unseen_penalty", "f4"),  # cost, −ln, of a casing that the LM has not seen
        ("shape_evidence", "u1"),  # NO_CASE if there is nothing to decide on the word
        ("frequency_rank", "u1"),  # 1 … N_RANKED for the most frequent words, in order; else 0
        ("lower_class", "u1"),  # the class of its form without capitals,
        ("cased_class", "u1"),  # and of its most frequent form with capitals, by classes.word_classes
        ("one_letter", "u1"),  # 1 if the word is one letter: CAPITALIZED and UPPER are the same
        ("domain_log_odds", "i1", (MAX_DOMAINS,)),  # of each domain of a language, as from domains.find_domains
        ("scores", "i2", (N_SHAPES - 1,)),  # sums of the weights of a seen word's word_features
        ("embedding", "u2"),  # its row of the network's embeddings
    ],
    align=True,
)
"""Record of a lowercase word. It has 32 bytes, so that no record crosses a cache line."""
WordRecordArray: TypeAlias = Annotated[npt.NDArray[np.void], Array(WORD_RECORD)]
WordRecord: TypeAlias = Annotated[Any, Record(WORD_RECORD)]

NO_MARKS = NOT_LISTED = np.zeros(0, np.uint8)


class Lexicon(NamedTuple):
    """Known facts about a model's labels and lowercase words."""

    word_of: I64Array  # by label: the number of its word
    shapes: U8Array  # by label
    hashes: U32Matrix  # [words, N_HASHES]
    words: WordRecordArray  # [words], without what is learned, and what depends on the counts
    domains: int  # of each language
    shape_counts: I64Matrix  # [words, N_SHAPES], in the whole corpus
    language_log_odds: I8Matrix  # [words, languages]; [words, 0] if there is only one
    language_counts: I32Cube = np.zeros((0, 0, N_SHAPES), np.int32)
    """[languages, words, N_SHAPES]: the shape counts in each language, if there are several."""
    listed: U8Array = NOT_LISTED
    """[words]: the shape evidence that word lists give to words that the corpus lacks; [0]: there are no such lists."""
    language_listed: U8Matrix = np.zeros((0, 0), np.uint8)
    """[languages, words]: the same, by lists of each language."""
    marks: U8Array = NO_MARKS
    """[words]: which mark the word is, as from sentences.mark_of, or NO_MARK, or ABBREVIATED; [0]: gaps are not
    learned."""

    @property
    def n_languages(self) -> int:
        """Number of languages; 0 if there is only one."""
        return self.language_log_odds.shape[1]

    @property
    def n_domains(self) -> int:
        """Number of the domains of all languages."""
        return self.domains * max(1, self.n_languages)


ABBREVIATED = 4
"""A word with a period at its end, instead of a mark."""

MAX_AFFIX = 5
"""Length of the longest prefix and suffix that are hashed, in characters."""
MAX_TRIGRAMS = 12
"""Number of character trigrams that are hashed at most, from the start of the word."""
WHOLE = 0
PREFIX = 1
SUFFIX = PREFIX + MAX_AFFIX
OUTLINE = SUFFIX + MAX_AFFIX
FRAME = OUTLINE + 1
TRIGRAMS = FRAME + 1
N_HASHES = TRIGRAMS + MAX_TRIGRAMS
"""Number of hashes of a word. Their indices: WHOLE, the word; PREFIX …, its first 1 to 5 characters; SUFFIX …, its last
1 to 5; OUTLINE, the sequence of its character classes without repetition, and its pattern of a name or code, if any
(casing/names.py); FRAME, its length and whether it has a vowel; TRIGRAMS …, its first MAX_TRIGRAMS trigrams of
characters."""

UNSEEN = 0
LISTED = 121
"""The shape evidence of words that only word lists have is LISTED or more: LISTED + N_TRUSTED shape + trust."""
TRUST = np.array([0.99, 0.97, 0.93, 0.85, 0.7, 0.5])
"""The trust is the number of these thresholds that the probability of the shape is below."""
N_TRUSTED = len(TRUST) + 1
BEGIN, END, NO_CASE = 150, 151, 152
"""Shape evidence of tokens that are not words with case: the beginning and the end of a line, and tokens without
case."""

_VOWELS = uni.ascii_set("aeiouy")
_PER_BUCKET, _LOW_BITS = 8, 0xFFFF  # of RareWords


@outlined
def hash_word(text: U8Array, start: i64, end: i64, info: U8Array, hashes: U32Array) -> None:
    """Fill hashes, uint32[N_HASHES], of the lowercase word text[start:end]; 0 for affixes longer than the word and for
    missing trigrams."""
    hashes[:] = 0
    hashes[WHOLE] = hash_bytes(text, start, end, 1)
    outline, previous, length, vowel = u64(3), (-1), 0, 0
    i = one_before = two_before = start
    while i < end:
        begin = two_before
        two_before, one_before = one_before, i
        code, i = uni.decode(text, i, end)
        length += 1
        if 3 <= length < 3 + MAX_TRIGRAMS:
            hashes[TRIGRAMS + length - 3] = hash_bytes(text, begin, i, 2 + 2 * MAX_AFFIX)
        if length <= MAX_AFFIX:
            hashes[PREFIX + length - 1] = hash_bytes(text, start, i, 1 + length)
        vowel |= uni.is_in(code, _VOWELS)
        if info[code] & 7 == uni.LETTER:
            code = i64(97 if code < 128 else 128)
        if code != previous:
            outline = hash_pair(outline, code)
            previous = code
    suffix = end
    for n in range(1, min(MAX_AFFIX, length) + 1):
        suffix -= 1
        while text[suffix] & 0xC0 == 0x80:
            suffix -= 1
        hashes[SUFFIX + n - 1] = hash_bytes(text, suffix, end, 1 + MAX_AFFIX + n)
    hashes[OUTLINE] = hash_pair(outline, pattern(text, start, end))
    hashes[FRAME] = hash_pair(4 + vowel, min(length, 8))


@inner
def shape_evidence(counts: ShapeCounts) -> i64:
    """Return the shape evidence of counts by shape, int[N_SHAPES]: UNSEEN if all are 0, else an integer from 1 to 120.

    This is 1 + 30 shape + 6 impurity + frequency, with the most frequent shape; an impurity from 0 to 4, which rises as
    the fraction of occurrences in that shape falls; and a frequency from 0 to 5, which rises with the number of
    occurrences.
    """
    best, n = 0, 0
    for shape in range(N_SHAPES):
        n += counts[shape]
        best = shape if counts[shape] > counts[best] else best  # of equal ones, the first
    if n == 0:
        return UNSEEN
    fraction = counts[best] / n
    impurity = 0 if fraction == 1 else 1 if fraction > 0.98 else 2 if fraction > 0.9 else 3 if fraction > 0.7 else 4
    frequency = 0 if n == 1 else 1 if n == 2 else 2 if n <= 5 else 3 if n <= 20 else 4 if n <= 100 else 5
    return 1 + (best * 5 + impurity) * 6 + frequency


@inner
def has_case(evidence: u8) -> bool:
    """Return whether shape evidence is that of a word with case, seen or unseen."""
    return evidence < BEGIN


@inner
def evidence_of(counts: ShapeCounts, listed: U8Array, word: i64) -> i64:
    """Return the shape evidence of a word's counts, or if all are 0 that of word lists. listed: as in Lexicon."""
    evidence = shape_evidence(counts)
    return i64(listed[word]) if evidence == UNSEEN and listed.size else evidence


@kernel
def _fill_evidence(counts: I64Matrix, listed: U8Array, evidence: U8Array) -> None:
    for word in range(evidence.size):
        evidence[word] = evidence_of(counts[word], listed, word)


def word_evidence(counts: npt.NDArray[np.integer], listed: U8Array = NOT_LISTED) -> U8Array:
    """Return `evidence_of` of all words. counts: [words, N_SHAPES]."""
    evidence = np.empty(len(counts), np.uint8)
    _fill_evidence(counts.astype(np.int64, copy=False), listed, evidence)
    return evidence


class RareWords(NamedTuple):
    """The shape evidence of words that the LM lacks, in 3.5 bytes each: names that are too rare for its vocabulary.

    The high bits of a word's hash, WHOLE, select the bucket, and the low 16 bits find the word there. If the table has
    a million words, about one of four thousand other words gets the evidence of another word. Bucket b has the words
    begins[b] … begins[b + 1] − 1, in the order of their low bits.
    """

    begins: U32Array  # [buckets + 1], ascending
    low_bits: U16Array  # [words]
    evidence: U8Array  # [words]

    @classmethod
    def of(cls, hashes: U32Array, evidence: U8Array) -> RareWords:
        """Return a table of these words; of several words with one hash, the first counts."""
        hashes, first = np.unique(hashes, return_index=True)
        n_buckets = -(-len(hashes) // _PER_BUCKET)
        bucket = (hashes.astype(np.uint64) * np.uint64(n_buckets) >> np.uint64(32)).astype(np.int64)
        low_bits = (hashes & _LOW_BITS).astype(np.uint16)
        order = np.lexsort((low_bits, bucket))
        begins = np.searchsorted(bucket, np.arange(n_buckets + 1)).astype(np.uint32)
        return cls(begins, low_bits[order], evidence[first][order])

    def is_valid(self) -> bool:
        """Return whether no look-up leaves the table."""
        covers_all = self.begins[0] == 0 and self.begins[-1] == len(self.evidence) == len(self.low_bits)
        return bool(covers_all and (self.begins[1:] >= self.begins[:-1]).all())


NO_RARE_WORDS = RareWords(np.zeros(1, np.uint32), np.empty(0, np.uint16), np.empty(0, np.uint8))


@inner
def rare_evidence(rare: RareWords, word_hash: u32) -> i64:
    """Return the shape evidence of the word with this hash; UNSEEN if the table lacks it."""
    n_buckets = rare.begins.size - 1
    bucket = i64(u64(word_hash) * u64(n_buckets) >> u64(32))
    for k in range(rare.begins[bucket], rare.begins[bucket + 1] if n_buckets else 0):
        if rare.low_bits[k] == word_hash & u32(_LOW_BITS):
            return i64(rare.evidence[k])
    return i64(UNSEEN)


@kernel
def find_rare(rare: RareWords, hashes: U32Array, evidence: U8Array) -> None:
    """Fill evidence, uint8[n], of the words with these hashes."""
    for k in range(hashes.size):
        evidence[k] = rare_evidence(rare, hashes[k])


def evidence_parts(evidence: int) -> tuple[int, int, int]:
    """Return the shape, impurity and frequency in the shape evidence of a word, seen or listed."""
    if evidence >= LISTED:
        shape, trust = divmod(evidence - LISTED, N_TRUSTED)
        return shape, min(trust, 4), 2
    return (evidence - 1) // 30, (evidence - 1) // 6 % 5, (evidence - 1) % 6


def _buckets(evidence: int) -> tuple[int, int]:
    """Return what `evidence_in_25` and `evidence_in_12` do, of any byte, because those in a model's file may be any."""
    if evidence == UNSEEN or evidence >= BEGIN:
        return 0, 0 if evidence == UNSEEN else evidence - BEGIN + 9
    shape, impurity, frequency = evidence_parts(evidence)
    pure = shape * 2 + (impurity > 1)
    return 1 + pure * 3 + (0 if frequency == 0 else 1 if frequency < 3 else 2), 1 + pure


_IN_25, _IN_12 = np.array([*map(_buckets, range(256))], np.uint8).T.copy()


@inner
def evidence_in_25(evidence: i64) -> i64:
    """Return one of 25 buckets of shape evidence: 0 if there is none, else by shape, purity (2) and frequency (3)."""
    return _IN_25[evidence]


@inner
def evidence_in_12(evidence: i64) -> i64:
    """Return one of 12 buckets of shape evidence: UNSEEN; by shape and purity (2); BEGIN, END, NO_CASE."""
    return _IN_12[evidence]


@kernel
def _hash_words(
    data: U8Array, offsets: I64Array, starts: I32Array, lowering: uni.Lowering, word: U8Array, hashes: U32Matrix
) -> None:
    for number in range(starts.size - 1):
        start, end = offsets[starts[number]], offsets[starts[number] + 1]
        size = uni.lower_into(data, start, end, start, end, word, 0, lowering)
        hash_word(word, 0, size, lowering.info, hashes[number])


def hash_words(symbols: Symbols, starts: I32Array) -> U32Matrix:
    """Return uint32[words, N_HASHES], the hashes of a model's lowercase words. starts: their first labels, as from
    `symbols.check`."""
    hashes = np.empty((len(starts) - 1, N_HASHES), np.uint32)
    word = np.empty(int(np.diff(symbols.offsets).max()) * uni.GROWTH + 8, np.uint8)
    _hash_words(symbols.data, symbols.offsets, starts, symbols.language.lowering, word, hashes)
    return hashes


@kernel
def _find_marks(data: U8Array, offsets: I64Array, starts: I32Array, info: U8Array, marks: U8Array) -> None:
    for number in range(starts.size - 1):
        start, end = offsets[starts[number]], offsets[starts[number] + 1]
        marks[number] = mark_of(data, start, end)
        i = start
        while i < end:
            if uni.is_alphanumeric(uni.class_at(data, i, end, info)):
                marks[number] = ABBREVIATED if data[end - 1] == 46 else NO_MARK
            i = uni.decode(data, i, end)[1]


def word_marks(symbols: Symbols, starts: I32Array) -> U8Array:
    """Return uint8[words], the marks of a model's lowercase words, as in Lexicon."""
    marks = np.empty(len(starts) - 1, np.uint8)
    _find_marks(symbols.data, symbols.offsets, starts, uni.INFO, marks)
    return marks


def word_numbers(starts: I32Array) -> I64Array:
    """Return int64[V + 1], the number of each label's word."""
    return np.append(np.int64(0), np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts)))


def label_shapes(symbols: Symbols, starts: I32Array) -> U8Array:
    """Return uint8[V + 1], the shapes of the surface forms; CASELESS for those that stand for words in any casing."""
    shape_of = shapes(symbols)
    for form in (UNKNOWN, PROTECTED_CLASS.decode()):
        for label in symbols.forms(form, starts):
            shape_of[label] = Shape.CASELESS
    return shape_of


def add_shape_counts(
    labels: U32Array, word_of: I64Array, shapes: U8Array, step: int, counts: npt.NDArray[np.signedinteger]
) -> None:
    """Add `step` times how often a corpus has each word in each shape to counts, [words, N_SHAPES], contiguous.

    labels: whole sentences, each followed by a 0. word_of, shapes: the word and the shape of each label.
    """
    for piece, _ in pieces(labels):
        forms = piece[(piece > 0) & (shapes[piece] != Shape.CASELESS)]
        np.add.at(counts.reshape(-1), word_of[forms] * N_SHAPES + shapes[forms], counts.dtype.type(step))
