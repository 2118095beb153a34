"""Details of lines: their changed words with log-odds, and their best casings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from capfst.recaser import Recaser
from capfst.system.stopping import check


def details(
    recaser: Recaser, lines: Iterable[str], nbest: int | None, confidence: bool, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return for each line its best casing, with the words that this changes (`confidence`) and its n best casings."""
    found = []
    for line in lines:
        check()
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
