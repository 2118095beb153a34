"""Compare: two texts of the same words, in different casings → counts for every line.

In: the lines of a reference and of a hypothesis, equal up to case. Out: int64[lines, COLUMNS], a row of counts for each
line. Their sums are all that the measures of `score` need: rows of blocks and files may be added up, and `bootstrap`
may resample them.

Tokens are separated by whitespace, as in the published figures; how much of it, and which, does not matter.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, zip_longest

import numpy as np
import numpy.typing as npt

from capfst.casing.shapes import shape_with
from capfst.evaluate.cer import code_points, edits
from capfst.exceptions import CapfstError
from capfst.kernels import allocating, inner
from capfst.kernels.types import BoolArray, I64Array, I64Matrix, U8Array, U32Array, U32Matrix, i64, u32
from capfst.text.unicode import (
    CAPITAL_SIGMA,
    CLASS,
    CODE_POINTS,
    DOT_ABOVE,
    DOTLESS_I,
    DOTTED_CAPITAL_I,
    FINAL_SIGMA,
    INFO,
    IS_CASED,
    IS_UPPER,
    LETTER,
    SPACE,
    TO_LOWER,
)

SHAPE_NAMES = ("lower", "Capitalized", "UPPER", "mixed", "none")  # by `Shape`

# The columns of the counts. Of the reference's tokens: TOKENS + shape, all of a shape; CORRECT + shape, those that the
# hypothesis has as they are; UNKNOWN, UNKNOWN_CORRECT, those out of the vocabulary. PROPOSED: the hypothesis's tokens
# with a capital. Of capitals: CAPITALS, those of the reference; and the edits that make the hypothesis's of them. Of
# words, which only `alignment` counts: the same.
TOKENS, CORRECT, UNKNOWN, UNKNOWN_CORRECT, PROPOSED = 0, 5, 10, 11, 12
CAPITALS, DELETIONS, INSERTIONS, SUBSTITUTIONS = 13, 14, 15, 16
WORDS, WORD_DELETIONS, WORD_INSERTIONS, WORD_SUBSTITUTIONS = 17, 18, 19, 20
COLUMNS = 21

LineCounts = npt.NDArray[np.int64]
"""int64[lines, COLUMNS]."""

BATCH = 1 << 18  # characters that are compared at once
STRETCH = 1 << 12  # capitals that are aligned at once: a line with more is cut, so that time is linear
_REMEMBERED = 1 << 20  # tokens whose vocabulary look-up is remembered

# A final sigma is a sigma: some Greek text is lowercased without regard to the ends of words.
FOLD = np.arange(CODE_POINTS, dtype=np.uint32)
FOLD[: len(TO_LOWER)] = TO_LOWER
FOLD[FINAL_SIGMA] = TO_LOWER[CAPITAL_SIGMA]
_TURKISH_FOLD = FOLD.copy()
_TURKISH_FOLD[ord("I")] = DOTLESS_I


def compare(
    reference: Iterable[str | bytes],
    hypothesis: Iterable[str | bytes],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    names: tuple[str, str] = ("the reference", "the hypothesis"),
) -> Iterator[LineCounts]:
    """The counts of all lines, in blocks of successive lines.

    Args:
        reference: lines (with or without their ends); bytes are UTF-8.
        hypothesis: the same lines in another casing.
        skip_first: leaves each line's first token with a letter out of all counts.
        in_vocabulary: whether a token of the reference is known; without it, none is counted as unknown.
        names: what errors call the two.

    Raises:
        CapfstError: a line that is not the other text's line in another casing, or that the other text does not have.
    """
    vocabulary = _VocabularyLookup(in_vocabulary) if in_vocabulary else None
    first = 1
    for pairs in batches(reference, hypothesis, names):
        ref_lines, hyp_lines = zip(*pairs, strict=True)
        counts = np.zeros((len(pairs), COLUMNS), np.int64)
        known = np.empty(0, np.bool_) if vocabulary is None else vocabulary.known(ref_lines)
        ref, ref_ends = _concatenate(ref_lines)
        hyp, hyp_ends = _concatenate(hyp_lines)
        line, i, j = count_lines(ref, ref_ends, hyp, hyp_ends, known, skip_first, INFO, FOLD, _TURKISH_FOLD, counts)
        if line >= 0:
            ref_line, hyp_line = ref_lines[line], hyp_lines[line]
            ref_column = i - int(ref_ends[line]) + len(ref_line)
            hyp_column = j - int(hyp_ends[line]) + len(hyp_line)
            raise CapfstError(
                f"line {first + line} of {names[1]} is not that of {names[0]} in another casing: "
                f"from column {ref_column + 1} on, the reference has {_excerpt(ref_line, ref_column)} "
                f"and the hypothesis {_excerpt(hyp_line, hyp_column)}; "
                "both must have the same words, line by line, so recase the reference's own text, or align the words "
                "(capfst score --align)"
            )
        yield counts
        first += len(pairs)


def refuse_text(lines: object, name: str) -> None:
    """TypeError if these are no lines, but one text, whose characters would be taken for lines."""
    if isinstance(lines, (str, bytes)):
        raise TypeError(f"{name} must be lines, not one {type(lines).__name__}: put it into a list, or split it")


class _Missing:
    """Stands for a line behind the last one of the shorter text."""


def batches(
    reference: Iterable[str | bytes], hypothesis: Iterable[str | bytes], names: tuple[str, str]
) -> Iterator[list[tuple[str, str]]]:
    """The lines of both texts, each with its partner, in parts of about `BATCH` characters; errors as of `compare`."""
    batch: list[tuple[str, str]] = []
    size = 0
    for lines, name in zip((reference, hypothesis), names, strict=True):
        refuse_text(lines, name)
    for number, pair in enumerate(zip_longest(reference, hypothesis, fillvalue=_Missing), 1):
        if _Missing in pair:
            if batch:
                yield batch  # if an earlier line differs, that error says better where a line was lost
            ended, other = names if pair[0] is _Missing else names[::-1]
            raise CapfstError(
                f"{ended} has only {number - 1} lines, but {other} goes on; both must have the same number of lines, "
                "if need be empty ones"
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
        raise TypeError(f"line {number} of {name} must be a str, not {type(line).__name__}")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise CapfstError(
            f"line {number} of {name} is not UTF-8 at its byte {error.start} ({error.reason}); convert it first"
        ) from error


def _concatenate(lines: tuple[str, ...]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """The code points of all lines, and where each line ends in them."""
    return code_points("".join(lines)), np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)))


def _excerpt(line: str, column: int) -> str:
    """The line around a column, quoted; newlines and the like escaped."""
    start, end = max(0, column - 20), column + 20
    return repr("…" * (start > 0) + line[start:end].rstrip("\r\n") + "…" * (end < len(line)))


class _VocabularyLookup(dict[str, bool]):
    """Asks a predicate which tokens it knows, and remembers its answers."""

    def __init__(self, predicate: Callable[[str], bool]) -> None:
        super().__init__()
        self._predicate = predicate

    def __missing__(self, token: str) -> bool:
        self[token] = known = bool(self._predicate(token))
        return known

    def known(self, lines: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Whether each token of the lines is in the vocabulary (`str.split` and INFO agree on whitespace)."""
        if len(self) > _REMEMBERED:
            self.clear()
        tokens = chain.from_iterable(map(str.split, lines))
        return np.fromiter(map(self.__getitem__, tokens), np.bool_)


@inner
def _is_space(code: u32, info: U8Array) -> bool:
    return info[code] & CLASS == SPACE


@inner
def count_stretch(ref: U32Array, n: i64, hyp: U32Array, m: i64, row: I64Array) -> None:
    """Adds a stretch's capitals, and their edits, to a row of counts."""
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
    upper_room: U32Matrix,
    row: I64Array,
) -> tuple[bool, i64, i64, i64]:
    """Adds the counts of a line, ref[i:i_end] and hyp[j:j_end], to its row; whether the two differ in casing only, and
    i, j and the number of tokens behind it, or where they differ. Both are walked in lock step, character by character.

    token: those of the reference before it. has_dot: U+0130 İ is U+0069 U+0307 in lowercase.
    """
    ref_upper, hyp_upper = upper_room[0], upper_room[1]
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
                if has_dot and a == DOTTED_CAPITAL_I:
                    if j + 1 == j_end or hyp[j + 1] != DOT_ABOVE:
                        break
                    j += 1
                elif has_dot and b == DOTTED_CAPITAL_I:
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
    """Adds each line's counts to its row, which is 0; (−1, 0, 0), or the first line that differs, and where in both
    texts.

    ref, hyp: uint32[·], the code points of both texts; ref_ends, hyp_ends: int64[lines], where each line ends in them.
    known: bool[tokens of the reference], or empty. turkish_fold: of lines that differ otherwise, as I is the capital of
    i or of ı. counts: LineCounts.
    """
    room = np.empty((2, STRETCH), np.uint32)
    i = j = token = 0
    for line in range(len(ref_ends)):
        i_end, j_end, row = ref_ends[line], hyp_ends[line], counts[line]
        same, i_next, j_next, token_next = _count_line(
            ref, i, i_end, hyp, j, j_end, token, known, skip_first, info, fold, True, room, row
        )
        if not same:
            row[:] = 0
            where = i_next, j_next
            same, i_next, j_next, token_next = _count_line(
                ref, i, i_end, hyp, j, j_end, token, known, skip_first, info, turkish_fold, False, room, row
            )
            if not same:
                return line, max(where[0], i_next), max(where[1], j_next)
        i, j, token = i_next, j_next, token_next
    return -1, 0, 0
