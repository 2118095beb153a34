"""Training: cased text → `cap.fst`, and cased translations with their source → a bilingual part of it.

`stages.train` is the sequence of stages for one model. `strategy` is how a corpus is read and kept as labels, on this
machine; `spark.corpus` does the same on Spark's executors, and is passed in. `report` is what `train` returns.
`bilingual.train_bilingual` adds to a model what it learns from translations.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capfst.training.bilingual import TrainedBilingual, train_bilingual
    from capfst.training.report import Trained
    from capfst.training.stages import train

__all__ = ["Trained", "TrainedBilingual", "train", "train_bilingual"]

_HOMES = {"Trained": "report", "TrainedBilingual": "bilingual", "train": "stages", "train_bilingual": "bilingual"}


def __getattr__(name: str) -> Any:
    """Import a name at its first use: the modules that train import most of capfst."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
