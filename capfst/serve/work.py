"""What threads do for a request: calls of a Recaser, which take as long as they take.

`Deadline.check` ends work on many lines whose client has stopped waiting.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any

from capfst.recaser import Recaser
from capfst.serve.answers import RefusedError

_LINES = 1024  # that are recased between two looks at the clock


class Deadline:
    """The end of the time that a request may take."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def check(self) -> None:
        """Raise RefusedError if the time is over."""
        if time.monotonic() > self._end:
            raise RefusedError(503, f"this takes more than {self._seconds:g} s. Send less at once.")


def recase_lines(recaser: Recaser, lines: list[str], options: dict[str, Any], deadline: Deadline) -> list[str]:
    """Return the lines of a text in their best casing."""
    found, recased = [], recaser.recase_lines(lines, **options)
    while more := list(islice(recased, _LINES)):
        deadline.check()
        found += more
    return found


def details(
    recaser: Recaser, lines: Iterable[str], nbest: int | None, confidence: bool, options: dict[str, Any],
    deadline: Deadline,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return for each line its best casing, with the words that this changes (`confidence`) and its n best casings."""
    found = []
    for line in lines:
        deadline.check()
        found.append(_details(recaser, line, nbest, confidence, options))
    return found


def _details(
    recaser: Recaser, line: str, nbest: int | None, confidence: bool, options: dict[str, Any]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if confidence:
        text, changes = recaser.confidence(line, **options)
        words = [
            change._asdict() | {"log_odds": change.log_odds if change.log_odds < math.inf else None}
            for change in changes
        ]
        result = {"text": text, "words": words}
    if nbest:
        casings = recaser.nbest(line, nbest, **options)
        result.setdefault("text", casings[0].text)
        result["nbest"] = [candidate._asdict() for candidate in casings]
    return result


def explain(recaser: Recaser, text: str, n: int, line: int, options: dict[str, Any]) -> dict[str, Any]:
    """Return why a line is cased as it is, for JSON."""
    return recaser.explain(text, n, line, **options).to_dict()
