"""Compare two texts of the same words in different casings: count tokens and errors per line.

In: the lines of a reference and of a hypothesis, equal up to case. Out: int64[lines, COLUMNS], a row of counts per
line. The measures of `score` need only their sums: the rows of blocks and files can be added up, and `bootstrap` can
resample them.

Tokens are separated by whitespace, as in the published figures, of any kind and length.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import shape_with
from capfst.evaluate.edit_distance import code_points, edits
from capfst.exceptions import CorpusError
from capfst.kernels import allocating, inner
from capfst.kernels.types import BoolArray, I64Array, I64Matrix, U8Array, U32Array, U32Matrix, i64, u32
from capfst.text import unicode as uni

SHAPE_NAMES = ("lower", "Capitalized", "UPPER", "mixed", "none")  # by `Shape`

# The columns of the counts. Tokens of the reference: TOKENS + shape, all of a shape; CORRECT + shape, those that are
# identical in the hypothesis; UNKNOWN, UNKNOWN_CORRECT, the same for tokens out of the vocabulary. PROPOSED: tokens of
# the hypothesis with an upper-case letter. CAPITALS: upper-case characters of the reference, followed by the edits that
# turn them into the hypothesis's. WORDS: the same for words, which only `alignment` counts.
TOKENS, CORRECT, UNKNOWN, UNKNOWN_CORRECT, PROPOSED = 0, 5, 10, 11, 12
CAPITALS, DELETIONS, INSERTIONS, SUBSTITUTIONS = 13, 14, 15, 16
WORDS, WORD_DELETIONS, WORD_INSERTIONS, WORD_SUBSTITUTIONS = 17, 18, 19, 20
COLUMNS = 21

NAMES = ("references", "hypotheses")
"""Names of the two texts in error messages: those of the arguments."""

LineCounts = npt.NDArray[np.int64]
"""int64[lines, COLUMNS]."""

BATCH = 1 << 18  # characters that are compared at once
STRETCH = 1 << 12  # capitals that are aligned at once: a line with more is cut, so that time is linear
_REMEMBERED = 1 << 20  # tokens whose vocabulary lookup is cached
_MISSING: Any = object()  # the counterpart of a line after the end of the shorter text

# A final sigma folds to sigma, because some Greek text is lowercased without regard to the ends of words.
FOLD = np.arange(uni.CODE_POINTS, dtype=np.uint32)
FOLD[: len(uni.TO_LOWER)] = uni.TO_LOWER
FOLD[uni.FINAL_SIGMA] = uni.TO_LOWER[uni.CAPITAL_SIGMA]
_TURKISH_FOLD = FOLD.copy()
_TURKISH_FOLD[[ord("I"), uni.DOTTED_CAPITAL_I, uni.DOTLESS_I]] = ord("i")


def compare(
    references: Iterable[str | bytes],
    hypotheses: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    names: tuple[str, str] = NAMES,
) -> Iterator[LineCounts]:
    """Yield the counts of all lines, in blocks of successive lines.

    Args:
        references: lines with or without their line ends; bytes are UTF-8.
        hypotheses: the same lines in another casing.
        skip_first: leave each line's first token with a letter out of all counts.
        in_vocabulary: return whether a token of the reference is known; without it, no token is counted as unknown.
        names: names of the two texts in error messages.

    Raises:
        CorpusError: two lines differ in more than case, a line is not UTF-8, or one text has more lines.
        TypeError: a text is a single str or bytes, or a line is neither str nor bytes.
    """
    is_known = lru_cache(_REMEMBERED)(in_vocabulary) if in_vocabulary else None
    first = 1
    for pairs in batches(references, hypotheses, names):
        ref_lines, hyp_lines = zip(*pairs, strict=True)
        counts = np.zeros((len(pairs), COLUMNS), np.int64)
        tokens = chain.from_iterable(map(str.split, ref_lines))  # str.split and INFO agree on whitespace
        known = np.fromiter(map(is_known, tokens) if is_known else (), np.bool_)
        ref, ref_ends = _concatenate(ref_lines)
        hyp, hyp_ends = _concatenate(hyp_lines)
        line, i, j = count_lines(ref, ref_ends, hyp, hyp_ends, known, skip_first, uni.INFO, FOLD, _TURKISH_FOLD, counts)
        if line >= 0:
            ref_line, hyp_line = ref_lines[line], hyp_lines[line]
            ref_column = i - int(ref_ends[line]) + len(ref_line)
            hyp_column = j - int(hyp_ends[line]) + len(hyp_line)
            raise CorpusError(
                f"{names[1]}, line {first + line}: differs from {names[0]} in more than case: from column "
                f"{ref_column + 1} on, the reference has {_excerpt(ref_line, ref_column)} and the hypothesis "
                f"{_excerpt(hyp_line, hyp_column)}. Recase the reference's own text, or use `score` with "
                "`align=True`, which allows different words."
            )
        yield counts
        first += len(pairs)


def refuse_text(lines: object, name: str) -> None:
    """Raise TypeError if `lines` is a single text, whose characters would be taken for lines."""
    if isinstance(lines, (str, bytes)):
        raise TypeError(f"{name} must be lines, not one {type(lines).__name__}. Split it, or put it in a list.")


def batches(
    references: Iterable[str | bytes], hypotheses: Iterable[str | bytes], names: tuple[str, str]
) -> Iterator[list[tuple[str, str]]]:
    """Yield pairs of corresponding lines, in batches of about `BATCH` characters; raises as `compare` does."""
    batch: list[tuple[str, str]] = []
    size = 0
    for lines, name in zip((references, hypotheses), names, strict=True):
        refuse_text(lines, name)
    for number, pair in enumerate(zip_longest(references, hypotheses, fillvalue=_MISSING), 1):
        if _MISSING in pair:
            if batch:
                yield batch  # an error in an earlier line locates a lost line more precisely
            ended, other = names if pair[0] is _MISSING else names[::-1]
            raise CorpusError(
                f"{ended}: fewer lines ({number - 1:,}) than {other}. Write an empty line where a text is missing."
            )
        ref, hyp = (_text(line, name, number) for line, name in zip(pair, names, strict=True))
        batch.append((ref, hyp))
        size += len(ref)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _text(line: object, name: str, number: int) -> str:
    if isinstance(line, str):
        return line
    if not isinstance(line, bytes):
        raise TypeError(f"{name}, line {number}: must be a str, not {type(line).__name__}.")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{name}, line {number}: not UTF-8 at byte {error.start} ({error.reason}). Convert the text to UTF-8."
        ) from error


def _concatenate(lines: tuple[str, ...]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Return the code points of all lines, and the offset at which each line ends."""
    return code_points("".join(lines)), np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)))


def _excerpt(line: str, column: int) -> str:
    """Return the text around a column, quoted, with control characters escaped."""
    start, end = max(0, column - 20), column + 20
    return repr("…" * (start > 0) + line[start:end].rstrip("\r\n") + "…" * (end < len(line)))


@lru_cache(1 << 16)
def has_letter(token: str) -> bool:
    """Return whether a token has a letter, so that `skip_first` leaves it out if it is the first."""
    return any(uni.INFO[ord(c)] & uni.CLASS == uni.LETTER or uni.INFO[ord(c)] & uni.IS_CASED for c in token)


@inner
def _is_space(code: u32, info: U8Array) -> bool:
    return info[code] & uni.CLASS == uni.SPACE


@inner
def count_stretch(ref: U32Array, n: i64, hyp: U32Array, m: i64, row: I64Array) -> None:
    """Add the capitals of a stretch, and their edits, to a row of counts."""
    deletions, insertions, substitutions = edits(ref, n, hyp, m)
    row[CAPITALS] += n
    row[DELETIONS] += deletions
    row[INSERTIONS] += insertions
    row[SUBSTITUTIONS] += substitutions


@inner
def _count_line(
    ref: U32Array,
    i: i64,
    i_end: i64,
    hyp: U32Array,
    j: i64,
    j_end: i64,
    token: i64,
    known: BoolArray,
    skip_first: bool,
    info: U8Array,
    fold: U32Array,
    has_dot: bool,
    uppercase: U32Matrix,
    row: I64Array,
) -> tuple[bool, i64, i64, i64]:
    """Add the counts of a line, ref[i:i_end] and hyp[j:j_end], to its row.

    Both are traversed in lock step, character by character. Return whether they differ only in case, and the next
    i, j and token, or the positions at which they differ.

    token: number of tokens of the reference before the line. has_dot: U+0130 İ is U+0069 U+0307 in lower case.
    uppercase: uint32[2, STRETCH], a buffer.
    """
    ref_upper, hyp_upper = uppercase[0], uppercase[1]
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
                if has_dot and a == uni.DOTTED_CAPITAL_I:
                    if j + 1 == j_end or hyp[j + 1] != uni.DOT_ABOVE:
                        break
                    j += 1
                elif has_dot and b == uni.DOTTED_CAPITAL_I:
                    if i + 1 == i_end or ref[i + 1] != uni.DOT_ABOVE:
                        break
                    i += 1
            elif _is_space(a, info):
                break
            i += 1
            j += 1
            if info[a] & uni.CLASS == uni.LETTER or info[a] & uni.IS_CASED:
                has_letter = True
            if info[a] & uni.IS_CASED:
                if cased == 0:
                    first_is_upper = info[a] & uni.IS_UPPER != 0
                cased += 1
            if info[a] & uni.IS_UPPER:
                upper += 1
                if not skipping:
                    ref_upper[n] = a
                    n += 1
            if info[b] & uni.IS_UPPER:
                proposed = True
                if not skipping:
                    hyp_upper[m] = b
                    m += 1
            if max(n, m) == STRETCH:
                count_stretch(ref_upper, n, hyp_upper, m, row)
                n = m = 0
        if (i < i_end and not _is_space(ref[i], info)) or (j < j_end and not _is_space(hyp[j], info)):
            return False, i, j, token
        token += 1
        if skipping and has_letter:
            skipping = False
            continue
        shape = shape_with(cased, upper, first_is_upper)
        row[TOKENS + shape] += 1
        row[CORRECT + shape] += same
        row[PROPOSED] += proposed
        if len(known) and not known[token - 1]:
            row[UNKNOWN] += 1
            row[UNKNOWN_CORRECT] += same
    count_stretch(ref_upper, n, hyp_upper, m, row)
    return i == i_end and j == j_end, i, j, token


@allocating
def count_lines(
    ref: U32Array,
    ref_ends: I64Array,
    hyp: U32Array,
    hyp_ends: I64Array,
    known: BoolArray,
    skip_first: bool,
    info: U8Array,
    fold: U32Array,
    turkish_fold: U32Array,
    counts: I64Matrix,
) -> tuple[i64, i64, i64]:
    """Add each line's counts to its row, which is 0.

    Return (−1, 0, 0), or the first line that differs in more than case, and the positions of the difference in both
    texts.

    ref, hyp: uint32[·], the code points of both texts. ref_ends, hyp_ends: int64[lines], the end of each line in them.
    known: bool[tokens of the reference], or empty. fold: lower case of each code point. turkish_fold: tried for lines
    that differ under `fold`, because I is the capital of i or of ı. counts: LineCounts.
    """
    uppercase = np.empty((2, STRETCH), np.uint32)
    i = j = token = 0
    for line in range(len(ref_ends)):
        i_end, j_end, row = ref_ends[line], hyp_ends[line], counts[line]
        same, i_next, j_next, token_next = _count_line(
            ref, i, i_end, hyp, j, j_end, token, known, skip_first, info, fold, True, uppercase, row
        )
        if not same:
            row[:] = 0
            where = i_next, j_next
            same, i_next, j_next, token_next = _count_line(
                ref, i, i_end, hyp, j, j_end, token, known, skip_first, info, turkish_fold, False, uppercase, row
            )
            if not same:
                return line, max(where[0], i_next), max(where[1], j_next)
        i, j, token = i_next, j_next, token_next
    return -1, 0, 0
