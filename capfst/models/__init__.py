"""Bundled models: each is two files in this folder, `NAME.fst` and `NAME.json`, its model card.

In: the name of a model, or a path. Out: the path of the model's file, its model card, or the opened model. The card
records the sources and options of the model, so that scripts/maintain/ready_model.py can build the same bytes again,
and its figures and limits. A card may exist without its model.

`find` and `card` import nothing but the standard library: the command line's `--help` needs them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capfst.exceptions import ModelError

if TYPE_CHECKING:
    from capfst.fst.read import CapFst

FOLDER = Path(__file__).parent
DEFAULT = "en"
VARIABLE = "CAPFST_LM"
"""The environment variable with the model to use instead of DEFAULT."""


def names() -> list[str]:
    """Return the names of the bundled models."""
    return sorted(path.stem for path in FOLDER.glob("*.fst"))


def find(model: str | os.PathLike[str] | None = None) -> Path:
    """Return the file of a model, given its path or the name of a bundled model; if None, of the model in VARIABLE, or
    of DEFAULT.

    A `Path` that exists is never taken for a name.

    Raises:
        ModelError: there is neither a bundled model nor a file of that name.
    """
    if isinstance(model, Path) and model.exists():
        return model
    name = os.fspath(os.environ.get(VARIABLE) or DEFAULT if model is None else model)
    if name in names():
        return FOLDER / f"{name}.fst"
    path = Path(name)
    if not path.exists():
        if name and (FOLDER / f"{name}.json").exists():
            raise ModelError(
                f"{name}: this bundled model has not been built. "
                f"Run `make model NAME={name} SOURCES=folder` in a checkout of capfst."
            )
        ready = ", ".join(names()) or "none"
        raise ModelError(f"{name}: no such model. Give the path of a file, or the name of a bundled model ({ready}).")
    return path


def open(model: str | os.PathLike[str] | None = None) -> CapFst:
    """Open a model, named as for `find`. The structure of a bundled model is not validated: its checksum suffices.

    Raises:
        ModelError: there is no such model, or it is foreign, truncated or damaged.
    """
    from capfst.fst.read import CapFst  # noqa: PLC0415 - imports NumPy

    path = find(model)
    described = card(path) or {}
    return CapFst.open(path, described.get("model", {}).get("ngrams", ()))


def card(model: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the model card of a bundled model, given its file; None for any other file."""
    path = Path(model)
    if path.parent != FOLDER or path.stem not in names():
        return None
    described: dict[str, Any] = json.loads(path.with_suffix(".json").read_text("utf-8"))
    return described
