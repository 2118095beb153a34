"""Bootstrap: are two hypotheses' scores really different (Koehn 2004)?

In: one reference, several hypotheses. Out: `Comparison`: for each measure of each hypothesis a confidence
interval, and for its difference from the first hypothesis a p-value.

Again and again, as many lines as there are are drawn with replacement, each time the same for all hypotheses.
An interval holds the middle 95 % of what a measure then becomes. The p-value is two-sided: the share of draws
whose difference lies at least as far from the mean difference as the difference of the whole text lies from
zero (Riezler & Maxwell 2005).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.evaluate.compare import COLUMNS, Counts
from capfst.evaluate.score import MEASURES, Scores, aligned, compare_files, measures, none_if_nan, show, total

CONFIDENCE = 95  # percent


@dataclass(frozen=True)
class Comparison:
    """The scores of several hypotheses, the first of which is the one to beat.

    `low`, `high` (percent) and `p` are float64[hypotheses, 5], in the order of `MEASURES`; NaN where there is
    nothing to measure. A hypothesis against itself has p = 1.
    """

    names: list[str]
    scores: list[Scores]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    p: npt.NDArray[np.float64]
    resamples: int
    seed: int

    @property
    def signature(self) -> str:
        return f"{self.scores[0].signature}|bs:{self.resamples}|seed:{self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON: each hypothesis's scores, intervals and p-values, and the signature."""
        hypotheses: list[dict[str, Any]] = []
        for k, (name, scores) in enumerate(zip(self.names, self.scores, strict=True)):
            low, high, p = (map(none_if_nan, table[k].tolist()) for table in (self.low, self.high, self.p))
            hypotheses.append({"hypothesis": name, **scores.to_dict()})
            hypotheses[k]["intervals"] = dict(zip(MEASURES, zip(low, high, strict=True), strict=True))
            if k > 0:
                hypotheses[k]["p"] = dict(zip(MEASURES, p, strict=True))
        return {"hypotheses": hypotheses, "confidence": CONFIDENCE, "signature": self.signature}

    def table(self) -> str:
        """For people: some lines of text, without a newline at the end."""
        rows = [("measure", "hypothesis", "score", f"{CONFIDENCE} % interval", "difference", "p")]
        values = measures(np.array([scores.counts for scores in self.scores]))
        for column, title in enumerate(MEASURES.values()):
            for k, name in enumerate(self.names):
                value, low, high, p = (table[k, column] for table in (values, self.low, self.high, self.p))
                against = (show(value - values[0, column], "+.2f"), show(p, ".3f")) if k > 0 else ("", "")
                interval = f"{show(low)} to {show(high)}"
                rows.append((title if k == 0 else "", name, show(value), interval, *against))
        return aligned(rows, texts=2) + "\n\n" + self.signature


def compare_hypotheses(
    reference: str | Path,
    hypotheses: Sequence[str | Path],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    *,
    resamples: int = 1000,
    seed: int = 12345,
) -> Comparison:
    """Compares the files of several hypotheses; in memory, a line takes 300 bytes per hypothesis.

    Raises:
        CapfstError: as `score.score_files`.
    """
    lines = []
    for hypothesis in hypotheses:
        blocks = list(compare_files(reference, hypothesis, skip_first, in_vocabulary))
        lines.append(np.concatenate(blocks) if blocks else np.zeros((0, COLUMNS), np.int64))
    scores = [total([counts], skip_first, in_vocabulary is not None) for counts in lines]
    drawn = measures(resample(lines, resamples, seed))
    return Comparison(
        [str(hypothesis) for hypothesis in hypotheses],
        scores,
        *intervals(drawn),
        p_values(drawn, measures(np.stack([counts.sum(0) for counts in lines]))),
        resamples,
        seed,
    )


def resample(lines: Sequence[Counts], resamples: int, seed: int) -> npt.NDArray[np.float64]:
    """The sums [resamples, hypotheses, columns] of lines drawn at random, the same for all hypotheses."""
    counts = np.concatenate(lines, axis=1).astype(np.float64)
    size = len(counts)
    random = np.random.default_rng(seed)
    sums = np.zeros((resamples, counts.shape[1]))
    for k in range(resamples if size else 0):
        times = np.bincount(random.integers(0, size, size), minlength=size)
        sums[k] = times.astype(np.float64) @ counts
    return sums.reshape(resamples, len(lines), COLUMNS)


def intervals(drawn: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Ends [hypotheses, measures] of the middle `CONFIDENCE` %; NaN if a draw has nothing to measure."""
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    return low, high


def p_values(drawn: npt.NDArray[np.float64], observed: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The p-values [hypotheses, measures] of the differences from the first hypothesis."""
    difference = drawn - drawn[:, :1]
    strayed = np.abs(difference - difference.mean(axis=0)) >= np.abs(observed - observed[:1])
    p = (1 + strayed.sum(axis=0)) / (1 + len(drawn))
    return np.where(np.isnan(difference.mean(axis=0) + observed), np.nan, p)
