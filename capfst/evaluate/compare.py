"""Compare: two texts of the same words, in different casings → counts for every line.

In: the lines of a reference and of a hypothesis, equal up to case. Out: one row of counts per line, whose
sums are all that the measures of `score` need, so that blocks and files can be added up and lines drawn anew
by `bootstrap`.

Tokens are what stands between whitespace, as in the published figures; how much of it, and which, does not
matter.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, zip_longest

import numpy as np
import numpy.typing as npt
from numba import njit

from capfst.casing.shapes import shape_with
from capfst.errors import CapfstError
from capfst.evaluate.cer import code_points, edits
from capfst.text.unicode import (
    CAPITAL_SIGMA,
    CLASS,
    DOT_ABOVE,
    DOTTED_CAPITAL_I,
    FINAL_SIGMA,
    INFO,
    IS_CASED,
    IS_UPPER,
    LETTER,
    SPACE,
    TO_LOWER,
)

CLASSES = ("lower", "Capitalized", "UPPER", "mixed", "none")  # by shape

# The columns of the counts: of tokens (five classes of the reference's), and of upper-case characters.
TOKENS, CORRECT, UNKNOWN, UNKNOWN_CORRECT, PROPOSED = 0, 5, 10, 11, 12
CAPITALS, DELETIONS, INSERTIONS, SUBSTITUTIONS = 13, 14, 15, 16
COLUMNS = 17

Counts = npt.NDArray[np.int64]

BATCH = 1 << 18  # characters that are compared at once
STRETCH = 1 << 12  # upper-case characters that are aligned at once: a line with more is cut, so that time is linear
_KNOWN = 1 << 20  # tokens whose vocabulary look-up is remembered

# A final sigma is a sigma: not all lowercased Greek was lowercased with regard to the ends of words.
_FOLD = TO_LOWER.copy()
_FOLD[FINAL_SIGMA] = TO_LOWER[CAPITAL_SIGMA]


def compare(
    reference: Iterable[str | bytes],
    hypothesis: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    names: tuple[str, str] = ("the reference", "the hypothesis"),
) -> Iterator[Counts]:
    """Counts int64[lines, COLUMNS] of some lines after the other.

    Args:
        reference: lines (with or without their ends); bytes are UTF-8.
        hypothesis: the same lines in another casing.
        skip_first: leaves each line's first token with a letter out of all counts.
        in_vocabulary: is asked about the reference's tokens; without it, none is counted as unknown.
        names: what errors call the two.

    Raises:
        CapfstError: a line that is not the other one in another casing, or that the other text does not have.
    """
    vocabulary = _Vocabulary(in_vocabulary) if in_vocabulary else None
    first = 1
    for pairs in _batches(reference, hypothesis, names):
        ref_lines, hyp_lines = zip(*pairs, strict=True)
        counts = np.zeros((len(pairs), COLUMNS), np.int64)
        known = np.empty(0, np.bool_) if vocabulary is None else vocabulary.known(ref_lines)
        ref, ref_ends = _concatenate(ref_lines)
        hyp, hyp_ends = _concatenate(hyp_lines)
        line, i, j = count_lines(ref, ref_ends, hyp, hyp_ends, known, skip_first, INFO, _FOLD, counts)
        if line >= 0:
            ref_line, hyp_line = ref_lines[line], hyp_lines[line]
            ref_at = i - int(ref_ends[line]) + len(ref_line)
            hyp_at = j - int(hyp_ends[line]) + len(hyp_line)
            raise CapfstError(
                f"line {first + line} of {names[1]} is not that of {names[0]} in another casing: "
                f"from column {ref_at + 1} on, the reference has {_excerpt(ref_line, ref_at)} "
                f"and the hypothesis {_excerpt(hyp_line, hyp_at)}; "
                "both must have the same words, line by line, so recase the reference's own text"
            )
        yield counts
        first += len(pairs)


def _batches(
    reference: Iterable[str | bytes], hypothesis: Iterable[str | bytes], names: tuple[str, str]
) -> Iterator[list[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    size = 0
    for number, pair in enumerate(zip_longest(reference, hypothesis), 1):
        if None in pair:
            if batch:
                yield batch  # an earlier line that differs says better where one was lost
            ended, other = names if pair[0] is None else names[::-1]
            raise CapfstError(
                f"{ended} has only {number - 1} lines, but {other} goes on; both must have the same lines, "
                "so recase the reference's own text"
            )
        ref, hyp = (_text(line, name, number) for line, name in zip(pair, names, strict=True))
        batch.append((ref, hyp))
        size += len(ref)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _text(line: str | bytes, name: str, number: int) -> str:
    if isinstance(line, str):
        return line
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise CapfstError(
            f"line {number} of {name} is not UTF-8 at its byte {error.start} ({error.reason}); convert it first"
        ) from error


def _concatenate(lines: tuple[str, ...]) -> tuple[npt.NDArray[np.uint32], Counts]:
    """All characters, and where each line ends."""
    return code_points("".join(lines)), np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)))


def _excerpt(line: str, at: int) -> str:
    """The line around a place, quoted; newlines and the like escaped."""
    start, end = max(0, at - 20), at + 20
    return repr("…" * (start > 0) + line[start:end].rstrip("\r\n") + "…" * (end < len(line)))


class _Vocabulary(dict[str, bool]):
    """Remembers the predicate's answers."""

    def __init__(self, predicate: Callable[[str], bool]) -> None:
        super().__init__()
        self._predicate = predicate

    def __missing__(self, token: str) -> bool:
        self[token] = known = bool(self._predicate(token))
        return known

    def known(self, lines: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Whether it is in the vocabulary, for every token (`str.split` and INFO agree on whitespace)."""
        if len(self) > _KNOWN:
            self.clear()
        tokens = chain.from_iterable(map(str.split, lines))
        return np.fromiter(map(self.__getitem__, tokens), np.bool_)


@njit(cache=True, nogil=True)
def _is_space(code, info):  # type: ignore[no-untyped-def]
    return info[code] & CLASS == SPACE


@njit(cache=True, nogil=True)
def _align(ref, n, hyp, m, row):  # type: ignore[no-untyped-def]
    deletions, insertions, substitutions = edits(ref, n, hyp, m)
    row[CAPITALS] += n
    row[DELETIONS] += deletions
    row[INSERTIONS] += insertions
    row[SUBSTITUTIONS] += substitutions


@njit(cache=True, nogil=True)
def count_lines(ref, ref_ends, hyp, hyp_ends, known, skip_first, info, fold, counts):  # type: ignore[no-untyped-def]
    """Adds each line's counts to its row; (−1, 0, 0), or the first line that differs, and where in both texts.

    Both are walked in lock step, character by character. `known` has one entry for each token, or none.
    """
    ref_upper = np.empty(STRETCH, np.uint32)
    hyp_upper = np.empty(STRETCH, np.uint32)
    i = j = token = 0
    for line in range(len(ref_ends)):
        i_end, j_end = ref_ends[line], hyp_ends[line]
        row = counts[line]
        n = m = 0
        skipping = skip_first
        while True:
            while i < i_end and _is_space(ref[i], info):
                i += 1
            while j < j_end and _is_space(hyp[j], info):
                j += 1
            if i == i_end or j == j_end:
                break
            same = True
            has_letter = first_is_upper = proposed = False
            cased = upper = 0
            while i < i_end and j < j_end:
                a, b = ref[i], hyp[j]
                if a != b:
                    if fold[a] != fold[b]:
                        break
                    same = False
                    # U+0130 İ is U+0069 U+0307 in lowercase.
                    if a == DOTTED_CAPITAL_I:
                        if j + 1 == j_end or hyp[j + 1] != DOT_ABOVE:
                            break
                        j += 1
                    elif b == DOTTED_CAPITAL_I:
                        if i + 1 == i_end or ref[i + 1] != DOT_ABOVE:
                            break
                        i += 1
                elif _is_space(a, info):
                    break
                i += 1
                j += 1
                if info[a] & CLASS == LETTER or info[a] & IS_CASED:
                    has_letter = True
                if info[a] & IS_CASED:
                    if cased == 0:
                        first_is_upper = info[a] & IS_UPPER != 0
                    cased += 1
                if info[a] & IS_UPPER:
                    upper += 1
                    if not skipping:
                        ref_upper[n] = a
                        n += 1
                if info[b] & IS_UPPER:
                    proposed = True
                    if not skipping:
                        hyp_upper[m] = b
                        m += 1
                if max(n, m) == STRETCH:
                    _align(ref_upper, n, hyp_upper, m, row)
                    n = m = 0
            if (i < i_end and not _is_space(ref[i], info)) or (j < j_end and not _is_space(hyp[j], info)):
                return line, i, j
            token += 1
            if skipping and has_letter:
                skipping = False
                continue
            kind = shape_with(cased, upper, first_is_upper)
            row[TOKENS + kind] += 1
            row[CORRECT + kind] += same
            row[PROPOSED] += proposed
            if len(known) and not known[token - 1]:
                row[UNKNOWN] += 1
                row[UNKNOWN_CORRECT] += same
        if i < i_end or j < j_end:
            return line, i, j
        _align(ref_upper, n, hyp_upper, m, row)
    return -1, 0, 0
