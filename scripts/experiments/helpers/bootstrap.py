"""Bootstrap intervals of measures that are computed from sums of counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from capfst.evaluate.bootstrap import interval, resample

RESAMPLES, SEED = 1000, 12345
Array = npt.NDArray[np.float64]


def bootstrap(
    counts: Array, measure: Callable[[Array], Array], resamples: int = RESAMPLES
) -> tuple[Array, Array, Array]:
    """Return measures of the sums of counts, float64[units, …], and the ends of their 95 % intervals.

    Units (lines or calls) are drawn with replacement; systems in one array are compared on the same draws.
    """
    return measure(counts.sum(axis=0)), *interval(measure(resample(counts, resamples, SEED)))
