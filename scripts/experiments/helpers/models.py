"""Models that experiments keep between runs, and recasing times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import capfst
from capfst.exceptions import CapfstError
from capfst.recaser import Recaser


def kept_model(path: Path, train: Callable[[Path], object]) -> Path:
    """Return the path of a model, after training it if the file is missing or unreadable (as of another version)."""
    try:
        capfst.load(path)
    except CapfstError:
        path.parent.mkdir(parents=True, exist_ok=True)
        train(path)
    return path


def fastest(recasers: Sequence[Recaser], texts: Sequence[str], turns: int) -> list[float]:
    """Return the processor time in seconds that each recaser needs for its text: the least of several turns."""
    least = [float("inf")] * len(recasers)
    for _ in range(turns):
        for k, (recaser, text) in enumerate(zip(recasers, texts, strict=True)):
            begin = time.process_time()
            recaser(text)
            least[k] = min(least[k], time.process_time() - begin)
    return least
