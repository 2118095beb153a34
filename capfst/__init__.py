"""Restores the case of text: P = bestpath(S ∘ T ∘ LM), after Beaufays & Strope, "Language Model Capitalization" (2013).

capfst.train("corpus.txt", "cap.fst")
recaser = capfst.load("cap.fst")
recaser.recase("new york has new information")
"""

from typing import TYPE_CHECKING, Any

from capfst.version import __version__

if TYPE_CHECKING:
    from capfst.exceptions import CapfstError
    from capfst.recaser import Recaser, load
    from capfst.training import train

__all__ = ["CapfstError", "Recaser", "__version__", "load", "train"]

_HOMES = {"CapfstError": "exceptions", "Recaser": "recaser", "load": "recaser", "train": "training"}


def __getattr__(name: str) -> Any:
    # Imported at first use: loading numba takes longer than a short command does.
    if name not in _HOMES:
        raise AttributeError(f"module 'capfst' has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    return getattr(importlib.import_module(f"capfst.{_HOMES[name]}"), name)
