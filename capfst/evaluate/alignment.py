"""Alignment: compare two texts whose words may differ, and count the word error rate (WER).

In: the lines of a reference and of a hypothesis, such as a recognizer's or a translator's output. Out: the counts of
`compare` and of the WER, int64[lines, COLUMNS].

The words of each line, regardless of case, are aligned with the fewest edits and, among such alignments, the most words
in common. These edits are those of the WER. Tokens are counted only among the words in common. Capitals are counted in
whole lines, so the capitals of a wrong word also count as errors. Memory is linear in the length of a line; so is time
for a bounded number of edits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, tee

import numpy as np
import numpy.typing as npt

from capfst.evaluate import compare
from capfst.evaluate.compare import STRETCH, count_stretch
from capfst.evaluate.edit_distance import code_points, column_of, least_cost
from capfst.exceptions import CorpusError, quantity
from capfst.kernels import allocating
from capfst.kernels.types import I64Array, I64Matrix, U8Array, U32Array
from capfst.text.unicode import DOT_ABOVE, DOTTED_CAPITAL_I, INFO, IS_UPPER

MOST_WORDS = 1 << 18  # per line: a day of speech
_REMEMBERED = 1 << 20  # words whose lowercase is cached


def compare_aligned(
    references: Iterable[str | bytes],
    hypotheses: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    names: tuple[str, str] = compare.NAMES,
) -> Iterator[compare.LineCounts]:
    """Yield the counts of all lines, as `compare.compare` does, for lines whose words may differ.

    `skip_first` leaves out the first word of each line in both texts.

    Raises:
        CorpusError: a line has more than 262,144 words or is not UTF-8, or one text has more lines.
        TypeError: a text is a single str or bytes, or a line is neither str nor bytes.
    """
    whole: list[compare.LineCounts] = []

    def in_common() -> Iterator[tuple[str, str]]:
        """Yield each line's words in common, in both casings; append the counts of the whole line to `whole`."""
        for number, lines in enumerate(chain.from_iterable(compare.batches(references, hypotheses, names)), 1):
            ref, hyp = (_without_first(line.split()) if skip_first else line.split() for line in lines)
            for words, name in zip((ref, hyp), names, strict=True):
                if len(words) > MOST_WORDS:
                    raise CorpusError(
                        f"{name}, line {number}: {quantity(len(words), 'word')}, but at most {MOST_WORDS:,} can be"
                        " aligned. Put each sentence, or each speaker's turn, on its own line."
                    )
            pairs = align(ref, hyp)
            whole.append(_count_whole(ref, hyp, pairs))
            yield " ".join([ref[i] for i in pairs[:, 0]]), " ".join([hyp[j] for j in pairs[:, 1]])

    refs, hyps = tee(in_common())
    for counts in compare.compare((ref for ref, _ in refs), (hyp for _, hyp in hyps), in_vocabulary=in_vocabulary):
        counts[:, compare.CAPITALS :] = np.stack(whole)[:, compare.CAPITALS :]
        whole.clear()
        yield counts


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the positions in both texts of their n words in common, regardless of case: int64[n, 2]."""
    numbers: dict[str, int] = {}
    ref, hyp = (
        np.fromiter((numbers.setdefault(_folded(word), len(numbers)) for word in words), np.uint32, len(words))
        for words in (reference, hypothesis)
    )
    return align_numbers(ref, hyp)


def _without_first(words: list[str]) -> list[str]:
    """Return the words without the first one that has a letter."""
    for i, word in enumerate(words):
        if compare.has_letter(word):
            return words[:i] + words[i + 1 :]
    return words


@lru_cache(_REMEMBERED)
def _folded(word: str) -> str:
    """Return the word in lower case, folded as `compare` folds characters."""
    codes = code_points(word.replace(chr(DOTTED_CAPITAL_I), f"i{chr(DOT_ABOVE)}"))
    return compare.FOLD[codes].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _count_whole(ref: list[str], hyp: list[str], pairs: npt.NDArray[np.int64]) -> compare.LineCounts:
    """Return the counts of a line's words and capitals, and of their edits: int64[COLUMNS]."""
    row = np.zeros(compare.COLUMNS, np.int64)
    # In each gap before, between and after the words in common, as many words as possible are substitutions.
    bounds = np.concatenate([[[-1, -1]], pairs, [[len(ref), len(hyp)]]])
    substitutions = (np.diff(bounds, axis=0) - 1).min(axis=1).sum()
    row[compare.WORDS] = len(ref)
    row[compare.WORD_DELETIONS] = len(ref) - len(pairs) - substitutions
    row[compare.WORD_INSERTIONS] = len(hyp) - len(pairs) - substitutions
    row[compare.WORD_SUBSTITUTIONS] = substitutions
    stops = np.stack([np.cumsum([0, *map(len, words)])[bounds[1:, k]] for k, words in enumerate((ref, hyp))])
    count_capitals(code_points("".join(ref)), code_points("".join(hyp)), stops, INFO, row)
    return row


@allocating
def align_numbers(ref: U32Array, hyp: U32Array) -> I64Matrix:
    """Align words given as numbers, uint32[·] each; return as `align` does.

    An alignment is cut after the reference's middle word, then both parts are cut, and so on (Hirschberg 1975), in
    linear memory. Common prefixes and suffixes are matched first: no alignment without these matches is cheaper.
    """
    partners = np.full(len(ref), -1, np.int64)
    # A part is halved until one word is left; of each cut, one half waits: fewer than 64 wait at once.
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
    """Add a line's capitals, and their edits, to its row of counts.

    ref, hyp: uint32[·], the code points of the words. stops: int64[2, ·], positions in both texts up to which they are
    aligned with each other; the last column is their ends. Capitals are cut into stretches, as in `compare`.
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
