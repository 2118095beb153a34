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
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from capfst.evaluate.compare import FOLD, NAMES, REMEMBERED, LineCounts, batches, count
from capfst.evaluate.edit_distance import code_points, column_of, least_cost
from capfst.exceptions import CorpusError, quantity
from capfst.kernels import allocating
from capfst.kernels.types import I64Matrix, U32Array
from capfst.text.unicode import DOT_ABOVE, DOTTED_CAPITAL_I

MOST_WORDS = 1 << 18  # per line: a day of speech


def compare_aligned(
    references: Iterable[str | bytes],
    hypotheses: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    names: tuple[str, str] = NAMES,
) -> Iterator[LineCounts]:
    """Yield the counts of all lines, as `compare.compare` does, for lines whose words may differ.

    `skip_first` leaves out the first word of each line in both texts.

    Raises:
        CorpusError: a line has more than 262,144 words or is not UTF-8, or one text has more lines.
        TypeError: a text is a single str or bytes, or a line is neither str nor bytes.
    """
    is_known = in_vocabulary and lru_cache(REMEMBERED)(in_vocabulary)
    for first, *texts in batches(references, hypotheses, names):
        ref, hyp = (text.without_first() if skip_first else text for text in texts)
        for text, name in zip((ref, hyp), names, strict=True):
            longest = int(text.sizes().argmax())
            if text.sizes()[longest] > MOST_WORDS:
                raise CorpusError(
                    f"{name}, line {first + longest}: {quantity(int(text.sizes()[longest]), 'word')}, but at most"
                    f" {MOST_WORDS:,} can be aligned. Put each sentence, or each speaker's turn, on its own line."
                )
        hashes = np.concatenate([ref.tokens["folded"], hyp.tokens["folded"]])
        numbers = np.unique(hashes, return_inverse=True)[1].astype(np.uint32)
        of_ref, of_hyp = numbers[: len(ref.tokens)], numbers[len(ref.tokens) :]
        ends = np.cumsum([ref.sizes(), hyp.sizes()], axis=1).T
        begins = np.zeros(2, np.int64)
        pairs = [align_numbers(of_ref[b[0] : e[0]], of_hyp[b[1] : e[1]]) + b for b, e in pairwise([begins, *ends])]
        yield count(ref, hyp, *np.concatenate(pairs).T, is_known)


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the positions in both texts of their n words in common, regardless of case: int64[n, 2]."""
    numbers: dict[bytes, int] = {}
    ref, hyp = (
        np.array([numbers.setdefault(_folded(word), len(numbers)) for word in words], np.uint32)
        for words in (reference, hypothesis)
    )
    return align_numbers(ref, hyp)


def _folded(word: str) -> bytes:
    """Return the word in lower case, as `compare` does."""
    return FOLD[code_points(word.replace(chr(DOTTED_CAPITAL_I), f"i{chr(DOT_ABOVE)}"))].tobytes()


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
