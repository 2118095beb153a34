"""Bootstrap intervals of measures that are computed from sums of counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from capfst.evaluate.bootstrap import CONFIDENCE

RESAMPLES, SEED = 1000, 12345


def bootstrap(
    counts: npt.NDArray[np.float64],
    measure: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Compute measures and their 95 % intervals: (measures, lower ends, upper ends).

    Units (lines, documents or calls) are drawn with replacement; systems in one array are compared on the same draws.

    Args:
        counts: float64[units, …], the counts of each unit.
        measure: a function from the sums of the counts over units, float64[…], to the measures, float64[…].
    """
    sums = counts.reshape(len(counts), -1)
    random = np.random.default_rng(seed)
    drawn = (np.bincount(random.integers(0, len(sums), len(sums)), minlength=len(sums)) for _ in range(resamples))
    measured = np.stack([measure((times @ sums).reshape(counts.shape[1:])) for times in drawn])
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(measured, [tail, 100 - tail], axis=0)
    return measure(counts.sum(axis=0)), low, high
