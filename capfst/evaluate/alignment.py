"""Alignment: two texts of different words → the counts of `compare`, and those of the word error rate (WER).

In: the lines of a reference and of a hypothesis, such as what a recognizer or a translator gives. Out: int64[lines,
COLUMNS].

The words of each line, whatever their case, are aligned with the least number of edits; of several such alignments, one
with the most words in common. The edits count for the WER. Tokens are counted of the words in common only. Capitals are
counted of whole lines, as in `cer`: a wrong word has its capitals wrong, too. Memory is linear in the length of a line;
so is time for a bounded number of edits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, tee

import numpy as np
import numpy.typing as npt

from capfst.evaluate.cer import code_points, column_of, least_cost
from capfst.evaluate.compare import (
    CAPITALS,
    COLUMNS,
    FOLD,
    STRETCH,
    WORD_DELETIONS,
    WORD_INSERTIONS,
    WORD_SUBSTITUTIONS,
    WORDS,
    LineCounts,
    batches,
    compare,
    count_stretch,
)
from capfst.exceptions import CapfstError
from capfst.kernels import allocating
from capfst.kernels.types import I64Array, I64Matrix, U8Array, U32Array
from capfst.text.unicode import CLASS, DOT_ABOVE, DOTTED_CAPITAL_I, INFO, IS_CASED, IS_UPPER, LETTER

MOST_WORDS = 1 << 18  # of a line: a quarter of a million, a day of speech
_REMEMBERED = 1 << 20  # words whose lowercase is remembered


def compare_aligned(
    reference: Iterable[str | bytes],
    hypothesis: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    names: tuple[str, str] = ("the reference", "the hypothesis"),
) -> Iterator[LineCounts]:
    """As `compare.compare`, of lines whose words may differ; `skip_first` leaves out the first word of either line.

    Raises:
        CapfstError: a line of more than 262,144 words, or that the other text does not have.
    """
    whole: list[LineCounts] = []

    def in_common() -> Iterator[tuple[str, str]]:
        """Of each line the words in common, in both casings; `whole` takes what is counted of the whole line."""
        for number, lines in enumerate(chain.from_iterable(batches(reference, hypothesis, names)), 1):
            ref, hyp = (_without_first(line.split()) if skip_first else line.split() for line in lines)
            for words, name in zip((ref, hyp), names, strict=True):
                if len(words) > MOST_WORDS:
                    raise CapfstError(
                        f"line {number} of {name} has {len(words):,} words, too many to be aligned (the most are "
                        f"{MOST_WORDS:,}); put each sentence, or each speaker's turn, on a line of its own"
                    )
            pairs = align(ref, hyp)
            whole.append(_count_whole(ref, hyp, pairs))
            yield " ".join([ref[i] for i in pairs[:, 0]]), " ".join([hyp[j] for j in pairs[:, 1]])

    refs, hyps = tee(in_common())
    for counts in compare((ref for ref, _ in refs), (hyp for _, hyp in hyps), in_vocabulary=in_vocabulary):
        counts[:, CAPITALS:] = np.stack(whole)[:, CAPITALS:]
        whole.clear()
        yield counts


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> npt.NDArray[np.int64]:
    """int64[n, 2]: the places, in both texts, of the n words that they have in common, in any casing."""
    numbers: dict[str, int] = {}
    ref, hyp = (
        np.fromiter((numbers.setdefault(_folded(word), len(numbers)) for word in words), np.uint32, len(words))
        for words in (reference, hypothesis)
    )
    return align_numbers(ref, hyp)


def _without_first(words: list[str]) -> list[str]:
    """Without the first word that has a letter."""
    for i, word in enumerate(words):
        info = INFO[code_points(word)]
        if ((info & CLASS == LETTER) | (info & IS_CASED != 0)).any():
            return words[:i] + words[i + 1 :]
    return words


@lru_cache(_REMEMBERED)
def _folded(word: str) -> str:
    """The word in lower case, as `compare` compares characters."""
    codes = code_points(word.replace(chr(DOTTED_CAPITAL_I), f"i{chr(DOT_ABOVE)}"))
    return FOLD[codes].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _count_whole(ref: list[str], hyp: list[str], pairs: npt.NDArray[np.int64]) -> LineCounts:
    """int64[COLUMNS]: a line's words and capitals, and their edits."""
    row = np.zeros(COLUMNS, np.int64)
    # Before, between and behind the words in common, as many words as can be are substituted.
    bounds = np.concatenate([[[-1, -1]], pairs, [[len(ref), len(hyp)]]])
    substitutions = (np.diff(bounds, axis=0) - 1).min(axis=1).sum()
    row[WORDS] = len(ref)
    row[WORD_DELETIONS] = len(ref) - len(pairs) - substitutions
    row[WORD_INSERTIONS] = len(hyp) - len(pairs) - substitutions
    row[WORD_SUBSTITUTIONS] = substitutions
    stops = np.stack([np.cumsum([0, *map(len, words)])[bounds[1:, k]] for k, words in enumerate((ref, hyp))])
    count_capitals(code_points("".join(ref)), code_points("".join(hyp)), stops, INFO, row)
    return row


@allocating
def align_numbers(ref: U32Array, hyp: U32Array) -> I64Matrix:
    """`align` of words that stand as numbers, uint32[·] each.

    An alignment is cut where it leaves the middle one of the reference's words, then both parts are, and so on
    (Hirschberg 1975), in memory that is linear. What both begin or end with is matched first: no alignment without
    these matches is cheaper.
    """
    partners = np.full(len(ref), -1, np.int64)
    # A part is halved until one word is left, and one half waits while the other one is: 64 never wait.
    parts = np.empty((64, 4), np.int64)
    parts[0, 0], parts[0, 1], parts[0, 2], parts[0, 3] = 0, len(ref), 0, len(hyp)
    n_parts = 1
    while n_parts > 0:
        n_parts -= 1
        i, i_end, j, j_end = parts[n_parts, 0], parts[n_parts, 1], parts[n_parts, 2], parts[n_parts, 3]
        while i < i_end and j < j_end and ref[i] == hyp[j]:
            partners[i] = j
            i += 1
            j += 1
        while i < i_end and j < j_end and ref[i_end - 1] == hyp[j_end - 1]:
            i_end -= 1
            j_end -= 1
            partners[i_end] = j_end
        if i_end - i == 1:
            for k in range(j, j_end):
                if ref[i] == hyp[k]:
                    partners[i] = k
                    break
        elif i < i_end and j < j_end:
            half = (i_end - i) // 2
            aligned = column_of(least_cost(ref[i:i_end], hyp[j:j_end], half))
            middle, aligned_end = i + half, j + aligned
            part, other = parts[n_parts], parts[n_parts + 1]
            part[0], part[1], part[2], part[3] = i, middle, j, aligned_end
            other[0], other[1], other[2], other[3] = middle, i_end, aligned_end, j_end
            n_parts += 2
    n_pairs = 0
    for i in range(len(ref)):
        n_pairs += partners[i] >= 0
    pairs = np.empty((n_pairs, 2), np.int64)
    n_pairs = 0
    for i in range(len(ref)):
        if partners[i] >= 0:
            pairs[n_pairs, 0], pairs[n_pairs, 1] = i, partners[i]
            n_pairs += 1
    return pairs


@allocating
def count_capitals(ref: U32Array, hyp: U32Array, stops: I64Matrix, info: U8Array, row: I64Array) -> None:
    """Adds a line's capitals, and their edits, to its row of counts.

    ref, hyp: uint32[·], the code points of the words. stops: int64[2, ·], places in both up to which they are aligned
    with each other, the last of which are their ends. Many capitals are cut into stretches, as `compare` cuts them.
    """
    ref_upper = np.empty(STRETCH, np.uint32)
    hyp_upper = np.empty(STRETCH, np.uint32)
    i = j = n = m = 0
    for stop in range(stops.shape[1]):
        while i < stops[0, stop] or j < stops[1, stop]:
            if i < stops[0, stop]:
                if info[ref[i]] & IS_UPPER:
                    ref_upper[n] = ref[i]
                    n += 1
                i += 1
            if j < stops[1, stop]:
                if info[hyp[j]] & IS_UPPER:
                    hyp_upper[m] = hyp[j]
                    m += 1
                j += 1
            if max(n, m) == STRETCH:
                count_stretch(ref_upper, n, hyp_upper, m, row)
                n = m = 0
    count_stretch(ref_upper, n, hyp_upper, m, row)
