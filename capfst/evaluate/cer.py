"""CER: the capitalization error rate of Beaufays & Strope (2013), §5.1.

In: the upper-case characters of a reference and of a hypothesis, whose words may differ (a recognizer's, say). Out: the
edits of their alignment; CER = (deletions + insertions + substitutions) / upper-case characters of the reference.

The alignment has the least number of edits (Levenshtein distance). Of several such alignments, the one with the fewest
substitutions counts, which leaves most characters unchanged: AB against BC is a deletion and an insertion, not two
substitutions. Time is linear in the length for a bounded number of errors: a band of diagonals is searched, and widened
until it must hold the best alignment (Ukkonen 1985).
"""

import numpy as np
import numpy.typing as npt

from capfst.kernels import inner, inner_allocating
from capfst.kernels.types import U32Array, i64

# Costs are edits · 2^38 + substitutions · 2^19 + a column: least by edits, then by substitutions, of which there must
# be fewer than 2^19, as of columns; 2^18 words, or a stretch of capitals, are well below that.
_EDIT, _SUBSTITUTION = 1 << 38, 1 << 19
_NEVER = 1 << 62


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The text as uint32[n]; lone surrogates are characters like others."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@inner
def edits(ref: U32Array, n: i64, hyp: U32Array, m: i64) -> tuple[i64, i64, i64]:
    """(deletions, insertions, substitutions) that make hyp[:m] of ref[:n], both uint32[·]; needs one row of the band.

    What both begin or end with is matched first: no alignment without these matches is cheaper.
    """
    start = 0
    while start < n and start < m and ref[start] == hyp[start]:
        start += 1
    while n > start and m > start and ref[n - 1] == hyp[m - 1]:
        n -= 1
        m -= 1
    n -= start
    m -= start
    ref = ref[start : start + n]
    hyp = hyp[start : start + m]
    if is_subsequence(hyp, ref):
        return n - m, 0, 0
    if is_subsequence(ref, hyp):
        return 0, m - n, 0
    cost = least_cost(ref, hyp, 0)
    substitutions = cost % _EDIT // _SUBSTITUTION
    indels = cost // _EDIT - substitutions
    return (indels + n - m) // 2, (indels - n + m) // 2, substitutions


@inner
def is_subsequence(short: U32Array, long: U32Array) -> bool:
    """Whether `long` is `short` with insertions."""
    i = 0
    for j in range(len(long)):
        if i < len(short) and short[i] == long[j]:
            i += 1
    return i == len(short)


@inner
def least_cost(ref: U32Array, hyp: U32Array, middle: i64) -> i64:
    """The least cost of all alignments, with the column where such a one leaves row `middle` > 0: a place where the
    alignment may be cut in two (Hirschberg 1975)."""
    margin = 1 + abs(len(ref) - len(hyp)) // 4
    while True:
        cost = band_cost(ref, hyp, middle, margin)
        # An alignment that leaves the band has to cross margin + 1 further diagonals, an edit each, and to come back.
        enough = (cost // _EDIT - abs(len(ref) - len(hyp))) // 2
        if margin >= enough:
            return cost
        margin = min(2 * margin, enough)


@inner
def column_of(cost: i64) -> i64:
    return cost % _SUBSTITUTION


@inner_allocating
def band_cost(ref: U32Array, hyp: U32Array, middle: i64, margin: i64) -> i64:
    """As `least_cost`, of the alignments within `margin` of the diagonals between the first and the last cell.

    row[k - low] is the cost of the cell (i, j) on diagonal k = j − i; of row i − 1 until it is overwritten by row i.
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
