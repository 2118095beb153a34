"""Details of lines: their changed words with log-odds, and their best casings.

Each line takes milliseconds. `Deadline.check` ends work whose client has stopped waiting.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

from capfst.recaser import Recaser
from capfst.serve.answers import RefusedError


class Deadline:
    """The end of the time that a request may take."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def check(self) -> None:
        """Raise RefusedError if the time is over."""
        if time.monotonic() > self._end:
            raise RefusedError(503, f"this takes more than {self._seconds:g} s. Send less at once.")


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
