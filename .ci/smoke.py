"""Recase a line, and train and use a small model, with the capfst that is installed: what every wheel must do."""

import tempfile
from pathlib import Path

import capfst
from capfst.kernels.levels import own_level

CORPUS = Path(__file__).parents[1] / "docs" / "examples" / "corpus.txt"


def check(recased: str, expected: str) -> None:
    if recased != expected:
        raise SystemExit(f"recased as {recased!r}, not as {expected!r}")


text = "US Senator O'Neill bought an iPhone in New York"
check(capfst.load()(text.lower()), text)
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows does not remove a file that is mapped
    model = Path(folder, "cap.fst")
    capfst.train(CORPUS, model, clean=False)
    check(capfst.load(model)("an it meeting in new york"), "an IT meeting in New York")
print(f"capfst {capfst.__version__} works, with the kernels for {own_level()}")
