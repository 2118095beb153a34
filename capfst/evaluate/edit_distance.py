"""Edit distance: the fewest deletions, insertions and substitutions that turn one sequence of numbers into another.

In: the upper-case characters of a reference and of a hypothesis, or the numbers of their words. Out: the edits, or the
alignment. The capitalization error rate of Beaufays & Strope (2013), §5.1, is (deletions + insertions + substitutions)
/ upper-case characters of the reference.

The alignment has the fewest edits (Levenshtein distance) and, among such alignments, the fewest substitutions, which
leaves the most characters unchanged: AB against BC is a deletion and an insertion, not two substitutions. Time is
linear in the length for a bounded number of edits: a band of diagonals is searched, and widened until it must contain
the best alignment (Ukkonen 1985). rapidfuzz does not prefer some alignments with the fewest edits to others.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from capfst.kernels import allocating, inner, inner_allocating
from capfst.kernels.types import I64Array, I64Matrix, U32Array, i64

# A cost is edits · 2^38 + substitutions · 2^19 + a column, so that comparing costs compares edits, then substitutions.
# Substitutions and columns must be fewer than 2^19; 2^18 words, or a stretch of capitals, are well below that.
_EDIT, _SUBSTITUTION = 1 << 38, 1 << 19
_NEVER = 1 << 62
STRETCH = 1 << 12  # capitals that are aligned at once: a line with more is cut, so that time is linear


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the text's code points, uint32[n], including lone surrogates."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


class Capitals(NamedTuple):
    """The upper-case characters of lines."""

    codes: U32Array
    segments: I64Array  # of the text, which correspond to those of the other text
    ends: I64Array  # [lines]: the end of each line's in `codes`


@allocating
def count_edits(ref: Capitals, hyp: Capitals, counts: I64Matrix) -> None:
    """Add the capitals of each line of a reference, and the deletions, insertions and substitutions that turn them into
    the hypothesis's, to counts, int64[lines, 4]. A line with more than STRETCH capitals is cut between segments, if
    possible.
    """
    i = j = 0
    for line in range(ref.ends.size):
        while i < ref.ends[line] or j < hyp.ends[line]:
            n, m = min(ref.ends[line] - i, STRETCH), min(hyp.ends[line] - j, STRETCH)
            last = ref.segments[i + n - 1] if n == STRETCH else _NEVER
            last = min(last, hyp.segments[j + m - 1] if m == STRETCH else _NEVER)
            if min(ref.segments[i] if n > 0 else last, hyp.segments[j] if m > 0 else last) < last:
                while n > 0 and ref.segments[i + n - 1] >= last:
                    n -= 1
                while m > 0 and hyp.segments[j + m - 1] >= last:
                    m -= 1
            deletions, insertions, substitutions = edits(ref.codes[i : i + n], hyp.codes[j : j + m])
            counts[line, 0] += n
            counts[line, 1] += deletions
            counts[line, 2] += insertions
            counts[line, 3] += substitutions
            i += n
            j += m


@inner
def edits(ref: U32Array, hyp: U32Array) -> tuple[i64, i64, i64]:
    """Return (deletions, insertions, substitutions) that turn ref into hyp.

    Memory is one row of the band. Common prefixes and suffixes are matched first: no alignment without these matches is
    cheaper.
    """
    start, n, m = 0, len(ref), len(hyp)
    while start < n and start < m and ref[start] == hyp[start]:
        start += 1
    while n > start and m > start and ref[n - 1] == hyp[m - 1]:
        n -= 1
        m -= 1
    if n == start or m == start:
        return n - start, m - start, 0
    cost = least_cost(ref[start:n], hyp[start:m], 0)
    substitutions = cost % _EDIT // _SUBSTITUTION
    indels = cost // _EDIT - substitutions
    return (indels + n - m) // 2, (indels - n + m) // 2, substitutions


@allocating
def align(ref: U32Array, hyp: U32Array, ends: I64Matrix, partners: I64Array) -> None:
    """Align the numbers of each line, which end at ends[line, 0] in `ref` and at ends[line, 1] in `hyp`. Fill in the
    partner of each number of `ref` that has one: the position of an equal number in `hyp`.

    An alignment is cut after the reference's middle number, then both parts are cut, and so on (Hirschberg 1975), in
    linear memory. Common prefixes and suffixes are matched first: no alignment without these matches is cheaper.
    """
    # A part is halved until one number is left; of each cut, one half waits: fewer than 64 wait at once.
    parts = np.empty((64, 4), np.int64)
    line = n_parts = begin = other_begin = 0
    while n_parts > 0 or line < len(ends):
        if n_parts == 0:
            parts[0, 0], parts[0, 1], parts[0, 2], parts[0, 3] = begin, ends[line, 0], other_begin, ends[line, 1]
            begin, other_begin = ends[line, 0], ends[line, 1]
            line, n_parts = line + 1, 1
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
            middle = i + half
            aligned_end = j + least_cost(ref[i:i_end], hyp[j:j_end], half) % _SUBSTITUTION
            part, other = parts[n_parts], parts[n_parts + 1]
            part[0], part[1], part[2], part[3] = i, middle, j, aligned_end
            other[0], other[1], other[2], other[3] = middle, i_end, aligned_end, j_end
            n_parts += 2


@inner
def least_cost(ref: U32Array, hyp: U32Array, middle: i64) -> i64:
    """Return the least cost of all alignments.

    If `middle` > 0, the cost includes the column in which a best alignment leaves row `middle`, where it may be cut.
    """
    margin = 1 + abs(len(ref) - len(hyp)) // 4
    while True:
        cost = band_cost(ref, hyp, middle, margin)
        # An alignment that leaves the band must cross margin + 1 more diagonals, at one edit each, and come back.
        enough = (cost // _EDIT - abs(len(ref) - len(hyp))) // 2
        if margin >= enough:
            return cost
        margin = min(2 * margin, enough)


@inner_allocating
def band_cost(ref: U32Array, hyp: U32Array, middle: i64, margin: i64) -> i64:
    """Return the `least_cost` of alignments within `margin` of the diagonals between the first and the last cell.

    row[k - low] is the cost of cell (i, j) on diagonal k = j − i: that of row i − 1 until row i overwrites it.
    """
    n, m = len(ref), len(hyp)
    low = max(-n, min(0, m - n) - margin)
    high = min(m, max(0, m - n) + margin)
    row = np.full(high - low + 2, _NEVER, np.int64)
    for k in range(high + 1):
        row[k - low] = k * _EDIT
    for i in range(1, n + 1):
        left = i64(_NEVER)
        first, last = max(low, -i), min(high, m - i)
        for k in range(first, last + 1):
            cell = k - low
            best = min(left, row[cell + 1]) + _EDIT
            if i + k > 0:
                best = min(best, row[cell] + (0 if ref[i - 1] == hyp[i + k - 1] else _EDIT + _SUBSTITUTION))
            row[cell] = best
            left = best
        if i == middle:
            for k in range(first, last + 1):
                row[k - low] += i + k
    return row[m - n - low]
