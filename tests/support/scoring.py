"""Scores of lines, with positional arguments, which the public function does not take; and the costs of paths."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from capfst.evaluate.score import Scores
from capfst.evaluate.score import score as score_lines
from capfst.recaser import Recaser


def score(references: Iterable[str | bytes], hypotheses: Iterable[str | bytes], **options: object) -> Scores:
    """Return the scores of lines in memory."""
    return score_lines(references=references, hypotheses=hypotheses, **options)  # type: ignore[arg-type]


def path_costs(recaser: Recaser, text: bytes) -> npt.NDArray[np.float64]:
    """Return the cost (−ln P, including the start token's) of each line's best casing, float64[lines]; +inf if no
    casing is possible."""
    pipeline = recaser.pipeline
    buf = pipeline.text(np.frombuffer(text, np.uint8)).buf
    words = pipeline.words(buf)
    costs = pipeline.engine.search(words, pipeline.costs(buf, words, include_pruned=True).arc_costs)[1]
    return (costs[:-1] if text.endswith(b"\n") else costs) + pipeline.start_cost
