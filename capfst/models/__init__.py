"""Bundled models: each is two files in this folder, `NAME.fst` and `NAME.json`, its model card.

In: the name of a model, or of a language that one knows, or a path. Out: the path of the model's file, its model card,
or the opened model. The card records the sources and options of the model, so that scripts/maintain/ready_model.py can
build the same bytes again, and its figures and limits. A card may exist without its model.

`named` and `card` import nothing but the standard library: the command line's `--help` needs them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from capfst.exceptions import ModelError, OptionError

if TYPE_CHECKING:
    from capfst.fst.read import CapFst

FOLDER = Path(__file__).parent
DEFAULT = "en"
VARIABLE = "CAPFST_LM"
"""The environment variable with the model to use instead of DEFAULT."""


class Named(NamedTuple):
    """A model as the user names it; the path of its file where a path is wanted."""

    path: Path
    language: str | None = None  # by which it was named

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given options of recasing, with the language of the name.

        Raises:
            OptionError: the options have another language.
        """
        language = given.get("language")
        if self.language and language not in (None, self.language):
            raise OptionError(
                f"`language` is {language!r}, but the model is named by the language {self.language!r}. Leave out one"
                f" of them, or use the model {self.path.stem}."
            )
        return {**given, "language": self.language or language}


def names() -> list[str]:
    """Return the names of the bundled models."""
    return sorted(path.stem for path in FOLDER.glob("*.fst"))


def languages() -> dict[str, str]:
    """Return the languages that name a bundled model of several, each with the name of that model."""
    ready = names()
    cards = {name: card(FOLDER / f"{name}.fst") or {} for name in ready}
    known = {text["language"]: name for name in ready for text in cards[name]["sources"] if "language" in text}
    return {language: known[language] for language in sorted(known) if language not in ready}


def find(model: str | os.PathLike[str] | None = None) -> Path:
    """Return the file of a model, named as for `named`."""
    return named(model).path


def named(model: str | os.PathLike[str] | None = None) -> Named:
    """Return a model, given its path, the name of a bundled model, or a language that one of several languages knows;
    if None, the model in VARIABLE, or DEFAULT.

    A `Path` that exists is never taken for a name.

    Raises:
        ModelError: there is neither a bundled model nor a file of that name.
    """
    if isinstance(model, Named):
        return model
    if isinstance(model, Path) and model.exists():
        return Named(model)
    name = os.fspath(os.environ.get(VARIABLE) or DEFAULT if model is None else model)
    if name in names():
        return Named(FOLDER / f"{name}.fst")
    if name.isalpha() and (several := languages().get(name)):
        return Named(FOLDER / f"{several}.fst", name)
    path = Path(name)
    if not path.exists():
        if name and (FOLDER / f"{name}.json").exists():
            raise ModelError(
                f"{name}: this bundled model has not been built. "
                f"Run `make model NAME={name} SOURCES=folder` in a checkout of capfst."
            )
        ready = ", ".join(names()) or "none"
        raise ModelError(
            f"{name}: no such model. Give the path of a file, the name of a bundled model ({ready}), or a language"
            f" that one knows ({', '.join(languages()) or 'none'})."
        )
    return Named(path)


def open(model: str | os.PathLike[str] | None = None) -> CapFst:
    """Open a model, named as for `named`. The structure of a bundled model is not validated: its checksum suffices.

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
