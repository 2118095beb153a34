"""Restores the case of text: P = bestpath(S ∘ T ∘ LM), after Beaufays & Strope, "Language Model Capitalization" (2013).

capfst.train("corpus.txt", "cap.fst")
recaser = capfst.load("cap.fst")
recaser("new york has new information")
capfst.score(references=["New York is big."], hypotheses=recaser(["new york is big."]))
"""

from typing import TYPE_CHECKING, Any

from capfst.version import __version__

if TYPE_CHECKING:
    from capfst.evaluate.error_analysis import analyze_errors
    from capfst.evaluate.score import score
    from capfst.exceptions import CapfstError, CorpusError, ModelError, OptionError
    from capfst.recaser import Recaser, load
    from capfst.training import train

__all__ = [
    "CapfstError",
    "CorpusError",
    "ModelError",
    "OptionError",
    "Recaser",
    "__version__",
    "analyze_errors",
    "load",
    "score",
    "train",
]

# No module of this package is called as one of these: to import it would put it in the name's place.
_HOMES = {
    "CapfstError": "exceptions",
    "CorpusError": "exceptions",
    "ModelError": "exceptions",
    "OptionError": "exceptions",
    "Recaser": "recaser",
    "analyze_errors": "evaluate.error_analysis",
    "load": "recaser",
    "score": "evaluate.score",
    "train": "training",
}


def __getattr__(name: str) -> Any:
    # Imported at first use: loading NumPy takes longer than `capfst --help` does.
    if name not in _HOMES:
        raise AttributeError(f"module 'capfst' has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    return getattr(importlib.import_module(f"capfst.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
