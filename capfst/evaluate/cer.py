"""CER: the capitalization error rate of Beaufays & Strope (2013), §5.1.

In: two texts, which may be of different words (a recogniser's, say). Out: how many of the reference's
upper-case characters were deleted or substituted, and how many inserted.

Only the upper-case characters of both texts are kept, and aligned with the least number of edits. Of several
such alignments, the one with the fewest substitutions counts, which is the one that finds most characters
right: AB against BC is a deletion and an insertion, not two substitutions.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

# Costs are edits · 2^32 + substitutions: the least cost is the least number of both, in this order.
_EDIT = 1 << 32
_NEVER = 1 << 62


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The text as an array; lone surrogates are characters like others."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


@njit(cache=True, nogil=True)
def edits(ref, n, hyp, m):  # type: ignore[no-untyped-def]
    """(deletions, insertions, substitutions) between ref[:n] and hyp[:m]; memory for one row of the band.

    What both begin or end with is matched first: no alignment is cheaper for not doing so.
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
    margin = 1 + abs(n - m) // 4
    while True:
        cost = band_cost(ref, hyp, margin)
        # An alignment that leaves the band goes margin + 1 diagonals astray, and as many back.
        enough = (cost // _EDIT - abs(n - m)) // 2
        if margin >= enough:
            substitutions = cost % _EDIT
            indels = cost // _EDIT - substitutions
            return (indels + n - m) // 2, (indels - n + m) // 2, substitutions
        margin = min(2 * margin, enough)


@njit(cache=True, nogil=True)
def is_subsequence(short, long):  # type: ignore[no-untyped-def]
    """Whether `long` is `short` with insertions."""
    i = 0
    for j in range(len(long)):
        if i < len(short) and short[i] == long[j]:
            i += 1
    return i == len(short)


@njit(cache=True, nogil=True)
def band_cost(ref, hyp, margin):  # type: ignore[no-untyped-def]
    """The least cost of the alignments within `margin` of the diagonals between first and last cell.

    row[k - low] is the cell (i, j) of diagonal k = j − i, first of row i − 1, then of row i.
    """
    n, m = len(ref), len(hyp)
    low = max(-n, min(0, m - n) - margin)
    high = min(m, max(0, m - n) + margin)
    row = np.full(high - low + 2, _NEVER, np.int64)
    for k in range(high + 1):
        row[k - low] = k * _EDIT
    for i in range(1, n + 1):
        left = np.int64(_NEVER)
        for k in range(max(low, -i), min(high, m - i) + 1):
            at = k - low
            best = min(left, row[at + 1]) + _EDIT
            if i + k > 0:
                best = min(best, row[at] + (0 if ref[i - 1] == hyp[i + k - 1] else _EDIT + 1))
            row[at] = best
            left = best
    return row[m - n - low]
