"""Test whether scores of hypotheses differ significantly, by paired bootstrap resampling (Koehn 2004).

In: one file of references, several files of hypotheses. Out: `Comparison`: for each measure of each hypothesis a
confidence interval, and a p-value of its difference from the first hypothesis.

A resample is as many lines as the text has, drawn with replacement, the same lines for all hypotheses. A confidence
interval contains a measure's values in the middle 95 % of the resamples. The p-value is two-sided: the fraction of
resamples whose difference is at least as far from the mean difference as the difference on the whole text is from zero
(the shift method of Riezler & Maxwell 2005). The whole text counts as one resample, so that no p-value is 0.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from capfst.evaluate import score
from capfst.evaluate.compare import COLUMNS, compare
from capfst.exceptions import OptionError

CONFIDENCE = 95  # percent


@dataclass(frozen=True, repr=False)
class Comparison:
    """The scores of several hypotheses, compared with the first.

    The intervals `low` to `high` (percent) and `p` are float64[hypotheses, measures], in the order of `Scores.titles`;
    NaN if there is nothing to measure. The first hypothesis, compared with itself, has p = 1.
    """

    names: list[str]
    scores: list[score.Scores]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    p: npt.NDArray[np.float64]
    resamples: int
    seed: int

    @property
    def signature(self) -> str:
        return f"{self.scores[0].signature}|bs:{self.resamples}|seed:{self.seed}"

    def __repr__(self) -> str:
        return f"<Comparison {', '.join(self.names)}; {self.signature}>"

    def to_dict(self) -> dict[str, Any]:
        """Return each hypothesis's scores, intervals and p-values, and the signature, for JSON."""
        hypotheses: list[dict[str, Any]] = []
        for k, (name, scores) in enumerate(zip(self.names, self.scores, strict=True)):
            low, high, p = (map(score.none_if_nan, table[k].tolist()) for table in (self.low, self.high, self.p))
            hypotheses.append({"hypothesis": name, **scores.to_dict()})
            ends = dict(zip(scores.titles, zip(low, high, strict=True), strict=True))
            hypotheses[k]["intervals"] = score.with_former_name(ends)
            if k > 0:
                hypotheses[k]["p"] = score.with_former_name(dict(zip(scores.titles, p, strict=True)))
        return {"hypotheses": hypotheses, "confidence": CONFIDENCE, "signature": self.signature}

    def table(self) -> str:
        """Format the comparison as lines of text, without a final newline."""
        rows = [("measure", "hypothesis", "score", f"{CONFIDENCE} % interval", "difference", "p")]
        values = score.measures(np.array([scores.counts for scores in self.scores]))
        for column, title in enumerate(self.scores[0].titles.values()):
            for k, name in enumerate(self.names):
                value, low, high, p = (table[k, column] for table in (values, self.low, self.high, self.p))
                difference = score.show(value - values[0, column], "+.2f"), score.show(p, ".3f")
                interval = f"{score.show(low)} to {score.show(high)}"
                ends = difference if k > 0 else ("", "")
                rows.append((title if k == 0 else "", name, score.show(value), interval, *ends))
        return score.aligned(rows, texts=2) + "\n\n" + self.signature

    __str__ = table


def compare_hypotheses(
    *,
    references: str | Path,
    hypotheses: Sequence[str | Path],
    skip_first: bool = False,
    in_vocabulary: Callable[[str], bool] | None = None,
    align: bool = False,
    resamples: int = 1000,
    seed: int = 12345,
) -> Comparison:
    """Score several files of hypotheses against a file of references, and compare them with the first.

    The other arguments are those of `score`. Memory: 340 bytes per line and hypothesis.

    Args:
        resamples: number of resamples.
        seed: seed of their random numbers.

    Raises:
        CorpusError: as in `score_files`.
        OptionError: `hypotheses` is not a list of files, or `resamples` is less than 1.
    """
    if isinstance(hypotheses, (str, Path)) or not hypotheses:
        raise OptionError(f"`hypotheses` is {hypotheses!r}. Use a list of one or more files.")
    if resamples < 1:
        raise OptionError(f"`resamples` is {resamples}. Use 1 or more.")
    lines = []
    for hypothesis in hypotheses:
        files = score.lines_of_files(references, hypothesis)
        blocks = list(compare(**files, skip_first=skip_first, in_vocabulary=in_vocabulary, aligns=align))
        lines.append(np.concatenate(blocks) if blocks else np.zeros((0, COLUMNS), np.int64))
    empty = score.Scores(skip_first=skip_first, vocabulary=in_vocabulary is not None, align=align)
    scores = [score.total([counts], empty) for counts in lines]
    columns = len(empty.titles)
    counts = np.stack(lines, axis=1, dtype=np.float64)
    resampled = score.measures(resample(counts, resamples, seed))[..., :columns]
    observed = score.measures(counts.sum(0))[:, :columns]
    low, high = interval(resampled)
    difference = resampled - resampled[:, :1]
    as_far = np.abs(difference - difference.mean(axis=0)) >= np.abs(observed - observed[:1])
    p = (1 + as_far.sum(axis=0)) / (1 + resamples)
    p = np.where(np.isnan(difference.mean(axis=0) + observed), np.nan, p)
    return Comparison([str(hypothesis) for hypothesis in hypotheses], scores, low, high, p, resamples, seed)


def resample(counts: npt.NDArray[np.float64], resamples: int, seed: int) -> npt.NDArray[np.float64]:
    """Return the counts of each resample, float64[resamples, …], given those of each line, float64[lines, …]."""
    n, shape, random = len(counts), counts.shape[1:], np.random.default_rng(seed)
    rows = counts.reshape(n, math.prod(shape))
    sums = np.zeros((resamples, rows.shape[1]))
    for k in range(resamples if n else 0):
        times = np.bincount(random.integers(0, n, n), minlength=n)
        sums[k] = times.astype(np.float64) @ rows
    return sums.reshape(resamples, *shape)


def interval(resampled: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the ends of the confidence intervals of measures, given those of each resample, [resamples, …]."""
    tail = (100 - CONFIDENCE) / 2
    low, high = np.percentile(resampled, [tail, 100 - tail], axis=0)
    return low, high
