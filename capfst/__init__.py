"""Restore the case of text: P = bestpath(S ∘ T ∘ LM), after Beaufays & Strope, "Language Model Capitalization" (2013).

load                opens a model: a Recaser, which restores case
train               trains a model on cased text
train_bilingual     adds weights learned from translations and their source
translate_cased     translates text in capitals and Title Case with a system that needs sentence case
score, score_files  accuracy, precision, recall, F1 and capitalization error rate of recased text
compare_hypotheses  the significance of the differences between several recased texts
analyze_errors, analyze_files  the wrong words, by kind

capfst.train("corpus.txt", "cap.fst")
recaser = capfst.load("cap.fst")
recaser("new york has new information")
capfst.score(references=["New York is big."], hypotheses=recaser(["new york is big."]))
"""

from typing import TYPE_CHECKING, Any

from capfst.forks import loading
from capfst.version import __version__

if TYPE_CHECKING:
    from capfst.evaluate.bootstrap import compare_hypotheses
    from capfst.evaluate.error_analysis import ErrorAnalysis, analyze_errors, analyze_files
    from capfst.evaluate.score import Scores, score, score_files
    from capfst.exceptions import CapfstError, CorpusError, ModelError, OptionError
    from capfst.explain.explanation import (
        ExplainedCasing,
        ExplainedForm,
        ExplainedWord,
        Explanation,
        LatticeArc,
        NGram,
        Reason,
    )
    from capfst.options import ContextOptions, RecaseOptions, TrainOptions
    from capfst.recaser import BestPath, Candidate, Recased, Recaser, load
    from capfst.repair import Stretch
    from capfst.search.confidence import Change
    from capfst.stream import Hypothesis, Stream
    from capfst.training.bilingual import TrainedBilingual, train_bilingual
    from capfst.training.report import Trained
    from capfst.training.stages import train
    from capfst.translating import translate_cased

__all__ = [
    "BestPath", "Candidate", "CapfstError", "Change", "ContextOptions", "CorpusError", "ErrorAnalysis",
    "ExplainedCasing", "ExplainedForm", "ExplainedWord", "Explanation", "Hypothesis", "LatticeArc", "ModelError",
    "NGram", "OptionError", "Reason", "RecaseOptions", "Recased", "Recaser", "Scores", "Stream", "Stretch",
    "TrainOptions", "Trained", "TrainedBilingual", "__version__", "analyze_errors", "analyze_files",
    "compare_hypotheses", "load", "score", "score_files", "train", "train_bilingual", "translate_cased",
]  # fmt: skip

# No module directly in this package has one of these names: importing it would replace the name.
_HOMES = {
    "evaluate.bootstrap": "compare_hypotheses",
    "evaluate.error_analysis": "ErrorAnalysis analyze_errors analyze_files",
    "evaluate.score": "Scores score score_files",
    "exceptions": "CapfstError CorpusError ModelError OptionError",
    "explain.explanation": "ExplainedCasing ExplainedForm ExplainedWord Explanation LatticeArc NGram Reason",
    "options": "ContextOptions RecaseOptions TrainOptions",
    "recaser": "BestPath Candidate Recased Recaser load",
    "repair": "Stretch",
    "search.confidence": "Change",
    "stream": "Hypothesis Stream",
    "training.bilingual": "TrainedBilingual train_bilingual",
    "training.report": "Trained",
    "training.stages": "train",
    "translating": "translate_cased",
}


def __getattr__(name: str) -> Any:
    # Imported at first use: loading NumPy takes longer than `capfst --help` does.
    for module, names in _HOMES.items():
        if name in names.split():
            import importlib  # noqa: PLC0415

            with loading():
                return getattr(importlib.import_module(f"capfst.{module}"), name)
    raise AttributeError(f"module 'capfst' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
