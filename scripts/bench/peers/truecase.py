"""The package truecase, with its own model: n-grams around each word, as Lita et al. (2003)."""

from __future__ import annotations

from pathlib import Path

import truecase
from truecase.TrueCaser import TrueCaser

from peers import Recase

FOLDER = Path(truecase.__file__).parent / "data"


def load(folder: Path) -> Recase:
    case = TrueCaser(folder / "english.dist").get_true_case_from_tokens
    return lambda sentences: list(map(case, sentences))
