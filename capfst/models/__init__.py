"""Ready models: each is two files in this folder, `NAME.fst` and `NAME.json`, its card.

In: the name of a model, or a path. Out: the path of the model's file. The card says what the model was made from and
with, so that scripts/ready_model.py makes the same bytes again; and for whom it is. A card may be there before its
model.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from capfst.exceptions import CapfstError

FOLDER = Path(__file__).parent
DEFAULT = "en"
VARIABLE = "CAPFST_LM"
"""Names the model to use where none is named, instead of DEFAULT."""


def names() -> list[str]:
    """The names of the ready models."""
    return sorted(path.stem for path in FOLDER.glob("*.fst"))


def find(model: str | os.PathLike[str] | None = None) -> Path:
    """The file of a model, given its path or the name of a ready model; if None, of the one that VARIABLE names, or of
    DEFAULT.

    Raises:
        CapfstError: there is neither a ready model nor a file of that name.
    """
    name = os.fspath(os.environ.get(VARIABLE) or DEFAULT if model is None else model)
    if name in names():
        return FOLDER / f"{name}.fst"
    path = Path(name)
    if not path.exists():
        if name and (FOLDER / f"{name}.json").exists():
            raise CapfstError(
                f"the model {name} is to be made first: make model NAME={name} SOURCES=folder, in the sources of capfst"
            )
        ready = ", ".join(names()) or "none"
        raise CapfstError(f"there is no model {name}: give the path of a file, or the name of a ready model ({ready})")
    return path


def card(model: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The card of a ready model, given its file; None of any other file."""
    path = Path(model)
    if path.parent != FOLDER or path.stem not in names():
        return None
    described: dict[str, Any] = json.loads(path.with_suffix(".json").read_text("utf-8"))
    return described
