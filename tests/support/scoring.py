"""Score lines with positional arguments, which the public function does not take."""

from collections.abc import Iterable

from capfst.evaluate.score import Scores
from capfst.evaluate.score import score as score_lines


def score(references: Iterable[str | bytes], hypotheses: Iterable[str | bytes], **options: object) -> Scores:
    """Return the scores of lines in memory."""
    return score_lines(references=references, hypotheses=hypotheses, **options)  # type: ignore[arg-type]
